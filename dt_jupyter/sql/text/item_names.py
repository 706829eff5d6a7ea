"""Names for result columns that are computed by our functions: Spark would name them by the values
that are put in their place, and Snowflake names them as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dt_jupyter.model import Span, quote
from dt_jupyter.sql.grammar.functions import replace_spans
from dt_jupyter.sql.text.lex import Token, TokenKind, tokens

_FUNCTIONS = frozenset({"SYSTEM$STREAM_HAS_DATA", "LAST_QUERY_ID", "CURRENT_ROLE"})
_ENDS = frozenset({
    "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE", "LIMIT", "OFFSET",
    "WINDOW", "QUALIFY", "UNION", "INTERSECT", "EXCEPT", "MINUS",
})  # fmt: skip
_BEFORE_ITEM = frozenset({"ALL", "DISTINCT"})
_VALUES = frozenset({"END", "NULL", "TRUE", "FALSE"})  # words that end an expression
_OPERATORS = frozenset({
    "AND", "OR", "NOT", "LIKE", "ILIKE", "RLIKE", "REGEXP", "IN", "IS", "BETWEEN", "DIV", "ESCAPE",
    "WHEN", "THEN", "ELSE", "CASE", "DISTINCT", "INTERVAL", "DATE", "TIMESTAMP", "COLLATE",
})  # fmt: skip
_CALL = 3  # its name and two brackets
_ENDING = frozenset({TokenKind.STRING, TokenKind.QUOTED, TokenKind.NUMBER})


@dataclass
class _Level:
    """Between two brackets: the item of a SELECT that is open, its words, and whether one of our
    functions is in it."""

    words: list[Token] | None = None
    has: bool = False


def unnamed_items(text: str) -> list[tuple[Span, str]]:
    """After each item of a SELECT that has one of FUNCTIONS in it and no alias, the alias that it
    is to get: a place of no length, and the text to insert there."""
    if not any(name in text.upper() for name in _FUNCTIONS):
        return []
    return [
        (Span(words[-1].end, words[-1].end), f" AS {quote(_named(text, words))}")
        for words in _items(tokens(text))
        if not _has_alias(words)
    ]


def _items(words: Sequence[Token]) -> Iterator[list[Token]]:
    """The words of each item that has one of our functions, those within brackets aside but for
    the last bracket."""
    levels = [_Level()]
    hint = False
    for i, word in enumerate(words):
        level = levels[-1]
        if word.sign("/*+") or word.sign("*/"):
            hint = word.sign("/*+")
        elif hint:
            continue
        elif word.sign("(") or word.sign("["):
            _take(level, word)
            levels.append(_Level())
        elif (word.sign(")") or word.sign("]")) and len(levels) > 1:
            inner = levels.pop()
            if inner.words and inner.has:
                yield inner.words
            levels[-1].has = levels[-1].has or inner.has
            _take(levels[-1], word)
        elif word.upper == "SELECT" or (level.words is not None and _ends(words, i)):
            if level.words and level.has:
                yield level.words
            is_open = word.upper == "SELECT" or word.sign(",")
            levels[-1] = _Level([] if is_open else None)
        elif not (level.words == [] and word.upper in _BEFORE_ITEM):
            level.has = level.has or _is_ours(words, i)
            _take(level, word)
    for level in levels:
        if level.words and level.has:
            yield level.words


def _take(level: _Level, word: Token) -> None:
    if level.words is not None and word.kind is not TokenKind.END:
        level.words.append(word)


def _is_ours(words: Sequence[Token], i: int) -> bool:
    following = words[i + 1] if i + 1 < len(words) else None
    return words[i].upper in _FUNCTIONS and following is not None and following.sign("(")


def _ends(words: Sequence[Token], i: int) -> bool:
    """Whether an item of a SELECT ends before a word."""
    word = words[i]
    following = words[i + 1] if i + 1 < len(words) else None
    if word.sign(",") or word.sign(";"):
        return True
    if word.sign("|"):
        return following is not None and following.sign(">")
    if word.upper not in _ENDS or words[i - 1].sign("."):
        return False
    if word.upper == "EXCEPT" and words[i - 1].sign("*"):
        return False
    called = following is not None and following.sign("(")
    return not (called and word.upper in ("WINDOW", "OFFSET"))


def _has_alias(words: Sequence[Token]) -> bool:
    if len(words) == 1:
        return False
    if any(w.upper == "AS" for w in words):
        return True
    last, before = words[-1], words[-2]
    if last.kind not in (TokenKind.WORD, TokenKind.QUOTED) or last.upper in _VALUES:
        return False
    closed = before.kind in _ENDING or before.sign(")") or before.sign("]")
    return closed or (before.kind is TokenKind.WORD and before.upper not in _OPERATORS)


def _named(text: str, words: Sequence[Token]) -> str:
    """An item as it is written, on one line, with our functions in capitals."""
    start, end = words[0].start, words[-1].end
    found = tokens(text, start, end)
    ours = [
        (Span(w.start - start, w.end - start), w.upper)
        for i, w in enumerate(found)
        if _is_ours(found, i)
    ]
    made = re.sub(r"\s+", " ", replace_spans(text[start:end], ours))
    is_call = len(words) == _CALL and bool(ours)
    return re.sub(r" ?([()]) ?", r"\1", made) if is_call else made
