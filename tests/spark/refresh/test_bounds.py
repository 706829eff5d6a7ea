"""What a refresh reads and chooses: literal bounds, cost, upkeep, format, and how they are told."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

import dt_jupyter.refresh.chooser as chooser
import dt_jupyter.refresh.execute as stages
from dt_jupyter.lake import SmallTables, TableLog
from dt_jupyter.model import RefreshWay
from dt_jupyter.replay import compare
from dt_jupyter.reports import verification
from tests.cases import some
from tests.spark.engine_lab import IN_SPARK, Lab, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from dt_jupyter.replay.verify_rows import Comparison

FILES, ROWS = 8, 1_000


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    without_check(monkeypatch)


@pytest.fixture
def big(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    """`event` of eight files by key, which Spark reads (no table passes for a small one)."""
    monkeypatch.setattr(SmallTables, "rows", lambda *args, **kw: None)
    lab.table("event", "id BIGINT, k STRING, v INT")
    lab.sql(
        f"INSERT INTO event SELECT /*+ REPARTITION_BY_RANGE({FILES}, id) */ id, "
        f"concat('k', id % 7), CAST(id % 10 AS INT) FROM range({FILES * ROWS})"
    )
    lab.table("pick", "id BIGINT, label STRING", "5, 'five'", "17, 'seventeen'")
    return lab


@pytest.mark.parametrize(
    "query",
    some(
        2,
        [
            "SELECT p.label, e.v FROM pick p LEFT JOIN event e ON p.id = e.id",
            "SELECT p.label FROM pick p WHERE p.id NOT IN (SELECT id FROM event WHERE v = 3)",
            "SELECT p.label, e.v FROM pick p JOIN event e ON p.id = e.id",
            "SELECT p.label FROM pick p WHERE EXISTS (SELECT 1 FROM event e WHERE e.id = p.id)",
        ],
    ),
)
def test_a_small_change_reads_the_files_that_it_can_match(big: Lab, query: str) -> None:
    big.dynamic_table("d", query)
    big.insert("pick", "6003, 'late'")
    record = big.record("d")
    assert record.action == "INCREMENTAL", record
    assert record.statistics.rows_read <= 2 * ROWS, record.statistics
    big.verified("d")


@pytest.mark.nightly
def test_touched_partitions_of_a_window_are_read_by_their_keys(big: Lab) -> None:
    big.dynamic_table("d", "SELECT id, rank() OVER (PARTITION BY id ORDER BY v) AS r FROM event")
    big.sql("UPDATE event SET v = 0 WHERE id = 2500")
    record = big.record("d")
    assert record.action == "INCREMENTAL", record
    assert record.statistics.rows_read < FILES * ROWS, record.statistics
    big.verified("d")


def test_a_source_that_did_not_change_makes_no_term(big: Lab) -> None:
    big.dynamic_table(
        "d", "SELECT e.k, count(*) AS n FROM event e JOIN pick p ON p.id = e.id GROUP BY e.k"
    )
    big.insert("pick", "8, 'eight'")
    told = str(big.engine.explain("d"))
    assert "join of 2" in told
    assert "[≈ 8,000 rows, Δ ≈ 0]" in told
    assert "UNION ALL" not in told
    assert big.refresh("d") == "INCREMENTAL"
    big.verified("d")


def test_auto_computes_anew_where_that_is_cheaper_and_says_so(lab: Lab) -> None:
    lab.tune(small_change_rows=10, small_table_rows=10)
    lab.table("item", "id INT, k INT")
    lab.sql("INSERT INTO item SELECT id, id % 5 FROM range(400)")
    query = "SELECT k, count(*) AS n, sum(id) AS s FROM item GROUP BY k"
    lab.dynamic_table("free", query)
    lab.dynamic_table("bound", query, "REFRESH_MODE = INCREMENTAL")
    lab.sql("UPDATE item SET k = k + 1 WHERE id < 300")
    record = lab.record("free")
    assert (record.action, record.reason and record.reason.code) == ("FULL", "CHEAPER_FULL")
    assert "600 of 400 source rows changed" in str(record.reason)
    assert lab.refresh("bound") == "INCREMENTAL"
    lab.verified("free", "bound")
    lab.insert("item", "401, 1")
    assert "expected in the process: about" in str(lab.engine.explain("free"))
    record = lab.record("free")
    assert (record.action, record.statistics.way) == ("INCREMENTAL", RefreshWay.PROCESS)
    lab.tuning = replace(IN_SPARK, small_change_rows=10, small_table_rows=10)
    lab.reopen()
    lab.insert("item", "402, 1")
    record = lab.record("free")
    assert (record.action, record.statistics.way) == ("INCREMENTAL", RefreshWay.SPARK)
    assert "s in Spark" in str(record.reason)
    lab.insert("item", "403, 1")
    assert "expected by Spark: about" in str(lab.engine.explain("free"))


@pytest.mark.nightly
def test_what_is_computed_anew_in_this_process_keeps_its_state(quick_lab: Lab) -> None:
    """Where Spark has to, three in a row keep it after a table was moved; the next one leaves it
    out, and one after that has it again."""
    lab = quick_lab
    lab.tune(small_change_rows=10, small_table_rows=10)
    lab.table("item", "id INT, k INT")
    lab.sql("INSERT INTO item SELECT id, id % 7 FROM range(400)")
    query = "WITH g AS (SELECT k, count(*) AS n FROM item GROUP BY k) "
    lab.dynamic_table("d", f"{query} SELECT n, count(*) AS groups FROM g GROUP BY n")

    def computed_anew(step: int) -> tuple[int, bool]:
        """In how many jobs, and whether its state was left out."""
        lab.sql(f"UPDATE item SET k = (k * 3 + {step}) % 7 WHERE id % 4 < 3")
        record = lab.record("d")
        assert (record.action, record.reason and record.reason.code) == ("FULL", "CHEAPER_FULL")
        lab.verified("d")
        assert lab.engine.replay_refresh("d")
        frontier = lab.engine.table("d").frontier
        assert frontier is not None
        return record.statistics.spark_jobs, frontier.stateless

    assert computed_anew(1) == (0, False)
    lab.sql("UPDATE item SET k = 6 WHERE id = 2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
    lab.tune(small_change_rows=10, small_table_rows=10, evaluated_rows=1)
    assert [computed_anew(step)[1] for step in (2, 3, 4)] == [False] * 3
    assert computed_anew(5)[1] is True
    lab.sql("UPDATE item SET k = 5 WHERE id = 2")
    assert lab.refresh("d") == "REINITIALIZE"
    lab.verified("d")


@pytest.mark.parametrize(("read_rows", "action"), [(1_000_000, "INCREMENTAL"), (20, "FULL")])
def test_a_change_that_spark_has_to_search_for(quick_lab: Lab, read_rows: int, action: str) -> None:
    """Two commits that delete rows of every file: Spark would read the table twice to find them,
    and so computes it anew; what is read in the process is moved."""
    quick_lab.tune(small_change_rows=10, small_table_rows=10, read_rows=read_rows)
    quick_lab.table("item", "id INT, k INT")
    quick_lab.sql("ALTER TABLE item SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    quick_lab.sql("INSERT INTO item SELECT id, id % 7 FROM range(4000)")
    quick_lab.dynamic_table("d", "SELECT k, count(*) AS n FROM item GROUP BY k")
    quick_lab.sql("DELETE FROM item WHERE id % 200 = 3")
    quick_lab.sql("UPDATE item SET k = 9 WHERE id % 200 = 4")
    record = quick_lab.record("d")
    reason = "CHEAPER_FULL" if action == "FULL" else "SOURCES_CHANGED"
    assert (record.action, record.reason and record.reason.code) == (action, reason)
    quick_lab.verified("d")


@pytest.mark.nightly
def test_what_is_computed_anew_for_its_cost_leaves_its_state(lab: Lab) -> None:
    """Of Spark's, which costs what a plain computation does; the next small change computes its
    state again."""
    lab.tune(small_change_rows=10, small_table_rows=10, evaluated_rows=1)
    lab.table("item", "id INT, k INT")
    lab.sql("INSERT INTO item SELECT id, id % 7 FROM range(400)")
    lab.dynamic_table(
        "d",
        "WITH g AS (SELECT k, count(*) AS n FROM item GROUP BY k) "
        "SELECT a.n, count(*) AS groups, max(b.k) AS last FROM g a JOIN g b USING (n) "
        "WHERE a.n > (SELECT avg(n) / 2 FROM g) GROUP BY a.n",
    )

    def state() -> list[int | None]:
        return [s.version for s in lab.context.catalog.stages(lab.engine.table("d").id)]

    before = state()
    assert len(before) > 1
    for step in range(2):
        lab.sql(f"UPDATE item SET k = (k * 3 + {step}) % 7 WHERE id % 4 < 3")
        told = str(lab.engine.explain("d"))
        assert "contents of hidden" not in told
        assert "SELECT a.n, count(*) AS groups, max(b.k) AS last FROM g a" in told
        record = lab.record("d")
        assert (record.action, record.reason and record.reason.code) == ("FULL", "CHEAPER_FULL")
        assert state() == before
        lab.verified("d")
        assert lab.engine.replay_refresh("d")
    assert lab.refresh("d") == "NO_DATA"
    lab.sql("UPDATE item SET k = 9 WHERE id = 1")
    record = lab.record("d")
    assert (record.action, record.reason and record.reason.code) == (
        "REINITIALIZE",
        "STATE_REBUILT",
    )
    assert all(a != b for a, b in zip(state(), before, strict=True))
    lab.verified("d")
    lab.sql("UPDATE item SET k = 8 WHERE id = 2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


STATELESS = (
    ("SELECT k, sum(id) AS s FROM item GROUP BY k HAVING count(*) > 20", True),
    ("SELECT max(id) AS m FROM item GROUP BY k", False),
    ("SELECT id, k + 1 AS next FROM item WHERE k <> 3", True),
    ("SELECT k, id FROM item QUALIFY row_number() OVER (PARTITION BY k ORDER BY v) < 3", True),
    ("SELECT sum(id) AS s, count(DISTINCT k) AS n FROM item", True),
)


@pytest.mark.parametrize(("query", "alone"), some(2, STATELESS))
def test_rows_without_their_state(quick_lab: Lab, query: str, alone: bool) -> None:
    """Rows that were computed alone are the query's, with ids that tell them apart; where the
    query does not show its key, the state stays with them."""
    quick_lab.tune(small_change_rows=10, small_table_rows=10, evaluated_rows=1)
    quick_lab.table("item", "id INT, k INT, v INT")
    quick_lab.sql(
        "INSERT INTO item SELECT id, IF(id % 50 = 0, NULL, id % 7), id % 3 FROM range(400)"
    )
    quick_lab.dynamic_table("d", query)
    quick_lab.sql("UPDATE item SET k = (k * 3 + 1) % 7, v = v + 1 WHERE id % 4 < 3")
    assert quick_lab.refresh("d") == "FULL"
    quick_lab.verified("d")
    frontier = quick_lab.engine.table("d").frontier
    assert frontier is not None
    assert frontier.stateless is alone
    version = quick_lab.engine.table("d").version
    quick_lab.sql("UPDATE item SET k = 3 WHERE id IN (1, 2)")
    assert quick_lab.refresh("d") == ("REINITIALIZE" if alone else "INCREMENTAL")
    quick_lab.verified("d")
    quick_lab.sql("DELETE FROM item WHERE id IN (2, 3, 11)")
    assert quick_lab.refresh("d") == "INCREMENTAL"
    quick_lab.verified("d")
    assert version is not None
    found = quick_lab.engine.changes(
        "d", at=version, end=quick_lab.engine.table("d").version
    ).collect()
    ids = [(r["$ROW_ID"], r["$ACTION"]) for r in found]
    assert None not in [i for i, _ in ids]
    assert len(set(ids)) == len(ids)


@pytest.mark.nightly
def test_small_files_are_joined_and_nobody_sees_a_change(lab: Lab) -> None:
    lab.tune(compaction_files=4)
    lab.table("item", "id INT, v INT", "1, 1")
    lab.dynamic_table("d", "SELECT id, v FROM item")
    lab.dynamic_table("over", "SELECT count(*) AS n, sum(v) AS s FROM d")
    log = TableLog(lab.context.layout.public(lab.engine.table("d").id))
    most = 0
    for i in range(2, 7):
        lab.insert("item", f"{i}, {i}")
        assert lab.refresh("d") == "INCREMENTAL"
        assert lab.engine.table("d").version == log.version()
        most = max(most, log.size().files)
        assert lab.refresh("over") == "INCREMENTAL"
    assert most < 4
    assert not log.changes_data(max(v for v in range(log.version() + 1) if _is_upkeep(log, v)))
    assert (lab.refresh("d"), lab.refresh("over")) == ("NO_DATA", "NO_DATA")
    lab.verified("d", "over")


@pytest.mark.nightly
def test_groups_are_clustered_by_their_keys(lab: Lab) -> None:
    lab.tune(compaction_files=3)
    lab.table("item", "k STRING, v INT", "'a', 1")
    lab.dynamic_table("d", "SELECT k, sum(v) AS s FROM item GROUP BY k")
    path = lab.context.layout.public(lab.engine.table("d").id)
    log = TableLog(path)
    for i in range(2, 6):
        lab.insert("item", f"'k{i}', {i}")
        assert lab.refresh("d") == "INCREMENTAL"
    done = [str(r) for r in lab.sql(f"DESCRIBE HISTORY delta.`{path}`") if "OPTIMIZE" in r]
    assert done
    assert all("__dt_k0" in row for row in done)
    assert any(_is_upkeep(log, v) for v in range(log.version() + 1))
    lab.verified("d")


def _is_upkeep(log: TableLog, version: int) -> bool:
    return version > 0 and bool(log.files_written(version)) and not log.changes_data(version)


@pytest.mark.nightly
def test_tables_of_another_release_are_computed_anew(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.table("item", "id INT, v INT", "1, 1")
    lab.dynamic_table("d", "SELECT v, count(*) AS n FROM item GROUP BY v")
    for module in (chooser, stages):
        monkeypatch.setattr(module, "STATE_FORMAT", "next")
    record = lab.record("d")
    assert (record.action, record.reason and record.reason.code) == ("REINITIALIZE", "STATE_FORMAT")
    lab.insert("item", "2, 1")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


def test_verify_of_many_rows_is_planned_for_them(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A session for refreshes of few rows has few partitions: millions in them take more memory
    than there is."""
    confs = "spark.sql.adaptive.enabled", "spark.sql.shuffle.partitions"
    found: list[tuple[str | None, ...]] = []

    def told(spark: SparkSession, *rest: Any) -> Comparison:
        found.append(tuple(spark.conf.get(name) for name in confs))
        return compare(spark, *rest)

    monkeypatch.setattr(verification, "compare", told)
    quick_lab.table("t", "id INT", "1", "2")
    quick_lab.dynamic_table("d", "SELECT id + 1 AS next FROM t")
    assert quick_lab.engine.verify("d")
    quick_lab.tune(driver_bytes=1)
    assert quick_lab.engine.verify("d")
    assert quick_lab.engine.verify("d", all=True)
    assert [adaptive for adaptive, _ in found] == ["false", "true", "true"]
    few, *many = (int(partitions or 0) for _, partitions in found)
    assert few < 8 <= min(many)
