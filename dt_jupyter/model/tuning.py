"""The thresholds by which an engine weighs its work, as one value that a user may pass."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any

from dt_jupyter.model.errors import error

_MEGABYTE = 1 << 20


def _limit(default: float, unit: str, meaning: str) -> Any:
    return field(default=default, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True)
class Tuning:
    """Thresholds of an engine: `connect("lake", tuning=Tuning(driver_rows=20_000))`.

    None changes what a table holds, only which way leads there and when. The defaults are
    for a laptop. DT-1031 for what is not a number above zero (for a count, a whole one).
    """

    small_change_rows: int = _limit(
        50_000,
        "rows",
        "A change of fewer is moved into the table, unless that was measured to "
        "cost more than computing everything.",
    )
    small_table_rows: int = _limit(
        100_000, "rows", "Of sources with fewer nothing is weighed: a change is always moved."
    )
    notable_ms: int = _limit(
        1_000,
        "milliseconds",
        "Computing everything has to take so long before a small change is weighed.",
    )
    driver_rows: int = _limit(
        100_000, "rows", "A larger change is not brought to the driver, but written by Spark."
    )
    driver_bytes: int = _limit(
        64 * _MEGABYTE, "bytes", "A statement that reads more is planned for many cores."
    )
    fetched_bytes: int = _limit(
        64 * _MEGABYTE,
        "bytes",
        "Files of a change, or of a table, on other storage that are no more are fetched to this "
        "disk, and read without Spark; eight times as much is kept of each table.",
    )
    read_rows: int = _limit(
        2_000_000,
        "rows",
        "A change of more is read by Spark, and so are the rows of a table that go with it where "
        "they have more values of a key.",
    )
    interpreted_rows: int = _limit(
        20_000, "rows", "For statements over fewer, all on the driver, no code is generated."
    )
    evaluated_rows: int = _limit(
        4_000_000,
        "rows",
        "Statements over fewer, all on the driver, are evaluated there without Spark where their "
        "meaning is known to be the same; 1: none is.",
    )
    evaluated_bytes: int = _limit(
        256 * _MEGABYTE,
        "bytes",
        "All rows of an incremental table, as its first ones, are evaluated without Spark where "
        "the columns that they are computed from, and they, take less memory; 1: never.",
    )
    snapshot_bytes: int = _limit(
        16 * _MEGABYTE,
        "bytes",
        "Columns of a table that take more memory are not read by delta-rs, but by Spark.",
    )
    cache_bytes: int = _limit(
        1024 * _MEGABYTE,
        "bytes",
        "So much of what was read of tables (columns, footers of files, lists of files, changes) "
        "stays in memory for the next refresh; all of it is given back where memory is short.",
    )
    disk_cache_bytes: int = _limit(
        8 * 1024 * _MEGABYTE,
        "bytes",
        "So much of the decoded columns of large files is on this machine's disk, in the user's "
        "cache folder, for new processes; a tenth of what is free there at most; 1: none is.",
    )
    compaction_files: int = _limit(
        48, "files", "A dynamic table of fewer files is not compacted after a refresh."
    )
    small_file_bytes: int = _limit(
        16 * _MEGABYTE, "bytes", "Files that are smaller on average are worth joining."
    )
    rewritten_bytes: int = _limit(
        1024 * _MEGABYTE, "bytes", "A table that is larger is left to OPTIMIZE by its owner."
    )
    largest_file_bytes: int = _limit(
        64 * _MEGABYTE, "bytes", "Files are not made larger, so that few keys are in few files."
    )
    lease_seconds: float = _limit(
        60.0,
        "seconds",
        "A refresh whose process does not renew its lease for so long is taken over.",
    )
    statement_timeout_seconds: float = _limit(
        3600.0,
        "seconds",
        "A statement that meets a refresh, or another statement, that holds what it needs waits "
        "for so long at most.",
    )
    check_rows: int = _limit(40, "rows", "Real rows of each source in the check at creation.")
    check_seconds: float = _limit(
        20.0,
        "seconds",
        "The check at creation is stopped after so long, and says what it left out.",
    )
    replay_bytes_per_second: int = _limit(
        8 * _MEGABYTE,
        "bytes per second",
        "While refreshes of the engine run, replays and archives read no more, part by part.",
    )
    poll_seconds: float = _limit(
        1.0, "seconds", "Between two looks for what other processes wrote, for live views."
    )
    sample_seconds: float = _limit(
        0.25, "seconds", "Between two reads of the progress of running refreshes, for live views."
    )

    def __post_init__(self) -> None:
        for knob in fields(self):
            value = getattr(self, knob.name)
            whole = knob.type == "int"
            if (
                isinstance(value, bool)
                or not isinstance(value, int if whole else int | float)
                or not 0 < value < math.inf
            ):
                expected = (
                    f"{'a whole' if whole else 'a'} number of {knob.metadata['unit']} above 0"
                )
                raise error(
                    "DT-1031",
                    call="Tuning",
                    parameter=knob.name,
                    given=repr(value),
                    expected=expected,
                )


DEFAULTS = Tuning()
SPARK_ONLY = Tuning(
    evaluated_rows=1,
    evaluated_bytes=1,
    read_rows=1,
    snapshot_bytes=1,
    cache_bytes=1,
    driver_rows=1,
    driver_bytes=1,
    interpreted_rows=1,
)
"""Nothing is computed without Spark, as where no change, state or table fits into the process."""
