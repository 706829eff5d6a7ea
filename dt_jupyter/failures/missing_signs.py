"""A sign or a word that a text lacks, or has too much, by the words around the one that Spark stops
at."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.sql import Token, TokenKind

_CLAUSES = frozenset({
    "SELECT", "FROM", "WHERE", "GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "HAVING",
    "QUALIFY", "LIMIT", "OFFSET", "WINDOW", "JOIN", "ON", "USING", "SET", "VALUES", "UNION",
    "EXCEPT", "INTERSECT", "LATERAL", "PARTITION", "INTO", "WHEN", "THEN", "ELSE", "END", "AS",
    "AND", "OR", "NOT", "IN", "LIKE", "BETWEEN", "IS", "BY", "CASE", "DISTINCT", "ALL", "OVER",
    "FILTER", "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "NATURAL", "OUTER", "SEMI", "ANTI", "WITH",
    "TABLE", "UPDATE", "DELETE", "INSERT", "MERGE", "CREATE", "ALTER", "DROP", "ASC", "DESC",
    "TBLPROPERTIES", "PARTITIONED", "LOCATION", "COMMENT",
})  # fmt: skip
"""Words that neither end nor begin an item of a list."""
_CONSTANTS = frozenset(("NULL", "TRUE", "FALSE", "END", "ASC", "DESC"))
"""Words among those that end an item."""
_QUERIES = frozenset(("SELECT", "WITH", "FROM", "VALUES", "TABLE"))
_LISTS = frozenset(("SELECT", "DISTINCT", "BY", "VALUES", "SET", "FROM", "WITH", "USING"))
_CONDITIONS = frozenset(("WHERE", "HAVING", "ON", "QUALIFY", "AND", "OR", "NOT", "WHEN"))
_ENDS = frozenset({
    "FROM", "WHERE", "GROUP", "ORDER", "HAVING", "QUALIFY", "LIMIT", "JOIN", "ON", "UNION", "AS",
    "AND", "INNER", "LEFT", "RIGHT",
})  # fmt: skip
"""Words that are only allowed in the brackets of a query, or of a few functions."""
_INSIDE = {
    "FROM": ["EXTRACT", "TRIM", "LTRIM", "RTRIM", "SUBSTRING", "SUBSTR", "OVERLAY", "POSITION"],
    "AS": ["CAST", "TRY_CAST", "STRUCT", "NAMED_STRUCT"],
    "ORDER": ["OVER", "GROUP", "WINDOW"],
}
"""Before the brackets that may contain such a word."""
_IN_ORDER = ("FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT")
_PHRASES = {"GROUP": "GROUP BY", "ORDER": "ORDER BY"}
_ELSEWHERE = {"TOP": "LIMIT 10", "FETCH": "LIMIT 10"}
_RELATION = frozenset(("FROM", "JOIN", "INTO", "UPDATE", "TABLE", "USING"))
_VALUES = (TokenKind.STRING, TokenKind.NUMBER, TokenKind.QUOTED)
_SHOWN = 20


def missing_sign(words: Sequence[Token], at: int) -> str:
    """What to do about the word at `at`, the length of `words` for the end; "" where no sign
    explains it."""
    return (
        _placeholder(words, at)
        or _missing_bracket(words, at)
        or _extra_comma(words, at)
        or _missing_word(words, at)
        or _clause_out_of_order(words, at)
        or _missing_comma(words, at)
    )


def is_call(words: Sequence[Token], index: int) -> bool:
    """Whether a word is written as a function's name is, with its bracket next to it."""
    following = words[index + 1 : index + 2]
    return bool(following) and following[0].sign("(") and following[0].start == words[index].end


def _placeholder(words: Sequence[Token], at: int) -> str:
    """`{name}` of Python's texts, and a parameter or a string in the place of a table's name."""
    if at >= len(words) or not at:
        return ""
    named = words[at - 1].upper in _RELATION
    if words[at].kind is TokenKind.STRING and named:
        return "A table's name has no quotes: IDENTIFIER(:x) reads the one that a parameter names."
    if not (words[at].sign("{") or words[at].sign(":")) or at + 1 == len(words):
        return ""
    name = words[at + 1].text
    if named:
        return f"Write IDENTIFIER(:{name}), whose value is the name of the table."
    return f"Write :{name}, a parameter." if words[at].sign("{") else ""


def _missing_bracket(words: Sequence[Token], at: int) -> str:
    """Of brackets that were opened and not closed, or closed and not opened."""
    opened = _open_brackets(words[:at])
    if at < len(words) and words[at].sign(")"):
        return "" if opened else "No ( is open there: leave out the )."
    if not opened:
        return ""
    first = opened[-1]
    if at < len(words) and not _ends_bracket(words, first, words[at].upper):
        return ""
    after = f" after {_shown(words[first - 1])}" if first else ""
    return f"A ) is missing: the ({after} is not closed."


def _ends_bracket(words: Sequence[Token], opening: int, word: str) -> bool:
    """Whether a word may not be in the bracket that was opened there."""
    before = words[opening - 1].upper if opening else ""
    if word not in _ENDS or words[opening + 1].upper in _QUERIES or before in _INSIDE.get(word, ()):
        return False
    return not (word == "AND" and before in _CONDITIONS)


def _open_brackets(words: Sequence[Token]) -> list[int]:
    opened: list[int] = []
    for i, word in enumerate(words):
        if word.sign("("):
            opened.append(i)
        elif word.sign(")") and opened:
            opened.pop()
    return opened


def _extra_comma(words: Sequence[Token], at: int) -> str:
    """Of one before the end, before a clause or before the bracket that closes."""
    if at and at >= len(words) and words[-1].sign(","):
        return "Leave out the comma at the end, or write what follows it."
    for i in (at, at - 1, at - 2):
        after = 0 < i < len(words) and words[i - 1].sign(",")
        if after and (words[i].upper in _IN_ORDER or (i == at and words[i].sign(")"))):
            return f"Leave out the comma before {_shown(words[i])}."
    return ""


def _missing_word(words: Sequence[Token], at: int) -> str:
    for i in (at, at - 1):
        word = words[i].upper if 0 <= i < len(words) else ""
        following = words[i + 1].upper if i + 1 < len(words) else ""
        if word in _PHRASES and following != "BY" and i + 1 < len(words):
            return f"Write {_PHRASES[word]}."
        if word == "INSERT" and following not in ("INTO", "OVERWRITE", "WITH", "INT", "IN"):
            return "Write INSERT INTO."
        if word in _ELSEWHERE and i == at - 1:
            return f"Write {_ELSEWHERE[word]} at the end of the query, with your number."
    return ""


def _clause_out_of_order(words: Sequence[Token], at: int) -> str:
    """About one that follows another, but belongs before it."""
    if at >= len(words) or words[at].upper not in _IN_ORDER:
        return ""
    behind = _IN_ORDER[_IN_ORDER.index(words[at].upper) + 1 :]
    depth = 0
    for word in reversed(words[:at]):
        depth += word.sign(")") - word.sign("(")
        if depth < 0 or (word.upper == "SELECT" and depth == 0):
            return ""
        if depth == 0 and word.upper in behind:
            first, second = (_PHRASES.get(w, w) for w in (words[at].upper, word.upper))
            return f"{first} comes before {second}."
    return ""


def _missing_comma(words: Sequence[Token], at: int) -> str:
    """About two items next to each other; in a condition it is AND or OR that is missing."""
    if at >= len(words):
        return ""
    called = words[at].sign("(") and is_call(words, at - 1)
    second = at - 1 if called or words[at].sign(".") else at
    if not second or not ends_item(words[second - 1]) or not _begins_item(words, second):
        return ""
    place = _surroundings(words, second)
    pair = f"between {_shown(words[second - 1])} and {_shown(words[second])}"
    if place == "condition":
        return f"Is AND or OR missing {pair}?"
    return f"Is a comma missing {pair}?" if place == "list" else ""


def ends_item(word: Token) -> bool:
    """Whether an item of a list may end with it."""
    plain = word.kind is TokenKind.WORD and word.upper not in _CLAUSES
    return plain or word.kind in _VALUES or word.upper in _CONSTANTS or word.sign(")")


def _begins_item(words: Sequence[Token], index: int) -> bool:
    word = words[index]
    if word.sign("("):
        return words[index - 1].sign(")")  # a row after a row
    plain = word.kind is TokenKind.WORD and word.upper not in _CLAUSES
    return plain or word.kind in _VALUES or word.upper == "CASE"


def _surroundings(words: Sequence[Token], index: int) -> str:
    """Whether a word is in a `list`, in a `condition`, or in neither."""
    depth = 0
    for i in range(index - 1, -1, -1):
        depth += words[i].sign(")") - words[i].sign("(")
        if depth < 0:
            before = words[i - 1].upper if i else ""
            return "condition" if before in _CONDITIONS or not before else "list"
        if depth == 0 and words[i].upper in _CONDITIONS:
            return "condition"
        if depth == 0 and words[i].upper in _LISTS:
            return "list"
    return ""


def _shown(word: Token) -> str:
    return word.text if len(word.text) <= _SHOWN else f"{word.text[: _SHOWN - 1]}…"
