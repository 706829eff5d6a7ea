"""What an expression means is the same after our reader read it and wrote it again: by Spark, for
expressions of each kind, and for each example that Spark's functions come with."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from dt_jupyter.definition import CallableFunctions, QueryText, read_meaning
from dt_jupyter.ivm import Refusal, Refused
from dt_jupyter.model import Name, Source, SourceKind, quote
from dt_jupyter.plans import read_document, read_query_document, relation_of_plan
from dt_jupyter.spark import Catalyst, builtin_functions
from dt_jupyter.sql import Renderer

_LINES = Path(__file__).with_name("expressions.sql").read_text("utf-8").splitlines()
_AT_ONCE = 40
ROWS = r"""SELECT id AS i, CAST(id - 2 AS INT) AS n, id / 3.0D AS d,
  concat('a', id, '\'\\n%_') AS s, array(id, id + 1, NULL) AS a, map('x', id) AS m,
  named_struct('f', id, 'g h', 'q') AS st,
  date_add(DATE'2024-02-27', CAST(id AS INT)) AS dt, timestamp_seconds(id * 40000) AS ts,
  CAST(timestamp_seconds(id * 40000) AS TIMESTAMP_NTZ) AS tn, CAST(id AS DECIMAL(10, 2)) AS dc,
  id % 2 = 0 AS b, CAST('zß' AS BINARY) AS bn, if(id % 3 = 0, NULL, id) AS nl,
  elt(CAST(id + 1 AS INT), 'year', 'month', 'day', 'hour', 'week') AS u
FROM range(0, 5, 1, 1)"""
_OPEN = frozenset({
    "any_value", "first", "first_value", "last", "last_value", "array_agg", "collect_list",
    "collect_set", "listagg", "string_agg", "mode",
})  # fmt: skip
"""Calls that leave an order open, which relations fix."""
_TABLE = Source(Name("default", "t"), SourceKind.DELTA, "t", None)


def batches() -> Iterator[Any]:
    kind, batch = "", list[str]()
    for line in [*_LINES, "-- the end"]:
        if line.startswith("-- ") or len(batch) == _AT_ONCE:
            if batch:
                yield pytest.param(batch, id=f"{kind}: {batch[0]}")
            batch = []
        if line.startswith("-- "):
            kind = line.removeprefix("-- ")
        else:
            batch.append(line)


def shown(spark: SparkSession, query: str) -> tuple[list[str], list[str]]:
    """The types of the columns, and the rows as Spark shows them, without its blanks: sorted, since
    those of a relation have no order."""
    frame: Any = spark.sql(query)
    lines = frame._jdf.showString(20, 0, False).splitlines()
    return [f.dataType.simpleString() for f in frame.schema], sorted(
        re.sub(r"\s", "", line) for line in lines[3:] if not line.startswith("+-")
    )


def read_and_written(spark: SparkSession, query: str, tables: Mapping[str, Source]) -> str:
    """The query of the relation that is read of a query; Refused as that is."""
    names = CallableFunctions(builtin_functions(spark), frozenset())
    schemas = {s.table_id: spark.table(s.table_id).schema for s in tables.values()}
    asked = QueryText(query, "default", {s.name: s for s in tables.values()}, {})
    rel = read_meaning(spark, asked, names, schemas).relation
    items = ", ".join(f"{quote(c)} AS c{i}" for i, c in enumerate(rel.columns))
    return f"SELECT {items} FROM ({Renderer(lambda s: s.source)(rel)})"


@pytest.mark.parametrize("expressions", batches())
def test_an_expression_is_what_it_was(spark: SparkSession, expressions: list[str]) -> None:
    spark.sql(ROWS).createOrReplaceTempView("t")
    expressions = [x for x in expressions if x.partition("(")[0] not in _OPEN]
    items = [f"{x} AS r{i}" for i, x in enumerate(expressions)] or ["i"]
    query = f"SELECT {', '.join(items)} FROM t"
    try:
        if _is_kept(spark, query):
            return
        each = {x: _is_kept(spark, f"SELECT {x} AS r FROM t") for x in expressions}
        assert [x for x, kept in each.items() if kept is False] == []
        assert None in each.values(), "each by itself is, and all together are not"
    finally:
        spark.catalog.dropTempView("t")


def _is_kept(spark: SparkSession, query: str) -> bool | None:
    """Whether the relation that is read of it gives the same; None where an aggregate has no
    rule."""
    try:
        text = read_and_written(spark, query, {"t": _TABLE})
    except Refused as e:
        return None if e.refusal is Refusal.AGGREGATE else False
    return shown(spark, text) == shown(spark, query)


@pytest.mark.nightly
def test_each_example_of_a_function_means_what_it_says(spark: SparkSession) -> None:
    seen, refused = 0, Counter[str]()
    for name, query in examples(spark):
        if name in _OPEN:
            continue
        try:
            expected = shown(spark, query)
        except PySparkException:
            continue  # it shows what fails
        try:
            text = read_and_written(spark, query, {})
        except Refused as e:
            refused[e.refusal.name] += 1
            continue
        seen += 1
        assert shown(spark, text) == expected, (query, text)
    assert seen > 900
    assert refused["GUARD_MISMATCH"] == 0, refused


@pytest.mark.nightly
def test_what_spark_takes_for_not_deterministic_is_refused(spark: SparkSession) -> None:
    """By Spark's own word, for each function that it has. Of aggregates whose order is open it
    says that they are deterministic: those are `SETTLING`."""
    catalyst, builtins, refused = Catalyst.of(spark), builtin_functions(spark), 0
    for _, query in examples(spark):
        try:
            plan = read_document(read_query_document(catalyst, query))
        except (PySparkException, Refused):
            continue
        if any(n.deterministic is False for n in plan.everything()):
            with pytest.raises(Refused):
                relation_of_plan(plan, {}, builtins)
            refused += 1
    assert refused > 20


def examples(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """Queries by the function whose documentation has them."""
    session: Any = spark
    catalog = session._jsparkSession.sessionState().catalog()
    identifier = session._jvm.org.apache.spark.sql.catalyst.FunctionIdentifier
    for name in sorted(builtin_functions(spark)):
        if re.fullmatch(r"\w+", name) and not name.startswith("table_changes"):
            text = catalog.lookupFunctionInfo(identifier(name)).getExamples()
            for query in re.findall(r"> (SELECT.*?);\s*$", text, re.MULTILINE | re.DOTALL):
                yield name, " ".join(query.split("\n"))
