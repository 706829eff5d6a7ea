"""Forms of queries that are read as operators which other tests know: each is kept incrementally
through random changes with deletions, NULLs and duplicates, and has its query's rows in the end."""

from __future__ import annotations

import random

import pytest

from tests.cases import some
from tests.spark.engine_lab import Lab
from tests.spark.refresh.test_oracle_random import Tables

QUERIES = {
    "whole_partition": "SELECT id, median(v) OVER (PARTITION BY k) AS m, "
    "percentile(v, array(0.25, 0.5)) OVER (PARTITION BY k) AS q FROM p",
    "marked_items": "SELECT id, k IN (SELECT name FROM dim) AS b, v NOT IN (SELECT v FROM q "
    "WHERE q.k = p.k) AS c, k NOT IN (SELECT name FROM dim) AS d FROM p",
    "chosen": "SELECT id, CASE WHEN k IN (SELECT k FROM q WHERE v > 0) THEN 'q' WHEN EXISTS "
    "(SELECT 1 FROM dim WHERE dim.k = p.k) THEN 'dim' END AS b, v > (SELECT min(v) FROM q) AS c "
    "FROM p",
    "aggregated_marks": "SELECT k IN (SELECT k FROM dim) AS b, count(*) AS n, "
    "sum(CASE WHEN v IN (SELECT v FROM q) THEN v END) AS s, "
    "count(*) FILTER (WHERE NOT (ok OR v IN (SELECT v FROM q))) AS m FROM p GROUP BY 1",
    "tumbling": "SELECT window.start AS st, k, sum(v) AS s, count(*) AS n FROM p "
    "GROUP BY window(at, '20 minutes'), k",
    "sliding": "SELECT window(at, '3 hours', '1 hour') AS w, max(v) AS m FROM p GROUP BY 1",
    "of_days": "SELECT id, window(day, '2 days').end AS e FROM p",
    "averaged_range": "SELECT id, avg(v) OVER (PARTITION BY k ORDER BY day RANGE BETWEEN "
    "INTERVAL 1 DAY PRECEDING AND CURRENT ROW) AS a FROM p",
    "brackets": "SELECT p.id, q.id AS j, d.name FROM p LEFT JOIN (q JOIN dim d ON q.k = d.k) "
    "ON p.id = q.id",
    "full_brackets": "SELECT p.id, q.id AS j, d.name FROM (p) FULL JOIN (q LEFT JOIN dim d "
    "ON q.k = d.k) ON p.id = q.id AND p.v = q.v",
    "shares": "SELECT id, k, v, v * 100 DIV nullif(sum(v) OVER (PARTITION BY k), 0) AS s, "
    "max(at) OVER (PARTITION BY k) - INTERVAL 1 DAY AS b, "
    "sum(v) OVER (PARTITION BY k) BETWEEN v AND 9 AS c FROM p",
    "replaced_having": "SELECT k, count(*) AS n FROM p GROUP BY k "
    "HAVING nullif(count(*), 1) > 0 OR max(v) BETWEEN 0 AND 9",
}


GROUPS = (
    ("marked_items", "tumbling"),
    ("whole_partition", "sliding", "of_days"),
    ("averaged_range", "shares", "replaced_having"),
    ("chosen", "aggregated_marks", "brackets", "full_brackets"),
)


@pytest.mark.parametrize("names", some(1, ((g,) for g in GROUPS)))
def test_each_form_is_kept_incrementally(quick_lab: Lab, names: tuple[str, ...]) -> None:
    lab, tables = quick_lab, Tables(quick_lab, random.Random(7))
    tables.start()
    for name in names:
        made = lab.dynamic_table(name, QUERIES[name], "REFRESH_MODE = INCREMENTAL")
        assert made.effective_mode == "INCREMENTAL"
    for _ in range(1 if names == GROUPS[0] else 3):
        tables.batch()
        for name in names:
            assert lab.refresh(name) in ("INCREMENTAL", "NO_DATA"), name
    wrong = [found for name in names if (found := lab.wrong(name))]
    assert not wrong, tables.done
