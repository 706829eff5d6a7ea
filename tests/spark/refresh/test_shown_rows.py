"""Every number that is shown of a table is what a query of it gives, or what its files are: rows,
bytes, lag, and what its refreshes did."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dt_jupyter.engine import read_outcome, read_sample, run_script
from dt_jupyter.model import Name, Timestamp
from tests.spark.engine_lab import Lab

TEXTS = {
    "plain": "SELECT * FROM t",
    "having": "SELECT k, sum(v) AS s FROM t GROUP BY k HAVING sum(v) > 20",
    "having_unnamed": "SELECT k, sum(v) FROM t GROUP BY k HAVING count(*) > 1",
    "having_none": "SELECT k, count(*) AS n FROM t GROUP BY k HAVING count(*) > 99",
    "scalar_having": "SELECT count(*) AS n FROM t HAVING count(*) > 99",
    "scalar": "SELECT sum(v) AS s FROM t",
    "difference": "SELECT k FROM t EXCEPT SELECT k FROM u",
    "common": "SELECT k FROM t INTERSECT ALL SELECT k FROM u",
    "outer_join": "SELECT t.k, u.v FROM t FULL JOIN u ON t.k = u.k AND u.v > 1",
    "first": "SELECT k, v FROM t ORDER BY v DESC LIMIT 2",
    "numbered": "SELECT v, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM t",
    "above": "SELECT s FROM having WHERE s > 0",
    "full": "SELECT k, percentile_approx(v, 0.5) AS m FROM t GROUP BY k",
}
CHANGES = (
    "DELETE FROM t WHERE v = 30; INSERT INTO t VALUES (2, 9, 'q'), (7, 1, NULL)",
    "UPDATE t SET v = 100 WHERE k = 3; DELETE FROM u; INSERT INTO u VALUES (3, 3)",
)


@pytest.fixture
def lab(shared_lab: Lab) -> Lab:
    return shared_lab


def in_graph(lab: Lab, name: str) -> int | None:
    return next(n.rows for n in lab.engine.graph().nodes if n.name == Name("default", name))


def of_one_node(lab: Lab, name: str) -> int | None:
    node = lab.context.nodes.one(lab.engine.table(name).id, {}, None, lab.context.clock.now())
    return node.rows if node is not None else None


def in_explain(lab: Lab, name: str) -> int | None:
    tree = lab.engine.explain(name).tree
    return None if not tree else tree[0].size.rows


SHOWN: dict[str, Callable[[Lab, str], int | None]] = {
    "graph": in_graph,
    "node": of_one_node,
    "EXPLAIN": in_explain,
}


def total_jobs(lab: Lab) -> int:
    return int(lab.spark.sparkContext._jsc.sc().dagScheduler().numTotalJobs())


def read_all(lab: Lab, text: str) -> list[tuple[str | None, ...]]:
    """The rows that a cell shows of a query."""
    (done,) = run_script(lab.context, text)
    rows = read_outcome(lab.context, done).rows
    assert rows is not None
    return sorted(rows.rows, key=str)


def counts(lab: Lab) -> dict[str, int]:
    parts = [f"SELECT '{n}' AS n, count(*) AS c FROM {n}" for n in (*TEXTS, "t", "u")]
    return dict(lab.spark.sql(" UNION ALL ".join(parts)).collect())


def moved(lab: Lab, name: str) -> int:
    """What all refreshes together say that they inserted and deleted."""
    made = (r.statistics for r in lab.engine.records(name, 100))
    return sum(s.inserted_rows - s.deleted_rows for s in made)


def check(lab: Lab) -> dict[str, int]:
    now = counts(lab)
    for name in TEXTS:
        shown = {what: read(lab, name) for what, read in SHOWN.items()}
        if lab.mode(name) == "FULL":
            del shown["EXPLAIN"]
        assert shown == dict.fromkeys(shown, now[name]), name
        assert moved(lab, name) == now[name], name
    assert {n: in_graph(lab, n) for n in "tu"} == {n: now[n] for n in "tu"}
    (scan,) = (n for n in lab.engine.explain("above").tree if "having" in n.operator)
    assert scan.size.rows == now["having"]
    return now


HISTORY = """SELECT NAME, SCHEMA_NAME,
unix_micros(max(CASE WHEN STATE = 'SUCCEEDED' THEN DATA_TIMESTAMP END)) AS t,
count_if(STATE = 'SUCCEEDED' AND REFRESH_ACTION <> 'NO_DATA') AS refreshes,
count_if(STATE = 'SUCCEEDED' AND REFRESH_ACTION IN ('FULL', 'REINITIALIZE')) AS recomputed,
count_if(STATE = 'FAILED') AS failed,
sum(CAST(get_json_object(STATISTICS, '$.numBytesWritten') AS BIGINT)) AS bytes,
sum(CAST(REFRESH_END_TIME AS DOUBLE) - CAST(REFRESH_START_TIME AS DOUBLE)) AS seconds
FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY()) GROUP BY ALL"""


def is_checksum(file: Path) -> bool:
    """What Hadoop writes beside a data file on a disk: no part of the table."""
    return file.name.startswith(".") and file.suffix == ".crc" and file.parent.name != "_delta_log"


def files_of(lab: Lab, name: str) -> tuple[int, int]:
    """Bytes of a table's data files, hidden stages and changes included, and of all its files."""
    folder = Path(str(lab.context.layout.folder(lab.engine.table(name).id)))
    files = (p for p in folder.rglob("*") if p.is_file() and not is_checksum(p))
    sizes = {p: p.stat().st_size for p in files}
    data = (s for p, s in sizes.items() if p.suffix == ".parquet" and "_delta_log" not in p.parts)
    return sum(data), sum(sizes.values())


def check_costs(lab: Lab) -> None:
    """What health and the history say is what SQL says of the history, and what lies on the disk;
    nothing was vacuumed."""
    told = {row[0]: row[2:] for row in lab.sql(HISTORY)}
    before = lab.context.clock.now()
    health = {t.name.table: t for t in lab.engine.health().tables}
    after = lab.context.clock.now()
    stored = {t.name: t for t in lab.engine.storage().tables}
    nodes = {str(n.name): n for n in lab.engine.graph().nodes}
    for name in TEXTS:
        t, refreshes, recomputed, failed, written, seconds = told[name]
        found, since = health[name], Timestamp(t)
        figures = (found.refreshes, found.recomputed, found.failed, found.bytes)
        assert figures == (refreshes, recomputed, failed, written), name
        assert found.seconds == pytest.approx(seconds, abs=0.01)
        late = lab.engine.why_late(name)
        assert before.since(since) <= (found.lag or 0) <= after.since(since), name
        assert (late.lag or 0) >= (found.lag or 0), name
        assert (nodes[name].lag or 0) >= before.since(since), name
        data, everything = files_of(lab, name)
        assert written == data, name
        assert stored[name].total == everything, name


@pytest.mark.nightly
def test_every_number_of_rows_is_what_a_query_gives(lab: Lab) -> None:
    lab.sql("CREATE TABLE t (k INT, v INT, p STRING) USING delta PARTITIONED BY (p)")
    lab.insert("t", "1, 10, 'x'", "1, 20, 'x'", "2, 5, 'y'", "3, 30, NULL", "4, 1, 'y'")
    lab.table("u", "k INT, v INT", "1, 1", "2, 2", "2, 2", "9, 9")
    for name, text in TEXTS.items():
        lab.dynamic_table(name, text)
    found = check(lab)
    for change in CHANGES:
        lab.sql(change)
        for name in TEXTS:
            assert lab.record(name).error is None
        found = check(lab)
    check_costs(lab)
    for name in ("having", "having_unnamed", "scalar_having"):
        assert lab.engine.profile(name, rows=0).row_count == found[name]
    made, jobs = lab.engine.table("having"), total_jobs(lab)
    sample = read_sample(lab.context, made)
    assert total_jobs(lab) == jobs, "the rows that a card shows are read without Spark"
    shown = read_all(lab, "SELECT * FROM numbered")
    assert found["numbered"] > 1
    assert len(read_all(lab, "select *\nfrom default.numbered limit 1")) == 1
    assert read_all(lab, "SELECT * FROM numbered LIMIT 0") == []
    assert total_jobs(lab) == jobs, "nor does a query of a whole table need Spark"
    assert shown == sorted((str(v), str(n)) for v, n in lab.rows("numbered"))
    lab.spark.sql("CREATE TEMPORARY VIEW numbered AS SELECT 7 AS k, 8L AS s")
    assert read_all(lab, "SELECT * FROM numbered") == [("7", "8")], "another has the name here"
    lab.spark.catalog.dropTempView("numbered")
    for more in ("numbered h", "numbered, u", "numbered WHERE n = 1", "numbered LIMIT 1 OFFSET 1"):
        assert (
            len(read_all(lab, f"SELECT * FROM {more}"))
            == lab.spark.sql(f"SELECT * FROM {more}").count()
        )
    assert sample is not None
    assert sorted(sample.rows) == sorted((str(k), str(s)) for k, s in lab.rows("having"))
