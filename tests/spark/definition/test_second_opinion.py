"""Spark as the second reader of a text: what our reader binds is what Spark's plan says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.types import StructType

from bench import tiny
from bench.tpch import queries
from dt_jupyter.definition import define, second_opinion as under_test, spark_reading
from dt_jupyter.definition.second_opinion import Opinion, TextReader, second_opinion
from dt_jupyter.ivm import SUPPORTED
from dt_jupyter.model import Definition, Name, Source, SourceKind, ViewSource
from dt_jupyter.spark import builtin_functions
from tests.cases import some
from tests.spark.engine_lab import Lab

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LINES = (Path(__file__).parents[2] / "unit" / "queries.sql").read_text("utf-8").splitlines()
CORPUS = [text for text in _LINES if text and not text.startswith("--")]
PARTS = 10
TABLES: Mapping[str, str] = {
    "t": "id INT, k STRING, v INT, f INT",
    "u": "id INT, k STRING, name STRING",
    "w": "k STRING, x INT, y INT",
    "a": "arr ARRAY<INT>, k STRING",
    "odd t": '`a b` INT, `c``d` INT, `e.f` INT, `select` INT, `ünï` INT, `q"t` INT',
}
VIEWS = {
    "vw": "SELECT k, sum(v) AS s FROM t GROUP BY k",
    "vv": "SELECT * FROM vw WHERE s > 1",
}
ALIKE = (
    "SELECT k, sum(v) AS s FROM t GROUP BY k HAVING count(*) > 1",
    "SELECT t.*, u.name FROM t LEFT JOIN u ON u.k = t.k AND u.id > 1 WHERE t.v IN (1, 2, 3)",
    "WITH t AS (SELECT k, id AS v FROM u) SELECT v, k FROM t",
    "SELECT * FROM vv JOIN w ON w.k = vv.k",
    "SELECT k, count(*) FROM t FULL JOIN u USING (k) GROUP BY k",
    "SELECT id, (SELECT max(id) FROM u WHERE u.k = t.k) AS m FROM t",
    "SELECT id FROM t WHERE NOT EXISTS (SELECT 1 FROM u WHERE u.k = t.k) OR v > 2",
    "SELECT t.k, count(DISTINCT v) AS n FROM t, u WHERE t.id = u.id GROUP BY t.k",
    "SELECT id, rank() OVER (PARTITION BY k ORDER BY v DESC, id) AS r FROM t",
    "SELECT transform(arr, x -> x + 1) AS b, k FROM a",
    "SELECT id, avg(v) OVER (PARTITION BY f, k) AS m FROM t",
    "SELECT t.id FROM t, u, w WHERE w.k = t.k AND u.k = w.k AND u.id BETWEEN 1 AND 5",
    "SELECT k, grouping(v) + grouping(k) AS g, sum(v) AS s FROM t GROUP BY ROLLUP (k, v)",
    "SELECT id FROM t WHERE v > (SELECT 1.2 * avg(id) FROM u WHERE u.k = t.k)",
    "SELECT * FROM t NATURAL LEFT JOIN u",
    "(SELECT id FROM t UNION SELECT id FROM u) UNION SELECT x FROM w",
)
MISREAD = {
    "SELECT t.id, u.k FROM t JOIN u ON t.id = u.id": (
        "SELECT t.id, t.k FROM t JOIN u ON t.id = u.id"
    ),
    "SELECT id FROM t WHERE NOT v = 1 OR f = 2": "SELECT id FROM t WHERE NOT (v = 1 OR f = 2)",
    "SELECT t.id FROM t LEFT JOIN u ON t.k = u.k": "SELECT t.id FROM t JOIN u ON t.k = u.k",
    "SELECT aggregate(arr, 0, (x, y) -> x - y) AS b FROM a": (
        "SELECT aggregate(arr, 0, (x, y) -> y - x) AS b FROM a"
    ),
    "SELECT TRY_CAST(k AS INT) AS n FROM t": "SELECT CAST(k AS INT) AS n FROM t",
    "SELECT id FROM t WHERE v IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)": (
        "SELECT id FROM t WHERE v IN (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13)"
    ),
    "SELECT k, max(v) AS m FROM t GROUP BY k": "SELECT k, min(v) AS m FROM t GROUP BY k",
    "SELECT a.id FROM t a JOIN t b ON a.k = b.k WHERE b.v > 1": (
        "SELECT b.id FROM t a JOIN t b ON a.k = b.k WHERE b.v > 1"
    ),
    "SELECT id FROM t LEFT SEMI JOIN u ON t.k = u.k": (
        "SELECT id FROM t LEFT ANTI JOIN u ON t.k = u.k"
    ),
    "SELECT sum(v) OVER (PARTITION BY k) AS s FROM t": (
        "SELECT sum(v) OVER (PARTITION BY k ORDER BY id) AS s FROM t"
    ),
    "SELECT coalesce(t.k, u.k) AS k FROM t FULL JOIN u ON t.k = u.k": (
        "SELECT t.k FROM t FULL JOIN u ON t.k = u.k"
    ),
    "SELECT id, v FROM t UNION ALL SELECT v, f FROM t": (
        "SELECT v, id FROM t UNION ALL SELECT v, f FROM t"
    ),
    "SELECT k, any_value(concat(name, 'x')) AS n FROM u GROUP BY k": (
        "SELECT k, any_value(concat(name, 'y')) AS n FROM u GROUP BY k"
    ),
    "SELECT k, max_by(upper(name), id) AS n FROM u GROUP BY k": (
        "SELECT k, max_by(name, id) AS n FROM u GROUP BY k"
    ),
    "SELECT k, grouping(v) AS g, count(*) AS n FROM t GROUP BY ROLLUP (k, v)": (
        "SELECT k, grouping(k) AS g, count(*) AS n FROM t GROUP BY ROLLUP (k, v)"
    ),
}
"""Texts, and what a reader takes them for that is wrong."""
AS_PLANNED = {
    "SELECT * FROM u PIVOT (max(name) FOR k IN ('a', 'b', 'c'))",
    "SELECT id FROM t WHERE id IN (SELECT id FROM u PIVOT (max(name) FOR k IN ('a')) "
    "WHERE a IS NOT NULL)",
    "SELECT k, count(*) FROM t RIGHT JOIN u USING (k) GROUP BY k HAVING k > 'a'",
    "SELECT id FROM t QUALIFY rank() OVER (ORDER BY v) <= 3 AND k IN (SELECT k FROM u)",
}
"""Texts of which Spark makes a plan in fewer steps than our rules, so that the plan is read."""
UNTOLD = {t for t in MISREAD if "FULL JOIN" in t or "ROLLUP" in t}
"""Those that our rules write otherwise than Spark plans them: that they differ says nothing."""


def definition_of(query: str) -> Definition:
    sources = tuple(Source(Name("default", n), SourceKind.DELTA, n, f"/{n}") for n in TABLES)
    views = tuple(ViewSource(Name("default", n), text) for n, text in VIEWS.items())
    return Definition(query, {}, (), sources, views)


def reader_of(spark: SparkSession) -> TextReader:
    known = builtin_functions(spark)
    return TextReader(known, known | SUPPORTED, lambda text: text)


def opinion(spark: SparkSession, query: str, reader: TextReader) -> Opinion:
    schemas = {n: StructType.fromDDL(c) for n, c in TABLES.items()}
    return second_opinion(spark, definition_of(query), schemas, reader)


def test_what_is_read_as_spark_reads_it_is_found_to_be_so(spark: SparkSession) -> None:
    reader = reader_of(spark)
    found = {text: opinion(spark, text, reader) for text in ALIKE}
    assert found == {text: Opinion(True) for text in ALIKE}
    assert not [v for v in spark.catalog.listTables() if v.isTemporary]


def test_what_is_read_otherwise_is_not(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    bind = under_test.bind_query

    def misreading(session: Any, text: str, *given: Any) -> Any:
        return bind(session, MISREAD.get(text, text), *given)

    monkeypatch.setattr(under_test, "bind_query", misreading)
    reader = reader_of(spark)
    found = {text: opinion(spark, text, reader).same for text in MISREAD}
    assert found == {text: None if text in UNTOLD else False for text in MISREAD}
    monkeypatch.setitem(MISREAD, "SELECT id, k FROM t", "SELECT id, v FROM t")
    wrong = opinion(spark, "SELECT id, k FROM t", reader)
    assert wrong.same is False
    assert wrong.difference == "Spark reads column k as string, and it was bound as int"


def case_in_case(depth: int) -> str:
    value = "v"
    for i in range(depth):
        value = f"CASE WHEN id = {i} THEN f + {i} ELSE {value} END"
    return f"SELECT id, {value} AS c FROM t"


@pytest.mark.parametrize("depth", [3, 60])
def test_a_case_in_a_case_is_compared(spark: SparkSession, depth: int) -> None:
    assert opinion(spark, case_in_case(depth), reader_of(spark)) == Opinion(True)


@pytest.mark.parametrize("part", some(0, range(PARTS)))
def test_the_corpus_has_a_second_opinion(spark: SparkSession, part: int) -> None:
    reader = reader_of(spark)
    opinions = {text: opinion(spark, text, reader) for text in CORPUS[part::PARTS]}
    otherwise = {text: one.difference for text, one in opinions.items() if one.same is False}
    assert otherwise.keys() <= AS_PLANNED, otherwise
    found = Counter(one.same for one in opinions.values())
    assert found[True] > 0.7 * found.total(), found


@pytest.mark.nightly
def test_tpch_is_read_as_spark_reads_it(spark: SparkSession) -> None:
    reader = reader_of(spark)
    schemas = {n: StructType.fromDDL(c) for n, c in tiny.COLUMNS.items()}
    sources = tuple(Source(Name("default", n), SourceKind.DELTA, n, f"/{n}") for n in schemas)
    found = {
        name: second_opinion(spark, Definition(text, {}, (), sources), schemas, reader)
        for name, text in queries(tiny.SCALE).items()
    }
    undecided = {n: o for n, o in found.items() if o.same is not True}
    assert len(undecided) <= 3, undecided


def test_a_table_is_told_where_its_text_was_not_compared(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = [Opinion(None, why="no plan"), Opinion(False, "Spark reads column id as string")]
    monkeypatch.setattr(define, "second_opinion", lambda *given: answers.pop(0))
    lab = quick_lab
    lab.table("t", "id INT", "1")
    told = str(lab.sql("EXPLAIN CREATE DYNAMIC TABLE d AS SELECT id FROM t"))
    assert "its reading was not compared: no plan" in told
    lab.dynamic_table("d", "SELECT id FROM t")
    assert (lab.mode("d"), lab.why("d")) == ("INCREMENTAL", "INCREMENTAL")
    assert "its text was read by Spark's plan of it" in str(lab.sql("EXPLAIN DYNAMIC TABLE d"))
    answers.append(Opinion(False, "Spark reads column id as string"))
    monkeypatch.setattr(spark_reading, "write_frame_query", lambda *given: "")
    lab.dynamic_table("e", "SELECT id FROM t")
    assert (lab.mode("e"), lab.why("e")) == ("FULL", "GUARD_MISMATCH")
