"""What a query reads, with its columns, and by which text our reader reads it: the user's own, or
what Spark's plan of it is written as."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dt_jupyter.definition.compile import source_schema
from dt_jupyter.definition.spark_reading import (
    may_be_read,
    padded_text,
    read_by_plan,
    read_unparsed,
)
from dt_jupyter.functions import expanded
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import spark_schema
from dt_jupyter.model import Definition, Frontier, Name, Source, SourceKind
from dt_jupyter.sources import UNKNOWN, Found, Sources
from dt_jupyter.sql import is_large, require_bounded, table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

_ASKS_FOR_FILES = re.compile(r"\b(_metadata|input_file_\w+)\b", re.IGNORECASE)
UNKNOWN_SOURCE = Source(UNKNOWN, SourceKind.FOREIGN, str(UNKNOWN), None)


@dataclass(frozen=True)
class ReadQuery:
    """What the names of a query came to; `read_as` is the text of its plan where only Spark parses
    its own, `refused` why there is none either."""

    found: Found
    read_as: str = ""
    refused: Refused | None = None


@dataclass(frozen=True)
class QueryReader:
    """Finds names by `sources`; `builtins` are Spark's functions."""

    sources: Sources
    builtins: frozenset[str]

    def read(
        self, spark: SparkSession, query: str, schema: str, of: Name, at: Frontier | None
    ) -> ReadQuery:
        """What a query reads now, for a definition over its sources as they are, or were at the
        frontier `at`."""
        sources = self.sources.inferring if at is None else self.sources.lasting
        try:
            require_bounded(query)
            found = sources.of_query(query, schema, of, placed=True)
            return ReadQuery(_with_lists(sources, query, found))
        except Refused as e:
            refused = e
        try:
            text = read_unparsed(spark, query, self.builtins) if _may(spark, refused) else ""
            bound = sources.of_query(text, schema, of) if text else None
            again = _with_lists(sources, query, bound) if bound is not None else None
        except Refused:
            again = None
        if again is None or self._moved(spark, again, at):
            return ReadQuery(Found({UNKNOWN: UNKNOWN_SOURCE}), refused=refused)
        return ReadQuery(again, text)

    def read_again(
        self, spark: SparkSession, definition: Definition, refused: Refused, at: Frontier | None
    ) -> Definition | None:
        """A definition that our reader refused, to be read by Spark's plan; None where that says
        no more."""
        if definition.read_as or not _may(spark, refused):
            return None
        text = self._by_plan(spark, definition, at)
        return replace(definition, read_as=text) if text else None

    def read_now(self, spark: SparkSession, definition: Definition, at: Frontier) -> Definition:
        """A definition with the text of the plan that Spark makes of its query now, over sources
        with the columns that they had at a frontier; with none where there is no such text."""
        try:
            table_places(definition.query)
        except Refused:
            moved = self._moved(spark, found_by(definition), at)
            text = "" if moved else read_unparsed(spark, definition.query, self.builtins)
            return replace(definition, read_as=text)
        return replace(definition, read_as=self._by_plan(spark, definition, at))

    def read_padded(
        self, spark: SparkSession, definition: Definition, at: Frontier | None
    ) -> Definition | None:
        """The definition read by Spark's plan where strings in it are padded since columns are
        CHAR; None where none is. Refused where the plan has no text."""
        schemas = self.schemas(spark, found_by(definition), at)
        if definition.read_as:
            return None
        text = padded_text(spark, definition, schemas, self.builtins, self.expanded)
        return replace(definition, read_as=text) if text else None

    def _by_plan(self, spark: SparkSession, definition: Definition, at: Frontier | None) -> str:
        schemas = self.schemas(spark, found_by(definition), at)
        return read_by_plan(spark, definition, schemas, self.builtins, self.expanded)

    def _moved(self, spark: SparkSession, found: Found, at: Frontier | None) -> bool:
        """Whether sources have other columns now than at a frontier."""
        return at is not None and self.schemas(spark, found, None) != self.schemas(spark, found, at)

    def expanded(self, text: str) -> str:
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


def _with_lists(sources: Sources, query: str, found: Found) -> Found:
    """With a recorded list for files: not where the query asks which file a row is of, which only
    the files themselves tell."""
    texts = (query, *(v.text for v in found.views.values()))
    return found if any(map(_ASKS_FOR_FILES.search, texts)) else sources.with_lists(found)


def found_by(definition: Definition) -> Found:
    """What the names of a definition came to when it was made."""
    return Found({s.name: s for s in definition.sources}, {v.name: v for v in definition.views})


def _may(spark: SparkSession, refused: Refused) -> bool:
    return may_be_read(spark, refused) and not is_large(refused)
