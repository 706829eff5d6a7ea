"""When a task runs by the clock: every so often, or as cron says it in a time zone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from dt_jupyter.model.errors import DTError, error
from dt_jupyter.model.time import Timestamp, zone_of

_EVERY = re.compile(r"(\d{1,9})\s*(SECOND|MINUTE|HOUR|DAY|S|M|H|D)S?\Z", re.IGNORECASE)
_CRON = re.compile(r"USING\s+CRON\s+(\S+(?:\s+\S+){4})\s+(\S+)\Z", re.IGNORECASE)
_UNITS = {"S": 1, "M": 60, "H": 3600, "D": 86400}
_WORDS = {86400: "day", 3600: "hour", 60: "minute", 1: "second"}
LONGEST_PERIOD = 100 * 365 * 86400
FORM = "Write '5 minutes', or 'USING CRON 0 9-17 * * MON-FRI Europe/Berlin'."


@dataclass(frozen=True, slots=True)
class TaskSchedule:
    """Every `seconds`; or the five fields `cron` (minute, hour, day, month, weekday) in `zone`."""

    seconds: int | None = None
    cron: str = ""
    zone: str = ""

    @classmethod
    def parse(cls, text: str) -> TaskSchedule:
        """From the text of SCHEDULE; DT-1003 for anything that is none."""
        bare = text.strip()
        if every := _EVERY.match(bare):
            seconds = int(every[1]) * _UNITS[every[2][0].upper()]
            if not 0 < seconds <= LONGEST_PERIOD:
                raise _bad(bare, "it is from a second to a hundred years")
            return cls(seconds)
        cron = _CRON.match(bare)
        if cron is None:
            raise _bad(bare, "it is neither a duration nor a cron expression with a time zone")
        found = cls(None, " ".join(cron[1].upper().split()), cron[2])
        found._require_cron(bare)
        return found

    def newest(self, after: Timestamp, now: Timestamp) -> Timestamp | None:
        """The newest tick after `after`, from where durations count, and up to `now`."""
        if now <= after:
            return None
        if self.seconds is not None:
            count = int(now.since(after) // self.seconds)
            return after.plus(count * self.seconds) if count else None
        found = self._cron_tick(now, back=True)
        return found if found is not None and found > after else None

    def following(self, after: Timestamp, now: Timestamp) -> Timestamp | None:
        """The first tick after `now`; None for a day that never comes."""
        if self.seconds is not None:
            count = int(max(now.since(after), 0.0) // self.seconds) + 1
            return after.plus(count * self.seconds)
        return self._cron_tick(now, back=False)

    def _cron_tick(self, now: Timestamp, *, back: bool) -> Timestamp | None:
        from cronsim import CronSim

        moment = now.datetime.replace(microsecond=0)
        if back:  # its own second is a tick that has come
            moment += timedelta(seconds=1)
        found = next(CronSim(self.cron, moment.astimezone(zone_of(self.zone)), reverse=back), None)
        return None if found is None else Timestamp.of(found)

    def _require_cron(self, text: str) -> None:
        from cronsim import CronSim, CronSimError

        try:
            zone_of(self.zone)
        except ValueError:
            raise _bad(text, f"{self.zone} is not a time zone") from None
        try:
            CronSim(self.cron, datetime(2026, 1, 1, tzinfo=UTC))
        except CronSimError as e:
            raise _bad(text, f"its {_field(str(e))} cannot be read") from e

    def __str__(self) -> str:
        if self.seconds is None:
            return f"USING CRON {self.cron} {self.zone}"
        unit = next(u for u in _WORDS if self.seconds % u == 0)
        count = self.seconds // unit
        return f"{count} {_WORDS[unit]}{'s' if count != 1 else ''}"


def _field(problem: str) -> str:
    return problem.removeprefix("Bad ").lower()


def _bad(text: str, problem: str) -> DTError:
    return error("DT-1003", option="SCHEDULE", value=repr(text), problem=problem, hint=FORM)
