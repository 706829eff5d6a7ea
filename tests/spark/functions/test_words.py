"""Names that a function may have are read by Spark as calls of it."""

from __future__ import annotations

from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from dt_jupyter.functions.names import _KEYWORDS
from dt_jupyter.spark import builtin_functions, confs

ARGUMENTS = ("", "a", "a, b", "DAY, a, b")
RESERVED = {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.enforceReservedKeywords": "true"}


def is_call(parser: Any, text: str, name: str) -> bool:
    try:
        made = parser.parseExpression(text)
    except ParseException:
        return False
    kind = made.getClass().getSimpleName()
    return bool(kind == "UnresolvedFunction" and made.nameParts().apply(0).lower() == name)


def test_words_that_spark_reads_otherwise_name_no_function(spark: SparkSession) -> None:
    session: Any = spark
    with confs(spark, RESERVED):
        parser = session._jsparkSession.sessionState().sqlParser()
        words = [r[0].lower() for r in spark.sql("SELECT keyword FROM sql_keywords()").collect()]
        assert len(words) > 100
        read_otherwise = {
            w for w in words if not all(is_call(parser, f"{w}({a})", w) for a in ARGUMENTS)
        }
    assert read_otherwise - builtin_functions(spark) <= _KEYWORDS
    assert not _KEYWORDS - set(words)
