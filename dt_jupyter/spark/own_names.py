"""The names that a classic session keeps in its own memory: forgotten, and put elsewhere, without
a file being touched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import Name, quote
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.path_texts import path_of_text, path_of_uri, text_of_path
from dt_jupyter.spark.relations import identifier_of, lookup
from dt_jupyter.spark.thread_session import bind_catalog
from dt_jupyter.sql import literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CATALYST = "org.apache.spark.sql.catalyst"
_WAREHOUSE = "spark.sql.warehouse.dir"


def keeps_own_names(spark: SparkSession) -> bool:
    """Whether the session's names end with its process. Those of a metastore, or of a server, are
    other people's too."""
    return not is_connect(spark) and _conf(spark, "spark.sql.catalogImplementation") == "in-memory"


def catalog_id(spark: SparkSession) -> int:
    """Which catalog a classic session has; sessions made of it by newSession() have the same."""
    session: Any = spark
    shared = session._jsparkSession.sharedState()
    return int(session._jvm.java.lang.System.identityHashCode(shared))


def separate_session(spark: SparkSession, folder: Path) -> SparkSession:
    """A session of the same Spark application with a separate empty catalog, which shares no
    name, temporary view or setting with `spark`; its tables are made in `folder`."""
    from pyspark.sql import SparkSession

    session: Any = spark
    classic = session._jvm.org.apache.spark.sql.classic.SparkSession
    made = SparkSession(spark.sparkContext, classic(session.sparkContext._jsc.sc(), {}))
    bind_catalog(made)
    set_warehouse(made, folder)
    return made


def forget_relation(spark: SparkSession, name: Name) -> None:
    """Take a table or view out of a session that keeps its own names. The files stay: Spark
    deletes those of a managed table that it drops, so it is made an external one first."""
    catalog = _catalog(spark)
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    found = identifier_of(spark, name.table, name.schema)
    if not catalog.databaseExists(name.schema) or not catalog.tableExists(found):
        return
    table = catalog.getTableMetadata(found)
    if table.tableType().name() == "MANAGED":
        external = getattr(jvm, f"{_CATALYST}.catalog.CatalogTableType").EXTERNAL()
        fields = [getattr(table, f"copy$default${i + 1}")() for i in range(table.productArity())]
        fields[1] = external
        catalog.externalCatalog().alterTable(table.copy(*fields))
    catalog.dropTable(found, True, False)


def remove_function(session: SparkSession, name: str, *, kept: bool) -> None:
    """The function that a session has under a name, and the one of Spark's catalog where `kept`."""
    session.sql(f"DROP TEMPORARY FUNCTION IF EXISTS {quote(name)}")
    if kept:
        session.sql(f"DROP FUNCTION IF EXISTS spark_catalog.default.{quote(name)}")


def warehouse_of(spark: SparkSession) -> Path:
    """The folder in which a classic session makes tables that are given no place."""
    return Path(path_of_text(_conf(spark, _WAREHOUSE)))


def set_warehouse(spark: SparkSession, folder: Path) -> None:
    """Tables and schemas that this session, or one made of it from now on, creates without a
    place are made in `folder`."""
    session: Any = spark
    java = session._jsparkSession
    for conf in (java.sessionState().conf().setConfString, java.sharedState().conf().set):
        conf(_WAREHOUSE, text_of_path(folder))
    set_schema_folder(spark, "default", folder)


def set_schema_folder(spark: SparkSession, schema: str, folder: Path) -> None:
    """New tables of the schema are made in `folder`, which need not be there yet."""
    spark.sql(f"ALTER DATABASE {quote(schema)} SET LOCATION {literal(text_of_path(folder))}")


def list_relations(spark: SparkSession, schemas: Sequence[str] | None = None) -> list[Name]:
    """The tables and views that every session made of this one knows; `schemas`: of these only."""
    catalog, found = _catalog(spark).externalCatalog(), []
    for schema in _schemas(spark) if schemas is None else schemas:
        names = catalog.listTables(schema)
        found += [Name(schema, str(names.apply(i))) for i in range(names.size())]
    return found


def table_folders(spark: SparkSession) -> dict[Name, Path]:
    """The tables of all schemas that are on this machine's disk, each with its folder."""
    known = {name: lookup(spark, name, temporary=False) for name in list_relations(spark)}
    places = {name: found.location for name, found in known.items() if found is not None}
    return {n: Path(place) for n, place in places.items() if place and place.startswith("/")}


def schema_folders(spark: SparkSession) -> dict[str, Path]:
    """The schemas that are on this machine's disk, each with its folder."""
    catalog, found = _catalog(spark), {}
    for schema in _schemas(spark):
        place = path_of_uri(catalog.getDatabaseMetadata(schema).locationUri().toString())
        if place.startswith("/"):
            found[schema] = Path(place)
    return found


def _schemas(spark: SparkSession) -> list[str]:
    names = _catalog(spark).listDatabases()
    return [str(names.apply(i)) for i in range(names.size())]


def _catalog(spark: SparkSession) -> Any:
    session: Any = spark
    return session._jsparkSession.sessionState().catalog()


def _conf(spark: SparkSession, key: str) -> str:
    return str(spark.conf.get(key))
