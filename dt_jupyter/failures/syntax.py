"""A text that Spark's parser refuses: what is wrong with it, where, and which word was meant."""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Sequence

from dt_jupyter.failures.signs import text_of
from dt_jupyter.model import DTError, Span, error
from dt_jupyter.sql import Token, TokenKind, tokens

_CONDITION = "PARSE_SYNTAX_ERROR"
_SAID = re.compile(r"Syntax error (?P<where>at or near [^\n]*)")
_END = re.compile(r"\.?\s*(?:SQLSTATE: .*)?\Z")
_EXTRA = re.compile(r": extra input .*\Z")
_MISSING = re.compile(r": missing ('.*')\Z")
_AT = re.compile(r"\(line (\d+), pos (\d+)\)")
_TEXT = re.compile(r"\n== SQL ==\n(.*)", re.DOTALL)
_MARK = re.compile(r"-*\^\^\^\Z")
_TOKEN = re.compile(r"[\w$]+|\S|\Z")
_WORDS = (
    "ALTER AND BETWEEN BY CASE CREATE CROSS DATABASES DELETE DESCRIBE DISTINCT DROP ELSE EXCEPT "
    "EXISTS EXPLAIN FROM FULL GROUP HAVING INNER INSERT INTERSECT INTO JOIN LATERAL LEFT LIKE "
    "LIMIT MATCHED MERGE NATURAL OFFSET ORDER OUTER OVER OVERWRITE PARTITION QUALIFY RESTORE "
    "RIGHT SCHEMAS SELECT SET SHOW TABLE TABLES THEN TRUNCATE UNION UPDATE USING VALUES VIEW "
    "VIEWS WHEN WHERE WINDOW WITH DYNAMIC STREAM STREAMS WAREHOUSE WAREHOUSES TRANSACTION COLUMN "
    "COLUMNS TBLPROPERTIES PARTITIONED CLUSTER REPLACE"
)
_KEYWORDS = tuple(_WORDS.split())
_RIGHT = (
    "AS ASC DESC IN INT IS NOT NULL ON OR TO IF END ALL ANY ADD DAY DATE TIME TRUE FALSE SOME LIST"
    " TYPE DATA COMMENT FUNCTION FUNCTIONS ROW ROWS FOR"
)
_OTHERS = frozenset(_RIGHT.split())
"""Words of SQL that are right as they are, or too short for a guess at them."""
_SHOWN = (
    "TABLES",
    "VIEWS",
    "COLUMNS",
    "SCHEMAS",
    "DATABASES",
    "STREAMS",
    "WAREHOUSES",
    "FUNCTIONS",
)
_SHORT = 3
_CLOSE = 0.7


def is_syntax_error(failure: BaseException) -> bool:
    """Whether Spark's parser could make nothing of the text."""
    condition = getattr(failure, "getCondition", lambda: None)()
    return condition == _CONDITION or text_of(failure).startswith(f"[{_CONDITION}]")


def syntax_error(failure: BaseException, asked: str | None, offset: int = 0) -> DTError:
    """DT-1001 at its place in what was `asked`, whose statement begins at `offset`; where that is
    not known, in what Spark has read.

    The two differ where what is ours was put in place.
    """
    said = text_of(failure)
    text = _read(said) if asked is None else asked
    told = _SAID.search(said)
    where = _END.sub("", told["where"]) if told else "in the statement"
    place = _place(said, text, offset)
    hint = _meant(text, offset, place) if place is not None else ""
    where = _EXTRA.sub("", where)
    guessed = hint or text[offset:].lstrip()[:4].upper() == "SHOW"
    where = _MISSING.sub("" if guessed else r", where \1 is missing", where)
    made = error("DT-1001", problem=where, hint=hint)
    return DTError(made.code, made.facts, text, place, said)


def _place(said: str, text: str, offset: int) -> Span | None:
    at, read = _AT.search(said), _read(said)
    if at is None:
        return None
    lines = read.splitlines(keepends=True) if read else text[offset:].splitlines(keepends=True)
    start = sum(map(len, lines[: int(at[1]) - 1])) + int(at[2])
    if read:
        start = _moved(start, read, text[offset:])
    match = _TOKEN.match(text, min(offset + start, len(text)))
    return Span(*match.span()) if match else Span(len(text), len(text))


def _read(said: str) -> str:
    """The text that Spark has parsed, without the line of its mark."""
    match = _TEXT.search(said)
    if match is None:
        return ""
    lines = match[1].split("\n")
    return "\n".join(line for line in lines if not _MARK.match(line)).rstrip()


def _moved(start: int, read: str, text: str) -> int:
    """The same place in `text`, which has other words than `read` somewhere in its middle."""
    if read.startswith(text[:start]) or start <= _common(read, text):
        return start
    behind = len(read) - start
    tail = _common(read[::-1], text.rstrip()[::-1])
    return len(text.rstrip()) - behind if behind <= tail else _common(read, text)


def _common(a: str, b: str) -> int:
    return next(
        (i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b))
    )


def _meant(text: str, offset: int, place: Span) -> str:
    """The keyword that the word at the place, or the one before it, was to be."""
    try:
        words = tokens(text, offset)
    except DTError:
        return ""
    at = bisect_left([w.start for w in words], place.start)
    near = [
        w
        for w in _candidates(words, at)
        if not w.upper.endswith("S") or w.upper[:-1] not in _KEYWORDS
    ]
    if words and words[0].upper == "SHOW" and words[-1].upper not in _SHOWN:
        found = difflib.get_close_matches(words[-1].upper, _SHOWN, 1, _CLOSE)
    else:
        found = [
            m for swapped in (True, False) for w in near if (m := near_keyword(w.text, swapped))
        ]
    return f"Did you mean {found[0]}?" if found else ""


def _candidates(words: Sequence[Token], at: int) -> list[Token]:
    """The word at a place, the one before it, and the nearest before that might have been a
    keyword: of `SELECT a FORM b c`, Spark stumbles over c only."""
    near = [words[i] for i in (at, at - 1, at - 2) if 0 <= i < len(words)]
    return [w for w in near if w.kind is TokenKind.WORD and w.text != ";"]


def near_keyword(word: str, swapped: bool) -> str | None:
    """The keyword that a word of SQL is a misspelling of, with its letters only `swapped` or
    others; None for one that is right."""
    upper = word.upper()
    if upper in _KEYWORDS:
        return None
    if swapped:
        return next((k for k in _KEYWORDS if sorted(k) == sorted(upper)), None)
    if len(upper) <= _SHORT or upper in _OTHERS:
        longer = [k for k in _KEYWORDS if _inserted(upper, k)]
        return longer[0] if len(longer) == 1 and len(upper) > 1 else None
    return next(iter(difflib.get_close_matches(upper, _KEYWORDS, 1, _CLOSE)), None)


def _inserted(short: str, long: str) -> bool:
    return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
