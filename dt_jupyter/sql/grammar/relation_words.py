"""The words of a text where relations stand, asked for by their index: keywords, names, aliases."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import Span
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.lex import Token, TokenKind
from dt_jupyter.sql.text.literals import unquote
from dt_jupyter.sql.text.token_guard import SET_OPERATIONS

ENDS = SET_OPERATIONS | {  # words that end a FROM clause
    "SELECT", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT",
    "OFFSET", "WINDOW", "QUALIFY", "INSERT", "MAP", "REDUCE", "SET", "WHEN", "PIVOT", "UNPIVOT",
}  # fmt: skip
_NO_ALIAS = ENDS | {  # words that may follow a relation and are no alias of it
    "FROM", "JOIN", "INNER", "LEFT", "RIGHT", "FULL", "OUTER", "CROSS", "NATURAL", "SEMI", "ANTI",
    "ON", "USING", "LATERAL", "TABLESAMPLE", "WITH", "DO", "THEN", "AND", "OR", "NOT", "AS",
}  # fmt: skip
_AS_OF = frozenset({"VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME", "FOR"})


class RelationWords:
    """The tokens of `script`; past their ends there is nothing, which is no word and no sign."""

    def __init__(self, script: str, words: Sequence[Token]) -> None:
        self.script = script
        self.words = words

    def word(self, index: int) -> str:
        """In capitals."""
        return self.words[index].upper if 0 <= index < len(self.words) else ""

    def sign(self, index: int, sign: str) -> bool:
        return 0 <= index < len(self.words) and self.words[index].sign(sign)

    def is_number(self, index: int) -> bool:
        return index < len(self.words) and self.words[index].kind is TokenKind.NUMBER

    def is_name(self, index: int) -> bool:
        if index >= len(self.words):
            return False
        word = self.words[index]
        plain = word.kind is TokenKind.WORD and "$" not in word.text and word.upper not in _NO_ALIAS
        return plain or word.kind is TokenKind.QUOTED

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

    def has_alias(self, index: int) -> bool:
        """Whether the relation before `index` has an alias there."""
        if index >= len(self.words):
            return False
        word, following = self.words[index], self.word(index + 1)
        if word.upper == "AS" or word.kind is TokenKind.QUOTED:
            return True
        as_of = word.upper in _AS_OF and following in ("AS", *_AS_OF)
        return word.kind is TokenKind.WORD and word.upper not in _NO_ALIAS and not as_of

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
