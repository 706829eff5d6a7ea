"""Transactions whose process is gone: settled from the catalog and the logs alone, no JVM."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from dt_jupyter.lake import TableLog
from dt_jupyter.lake.txn import publish
from dt_jupyter.lake.txn.shadow_log import stage_log
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import Intent, Stream
from dt_jupyter.sources.copied_tables import CopiedTables
from dt_jupyter.sources.folders import Layout
from dt_jupyter.sources.source_names import Logs
from dt_jupyter.streams.rollforward import RollForward, TransactionWarning
from tests.unit import catalog_lab
from tests.unit.catalog_lab import at, name, refused
from tests.unit.delta_logs import add, info, metadata, remove
from tests.unit.lake.test_publish import PROTOCOL, file, write


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Lab:
    """A lake with the tables `adds` and `changes`, and a transaction that writes both."""

    forward: RollForward
    folder: Path
    stream: Stream
    intent: Intent
    made: list[publish.Publication]

    def log(self, table: str) -> TableLog:
        return TableLog(self.folder / table)

    def versions(self) -> tuple[int, int]:
        return self.log("adds").version(), self.log("changes").version()

    def commit(self, dies_at: str) -> Intent:
        """The intent as it stands where the process that commits is killed at a point."""

        def die() -> None:
            raise Killed

        with hooked(dies_at, die), pytest.raises(Killed):
            self.forward.commit(self.intent, self.made)
        (left,) = self.forward.catalog.orphans() or (self.intent,)
        return left

    def moved(self) -> bool:
        now = self.forward.catalog.stream(name("s"))
        assert now.intent is None
        return now.frontier == {"t1": 9}

    def clean(self) -> bool:
        return not self.forward.catalog.intents() and not list(self.forward.root.glob("*"))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    catalog = catalog_lab.Lab(tmp_path).catalog
    forward = RollForward(catalog, Logs(CopiedTables(tmp_path, None)), Layout(tmp_path))
    stream = Stream("id-s", name("s"), name("people"), "TABLE", {"t1": 3}, at(0), at(0))
    catalog.create_stream(stream)
    intent = Intent("i", "BEGIN", "", None, at(1), at(1))
    catalog.begin_intent(intent, [])
    catalog.take_stream(intent, stream)
    made = []
    for table in ("adds", "changes"):
        write(tmp_path / table, 0, info(), PROTOCOL, metadata(id_=table), add("old"))
        staging = stage_log(TableLog(tmp_path / table), 0, forward.folder("i") / table)
        lines = [file(staging.folder, "new")] + [remove("old")] * (table == "changes")
        write(staging.folder, 1, info(isBlindAppend=table == "adds"), *lines)
        staging.last = 1
        one = publish.publication(staging, {"intent": "i"})
        assert one is not None
        made.append(one)
    decided = replace(intent, frontiers={"id-s": {"t1": 9}}, at=at(2))
    return Lab(forward, tmp_path, stream, decided, made)


@pytest.mark.parametrize(
    ("point", "then"),
    [("tx_prepared", (0, 0)), ("tx_target_published", (0, 1)), ("tx_streams_moved", (1, 1))],
)
def test_what_is_on_record_is_published_once(lab: Lab, point: str, then: tuple[int, int]) -> None:
    left = lab.commit(point)
    assert lab.versions() == then, "what others may not have written comes first"
    for _ in range(2):
        if lab.forward.catalog.orphans():
            lab.forward.settle(left)
        lab.forward.sweep()
        assert lab.versions() == (1, 1)
        assert lab.moved()
        assert lab.clean()


def test_a_copy_of_the_lake_ends_its_own_transaction(lab: Lab, tmp_path: Path) -> None:
    lab.commit("tx_target_published")
    there = tmp_path.with_name(f"{tmp_path.name} copy")
    shutil.copytree(lab.folder, there)
    elsewhere = catalog_lab.Lab(there).catalog
    copy = replace(
        lab,
        forward=RollForward(elsewhere, Logs(CopiedTables(tmp_path, None)), Layout(there)),
        folder=there,
    )
    (left,) = copy.forward.catalog.orphans()
    copy.forward.settle(left)
    assert copy.versions() == (1, 1)
    assert copy.moved()
    assert copy.clean()
    assert lab.versions() == (0, 1), "the original is its own process's to end"
    assert (there / "adds" / "new").exists()
    assert not (lab.folder / "adds" / "new").exists()


def test_what_is_not_on_record_never_was(lab: Lab) -> None:
    lab.forward.settle(replace(lab.intent, targets=None, frontiers={}))
    assert lab.versions() == (0, 0)
    assert not lab.moved()
    assert lab.clean()


def test_two_that_settle_one_transaction_publish_it_once(lab: Lab) -> None:
    left = lab.commit("tx_prepared")
    with hooked("tx_target_published", lambda: None):
        lab.forward.settle(left)
    lab.forward.settle(left)
    assert lab.versions() == (1, 1)
    assert lab.moved()


def test_an_outside_writer_before_the_first_table_undoes_all(lab: Lab) -> None:
    left = lab.commit("tx_prepared")
    write(lab.folder / "changes", 1, info(), add("theirs"))
    with pytest.warns(TransactionWarning, match="DT-3208"):
        lab.forward.settle(left)
    assert lab.versions() == (0, 1)
    assert not lab.moved()
    assert lab.clean()


def test_an_outside_writer_after_the_first_table_is_told(lab: Lab) -> None:
    left = lab.commit("tx_target_published")
    write(lab.folder / "adds", 1, info(), metadata(id_="another"))
    with pytest.warns(TransactionWarning, match=r"DT-3209.*changes written; adds not written"):
        lab.forward.settle(left)
    assert lab.versions() == (1, 1)
    assert lab.moved()
    assert lab.clean()
    assert (lab.folder / "_dt" / "unpublished" / "i" / "adds" / "new").exists()


def test_a_conflict_found_at_once_records_nothing(lab: Lab) -> None:
    write(lab.folder / "changes", 1, info(), add("theirs"))
    with refused("DT-3208"):
        lab.forward.commit(lab.intent, lab.made)
    assert not lab.forward.catalog.decided("i")
    assert lab.versions() == (0, 1)
