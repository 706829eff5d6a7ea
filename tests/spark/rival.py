"""A second oracle: Spark on the user's own text, in a session of its own, with plain views of the
versions that a dynamic table stands on. It shares nothing with `verify` but Spark.

Neither the parser, nor what pins a text to versions, nor what reads hidden columns of the engine
is used here: names, their order and types are compared too.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from pyspark.errors import AnalysisException
from pyspark.sql.functions import lit
from pyspark.sql.types import StructType

from dt_jupyter.model import DynamicTable, Frontier, SourceKind, quote
from dt_jupyter.spark import is_connect, mounted_place, text_of_path
from tests.spark.delta_files import local_frame, newest_version
from tests.spark.rows import close, exact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.spark.engine_lab import Lab

_BY_THE_CLOCK = re.compile(r"\b(current_timestamp|current_date|now|curdate|localtimestamp)\b", re.I)

_PUBLIC = "__public"
_PLANS = ("spark.sql.codegen.factoryMode", "spark.sql.codegen.wholeStage")


@dataclass(eq=False)
class NotComparable(Exception):
    """Why the text alone does not tell the rows."""

    why: str


def difference(lab: Lab, name: str) -> str | None:
    """None where readers of the table see the query's rows, names and types; else what differs.

    NotComparable for a text that leaves an order open or reads the clock.
    """
    if is_connect(lab.spark):
        raise NotComparable("a client of Connect sees no plan of a view")
    table = lab.engine.table(name)
    compiled = lab.context.refresher.known(table.id)
    if compiled is not None and compiled.settles:
        raise NotComparable("the query leaves an order open")
    if _BY_THE_CLOCK.search(table.definition.query):
        raise NotComparable("the query reads the clock")
    with _session_of(lab, table) as spark:
        wanted = _by_spark(lab, spark, table)
        shown = _shown(lab, spark, table)
        columns = [n for n, _, _ in table.definition.columns]
        expected = [
            (n if not table.definition.query_columns else own, t)
            for (n, t), own in zip(wanted.dtypes, columns, strict=False)
        ]
        if shown.dtypes != expected:
            return f"{name} has the columns {shown.dtypes}, its query {expected}"
        return _rows_differ(name, shown, wanted)


def _rows_differ(name: str, shown: DataFrame, wanted: DataFrame) -> str | None:
    both = shown.select(lit(0), "*").unionAll(wanted.select(lit(1), "*"))
    rows = both.collect()  # of one type each: one job for both
    got, meant = (Counter(exact(tuple(r)[1:]) for r in rows if r[0] == i) for i in (0, 1))
    extra, missing = list((got - meant).elements()), list((meant - got).elements())
    for row in tuple(extra):
        partner = next((m for m in missing if close(row, m)), None)
        if partner is not None:
            extra.remove(row)
            missing.remove(partner)
    return f"{name}: too many {extra[:3]}, missing {missing[:3]}" if extra or missing else None


def _shown(lab: Lab, spark: SparkSession, table: DynamicTable) -> DataFrame:
    """What readers of the table see: its published view, over the files that the newest version
    of the table names, where those can be read here."""
    path = _folder(lab, table.name.sql, table.id, SourceKind.DYNAMIC_TABLE)
    view = _metadata(spark, table.name.sql)
    seen = _through(spark, view, path)
    return spark.table(table.name.sql) if seen is None else seen


def read(spark: SparkSession, name: str) -> DataFrame:
    """The rows by which Spark sees a table or a view of one, by the files themselves where those
    can be read here: what Spark itself needs for a new version is half a second of jobs."""
    if is_connect(spark):
        return spark.table(name)
    known = _metadata(spark, name)
    if known.tableType().name() == "VIEW":
        paths = _DELTA.findall(known.viewText().get())
        path = paths[0].removeprefix("file:") if len(paths) == 1 else "://"
        seen = _through(spark, known, path)
    elif known.provider().isDefined() and known.provider().get() == "delta":
        folder = _place(known.location())
        here = "://" not in folder
        seen = local_frame(spark, folder, newest_version(folder)) if here else None
    else:
        seen = None
    return spark.table(name) if seen is None else seen


_DELTA = re.compile(r"delta\.`((?:[^`]|``)+)`")


def _metadata(spark: SparkSession, name: str) -> Any:
    """What the session's catalog has of a table; Spark's error where it has none."""
    state = spark._jsparkSession.sessionState()
    return state.catalog().getTableMetadata(state.sqlParser().parseTableIdentifier(name))


def _through(spark: SparkSession, view: Any, path: str) -> DataFrame | None:
    text, relation = view.viewText().get(), f"delta.{quote(text_of_path(path))}"
    here = "://" not in path and text.count(relation) == 1
    rows = local_frame(spark, path, newest_version(path)) if here else None
    if rows is None:
        return None
    rows.createOrReplaceTempView(_PUBLIC)
    schema = StructType.fromJson(json.loads(view.schema().json()))
    seen = spark.sql(text.replace(relation, _PUBLIC)).toDF(*schema.names)
    spark.catalog.dropTempView(_PUBLIC)
    return seen if seen.dtypes == _dtypes(schema) else None


def _dtypes(schema: StructType) -> list[tuple[str, str]]:
    return [(f.name, f.dataType.simpleString()) for f in schema.fields]


def _by_spark(lab: Lab, spark: SparkSession, table: DynamicTable) -> DataFrame:
    definition, frontier = table.definition, table.frontier
    assert frontier is not None
    schema = definition.current_schema
    for source in definition.sources:
        if source.kind is SourceKind.FOREIGN:
            continue
        if source.name.schema != schema:
            raise NotComparable("a temporary view has no schema and is no path")
        path = _folder(lab, source.name.sql, source.table_id, source.kind)
        if "://" not in path and not Path(path, "_delta_log").is_dir():
            raise NotComparable("a source is no Delta table: its older rows are the engine's alone")
        _snapshot(spark, path, source.table_id, frontier).createOrReplaceTempView(
            f"`{source.name.table}`"
        )
    waiting = {v.name: v for v in definition.views}
    while waiting:
        made = [n for n in waiting if _view(lab.spark, spark, n.sql, n.table)]
        if not made:
            raise NotComparable("a view reads what has a schema")
        for done in made:
            del waiting[done]
    with suppress(AnalysisException):
        spark.catalog.setCurrentDatabase(schema)
    return spark.sql(definition.query)


_SESSIONS: WeakKeyDictionary[SparkSession, SparkSession] = WeakKeyDictionary()


@contextmanager
def _session_of(lab: Lab, table: DynamicTable) -> Iterator[SparkSession]:
    """A session that shares tables with the lab's and nothing else, under the settings of the
    table; it runs plans as the lab's does: one for little data compiles none, whose code would
    take longer than the rows."""
    spark = _SESSIONS.get(lab.spark)
    if spark is None:
        spark = _SESSIONS[lab.spark] = lab.spark.newSession()
    # It remembers what lay under a name that another session has given to another table since.
    spark._jsparkSession.sessionState().catalog().invalidateAllCachedTables()
    plans = {key: lab.spark.conf.get(key) for key in _PLANS}
    settings = {**plans, **table.definition.settings}
    lab.context.functions.install(spark)
    for key, value in settings.items():
        spark.conf.set(key, value)
    try:
        yield spark
    finally:
        spark.catalog.setCurrentDatabase("default")
        spark.catalog.dropTempView(_PUBLIC)
        for relation in (*table.definition.sources, *table.definition.views):
            spark.catalog.dropTempView(relation.name.table)
        for key in settings:
            spark.conf.unset(key)


def _folder(lab: Lab, name: str, id_: str, kind: SourceKind) -> str:
    """Where a table lies, by Spark's catalog, or in the lake's own folder."""
    if kind is SourceKind.DYNAMIC_TABLE:
        path = lab.context.layout.own / "dynamic" / id_ / "public"
        return mounted_place(path) or str(path)
    state = lab.spark._jsparkSession.sessionState()
    parts = state.sqlParser().parseTableIdentifier(name)
    return _place(state.catalog().getTableMetadata(parts).location())


def _place(location: Any) -> str:
    """A folder of this disk, or the whole of what is elsewhere."""
    here = location.getScheme() == "file"
    return str(location.getPath()) if here else unquote(str(location))


def _snapshot(spark: SparkSession, path: str, id_: str, frontier: Frontier) -> DataFrame:
    version = frontier.versions[id_]
    read = None if "://" in path else local_frame(spark, path, version)
    if read is None:
        read = spark.read.format("delta").option("versionAsOf", version).load(text_of_path(path))
    if "__dt_visible" in read.columns:
        read = read.where("__dt_visible")
    return read.select(*(quote(c) for c in read.columns if not c.startswith("__dt_")))


def _view(outer: SparkSession, spark: SparkSession, name: str, bare: str) -> bool:
    """A user's view as a temporary one over those that stand for its tables."""
    rows = outer.sql(f"DESCRIBE TABLE EXTENDED {name}").collect()
    facts = {r["col_name"]: r["data_type"] for r in rows}
    try:
        frame = spark.sql(facts["View Text"])
    except AnalysisException:
        return False
    own = facts.get("View Query Output Columns", "").strip("[]")
    if own:
        frame = frame.select(*(c.strip() for c in own.split(", ")))
    frame.toDF(*outer.table(name).columns).createOrReplaceTempView(f"`{bare}`")
    return True
