"""Intervals of time as table properties write them: `interval 7 days`, `2 weeks`, `1 day 12 hours`.

The grammar is that of Spark's CalendarInterval, which Delta reads its retentions by: the word is
optional, case and spaces are free, terms add up and may have signs, seconds may have a fraction.
"""

from __future__ import annotations

import re

_MICROS = {
    "week": 7 * 86_400_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
_NO_LENGTH = ("year", "month")
_TERM = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<whole>\d*)(?P<point>\.?)(?P<part>\d{0,9})\s+"
    rf"(?P<unit>{'|'.join((*_MICROS, *_NO_LENGTH))})s?(?:\s+|\Z)",
    re.ASCII,
)
_WORD = re.compile(r"interval\s+", re.ASCII)
_MOST_DAYS, _MOST_MICROS = 2**31 - 1, 2**63 - 1
_DAY = _MICROS["day"]


def parse_interval(text: str) -> float:
    """The seconds of an interval. ValueError, with what is wrong, for an invalid text, and for
    months and years, which have no length in seconds."""
    rest = text.strip().lower()
    word = _WORD.match(rest)
    rest = rest[word.end() :] if word else rest
    if not rest:
        raise ValueError("it is empty")
    days = micros = 0
    while rest:
        term = _TERM.match(rest)
        if term is None or not (term["whole"] or term["part"]):
            raise ValueError(f"{rest.split()[0]!r} does not begin a number and its unit")
        amount = _amount(term)
        if term["unit"] in ("week", "day"):
            days += amount // _DAY if amount >= 0 else -(-amount // _DAY)
        else:
            micros += amount
        rest = rest[term.end() :]
    if abs(days) > _MOST_DAYS or abs(micros) > _MOST_MICROS:
        raise ValueError("it is too long")
    return (days * _DAY + micros) / 1e6


def _amount(term: re.Match[str]) -> int:
    """The microseconds of a number and its unit."""
    unit = term["unit"]
    if unit in _NO_LENGTH:
        raise ValueError(f"a {unit} has no fixed length")
    if term["point"] and unit != "second":
        raise ValueError("seconds alone may have a fraction")
    amount = int(term["whole"] or "0") * _MICROS[unit]
    if term["point"]:
        amount += int(term["part"].ljust(9, "0")) // 1000
    return -amount if term["sign"] == "-" else amount
