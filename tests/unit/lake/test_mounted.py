"""Tables of a folder that stands for another place: what the engine commits is there, as whoever
reads the place finds it, and the folder may be lost."""

from __future__ import annotations

import os
import random
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder

from dt_jupyter.lake import (
    Append,
    CommitRequest,
    Committed,
    LakeError,
    Lost,
    NotSupported,
    StorageFailed,
    TableGone,
    ask_again,
    ask_once,
    commit,
    folder_exists,
    is_delta,
    list_folders,
    lock_writers,
    mount,
    move_folder,
    open_log,
    plan_vacuum,
    remove_folder,
    run_vacuum,
    table_place,
)
from dt_jupyter.lake.delta_log import absolute_names
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.storage import mounts, table_place as places
from dt_jupyter.lake.storage.questions import was_asked
from dt_jupyter.lake.storage.written_rows import WrittenRows, written_rows
from dt_jupyter.lake.write import writer_engine, writer_files
from dt_jupyter.lake.write.writer_files import FilesCommit
from dt_jupyter.model import Timestamp, Tuning
from dt_jupyter.spark import path_of_text, path_of_uri, path_texts, storage_at, text_of_path
from tests.cases import some
from tests.experiments import CALL_FAILS, TWO_PROCESSES
from tests.unit.lake.test_engine_commits import Life, random_life
from tests.unit.other_storage import PLACE, FolderStorage

NAMES = ["k", "t"]


@pytest.fixture
def storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FolderStorage:
    """Of which `home` is mounted, as long as the test runs."""
    monkeypatch.setattr(mounts, "_mounts", {})
    monkeypatch.setattr(path_texts, "_MOUNTS", {})
    (tmp_path / "elsewhere").mkdir()
    storage = FolderStorage(tmp_path / "elsewhere")
    for home in ("home", "other home"):
        mount(tmp_path / home, storage, f"{PLACE}/lake", Tuning.fetched_bytes)
    return storage


class FarLife(Life):
    """A life of a table in the mounted folder, which is lost now and then."""

    lost: ClassVar[int] = 5

    def __init__(self, path: Path, names: Sequence[str], keys: Sequence[str], **extra: str) -> None:
        super().__init__(path, names, keys, **extra)
        self.lies_at = path.parents[1] / "elsewhere" / "lake" / path.name

    def commit(self, change: Any, **more: Any) -> Committed:
        if self.sequence % self.lost == self.lost - 1:
            shutil.rmtree(self.log.path)
            self.log, self.columns = open_log(self.log.path), KeptColumns()
        return super().commit(change, **more)


@pytest.mark.parametrize("seed", some(4, range(40)))
@pytest.mark.parametrize("small_rows", [0, 10_000])
def test_random_merges_are_there_as_others_read_them(
    storage: FolderStorage,
    tmp_path: Path,
    seed: int,
    small_rows: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", small_rows)
    found = random_life(tmp_path / "home" / "t", seed, kind=FarLife, checkpointInterval="3")
    assert found == []
    log = storage.folder / "lake" / "t" / "_delta_log"
    assert list(log.glob("*.checkpoint.parquet"))
    assert not any(PLACE in commit.read_text() for commit in log.glob("*.json"))


MUTANTS = {
    "files are named as in the copy": (places, "relative_name", lambda path, table: path),
    "vectors are named as in the copy": (places, "relative_vector", lambda vector, table: vector),
    "vectors are named by other ids": (
        absolute_names,
        "vector_name",
        lambda file: "0" * 20,
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(
    storage: FolderStorage, tmp_path: Path, mutant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 0)
    monkeypatch.setattr(*MUTANTS[mutant])

    def is_caught(seed: int) -> bool:
        with suppress(Exception):
            return bool(random_life(tmp_path / "home" / f"t{seed}", seed, kind=FarLife))
        return True

    assert any(is_caught(seed) for seed in range(6))


# -- several writers -------------------------------------------------------------------------------


def race(tmp_path: Path, rounds: int) -> tuple[int, int]:
    """Two homes whose processes commit each sequence at once: how many of them lost, and how many
    rows are there in the end."""
    homes = [tmp_path / "home" / "t", tmp_path / "other home" / "t"]
    life = FarLife(homes[0], NAMES, ["k"])
    lost = 0
    for sequence in range(1, rounds + 1):
        at_once, results = threading.Barrier(2), list[Committed | Lost | Exception]()

        def write(home: Path, number: int, at_once: Any = at_once, results: Any = results) -> None:
            request = CommitRequest(home, "dt:x", number, f"{home}")
            at_once.wait()
            try:
                results.append(commit(request, Append(life.table([(number, "a")]))))
            except LakeError as e:
                results.append(e)

        writers = [threading.Thread(target=write, args=(home, sequence)) for home in homes]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        lost += sum(not isinstance(r, Committed) for r in results)
    return lost, count_rows(life)


def count_rows(life: FarLife) -> int:
    query = QueryBuilder().register("t", DeltaTable(life.lies_at))
    return pa.table(query.execute("SELECT k FROM t").read_all()).num_rows


@TWO_PROCESSES
def test_of_two_writers_one_wins(storage: FolderStorage, tmp_path: Path) -> None:
    assert race(tmp_path, 12) == (12, 12)


@TWO_PROCESSES
def test_where_storage_lets_both_win_a_lock_does_not(
    storage: FolderStorage, tmp_path: Path
) -> None:
    storage.excludes = False
    one = threading.Lock()

    @contextmanager
    def lock(name: str, patience: float) -> Iterator[None]:
        assert (name, patience > 0) == (f"{PLACE}/lake/t", True)
        with one:
            yield

    for home in ("home", "other home"):
        lock_writers(tmp_path / home, lock)
    assert race(tmp_path, 12) == (12, 12)


def test_without_either_a_commit_is_lost(storage: FolderStorage, tmp_path: Path) -> None:
    storage.excludes = False
    assert race(tmp_path, 40) != (40, 40)


# -- storage that fails ----------------------------------------------------------------------------


def fail_at(storage: FolderStorage, last: int) -> list[int]:
    """From now on the call of that number fails; the numbers of those that there were."""
    calls = list[int]()

    def count() -> None:
        calls.append(len(calls) + 1)
        if len(calls) == last:
            raise StorageFailed("the storage does not answer")

    storage.before = count
    return calls


@CALL_FAILS
def test_at_whichever_call_it_fails_a_commit_is_whole_or_not_there(
    storage: FolderStorage, tmp_path: Path
) -> None:
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"], checkpointInterval="2")
    failures = 0
    for last in range(1, 200):
        before, life.sequence = list(life.rows), life.sequence
        calls = fail_at(storage, last)
        try:
            life.append([(last, "a")])
        except LakeError:
            failures += 1
            storage.before = lambda: None
            log = open_log(life.log.path)
            if log.last_transaction("dt:x") != life.sequence:
                life.rows, life.sequence = before, life.sequence - 1
        storage.before = lambda: None
        assert life.found() == []
        if len(calls) < last:
            break
    assert failures >= 8


def test_what_was_put_is_kept_here_for_a_while(storage: FolderStorage, tmp_path: Path) -> None:
    mount(tmp_path / "home", storage, f"{PLACE}/lake", 1000)
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    for number in range(30):
        life.append([(number, "a" * 100)])
    kept = sum(f.stat().st_size for f in (life.log.path / "fetched").iterdir())
    assert 0 < kept <= 9000
    assert not list(life.log.path.glob("*.parquet"))
    assert count_rows(life) == 30


def test_what_a_killed_attempt_left_here_goes(storage: FolderStorage, tmp_path: Path) -> None:
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    life.append([(1, "a")])
    left, running = life.log.path / "left.parquet", life.log.path / "running.parquet"
    for file in (left, running):
        file.write_bytes(b"1")
    days_ago = time.time() - 200_000
    os.utime(left, (days_ago, days_ago))
    life.append([(2, "b")])
    assert [f.name for f in life.log.path.glob("*.parquet")] == ["running.parquet"]
    assert count_rows(life) == 2


def test_what_is_away_is_not_gone(storage: FolderStorage, tmp_path: Path) -> None:
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    life.append([(1, "a")])
    storage.down = True
    for ask in (lambda: is_delta(life.log.path), life.log.version):
        with pytest.raises(StorageFailed):
            ask()
    storage.down = False
    shutil.rmtree(life.lies_at)
    assert not is_delta(life.log.path)
    with pytest.raises(TableGone):
        life.log.version()


# -- files that Spark writes there -----------------------------------------------------------------


def written_there(storage: FolderStorage, rows: pa.Table, monkeypatch: pytest.MonkeyPatch) -> None:
    """What stands for Spark writes these rows to the storage, a file for each."""

    def write_rows(planned: FilesCommit, written: WrittenRows) -> None:
        folder = storage.folder / written.path.removeprefix(f"{PLACE}/")
        for part in range(rows.num_rows):
            (folder / "__dt_part=rows").mkdir(parents=True, exist_ok=True)
            pq.write_table(rows.slice(part, 1), folder / "__dt_part=rows" / f"part-{part}.parquet")
        (folder / "_SUCCESS").touch()

    none: Any = None
    planned = FilesCommit(operation="WRITE", came=none)
    monkeypatch.setattr(writer_files, "_write_rows", write_rows)
    monkeypatch.setattr(writer_files, "plan_files", lambda *args: planned)


@CALL_FAILS
def test_files_of_spark_are_in_a_commit_or_left_to_a_vacuum(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage fails at each call in turn; no file is fetched, and none put again."""
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"], checkpointInterval="2")
    rows = [(number, "a" * number) for number in range(3)]
    written_there(storage, life.table(rows), monkeypatch)
    failures = 0
    for last in range(1, 200):
        calls = fail_at(storage, last)
        try:
            life.commit(Append(life.table(rows)), writer="spark-files")
        except LakeError:
            failures += 1
        storage.before = lambda: None
        if open_log(life.log.path).last_transaction("dt:x") == life.sequence:
            life.rows = life.rows + rows
        else:
            life.sequence -= 1
        assert life.found() == []
        if len(calls) < last:
            break
    assert failures >= 10
    assert not list((life.lies_at / "_dt_rows").iterdir())
    assert not [p for p in (life.log.path / "fetched").iterdir() if p.name.endswith(".tmp")]
    newest = max((life.lies_at / "_delta_log").glob("*.json")).read_text()
    assert newest.count('"add"') == 3
    storage.calls.clear()
    life.commit(Append(life.table(rows)), writer="spark-files")
    assert (storage.calls["move"], storage.calls["fetch_end"]) == (3, 3)
    assert storage.calls["put"] <= 3, "a checksum and a checkpoint"


def test_what_a_file_there_says_of_itself_is_read_from_its_end(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where that is more than is read first, as of hundreds of columns."""
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    with written_rows(life.log.path) as written:
        folder = storage.folder / written.path.removeprefix(f"{PLACE}/") / "one part"
        folder.mkdir(parents=True)
        (folder / ".part-0.parquet.crc").touch()
        wide = {f"c{n}": pa.array(range(1000)) for n in range(900)}
        pq.write_table(pa.table(wide), folder / "part-0.parquet")
        pq.write_table(life.table([(7, "b")]), folder / "part-1.parquet")
        files = written.take("one part", "part")
        asked = list[int]()
        fetch_end = storage.fetch_end

        def spy(path: str, start: int, target: Path) -> None:
            asked.append(start)
            fetch_end(path, start, target)

        monkeypatch.setattr(storage, "fetch_end", spy)
        found = written.read_footers(files)
        assert written.take("no part", "part") == []
    here = [pq.read_metadata(life.lies_at / file.name) for file in files]
    assert [f.num_columns for f in found] == [900, 2]
    assert [f.equals(h) for f, h in zip(found, here, strict=True)] == [True, True]
    assert len(asked) == 3
    assert min(a for a in asked if a) > files[0].size // 2
    assert not folder.parent.exists()


def test_what_killed_attempts_left_there_goes_but_not_what_another_machine_writes(
    storage: FolderStorage, tmp_path: Path
) -> None:
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    open_log(tmp_path / "other home" / "t").version()
    top = life.lies_at / "_dt_rows"

    class Killed(BaseException):
        pass

    def die(home: str) -> None:
        with (
            pytest.MonkeyPatch.context() as patched,
            suppress(Killed),
            written_rows(tmp_path / home / "t") as written,
        ):
            (storage.folder / written.path.removeprefix(f"{PLACE}/")).mkdir(parents=True)
            patched.setattr(type(written), "drop", lambda self: None)
            raise Killed

    die("home")
    die("other home")
    (elsewhere,) = {f.name for f in top.iterdir()} & set(
        os.listdir(tmp_path / "other home/t/_dt_rows")
    )
    assert len(list(top.iterdir())) == 2
    with written_rows(life.log.path):
        assert [f.name for f in top.iterdir()] == [elsewhere]
    days_ago = time.time() - 200_000
    os.utime(top / elsewhere, (days_ago, days_ago))
    with written_rows(life.log.path):
        assert list(top.iterdir()) == []


def test_rows_of_a_file_that_is_not_here_are_counted_by_its_log(
    storage: FolderStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 0)
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    life.append([(number, "a") for number in range(9)])
    life.merge([("D", (number, "a")) for number in (2, 5)])
    shutil.rmtree(life.log.path / "fetched")
    (action,) = life.columns.known.list(life.log, life.log.version(), statistics=True)
    life.log.bring_vectors([action])
    assert len(list((life.log.path / "fetched").iterdir())) == 1
    found = life.columns.known.rows_of_file(life.log.path, action)
    assert (found.stored_rows, found.live_rows) == (9, 7)
    assert found.without(np.array([0])).gone_places.tolist() == [0, 2, 5]
    with pytest.raises(NotSupported):
        life.columns.known.rows_of_file(life.log.path, {**action, "stats": "{}"})


# -- folders, vacuums, questions -------------------------------------------------------------------


def test_folders_are_moved_listed_and_removed_there(storage: FolderStorage, tmp_path: Path) -> None:
    home = tmp_path / "home"
    life = FarLife(home / "t", NAMES, ["k"])
    life.append([(1, "a")])
    assert [folder for folder, _ in list_folders(home)] == [home / "t"]
    assert folder_exists(home / "t")
    move_folder(home / "t", home / "kept" / "u")
    assert not folder_exists(home / "t")
    assert open_log(home / "kept" / "u").version() == 1
    FarLife(home / "t", NAMES, ["k"])
    with pytest.raises(FileExistsError):
        move_folder(home / "t", home / "kept" / "u")
    remove_folder(home / "kept")
    assert not is_delta(home / "kept" / "u")
    assert not (storage.folder / "lake" / "kept").exists()
    assert list(list_folders(tmp_path / "nothing")) == []


def test_a_vacuum_takes_there_what_no_version_needs(storage: FolderStorage, tmp_path: Path) -> None:
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    for number in range(4):
        life.rows = [(number, "a")]
        life.commit(writer_engine.Overwrite(life.table(life.rows)))
    later = Timestamp.parse("2100-01-01T00:00:00Z")
    plan = plan_vacuum(life.log, [], later, later)
    files = {p.name for p in life.lies_at.glob("*.parquet")}
    assert {name.rpartition("/")[2] for name in plan.files} < files
    run_vacuum(plan)
    assert {p.name for p in life.lies_at.glob("*.parquet")} == files - {
        name.rpartition("/")[2] for name in plan.files
    }
    assert life.found() == []
    assert len(list(table_place(life.log.path).list())) == 1


def test_a_thread_asks_once_in_a_block(storage: FolderStorage, tmp_path: Path) -> None:
    life = FarLife(tmp_path / "home" / "t", NAMES, ["k"])
    other = open_log(tmp_path / "other home" / "t")
    assert other.version() == 0
    with ask_once():
        assert other.version() == 0
        life.append([(1, "a")])
        assert other.version() == 0
        storage.calls.clear()
        other.metadata()
        assert not storage.calls
        with ask_once():
            assert other.version() == 1
        life.append([(2, "a")])
        ask_again()
        assert other.version() == 2
    life.append([(3, "a")])
    assert other.version() == 3


def test_texts_for_spark_are_of_the_place(storage: FolderStorage, tmp_path: Path) -> None:
    inside, beside = tmp_path / "home" / "a b%20", tmp_path / "home2" / "t"
    assert text_of_path(inside) == f"{PLACE}/lake/a b%20"
    assert path_of_text(text_of_path(inside)) == str(inside)
    assert path_of_uri(f"{PLACE}/lake/a%20b%2520") == str(inside)
    assert text_of_path(beside) == f"file:{beside}"
    assert path_of_text(f"{PLACE}/lake2/t") == f"{PLACE}/lake2/t"
    assert (storage_at(inside), storage_at(beside)) == ("mem", None)


@pytest.mark.parametrize("prefix", ["", "ab"])
def test_names_there_and_back(prefix: str) -> None:
    rng = random.Random(7)
    for _ in range(20):
        id_ = absolute_names.vector_name(f"deletion_vector_{_uuid(rng)}.bin")
        vector = {"storageType": "u", "pathOrInlineDv": prefix + id_, "offset": 1}
        placed = absolute_names.absolute_vector(vector, f"{PLACE}/t%20b")
        assert placed["storageType"] == "p"
        assert absolute_names.relative_vector(placed, f"{PLACE}/t%20b") == vector
        assert absolute_names.relative_vector(placed, f"{PLACE}/t") == placed
    inline = {"storageType": "i", "pathOrInlineDv": "x"}
    assert absolute_names.relative_vector(inline, PLACE) == inline
    name = absolute_names.absolute_name("k=a%2520b/part.parquet", f"{PLACE}/t")
    assert absolute_names.relative_name(name, f"{PLACE}/t") == "k=a%2520b/part.parquet"
    assert absolute_names.relative_name(name, f"{PLACE}/other") == name


def _uuid(rng: random.Random) -> str:
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def test_a_log_that_is_gone_answers_for_no_other() -> None:
    """A new object may be where one was that is gone."""
    with ask_once():
        assert not any(was_asked(object()) for _ in range(1_000))
