"""The copy of a log that lies on other storage is that log: versions, times, files and rows."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from dt_jupyter.lake import (
    CopiedLog,
    LiveFiles,
    LogBroken,
    NotSupported,
    StorageFailed,
    TableGone,
    TableLog,
    VersionGone,
    paths_of,
    read_copied_place,
)
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.delta_log.active_files import file_at
from dt_jupyter.lake.delta_log.written_checkpoint import write_checkpoint
from dt_jupyter.lake.log_replay import FILES, STATE, replay_log
from dt_jupyter.lake.storage import copied_log
from tests.cases import some
from tests.experiments import CALL_FAILS, LOG_BROKEN, TWO_PROCESSES
from tests.unit.delta_logs import Written, add, column, info, metadata, remove
from tests.unit.other_storage import PLACE, FolderStorage

FEED = {"delta.enableChangeDataFeed": "true"}


@pytest.fixture
def storage(tmp_path: Path) -> FolderStorage:
    (tmp_path / "elsewhere").mkdir()
    return FolderStorage(tmp_path / "elsewhere")


def copy_of(storage: FolderStorage, here: Path, name: str = "t") -> CopiedLog:
    return CopiedLog(here / "copies" / name, storage, f"{PLACE}/{name}")


def write(path: Path, *numbers: int, mode: str = "append") -> None:
    write_deltalake(path, pa.table({"n": numbers}), mode=mode, configuration=FEED)  # type: ignore[call-overload]


def bare(names: set[str]) -> set[str]:
    return {n.rpartition("/")[2] for n in names}


def files(log: TableLog, version: int) -> set[str]:
    return bare({p for a in LiveFiles(log.path).at(version) for p in paths_of(a)})


def assert_same(copy: CopiedLog, table: Path, *, older: bool = False) -> None:
    """All that is asked of logs has the same answer; of versions that have been cleaned up, a copy
    that is `older` knows more."""
    log = TableLog(table)
    newest = log.version()
    assert copy.version() == newest
    assert copy.oldest() <= log.oldest() if older else copy.oldest() == log.oldest()
    assert copy.table_id() == log.table_id()
    for version in range(log.oldest(), newest + 1):
        assert copy.commit_time(version) == log.commit_time(version)
        assert copy.metadata(version) == log.metadata(version)
        assert files(copy, version) == files(log, version)
        assert copy.changes_data(version) == log.changes_data(version)
        assert copy.operation(version) == log.operation(version)
        assert copy.version_at(log.commit_time(version)) == version
    mine, its = copy.commits(log.oldest(), newest), log.commits(log.oldest(), newest)
    assert mine == its


def test_it_follows_the_table(storage: FolderStorage, tmp_path: Path) -> None:
    table = storage.folder / "t"
    write(table, 1, 2)
    copy = copy_of(storage, tmp_path)
    assert_same(copy, table)
    write(table, 3)
    write(table, 4, mode="overwrite")
    DeltaTable(table).delete("n = 4")
    assert_same(copy, table)
    assert_same(copy_of(storage, tmp_path), table)
    assert read_copied_place(copy.path) == f"{PLACE}/t"


def test_the_copy_names_files_by_where_they_are(storage: FolderStorage, tmp_path: Path) -> None:
    write(storage.folder / "a b", 1)
    copy = copy_of(storage, tmp_path, "a b")
    copy.version()
    (action,) = LiveFiles(copy.path).at(0)
    assert action["path"].startswith(f"{PLACE}/a%20b/")
    (named,) = paths_of(action)
    assert copy.has_file(named)
    (storage.folder / named.removeprefix(f"{PLACE}/")).unlink()
    assert not copy.has_file(named)


def test_nothing_new_costs_two_questions(storage: FolderStorage, tmp_path: Path) -> None:
    write(storage.folder / "t", 1)
    copy = copy_of(storage, tmp_path)
    copy.version()
    storage.calls.clear()
    copy.version()
    assert storage.calls == {"stat": 2}
    storage.calls.clear()
    copy.metadata(0)
    copy.commit_time(0)
    copy.commits(-1, 0)
    assert not storage.calls  # what a version was is here


@pytest.mark.parametrize("seed", range(6))
def test_random_lives(storage: FolderStorage, tmp_path: Path, seed: int) -> None:
    """With checkpoints, clean-ups of the log, tables in another's place; some copies are young."""
    rng, table, copy = random.Random(seed), storage.folder / "t", copy_of(storage, tmp_path)
    write(table, 0)
    for step in range(12):
        match rng.randrange(6):
            case 0:
                DeltaTable(table).create_checkpoint()
            case 1:
                cut(table)
            case 2 if rng.random() < 0.3:
                shutil.rmtree(table)
                write(table, step)
            case 3:
                DeltaTable(table).delete(f"n % 3 = {rng.randrange(3)}")
            case _:
                write(table, *range(step, step + 3), mode=rng.choice(["append", "overwrite"]))
        if rng.random() < 0.6:
            assert copy.version() == TableLog(table).version()
        if rng.random() < 0.2:
            copy = copy_of(storage, tmp_path)
    young = CopiedLog(tmp_path / "young", storage, f"{PLACE}/t")
    assert_same(young, table)
    newest = TableLog(table).version()
    assert files(copy, copy.version()) == files(TableLog(table), newest)
    assert copy.table_id() == TableLog(table).table_id()


def cut(table: Path) -> None:
    """Cleans the log up to its newest checkpoint, as Delta does."""
    log = table / "_delta_log"
    known = sorted(int(p.name[:20]) for p in log.glob("*.checkpoint.parquet"))
    for commit in log.glob("*.json"):
        if known and commit.name[:20].isdigit() and int(commit.name[:20]) < known[-1]:
            commit.unlink()


def test_a_table_in_anothers_place(storage: FolderStorage, tmp_path: Path) -> None:
    table, copy = storage.folder / "t", copy_of(storage, tmp_path)
    for n in range(4):
        write(table, n)
    assert copy.version() == 3
    before = copy.table_id()
    shutil.rmtree(table)
    write(table, 9)
    assert copy.version() == 0
    assert copy.table_id() not in (before, "")
    assert_same(copy, table)


def test_another_table_of_the_same_second(storage: FolderStorage, tmp_path: Path) -> None:
    """An object store tells no less."""
    first = Written(storage.folder / "t", millis=5_000)
    first.commit(add("a.parquet"), info(), millis=5_000)
    copy = copy_of(storage, tmp_path)
    assert copy.version() == 1
    shutil.rmtree(storage.folder / "t")
    other = Written(storage.folder / "t", metadata(id_="other"), millis=5_000)
    other.commit(add("bb.parquet"), info(), millis=5_000)
    assert copy.table_id() == "other"
    assert files(copy, 1) == {"bb.parquet"}


def test_a_file_that_is_gone_is_missed_by_who_reads_it(
    storage: FolderStorage, tmp_path: Path
) -> None:
    table = storage.folder / "t"
    write(table, 1)
    copy = copy_of(storage, tmp_path)
    copy.version()
    for file in table.glob("*.parquet"):
        file.unlink()
    with pytest.raises(NotSupported, match="not on a local disk"):
        feed_table(copy, 0, 0, ["n"])


def test_a_table_that_is_gone(storage: FolderStorage, tmp_path: Path) -> None:
    table, copy = storage.folder / "t", copy_of(storage, tmp_path)
    with pytest.raises(TableGone, match=f"{PLACE}/t"):
        copy.version()
    assert not copy.path.exists() or not list((copy.path).glob("_delta_log*"))
    write(table, 1)
    assert copy.version() == 0
    shutil.rmtree(table)
    with pytest.raises(TableGone):
        copy.version()


def test_storage_that_does_not_answer_is_no_table_that_is_gone(
    storage: FolderStorage, tmp_path: Path
) -> None:
    write(storage.folder / "t", 1)
    copy = copy_of(storage, tmp_path)
    storage.down = True
    with pytest.raises(StorageFailed):
        copy.version()
    storage.down = False
    assert copy.version() == 0
    storage.down = True
    with pytest.raises(StorageFailed):
        copy.version()
    assert copy.metadata(0).columns == ("n",)


@LOG_BROKEN
def test_a_copy_that_was_cut_short_is_made_anew(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process dies while it copies: what is there is whole, and goes on."""
    table, copy = storage.folder / "t", copy_of(storage, tmp_path)
    for n in range(4):
        write(table, n)

    real = FolderStorage.fetch
    left = [2]

    def fetch(self: FolderStorage, path: str, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:
            target.write_bytes(b"half")
            raise KeyboardInterrupt
        real(self, path, target)

    monkeypatch.setattr(FolderStorage, "fetch", fetch)
    with pytest.raises(KeyboardInterrupt):
        copy.version()
    monkeypatch.undo()
    assert_same(copy_of(storage, tmp_path), table)
    write(table, 7)
    write(table, 8)
    left[0] = 1
    monkeypatch.setattr(FolderStorage, "fetch", fetch)
    with pytest.raises(KeyboardInterrupt):
        copy.version()
    monkeypatch.undo()
    again = copy_of(storage, tmp_path)
    assert_same(again, table)
    assert not list(again.path.rglob("*.tmp"))


@TWO_PROCESSES
def test_several_processes_copy_at_once(storage: FolderStorage, tmp_path: Path) -> None:
    table = storage.folder / "t"
    write(table, 0)
    copies = [copy_of(storage, tmp_path) for _ in range(4)]
    problems: list[BaseException] = []

    def follow(copy: CopiedLog) -> None:
        try:
            while copy.version() < 20:
                assert copy.metadata(0).columns == ("n",)
        except BaseException as e:
            problems.append(e)

    threads = [threading.Thread(target=follow, args=(c,)) for c in copies]
    for thread in threads:
        thread.start()
    for n in range(20):
        write(table, n)
    for thread in threads:
        thread.join(60)
    assert not problems
    assert_same(copies[0], table)


def test_vectors_and_files_of_other_folders(storage: FolderStorage, tmp_path: Path) -> None:
    vector = {
        "storageType": "u", "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^", "offset": 4,
        "sizeInBytes": 40, "cardinality": 2,
    }  # fmt: skip
    inline = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    there = {"storageType": "p", "pathOrInlineDv": "mem://other/dv.bin", "sizeInBytes": 1,
             "cardinality": 1}  # fmt: skip
    made = [add(name) for name in ("a.parquet", "mem://other/b.parquet", "/data/c.parquet")]
    for action, body in zip(made, (vector, inline, there), strict=True):
        action["add"]["deletionVector"] = body
    Written(storage.folder / "t").commit(*made, info())
    copy = copy_of(storage, tmp_path)
    copy.version()
    found = {a["path"]: a["deletionVector"] for a in LiveFiles(copy.path).at(1)}
    assert set(found) == {
        f"{PLACE}/t/a.parquet", "mem://other/b.parquet", f"{PLACE}/data/c.parquet"
    }  # fmt: skip
    moved = found[f"{PLACE}/t/a.parquet"]
    assert moved["storageType"] == "p"
    assert moved["pathOrInlineDv"] == (
        f"{PLACE}/t/ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    )
    assert {k: v for k, v in moved.items() if k not in ("storageType", "pathOrInlineDv")} == {
        "offset": 4, "sizeInBytes": 40, "cardinality": 2
    }  # fmt: skip
    assert found["mem://other/b.parquet"] == inline
    assert found[f"{PLACE}/data/c.parquet"] == there


def test_a_log_with_a_hole_is_told(storage: FolderStorage, tmp_path: Path) -> None:
    table = storage.folder / "t"
    for n in range(4):
        write(table, n)
    (table / "_delta_log" / f"{1:020d}.json").unlink()
    with pytest.raises(LogBroken, match="the commit 1 is missing"):
        copy_of(storage, tmp_path).version()


def test_many_commits_get_a_checkpoint(storage: FolderStorage, tmp_path: Path) -> None:
    """Spark would read each of them, at each look."""
    written = Written(storage.folder / "t")
    for n in range(119):
        written.commit(add(f"{n}.parquet"), info())
    copy = copy_of(storage, tmp_path)
    assert copy.version() == 119
    made = {p.name for p in (copy.path / "_delta_log").glob("*.checkpoint.parquet")}
    assert made == {f"{119:020d}.checkpoint.parquet"}
    assert DeltaTable(copy.path).version() == 119
    assert len(LiveFiles(copy.path).at(119)) == 119
    with pytest.raises(VersionGone):
        copy.metadata(120)


def test_what_a_process_left_that_was_killed_goes(storage: FolderStorage, tmp_path: Path) -> None:
    written = Written(storage.folder / "t")
    copy = copy_of(storage, tmp_path)
    copy.version()
    old, young = (copy.path / "_delta_log" / f".{n}.tmp" for n in ("old", "young"))
    for draft in (old, young):
        draft.write_text("half")
    os.utime(old, (0, 0))
    for n in range(60):
        written.commit(add(f"{n}.parquet"), info())
    copy.version()
    assert (old.exists(), young.exists()) == (False, True)


def test_what_is_few_is_fetched_once(storage: FolderStorage, tmp_path: Path) -> None:
    table = storage.folder / "t"
    write(table, 1, 2)
    write(table, 3)
    copy = copy_of(storage, tmp_path)
    copy.version()
    storage.calls.clear()
    rows = feed_table(copy, 1, 1, ["n"])
    assert rows.to_pylist() == [{"n": 3, "__dt_w": 1}]
    assert storage.calls["fetch"] == 1
    again = copy_of(storage, tmp_path)
    again.version()
    storage.calls.clear()
    assert feed_table(again, 1, 1, ["n"]).num_rows == 1
    assert not storage.calls["fetch"]


def test_what_is_many_is_left_to_spark(storage: FolderStorage, tmp_path: Path) -> None:
    table = storage.folder / "t"
    write(table, 1, 2)
    copy = CopiedLog(tmp_path / "copy", storage, f"{PLACE}/t", most_fetched=100)
    with pytest.raises(NotSupported, match="not on a local disk"):
        feed_table(copy, 0, copy.version(), ["n"])
    assert not (copy.path / "fetched").exists()


def test_what_was_read_longest_ago_goes_first(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = storage.folder / "t"
    for n in range(6):
        write(table, n)
    copy = copy_of(storage, tmp_path)
    copy.version()
    added = [LiveFiles(copy.path).at(v) for v in range(6)]
    one = sum(int(a["size"]) for a in added[0])
    monkeypatch.setattr(copied_log, "_KEPT_TIMES", 1)
    copy = CopiedLog(copy.path, storage, copy.place, most_fetched=3 * one + 10)
    new = [next(a for a in added[v] if v == 0 or a not in added[v - 1]) for v in range(6)]
    for action in (new[0], new[1], new[0], new[2], new[3]):
        copy.bring([action])
    here = [os.path.exists(copied_log.fetched_file(copy.path, paths_of(a)[0])) for a in new]
    assert here == [True, False, True, True, False, False]
    with pytest.raises(NotSupported):
        file_at(copy.path, paths_of(new[1])[0])


def test_a_removed_file_is_named_as_it_was_added(storage: FolderStorage, tmp_path: Path) -> None:
    written = Written(storage.folder / "t")
    written.commit(add("a.parquet"), add("b.parquet"), info())
    written.commit(remove("a.parquet"), info("DELETE"))
    copy = copy_of(storage, tmp_path)
    assert copy.version() == 2
    assert [a["path"] for a in LiveFiles(copy.path).at(2)] == [f"{PLACE}/t/b.parquet"]


def test_a_store_that_lists_milliseconds_and_tells_seconds(
    storage: FolderStorage, tmp_path: Path
) -> None:
    storage.whole_seconds = True
    written = Written(storage.folder / "t", millis=5_123)
    written.commit(add("a.parquet"), info(), millis=5_987)
    copy = copy_of(storage, tmp_path)
    assert copy.version() == 1
    storage.calls.clear()
    assert copy.version() == 1
    assert not storage.calls["list"]
    assert copy.commit_time(1).micros == 5_987_000
    shutil.rmtree(storage.folder / "t")
    Written(storage.folder / "t", millis=5_123).commit(add("other.parquet"), info(), millis=5_987)
    assert copy.version() == 1
    assert files(copy, 1) == {"other.parquet"}


class Life:
    """A table elsewhere whose log is written by hand, and what may happen to it."""

    def __init__(self, storage: FolderStorage) -> None:
        self.path, self.tables = storage.folder / "t", 0
        self.replace()

    def replace(self, commits: int = 3) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        self.tables += 1
        millis = self.tables * 1_000_000
        first = metadata(column("id"), id_=f"table-{self.tables}")
        self.written = Written(self.path, first, millis=millis)
        for _ in range(commits):
            self.commit()

    def commit(self) -> None:
        version = self.written.next
        name, millis = f"{self.tables}-{version}.parquet", self.tables * 1_000_000 + version
        self.written.commit(add(name), info(), millis=millis)

    def clean_up(self) -> None:
        """The log begins at a checkpoint of its newest version."""
        newest = TableLog(self.path).version()
        write_checkpoint(
            self.path / "_delta_log", replay_log(self.path / "_delta_log", newest, FILES | STATE)
        )
        for version in range(newest):
            self.written.file(version).unlink(missing_ok=True)

    def begin(self, situation: str, copy: CopiedLog) -> None:
        """What the copy is to be asked in: `young`, or with commits since, or of another table."""
        if situation == "cleaned up":
            self.clean_up()
            self.commit()
        if situation in ("behind", "of another table"):
            copy.version()
        if situation == "behind":
            self.commit()
            self.commit()
        if situation == "of another table":
            self.replace()


def fail() -> None:
    raise StorageFailed("the storage does not answer")


def end() -> None:
    raise KeyboardInterrupt


_one_at_a_time = threading.Lock()


def once(left: Iterator[int], act: Callable[[], object]) -> None:
    """When nothing is left. Several threads fetch."""
    with _one_at_a_time:
        if next(left) == 0:
            act()


HAPPENINGS: dict[str, Callable[[Life], object]] = {
    "the storage fails": lambda life: fail(),
    "the process ends": lambda life: end(),
    "a commit comes": Life.commit,
    "another table takes its place": Life.replace,
    "a longer one takes its place": lambda life: life.replace(8),
    "a younger one takes its place": lambda life: life.replace(0),
    "its log is cleaned up": Life.clean_up,
}


@CALL_FAILS
@pytest.mark.parametrize("happening", some(4, HAPPENINGS))
@pytest.mark.parametrize("situation", ["young", "cleaned up", "behind", "of another table"])
def test_whatever_happens_at_any_call(
    tmp_path: Path, situation: str, happening: str, record_property: Callable[[str, object], None]
) -> None:
    """What is copied is one table as it was at one time, and the next look has the newest."""
    for number in count():
        folder = tmp_path / str(number)
        (folder / "elsewhere").mkdir(parents=True)
        storage = FolderStorage(folder / "elsewhere")
        life, copy = Life(storage), copy_of(storage, folder)
        life.begin(situation, copy)
        left = count(number, -1)
        storage.before = partial(once, left, partial(HAPPENINGS[happening], life))
        fails = False
        try:
            copy.version()
            assert len({p[0] for p in files(copy, copy._look())}) <= 1, "of one table"
        except (StorageFailed, KeyboardInterrupt):
            fails = True
        storage.before = lambda: None
        assert fails <= happening.endswith(("fails", "ends"))
        assert_same(copy, life.path, older=True)
        assert_same(copy_of(storage, folder / "new"), life.path)
        assert not list(copy.path.rglob("*.tmp"))
        if next(left) >= 0:
            break
    record_property("points", number)
    assert number > 4
