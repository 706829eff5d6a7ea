"""TPC-DS' texts, each with Spark's own reading of it as the second opinion on ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import StructType

from bench.tpcds import TABLES, answer, columns
from dt_jupyter.definition.second_opinion import Opinion, TextReader, second_opinion
from dt_jupyter.ivm import SUPPORTED
from dt_jupyter.model import Definition, Name, Source, SourceKind
from dt_jupyter.spark import builtin_functions
from tests.spark.definition.tpcds_texts import tpcds_texts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SAMPLE = ("q1", "q12", "q22", "q53", "q92", "q93")
"""A correlated value, an order by what is not shown, a rollup, a window over groups, a table
that is read twice, a product in an ELSE."""
FLOATING = {"q39a", "q39b"}
"""A filter on a standard deviation: FULL, and said so."""
UNDECIDED = 7
"""So many may stay without an answer, as where Spark writes a union otherwise."""


def opinions(spark: SparkSession, texts: Mapping[str, str]) -> dict[str, Opinion]:
    schemas = {
        table: StructType.fromDDL(", ".join(f"{c} {t}" for c, t in columns(table).items()))
        for table in TABLES
    }
    sources = tuple(Source(Name("default", t), SourceKind.DELTA, t, f"/{t}") for t in TABLES)
    known = builtin_functions(spark)
    reader = TextReader(known, known | SUPPORTED, lambda text: text)
    return {
        name: second_opinion(spark, Definition(text, {}, (), sources), schemas, reader)
        for name, text in texts.items()
    }


def not_same(found: Mapping[str, Opinion]) -> Iterable[str]:
    return (f"{name}: {o.difference or o.why}" for name, o in found.items() if not o.same)


def test_texts_of_tpcds_are_read_as_spark_reads_them(spark: SparkSession) -> None:
    spark.newSession().createDataFrame([(1,)], "x int")  # Java's thread reads its confs from now on
    texts = tpcds_texts()
    found = opinions(spark, {name: texts[name] for name in SAMPLE})
    assert not list(not_same(found))


@pytest.mark.nightly
@pytest.mark.timeout(1800)
def test_no_text_of_tpcds_is_read_otherwise(spark: SparkSession) -> None:
    texts = tpcds_texts()
    found = opinions(spark, texts)
    assert len(found) == 103
    assert {n: o.difference for n, o in found.items() if o.same is False} == {}
    undecided = list(not_same(found))
    assert len(undecided) <= UNDECIDED, "\n".join(undecided)


@pytest.mark.nightly
def test_texts_of_tpcds_are_incremental() -> None:
    refused = {n: a.code for n, t in tpcds_texts().items() if (a := answer(n, t)).code}
    assert refused == dict.fromkeys(FLOATING, "FLOATING_AGGREGATE_DECIDES")
