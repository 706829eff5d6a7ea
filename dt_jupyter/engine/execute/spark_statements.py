"""Statements that Spark runs, with what is ours in them put in place; and UNDROP TABLE."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from dt_jupyter.engine.dependents import Dependents, dropped_words, find_dependents, names_in
from dt_jupyter.engine.dropped_schemas import drop_schema
from dt_jupyter.engine.execute.names_read import require_named
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.execute.spark_errors import place_failure
from dt_jupyter.engine.execute.spark_relations import run_in_place
from dt_jupyter.engine.functions import follow_function, require_droppable
from dt_jupyter.lake import marked
from dt_jupyter.model import (
    DTError,
    Name,
    Named,
    Span,
    error,
    name_taken,
    plain,
)
from dt_jupyter.spark import RelationKind, confs, lookup
from dt_jupyter.sql import CATALOG, require_table_properties, statement_values as S
from dt_jupyter.streams import CONSUMERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context

_FEED_DEFAULT = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
_WRITES = frozenset({
    S.SparkKind.INSERT, S.SparkKind.UPDATE, S.SparkKind.DELETE, S.SparkKind.MERGE,
    S.SparkKind.TRUNCATE, S.SparkKind.RESTORE, S.SparkKind.ALTER_TABLE, S.SparkKind.ALTER_VIEW,
    S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW, S.SparkKind.CREATE_TABLE,
    S.SparkKind.CREATE_VIEW,
})  # fmt: skip
_DROPS = frozenset({S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW})
_CREATES = frozenset({S.SparkKind.CREATE_TABLE, S.SparkKind.CREATE_VIEW})
_MARKED = CONSUMERS | {S.SparkKind.TRUNCATE, S.SparkKind.RESTORE}
"""What writes rows: its commit carries the id of its statement."""


def run_by_spark(
    context: Context, statement: S.SparkStatement, origin: StatementOrigin
) -> DataFrame:
    """Spark's result; errors are placed in the script."""
    context.functions.install(context.spark)
    _require_properties(statement, origin)
    _require_writable(context, statement)
    _require_free(context, statement)
    readers = _readers(context, statement)
    if said := _drop_ours(context, statement):
        more = dropped_words(readers, f"UNDROP TABLE {statement.target}")
        return context.tables.status(f"{said}{more}")
    _refuse_quarantined(context, statement)
    if statement.kind is S.SparkKind.OTHER:
        require_droppable(context, statement.text)
    try:
        feed = confs(context.spark, {_FEED_DEFAULT: "true"})
        with context.lake_tables.renaming(statement), feed, _marked(context, statement):
            frame = _run(context, statement, origin)
    except DTError:
        raise
    except Exception as e:
        if context.access.bound:  # what Spark says of a table is for those who may read it
            require_named(context, statement, context.schema(), origin.script)
        raise place_failure(e, context.sources, statement, origin.script) from e
    context.lake_tables.remember(statement)
    if statement.kind is S.SparkKind.OTHER:
        follow_function(context, statement.text)
    if statement.kind is S.SparkKind.CREATE_SCHEMA and statement.target_parts:
        context.publisher.part_folder(statement.target_parts[-1].lower())
    if statement.kind is not S.SparkKind.QUERY:
        context.scheduling.nudge()
    return context.tables.status(_dropped(statement, readers)) if readers else frame


def _readers(context: Context, statement: S.SparkStatement) -> Dependents:
    """What reads, from elsewhere, what a statement drops."""
    catalog, dropped = context.catalog, set[Name]()
    if statement.kind in _DROPS and statement.target is not None:
        relation = lookup(context.spark, statement.target)
        there = relation is not None and relation.kind is not RelationKind.TEMPORARY_VIEW
        dropped = {statement.target} if there else dropped
    elif statement.kind is S.SparkKind.DROP_SCHEMA and statement.target_parts:
        dropped = names_in(catalog, statement.target_parts[-1].lower())
    return find_dependents(catalog, dropped, context.access.sees) if dropped else Dependents()


def _dropped(statement: S.SparkStatement, readers: Dependents) -> str:
    if statement.kind is S.SparkKind.DROP_SCHEMA:
        schema = plain(statement.target_parts[-1].lower())
        more = dropped_words(readers, f"UNDROP SCHEMA {schema}")
        return f"Schema {schema} dropped; UNDROP SCHEMA brings it back.{more}"
    view = statement.kind is S.SparkKind.DROP_VIEW
    what = "VIEW" if view else "TABLE"
    more = dropped_words(readers, f"CREATE {what} {statement.target} …")
    return f"{what.capitalize()} {statement.target} dropped.{more}"


def _run(context: Context, statement: S.SparkStatement, origin: StatementOrigin) -> DataFrame:
    """DROP SCHEMA keeps what UNDROP SCHEMA brings back; a folder that holds tables of another
    schema does not go with it."""
    *catalog, schema = (part.lower() for part in statement.target_parts or ("",))
    ours = catalog in ([], [CATALOG]) and schema not in ("", "default")
    if statement.kind is not S.SparkKind.DROP_SCHEMA or not ours:
        return run_in_place(context, statement, origin)
    context.publisher.part_folder(schema)
    cascade = statement.text.split()[-1].upper() == "CASCADE"
    return drop_schema(
        context, schema, lambda: run_in_place(context, statement, origin), cascade=cascade
    )


def undrop_table(context: Context, statement: S.UndropTable, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    context.lake_tables.undrop(name, partial(context.access.require_last_owner, name))
    context.publisher.retry_views()
    context.scheduling.nudge()
    return context.tables.status(f"Table {statement.name} restored.")


# -- before ----------------------------------------------------------------------------------------


def _require_properties(statement: S.SparkStatement, origin: StatementOrigin) -> None:
    """DT-1002 and DT-1003 for properties of a table, at their place in the script."""
    if statement.kind not in (S.SparkKind.CREATE_TABLE, S.SparkKind.ALTER_TABLE):
        return
    try:
        require_table_properties(statement.text)
    except DTError as e:
        start, span = statement.offset, e.span or Span(0, len(statement.text))
        raise e.at(origin.script, Span(start + span.start, start + span.end)) from None


def _require_writable(context: Context, statement: S.SparkStatement) -> None:
    """DT-1109 for a dynamic table that Spark would write."""
    for target in statement.targets:
        if statement.kind in _WRITES and context.catalog.get(target) is not None:
            hint = _of_dynamic_table(statement, target)
            raise error("DT-1109", name=target, kind="dynamic table", expected="table", hint=hint)


def _of_dynamic_table(statement: S.SparkStatement, name: Name) -> str:
    """What to write in the place of a statement about tables."""
    if statement.kind in (S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW):
        return f"Write DROP DYNAMIC TABLE {name}."
    if statement.new_name is not None:
        return f"Write ALTER DYNAMIC TABLE {name} RENAME TO {statement.new_name}."
    if statement.kind in (S.SparkKind.ALTER_TABLE, S.SparkKind.ALTER_VIEW):
        return (
            f"Its columns are those of its query: change that with CREATE OR ALTER DYNAMIC TABLE "
            f"{name} …; ALTER DYNAMIC TABLE {name} SET … changes its options."
        )
    if statement.kind in _CREATES:
        return f"Choose another name, or DROP DYNAMIC TABLE {name} first."
    return "It is read-only: change its sources, or its definition."


def _require_free(context: Context, statement: S.SparkStatement) -> None:
    """DT-1105 where a table or view would take a name that Spark does not know to be taken."""
    catalog, taken = context.catalog, statement.new_name
    made = statement.kind in _CREATES
    for name in (taken, statement.target if made and not statement.temporary else None):
        if name is not None and catalog.find_stream(name) is not None:
            raise name_taken(Named.STREAM, name, same=False)
        if name is not None and catalog.find_sink(name) is not None:
            raise name_taken(Named.SINK, name, same=False)
    if taken is not None and catalog.get(taken) is not None:
        raise name_taken(Named.DYNAMIC_TABLE, taken, same=False)


def _drop_ours(context: Context, statement: S.SparkStatement) -> str | None:
    """What DROP says of a table of the lake, which UNDROP can bring back, and of one in
    quarantine; None where Spark is to run the statement."""
    name = statement.target
    if statement.kind is S.SparkKind.DROP_TABLE and name and context.lake_tables.drop(name):
        return f"Table {name} dropped; UNDROP TABLE brings it back."
    return context.lake_tables.drop_broken(statement)


def _refuse_quarantined(context: Context, statement: S.SparkStatement) -> None:
    """DT-5112 for a table or view to be made in the place of one in quarantine."""
    if statement.kind not in _CREATES or statement.temporary or statement.target is None:
        return
    found = context.catalog.quarantine.find(statement.target)
    if found is not None and found.kind in (Named.TABLE, Named.DYNAMIC_TABLE):
        raise found.error


# -- during and after ------------------------------------------------------------------------------


@contextmanager
def _marked(context: Context, statement: S.SparkStatement) -> Iterator[None]:
    """An id in the commits of what writes rows, alone: it marks those of the whole session."""
    if statement.kind not in _MARKED:
        yield
        return
    with context.streams.lock:
        made = uuid.uuid4().hex
        with marked(context.spark, statement=made):
            yield
        context.state.last_query_id = made
