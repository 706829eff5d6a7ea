"""Timestamps of a hybrid logical clock, and the clocks that give them (DT paper, 5.3)."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from zoneinfo import ZoneInfo

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICRO = timedelta(microseconds=1)
_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d\d))?(?::?(\d\d))?\Z", re.IGNORECASE)


@dataclass(frozen=True, order=True, slots=True)
class Timestamp:
    """A hybrid logical clock value: UTC microseconds since 1970, and a logical counter."""

    micros: int
    logical: int = 0

    def __post_init__(self) -> None:
        if self.logical < 0:
            raise ValueError("the logical counter is not negative")

    @classmethod
    def of(cls, value: datetime) -> Timestamp:
        """From an aware datetime; a naive one has no place on the clock."""
        if value.tzinfo is None:
            raise ValueError("a timestamp needs a time zone")
        return cls((value - _EPOCH) // _MICRO)

    @classmethod
    def parse(cls, text: str) -> Timestamp:
        """From what `str` wrote; an ISO instant with an offset will do."""
        iso, _, logical = text.partition("#")
        return cls(cls.of(datetime.fromisoformat(iso)).micros, int(logical or 0))

    @property
    def datetime(self) -> datetime:
        return _EPOCH + timedelta(microseconds=self.micros)

    @property
    def words(self) -> str:
        """For sentences: `2013-01-04 12:00:00 UTC`, with a fraction only where there is one."""
        utc = self.datetime
        fraction = f".{utc.microsecond:06d}".rstrip("0") if utc.microsecond else ""
        return f"{utc:%Y-%m-%d %H:%M:%S}{fraction} UTC"

    @property
    def has_date(self) -> bool:
        return FIRST <= self <= _LAST

    @property
    def seconds(self) -> float:
        return self.micros / 1e6

    def plus(self, seconds: float) -> Timestamp:
        return Timestamp(self.micros + round(seconds * 1e6))

    def since(self, other: Timestamp) -> float:
        """Seconds from `other` to this."""
        return (self.micros - other.micros) / 1e6

    def __sub__(self, other: Timestamp) -> timedelta:
        return timedelta(microseconds=self.micros - other.micros)

    def __str__(self) -> str:
        iso = self.datetime.isoformat(timespec="microseconds")
        return f"{iso}#{self.logical}" if self.logical else iso


FIRST = Timestamp.of(datetime.min.replace(tzinfo=UTC) + timedelta(days=1))
_LAST = Timestamp.of(datetime.max.replace(tzinfo=UTC) - timedelta(days=1))
"""What every zone has a date for."""


def parse_time(text: str) -> datetime:
    """A time as ISO 8601 or `Timestamp.words` writes it. ValueError for none."""
    plain = text.strip()
    found = datetime.fromisoformat(plain.removesuffix(" UTC"))
    if not plain.endswith(" UTC"):
        return found
    if found.tzinfo is not None:
        raise ValueError(f"two time zones: {text}")
    return found.replace(tzinfo=UTC)


def zone_of(text: str) -> tzinfo:
    """A session's time zone as Spark writes it: a region, or an offset like +02:00 or GMT+2.
    ValueError for none."""
    match = _OFFSET.match(text.strip())
    try:
        if match is None:
            return UTC if text.strip() in ("Z", "UT") else ZoneInfo(text)
        hours, minutes, seconds = (int(match[i] or 0) for i in (2, 3, 4))
        away = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-away if match[1] == "-" else away)
    except (KeyError, OSError, ValueError) as e:
        raise ValueError(f"no time zone: {text}") from e


class Clock:
    """A clock that never repeats and never goes back, over a wall clock that may do both.

    `wall` gives UTC microseconds; a simulated clock passes its own.
    """

    def __init__(self, wall: Callable[[], int] = lambda: time.time_ns() // 1000) -> None:
        self._wall = wall
        self._last = Timestamp(0)
        self._lock = threading.Lock()

    def now(self) -> Timestamp:
        with self._lock:
            wall = Timestamp(self._wall())
            last = self._last
            self._last = wall if wall > last else Timestamp(last.micros, last.logical + 1)
            return self._last

    def wall(self) -> int:
        """What the wall clock says now, in UTC microseconds."""
        return self._wall()

    def observe(self, seen: Timestamp) -> None:
        """Take note of a timestamp from elsewhere (the catalog): later ones come after it."""
        with self._lock:
            self._last = max(self._last, seen)
