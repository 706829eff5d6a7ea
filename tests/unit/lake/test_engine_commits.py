"""The engine's own commits: random merges against a model, read by three readers; which files are
marked, written anew or left; what is not its to write; mutants."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, QueryBuilder, write_deltalake
from pyspark.sql.types import StructType

from dt_jupyter.lake import (
    Append,
    Change,
    CommitRequest,
    Committed,
    FastLane,
    Merge,
    NotSupported,
    Overwrite,
    TableLog,
    backing_properties,
    commit,
    open_log,
)
from dt_jupyter.lake.delta_log.actions import commit_name, read_actions
from dt_jupyter.lake.delta_log.active_files import LiveFiles
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_size import size_of
from dt_jupyter.lake.disk import put_commit
from dt_jupyter.lake.errors import ConcurrentWrite
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.table_files import FileRows, VersionFile
from dt_jupyter.lake.write import new_files, writer_engine
from dt_jupyter.lake.write.create_commit import write_first
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model.hidden import OP
from tests.cases import some

KINDS = {
    "k": ("long", pa.int64(), [None, *range(9)]),
    "t": ("string", pa.string(), [None, "", "a", "b" * 40, "ü\U0010ffff"]),
    "d": ("date", pa.date32(), [None, date(1, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]),
    "s": (
        "timestamp",
        pa.timestamp("us", "UTC"),
        [None, datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC), datetime(2024, 1, 1, tzinfo=UTC)],
    ),
    "n": ("decimal(38,2)", pa.decimal128(38, 2), [None, Decimal("-0.01"), Decimal("9" * 36)]),
    "f": ("double", pa.float64(), [None, float("inf"), -0.0, 1.5]),
    "y": ("boolean", pa.bool_(), [None, True, False]),
    "b": ("binary", pa.binary(), [None, b"", b"\x00\xff"]),
}
KEYS = [("k",), ("t", "k"), ("d", "y"), ("n", "s"), ("b", "t"), ("y",)]


def schema_of(names: Sequence[str]) -> pa.Schema:
    return pa.schema([pa.field(n, KINDS[n][1]) for n in names])


def make(path: Path, names: Sequence[str], **extra: str) -> TableLog:
    fields = [{"name": n, "type": KINDS[n][0], "nullable": True, "metadata": {}} for n in names]
    typed = StructType.fromJson({"type": "struct", "fields": fields})
    properties = backing_properties(typed, extra={f"delta.{k}": v for k, v in extra.items()})
    write_first(path, fields, properties)
    return open_log(path)


class Life:
    """A table, and the rows that it is to have."""

    def __init__(self, path: Path, names: Sequence[str], keys: Sequence[str], **extra: str) -> None:
        self.log, self.names, self.keys = make(path, names, **extra), list(names), list(keys)
        self.lies_at = path
        self.rows: list[tuple[Any, ...]] = []
        self.columns = KeptColumns()
        self.sequence = 0

    def commit(self, change: Change, **more: Any) -> Committed:
        self.sequence += 1
        request = CommitRequest(self.log.path, "dt:x", self.sequence, f"a{self.sequence}")
        more = {"writer": "engine", "columns": self.columns, **more}
        done = commit(request, change, log=self.log, **more)
        assert isinstance(done, Committed), done
        return done

    def table(self, rows: Sequence[tuple[Any, ...]]) -> pa.Table:
        columns = zip(*rows, strict=True) if rows else ([] for _ in self.names)
        typed = zip(columns, schema_of(self.names), strict=True)
        return pa.table([pa.array(list(c), f.type) for c, f in typed], schema_of(self.names))

    def append(self, rows: Sequence[tuple[Any, ...]]) -> Committed:
        self.rows += rows
        return self.commit(Append(self.table(rows)))

    def key(self, row: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(row[self.names.index(k)] for k in self.keys)

    def merge(
        self, ops: Sequence[tuple[str, tuple[Any, ...]]], *, whole: bool = False
    ) -> Committed:
        rows = self.table([row for _, row in ops])
        marked = rows.append_column(OP, pa.array([o for o, _ in ops]))
        done = self.commit(Merge(self.keys, marked, whole))
        asked = {self.key(row) for o, row in ops if o != "I"}
        hit = [row for row in self.rows if self.key(row) in asked]
        replaced = {self.key(row) for o, row in ops if o == "U"} & set(map(self.key, hit))
        came = [row for o, row in ops if o != "D"]
        self.rows = [row for row in self.rows if self.key(row) not in asked]
        self.rows += came
        s = done.statistics
        counts = (len(came) - len(replaced), len(replaced), len(hit) - len(replaced))
        assert (s.inserted, s.updated, s.deleted) == counts
        return done

    def found(self) -> list[str]:
        """What the readers see otherwise than it is."""
        version, wanted = self.log.version(), bag(self.table(self.rows))
        wrong = []
        rows = KeptColumns().rows(KeptColumns().files(self.log, version), self.names)
        if bag(rows) != wanted:
            wrong.append("the files")
        rows = self.columns.rows(self.columns.files(self.log, version), self.names)
        if bag(rows) != wanted:
            wrong.append("the kept columns")
        query = QueryBuilder().register("t", DeltaTable(self.lies_at))
        rows = pa.table(query.execute("SELECT * FROM t").read_all()).cast(schema_of(self.names))
        if bag(rows) != wanted:
            wrong.append("delta-rs")
        if self.log.size() != size_of(TableSnapshot(self.lies_at, version).files()):
            wrong.append("the size")
        return wrong

    def fed(self, before: Counter[str]) -> Counter[str]:
        """What the newest commit's feed makes of the rows before it, as delta-rs reads it."""
        version, found = self.log.version(), Counter(before)
        read = DeltaTable(self.lies_at).load_cdf(starting_version=version, ending_version=version)
        for row in pa.table(read.read_all()).to_pylist():
            came = row["_change_type"] in ("insert", "update_postimage")
            found[repr(tuple(row[n] for n in self.names))] += 1 if came else -1
        return found


def bag(rows: pa.Table) -> Counter[str]:
    return Counter(repr(tuple(r.values())) for r in rows.to_pylist())


def random_life(
    path: Path, seed: int, *, commits: int = 14, kind: type[Life] = Life, **extra: Any
) -> list[str]:
    rng = random.Random(seed)
    keys = rng.choice(KEYS)
    names = [*keys, *rng.sample([n for n in KINDS if n not in keys], 3)]
    life = kind(path, names, keys, **extra)

    def some_row() -> tuple[Any, ...]:
        return tuple(rng.choice(KINDS[n][2]) for n in names)

    wrong: list[str] = []
    for _ in range(commits):
        before = bag(life.table(life.rows))
        if rng.random() < 0.1:
            life.rows = list({life.key(r): r for r in (some_row() for _ in range(4))}.values())
            life.commit(Overwrite(life.table(life.rows)))
            wrong += life.found()
            continue
        ops = {}
        there = {life.key(row) for row in life.rows}
        for row in (some_row() for _ in range(rng.randint(1, 6))):
            key = life.key(row)
            ops[key] = (rng.choice("UD" if key in there else "UDI"), row)
        whole = rng.random() < 0.5
        if whole:  # what is replaced is deleted as it is, and comes as another row
            old = {life.key(row): row for row in life.rows}
            told = [("D", old.get(key, row)) for key, (o, row) in ops.items() if o != "I"]
            told += [("I", row) for o, row in ops.values() if o != "D"]
            life.merge(told, whole=True)
        else:
            life.merge(list(ops.values()))
        wrong += life.found()
        after = bag(life.table(life.rows))
        if extra.get("enableChangeDataFeed") != "false" and +life.fed(before) != after:
            wrong.append("the feed")
    return wrong


@pytest.mark.parametrize("seed", some(3, range(60)))
@pytest.mark.parametrize("small_rows", [0, 10_000])
def test_random_merges(
    tmp_path: Path, seed: int, small_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", small_rows)
    assert random_life(tmp_path / "t", seed, checkpointInterval="4") == []


@pytest.mark.parametrize("extra", [{"enableChangeDataFeed": "false"}, {"checkpointInterval": "1"}])
def test_without_a_feed_and_with_many_checkpoints(
    tmp_path: Path, extra: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 0)
    assert random_life(tmp_path / "t", 5, **extra) == []


def test_files_of_several_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 0)
    monkeypatch.setattr(new_files, "_GROUP_ROWS", 2)
    assert random_life(tmp_path / "t", 6, commits=20) == []


# -- mutants ---------------------------------------------------------------------------------------


def forget_vector(file: VersionFile, places: Any) -> VersionFile:
    living = np.ones(file.stored_rows, np.bool_)
    living[places] = False
    return replace(file, living=pa.array(living))


def match_without_nulls(
    match: Callable[..., Any],
) -> Callable[[pa.Table, pa.Table], Any]:
    def wrong(asked: pa.Table, stored: pa.Table) -> Any:
        found = match(asked, stored)
        if found is None:
            return None
        keys = asked.take(pa.array(found[0])).to_pylist()
        full = np.array([None not in row.values() for row in keys], np.bool_)
        return found[0][full], found[1][full]

    return wrong


GONE: Any = vars(FileRows)["gone_places"]
ROWS_OF: Any = KeptColumns.rows_of


def next_place(file: VersionFile) -> Any:
    return np.unique((GONE.fget(file) + 1) % file.stored_rows)


MUTANTS: dict[str, tuple[Any, str, Any]] = {
    "an older vector is forgotten": (VersionFile, "without", forget_vector),
    "NULL keys meet nothing": (writer_engine, "_match", match_without_nulls(writer_engine._match)),
    "the next row is marked": (VersionFile, "gone_places", property(next_place)),
    "no feed": (writer_engine, "_feed", lambda rows, found: None),
    "a row that is not there is told to be deleted": (
        writer_engine,
        "replace",
        lambda found, rows: replace(found, rows=rows.slice(0, 1).take(pa.array([0] * len(rows)))),
    ),
    "rows of files that go are lost": (
        KeptColumns,
        "rows_of",
        lambda self, files, *of: ROWS_OF(self, (), *of),
    ),
}


@pytest.mark.parametrize("mutant", some(3, MUTANTS))
def test_a_mutant_is_caught(tmp_path: Path, mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 2)
    monkeypatch.setattr(*MUTANTS[mutant])
    assert any(_is_caught(tmp_path / f"t{seed}", seed) for seed in range(12))


def _is_caught(folder: Path, seed: int) -> bool:
    with suppress(AssertionError, IndexError, NotSupported):
        return bool(random_life(folder, seed))
    return True


# -- what is written -------------------------------------------------------------------------------


def actions(log: TableLog) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for kind, body in read_actions(log.path / "_delta_log" / commit_name(log.version())):
        found.setdefault(kind, []).append(body)
    return found


def numbered(count: int, first: int = 0) -> list[tuple[Any, ...]]:
    return [(i, f"t{i}") for i in range(first, first + count)]


@pytest.fixture
def large(tmp_path: Path) -> Life:
    """A table of one file whose rows are too many to be written anew."""
    life = Life(tmp_path / "t", ["k", "t"], ["k"])
    life.append(numbered(30_000))
    return life


def test_rows_of_a_large_file_are_marked(large: Life) -> None:
    done = large.merge([("D", (7, "")), ("U", (29_999, "new")), ("I", (-1, "more"))])
    assert (done.writer, done.reason, done.statistics.copied) == ("engine", "small", 0)
    found = actions(large.log)
    (marked,) = [a for a in found["add"] if "deletionVector" in a]
    (new,) = [a for a in found["add"] if "deletionVector" not in a]
    told = json.loads(marked["stats"])
    assert (told["tightBounds"], told["numRecords"]) == (False, 30_000)
    assert marked["deletionVector"]["cardinality"] == 2
    assert [a["path"] for a in found["remove"]] == [marked["path"]]
    assert len(found["cdc"]) == 1
    assert done.statistics.bytes_added == new["size"] + found["cdc"][0]["size"]
    large.merge([("D", (8, ""))])
    (marked,) = [a for a in actions(large.log)["add"] if "deletionVector" in a]
    assert marked["deletionVector"]["cardinality"] == 3
    assert large.found() == []


@pytest.mark.nightly
def test_a_table_has_few_files_however_many_commits_it_gets(large: Life) -> None:
    for i in range(60):
        large.merge([("U", (i * 13, f"u{i}")), ("D", (20_000 + i, ""))])
    files = LiveFiles(large.log.path).at(large.log.version())
    assert len(files) == 2
    assert large.found() == []


def test_large_files_are_gathered_when_those_before_them_are_as_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 0)
    life = Life(tmp_path / "t", ["k", "t"], ["k"])
    counts = []
    for i in range(40):
        life.merge([("U", (1_000, f"u{i}")), *(("I", row) for row in numbered(2, 2 * i))])
        counts.append(len(LiveFiles(life.log.path).at(life.log.version())))
    assert max(counts) <= 6
    assert life.found() == []


def test_a_file_of_which_most_rows_are_gone_is_written_anew(large: Life) -> None:
    large.merge([("D", (i, "")) for i in range(14_999)])
    assert len(actions(large.log)["add"]) == 1
    assert "deletionVector" in actions(large.log)["add"][0]
    large.merge([("D", (i, "")) for i in range(14_999, 15_010)])
    assert [a.get("deletionVector") for a in actions(large.log)["add"]] == [None]
    large.merge([("D", (i, "")) for i in range(15_010, 30_000)])
    assert "add" not in actions(large.log)
    assert large.found() == []


def test_a_merge_that_meets_nothing_moves_the_sequence_alone(large: Life) -> None:
    large.merge([("D", (-5, ""))])
    assert set(actions(large.log)) == {"commitInfo", "txn"}
    assert large.found() == []


def test_an_append_and_an_overwrite(large: Life) -> None:
    done = large.append(numbered(2, 50_000))
    assert (done.writer, done.statistics.inserted, done.statistics.files_added) == ("engine", 2, 1)
    large.merge([("D", (50_000, ""))])
    large.rows = numbered(3)
    done = large.commit(Overwrite(large.table(large.rows)))
    s = done.statistics
    assert (done.writer, s.inserted, s.deleted) == ("engine", 3, 30_001)
    assert large.found() == []
    large.rows = []
    assert large.commit(Overwrite(large.table([]))).statistics.deleted == 3
    assert large.found() == []


def test_the_bounds_of_a_file_hold_all_its_values(tmp_path: Path) -> None:
    life = Life(tmp_path / "t", list(KINDS), ["k"])
    long = "x" * 32
    rows = [
        (5, long + "a", date(2024, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 999, UTC), *[None] * 4),
        (-3, "", date(2023, 1, 1), datetime(2024, 1, 1, 0, 0, 0, 1_001, UTC), *[None] * 4),
    ]
    life.append(rows)
    told = json.loads(actions(life.log)["add"][0]["stats"])
    assert told["minValues"]["k"] == -3
    assert told["maxValues"] == {
        "k": 5,
        "t": long + "\U0010ffff",
        "d": "2024-01-01",
        "s": "2024-01-01T00:00:01.002Z",
    }
    assert told["minValues"]["s"] == "2023-12-31T23:59:59.000Z"
    assert (told["nullCount"]["k"], told["nullCount"]["s"]) == (0, 0)
    assert not {"n", "f", "y", "b"} & told["nullCount"].keys()
    life.append([(None, long + "\U0010ffff", date(1, 1, 1), None, *[None] * 4)])
    told = json.loads(actions(life.log)["add"][0]["stats"])
    assert (told["minValues"], told["maxValues"]) == ({"t": long}, {})


# -- clustered tables ------------------------------------------------------------------------------


def cluster(log: TableLog, *paths: str) -> None:
    """A commit that clusters a table by columns, or fields of them, as Delta's own says it."""
    names = [path.split(".") for path in paths]
    told = {"domainName": "delta.clustering", "clusteringColumns": names}
    domain = {"domain": "delta.clustering", "configuration": json.dumps(told), "removed": False}
    known = dict(log.raw_state(log.version()).protocol)
    known["writerFeatures"] = [*known["writerFeatures"], "clustering", "domainMetadata"]
    put_commit(log.path, log.version() + 1, [{"protocol": known}, {"domainMetadata": domain}])


def test_a_clustered_table_stays_as_it_is_said_to_be(tmp_path: Path) -> None:
    """Through merges, an overwrite and checkpoints; a file that is marked is still of its cube."""
    life = Life(tmp_path / "t", ["k", "t"], ["k"], checkpointInterval="2")
    cluster(life.log, "t", "k")
    life.append(numbered(30_000))
    (first,) = actions(life.log)["add"]
    tags = {"ZCUBE_ID": "a", "ZCUBE_ZORDER_BY": '["t","k"]'}
    clustered = {**first, "tags": tags, "clusteringProvider": "liquid", "dataChange": False}
    removed = {"path": first["path"], "deletionTimestamp": 1, "dataChange": False}
    put_commit(life.log.path, life.log.version() + 1, [{"remove": removed}, {"add": clustered}])
    for key in range(3):
        life.merge([("D", (key, ""))])
    assert life.found() == []
    (file,) = LiveFiles(life.log.path, statistics=True).at(life.log.version())
    assert (file["tags"], file["clusteringProvider"]) == (tags, "liquid")
    assert json.loads(file["stats"])["minValues"].keys() == {"k", "t"}
    life.commit(Overwrite(life.table(numbered(3))))
    assert TableLog(life.log.path).clustering() == (("t",), ("k",))


# -- what is not its to write ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "names", "keys", "problem"),
    [
        ({"appendOnly": "true"}, ["k", "t"], ["k"], "constraints"),
        ({}, ["f", "t"], ["f"], "the key f is of type double"),
        ({"dataSkippingStatsColumns": "t"}, ["k", "t"], ["t"], "clustered by k"),
        ({}, ["f", "k"], ["k"], "clustered by f, of which no bounds"),
        ({}, ["n", "k"], ["k"], "clustered by n"),
        ({}, ["k.t", "k"], ["k"], r"clustered by k\.t"),
    ],
)
def test_what_it_leaves_to_others(
    tmp_path: Path, extra: dict[str, str], names: list[str], keys: list[str], problem: str
) -> None:
    clustered, names = names, [n for n in names if n in KINDS]
    fields = [{"name": n, "type": KINDS[n][0], "nullable": True, "metadata": {}} for n in names]
    typed = StructType.fromJson({"type": "struct", "fields": fields})
    properties = {**backing_properties(typed), **{f"delta.{k}": v for k, v in extra.items()}}
    write_first(tmp_path / "t", fields, properties)
    log = TableLog(tmp_path / "t")
    if problem.startswith("clustered"):
        cluster(log, *clustered)
    rows = pa.table([pa.nulls(1, KINDS[n][1]) for n in names], schema_of(names))
    change = Merge(keys, rows.append_column(OP, pa.array(["U"])))
    with pytest.raises(NotSupported, match=problem):
        commit(CommitRequest(log.path, "dt:x", 1, "a"), change, writer="engine")


def test_a_key_with_several_rows_and_columns_that_do_not_fit_are_merged_by_another(
    large: Life,
) -> None:
    large.append([(7, "again")])
    change = large.table([(7, "")]).append_column(OP, pa.array(["D"]))
    done = large.commit(Merge(["k"], change), writer="auto")
    large.rows = [row for row in large.rows if row[0] != 7]
    assert (done.writer, done.statistics.deleted) == ("delta-rs", 2)
    change = large.table([(8, "")]).append_column(OP, pa.array(["D"]))
    done = large.commit(Merge(["k"], change), writer="auto", columns=KeptColumns(most_bytes=1_000))
    large.rows = [row for row in large.rows if row[0] != 8]
    assert done.writer == "delta-rs"
    assert large.found() == []


def test_a_file_that_is_there_twice_is_not_its_to_mark(large: Life) -> None:
    """Once with a deletion vector and once without: rows of both have one place."""
    first = actions(large.log)["add"][0]
    large.merge([("D", (7, ""))])
    put_commit(large.log.path, large.log.version() + 1, [{"add": first}])
    change = large.table([(8, "")]).append_column(OP, pa.array(["D"]))
    with pytest.raises(NotSupported, match="twice"):
        large.commit(Merge(["k"], change))


def test_what_is_too_much_is_not_its_to_write(large: Life) -> None:
    change = Append(large.table(numbered(3)))
    with pytest.raises(NotSupported, match="3 rows"):
        large.commit(change, lane=FastLane(rows=2))


def test_two_changes_of_one_row_are_refused(large: Life) -> None:
    change = large.table([(7, "a"), (7, "b")]).append_column(OP, pa.array(["U", "D"]))
    with pytest.raises(ValueError, match="same key"):
        large.commit(Merge(["k"], change))


def test_one_that_loses_against_another_leaves_nothing(large: Life) -> None:
    before = {p for p in large.log.path.rglob("*") if p.suffix in (".parquet", ".bin")}

    def intrude() -> None:
        if pending:
            pending.pop()
            write_deltalake(large.log.path, large.table([(60_000, "other")]), mode="append")

    pending = [True]
    change = large.table([(7, "")]).append_column(OP, pa.array(["D"]))
    request = CommitRequest(large.log.path, "dt:x", 2, "a2")
    with hooked("before_write", intrude), pytest.raises(ConcurrentWrite, match="exists"):
        commit(request, Merge(["k"], change), writer="engine", columns=large.columns)
    after = {p for p in large.log.path.rglob("*") if p.suffix in (".parquet", ".bin")}
    assert len(after - before) == 1
    large.sequence, large.rows = 1, [*large.rows, (60_000, "other")]
    large.merge([("D", (7, ""))])
    assert large.found() == []


def test_what_a_commit_names_is_on_the_disk_before_it(
    large: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[int] = []  # by inode; -1 is the commit
    fsync, link = os.fsync, os.link

    def spy_fsync(handle: int) -> None:
        done.append(os.fstat(handle).st_ino)
        fsync(handle)

    def spy_link(source: Any, target: Any) -> None:
        done.append(-1)
        link(source, target)

    monkeypatch.setattr(os, "fsync", spy_fsync)
    monkeypatch.setattr(os, "link", spy_link)
    large.merge([("D", (7, "")), ("I", (-1, "more"))])
    table, version = large.log.path, large.log.version()
    (old,) = (a["path"] for a in actions(large.log)["remove"])
    named = set(large.log.files_written(version)) - {old}
    assert {Path(name).suffix for name in named} == {".parquet", ".bin"}
    before, after = set(done[: done.index(-1)]), set(done[done.index(-1) :])
    assert {os.stat(table / name).st_ino for name in (*named, "", "_change_data")} <= before
    log = table / "_delta_log"
    assert {os.stat(path).st_ino for path in (log, log / commit_name(version))} <= after
