"""The recovery log of sinks in the catalog: both checkpoints at once, and only by the newest."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from dt_jupyter.sinks import CatalogLog, HashRange, Task, TaskState
from tests.unit.catalog_lab import Lab, refused

LEFT, RIGHT = HashRange(0, 0x7FFF_FFFF), HashRange(0x8000_0000, 0xFFFF_FFFF)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def committed(log: CatalogLog, task: Task, at: int) -> TaskState:
    state = log.open(task)
    done = TaskState(state.epoch, {"at": at}, {"file": f"f{at}"})
    log.commit(task, done)
    return done


def test_both_checkpoints_are_there_for_the_next_who_opens(lab: Lab) -> None:
    log = CatalogLog(lab.catalog)
    first = log.open(Task("s"))
    assert first == TaskState(first.epoch, None, {})
    committed(log, Task("s"), 5)
    lab.catalog.close()
    reopened = CatalogLog(lab.open())
    assert reopened.open(Task("s")) == TaskState(first.epoch + 2, {"at": 5}, {"file": "f5"})
    assert reopened.open(Task("other")).runtime is None


def test_the_older_of_two_processes_commits_nothing(lab: Lab) -> None:
    old = CatalogLog(lab.catalog)
    state = old.open(Task("s"))
    new = CatalogLog(lab.open())
    committed(new, Task("s"), 7)
    with refused("DT-6122"):
        old.commit(Task("s"), TaskState(state.epoch, {"at": 6}, {}))
    assert new.open(Task("s")).runtime == {"at": 7}


def test_a_split_goes_on_from_its_parent_and_fences_it(lab: Lab) -> None:
    log = CatalogLog(lab.catalog)
    parent = committed(log, Task("s"), 5)
    assert log.open(Task("s", LEFT)).runtime == {"at": 5}
    with refused("DT-6122"):
        log.commit(Task("s"), parent)
    committed(log, Task("s", LEFT), 9)
    assert log.open(Task("s", RIGHT)).runtime == {"at": 5}
    with refused("DT-6123"):
        log.open(Task("s"))
    committed(log, Task("s", RIGHT), 9)
    left = committed(log, Task("s", LEFT), 9)
    assert left.driver == {"file": "f9"}
    assert [(row.begin, row.end) for row in lab.catalog.sink_tasks("s")] == [
        (LEFT.begin, LEFT.end),
        (RIGHT.begin, RIGHT.end),
    ]


def test_a_sink_that_is_forgotten_begins_anew_and_its_task_is_fenced(lab: Lab) -> None:
    log = CatalogLog(lab.catalog)
    state = committed(log, Task("s"), 5)
    lab.catalog.forget_sink_tasks("s")
    with refused("DT-6122"):
        log.commit(Task("s"), state)
    assert log.open(Task("s")).runtime is None


@pytest.mark.of_a_file
@pytest.mark.parametrize("garbage", ["not json", "[1]", b"\xff", 7])
def test_a_checkpoint_that_cannot_be_read_is_never_guessed(lab: Lab, garbage: object) -> None:
    log = CatalogLog(lab.catalog)
    committed(log, Task("s"), 5)
    committed(log, Task("other"), 6)
    connection = sqlite3.connect(lab.path, isolation_level=None)
    connection.execute("UPDATE sink_task SET checkpoints = ? WHERE sink_id = 's'", (garbage,))
    connection.close()
    with refused("DT-5112") as problem:
        log.open(Task("s"))
    assert "RESET" in problem[0].hint
    assert log.open(Task("other")).runtime == {"at": 6}
    lab.catalog.forget_sink_tasks("s")
    assert log.open(Task("s")).runtime is None
