"""Target lags: a duration, or DOWNSTREAM."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from dt_jupyter.model.errors import error

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_DURATION = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(second|minute|hour|day)s?\s*\Z", re.IGNORECASE)
_FORM = "Write '<number> seconds|minutes|hours|days' or DOWNSTREAM."
_SHORT = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*\Z", re.IGNORECASE)
LONGEST_LAG = 100 * 365 * 86400


@dataclass(frozen=True, slots=True)
class TargetLag:
    """`seconds` of lag allowed; None is DOWNSTREAM: as fresh as its consumers need it."""

    seconds: float | None

    def __post_init__(self) -> None:
        if self.seconds is not None and not 0 < self.seconds <= LONGEST_LAG:
            raise error(
                "DT-1003",
                option="TARGET_LAG",
                value=f"{self.seconds:g} seconds",
                problem="a lag is more than zero and at most a hundred years",
                hint=_FORM,
            )

    @classmethod
    def parse(cls, text: str) -> TargetLag:
        """From `5 minutes`, `'30 seconds'`, `DOWNSTREAM`; DT-1003 for anything else."""
        bare = text.strip().strip("'\"")
        if bare.strip().upper() == "DOWNSTREAM":
            return cls(None)
        match = _DURATION.match(bare)
        if not match:
            raise error(
                "DT-1003",
                option="TARGET_LAG",
                value=repr(bare),
                problem="it is neither a duration nor DOWNSTREAM",
                hint=_meant(bare) or _FORM,
            )
        return cls(float(match[1]) * _UNITS[match[2].lower()])

    @classmethod
    def of(cls, value: str | float | timedelta) -> TargetLag:
        """From a text, as `parse` reads it, or from a number of seconds or a timedelta."""
        if isinstance(value, timedelta):
            return cls(value.total_seconds())
        plain = isinstance(value, int | float) and not isinstance(value, bool)
        return cls(float(value)) if plain else cls.parse(str(value))

    @property
    def downstream(self) -> bool:
        return self.seconds is None

    def __str__(self) -> str:
        if self.seconds is None:
            return "DOWNSTREAM"
        for unit in ("day", "hour", "minute", "second"):
            count = self.seconds / _UNITS[unit]
            if count >= 1 and count == int(count):
                return f"{int(count)} {unit}{'s' if count != 1 else ''}"
        return f"{self.seconds:g} seconds"


def _meant(text: str) -> str:
    """The duration that a number with a short unit, or with none, was to be."""
    found = _SHORT.match(text)
    unit = found and next((u for u in _UNITS if u.startswith(found[2][:3].lower())), None)
    return f"Did you mean '{found[1]} {unit}s'?" if found and unit else ""
