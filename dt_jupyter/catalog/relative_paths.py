"""The paths of an older catalog made relative to its lake, wherever that is by now."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sqlalchemy import Column, Connection, Table, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import definition_digest, dump, from_definition, to_definition
from dt_jupyter.catalog.roots import LakeRoot, root_of
from dt_jupyter.catalog.values import HeldTable
from dt_jupyter.lake import LakeError, TableLog, is_delta

_OWN = "/_dt/"
_TABLES = "/tables/"
Rewrite = Callable[[str], str]


def make_relative(connection: Connection) -> None:
    """All stored paths of the lake, as they were written in its present place, or elsewhere.

    Its former place follows from the paths of what the engine owns, and from tables of the same id.
    """
    here = root_of(connection)
    _keep_digests(connection)
    for root in (here, *sorted(_former(connection, here), key=lambda r: r.folder)):
        for column, rewrite in _columns(root):
            _rewrite(connection, column, rewrite)


def _columns(root: LakeRoot) -> Iterator[tuple[Column[Any], Rewrite]]:
    def definition(text: str) -> str:
        return from_definition(to_definition(text, root), root)

    def held(text: str) -> str:
        tables = [HeldTable(**t) for t in json.loads(text)]
        return dump([asdict(root.stored_held(t)) for t in tables])

    def targets(text: str) -> str:
        return dump([root.stored(t) for t in json.loads(text)])

    yield schema.dynamic_table.c.definition, definition
    yield schema.definition.c.text, definition
    yield schema.stage.c.path, root.stored
    yield schema.base_table.c.path, root.stored
    yield schema.base_view.c.text, root.stored_text
    yield schema.intent.c.path, root.stored
    yield schema.intent.c.targets, targets
    yield schema.hold.c.tables, held


def _rewrite(connection: Connection, column: Column[Any], rewrite: Rewrite) -> None:
    table: Table = column.table
    for value in connection.execute(select(column).distinct()).scalars().all():
        new = None if value is None else rewrite(value)
        if new != value:
            connection.execute(table.update().where(column == value).values({column.name: new}))


def _keep_digests(connection: Connection) -> None:
    """Commits name definitions by the digests of their texts as they were."""
    table = schema.definition
    for text in connection.execute(select(table.c.text).where(table.c.digest == "")).scalars():
        own = (table.c.digest == "", table.c.text == text)
        connection.execute(table.update().where(*own).values(digest=definition_digest(text)))


def _former(connection: Connection, here: LakeRoot) -> set[LakeRoot]:
    """Other places where the lake was."""
    found = {p.rpartition(_OWN)[0] for p in _owned(connection)}
    base = schema.base_table
    for path, table_id in connection.execute(select(base.c.path, base.c.table_id)):
        before, _, inside = path.partition(_TABLES)
        if before not in (here.folder, "") and _is(here, f"tables/{inside}", table_id):
            found.add(before)
    return {LakeRoot(f) for f in found if f.startswith("/")} - {here}


def _owned(connection: Connection) -> Iterator[str]:
    """Paths of what the engine itself makes in a lake."""
    yield from connection.execute(select(schema.stage.c.path)).scalars()
    for text in connection.execute(select(schema.dynamic_table.c.definition)).scalars():
        for _, kind, _, path, _ in json.loads(text)["sources"]:
            if kind == "DYNAMIC_TABLE" and path:
                yield path
    for text in connection.execute(select(schema.hold.c.tables)).scalars():
        yield from (t["copy"] for t in json.loads(text) if t["copy"])
    for text in connection.execute(select(schema.intent.c.targets)).scalars():
        yield from json.loads(text or "[]")


def _is(here: LakeRoot, inside: str, table_id: str) -> bool:
    path = Path(here.folder) / inside
    try:
        return is_delta(path) and TableLog(path).table_id() == table_id
    except LakeError:
        return False
