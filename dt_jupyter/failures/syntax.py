"""A text that Spark's parser refuses: what is wrong with it, where, and which word was meant."""

from __future__ import annotations

import difflib
import itertools
import re
from bisect import bisect_left
from collections.abc import Sequence

from dt_jupyter.failures.missing_signs import ends_item, is_call, missing_sign
from dt_jupyter.failures.signs import text_of
from dt_jupyter.model import DTError, Span, error
from dt_jupyter.sql import Token, TokenKind, tokens

_CONDITION = "PARSE_SYNTAX_ERROR"
_SAID = re.compile(r"Syntax error (?P<where>at or near [^\n]*)")
_END = re.compile(r"\.?\s*(?:SQLSTATE: .*)?\Z")
_EXTRA = re.compile(r": extra input (?:'([^'\n]*)')?[^\n]*")
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
    " TYPE DATA COMMENT FUNCTION FUNCTIONS ROW ROWS FOR STRING BIGINT DOUBLE FLOAT DECIMAL BOOLEAN"
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
        return _place_of_extra(said, text, offset)
    lines = read.splitlines(keepends=True) if read else text[offset:].splitlines(keepends=True)
    start = sum(map(len, lines[: int(at[1]) - 1])) + int(at[2])
    if read:
        start = _moved(start, read, text[offset:])
    match = _TOKEN.match(text, min(offset + start, len(text)))
    found = Span(*match.span()) if match else Span(len(text), len(text))
    whole = (w.span for w in _words(text, offset) if w.start == found.start)
    return next(whole, found)


def _place_of_extra(said: str, text: str, offset: int) -> Span | None:
    """Of a word behind what could be a whole statement, which Spark may name without its place:
    the last such word after one that ends an item."""
    extra, words = _EXTRA.search(said), _words(text, offset)
    named = [
        w.span
        for before, w in itertools.pairwise(words)
        if extra and w.text == extra[1] and ends_item(before)
    ]
    return named[-1] if named else None


def _words(text: str, offset: int) -> list[Token]:
    try:
        return tokens(text, offset)
    except DTError:  # a string that does not end
        return []


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
    """The keyword that the word at the place, or the one before it, was to be, or the sign that
    is missing there."""
    words = _words(text, offset)
    if not words:
        return ""
    at = bisect_left([w.start for w in words], place.start)
    if words[0].upper == "SHOW" and words[-1].upper not in _SHOWN:
        found = difflib.get_close_matches(words[-1].upper, _SHOWN, 1, _CLOSE)
        return f"Did you mean {found[0]}?" if found else ""
    near, sign = _candidates(words, at), missing_sign(words, at)
    found = [m for swapped in (True, False) for w in near if (m := near_keyword(w.text, swapped))]
    doubtful = sign.startswith("Is ") and all(w.upper not in _OTHERS for w in near)
    if sign and not (found and doubtful):
        return sign
    return f"Did you mean {found[0]}?" if found else sign


def _candidates(words: Sequence[Token], at: int) -> list[Token]:
    """The word at a place, the one before it, and the nearest before that might have been a
    keyword: of `SELECT a FORM b c`, Spark stumbles over c only. What is called is a function."""
    before = at - 2 > 0 and at - 2 < len(words) and words[at - 2].sign("(")
    near = [i for i in (at, at - 1, at - 2 - before) if 0 <= i < len(words)]
    return [w for i in near if _may_be_keyword(w := words[i]) and not is_call(words, i)]


def _may_be_keyword(word: Token) -> bool:
    plural = word.upper.endswith("S") and word.upper[:-1] in _KEYWORDS
    return word.kind is TokenKind.WORD and not plural


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
