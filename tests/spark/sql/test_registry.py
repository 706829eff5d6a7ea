"""Every aggregate and every window function of Spark's own registry has a rule, or a refusal that
says what to write instead: one that a new release brings fails here until it has."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from dt_jupyter.ivm import SUPPORTED, UNRULED, Aggregate, Refused, Window, walk
from dt_jupyter.spark.relations import builtin_functions
from dt_jupyter.sql.binding.binder import Table, bind

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


def bound(spark: SparkSession, query: str) -> set[type]:
    rel = bind(query, lambda parts: Table("t", ("k", "v", "x")), builtin_functions(spark))
    return {type(n) for n in walk(rel)}


def test_every_aggregate_has_a_rule_or_a_rewrite(spark: SparkSession) -> None:
    names = sorted(registered(spark, "agg_funcs"))
    assert len(names) > 80
    for name in names:
        query = f"SELECT k, {name}({_arguments(name)}) AS a FROM t GROUP BY CUBE (k)"
        if name in UNRULED:
            with pytest.raises(Refused) as e:
                bound(spark, query)
            assert e.value.reason.code == "AGGREGATE"
            assert e.value.hint == f"Use {UNRULED[name]}."
        else:
            assert Aggregate in bound(spark, query), name


def test_every_window_function_has_a_rule(spark: SparkSession) -> None:
    names = sorted(registered(spark, "window_funcs"))
    assert len(names) >= 9
    for name in names:
        query = f"SELECT {name}({_arguments(name)}) OVER (PARTITION BY k ORDER BY v) AS w FROM t"
        assert Window in bound(spark, query), name


def test_every_aggregate_with_a_rule_is_one_of_spark(spark: SparkSession) -> None:
    names = set(registered(spark, "agg_funcs"))
    assert SUPPORTED - {"count_if"} <= names | {"stddev", "std", "mean"}
    assert names >= UNRULED.keys()


def test_a_call_that_spark_accepts_over_a_window_is_bound_as_one(spark: SparkSession) -> None:
    """What Spark refuses there itself is none of ours."""
    for name in sorted(registered(spark, "agg_funcs")):
        if name in UNRULED or name.startswith("grouping"):
            continue
        call = f"{name}({_arguments(name)}) OVER (PARTITION BY k)"
        assert Window in bound(spark, f"SELECT {call} AS w FROM t"), name
