"""Definitions read by Spark's plan where tests ask for it (DT_TEST_READER=plan): the shadow of the
reader that is to replace the binder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from dt_jupyter.definition import compile as compiling, define
from dt_jupyter.definition.compile import BoundQuery, empty_relation, is_padded
from dt_jupyter.definition.spark_reading import public_schema
from dt_jupyter.ivm import Refusal, Rel, refuse
from dt_jupyter.model import Name, Source, quote
from dt_jupyter.model.hidden import VISIBLE, public_columns
from dt_jupyter.plans.plan_relation import read_query_document, relation_of_document
from dt_jupyter.sources import name_of, pinned
from dt_jupyter.spark import Catalyst, builtin_functions, is_connect, type_text
from dt_jupyter.sql import Renderer, Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

BY_PLAN = os.environ.get("DT_TEST_READER") == "plan"
_bind_query = compiling.bind_query


def bind_by_plan(
    spark: SparkSession,
    query: str,
    schema: str,
    sources: Mapping[Name, Source],
    views: Mapping[Name, str],
    builtins: frozenset[str],
    schemas: Mapping[str, StructType],
) -> BoundQuery:
    """What `bind_query` does, by Spark's plan of the query."""
    if is_connect(spark):
        return _bind_query(spark, query, schema, sources, views, builtins, schemas)
    known: dict[str, StructType] = dict(schemas)

    @cache
    def types(rel: Rel) -> dict[str, str]:
        fields = spark.sql(Renderer(lambda s: empty_relation(known[s.source]))(rel)).schema
        return {f.name: type_text(f.dataType) for f in fields}

    def table(source: Source) -> Table:
        fields = schemas[source.table_id].fields
        columns = tuple(f.name for f in fields)
        casts = tuple((f.name, type_text(f.dataType)) for f in fields if is_padded(f))
        visible = VISIBLE if VISIBLE in columns else None
        return Table(source.table_id, public_columns(columns), visible, casts)

    tables = {s.table_id: table(s) for s in sources.values()}
    public = {s.table_id: public_schema(schemas[s.table_id]) for s in sources.values()}
    spark_own = builtin_functions(spark)
    catalyst = Catalyst.of(spark)
    with catalyst.empty_views(public) as views_of:

        def relation(parts: tuple[str, ...]) -> str:
            source = sources.get(name_of(parts, schema))
            if source is None:
                raise refuse(Refusal.EXPRESSION, what=f"what {parts} is, is computed")
            return quote(views_of[source.table_id])

        text = pinned(query, relation, lambda p: views.get(name_of(p, schema)))
        try:
            document = read_query_document(catalyst, text)
        except PySparkException as e:
            raise refuse(Refusal.EXPRESSION, what=str(e).splitlines()[0]) from None
    rel = relation_of_document(document, tables, spark_own, builtins - spark_own)
    return BoundQuery(rel, known, types)


@pytest.fixture(autouse=True)
def read_by_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    if BY_PLAN:
        monkeypatch.setattr(compiling, "bind_query", bind_by_plan)
        monkeypatch.setattr(define, "bind_query", bind_by_plan)
