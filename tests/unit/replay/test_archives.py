"""What a lake knows of its archives: their intervals, their files, and how fast they are read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from dt_jupyter.model import DTError, Name, Timestamp
from dt_jupyter.replay import Archive, ArchiveIndex, Pace, read_manifest
from dt_jupyter.replay.pace import paid_batches
from dt_jupyter.sources import Layout, Moment

SECOND = 1_000_000
ARCHIVE = Archive(
    "1", Name("default", "t"), "/cold/t", Timestamp(10 * SECOND), Timestamp(20 * SECOND), {"t": 3},
    ("id",), 2, 100, "ab", Timestamp(30 * SECOND), "{}", ({"operation": "WRITE"},), None,
)  # fmt: skip


@pytest.mark.parametrize(
    ("at", "held"),
    [
        (Moment(Timestamp(10 * SECOND)), True),
        (Moment(Timestamp(10 * SECOND), before=True), False),
        (Moment(Timestamp(20 * SECOND - 1)), True),
        (Moment(Timestamp(20 * SECOND)), False),
        (Moment(Timestamp(20 * SECOND), before=True), True),
        (Moment(version=3), True),
        (Moment(version=4), False),
        (Moment(version=4, before=True), True),
        (Moment(statement="s"), False),
        (Moment(), False),
    ],
)
def test_an_archive_has_the_points_of_its_interval(at: Moment, held: bool) -> None:
    assert ARCHIVE.holds(at) is held


def test_versions_of_several_tables_are_no_point() -> None:
    assert not replace(ARCHIVE, versions={"a": 3, "b": 3}).holds(Moment(version=3))


def test_an_index_keeps_them_and_moves_with_its_lake(tmp_path: Path) -> None:
    index = ArchiveIndex(Layout(tmp_path / "lake"))
    assert len(index.list()) == 0
    inside = replace(ARCHIVE, id="2", folder=str(tmp_path / "lake" / "cold"))
    index.add(inside)
    index.add(ARCHIVE)
    assert sorted(index.list().found, key=lambda a: a.id) == [ARCHIVE, inside]
    (tmp_path / "lake").rename(tmp_path / "moved")
    moved = ArchiveIndex(Layout(tmp_path / "moved"))
    assert {a.folder for a in moved.list().found} == {"/cold/t", str(tmp_path / "moved" / "cold")}
    (tmp_path / "moved" / "_dt" / "archives" / "3.json").write_text("{")
    assert len(moved.list()) == 2
    assert "3.json cannot be read" in str(moved.list())
    moved.remove(ARCHIVE)
    assert [a.id for a in moved.list().found] == ["2"]


def test_the_newest_one_of_a_name_or_of_its_tables_is_found(tmp_path: Path) -> None:
    index = ArchiveIndex(Layout(tmp_path))
    later = replace(ARCHIVE, id="2", created=Timestamp(40 * SECOND))
    for one in (later, ARCHIVE):
        index.add(one)
    at = Moment(Timestamp(15 * SECOND))
    assert index.find(Name("default", "t"), (), at) == later
    assert index.find(Name("default", "renamed"), ["id"], at) == later
    assert index.find(Name("default", "renamed"), (), at) is None
    with pytest.raises(DTError, match=r"DT-4112.*1970-01-01 00:00:10"):
        index.require(Name("default", "t"), (), Moment(Timestamp(25 * SECOND)))
    with pytest.raises(DTError, match=r"DT-4112.*dt\.archive\('other'"):
        index.require(Name("default", "other"), (), at)


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"format": 2}', '{"format": 1}'])
def test_what_is_no_archive_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "archive.json").write_text(text)
    with pytest.raises(DTError, match="DT-4113"):
        read_manifest(tmp_path)


def test_what_is_read_too_fast_waits() -> None:
    now, waits = [0.0], []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds

    pace = Pace(100, clock=lambda: now[0], sleep=sleep)
    for _ in range(4):
        pace.await_turn(10)
    assert waits == pytest.approx([0.1] * 3)  # the first had nobody to wait for
    now[0] += 10  # a pause saves nothing up
    pace.await_turn(100)
    pace.await_turn(100)
    assert sum(waits[3:]) == pytest.approx(1)
    assert max(waits) <= 0.2  # in steps, so that it can be cancelled


def test_nobody_waits_while_no_refresh_runs() -> None:
    now, waits, busy = [0.0], [], [False]

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        now[0] += seconds
        busy[0] = len(waits) < 3

    pace = Pace(100, lambda: busy[0], lambda: now[0], sleep)
    for _ in range(4):
        pace.await_turn(1000)
    assert waits == []
    busy[0] = True
    pace.await_turn(1000)  # what was read before is not to be paid
    assert waits == []
    pace.await_turn(1000)
    assert waits == pytest.approx([0.2] * 3)  # until the refresh was done, not for ten seconds
    busy[0] = True
    pace.await_turn(10)
    assert len(waits) == 3


def test_rows_wait_for_what_they_are_larger_than_their_files() -> None:
    batches = [pa.record_batch({"x": pa.array(range(n), pa.int64())}) for n in (10, 10, 5)]
    waited: list[int] = []
    assert list(paid_batches(batches, 100, waited.append)) == batches
    assert waited == [60, 40]
