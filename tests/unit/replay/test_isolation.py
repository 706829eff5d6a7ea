"""Which time a result speaks of: one that all its tables share, or none."""

from __future__ import annotations

import pytest

from dt_jupyter.model import Level, ReadAt, SourceKind, Timestamp, isolation

NOW = Timestamp(100)


def dt(t: int) -> ReadAt:
    return ReadAt("d", SourceKind.DYNAMIC_TABLE, 1, Timestamp(t))


def base(since: int, until: int | None = None) -> ReadAt:
    end = None if until is None else Timestamp(until)
    return ReadAt("b", SourceKind.DELTA, 1, Timestamp(since), end)


@pytest.mark.parametrize(
    ("reads", "level", "time"),
    [
        ([dt(10)], Level.SNAPSHOT, 10),
        ([dt(10), dt(10)], Level.SNAPSHOT, 10),
        ([dt(10), dt(11)], Level.READ_COMMITTED, 11),
        ([base(5)], Level.SNAPSHOT, 100),
        ([base(5, 20)], Level.SNAPSHOT, 19),
        ([base(5, 20), base(3)], Level.SNAPSHOT, 19),
        ([base(5, 20), base(20)], Level.READ_COMMITTED, 19),
        ([dt(10), base(10)], Level.SNAPSHOT, 10),  # a commit's own time is the new snapshot's
        ([dt(10), base(11)], Level.READ_COMMITTED, 10),
        ([dt(10), base(5, 10)], Level.READ_COMMITTED, 10),
        ([dt(10), base(5, 11)], Level.SNAPSHOT, 10),
    ],
)
def test_levels(reads: list[ReadAt], level: Level, time: int) -> None:
    found = isolation(reads, NOW)
    assert (found.level, found.time.micros) == (level, time)


def test_skew_is_between_the_newest_times_that_the_tables_speak_of() -> None:
    second = 1_000_000
    found = isolation([dt(10 * second), dt(22 * second)], Timestamp(90 * second))
    assert found.skew == 12
    found = isolation([dt(10 * second), base(30 * second)], Timestamp(90 * second))
    assert found.skew == 80
