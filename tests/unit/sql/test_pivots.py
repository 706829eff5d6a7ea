"""PIVOT and UNPIVOT read from their plans: names and rows as Spark's documentation and its own
tests of SQL show them, the rendered text run on DuckDB."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import duckdb
import pytest
import sqlglot

from dt_jupyter.ivm import Refused, Rel
from dt_jupyter.model.names import quote
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.plans.plan_facts import plan_columns
from dt_jupyter.sql.emit.render import Renderer
from tests.recorded_plans import RecordedPlans

PLANS = RecordedPlans.of(__file__)
TABLES = {
    "course_sales": "course STRING, year INT, earnings INT",
    "years": "y INT, s INT",
    "course_earnings": "course STRING, `2012` INT, `2013` INT, `2014` INT",
    "earnings_and_sales": "course STRING, e2012 INT, s2012 INT, e2013 INT, s2013 INT, e2014 INT, "
    "s2014 INT",
    "grades": "pupil STRING, subject STRING, grade INT, note STRING",
}
ROWS = """
CREATE TABLE course_sales AS SELECT * FROM (VALUES ('dotNET', 2012, 10000), ('Java', 2012, 20000),
    ('dotNET', 2012, 5000), ('dotNET', 2013, 48000), ('Java', 2013, 30000)) v(course, year, earnings);
CREATE TABLE years AS SELECT * FROM (VALUES (2012, 1), (2013, 2)) v(y, s);
CREATE TABLE course_earnings AS SELECT * FROM (VALUES ('dotNET', 15000, 48000, 22500),
    ('Java', 20000, 30000, NULL)) v(course, "2012", "2013", "2014");
CREATE TABLE earnings_and_sales AS SELECT * FROM (VALUES ('dotNET', 15000, 2, 48000, 1, 22500, NULL),
    ('Java', 20000, 1, 30000, 2, NULL, NULL)) v(course, e2012, s2012, e2013, s2013, e2014, s2014);
CREATE TABLE grades AS SELECT * FROM (VALUES ('ann', 'art', 1, 'x'), ('ann', 'art', 2, NULL),
    ('ann', NULL, 3, 'y'), ('bob', 'law', NULL, NULL)) v(pupil, subject, grade, note);
CREATE MACRO spark_type(x) AS CASE lower(typeof(x)) WHEN 'integer' THEN 'int'
    WHEN 'hugeint' THEN 'bigint' WHEN 'varchar' THEN 'string' ELSE lower(typeof(x)) END;
"""  # noqa: E501


@pytest.fixture(scope="module")
def db() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(ROWS)
    yield connection
    connection.close()


def relation(query: str) -> Rel:
    return PLANS.relation(query, TABLES)


def bound(query: str) -> tuple[tuple[str, ...], str]:
    """The ids of the columns, and the query through the algebra as Spark SQL."""
    rel = relation(query)
    inner = Renderer(lambda s: quote(s.source))(rel)
    return rel.columns, f"SELECT {', '.join(map(quote, rel.columns))} FROM ({inner}) z"


def rows(db: duckdb.DuckDBPyConnection, query: str) -> Counter[tuple[object, ...]]:
    (text,) = sqlglot.transpile(bound(query)[1], read="spark", write="duckdb")
    return Counter(map(_plain, db.execute(text.replace("TYPEOF(", "spark_type(")).fetchall()))


def _plain(row: tuple[object, ...]) -> tuple[object, ...]:
    return tuple(tuple(v) if isinstance(v, list) else v for v in row)


ALL = "SELECT * FROM "
SALES = "(SELECT course, year, earnings, s FROM course_sales JOIN years ON year = y)"
PIVOTS = [
    (ALL + "(SELECT year, course, earnings FROM course_sales)"
     " PIVOT (sum(earnings) FOR course IN ('dotNET', 'Java'))",
     [(2012, 15000, 20000), (2013, 48000, 30000)]),
    (ALL + "course_sales PIVOT (sum(earnings) FOR year IN (2012, 2013))",
     [("Java", 20000, 30000), ("dotNET", 15000, 48000)]),
    (ALL + "(SELECT year, course, earnings FROM course_sales)"
     " PIVOT (sum(earnings), avg(earnings) FOR course IN ('dotNET', 'Java'))",
     [(2012, 15000, 7500, 20000, 20000), (2013, 48000, 48000, 30000, 30000)]),
    (ALL + "(SELECT course, earnings FROM course_sales)"
     " PIVOT (sum(earnings) FOR course IN ('dotNET', 'Java'))", [(63000, 50000)]),
    (ALL + "(SELECT year, course, earnings FROM course_sales)"
     " PIVOT (sum(earnings), min(year) FOR course IN ('dotNET', 'Java'))",
     [(63000, 2012, 50000, 2012)]),
    (ALL + SALES + " PIVOT (sum(earnings) FOR s IN (1, 2))",
     [("Java", 2012, 20000, None), ("Java", 2013, None, 30000), ("dotNET", 2012, 15000, None),
      ("dotNET", 2013, None, 48000)]),
    (ALL + SALES + " PIVOT (sum(earnings * s) FOR course IN ('dotNET', 'Java'))",
     [(2012, 15000, 20000), (2013, 96000, 60000)]),
    (ALL + SALES + " PIVOT (sum(earnings)"
     " FOR (course, year) IN (('dotNET', 2012), ('Java', 2013)))",
     [(1, 15000, None), (2, None, 30000)]),
    (ALL + SALES + " PIVOT (sum(earnings)"
     " FOR (course, s) IN (('dotNET', 2) AS c1, ('Java', 1) AS c2))",
     [(2012, None, 20000), (2013, 48000, None)]),
    ("SELECT firstYear_s, secondYear_s, firstYear_a, secondYear_a, c"
     " FROM (SELECT year y, course c, earnings e FROM course_sales)"
     " PIVOT (sum(e) s, avg(e) a FOR y IN (2012 AS firstYear, 2013 secondYear))",
     [(15000, 48000, 7500, 48000, "dotNET"), (20000, 30000, 20000, 30000, "Java")]),
    (ALL + "(SELECT year, course, earnings FROM course_sales)"
     " PIVOT (ceil(sum(earnings)) AS a, max(earnings) AS m FOR course IN ('dotNET' AS d))",
     [(2012, 15000, 10000), (2013, 48000, 48000)]),
    (ALL + "(SELECT pupil, subject, grade FROM grades)"
     " PIVOT (count(*) AS n, sum(grade) AS s FOR subject IN ('art', 'law', NULL))",
     [("ann", 2, 3, None, None, 1, 3), ("bob", None, None, 1, None, None, None)]),
    (ALL + "(SELECT pupil, subject, grade FROM grades)"
     " PIVOT (count(grade) AS n, coalesce(sum(grade), 0) AS s FOR subject IN ('art', 'law'))",
     [("ann", 2, 3, None, None), ("bob", None, None, 0, 0)]),
    (ALL + "(SELECT pupil, subject, grade FROM grades)"
     " PIVOT (count(*) AS n, max(grade) AS m FOR subject IN ('art', 'law'))",
     [("ann", 2, 2, None, None), ("bob", None, None, 1, None)]),
    (ALL + "(SELECT pupil, subject, note FROM grades)"
     " PIVOT (count(*) AS n, max(note) AS m FOR subject IN ('art', 'law'))",
     [("ann", 2, "x", 0, None), ("bob", 0, None, 1, None)]),
    (ALL + "(SELECT pupil, subject, grade FROM grades) PIVOT (count(*) FILTER (WHERE grade > 1)"
     " AS n, count(DISTINCT grade) AS d FOR subject IN ('art', 'law'))",
     [("ann", 1, 2, None, None), ("bob", None, None, 0, 0)]),
    (ALL + "(SELECT grade, subject FROM grades WHERE grade > 9)"
     " PIVOT (count(grade) FOR subject IN ('art', 'law'))", [(None, None)]),
    ("SELECT year, course_sales.course, `1` FROM course_sales"
     " PIVOT (max(earnings) FOR earnings IN (10000 AS `1`))",
     [(2012, "dotNET", 10000), (2012, "Java", None), (2013, "dotNET", None), (2013, "Java", None)]),
    (ALL + "(SELECT year, course, earnings FROM course_sales)"
     " PIVOT (ceil(sum(earnings)), ceil(avg(earnings)) AS a1 FOR course IN ('dotNET' AS d))",
     [(2012, 15000, 7500), (2013, 48000, 48000)]),
    (ALL + "course_sales c JOIN years ON year = y PIVOT (sum(earnings) FOR s IN (1))",
     [("Java", 2012, 2012, 20000), ("Java", 2013, 2013, None), ("dotNET", 2012, 2012, 15000),
      ("dotNET", 2013, 2013, None)]),
]  # fmt: skip
UNPIVOTS = [
    (ALL + "course_earnings UNPIVOT (earnings FOR year IN (`2012`, `2013`, `2014`))",
     [("Java", "2012", 20000), ("Java", "2013", 30000), ("dotNET", "2012", 15000),
      ("dotNET", "2013", 48000), ("dotNET", "2014", 22500)]),
    (ALL + "course_earnings UNPIVOT INCLUDE NULLS (earnings FOR year IN (`2013`, `2014`))",
     [("Java", 20000, "2013", 30000), ("Java", 20000, "2014", None),
      ("dotNET", 15000, "2013", 48000), ("dotNET", 15000, "2014", 22500)]),
    ("SELECT up.* FROM course_earnings UNPIVOT EXCLUDE NULLS (earnings FOR year IN"
     " (`2013` AS last, `2014` AS `This Year`)) AS up",
     [("Java", 20000, "last", 30000), ("dotNET", 15000, "last", 48000),
      ("dotNET", 15000, "This Year", 22500)]),
    (ALL + "earnings_and_sales UNPIVOT ((earnings, sales) FOR year IN"
     " ((e2012, s2012) AS `2012`, (e2013, s2013), (E2014, s2014) c))",
     [("Java", "2012", 20000, 1), ("Java", "e2013_s2013", 30000, 2),
      ("dotNET", "2012", 15000, 2), ("dotNET", "e2013_s2013", 48000, 1),
      ("dotNET", "c", 22500, None)]),
    ("SELECT course, e2012, s2012, year, sales FROM earnings_and_sales UNPIVOT INCLUDE NULLS"
     " ((earnings, sales) FOR year IN ((e2013, s2013), (e2014, s2014)))",
     [("Java", 20000, 1, "e2013_s2013", 2), ("Java", 20000, 1, "e2014_s2014", None),
      ("dotNET", 15000, 2, "e2013_s2013", 1), ("dotNET", 15000, 2, "e2014_s2014", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("query", "expected"), PIVOTS + UNPIVOTS)
def test_a_pivot_has_the_rows_that_spark_gives_it(
    db: duckdb.DuckDBPyConnection, query: str, expected: list[tuple[object, ...]]
) -> None:
    assert rows(db, query) == Counter(expected)


def test_a_pivot_with_one_value_twice_is_refused() -> None:
    with pytest.raises(Refused) as e:
        bound(ALL + "course_sales PIVOT (sum(earnings) FOR year IN (2012, 2013 - 1))")
    assert e.value.reason.code == "PIVOT"


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("course_sales PIVOT (sum(earnings) FOR year IN (2012, -1, NULL, 7L))",
         "course 2012 -1 null 7"),
        ("course_sales PIVOT (sum(earnings), count(*), AVG(Earnings) x"
         " FOR course IN ('Java', 'c' AS D))",
         "year java_sum(earnings) java_count(1) java_x d_sum(earnings) d_count(1) d_x"),
        ("course_sales PIVOT (sum(earnings) FOR (course, year) IN (('Java', 2012), ('c', NULL)))",
         "{java,2012} {c,null}"),
        ("course_sales PIVOT (count(1) FOR course IN (TRUE, DATE'2020-01-02'))",
         "year earnings true 2020-01-02"),
        ("course_earnings UNPIVOT (V FOR N IN (`2012`, `2014`))", "course 2013 n v"),
        ("earnings_and_sales UNPIVOT ((E, S) FOR Y IN ((e2012, s2012)))",
         "course e2013 s2013 e2014 s2014 y e s"),
    ],
)  # fmt: skip
def test_the_columns_are_named_as_spark_names_them(query: str, names: str) -> None:
    plan = read_document(PLANS.document(ALL + query, TABLES))
    found = [c.name.lower().replace(", ", ",") for c in plan_columns(plan)]
    assert " ".join(found) == names


def test_a_list_of_no_rows_is_empty_and_a_count_beside_it_is_zero() -> None:
    query = ALL + "grades PIVOT (count(*) AS n, collect_list(grade) AS l FOR subject IN ('art'))"
    assert "COUNT_IF" not in bound(query)[1]
