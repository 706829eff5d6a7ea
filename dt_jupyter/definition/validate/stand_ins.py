"""What the check at creation computes in the place of user functions: for each list of
arguments one of a few values of the function's type, by a hash. Nothing of theirs is run.
"""

from __future__ import annotations

import base64
import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, types as T

from dt_jupyter.definition.validate.generated_rows import NoValues, sample_rows
from dt_jupyter.ivm import Expr, Group, Raw, Stage, StageColumn, separated
from dt_jupyter.model import UserFunction
from dt_jupyter.sql import BagSql, GroupSql, literal, replace_calls

_VALUES = 9


@dataclass(frozen=True)
class StandIns:
    """By the name of a function, what surrounds the arguments of its calls: what opens them
    and a first one, and what closes them."""

    around: Mapping[str, tuple[str, str]]

    def text(self, text: str) -> str:
        """A query that calls none of them."""
        return replace_calls(text, self.around) if self.around else text

    def stage(self, stage: Stage, sql: GroupSql | BagSql) -> tuple[Stage, GroupSql | BagSql]:
        """A stage that calls none of them, with its statements."""
        if not isinstance(sql, GroupSql) or not sql.top.once:
            return stage, sql
        columns = tuple(
            replace(a, call=replace(a.call, text=self._around(a))) if a in once else a
            for once in (sql.top.once,)
            for a in sql.top.aggregates
        )
        top: Group = replace(sql.top, aggregates=columns)
        made = replace(stage, top=top)
        return made, GroupSql(made, top)

    def _around(self, a: StageColumn) -> Expr:
        opening, closing = self.around[a.function]
        given = a.call.text.children
        return Raw((f"{opening}{', ' if given else ''}", *separated(given), closing))


def stand_ins(
    spark: SparkSession, functions: tuple[UserFunction, ...], query: str, rng: random.Random
) -> StandIns:
    """For functions that are called for values. NoValues for one of a type whose values cannot be
    made."""
    return StandIns({f.name: _stand_in(spark, f, query, rng) for f in functions})


def _stand_in(
    spark: SparkSession, function: UserFunction, query: str, rng: random.Random
) -> tuple[str, str]:
    schema = spark.sql(f"SELECT CAST(NULL AS {function.returns}) AS v").schema
    values = [
        _plain(row["v"], schema["v"].dataType) for row in sample_rows(schema, query, _VALUES, rng)
    ]
    told = literal(json.dumps([*values, None]))
    kept = f"from_json({told}, 'array<{function.returns}>', map('mode', 'FAILFAST'))"
    try:
        spark.sql(f"SELECT {kept}")
    except AnalysisException as e:
        raise NoValues(function.returns) from e
    opening = f"element_at({kept}, CAST(1 + pmod(xxhash64({literal(function.name)}"
    return opening, f"), {len(values) + 1}) AS INT))"


def _plain(value: Any, type_: T.DataType) -> Any:
    """A value as Spark reads it from JSON."""
    if value is None:
        return None
    if isinstance(type_, T.ArrayType):
        return [_plain(v, type_.elementType) for v in value]
    if isinstance(type_, T.StructType):
        return {f.name: _plain(value[f.name], f.dataType) for f in type_}
    if isinstance(type_, T.MapType):
        if not isinstance(type_.keyType, T.StringType):
            raise NoValues(type_.simpleString())
        return {k: _plain(v, type_.valueType) for k, v in value}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, date | datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    return "NaN" if isinstance(value, float) and math.isnan(value) else value
