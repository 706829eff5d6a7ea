"""What a name means in the session's catalog: a table with its folder, a view with its text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import dropwhile, islice, takewhile
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Name, plain, quote
from dt_jupyter.spark.compiled_java import session_calls
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.path_texts import path_of_text, path_of_uri
from dt_jupyter.spark.plan_reads import FILE_SCHEMAS
from dt_jupyter.sql import table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FILE_FORMATS = FILE_SCHEMAS - {"delta"} | {"xml"}
"""Those of tables that are files without a log."""
_DETAILS, _PARTITIONS = "# Detailed Table Information", "# Partition Information"
_IDENTIFIER = "org.apache.spark.sql.catalyst.TableIdentifier"


class RelationKind(StrEnum):
    TABLE = "table"
    VIEW = "view"
    TEMPORARY_VIEW = "temporary view"


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """How the session reads a table that is files: its columns (Spark's JSON), its options, the
    columns that it is partitioned by, and whether the catalog keeps a list of its partitions."""

    schema: str
    options: tuple[tuple[str, str], ...]
    partitions: tuple[str, ...] = ()
    tracked: bool = False

    @property
    def partitioned(self) -> bool:
        return bool(self.partitions)


@dataclass(frozen=True, slots=True)
class CatalogRelation:
    """A relation of the session's catalog. `provider` (delta, parquet, …) and `location` (a local
    path, or a URI of another store) of a table, `files` where it is of another format than Delta;
    `text` of a view."""

    kind: RelationKind
    provider: str | None = None
    location: str | None = None
    text: str | None = None
    files: StoredFiles | None = None


def lookup(spark: SparkSession, name: Name, *, temporary: bool = True) -> CatalogRelation | None:
    """What `name` is to this session, or without `temporary` to every session; None: nothing.
    Starts no Spark job."""
    if is_connect(spark):
        return _described(spark, name, temporary=temporary)
    session: Any = spark
    calls, state = session_calls(session), session._jsparkSession.sessionState()
    told = calls.find(state, name.schema, name.table, temporary)
    return None if told is None else _relation(json.loads(told))


def _relation(told: Mapping[str, Any]) -> CatalogRelation:
    """What `SessionCalls.find` has found."""
    if told["kind"] == "TEMPORARY":
        return CatalogRelation(RelationKind.TEMPORARY_VIEW)
    if told["kind"] == "VIEW":
        names, queried = tuple(told["names"]), tuple(told["queried"])
        text = view_text(told["text"], told["namespace"], names, queried)
        return CatalogRelation(RelationKind.VIEW, text=text)
    provider, location = told["provider"], told["location"]
    provider = provider and provider.lower()
    return CatalogRelation(
        RelationKind.TABLE,
        provider,
        path_of_uri(location) if location is not None else None,
        files=_stored_files(told) if provider in FILE_FORMATS else None,
    )


def identifier_of(session: Any, table: str, schema: str | None = None) -> Any:
    """A name as Spark's catalog takes it, of a classic session."""
    option = _class(session, "scala.Option")
    return _class(session, _IDENTIFIER)(table, option.apply(schema) if schema else option.empty())


def _stored_files(told: Mapping[str, Any]) -> StoredFiles:
    columns, options = tuple(told["partitions"]), tuple(told["options"].items())
    return StoredFiles(told["schema"], options, columns, bool(columns) and told["tracked"])


def _class(session: Any, name: str) -> Any:
    """A class of Java by its full name: `session._jvm` asks Java about each part of it."""
    from py4j.java_gateway import JavaClass

    return JavaClass(name, session._jvm._gateway_client)


def _described(spark: SparkSession, name: Name, *, temporary: bool) -> CatalogRelation | None:
    if not spark.catalog.tableExists(name.sql):
        for table in spark.catalog.listTables() if temporary else ():
            if table.isTemporary and table.name.lower() == name.table:
                return CatalogRelation(RelationKind.TEMPORARY_VIEW)
        return None
    rows = [tuple(r) for r in spark.sql(f"DESCRIBE TABLE EXTENDED {name.sql}").collect()]
    facts = {r[0]: r[1] for r in dropwhile(lambda r: r[0] != _DETAILS, rows)}
    if facts.get("Type") == "VIEW":
        schema = facts.get("View Catalog and Namespace", name.schema).rpartition(".")[2]
        names = tuple(r[0] for r in takewhile(lambda r: r[0], rows))
        return CatalogRelation(RelationKind.VIEW, text=view_text(facts["View Text"], schema, names))
    location = facts.get("Location")
    provider = (facts.get("Provider") or "").lower() or None
    return CatalogRelation(
        RelationKind.TABLE,
        provider,
        path_of_text(location) if location else None,
        files=_described_files(spark, name, rows, facts) if provider in FILE_FORMATS else None,
    )


def _described_files(
    spark: SparkSession, name: Name, rows: Sequence[tuple[str, ...]], facts: Mapping[str, str]
) -> StoredFiles | None:
    """None for a table with options: Connect does not distinguish them."""
    if "Storage Properties" in facts:
        return None
    told = islice(dropwhile(lambda r: r[0] != _PARTITIONS, rows), 2, None)
    columns = tuple(r[0] for r in takewhile(lambda r: r[0], told))
    tracked = bool(columns) and facts.get("Partition Provider") == "Catalog"
    return StoredFiles(spark.table(name.sql).schema.json(), (), columns, tracked)


def view_text(text: str, schema: str, names: tuple[str, ...], queried: tuple[str, ...] = ()) -> str:
    """A view as a query that means the same anywhere, over tables of `schema` where it names none.

    Its columns are those that its text had when it was made, `queried`, under the view's own
    `names`, and without what a `*` gives since. Of a text whose columns are not known, or not
    distinct by name, they come in its order. The text of a view that was made of such a query
    is that query.
    """
    text = qualified_text(text, schema)
    listed = f") AS view_({', '.join(map(quote, names))})"
    if _EXPLICIT.match(text) or text.endswith(f"\n{listed}"):
        return text
    if queried == names and "*" not in text:
        return text
    if queried and len({q.lower() for q in queried}) == len(queried):
        pairs = zip(queried, names, strict=True)
        items = ", ".join(f"{quote(q)} AS {quote(n)}" for q, n in pairs)
        return f"SELECT {items} FROM (\n{text}\n)"
    return f"SELECT * FROM (\n{text}\n{listed}"


_NAMED = r"`(?:[^`]|``)+` AS `(?:[^`]|``)+`"
_EXPLICIT = re.compile(rf"SELECT {_NAMED}(?:, {_NAMED})* FROM \(\n")


def qualified_text(text: str, schema: str) -> str:
    """With the schema of each table that has none."""
    for parts, start, _, _ in sorted(table_places(text), key=lambda p: -p[1]):
        if len(parts) == 1:
            text = f"{text[:start]}{plain(schema)}.{text[start:]}"
    return text


def listed(spark: SparkSession) -> frozenset[str]:
    """The tables and views of the current schema, without temporary ones. (PySpark's own list
    loads every one of them.)"""
    rows = spark.sql("SHOW TABLES").collect()
    return frozenset(r["tableName"] for r in rows if not r["isTemporary"])


def builtin_functions(spark: SparkSession) -> frozenset[str]:
    """The names of Spark's own functions, in lower case."""
    return frozenset(r[0].lower() for r in spark.sql("SHOW SYSTEM FUNCTIONS").collect())
