"""What a query reads, with its columns, and what it means over them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.definition.query_meaning import (
    CallableFunctions,
    QueryMeaning,
    QueryText,
    read_meaning,
)
from dt_jupyter.functions import expanded, on_change_names, scalar_names
from dt_jupyter.lake import spark_schema
from dt_jupyter.model import Definition, Frontier, Name, Source, SourceKind
from dt_jupyter.sources import UNKNOWN, Found, Sources
from dt_jupyter.spark import text_of_path
from dt_jupyter.sql import require_bounded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_ASKS_FOR_FILES = re.compile(r"\b(_metadata|input_file_\w+)\b", re.IGNORECASE)


@dataclass(frozen=True)
class QueryReader:
    """Finds names by `sources`; `builtins` are Spark's functions."""

    sources: Sources
    builtins: frozenset[str]

    def find(self, query: str, schema: str, of: Name, at: Frontier | None) -> Found:
        """What a query reads now, for a definition over its sources as they are, or were at the
        frontier `at`."""
        sources = self.sources.inferring if at is None else self.sources.lasting
        require_bounded(query)
        found = sources.of_query(query, schema, of, placed=True)
        return _with_lists(sources, query, found)

    @property
    def functions(self) -> CallableFunctions:
        """The functions that a definition may call."""
        catalog = self.sources.catalog
        own = scalar_names(frozenset(), catalog) | on_change_names(catalog)
        return CallableFunctions(self.builtins, own)

    def text_of(self, definition: Definition, found: Found) -> QueryText:
        """The query of a definition over what its names are."""
        views = {n: self.expand(v.text) for n, v in found.views.items()}
        text = self.expand(definition.query)
        declared = tuple(self.sources.catalog.functions())
        return QueryText(
            text, definition.current_schema, found.sources, views, declared, definition.query
        )

    def read(
        self, spark: SparkSession, definition: Definition, at: Frontier | None
    ) -> QueryMeaning:
        """What a definition means over its sources as they are, or were at a frontier; Refused
        where that has no form in the algebra."""
        found = found_by(definition)
        schemas = self.schemas(spark, found, at)
        return read_meaning(spark, self.text_of(definition, found), self.functions, schemas)

    def expand(self, text: str) -> str:
        """The text with what functions of SQL return in the place of their calls."""
        return expanded(self.sources.catalog, text)

    def schemas(
        self, spark: SparkSession, found: Found, at: Frontier | None
    ) -> dict[str, StructType]:
        """The schemas of the sources by id, as they are, or were at a frontier."""
        known = (s for s in found.sources.values() if s.name != UNKNOWN)
        return {s.table_id: self._schema(spark, s, at) for s in known}

    def _schema(self, spark: SparkSession, source: Source, at: Frontier | None) -> StructType:
        if at is None or source.path is None or source.table_id not in at.versions:
            return source_schema(spark, source)
        metadata = self.sources.logs[source.path].metadata(at.versions[source.table_id])
        return spark_schema(metadata.fields, declared=True)


def source_schema(spark: SparkSession, source: Source) -> StructType:
    """The schema of a source as it is now; a dynamic table's with its hidden columns."""
    if source.path is not None and source.kind is not SourceKind.FOREIGN:
        return spark.read.format("delta").load(text_of_path(source.path)).schema
    return spark.table(source.name.sql).schema


def _with_lists(sources: Sources, query: str, found: Found) -> Found:
    """With a recorded list for files: not where the query asks which file a row is of, which only
    the files themselves have."""
    texts = (query, *(v.text for v in found.views.values()))
    return found if any(map(_ASKS_FOR_FILES.search, texts)) else sources.with_lists(found)


def found_by(definition: Definition) -> Found:
    """What the names of a definition came to when it was made."""
    return Found({s.name: s for s in definition.sources}, {v.name: v for v in definition.views})
