"""DROP SCHEMA … CASCADE, and UNDROP SCHEMA, which brings back all that went with it.

What a dropped schema held is written next to the folders in the trash, before anything is
dropped: tables by those folders, views by their texts, dynamic tables by their ids, streams with
their offsets. Sinks are named and stay dropped: a restored one would deliver again.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.rights.lives import (
    drop_schema_rights,
    restoring_rights,
    schema_object_ids,
)
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.lake import write_durable
from dt_jupyter.model import (
    EXTENSION_DAYS,
    Name,
    Named,
    StatementStep,
    Stream,
    StreamMeaning,
    Timestamp,
    ViewSource,
    did_you_mean,
    error,
    plain,
    quote,
)
from dt_jupyter.sources import lost_names, without_data
from dt_jupyter.spark import RelationKind, lookup

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.streams import StatementRecord


_log = logging.getLogger("dt_jupyter.engine")


@dataclass(frozen=True)
class DroppedSchema:
    """What a schema held when it was dropped; `tables` are the folders in the trash, by name."""

    schema: str
    number: int
    tables: Mapping[str, str]
    views: Mapping[str, str]
    dynamic: Mapping[str, str]
    streams: tuple[Mapping[str, Any], ...]
    acting: tuple[str, ...]

    @property
    def lost(self) -> str:
        """What does not come back, as the end of a sentence."""
        return f" Not restored: {', '.join(self.acting)}." if self.acting else ""


def drop_schema(
    context: Context, schema: str, run: Callable[[], DataFrame], *, cascade: bool
) -> DataFrame:
    """Drops a schema, with `cascade` with all that it holds: `run` has Spark drop it, once the
    lake's tables are moved to the trash. It is dropped whole or not at all: from when Spark has
    dropped it, it is completed, and until then a failure brings all of it back."""
    there = context.spark.catalog.databaseExists(quote(schema))
    ids = schema_object_ids(context.access, schema)
    dropping = StatementStep(StepKind.SCHEMA_DROPPED, {"schema": schema, "there": there})
    with context.log.begin(f"DROP SCHEMA {plain(schema)}", dropping) as record:
        if there and cascade:
            _put_aside(context, schema, record)
        done = run()
        record.decide(StepKind.FORGET_SCHEMA, **_held_by_catalog(context, schema), ids=ids)
    return done


def _put_aside(context: Context, schema: str, record: StatementRecord) -> None:
    """The tables of a schema, and what UNDROP SCHEMA brings back."""
    aside = {}
    for table in _held(context, schema):
        label = context.lake_tables.put_aside(Name(schema, table), record)
        if label is not None:
            aside[table] = label
    _write(context, schema, aside, record)


def restore_schema(context: Context, facts: Mapping[str, Any]) -> None:
    """Undoes a drop, once the tables are back: where the session has dropped the schema, it knows
    all that it holds again."""
    if facts["there"] and not context.spark.catalog.databaseExists(quote(facts["schema"])):
        context.publisher.restore_schemas((facts["schema"],))


def _held_by_catalog(context: Context, schema: str) -> dict[str, Any]:
    """What the catalog is to forget, by ids: another schema may have the name by then."""
    catalog = context.catalog
    return {
        "schema": schema,
        "objects": [
            o.id
            for objects in (catalog.list(), catalog.sinks(), catalog.tasks(), catalog.streams())
            for o in objects
            if o.name.schema == schema
        ],
        "tables": [t.table_id for t in catalog.tables() if t.name.schema == schema],
        "views": [v.name.table for v in catalog.views() if v.name.schema == schema],
    }


def forget_schema(context: Context, facts: Mapping[str, Any]) -> None:
    """What a schema held that is gone goes with it: dynamic tables and streams can be brought back
    by UNDROP, sinks, tasks and remembered names cannot."""
    catalog, schema, gone = context.catalog, facts["schema"], set(facts["objects"])
    for table in catalog.list():
        if table.id in gone:
            context.refresher.cancel(table.id)
            catalog.drop(table.name)
    for sink in catalog.sinks():
        if sink.id in gone:
            context.sinks.drop(sink.name)
    for task in catalog.tasks():
        if task.id in gone:
            catalog.drop_task(task.name)
    for stream in catalog.streams():
        if stream.id in gone:
            catalog.drop_stream(stream.name, from_sink=True)
    lost = {t.name for t in catalog.tables() if t.table_id in facts["tables"]}
    lost |= {Name(schema, view) for view in facts["views"]}
    for name in lost:
        if name.schema == schema:
            catalog.forget(name)
    _lift_quarantine(context, schema)
    drop_schema_rights(context.access, schema, facts["ids"])


def _lift_quarantine(context: Context, schema: str) -> None:
    quarantine = context.catalog.quarantine
    for found in quarantine.all():
        if found.name.startswith(f"{schema}."):
            quarantine.lift(found.kind, found.name)


def _held(context: Context, schema: str) -> list[str]:
    """The names of the relations that Spark knows."""
    rows = context.spark.sql(f"SHOW TABLES IN {quote(schema)}").collect()
    return [str(r["tableName"]) for r in rows if not r["isTemporary"]]


def _write(
    context: Context, schema: str, aside: Mapping[str, str], record: StatementRecord
) -> None:
    catalog, folder = context.catalog, context.layout.dropped_schemas
    dynamic = {t.name.table: t.id for t in catalog.list() if t.name.schema == schema}
    views = {}
    for table in _held(context, schema):
        relation = lookup(context.spark, Name(schema, table)) if table not in dynamic else None
        if relation is not None and relation.kind is RelationKind.VIEW and relation.text:
            views[table] = relation.text
    found = DroppedSchema(
        schema,
        1 + max((d.number for d in _dropped(context)), default=0),
        aside,
        views,
        dynamic,
        tuple(_stream_facts(s) for s in catalog.streams() if s.name.schema == schema),
        tuple(
            str(name)
            for name in [s.name for s in catalog.sinks()] + [t.name for t in catalog.tasks()]
            if name.schema == schema
        ),
    )
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{uuid.uuid4().hex}.json"
    record.will(StepKind.FILE_MADE, path=str(file))
    write_durable(file, json.dumps(asdict(found)))


def _stream_facts(stream: Stream) -> dict[str, Any]:
    return {
        "id": stream.id,
        "name": stream.name.table,
        "source": [stream.source.schema, stream.source.table],
        "kind": stream.kind,
        "frontier": dict(stream.frontier),
        "advanced": str(stream.advanced),
        "created": str(stream.created),
        "append_only": stream.append_only,
        "initial": stream.initial,
        "number": stream.number,
        "comment": stream.comment,
        "extension_days": stream.extension_days,
        "meaning": None if stream.meaning is None else stream.meaning.to_json(),
    }


def _dropped(context: Context) -> list[DroppedSchema]:
    return [d for d, _ in _files(context)]


def _files(context: Context) -> list[tuple[DroppedSchema, Path]]:
    """Those that can be read, the last dropped first."""
    found = []
    folder = context.layout.dropped_schemas
    for file in folder.glob("*.json") if folder.is_dir() else ():
        try:
            told = json.loads(file.read_text("utf-8"))
            lists = {k: tuple(told[k]) for k in ("streams", "acting")}
            found.append((DroppedSchema(**{**told, **lists}), file))
        except (ValueError, KeyError, TypeError) as e:
            _log.warning("what a dropped schema held cannot be read from %s: %s", file, e)
    return sorted(found, key=lambda pair: -pair[0].number)


def labels_apart(context: Context) -> tuple[frozenset[str], frozenset[str]]:
    """The dynamic tables, and the folders of tables, that went with a schema."""
    dropped = _dropped(context)
    tables = frozenset(i for d in dropped for i in d.dynamic.values())
    return tables, frozenset(label for d in dropped for label in d.tables.values())


# -- back ------------------------------------------------------------------------------------------


def undrop_schema(context: Context, schema: str) -> str:
    """The schema of that name that was dropped last, with all that it held; what was done.
    DT-1118. All or nothing. Of one that plain Spark dropped, what the lake still has."""
    if lost := lost_names(context.sources, schema):
        return _restore_names(context, schema, lost)
    if context.spark.catalog.databaseExists(quote(schema)):
        raise error("DT-1118", name=schema, problem="the name is taken", hint="Drop the other.")
    known = _files(context)
    found = next(((d, f) for d, f in known if d.schema == schema), None)
    if found is None:
        problem = "no schema of that name was dropped"
        hint = did_you_mean(schema, sorted({d.schema for d, _ in known}))
        raise error("DT-1118", name=schema, problem=problem, hint=hint)
    dropped, file = found
    making = StatementStep(StepKind.SCHEMA_MADE, {"schema": schema})
    steps = (making, restoring_rights(schema))
    with context.log.begin(f"UNDROP SCHEMA {plain(schema)}", *steps) as record:
        context.spark.sql(f"CREATE DATABASE {quote(schema)}")
        context.publisher.part_folder(schema)
        _bring_back(context, dropped, record)
        record.will(StepKind.FILE_REMOVED, path=str(file), text=file.read_text("utf-8"))
        file.unlink()
    return f"Schema {schema} restored.{dropped.lost}"


def _restore_names(context: Context, schema: str, lost: Mapping[Name, Named]) -> str:
    """The names of a schema that the session lost."""
    gone = without_data(context.sources, lost)
    context.publisher.restore_schemas([schema])
    names = ", ".join(sorted(n.table for n in lost if n not in gone)) or "nothing"
    told = f"Schema {schema}: {names} restored."
    if gone:
        told += f" The files of {', '.join(sorted(n.table for n in gone))} were deleted."
    return told


def _bring_back(context: Context, dropped: DroppedSchema, record: StatementRecord) -> None:
    catalog = context.catalog
    for table, label in dropped.tables.items():
        context.lake_tables.restore(Name(dropped.schema, table), label, record)
    for table, dt_id in dropped.dynamic.items():
        last = catalog.by_id(dt_id)
        if last is not None and last.dropped is not None:
            record.will(StepKind.DYNAMIC_TABLE_BACK, id=dt_id)
            context.names.undrop(Name(dropped.schema, table))
    waiting = [ViewSource(Name(dropped.schema, t), text) for t, text in dropped.views.items()]
    for view in waiting:
        record.will(StepKind.VIEW_MADE, name=[view.name.schema, view.name.table])
    for view in context.publisher.restore_views(waiting):
        catalog.record_view(view.name, view.text)
    for facts in dropped.streams:
        record.will(StepKind.STREAM_MADE, id=facts["id"])
        catalog.create_stream(_stream(facts, dropped.schema))


def _stream(facts: Mapping[str, Any], schema: str) -> Stream:
    return Stream(
        facts["id"],
        Name(schema, facts["name"]),
        Name(*facts["source"]),
        facts["kind"],
        facts["frontier"],
        Timestamp.parse(facts["advanced"]),
        Timestamp.parse(facts["created"]),
        facts["append_only"],
        facts["initial"],
        facts["number"],
        facts["comment"],
        extension_days=facts.get("extension_days", EXTENSION_DAYS),
        meaning=StreamMeaning.of(facts["meaning"]) if facts.get("meaning") else None,
    )


__all__ = ["drop_schema", "forget_schema", "labels_apart", "restore_schema", "undrop_schema"]
