"""Durations, instants and counts in words, and round ticks for their axes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from dt_jupyter.model import Timestamp

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
_UNITS = ((_DAY, "d"), (_HOUR, "h"), (_MINUTE, "min"))
_LARGER = {"min": _HOUR, "h": _DAY}
_STEPS = (
    *(0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30),
    *(k * _MINUTE for k in (1, 2, 5, 10, 15, 30)),
    *(k * _HOUR for k in (1, 2, 3, 6, 12)),
    *(k * _DAY for k in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 20000)),
)


def duration(seconds: float) -> str:
    """`4 ms`, `0.42 s`, `12 s`, `1 min 30 s`, `2 h 5 min`, `3 d 4 h`: two units at most, never
    more exact than one reads."""
    if seconds < 0:
        return "−" + duration(-seconds)
    if 0 < seconds < 0.1:
        return f"{seconds * 1000:.2g} ms"
    if seconds < 10:
        return f"{seconds:.2f}".rstrip("0").rstrip(".") + " s"
    whole = round(seconds)
    for (size, unit), (below, lesser) in zip(_UNITS, (*_UNITS[1:], (1.0, "s")), strict=True):
        if whole >= size:
            high, low = divmod(round(whole / below), round(size / below))
            if high * size >= _LARGER.get(unit, math.inf):
                return duration(high * size)
            return f"{high} {unit}" + (f" {low} {lesser}" if low else "")
    return f"{whole} s"


def instant(value: datetime) -> str:
    """`2013-01-04 12:00:00 UTC`, with a fraction only where there is one."""
    return Timestamp.of(value).words


def count(value: int) -> str:
    """`9,999`, `12.3k`, `337k`, `6M`: exact when short, else three digits."""
    if abs(value) < 10_000:
        return f"{value:,}".replace("-", "−")
    size = float(abs(value))
    for unit in ("", "k", "M", "G", "T"):
        if size < 999.5 or unit == "T":
            digits = f"{size:.3g}" if size < 1000 else f"{size:.0f}"
            return ("−" if value < 0 else "") + digits + unit
        size /= 1000
    raise AssertionError("the last unit takes all")


def step(span: float, wanted: int) -> float:
    """The smallest round step, in seconds, that makes at most `wanted` intervals of `span`."""
    return next((s for s in _STEPS if span / s <= wanted), _STEPS[-1])


def duration_ticks(top: float, wanted: int = 5) -> tuple[float, ...]:
    """Round durations from zero up to `top`."""
    by = step(top, wanted)
    return tuple(i * by for i in range(math.floor(top / by + 1e-9) + 1))


def instant_ticks(
    start: datetime, end: datetime, wanted: int = 8
) -> Iterator[tuple[datetime, str]]:
    """Round instants of UTC in [start, end] with their labels; a date where a new day begins."""
    by = step((end - start).total_seconds(), wanted)
    day = start.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    first = math.ceil((start - day).total_seconds() / by - 1e-9)
    shape = "%Y-%m-%d" if by >= _DAY else "%H:%M" if by >= _MINUTE else "%H:%M:%S"
    index = first
    while (at := day + timedelta(seconds=index * by)) <= end:
        yield at, at.strftime(shape) + (f".{at.microsecond // 100000}" if by < 1 else "")
        index += 1
