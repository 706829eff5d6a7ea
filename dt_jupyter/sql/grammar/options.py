"""The options of all that we create, for SQL, magics, help, completion."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from dt_jupyter.model import (
    DTError,
    Initialize,
    RefreshMode,
    TargetLag,
    TaskSchedule,
    did_you_mean,
    error,
)
from dt_jupyter.model.hidden import is_hidden

_RETENTION_LIMIT = 36_500  # days: a hundred years, as for lags
_WAREHOUSE_LIMIT = 1_000
_LONGEST_IDLE = 31_536_000  # seconds: a year
_MOST_PARTITIONS = 64
_MOST_RETRIES = 30
_LONGEST_EXTENSION = 90  # days
_LONGEST_TRIGGER = 604_800
_LONGEST_TASK = 604_800_000  # milliseconds: seven days
_DIGITS = 9  # more is no number that an option takes
_INTEGER = re.compile(r"-?\d+\Z")


@dataclass(frozen=True)
class Option:
    """`parse` makes the value of field `field` from its text, or raises DT-1003.

    `values` are all that there are, for an option that has a few; `text` is true when only a
    string will do; `fixed` when the option cannot be altered later.
    """

    name: str
    field: str
    parse: Callable[[str], Any]
    help: str
    example: str
    values: tuple[str, ...] = ()
    text: bool = False
    fixed: bool = False


def unknown_option(option: str, statement: str, known: Iterable[str]) -> DTError:
    """DT-1002, with the option that was meant first."""
    names = sorted(known)
    nearest = nearest_option(option, names)
    shown = [f"{n} (did you mean this?)" for n in nearest[:1]]
    shown += [n for n in names if n not in nearest[:1]]
    return error("DT-1002", option=option, statement=statement, known=", ".join(shown))


def nearest_option(option: str, known: Iterable[str]) -> list[str]:
    """The one of those known that was meant, or none: as it is spelled but for case, dashes and
    underscores, which all options share."""
    names = {_letters(name): name for name in known}
    asked = _letters(option)
    meant = [n for n, name in names.items() if asked in _parts(name) or n in _MEANT.get(asked, ())]
    close = meant if len(meant) == 1 else difflib.get_close_matches(asked, list(names), n=1)
    return [names[c] for c in close]


_MEANT: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("from", "since", "start", "begin", "after", "version"), ("at",)),
    **dict.fromkeys(("to", "until", "before", "stop"), ("end", "to")),
    **dict.fromkeys(("every", "interval", "frequency", "freshness"), ("targetlag",)),
    **dict.fromkeys(("description", "doc"), ("comment",)),
    **dict.fromkeys(("overwrite", "force", "or"), ("replace",)),
    **dict.fromkeys(("output", "var", "variable", "into"), ("out",)),
    **dict.fromkeys(("size", "concurrency"), ("maxconcurrencylevel",)),
}
"""Words of other systems, by their letters, and the options that mean the same here."""


def _parts(option: str) -> list[str]:
    """The words of an option's name, where it has several: LAG of TARGET_LAG."""
    words = re.split(r"[-_\s]+", option.strip("-").casefold())
    return words if len(words) > 1 else []


def _letters(option: str) -> str:
    return re.sub(r"[-_\s]", "", option).casefold()


def _bad(option: str, value: str, problem: str, hint: str) -> DTError:
    return error("DT-1003", option=option, value=value, problem=problem, hint=hint)


def _one_of(option: str, values: tuple[str, ...], text: str) -> str:
    if text.upper() in values:
        return text.upper()
    hint = did_you_mean(text.upper(), list(values), "Omit it for the default.")
    raise _bad(option, text, f"it must be one of {', '.join(values)}", hint)


def _choice(name: str, field: str, kind: type[StrEnum], help: str, fixed: bool = False) -> Option:
    values = tuple(member.value for member in kind)
    return Option(
        name,
        field,
        lambda text: kind(_one_of(name, values, text)),
        help,
        f"{name} = {values[-1]}",
        values,
        fixed=fixed,
    )


def _switch(name: str, field: str, on: str, off: str, help: str) -> Option:
    values = (on, off)
    return Option(
        name, field, lambda text: _one_of(name, values, text) == on, help, f"{name} = {off}", values
    )


def _integer(name: str, low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        number = int(text) if _INTEGER.match(text) and len(text) <= _DIGITS else None
        if number is None or not low <= number <= high:
            raise _bad(
                name,
                text,
                f"it must be an integer from {low} to {high:,}",
                "Omit it for the default.",
            )
        return number

    return parse


def warehouse_name(text: str) -> str:
    """A warehouse's name, in lower case; DT-1003, DT-1114. What exists may bear any."""
    if not text or "\0" in text:
        raise _bad(
            "WAREHOUSE",
            repr(text),
            "it is empty or has a NUL character",
            "Omit it for the warehouse default.",
        )
    if is_hidden(text):
        raise error("DT-1114", name=text)
    return text.lower()


def _table(*options: Option) -> Mapping[str, Option]:
    return {option.name: option for option in options}


TABLE_OPTIONS = _table(
    Option("TARGET_LAG", "target_lag", TargetLag.parse,
           "how old the rows may be, or DOWNSTREAM: as fresh as the tables that read it need",
           "TARGET_LAG = '5 minutes'"),
    Option("WAREHOUSE", "warehouse", warehouse_name, "the warehouse that runs its refreshes",
           "WAREHOUSE = default"),
    _choice("REFRESH_MODE", "refresh_mode", RefreshMode,
            "incremental, full, or AUTO, which chooses and says why", fixed=True),
    _choice("INITIALIZE", "initialize", Initialize,
            "fill it now, or at its first scheduled refresh", fixed=True),
    _switch("SCHEDULER", "scheduler", "ENABLE", "DISABLE", "whether the scheduler refreshes it"),
    Option("DATA_RETENTION_TIME_IN_DAYS", "retention_days",
           _integer("DATA_RETENTION_TIME_IN_DAYS", 0, _RETENTION_LIMIT),
           "how long old versions can be read", "DATA_RETENTION_TIME_IN_DAYS = 7"),
    _switch("ALTER_SOURCES", "alter_sources", "TRUE", "FALSE",
            "whether the change data feed of its sources may be turned on"),
    Option("COMMENT", "comment", str, "a comment", "COMMENT = 'sales per day'", text=True),
)  # fmt: skip

WAREHOUSE_OPTIONS = _table(
    Option(
        "MAX_CONCURRENCY_LEVEL",
        "max_concurrency",
        _integer("MAX_CONCURRENCY_LEVEL", 1, _WAREHOUSE_LIMIT),
        "how many refreshes run at once",
        "MAX_CONCURRENCY_LEVEL = 2",
    ),
    Option(
        "WEIGHT",
        "weight",
        _integer("WEIGHT", 1, _WAREHOUSE_LIMIT),
        "its share of the machine relative to other warehouses",
        "WEIGHT = 1",
    ),
    Option(
        "AUTO_SUSPEND",
        "auto_suspend",
        _integer("AUTO_SUSPEND", 0, _LONGEST_IDLE),
        "after how many idle seconds the scheduler suspends it; 0: never",
        "AUTO_SUSPEND = 600",
    ),
    _switch(
        "AUTO_RESUME",
        "auto_resume",
        "TRUE",
        "FALSE",
        "whether work that needs it resumes it",
    ),
)

STREAM_SETTINGS = _table(
    Option(
        "MAX_DATA_EXTENSION_TIME_IN_DAYS",
        "extension_days",
        _integer("MAX_DATA_EXTENSION_TIME_IN_DAYS", 0, _LONGEST_EXTENSION),
        "for how many days its sources keep what it has not consumed",
        "MAX_DATA_EXTENSION_TIME_IN_DAYS = 14",
    ),
    Option("COMMENT", "comment", str, "a comment", "COMMENT = 'orders for the report'", text=True),
)
"""Those that can be altered later."""

STREAM_OPTIONS = _table(
    _switch(
        "APPEND_ONLY",
        "append_only",
        "TRUE",
        "FALSE",
        "whether it returns inserted rows only, as first inserted",
    ),
    _switch(
        "SHOW_INITIAL_ROWS",
        "show_initial_rows",
        "TRUE",
        "FALSE",
        "whether its first consumption returns all rows of its source",
    ),
    *STREAM_SETTINGS.values(),
)

SINK_OPTIONS = _table(
    _switch("DELTA_UPDATES", "delta_updates", "TRUE", "FALSE",
            "whether changes are added to the target, instead of kept as rows by key"),
    Option("TARGET_LAG", "target_lag", TargetLag.parse,
           "how old the rows in the store may be, or DOWNSTREAM: whenever the source moved",
           "TARGET_LAG = '1 minute'"),
    Option("WAREHOUSE", "warehouse", warehouse_name, "the warehouse that reads its changes",
           "WAREHOUSE = default"),
    Option("PARTITIONS", "partitions", _integer("PARTITIONS", 1, _MOST_PARTITIONS),
           "how many parts of the keys are delivered at once", "PARTITIONS = 2"),
    Option("COMMENT", "comment", str, "a comment", "COMMENT = 'for the app'", text=True),
)  # fmt: skip

TASK_OPTIONS = _table(
    Option("SCHEDULE", "schedule", TaskSchedule.parse,
           "how often it runs, or at which minutes, as cron writes them, in a time zone",
           "SCHEDULE = '5 minutes'", text=True),
    Option("WAREHOUSE", "warehouse", warehouse_name, "the warehouse that runs it",
           "WAREHOUSE = default"),
    _switch("ALLOW_OVERLAPPING_EXECUTION", "overlaps", "TRUE", "FALSE",
            "whether a run begins while the one before is running"),
    Option("SUSPEND_TASK_AFTER_NUM_FAILURES", "suspend_after",
           _integer("SUSPEND_TASK_AFTER_NUM_FAILURES", 0, _WAREHOUSE_LIMIT),
           "after how many failed runs in a row it is suspended; 0: never",
           "SUSPEND_TASK_AFTER_NUM_FAILURES = 10"),
    Option("TASK_AUTO_RETRY_ATTEMPTS", "retries",
           _integer("TASK_AUTO_RETRY_ATTEMPTS", 0, _MOST_RETRIES),
           "how often a run that failed is tried again at once", "TASK_AUTO_RETRY_ATTEMPTS = 0"),
    Option("USER_TASK_TIMEOUT_MS", "timeout_ms",
           _integer("USER_TASK_TIMEOUT_MS", 0, _LONGEST_TASK),
           "after how many milliseconds a run is cancelled; 0: never",
           "USER_TASK_TIMEOUT_MS = 3600000"),
    Option("USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS", "trigger_seconds",
           _integer("USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS", 10, _LONGEST_TRIGGER),
           "how long after a run its condition, without SCHEDULE, may make it run again",
           "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS = 30"),
    Option("COMMENT", "comment", str, "a comment", "COMMENT = 'loads the report'", text=True),
)  # fmt: skip

SINK_SET_OPTIONS = {n: o for n, o in SINK_OPTIONS.items() if n != "DELTA_UPDATES"}
"""Those that can be altered later."""

REDUCTIONS = (
    "SUM", "MIN", "MAX", "LAST_WRITE_WINS", "FIRST_WRITE_WINS", "APPEND", "SET", "MERGE",
)  # fmt: skip
"""What a column of a sink may be reduced by."""
