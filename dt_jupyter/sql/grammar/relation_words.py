"""The words of a text where relations stand, asked for by their index: keywords, names, aliases.

Spark takes nearly every keyword for a name too: what stands around a word says which it is.
"""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import Span
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token, TokenKind
from dt_jupyter.sql.text.literals import unquote
from dt_jupyter.sql.text.token_guard import SET_OPERATIONS

_BY = frozenset({"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"})
_SCRIPTS = frozenset({"MAP", "REDUCE"})
ENDS = SET_OPERATIONS | _BY | _SCRIPTS | {  # words that end a FROM clause
    "SELECT", "WHERE", "HAVING", "LIMIT", "OFFSET", "WINDOW", "QUALIFY", "INSERT", "SET", "WHEN",
}  # fmt: skip
_JOIN_TYPES = frozenset(
    {"INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL", "SEMI", "ANTI"}
)
_NO_ALIAS = ENDS | _JOIN_TYPES | {  # words that may follow a relation and are no alias of it
    "FROM", "JOIN", "ON", "USING", "LATERAL", "TABLESAMPLE", "WITH", "DO", "THEN", "AND", "OR",
    "NOT", "AS", "PIVOT", "UNPIVOT",
}  # fmt: skip
_NAMED_ALIKE = ENDS - SET_OPERATIONS
"""Those that Spark takes for an alias too, where no clause can begin."""
_AS_OF = frozenset({"VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME", "FOR"})
_AFTER_NAMES = frozenset({",", ")", "]", ".", ";", "=", "=>", "->", "::", "<", ">", "/", "%", "|",
                          "&", "^"})  # fmt: skip
BETWEEN_OPERANDS = frozenset({"IS", "IN", "LIKE", "ILIKE", "RLIKE", "REGEXP", "BETWEEN", "DIV",
                              "NOT", "AND", "OR"})  # fmt: skip
_BEGINS = frozenset({"FROM", "JOIN", "TABLE", "VALUES", "SELECT", "WITH"})
_FOLLOWED_BY = {
    **dict.fromkeys(_BY, ("BY",)),
    "INSERT": ("INTO", "OVERWRITE", "WITH", ""),
}


class RelationWords:
    """The tokens of `script`; past their ends there is nothing, which is no word and no sign."""

    def __init__(self, script: str, words: Sequence[Token]) -> None:
        self.script = script
        self.words = words

    def word(self, index: int) -> str:
        """In capitals."""
        return self.words[index].upper if 0 <= index < len(self.words) else ""

    def text(self, index: int) -> str:
        """As it is written."""
        return self.words[index].text if 0 <= index < len(self.words) else ""

    def sign(self, index: int, sign: str) -> bool:
        return 0 <= index < len(self.words) and self.words[index].sign(sign)

    def is_number(self, index: int) -> bool:
        return 0 <= index < len(self.words) and self.words[index].kind is TokenKind.NUMBER

    def is_name(self, index: int) -> bool:
        if index >= len(self.words):
            return False
        word = self.words[index]
        plain = word.kind is TokenKind.WORD and "$" not in word.text and word.upper not in _NO_ALIAS
        return plain or word.kind is TokenKind.QUOTED

    def is_relation(self, index: int) -> bool:
        """Whether a name stands there, where a relation has to: `FROM left, limit` are two."""
        if self.is_name(index):
            return True
        plain = index < len(self.words) and "$" not in self.text(index)
        following = self.text(index + 1)
        ended = following in ("", ",", ")", ".", ";") or self.joins_at(index + 1) > 0
        ended = ended or self.word(index + 1) in ENDS | {"AS", "ON", "USING"}
        return plain and self.word(index) != "" and (ended or self.is_name(index + 1))

    def name_end(self, index: int) -> int:
        """The index after the name of dotted parts that begins at `index`."""
        index += 1
        while (
            self.sign(index, ".")
            and index + 1 < len(self.words)
            and (self.words[index + 1].kind in (TokenKind.WORD, TokenKind.QUOTED))
        ):
            index += 2
        return index

    def joins_at(self, index: int) -> int:
        """The index after the JOIN that begins at `index`, with its type; 0 where none does."""
        while self.word(index) in _JOIN_TYPES:
            index += 1
        return index + 1 if self.word(index) == "JOIN" else 0

    def closing(self, opening: int) -> int:
        """The index of the bracket that closes the one there; of the last word where none does."""
        depth = 0
        for i in range(opening, len(self.words)):
            depth += self.sign(i, "(") - self.sign(i, ")")
            if depth == 0:
                return i
        return len(self.words) - 1

    def is_keyword(self, index: int) -> bool:
        """Whether the word there can be the keyword that it looks like, and is no name."""
        word = self.word(index)
        if self._qualified(index):
            return False
        if self.text(index + 1) in _AFTER_NAMES and not self._begins_number(index + 1):
            return False
        if index + 1 >= len(self.words):
            return False
        if word in _FOLLOWED_BY:
            return self.word(index + 1) in _FOLLOWED_BY[word]
        if word == "WINDOW":
            return self.word(index + 2) == "AS"
        if word == "WHEN":
            return "MATCHED" in (self.word(index + 1), self.word(index + 2))
        if word in _SCRIPTS:
            return not self.sign(index + 1, "(") and not self._ends_relation(index + 1)
        return word in _BEGINS or not self._ends_relation(index + 1)

    def _qualified(self, index: int) -> bool:
        """Whether the word is a part of a name, or a field of JSON: `t.from`, `c:from`."""
        if self.sign(index - 1, "."):
            return not self.is_number(index - 2)
        return self.sign(index - 1, ":")

    def _begins_number(self, index: int) -> bool:
        return self.sign(index, ".") and self.is_number(index + 1)

    def _ends_relation(self, index: int) -> bool:
        """Whether what stands there follows a relation with its alias, and begins no expression."""
        word = self.word(index)
        return word in ("ON", "WHERE") or self.joins_at(index) > 0

    def has_alias(self, index: int) -> bool:
        """Whether the relation before `index` has an alias there."""
        if index >= len(self.words):
            return False
        word, following = self.words[index], self.word(index + 1)
        if word.upper == "AS" or word.kind is TokenKind.QUOTED:
            return True
        if word.upper in _NAMED_ALIKE:
            return not self.is_keyword(index)
        as_of = word.upper in _AS_OF and following in ("AS", *_AS_OF)
        nearest = word.upper in ("APPROX", "EXACT") and following == "NEAREST"
        other = as_of or nearest or word.upper in _NO_ALIAS
        return word.kind is TokenKind.WORD and not other

    def cursor(self, index: int) -> Cursor:
        cursor = Cursor(self.script, self.words, "default")
        cursor.index = index
        return cursor

    def span(self, first: int, after: int) -> Span:
        """The place of the tokens from `first` to the one before `after`."""
        return Span(self.words[first].start, self.words[after - 1].end)


def part_of(word: Token) -> str:
    """A part of a name as it is meant."""
    return unquote(word.text) if word.kind is TokenKind.QUOTED else word.text
