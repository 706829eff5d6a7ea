"""DROP SCHEMA … CASCADE, and UNDROP SCHEMA, which brings back all that went with it.

What a dropped schema held is written beside the folders that were put aside, before anything is
dropped: tables by those folders, views by their texts, dynamic tables by their ids, streams with
where they stood. Sinks are told and stay dropped: one that came back would deliver again.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake import write_durable
from dt_jupyter.model import (
    EXTENSION_DAYS,
    Name,
    Named,
    Stream,
    StreamMeaning,
    Timestamp,
    ViewSource,
    did_you_mean,
    error,
    quote,
    undo,
)
from dt_jupyter.sources import lost_names, without_data
from dt_jupyter.spark import RelationKind, lookup

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context


_log = logging.getLogger("dt_jupyter.engine")


@dataclass(frozen=True)
class DroppedSchema:
    """What a schema held when it was dropped; `tables` are the folders put aside, by name."""

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


def drop_schema(context: Context, schema: str, run: Callable[[], object]) -> None:
    """Drops a schema with all that it holds: `run` has Spark drop it, once the lake's tables are
    put aside. A failure brings those back."""
    held = _held(context, schema)
    aside: dict[str, str] = {}
    file: Path | None = None
    try:
        for table in held:
            path = context.lake_tables.put_aside(Name(schema, table))
            if path is not None:
                aside[table] = path.name
        file = _write(context, schema, aside)
        run()
    except BaseException as e:
        undo(
            e,
            *(lambda t=t: context.lake_tables.undrop(Name(schema, t)) for t in aside),
            *([file.unlink] if file is not None else []),
        )
        raise


def _held(context: Context, schema: str) -> list[str]:
    """The names of the relations that Spark knows."""
    rows = context.spark.sql(f"SHOW TABLES IN {quote(schema)}").collect()
    return [str(r["tableName"]) for r in rows if not r["isTemporary"]]


def _write(context: Context, schema: str, aside: Mapping[str, str]) -> Path:
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
    write_durable(file, json.dumps(asdict(found)))
    return file


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
    context.spark.sql(f"CREATE DATABASE {quote(schema)}")
    context.publisher.part_folder(schema)
    done: list[Callable[[], object]] = [
        lambda: context.spark.sql(f"DROP DATABASE {quote(schema)} CASCADE")
    ]
    try:
        _bring_back(context, dropped, done)
    except BaseException as e:
        undo(e, *reversed(done))
        raise
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


def _bring_back(context: Context, dropped: DroppedSchema, done: list[Callable[[], object]]) -> None:
    for table, label in dropped.tables.items():
        name = Name(dropped.schema, table)
        context.lake_tables.restore(name, label)
        done.append(lambda n=name: context.lake_tables.drop(n))  # type: ignore[misc]
    for table, dt_id in dropped.dynamic.items():
        name = Name(dropped.schema, table)
        last = context.catalog.by_id(dt_id)
        if last is not None and last.dropped is not None:
            context.names.undrop(name)
            done.append(lambda n=name: context.catalog.drop(n))  # type: ignore[misc]
    waiting = [ViewSource(Name(dropped.schema, t), text) for t, text in dropped.views.items()]
    for view in context.publisher.restore_views(waiting):
        context.catalog.record_view(view.name, view.text)
        done.append(lambda n=view.name: context.catalog.forget(n))  # type: ignore[misc]
    for facts in dropped.streams:
        stream = _stream(facts, dropped.schema)
        context.catalog.create_stream(stream)
        done.append(
            lambda n=stream.name: context.catalog.drop_stream(n, from_sink=True)  # type: ignore[misc]
        )


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


__all__ = ["drop_schema", "labels_apart", "undrop_schema"]
