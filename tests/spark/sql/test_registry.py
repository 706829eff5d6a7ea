"""Every aggregate and every window function of Spark's own registry has a rule, or a refusal that
says what to write instead: one that a new release brings fails here until it has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from dt_jupyter.definition import CallableFunctions, QueryText, read_document_of, read_meaning
from dt_jupyter.ivm import SUPPORTED, UNRULED, Aggregate, Refused, Window, compile_stages, walk
from dt_jupyter.model import Name, Source, SourceKind
from dt_jupyter.spark.relations import builtin_functions

_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions."
_KINDS = {
    "agg_funcs": f"{_EXPRESSIONS}aggregate.AggregateFunction",
    "window_funcs": f"{_EXPRESSIONS}AggregateWindowFunction",
}
_ARGUMENTS = {
    "grouping": "k",
    "grouping_id": "",
    "min_by": "v, x",
    "max_by": "v, x",
    "percentile": "v, 0.5",
    "percentile_cont": "0.5) WITHIN GROUP (ORDER BY v",
    "percentile_disc": "0.5) WITHIN GROUP (ORDER BY v",
    "count_min_sketch": "v, 0.5D, 0.5D, 1",
    **dict.fromkeys(("approx_percentile", "percentile_approx"), "v, 0.5"),
    "histogram_numeric": "v, 3",
    "approx_top_k_combine": "top",
    "tuple_sketch_agg_double": "v, x",
    "tuple_sketch_agg_integer": "x, v",
    "nth_value": "v, 2",
    "ntile": "2",
    **dict.fromkeys(("any", "some", "every", "bool_and", "bool_or", "count_if"), "v > 1"),
    **dict.fromkeys(("row_number", "rank", "dense_rank", "percent_rank", "cume_dist"), ""),
}


def _arguments(function: str) -> str:
    pairs = function.startswith(("regr_", "covar_", "corr"))
    return _ARGUMENTS.get(function, "v, x" if pairs else "v")


def registered(spark: SparkSession, group: str) -> Iterator[str]:
    """The functions that the registry counts to a group, or whose class is of its kind."""
    jvm = spark._jvm
    assert jvm is not None
    kind = jvm.java.lang.Class.forName(_KINDS[group])
    registry = spark._jsparkSession.sessionState().functionRegistry()
    names = registry.listFunction()
    other = next(g for g in _KINDS if g != group)
    for i in range(names.size()):
        info = registry.lookupFunction(names.apply(i)).get()
        if info.getSource() != "built-in":
            continue  # one that another test registered
        own = jvm.java.lang.Class.forName(info.getClassName())
        if info.getGroup() == group or (info.getGroup() != other and kind.isAssignableFrom(own)):
            yield names.apply(i).funcName()


_COLUMNS = {
    "v": "INT", "x": "DOUBLE", "k": "STRING", "o": "BOOLEAN", "b": "BINARY", "j": "VARIANT",
    "s": "STRING", "d": "DECIMAL(10, 2)", "f": "FLOAT", "e": "ARRAY<FLOAT>",
    "top": "STRUCT<sketch: BINARY, maxItemsTracked: INT, itemDataType: INT, "
    "itemDataTypeDDL: STRING>",
}  # fmt: skip
_TABLE = Source(Name("default", "t"), SourceKind.DELTA, "t", None)


def read(spark: SparkSession, query: str, function: str) -> set[type]:
    """The operators of the relation of a query with `(…)` for a call of the function, over
    columns of the first type that Spark takes. Refused where the relation, or a stage of it, is."""
    names = CallableFunctions(builtin_functions(spark), frozenset())
    schema = StructType.fromDDL(", ".join(f"{n} {t}" for n, t in _COLUMNS.items()))
    for column in _COLUMNS:
        arguments = re.sub(r"\bv\b", column, _arguments(function))
        text = query.replace("(…)", f"{function}({arguments})")
        asked = QueryText(text, "default", {_TABLE.name: _TABLE}, {})
        try:
            read_document_of(spark, asked, {"t": schema})
        except Refused:
            continue
        meaning = read_meaning(spark, asked, names, {"t": schema})
        stages = compile_stages(meaning.relation, meaning.relation.columns, meaning.types)
        assert stages[-1].sources
        return {type(n) for n in walk(meaning.relation)}
    raise AssertionError(f"Spark takes {function} of none of the types")


@pytest.mark.nightly
def test_every_aggregate_has_a_rule_or_a_rewrite(spark: SparkSession) -> None:
    names = sorted(registered(spark, "agg_funcs"))
    assert len(names) > 80
    for name in names:
        query = "SELECT k, (…) AS a FROM t GROUP BY CUBE (k)"
        if name in UNRULED:
            with pytest.raises(Refused) as e:
                read(spark, query, name)
            assert e.value.reason.code == "AGGREGATE"
            assert e.value.hint == f"Use {UNRULED[name]}."
        else:
            assert Aggregate in read(spark, query, name), name


def test_every_window_function_has_a_rule(spark: SparkSession) -> None:
    names = sorted(registered(spark, "window_funcs"))
    assert len(names) >= 9
    for name in names:
        query = "SELECT (…) OVER (PARTITION BY k ORDER BY v) AS w FROM t"
        assert Window in read(spark, query, name), name


def test_every_aggregate_with_a_rule_is_one_of_spark(spark: SparkSession) -> None:
    names = set(registered(spark, "agg_funcs"))
    assert SUPPORTED - {"count_if"} <= names | {"stddev", "std", "mean"}
    assert names >= UNRULED.keys()


@pytest.mark.nightly
def test_a_call_that_spark_accepts_over_a_window_is_read_as_one(spark: SparkSession) -> None:
    """What Spark refuses there itself is none of ours."""
    for name in sorted(registered(spark, "agg_funcs")):
        if name in UNRULED or name.startswith("grouping"):
            continue
        query = "SELECT (…) OVER (PARTITION BY k) AS w FROM t"
        assert Window in read(spark, query, name), name
