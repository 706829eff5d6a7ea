"""Many tables and views made known to a session by name, in one call of Java."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Name
from dt_jupyter.spark.compiled_java import compile_java
from dt_jupyter.spark.relations import identifier_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view as `CREATE VIEW name COMMENT comment AS text` makes it; `columns` are those of the
    text, as the JSON of Spark's schema has them."""

    name: Name
    columns: Sequence[Any]
    text: str
    comment: str | None = None

    def described(self) -> dict[str, Any]:
        columns = {"type": "struct", "fields": self.columns}
        return _named(self.name) | {"columns": columns, "text": self.text, "comment": self.comment}


@dataclass(frozen=True, slots=True)
class TableEntry:
    """A table as `CREATE TABLE name USING delta LOCATION place` makes it."""

    name: Name
    place: str

    def described(self) -> dict[str, Any]:
        return _named(self.name) | {"place": self.place}


def add_entries(
    spark: SparkSession, pattern: Name, entries: Sequence[ViewEntry | TableEntry]
) -> frozenset[Name]:
    """Adds them to the catalog of a classic session, as one of their kind, `pattern`, is there:
    those that are there now. There may be something else of a name, or Spark may refuse it. Nothing
    of them is read."""
    session: Any = spark
    state = session._jsparkSession.sessionState()
    catalog, known = state.catalog(), identifier_of(session, pattern.table, pattern.schema)
    if not entries or not catalog.tableExists(known):
        return frozenset()
    told = json.dumps([entry.described() for entry in entries])
    adder = compile_java(session._jvm, "CatalogEntries")
    like = catalog.getTableMetadata(known)
    added = json.loads(adder.add(catalog, state.newHadoopConf(), like, told))
    return frozenset(entries[place].name for place in added)


def _named(name: Name) -> dict[str, Any]:
    return {"schema": name.schema, "table": name.table}


__all__ = ["TableEntry", "ViewEntry", "add_entries"]
