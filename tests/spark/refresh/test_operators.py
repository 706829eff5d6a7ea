"""Every operator that people write, as dynamic tables over random tables through random changes.

Each is INCREMENTAL, takes the action INCREMENTAL or NO_DATA, and equals its query in the end. What
EXPLAIN says of the next refresh, its action and where its rows are computed, the history records.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from dt_jupyter.ivm import Group, Kind
from dt_jupyter.model import RefreshRecord, RefreshWay
from dt_jupyter.reports.explanation_values import Explanation
from dt_jupyter.spark import is_connect
from tests.cases import some
from tests.spark.engine_lab import Lab
from tests.spark.refresh.test_oracle_random import Tables, is_moved_in_process

QUERIES = {
    "left_join": "SELECT a.id, a.k, b.v AS w, b.b FROM p a LEFT JOIN q b ON a.k = b.k",
    "left_join_further": "SELECT a.id, b.id AS j FROM p a LEFT JOIN q b ON a.k = b.k AND a.v < b.v "
    "AND b.ok",
    "right_join": "SELECT a.id, b.k, b.v FROM p a RIGHT OUTER JOIN q b ON a.id = b.id",
    "full_join": "SELECT a.id, a.k, b.id AS j, b.v FROM p a FULL OUTER JOIN q b ON a.k = b.k "
    "AND a.id = b.id",
    "full_using": "SELECT k, a.v, d.name FROM p a FULL JOIN dim d USING (k)",
    "outer_chain": "SELECT a.id, d.name, b.x FROM p a LEFT JOIN dim d ON a.k = d.k "
    "LEFT JOIN q b ON b.id = a.id WHERE a.v IS NOT NULL",
    "outer_widened": "SELECT a.id, b.x FROM p a LEFT JOIN q b ON a.v = b.big",
    "outer_aggregated": "SELECT d.k, d.name, count(a.id) AS n, sum(a.v) AS s FROM dim d "
    "LEFT JOIN p a ON a.k = d.k GROUP BY d.k, d.name",
    "semi_join": "SELECT * FROM p LEFT SEMI JOIN q ON p.k = q.k AND q.v > 0",
    "anti_join": "SELECT id, k FROM p a LEFT ANTI JOIN q b ON a.k = b.k AND a.id = b.id",
    "left_by_range": "SELECT a.id, a.v, b.k AS j, b.v AS w FROM p a LEFT JOIN q b "
    "ON b.v BETWEEN a.v AND a.v + 1 AND a.ok",
    "right_by_range": "SELECT a.id, b.id AS j FROM p a RIGHT JOIN dim d ON a.k < d.k "
    "RIGHT JOIN q b ON a.v > b.v",
    "full_by_range": "SELECT a.id, b.id AS j, b.x FROM p a FULL JOIN q b ON a.v < b.v - 2",
    "left_with_all": "SELECT a.id, d.name, e.name AS one FROM p a LEFT JOIN dim d ON a.v = 1 "
    "LEFT JOIN (SELECT name FROM dim WHERE k = 'a') e ON true",
    "left_null_safe": "SELECT a.id, b.id AS j FROM p a LEFT JOIN q b ON a.v <=> b.v",
    "semi_by_range": "SELECT id, v FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.v > p.v + 2)",
    "anti_by_range": "SELECT id, v, f FROM p LEFT ANTI JOIN q ON q.v > p.v AND q.ok",
    "range_counted": "SELECT a.k, count(b.id) AS n, sum(b.v) AS s FROM p a LEFT JOIN q b "
    "ON a.v < b.v GROUP BY a.k",
    "not_in_correlated": "SELECT id, v FROM p WHERE v NOT IN (SELECT v FROM q WHERE q.k = p.k)",
    "not_in_pair": "SELECT id, v FROM p WHERE (k, v) NOT IN (SELECT k, v FROM q WHERE q.id > p.id)",
    "marked_by_range": "SELECT id, v FROM p WHERE k = 'a' OR NOT EXISTS (SELECT 1 FROM q "
    "WHERE q.v > p.v)",
    "in_subquery": "SELECT id, k, v FROM p WHERE k IN (SELECT k FROM q WHERE v > 0)",
    "in_pair": "SELECT id, v FROM p WHERE (k, id) IN (SELECT k, id FROM q)",
    "not_in": "SELECT id, k FROM p WHERE k NOT IN (SELECT name FROM dim)",
    "not_in_nullable": "SELECT id, v FROM p WHERE v NOT IN (SELECT v FROM q WHERE ok)",
    "exists": "SELECT id, k FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k AND q.id <> p.id)",
    "not_exists": "SELECT id FROM p WHERE NOT EXISTS (SELECT * FROM q WHERE q.k = p.k AND q.ok)",
    "exists_alone": "SELECT id FROM p WHERE EXISTS (SELECT 1 FROM q WHERE v = 3)",
    "marked": "SELECT id FROM p WHERE v = 1 OR k IN (SELECT k FROM dim) "
    "OR EXISTS (SELECT 1 FROM q WHERE q.id = p.id)",
    "scalar_subquery": "SELECT id, v FROM p WHERE v >= (SELECT max(v) - 1 FROM q)",
    "scalar_item": "SELECT id, (SELECT count(*) FROM q) AS n, (SELECT min(x) FROM q) AS m FROM p",
    "correlated": "SELECT id, v FROM p WHERE v > (SELECT avg(v) FROM q WHERE q.k = p.k)",
    "correlated_count": "SELECT id, (SELECT count(*) FROM q WHERE q.k = p.k) AS n, "
    "(SELECT sum(v) + 1 FROM q WHERE q.id = p.id) AS s FROM p",
    "correlated_below": "SELECT id, v, (SELECT count(*) FROM q WHERE q.v < p.v) AS n, "
    "(SELECT sum(x) FROM q WHERE q.k = p.k AND q.v BETWEEN p.v - 1 AND p.v) AS s FROM p",
    "above_average": "SELECT id FROM p WHERE v > (SELECT avg(v) FROM q WHERE q.k <> p.k)",
    "as_of": "SELECT id, (SELECT max_by(q.id, q.v) FROM q WHERE q.v <= p.v AND q.k = p.k) AS last "
    "FROM p",
    "newest_before": "SELECT id, (SELECT q.id FROM q WHERE q.v <= p.v AND q.k = p.k "
    "ORDER BY q.v DESC, q.id DESC, q.x LIMIT 1) AS last FROM p",
    "scalar_aggregate": "SELECT count(*) AS n, sum(v) AS s, avg(x) AS a, min(k) AS lo, "
    "max(f) AS hi FROM p",
    "scalar_of_few": "SELECT count(*) AS n, max(v) AS m, sum(x) AS s FROM p WHERE v = 2 AND ok",
    "scalar_having": "SELECT sum(v) AS s FROM p HAVING count(*) > 12",
    "nested_scalar": "SELECT max(n) AS m, count(*) AS c FROM (SELECT k, count(*) AS n FROM p "
    "GROUP BY k)",
    "having_subquery": "SELECT k, count(*) AS n FROM p GROUP BY k "
    "HAVING count(*) > (SELECT count(*) / 10 FROM q)",
    "except_distinct": "SELECT k, v FROM p EXCEPT SELECT k, v FROM q",
    "except_all": "SELECT k FROM p EXCEPT ALL SELECT k FROM q",
    "intersect_distinct": "SELECT k, ok FROM p INTERSECT SELECT k, ok FROM q",
    "intersect_all": "SELECT v FROM p INTERSECT ALL SELECT v FROM q",
    "distinct_values": "SELECT k, count(DISTINCT v) AS n, sum(DISTINCT v) AS s FROM p GROUP BY k",
    "distinct_pairs": "SELECT ok, count(DISTINCT k, v) AS n FROM p GROUP BY ok "
    "HAVING count(DISTINCT k, v) > 1",
    "distinct_of_all": "SELECT count(DISTINCT day) AS d, count(*) AS n, count(DISTINCT x) AS x "
    "FROM p",
    "distinct_beside": "SELECT f, l, count(*) AS n, sum(x) AS s, max(at) AS m, avg(v) AS a, "
    "count(DISTINCT k) AS `dis tinct` FROM p GROUP BY f, l",
    "distinct_filtered": "SELECT k, count_if(v IS NULL) AS c, count(DISTINCT v) FILTER (WHERE ok) "
    "AS n FROM p GROUP BY k",
    "distinct_joined": "SELECT d.name, count(DISTINCT b.id) AS n, count(a.id) AS m FROM p a "
    "LEFT JOIN q b ON a.k = b.k JOIN dim d ON d.k = a.k GROUP BY d.name",
    "distinct_rollup": "SELECT k, ok, count(DISTINCT v) AS n, count(*) AS c FROM p "
    "GROUP BY ROLLUP (k, ok)",
    "distinct_below": "SELECT n, sum(c) AS c, count(DISTINCT k) AS m FROM (SELECT k, count(*) AS c,"
    " count(DISTINCT v) AS n FROM p GROUP BY k) GROUP BY n",
    "distinct_correlated": "SELECT id, (SELECT count(DISTINCT v) FROM q WHERE q.k = p.k) AS n "
    "FROM p",
    "rollup": "SELECT k, ok, count(*) AS n, sum(v) AS s, grouping(ok) AS g FROM p "
    "GROUP BY ROLLUP (k, ok)",
    "cube": "SELECT k, v % 2 AS e, max(x) AS m, grouping_id() AS g FROM p GROUP BY CUBE (k, v % 2)",
    "grouping_sets": "SELECT k, day, count(*) AS n FROM p "
    "GROUP BY GROUPING SETS ((k, day), (day), ())",
    "row_number": "SELECT id, k, v, row_number() OVER (PARTITION BY k ORDER BY v DESC, id) AS rn "
    "FROM p",
    "deduplicated": "SELECT id, k, v, f FROM (SELECT *, row_number() OVER (PARTITION BY id "
    "ORDER BY at DESC) AS rn FROM p) WHERE rn = 1",
    "ranked": "SELECT id, rank() OVER (PARTITION BY k ORDER BY v) AS r, "
    "dense_rank() OVER (PARTITION BY ok ORDER BY x DESC) AS d FROM p",
    "running": "SELECT id, k, sum(v) OVER (PARTITION BY k ORDER BY at ROWS BETWEEN 1 PRECEDING AND "
    "CURRENT ROW) AS s, lag(v, 1) OVER (PARTITION BY k ORDER BY at, id) AS l FROM p",
    "share": "SELECT id, x / nullif(sum(x) OVER (PARTITION BY k), 0) AS share, "
    "avg(f) OVER (PARTITION BY ok) AS a FROM p WHERE f IS NOT NULL AND NOT isnan(f) AND "
    "abs(f) < 100",
    "window_of_sums": "SELECT k, ok, sum(v) AS s, "
    "rank() OVER (PARTITION BY ok ORDER BY sum(v)) AS r FROM p GROUP BY k, ok",
    "whole_window": "SELECT k, count(*) AS n, sum(count(*)) OVER () AS t FROM p GROUP BY k",
    "named_window": "SELECT id, max(v) OVER w AS m, min(v) OVER w AS n FROM p WINDOW w AS "
    "(PARTITION BY day)",
    "lateral_view": "SELECT id, e FROM p LATERAL VIEW explode(l) t AS e WHERE e > 0",
    "lateral_outer": "SELECT id, i, e FROM p LATERAL VIEW OUTER posexplode(l) t AS i, e",
    "exploded": "SELECT id, explode(l) AS e FROM p WHERE ok",
    "exploded_sums": "SELECT e, count(*) AS n FROM (SELECT explode(l) AS e FROM p) GROUP BY e",
    "collected": "SELECT k, collect_list(v) AS vs, collect_set(id) AS ids, max_by(id, x) AS best "
    "FROM p GROUP BY k",
    "percentile": "SELECT ok, percentile(v, 0.5) AS m, approx_count_distinct(k) AS d FROM p "
    "GROUP BY ok",
    "top": "SELECT id, k, v FROM p WHERE v IS NOT NULL ORDER BY v DESC, id LIMIT 5",
    "top_groups": "SELECT k, sum(v) AS s FROM p GROUP BY k ORDER BY s DESC LIMIT 2 OFFSET 1",
    "values": "SELECT a.id, n.label FROM p a JOIN (VALUES (1, 'one'), (2, 'two')) AS n(v, label) "
    "ON a.v = n.v",
    "literal": "SELECT 1 AS one, k FROM p UNION ALL SELECT 2, 'two'",
    "lateral_alias": "SELECT id, v + 1 AS w, w * 2 AS u FROM p",
    "pattern": "SELECT id, k RLIKE '[a-z]+' AS r, at + INTERVAL 1 DAY AS t, "
    "from_utc_timestamp(at, 'Europe/Paris') AS z, struct(id, k) AS s, map('k', v) AS m FROM p",
}


PARTS = 4


SAMPLE = ("outer_aggregated", "row_number")
"""Groups with their state over a join, and rows without a key."""


@pytest.mark.parametrize(
    ("part", "batches"), some(1, [(p, n) for n in (1, 3) for p in range(PARTS)])
)
def test_each_operator_is_kept_incrementally(quick_lab: Lab, part: int, batches: int) -> None:
    """In every second part no table is taken for a small one, so that what a change needs of the
    others is selected by its values."""
    names = [n for i, n in enumerate(QUERIES) if i % PARTS == part]
    keep(quick_lab, names, random.Random(part + 3 * batches), batches, selects=part % 2 == 1)


def test_some_are_kept_with_nothing_computed_in_the_process(quick_lab: Lab) -> None:
    """Rows are deleted and inserted. All of them run so nightly, where `DT_TEST_PATH` is spark."""
    quick_lab.leave_process()
    keep(quick_lab, SAMPLE, random.Random(0), 1)
    for name in SAMPLE:
        newest = quick_lab.engine.records(name)[0]
        assert (newest.action, newest.statistics.way) == ("INCREMENTAL", RefreshWay.SPARK), name


def keep(
    lab: Lab, names: Sequence[str], rng: random.Random, batches: int, *, selects: bool = False
) -> None:
    """The dynamic tables of these names, moved through batches of changes; then each is right."""
    tables = Tables(lab, rng)
    tables.start()
    wrong: list[str] = []
    for name in names:
        made = lab.dynamic_table(name, QUERIES[name])
        if made.effective_mode != "INCREMENTAL":
            wrong.append(f"{name}: {made.mode_reason}")
    if selects:
        lab.context.refresher.small.table_bytes = 0
    kept = [n for n in names if lab.mode(n) == "INCREMENTAL"]
    for batch in range(batches):
        tables.batch()
        for name in kept:
            explained = lab.engine.explain(name) if batch == 0 else None
            record = lab.record(name)
            told = f"batch {batch} {name}, after {tables.done[-3:]}"
            if record.error is not None or record.action not in ("INCREMENTAL", "NO_DATA"):
                wrong.append(f"{told}: {record.action} {record.error}")
            if is_moved_in_process(lab, record):
                wrong.append(f"{told}: no Spark job")
            asks = selects and asks_again(lab, name)
            if explained and (other := is_otherwise(lab, explained, record, asks=asks)):
                wrong.append(f"{told}: {other}")
    for name in kept:
        if found := lab.wrong(name):
            wrong.append(f"{name}, after {tables.done}: {found}")
    assert not wrong, "\n".join(wrong)


def is_otherwise(lab: Lab, explained: Explanation, record: RefreshRecord, *, asks: bool) -> str:
    """How a refresh was another than EXPLAIN said before it; empty where it was not. A change of
    which nothing is left runs no statement, wherever it would have been; where it `asks` again,
    that may be in Spark."""
    if explained.action is not record.action:
        return f"{record.action}, and {explained.action} was explained"
    did, said = record.statistics, [s.few_rows for s in explained.steps if s.few_rows]
    if is_connect(lab.spark) or not did.inserted_rows + did.deleted_rows:
        return ""
    by_spark = any("by Spark" in sentence for sentence in said)
    way = RefreshWay.SPARK if by_spark else RefreshWay.PROCESS
    if did.way is way or (asks and did.way is RefreshWay.SPARK):
        return ""
    return f"computed by {did.way}, and explained: {said}"


def asks_again(lab: Lab, name: str) -> bool:
    """Whether groups may be computed again from all of their rows, as the change itself tells: a
    statement that EXPLAIN does not foresee."""
    compiled = lab.context.refresher.known(lab.engine.table(name).id)
    assert compiled is not None
    groups = [s.stage.top for s in compiled.stages if isinstance(s.stage.top, Group)]
    kept = [a.kept for g in groups for a in g.aggregates]
    return any(k is None or k.outside or any(s.kind is not Kind.SUM for s in k.state) for k in kept)
