"""ALTER SCHEMA … RENAME TO and SWAP WITH: all that a schema holds goes along, as one unit.

The names are changed in one transaction of the catalog, which is the whole of it: no file of a
table moves, so that neither a kill nor another reader or writer sees anything half done. Then the
session learns the new names, as one that opens the lake does; it drops nothing by which Spark would
delete rows. What reads within a schema reads it on; what reads it from elsewhere has a text that
names it, and follows that, as after ALTER TABLE … RENAME.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.catalog import SchemaMoves
from dt_jupyter.engine.dropped_schemas import labels_apart
from dt_jupyter.engine.rights.lives import drop_schema_rights
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.lake import folder_exists, is_delta, list_folders, move_folder, reach, sql_path
from dt_jupyter.model import (
    DTError,
    Name,
    Named,
    StatementStep,
    error,
    name_taken,
    plain,
    quote,
)
from dt_jupyter.spark import RelationKind, lookup
from dt_jupyter.sql import columns_by_schema

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context

_SECONDS = 30.0
"""Seconds that a schema waits for the refreshes of its dynamic tables."""
_PAUSE = 0.05
_log = logging.getLogger("dt_jupyter.engine")


def rename_schema(context: Context, old: str, new: str) -> str:
    """What was done. DT-1105, DT-1136, DT-1150 to DT-1152."""
    if old == new:
        return f"Schema {old} has that name, nothing done."
    _require_renamable(context, old)
    if context.spark.catalog.databaseExists(quote(new)) or _is_named(context, new):
        raise name_taken(Named.SCHEMA, new)
    _take_names(context, {old: new})
    return f"Schema {old} renamed to {new}."


def swap_schemas(context: Context, one: str, other: str) -> str:
    """What was done. DT-1136, DT-1150 to DT-1152."""
    for schema in (one, other):
        _require_renamable(context, schema)
    if one == other:
        return f"Schema {one} is both, nothing done."
    _take_names(context, {one: other, other: one})
    return f"Schemas {one} and {other} have each other's name."


def _require_renamable(context: Context, schema: str) -> None:
    if schema == "default":
        raise error("DT-1151", name=schema, problem="it is always there, and Spark begins in it")
    if not context.spark.catalog.databaseExists(quote(schema)):
        raise error("DT-1136", name=schema, hint="See SHOW SCHEMAS.")
    if context.spark.conf.get("spark.sql.catalogImplementation", "in-memory") != "in-memory":
        hint = "Rename its tables one by one: ALTER TABLE … RENAME TO …."
        raise _refused(schema, "its tables are Hive's, which does not release them", hint)


def _is_named(context: Context, schema: str) -> bool:
    """Whether anything of the catalog is in a schema that the session does not know."""
    catalog = context.catalog
    named = (catalog.list(), catalog.streams(), catalog.sinks(), catalog.tasks())
    names = [o.name for objects in (*named, catalog.tables(), catalog.views()) for o in objects]
    return any(name.schema == schema for name in names)


def _refused(schema: str, problem: str, hint: str) -> DTError:
    return error("DT-1150", name=schema, problem=problem, hint=hint)


def _take_names(context: Context, names: Mapping[str, str]) -> None:
    ids = {schema: _find_ids(context, schema) for schema in names}
    step = StatementStep(StepKind.SCHEMAS_KNOWN, {"names": dict(names), "ids": ids})
    with context.log.begin(f"ALTER SCHEMA {plain(next(iter(names)))}", step):
        _rename_schemas(context, names)


def _rename_schemas(context: Context, names: Mapping[str, str]) -> None:
    move_labels(context)
    held = {schema: _held(context, schema) for schema in names}
    moves = _moves(context, names, held)
    _require_movable(context, moves)
    reach("schemas_checked")
    _rename_when_idle(context, moves)
    reach("schemas_renamed")
    try:
        _make_known(context, moves.names, {s: each.files for s, each in held.items()})
    finally:
        move_labels(context)
    reach("schemas_known")


# -- what there is ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class HeldRelations:
    """What the session knows in a schema: Delta tables by their folders, views by their texts, and
    the folders of tables of other formats."""

    tables: Mapping[Name, str]
    views: Mapping[Name, str]
    files: Mapping[Name, str]


def _held(context: Context, schema: str) -> HeldRelations:
    dynamic = {t.name for t in context.catalog.list()}
    known = context.publisher.known_tables()
    tables = {name: path for name, path in known.items() if name.schema == schema}
    views, files = dict[Name, str](), dict[Name, str]()
    for row in context.spark.sql(f"SHOW TABLES IN {quote(schema)}").collect():
        name = Name(schema, row["tableName"])
        relation = None if row["isTemporary"] or name in dynamic else lookup(context.spark, name)
        if relation is None:
            continue
        if relation.kind is RelationKind.VIEW:
            views[name] = relation.text or ""
        elif relation.provider == "delta" and relation.location:
            tables[name] = relation.location
        elif relation.location:
            files[name] = relation.location
    waiting = {v.name: v.text for v in context.catalog.views() if v.name.schema == schema}
    return HeldRelations(tables, {**waiting, **views}, files)


def _moves(
    context: Context, names: Mapping[str, str], held: Mapping[str, HeldRelations]
) -> SchemaMoves:
    apart, kept = labels_apart(context)
    logs = context.sources.logs
    tables = {
        name: (logs[path].table_id(), path)
        for each in held.values()
        for name, path in each.tables.items()
        if is_delta(path)
    }
    views = {name: text for each in held.values() for name, text in each.views.items()}
    return SchemaMoves(names, tables, views, apart, tuple(_labels(context, names, kept)))


def _labels(
    context: Context, names: Mapping[str, str], kept: frozenset[str]
) -> Iterator[tuple[str, str]]:
    """New names for the folders of dropped tables, which none has, nor ever had."""
    trash = context.layout.trash
    found = sorted(p.name for p, _ in list_folders(trash))
    taken = {int(n) for n in (name.rpartition(".")[2] for name in found) if n.isdigit()}
    numbers = count(max(taken, default=1) + 1)
    for label in found:
        schema, dot, rest = label.partition(".")
        if dot and schema in names and label not in kept:
            yield label, f"{names[schema]}.{rest.partition('.')[0]}.{next(numbers)}"


def _require_movable(context: Context, moves: SchemaMoves) -> None:
    """DT-1150 for what cannot be determined, or would have no name."""
    for schema in moves.names:
        rows = context.spark.sql(f"SHOW USER FUNCTIONS IN {quote(schema)}").collect()
        functions = [r[0] for r in rows if "." in r[0]]  # the others are the session's
        if functions:
            problem = f"it holds the function {functions[0]}"
            raise _refused(schema, problem, "Drop the function, and create it again afterwards.")
    texts = {t.name: t.definition.query for t in context.catalog.list()} | dict(moves.views)
    for name, text in texts.items():
        if name.schema in moves.names:
            _require_readable(name, text)


def _require_readable(name: Name, text: str) -> None:
    found = columns_by_schema(text, name.schema)
    if found is not None:
        hint = f"Name the column without the schema in {name}."
        raise _refused(
            name.schema, f"{found} in the query of {name} is a column with its schema", hint
        )


# -- what is done ----------------------------------------------------------------------------------


def _rename_when_idle(context: Context, moves: SchemaMoves) -> None:
    """DT-1152 where a refresh does not end."""
    until = time.monotonic() + _SECONDS
    while True:
        try:
            return context.catalog.rename_schemas(moves)
        except DTError as e:
            if e.code != "DT-1152" or time.monotonic() > until:
                raise
        time.sleep(_PAUSE)


def make_schemas_known(context: Context, facts: Mapping[str, Any]) -> None:
    """After a process that ended: the session's names are the catalog's, where it had come so
    far."""
    names, ids = facts["names"], facts["ids"]
    if all(_find_ids(context, new) == ids[old] for old, new in names.items()):
        left = [s for s in names if context.spark.catalog.databaseExists(quote(s))]
        _make_known(context, names, {s: _held(context, s).files for s in left})


def _find_ids(context: Context, schema: str) -> list[str]:
    """The ids that distinguish what a schema holds from what others hold; views, whose texts follow
    it, by their names."""
    catalog = context.catalog
    objects = (catalog.list(), catalog.streams(), catalog.sinks(), catalog.tasks())
    known = [(o.name, o.id) for found in objects for o in found]
    known += [(table.name, table.table_id) for table in catalog.tables()]
    known += [(view.name, view.name.table) for view in catalog.views()]
    return sorted(own for name, own in known if name.schema == schema)


def _make_known(
    context: Context, names: Mapping[str, str], files: Mapping[str, Mapping[Name, str]]
) -> None:
    """The session's names as the catalog's are. Tables of other formats, `files`, which it alone
    knows, go from schema to schema."""
    current, waiting = context.schema(), dict(files)
    try:
        for old, new in _hops(names):
            waiting[new] = waiting.pop(old, {})
            _carry(context, [name.table for name in waiting[new]], old, new)
            _let_go(context, old)
    except PySparkException as e:
        _log.warning("the session still has old names of schemas: %s", e)
    finally:
        context.publisher.restore_schemas(tuple(names.values()))
    if len(names) == 1 and current in names:
        context.spark.catalog.setCurrentDatabase(names[current])
    for found in context.catalog.quarantine.all():
        if any(found.name.startswith(f"{schema}.") for schema in names):
            context.catalog.quarantine.lift(found.kind, found.name)


def _hops(names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    aside = {next(iter(names)): f"aside_{uuid.uuid4().hex}"} if len(names) > 1 else {}
    yield from aside.items()
    for old, new in reversed(list(names.items())):
        yield aside.get(old, old), new


def _carry(context: Context, tables: Iterable[str], old: str, new: str) -> None:
    spark = context.spark
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(new)}")
    for table in tables:
        found, there = lookup(spark, Name(old, table)), Name(new, table)
        if found is None or not found.location:
            continue
        place = sql_path(found.location)
        spark.sql(f"CREATE TABLE {there.sql} LIKE {Name(old, table).sql} LOCATION {place}")
        if found.files is not None and found.files.partitioned:
            spark.sql(f"MSCK REPAIR TABLE {there.sql}")


def _let_go(context: Context, schema: str) -> None:
    """The session knows the schema no more. Spark deletes the folder of a schema with it, so that
    another one, which is empty, is its own first."""
    empty = context.layout.own / "renamed" / uuid.uuid4().hex
    empty.mkdir(parents=True)
    spark = context.spark
    if not spark.catalog.databaseExists(quote(schema)):
        return
    spark.sql(f"ALTER DATABASE {quote(schema)} SET LOCATION {sql_path(empty)}")
    spark.sql(f"DROP DATABASE {quote(schema)} CASCADE")


def unmake_schema(context: Context, facts: Mapping[str, Any]) -> None:
    """Undoes a schema that was made, once what it held is gone; one that others use stays."""
    schema, spark = facts["schema"], context.spark
    there = spark.catalog.databaseExists(quote(schema))
    used = there and not spark.sql(f"SHOW TABLES IN {quote(schema)}").isEmpty()
    if used or _is_named(context, schema):
        return
    drop_schema_rights(context.access, schema, {})
    if there:
        _let_go(context, schema)
    with suppress(OSError):  # what is in it does not belong to the lake
        (context.layout.tables / f"{schema}.db").rmdir()


def move_labels(context: Context) -> None:
    """The folders of dropped tables have the names by which UNDROP looks for them: again and again
    until all have."""
    trash, waiting = context.layout.trash, context.catalog.labels()
    for old, new in waiting:
        if folder_exists(trash / old) and not folder_exists(trash / new):
            move_folder(trash / old, trash / new)
        reach("label_moved")
    if waiting:
        context.catalog.labels_moved()


__all__ = ["make_schemas_known", "move_labels", "rename_schema", "swap_schemas", "unmake_schema"]
