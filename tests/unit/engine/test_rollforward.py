"""Transactions whose process is gone: settled from the catalog and the logs alone, no JVM; those of
a lake on a disk, and of one on other storage."""

from __future__ import annotations

import shutil
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.lake import LakeError, StorageFailed, TableLog, mount, open_log
from dt_jupyter.lake.storage import mounts
from dt_jupyter.lake.txn import publish
from dt_jupyter.lake.txn.shadow_log import stage_log
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import DTError, Intent, Stream
from dt_jupyter.sources.copied_tables import CopiedTables
from dt_jupyter.sources.folders import Layout
from dt_jupyter.sources.source_names import Logs
from dt_jupyter.spark import path_texts
from dt_jupyter.streams.rollforward import RollForward, TransactionWarning
from tests.experiments import CALL_FAILS
from tests.unit import catalog_lab
from tests.unit.catalog_lab import at, name, refused
from tests.unit.delta_logs import add, info, metadata, remove
from tests.unit.lake.test_publish import PROTOCOL, file, write
from tests.unit.other_storage import PLACE, FolderStorage


class Killed(BaseException):
    """The process is no more."""


@dataclass
class Lab:
    """A lake with the tables `adds` and `changes`, and a transaction that writes both. Its files
    are at `lies`, or on the `storage` whose files are there; `folder` is its own, or its home."""

    forward: RollForward
    folder: Path
    lies: Path
    storage: FolderStorage | None
    stream: Stream
    intent: Intent
    made: list[publish.Publication]

    def at(self, table: str) -> Path:
        return self.lies / "tables" / table

    def log(self, table: str) -> TableLog:
        return TableLog(self.at(table))

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
        staged = self.lies / "_dt" / "transactions"
        return not self.forward.catalog.intents() and not list(staged.glob("*"))


@pytest.fixture(params=["on a disk", "elsewhere"])
def lab(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lab:
    layout, storage, lies = Layout(tmp_path), None, tmp_path
    if request.param == "elsewhere":
        monkeypatch.setattr(mounts, "_mounts", {})
        monkeypatch.setattr(path_texts, "_MOUNTS", {})
        storage, lies = FolderStorage(tmp_path / "elsewhere"), tmp_path / "elsewhere" / "lake"
        for folder in layout.shared:
            mount(folder, storage, f"{PLACE}/lake/{folder.relative_to(tmp_path)}", 10_000)
    return make_lab(tmp_path, lies, storage)


def make_lab(folder: Path, lies: Path, storage: FolderStorage | None) -> Lab:
    catalog, layout = catalog_lab.Lab(folder).catalog, Layout(folder)
    forward = RollForward(catalog, Logs(CopiedTables(folder, None)), layout)
    stream = Stream("id-s", name("s"), name("people"), "TABLE", {"t1": 3}, at(0), at(0))
    catalog.create_stream(stream)
    intent = Intent("i", "BEGIN", "", None, at(1), at(1))
    catalog.begin_intent(intent, [])
    catalog.take_stream(intent, stream)
    made = []
    for table in ("adds", "changes"):
        write(lies / "tables" / table, 0, info(), PROTOCOL, metadata(id_=table), add("old"))
        log = open_log(layout.tables / table)
        staging = stage_log(log, log.version(), forward.folder("i") / table)
        staged = lies / staging.folder.relative_to(folder)
        old = next(path for path, _ in staging.files)
        lines = [file(staged, "new")] + [remove(old)] * (table == "changes")
        write(staged, 1, info(isBlindAppend=table == "adds"), *lines)
        staging.last = staging.newest()
        one = publish.publication(staging, {"intent": "i"})
        assert one is not None
        made.append(one)
    decided = replace(intent, frontiers={"id-s": {"t1": 9}}, at=at(2))
    return Lab(forward, folder, lies, storage, stream, decided, made)


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


@pytest.mark.parametrize("lab", ["on a disk"], indirect=True)
def test_a_copy_of_the_lake_ends_its_own_transaction(lab: Lab, tmp_path: Path) -> None:
    lab.commit("tx_target_published")
    there = tmp_path.with_name(f"{tmp_path.name} copy")
    shutil.copytree(lab.folder, there)
    elsewhere = catalog_lab.Lab(there).catalog
    copy = replace(
        lab,
        forward=RollForward(elsewhere, Logs(CopiedTables(tmp_path, None)), Layout(there)),
        folder=there,
        lies=there,
    )
    (left,) = copy.forward.catalog.orphans()
    copy.forward.settle(left)
    assert copy.versions() == (1, 1)
    assert copy.moved()
    assert copy.clean()
    assert lab.versions() == (0, 1), "the original is its own process's to end"
    assert (copy.at("adds") / "new").exists()
    assert not (lab.at("adds") / "new").exists()


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
    write(lab.at("changes"), 1, info(), add("theirs"))
    with pytest.warns(TransactionWarning, match="DT-3208"):
        lab.forward.settle(left)
    assert lab.versions() == (0, 1)
    assert not lab.moved()
    assert lab.clean()


def test_an_outside_writer_after_the_first_table_is_told(lab: Lab) -> None:
    left = lab.commit("tx_target_published")
    write(lab.at("adds"), 1, info(), metadata(id_="another"))
    with pytest.warns(TransactionWarning, match=r"DT-3209.*changes written; adds not written"):
        lab.forward.settle(left)
    assert lab.versions() == (1, 1)
    assert lab.moved()
    assert lab.clean()
    assert (lab.lies / "_dt" / "unpublished" / "i" / "adds" / "new").exists()
    assert (lab.at("changes") / "new").exists()


@pytest.mark.parametrize("lab", ["elsewhere"], indirect=True)
@pytest.mark.parametrize("mutant", [False, True])
def test_what_was_moved_before_another_writer_came_is_kept_whole(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, *, mutant: bool
) -> None:
    """It comes between the look at the second table and its commit, whose files are there then."""
    lines = publish._lines

    def late(made: publish.Publication, log: TableLog, version: int, millis: int) -> Any:
        if made.append and log.version() == 0:
            assert (lab.at("adds") / "new").exists()
            write(lab.at("adds"), 1, info(), metadata(id_="another"))
        return lines(made, log, version, millis)

    monkeypatch.setattr(publish, "_lines", late)
    if mutant:
        monkeypatch.setattr(publish, "_give_back", lambda made, log: None)
    with refused("DT-3209") as found:
        lab.forward.commit(lab.intent, lab.made)
    assert f"{PLACE}/lake/_dt/unpublished/i" in str(found[0])
    kept = lab.lies / "_dt" / "unpublished" / "i" / "adds" / "new"
    assert kept.exists() is not mutant
    assert (lab.at("adds") / "new").exists() is mutant


def test_a_conflict_found_at_once_records_nothing(lab: Lab) -> None:
    write(lab.at("changes"), 1, info(), add("theirs"))
    with refused("DT-3208"):
        lab.forward.commit(lab.intent, lab.made)
    assert not lab.forward.catalog.decided("i")
    assert lab.versions() == (0, 1)


@CALL_FAILS
def test_at_whichever_call_the_storage_fails_all_of_it_happens_or_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit fails at one call, and whoever settles it at another one; the storage answers
    again, and both tables are written, once and as of one time, or none."""
    monkeypatch.setattr(mounts, "_mounts", {})
    monkeypatch.setattr(path_texts, "_MOUNTS", {})
    ended = {"published": 0, "given up": 0}
    at = 1
    while (calls := fail_and_settle(tmp_path / str(at), at, ended)) >= at:
        at += 1
    assert calls > 20
    assert ended["published"] > 10
    assert ended["given up"] > 5


def fail_and_settle(folder: Path, at: int, ended: dict[str, int]) -> int:
    """How many calls the commit came to."""
    lies = folder / "elsewhere" / "lake"
    storage = FolderStorage(folder / "elsewhere")
    for shared in Layout(folder).shared:
        mount(shared, storage, f"{PLACE}/lake/{shared.relative_to(folder)}", 10_000)
    lab = make_lab(folder, lies, storage)
    calls = 0

    def fail() -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise StorageFailed("the storage does not answer")

    storage.before = fail
    with suppress(LakeError, DTError):
        lab.forward.commit(lab.intent, lab.made)
    made, calls = calls, at - 3 * (at % 2)  # every other time it fails soon again
    decided = lab.forward.catalog.decided("i")
    for left in lab.forward.catalog.orphans() or ():
        with suppress(LakeError, DTError):
            lab.forward.settle(left)
    storage.before = lambda: None
    for left in lab.forward.catalog.orphans() or ():
        lab.forward.settle(left)
    if not decided:
        lab.forward.settle(lab.intent)
    lab.forward.sweep()
    assert lab.versions() == ((1, 1) if lab.moved() else (0, 0)), at
    assert lab.clean(), at
    ended["published" if lab.moved() else "given up"] += 1
    if lab.moved():
        logs = [open_log(Layout(folder).tables / name) for name in ("adds", "changes")]
        assert len({log.commit_time(log.version()) for log in logs}) == 1
    return made
