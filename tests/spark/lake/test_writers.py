"""One conformance suite over both writers: every type and odd value, the touched rows and the
untouched ones, filtered reads, the change feed, deletion vectors, checkpoints, caches."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException

from dt_jupyter.lake import (
    Append,
    Change,
    CommitRequest,
    Committed,
    Lost,
    Merge,
    Overwrite,
    TableLog,
    backing_properties,
    commit,
    create,
    plan_changes,
    recover,
    relation,
)
from dt_jupyter.lake.delta_log.version_checksum import checksum_name
from dt_jupyter.lake.paths import sql_table
from dt_jupyter.lake.write import (
    backing_table as tables,
    writer_engine,
    writer_files,
    writer_spark,
)
from dt_jupyter.lake.write.create_commit import plain_fields
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import OP
from dt_jupyter.spark import count_jobs
from tests.cases import some
from tests.spark.lake_tables import LOCAL, NOT_LOCAL, make, weighted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("quick_spark")

WRITERS = ["spark", "spark-files", "delta-rs", "engine"]
FORMATS = (
    "map('timestampFormat', \"yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX\", 'timestampNTZFormat', "
    "\"yyyy-MM-dd'T'HH:mm:ss.SSSSSS\", 'ignoreNullFields', 'false')"
)
TYPES = {
    "id": "BIGINT",
    "t": "STRING",
    "yes": "BOOLEAN",
    "b1": "TINYINT",
    "b2": "SMALLINT",
    "b4": "INT",
    "f4": "FLOAT",
    "f8": "DOUBLE",
    "dec": "DECIMAL(38,18)",
    "d9": "DECIMAL(9,2)",
    "d18": "DECIMAL(18,3)",
    "day": "DATE",
    "ts": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "bin": "BINARY",
    "arr": "ARRAY<DOUBLE>",
    "m": "MAP<STRING, STRUCT<x: DECIMAL(10,2), f: FLOAT>>",
    "s": "STRUCT<f: DOUBLE, t: STRING, n: STRUCT<ts: TIMESTAMP>>",
    "odd name, 'quoted'": "STRING",
}
FIRST = (
    "true, -128, -32768, -2147483648, float('NaN'), -0.0D, "
    "-99999999999999999999.999999999999999999, -9999999.99, -999999999999999.999, "
    "DATE'0001-01-01', TIMESTAMP'0001-01-01 00:00:00Z', TIMESTAMP_NTZ'0001-01-01 00:00:00', "
    "X'00FF27', array(double('NaN'), -0.0D, NULL), map('k', struct(1.25, float('NaN'))), "
    "struct(double('NaN'), 'in', struct(TIMESTAMP'0001-01-01 00:00:00Z'))"
)
LAST = (
    "false, 127, 32767, 2147483647, float('-Infinity'), double('NaN'), 0.000000000000000001, "
    "9999999.99, 999999999999999.999, "
    "DATE'9999-12-31', TIMESTAMP'9999-12-31 23:59:59.999999Z', "
    "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999', X'', array(), map(), "
    "struct(-0.0D, '', struct(TIMESTAMP'9999-12-31 23:59:59.999999Z'))"
)
PLAIN = (
    "true, 1, 2, 3, float('0.5'), 0.25D, 1.5, 0.01, 0.001, DATE'2024-02-29', "
    "TIMESTAMP'2024-02-29 01:02:03.456789Z', "
    "TIMESTAMP_NTZ'1969-12-31 23:59:59.000001', X'61', array(1.0D, 2.0D), "
    "map('a', struct(1.00, float('1')), 'b', NULL), "
    "struct(1.5D, 'x', struct(TIMESTAMP'1899-12-31 00:00:00.000001Z'))"
)
NULLS = ", ".join(["NULL"] * 16)
TEXTS = {
    1: "'it''s \"quoted\", 100 % 🚂'",
    2: "'\\t tab \\n line \\u0001 control \\\\'",
    3: "''",
}
FILTERS = [
    "f8 > 100", "f8 <= 0", "f4 > 100", "s.f > 100", "id IS NULL", "id >= 12", "t = ''",
    "ts > TIMESTAMP'9999-12-31 23:59:59.999998Z'", "ts < TIMESTAMP'0001-01-02 00:00:00Z'",
    "ts = TIMESTAMP'2024-02-29 01:02:03.456789Z'", "day = DATE'9999-12-31'", "dec < 0",
    "d9 < 0", "d18 > 1",
    "ntz < TIMESTAMP_NTZ'1970-01-01 00:00:00'",
]  # fmt: skip


def row(id_: int | None, values: str, text: str | None = None) -> str:
    shown = text or TEXTS.get(id_ or 0, "NULL")
    return f"SELECT {'NULL' if id_ is None else id_}, {shown}, {values}, {shown}"


ODD = "odd name, 'quoted'"


def literal(spark: SparkSession, *rows: str, odd: str = ODD) -> DataFrame:
    """Rows that Spark itself makes of literals, in the table's types."""
    types = {odd if n == ODD else n: t for n, t in TYPES.items()}
    names = ", ".join(quote(n) for n in types)
    casts = ", ".join(f"CAST({quote(n)} AS {t}) AS {quote(n)}" for n, t in types.items())
    return spark.sql(f"SELECT {casts} FROM ({' UNION ALL '.join(rows)}) AS v({names})")


BASE = {
    1: row(1, FIRST),
    2: row(2, LAST),
    3: row(3, PLAIN),
    None: row(None, NULLS),
    10: row(10, PLAIN),
    11: row(11, LAST),
    12: row(12, FIRST),
    13: row(13, NULLS),
}


class Table:
    """A table under test, one writer, and the model: the literal of each row by its id."""

    def __init__(
        self,
        spark: SparkSession,
        path: Path,
        writer: str,
        cluster_by: Sequence[str] = (),
        **extra: str,
    ) -> None:
        self.spark, self.writer = spark, writer
        # Names that need column mapping are not the engine's.
        self.odd = "even" if writer in ("engine", "spark-files") else ODD
        schema = self.literal(row(1, NULLS)).schema
        more = {f"delta.{k}": v for k, v in extra.items()}
        properties = backing_properties(schema, extra=more, cluster_by=cluster_by)
        create(spark, path, schema, properties, cluster_by)
        self.log = TableLog(path)
        self.model: dict[int | None, str] = {}
        self.sequence = 0
        self.held: set[int] = set()

    def literal(self, *rows: str) -> DataFrame:
        return literal(self.spark, *rows, odd=self.odd)

    def arrow(self, *rows: str, op: str | None = None) -> pa.Table:
        table = self.literal(*rows).toArrow()
        return table if op is None else table.append_column(OP, pa.array(list(op), pa.string()))

    def commit(self, change: Change, writer: str | None = None) -> Committed:
        self.sequence += 1
        request = CommitRequest(self.log.path, "dt:x", self.sequence, f"a-{self.sequence}")
        chosen: Any = writer or self.writer
        session = self.spark.newSession()
        if chosen == "spark-files":
            rows = writer_spark.frame(session, change.rows, self.log.metadata())
            change = replace(change, rows=rows)
        done = commit(request, change, spark=session, writer=chosen)
        assert isinstance(done, Committed), done
        assert writer == "auto" or done.writer == chosen
        return done

    def merge(self, ops: dict[int | None, tuple[str, str]], writer: str | None = None) -> Committed:
        """`ops`: id → (operation, literal)."""
        rows = self.arrow(*(r for _, r in ops.values()), op="".join(o for o, _ in ops.values()))
        done = self.commit(Merge(["id"], rows), writer)
        for id_, (operation, text) in ops.items():
            self.model[id_] = text
            if operation == "D":
                del self.model[id_]
        return done

    def check(self) -> None:
        """Contents, and the keys of filtered reads, are what the model says: by every filter after
        the first commit, by each in turn after those that follow."""
        self.spark._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]
        asked = {
            n: filter_
            for n, filter_ in enumerate(["true", *FILTERS])
            if n == 0 or self.sequence == 1 or n % 3 == self.sequence % 3
        }
        all_ = f"to_json(struct(*), {FORMATS})"
        stored = sql_table(self.log.path)
        legs = (
            f"(SELECT {n} AS n, {'string(id)' if n else all_} AS row FROM {stored} WHERE {filter_})"
            for n, filter_ in asked.items()
        )
        found = Counter(tuple(r) for r in self.spark.sql(" UNION ALL ".join(legs)).collect())
        model = self.literal(*self.model.values()).selectExpr(all_, "string(id)", *asked.values())
        wanted = Counter(
            (n, row if n == 0 else id_)
            for row, id_, *held in model.collect()
            for n, holds in zip(asked, held, strict=True)
            if holds
        )
        assert found == wanted
        self.held = {n for n, _ in wanted}
        self.check_checksum()

    def check_checksum(self) -> None:
        """The newest version has a checksum that Delta finds to be true of the log."""
        java: Any = self.spark._jvm
        log = java.org.apache.spark.sql.delta.DeltaLog
        log.clearCache()
        snapshot = log.forTable(
            self.spark._jsparkSession, str(self.log.path)
        ).unsafeVolatileSnapshot()  # type: ignore[attr-defined]
        file = self.log.path / "_delta_log" / checksum_name(self.log.version())
        known = json.loads(file.read_text())
        state = snapshot.computedState()
        assert snapshot.version() == self.log.version()
        assert snapshot.checksumOpt().isDefined()
        assert (known["numFiles"], known["tableSizeBytes"]) == (
            state.numOfFiles(),
            state.sizeInBytes(),
        )
        assert json.loads(state.metadata().json())["metaData"] == known["metadata"]
        assert json.loads(state.protocol().json())["protocol"] == known["protocol"]

    def check_feed(self, before: Counter[str], after: Counter[str]) -> None:
        """Both ways to read the newest commit's change give the difference."""
        version = self.log.version()
        plan = plan_changes(self.log, version - 1, version)
        columns = [*self.log.metadata().columns]
        for small in (LOCAL, NOT_LOCAL):
            found = relation(self.spark, self.log, plan, columns, view_prefix="probe", small=small)
            shown = f"to_json(struct(* EXCEPT (__dt_w)), {FORMATS})"
            rows = self.spark.sql(f"SELECT {shown}, __dt_w FROM {found}").collect()
            changed = {repr((k,)): after[k] - before[k] for k in before | after}
            assert weighted(rows) == {k: n for k, n in changed.items() if n}, found.way
            found.drop(self.spark)

    def bag(self) -> Counter[str]:
        rows = self.literal(*self.model.values())
        rows.createOrReplaceTempView("model")
        shown = self.spark.sql(f"SELECT to_json(struct(*), {FORMATS}) FROM model")
        return Counter(r[0] for r in shown.collect())


@pytest.mark.nightly
@pytest.mark.parametrize("small_rows", some(1, [10_000, 0]))
def test_a_life_of_commits_by_the_engine(
    spark: SparkSession, lake_dir: Path, small_rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", small_rows)
    live(spark, lake_dir, "engine")


@pytest.mark.nightly
@pytest.mark.parametrize("writer", ["delta-rs", "spark", "spark-files"])
def test_a_life_of_commits(spark: SparkSession, lake_dir: Path, writer: str) -> None:
    live(spark, lake_dir, writer)


@pytest.mark.nightly
@pytest.mark.parametrize("writer", ["engine", "spark-files"])
def test_a_life_of_a_clustered_table(spark: SparkSession, lake_dir: Path, writer: str) -> None:
    live(spark, lake_dir, writer, ["ts", "t", "b2"])


def live(spark: SparkSession, lake_dir: Path, writer: str, cluster_by: Sequence[str] = ()) -> None:
    t = Table(spark, lake_dir / "it's a 't'", writer, cluster_by, checkpointInterval="3")
    done = t.commit(Append(t.arrow(*BASE.values())))
    t.model = dict(BASE)
    assert done.statistics.inserted == len(BASE)
    t.check()
    assert t.held == set(range(len(FILTERS) + 1))  # a filter that never holds proves nothing

    before = t.bag()
    done = t.merge(
        {
            1: ("U", row(1, LAST, "'changed'")),
            None: ("U", row(None, FIRST, "'null key'")),
            10: ("D", row(10, NULLS)),
            20: ("I", row(20, FIRST)),
            21: ("U", row(21, LAST, "'was not there'")),
        }
    )
    s = done.statistics
    assert (s.inserted, s.updated, s.deleted) == (2, 2, 1)
    t.check()
    t.check_feed(before, t.bag())

    spark.sql(f"DELETE FROM {sql_table(t.log.path)} WHERE id = 11")  # makes a deletion vector
    del t.model[11]
    before = t.bag()
    t.merge({12: ("U", row(12, LAST, "'beside a vector'")), 2: ("D", row(2, NULLS))})
    t.check()
    t.check_feed(before, t.bag())

    spark.sql(f"DELETE FROM {sql_table(t.log.path)} WHERE id = 13")
    del t.model[13]
    before = t.bag()
    t.model = {7: row(7, FIRST), None: row(None, LAST)}
    t.commit(Overwrite(t.arrow(*t.model.values())), "spark" if writer == "spark-files" else None)
    t.check()
    t.check_feed(before, t.bag())
    recovered = recover(t.log, "dt:x")
    assert recovered is not None
    assert (recovered.sequence, recovered.foreign) == (4, ())


def test_writers_take_turns(
    spark: SparkSession, lake_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_engine, "_SMALL_ROWS", 0)
    t = Table(spark, lake_dir / "t", "engine")
    t.commit(Append(t.arrow(*BASE.values())), "spark")
    t.model = dict(BASE)
    t.merge({2: ("U", row(2, FIRST)), None: ("D", row(None, NULLS))}, "engine")
    t.merge({2: ("U", row(2, LAST)), 30: ("I", row(30, PLAIN))}, "spark")
    t.merge({1: ("U", row(1, LAST)), 3: ("D", row(3, NULLS))}, "engine")
    t.merge({2: ("D", row(2, LAST)), 30: ("U", row(30, FIRST))}, "delta-rs")
    t.merge({10: ("U", row(10, LAST)), 30: ("D", row(30, NULLS))}, "engine")
    before = t.bag()
    ops = {1: ("U", row(1, FIRST)), 31: ("U", row(31, LAST)), 10: ("D", row(10, NULLS))}
    t.merge(ops | {32: ("I", row(32, PLAIN))}, "spark-files")
    t.check()
    t.check_feed(before, t.bag())
    t.merge({10: ("U", row(10, LAST)), 31: ("D", row(31, NULLS))}, "engine")
    t.check()
    spark.sql(f"OPTIMIZE {sql_table(t.log.path)}")
    t.merge({10: ("D", row(10, NULLS)), 1: ("U", row(1, FIRST))}, "engine")
    t.check()


@pytest.mark.nightly
def test_the_first_read_after_a_small_commit_costs_as_much_as_after_one_by_spark(
    spark: SparkSession, lake_dir: Path
) -> None:
    t = Table(spark, lake_dir / "t", "engine")
    t.commit(Append(t.arrow(*BASE.values())), "spark")

    def first_read(writer: str, group: str) -> int:
        t.merge({2: ("U", row(2, FIRST))}, writer)
        spark.sparkContext.setJobGroup(group, "")
        spark.read.format("delta").load(str(t.log.path)).count()
        return count_jobs(spark, group)

    jobs = {w: [first_read(w, f"{w}-{n}") for n in range(3)] for w in WRITERS}
    assert max(*jobs["delta-rs"], *jobs["engine"]) <= min(jobs["spark"])
    # Whatever the checksum before it is, Delta gets one that is true of the files.
    for text, writer in itertools.product(("", "{", "{}", "\0" * 40), ("delta-rs", "engine")):
        before = t.log.path / "_delta_log" / checksum_name(t.log.version())
        before.write_text(text)
        t.merge({2: ("U", row(2, LAST))}, writer)
        t.check_checksum()


@pytest.mark.nightly
def test_int96_is_left_to_spark(spark: SparkSession, lake_dir: Path) -> None:
    t = Table(spark, lake_dir / "t", "auto")
    foreign = spark.newSession()
    foreign.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    rows = literal(foreign, *BASE.values())
    rows.coalesce(1).write.format("delta").mode("append").save(str(t.log.path))
    t.model = dict(BASE)
    done = t.merge({3: ("U", row(3, PLAIN, "'x'"))}, "auto")
    assert (done.writer, done.reason) == ("spark", "a timestamp is stored as INT96")
    t.check()


@pytest.mark.nightly
def test_a_change_with_int96_is_read_by_spark(spark: SparkSession, lake_dir: Path) -> None:
    log = make(spark, lake_dir / "t", "id BIGINT, ts TIMESTAMP, t STRING", feed=True)
    foreign = spark.newSession()
    foreign.conf.set("spark.sql.parquet.outputTimestampType", "INT96")
    foreign.sql(f"INSERT INTO {sql_table(log.path)} VALUES (1, '9999-12-31 00:00:00', 'x')")
    plan = plan_changes(log, 0, 1)
    with_time = relation(spark, log, plan, ["id", "ts"], view_prefix="a")
    assert (with_time.way, with_time.reason) == ("feed", "a timestamp is stored as INT96")
    assert spark.sql(f"SELECT year(ts) FROM {with_time}").collect()[0][0] == 9999
    without = relation(spark, log, plan, ["id", "t"], view_prefix="b")
    assert without.way == "local"
    assert spark.sql(f"SELECT * FROM {without}").collect() == [(1, "x", 1)]


KEYS = {
    "STRING": ["'" + "p" * 40 + x + "'" for x in "abc"],
    "TIMESTAMP": [f"TIMESTAMP'2024-01-01 00:00:00.00000{x}Z'" for x in "123"],
    "TIMESTAMP_NTZ": [f"TIMESTAMP_NTZ'2024-01-01 00:00:00.00000{x}'" for x in "123"],
    "DATE": [f"DATE'2024-01-0{x}'" for x in "123"],
    "DECIMAL(38,18)": ["1.000000000000000001", "1.000000000000000002", "1.000000000000000003"],
    "BINARY": ["X'00'", "X'0001'", "X'FF'"],
    "SMALLINT": ["-1", "0", "1"],
}


def test_keys_of_every_type(spark: SparkSession, lake_dir: Path) -> None:
    """Spark writes three files, one row each, and a NULL; delta-rs finds them by their key."""
    columns = ", ".join(f"k{n} {t}" for n, t in enumerate(KEYS))
    create(spark, lake_dir / "t", f"{columns}, v STRING")
    log = TableLog(lake_dir / "t")
    values = [*zip(*KEYS.values(), strict=True), ["NULL"] * len(KEYS)]
    for n, literals in enumerate(values):
        spark.sql(f"INSERT INTO {sql_table(log.path)} VALUES ({', '.join(literals)}, 'old{n}')")
    alias = ", ".join([*(f"k{n}" for n in range(len(KEYS))), "v"])
    typed = ", ".join([*(f"CAST(k{n} AS {t}) AS k{n}" for n, t in enumerate(KEYS)), "v"])
    wanted = [f"({', '.join(values[n])}, 'new{n}')" for n in (1, 3)]
    source = spark.sql(f"SELECT {typed} FROM VALUES {', '.join(wanted)} AS s({alias})").toArrow()
    for n in range(len(KEYS)):
        change = Merge([f"k{n}"], source.append_column(OP, pa.array(["U", "U"])))
        request = CommitRequest(log.path, "dt:x", n + 1, f"a-{n}")
        done = commit(request, change, writer="delta-rs")
        assert isinstance(done, Committed)
        counts = (done.statistics.updated, done.statistics.inserted, done.statistics.files_removed)
        assert counts == (2, 0, 2 if n == 0 else 1), list(KEYS)[n]
    found = spark.sql(f"SELECT v FROM {sql_table(log.path)}").collect()
    assert sorted(r[0] for r in found) == ["new1", "new3", "old0", "old2"]


@pytest.mark.nightly
@pytest.mark.parametrize("writer", some(1, reversed(WRITERS)))
def test_a_cached_relation_sees_the_commit(spark, lake_dir, writer) -> None:
    create(spark, lake_dir / "t", "id BIGINT")
    rows = pa.table({"id": pa.array([1, 2], pa.int64())})
    cached = spark.read.format("delta").load(str(lake_dir / "t")).cache()
    assert cached.count() == 0
    request = CommitRequest(lake_dir / "t", "dt:x", 1, "a")
    session = spark.newSession()
    given = session.createDataFrame(rows) if writer == "spark-files" else rows
    commit(request, Append(given), spark=session, writer=writer)
    assert spark.read.format("delta").load(str(lake_dir / "t")).count() == 2
    assert spark.table(sql_table(lake_dir / "t")).count() == 2


def test_a_stale_sequence_that_spark_skips_is_lost(spark, lake_dir) -> None:
    """Delta skips it without a word: a zombie took sequence 1 between our check and our write."""
    from dt_jupyter.lake.write.failpoints import hooked

    create(spark, lake_dir / "t", "id BIGINT, v STRING")
    rows = pa.table({"id": pa.array([1], pa.int64()), "v": ["x"]})
    path = lake_dir / "t"

    def zombie() -> None:
        options = {"txnAppId": "dt:x", "txnVersion": "1", "userMetadata": '{"attempt": "zombie"}'}
        spark.createDataFrame(rows).write.format("delta").mode("append").options(**options).save(
            str(path)
        )

    pending = [zombie]
    with hooked("before_write", lambda: pending.pop()() if pending else None):
        result = commit(
            CommitRequest(path, "dt:x", 1, "mine"),
            Append(rows),
            spark=spark.newSession(),
            writer="spark",
        )
    assert isinstance(result, Lost)
    assert (result.code, result.version) == ("FENCED", 1)
    assert spark.read.format("delta").load(str(path)).count() == 1


@pytest.mark.parametrize(
    ("writer", "reason"),
    [("auto", "the rows are a Spark DataFrame"), ("spark", "asked for")],
)
def test_spark_merge_leaves_the_session_as_it_was(
    spark: SparkSession, lake_dir: Path, writer: Any, reason: str
) -> None:
    create(spark, lake_dir / "t", "id BIGINT, v STRING")
    session = spark.newSession()
    rows = pa.table({"id": pa.array([1], pa.int64()), "v": ["x"], OP: ["D"]})
    request = CommitRequest(lake_dir / "t", "dt:x", 1, "a", {"k": "v"})
    change = Merge(["id"], session.createDataFrame(rows))
    done = commit(request, change, spark=session, writer=writer)
    assert isinstance(done, Committed)
    assert (done.writer, done.reason) == (
        "spark-files" if writer == "auto" else "spark",
        reason,
    )
    for conf in (
        *writer_files.FILE_CONFS,
        "spark.databricks.delta.write.txnAppId",
        "spark.databricks.delta.write.txnVersion",
        "spark.databricks.delta.commitInfo.userMetadata",
    ):
        assert session.conf.get(conf, None) == spark.newSession().conf.get(conf, None)
    assert session.sql("SHOW VIEWS").collect() == []


@pytest.mark.nightly
def test_a_plain_table_is_made_as_spark_makes_it(
    spark: SparkSession, lake_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {c: t for c, t in TYPES.items() if c not in ("ntz", ODD)}
    columns = ", ".join(f"{c} {t}" for c, t in kept.items())
    create(spark, lake_dir / "ours", columns)
    with pytest.raises(AnalysisException, match="already exists"):
        create(spark, lake_dir / "ours", columns)
    monkeypatch.setattr(tables, "plain_fields", lambda *args: None)
    create(spark, lake_dir / "spark", columns)

    def made(name: str) -> dict[str, Any]:
        (commit,) = (lake_dir / name / "_delta_log").glob("*.json")
        found: dict[str, Any] = {}
        for line in commit.read_text().splitlines():
            found.update(json.loads(line))
        return found

    ours, theirs = made("ours"), made("spark")
    assert ours["commitInfo"]["engineInfo"] == "dt_jupyter"
    assert theirs["commitInfo"]["engineInfo"].startswith("Apache-Spark")
    for features in ("readerFeatures", "writerFeatures"):
        assert sorted(ours["protocol"].pop(features)) == sorted(theirs["protocol"].pop(features))
    assert ours["protocol"] == theirs["protocol"]
    for metadata in (ours["metaData"], theirs["metaData"]):
        assert metadata.pop("id")
        assert metadata.pop("createdTime")
        metadata["schemaString"] = json.loads(metadata["schemaString"])
    assert ours["metaData"] == theirs["metaData"]
    assert spark.read.format("delta").load(str(lake_dir / "ours")).collect() == []


@pytest.mark.parametrize(
    ("column", "more"),
    some(
        2,
        [
            ("at TIMESTAMP_NTZ", {}),
            ("v INT", {"delta.enableRowTracking": "true"}),
            ("`odd name` INT", {}),
            ("v VARIANT", {}),
            ("s STRUCT<x: INT NOT NULL>", {}),
            ("s STRING COLLATE UTF8_LCASE", {}),
            ("v INT", {"delta.enableDeletionVectors": "false"}),
        ],
    ),
)
def test_what_needs_another_protocol_is_made_by_spark(
    spark: SparkSession, column: str, more: dict[str, str]
) -> None:
    schema = spark.sql("SELECT 1").schema.fromDDL(f"id INT, {column}")
    assert plain_fields(schema, backing_properties(schema, extra=more)) is None
    plain = schema.fromDDL("id INT, l ARRAY<STRING>")
    assert plain_fields(plain, backing_properties(plain)) is not None
