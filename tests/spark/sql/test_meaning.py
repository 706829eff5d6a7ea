"""What only Spark reads so: queries read from their plans and rendered again have their rows.

All others are compared on DuckDB, in tests/unit/sql/test_meaning.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from dt_jupyter.model import quote
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_relation import read_query_document, relation_of_plan
from dt_jupyter.plans.plan_source import PlanSource
from dt_jupyter.spark import Catalyst
from dt_jupyter.spark.relations import builtin_functions
from dt_jupyter.sql.emit.render import Renderer
from tests.recorded_plans import column_names

TABLES = {
    "t": ("id INT, k STRING, v INT, f INT, note STRING", [
        (1, "a", 1, 2, "x"), (2, "a", 1, None, None), (3, "b", 2, 1, "y"), (4, None, 3, 1, "z"),
        (5, "b", None, None, "x"), (1, "a", 1, 2, "x"), (6, "c", 0, 3, None),
    ]),
    "u": ("id INT, k STRING, name STRING", [
        (1, "a", "n1"), (2, "a", "n2"), (7, None, "n3"), (8, "d", None),
    ]),
    "a": ("arr ARRAY<INT>, k STRING", [
        ([1, 2], "a"), ([], "b"), (None, "c"), ([None, 3], None),
    ]),
}  # fmt: skip
P = "SELECT * FROM (SELECT id, k, v FROM t) PIVOT"
N = "SELECT * FROM (SELECT k, v, note FROM t) PIVOT"
QUERIES = [
    "SELECT k, count(*) FROM t GROUP BY k WITH CUBE",
    "SELECT k, v, count(*) FROM t GROUP BY k, v WITH ROLLUP",
    "SELECT k, v, count(*), grouping(k), grouping_id() FROM t GROUP BY ROLLUP(k, v)",
    "SELECT k, v, count(*), grouping(v), grouping_id(k, v) FROM t GROUP BY CUBE(k, v)",
    "SELECT k, v, sum(v) FROM t GROUP BY k, v GROUPING SETS ((k, v), (k), ())",
    "SELECT k, count(*) FROM t WHERE id > 9 GROUP BY ROLLUP(k)",
    "SELECT k, count(*) FROM t GROUP BY ROLLUP(k), ROLLUP(v)",
    "SELECT k, v, count(*) FROM t GROUP BY CUBE(k, (v, f))",
    "SELECT * FROM t LEFT JOIN u USING (k)",
    "SELECT * FROM t RIGHT JOIN u USING (k)",
    "SELECT * FROM t FULL JOIN u USING (k)",
    "SELECT * FROM t LEFT ANTI JOIN u USING (k)",
    "SELECT k, explode_outer(arr) AS e FROM a",
    "SELECT a.k, e FROM a, LATERAL explode(arr) x(e)",
    "SELECT * FROM t, LATERAL explode(array(v, f)) AS x(e)",
    "SELECT id, x.col FROM t LATERAL VIEW explode(array(v, f)) x",
    "SELECT id, inline(array(struct(v, f))) AS (a, b) FROM t",
    "SELECT stack(2, 1, 2) FROM t",
    "SELECT id, posexplode_outer(array(v)) FROM t",
    "SELECT id FROM t WHERE exists(array(v), x -> x > 1)",
    "SELECT -v AS v, id FROM t ORDER BY -v, id LIMIT 2",
    "SELECT count(*), count(1), count(v), count(v, f) FROM t",
    "SELECT k, min_by(note, id), max_by(struct(v, f), id) FROM t GROUP BY k",
    "SELECT id FROM t WHERE (v, f) NOT IN (SELECT u.id, u.id FROM u WHERE u.k = t.k)",
    "SELECT id FROM t WHERE (v, f) NOT IN (SELECT id, id FROM u WHERE name IS NOT NULL)",
    "SELECT a.id, b.id AS j, b.name FROM t a FULL JOIN u b ON a.v < b.id AND a.note = 'x'",
    "SELECT k, max_by(v, v) OVER (PARTITION BY k) FROM t",
    "SELECT id, percentile(v, array(0.1, 0.5)) OVER (PARTITION BY k) FROM t",
    "SELECT id, median(v) OVER () FROM t",
    "SELECT id, k IN (SELECT k FROM u) b, k NOT IN (SELECT k FROM u) c, NOT (k IN (SELECT k FROM "
    "u)) d FROM t WHERE k IN (SELECT k FROM u) OR v = 1 OR k IS NULL",
    "SELECT id, CASE WHEN v IN (SELECT id FROM u WHERE u.k = t.k) THEN k IN (SELECT k FROM u) "
    "ELSE NOT (k IN (SELECT k FROM u) AND f = 1) END b, (v, f) NOT IN (SELECT id, id FROM u "
    "WHERE u.k = t.k) c, v NOT IN (SELECT id FROM u WHERE false) d FROM t",
    "SELECT k NOT IN (SELECT k FROM u) OR v IN (SELECT id FROM u) b, count(*), "
    "bool_and(coalesce(v IN (SELECT id FROM u), true)) s FROM t GROUP BY 1",
    "SELECT * FROM (t JOIN u USING (k)) LEFT JOIN a USING (k)",
    "SELECT * FROM t LEFT JOIN (u CROSS JOIN a) ON t.k = a.k",
    "SELECT id, x.k FROM (t) JOIN (u x) USING (id)",
    "SELECT window.start, window.end, k, sum(v) s FROM t GROUP BY k, "
    "window(timestamp_seconds(v * 400), '10 minutes', '5 minutes', '-2 minutes') "
    "HAVING window.start IS NOT NULL AND count(*) > 0",
    "SELECT id, window(CAST(timestamp_seconds(f * 86000) AS TIMESTAMP_NTZ), '1 day') w FROM t",
    "SELECT window, k, count(*), grouping(k) FROM t "
    "GROUP BY ROLLUP (window(timestamp_seconds(v * 400), '1 minute 30 seconds'), k)",
    "SELECT window(window_time(w), '20 minutes') x, sum(n) FROM (SELECT window("
    "timestamp_seconds(v * 400), '10 minutes') w, count(*) n FROM t GROUP BY 1) GROUP BY 1",
    "SELECT id, sum(v) OVER window s, f AS window FROM t WINDOW window AS (PARTITION BY k)",
    "SELECT window.id FROM u window",
    "SELECT count(*) AS n FROM t HAVING n",
    "SELECT 'x' AS a FROM t HAVING 'true'",
    "SELECT k, percentile(v, 0.5, id) FROM t GROUP BY k",
    f"{P} (count(*) FOR k IN ('a', 'b', NULL))",
    f"{P} (count(*) AS n, max(v) AS m FOR k IN ('a', 'b'))",
    f"{N} (count(*) AS n, max(note) AS m FOR k IN ('a', 'b'))",
    f"{P} (sum(v), count(*), avg(v) x FOR k IN ('a' AS q))",
    "SELECT * FROM (SELECT k, f, v FROM t) PIVOT (sum(v) FOR (k, f) IN (('a', 2), ('b', NULL)))",
    "SELECT * FROM (SELECT v FROM t WHERE false) PIVOT (count(v) FOR v IN (1, -2))",
    "SELECT * FROM t UNPIVOT (x FOR n IN (V, f AS B))",
    "SELECT * FROM t UNPIVOT ((x, y) FOR n IN ((id, v) AS p, (v, f)))",
    "SELECT * FROM t UNPIVOT INCLUDE NULLS (x FOR n IN (id, f))",
    "SELECT * FROM (SELECT id, k, v, f FROM t) PIVOT (max_by(v, f) AS m, "
    "count(DISTINCT v) FILTER (WHERE f > 1) AS d FOR k IN ('a'))",
    "SELECT * FROM (SELECT k, v, f FROM t) PIVOT (max(v) AS m FOR k IN ('a')) "
    "UNPIVOT INCLUDE NULLS (x FOR n IN (a, f))",
]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[SparkSession]:
    for name, (schema, rows) in TABLES.items():
        spark.createDataFrame(rows, schema).coalesce(1).createOrReplaceTempView(name)
    yield spark
    for name in TABLES:
        spark.catalog.dropTempView(name)


@pytest.fixture(scope="module")
def builtins(spark: SparkSession) -> frozenset[str]:
    return builtin_functions(spark)


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_that_is_read_has_the_rows_of_its_text(
    tables: SparkSession, builtins: frozenset[str], query: str
) -> None:
    document = read_query_document(Catalyst.of(tables), query)
    known = {n: PlanSource(n, column_names(ddl)) for n, (ddl, _) in TABLES.items()}
    rel = relation_of_plan(read_document(document), known, builtins)
    inner = Renderer(lambda s: quote(s.source))(rel)
    own = tables.sql(f"SELECT {', '.join(map(quote, rel.columns))} FROM ({inner}) z")
    text = tables.sql(query)
    assert Counter(map(tuple, map(_plain, own.collect()))) == Counter(
        map(tuple, map(_plain, text.collect()))
    )
    assert [f.dataType for f in own.schema] == [f.dataType for f in text.schema]


def _plain(row: object) -> list[str]:
    return [repr(value) for value in row]  # type: ignore[attr-defined]
