"""What an expression means is the same after our reader read it and wrote it again: by Spark, for
expressions of each kind, and for each example that Spark's functions come with."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from sqlglot import parse_one
from sqlglot.errors import ParseError

from dt_jupyter.spark import builtin_functions
from dt_jupyter.sql.binding.scalars import CONTEXT_FUNCTIONS, NON_DETERMINISTIC
from dt_jupyter.sql.dialect import SparkAsWritten, WholeSpark

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
_UNRULED_HERE = re.compile(r"listagg|string_agg|percentile_(cont|disc)")
"""Calls whose text the rules of aggregates write."""
_UNREAD = re.compile(r"X '|>>>|FROM VALUES '")
"""What sqlglot does not read: such a query is read by Spark's plan of it."""


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
    """The types of the columns, and the rows as Spark shows them, without its blanks."""
    frame: Any = spark.sql(query)
    lines = frame._jdf.showString(20, 0, False).splitlines()
    return [f.dataType.simpleString() for f in frame.schema], [
        re.sub(r"\s", "", line) for line in lines[3:] if not line.startswith("+-")
    ]


def read_and_written(query: str) -> str:
    return str(parse_one(query, read=SparkAsWritten).sql(WholeSpark))


@pytest.mark.parametrize("expressions", batches())
def test_an_expression_is_what_it_was(spark: SparkSession, expressions: list[str]) -> None:
    spark.sql(ROWS).createOrReplaceTempView("t")
    items = [f"{x} AS r{i}" for i, x in enumerate(expressions)]
    query = f"SELECT {', '.join(items)} FROM t"
    try:
        if shown(spark, query) == shown(spark, read_and_written(query)):
            return
        for x in expressions:
            one = f"SELECT {x} AS r FROM t"
            assert shown(spark, one) == shown(spark, read_and_written(one)), x
        raise AssertionError("each by itself is, and all together are not")
    finally:
        spark.catalog.dropTempView("t")


@pytest.mark.nightly
def test_each_example_of_a_function_means_what_it_says(spark: SparkSession) -> None:
    seen, unread = 0, set[str]()
    for name, query in examples(spark):
        if name in NON_DETERMINISTIC | CONTEXT_FUNCTIONS or _UNRULED_HERE.search(query):
            continue
        try:
            expected = shown(spark, query)
        except PySparkException:
            continue  # it shows what fails
        try:
            text = read_and_written(query)
        except ParseError:
            unread.add(query)
            continue
        if _UNREAD.search(query):
            continue
        seen += 1
        assert shown(spark, text) == expected, (query, text)
    assert seen > 900
    assert all(map(_UNREAD.search, unread)), unread


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
