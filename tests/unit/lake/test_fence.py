"""A fence takes the sequence of a writer that is given up; without a JVM."""

from __future__ import annotations

from pathlib import Path

from dt_jupyter.lake.txn.fence import fence, next_sequence
from tests.unit.delta_logs import Written, add, info, metadata

APP = "dt-stream:1"


def test_a_fence_takes_the_next_sequence_once(tmp_path: Path) -> None:
    table = Written(tmp_path / "t", metadata())
    assert next_sequence(table.log, APP) == 1
    assert fence(table.log, APP, 1)
    assert (table.log.version(), next_sequence(table.log, APP)) == (1, 2)
    assert next_sequence(table.log, APP, 0) == 1
    assert not table.log.changes_data(1)
    table.next = 2
    table.commit(info(), add("a"))
    assert not fence(table.log, APP, 2), "the writer was faster"
    assert (table.log.version(), next_sequence(table.log, APP)) == (2, 2)
    assert fence(table.log, APP, 3)
    assert table.log.transactions_of(3) == {APP: 2}
    assert next_sequence(table.log, "dt-stream:2") == 1


def test_a_fence_has_its_time_in_it_where_commits_do(tmp_path: Path) -> None:
    late = 9_000_000_000_000
    since = {"inCommitTimestampEnablementVersion": "1"}
    table = Written(tmp_path / "t", metadata())
    table.commit(info(inCommitTimestamp=late), metadata(enableInCommitTimestamps="true", **since))
    assert fence(table.log, APP, 2)
    assert table.log.commit_time(2).micros == (late + 1) * 1000
