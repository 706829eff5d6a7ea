"""What went wrong in a refresh, in the catalogue's words."""

from __future__ import annotations

import re

from pyspark.errors import PySparkException

from dt_jupyter.failures.function_errors import function_error
from dt_jupyter.failures.signs import environment_error
from dt_jupyter.failures.words import details_of, spoken
from dt_jupyter.lake import TableLocked
from dt_jupyter.model import DTError, Name, error
from dt_jupyter.spark import find_conflict


def as_error(e: BaseException, name: Name) -> DTError:
    """The failure of a refresh of `name`: what is outside of it (a full disk, a JVM that is
    gone) by its own code, else DT-2105; what the JVM said is kept one click away."""
    if isinstance(e, DTError):
        return e
    made = environment_error(e) or function_error(e)
    if made is None and isinstance(e, TableLocked):
        made = error("DT-5107", name=name, owner="another process")
    if made is None:
        problem, hint = spoken(e)
        lost = "The next refresh continues from the last commit." if find_conflict(e) else ""
        made = error("DT-2105", work="refresh", name=name, problem=problem, hint=hint or lost)
    return DTError(made.code, made.facts, details=details_of(e))


_AS_OF = re.compile(
    r"(?<![\w.`])(?P<name>[\w.`]++)(?:\s++AS\s++\w++)?\s++(?:TO\s++|FOR\s++)?"
    r"(?:SYSTEM_)?(?:VERSION|TIMESTAMP|TIME)\s++AS\s++OF\b",
    re.IGNORECASE,
)
"""Reads each character of a text twice at most: a literal in it may be megabytes long."""
_NO_VERSION = {
    # condition: the parameters with the version that was requested, the oldest and the newest
    "DELTA_VERSION_NOT_FOUND": ("userVersion", "earliest", "latest"),
    "DELTA_CANNOT_RESTORE_TABLE_VERSION": ("version", "startVersion", "endVersion"),
}
_BEFORE = {
    # condition: the parameters with the point that was requested, and with the oldest there is
    "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION": ("userTimestamp", "commitTs"),
    "DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER": ("requestedTimestamp", "earliestTimestamp"),
}
_TOO_OLD = "DELTA_UNSUPPORTED_TIME_TRAVEL_BEYOND_DELETED_FILE_RETENTION_DURATION"
_AFTER = {
    "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": "providedTimestamp",
    "DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER": "requestedTimestamp",
}


def out_of_reach(e: PySparkException, text: str) -> DTError | None:
    """DT-4101, DT-4102 or DT-4111 where Delta reads no version for a VERSION or TIMESTAMP AS OF of
    the text; None for any other failure."""
    condition, facts = e.getCondition() or "", dict(e.getMessageParameters() or {})
    found = {m["name"] for m in _AS_OF.finditer(text)}
    name = found.pop().replace("`", "") if len(found) == 1 else "A table"
    if condition in _NO_VERSION:
        asked, oldest, newest = (facts.get(key, "?") for key in _NO_VERSION[condition])
        if _number(asked) > _number(newest):
            latest = f"The newest is version {newest}."
            return error("DT-4102", name=name, point=f"version {asked}", instead=latest)
        return error("DT-4101", name=name, point=f"version {asked}", oldest=f"version {oldest}")
    if condition == _TOO_OLD:
        hours = facts.get("deletedFileRetention", "?")
        return error("DT-4111", name=name, retention=f"{hours} hours")
    if condition in _BEFORE:
        asked, oldest = (facts.get(key, "?") for key in _BEFORE[condition])
        return error("DT-4101", name=name, point=asked, oldest=oldest)
    if condition in _AFTER:
        return error("DT-4102", name=name, point=facts.get(_AFTER[condition], "?"))
    return None


def _number(text: str) -> int:
    return int(text) if text.lstrip("-").isdigit() else 0
