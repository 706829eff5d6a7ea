"""The objects of the registry as rows: which tables and columns they are, read and put back."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, Connection, Row, text
from sqlalchemy.exc import OperationalError

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.registry_log import Entry, RegistryPicture, RegistryRow
from dt_jupyter.catalog.triggers import is_sqlite, key_text
from dt_jupyter.model import Name


@dataclass(frozen=True)
class RegisteredKind:
    """A table of the catalog whose rows are registered; `columns` are those that are stored nowhere
    else, `key` among them: not those that the logs of tables have."""

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    name: tuple[str, ...]
    where: str = "TRUE"


KINDS = {
    k.table: k
    for k in (
        RegisteredKind("warehouse", ("name",),
             ("name", "max_concurrency", "weight", "suspended", "created", "auto_suspend",
              "auto_resume", "owner"), ("name",)),
        RegisteredKind("dynamic_table", ("id",),
             ("id", "schema_name", "table_name", "definition", "target_lag_seconds", "warehouse",
              "mode", "effective_mode", "mode_reason", "initialize", "created", "scheduling",
              "scheduling_reason", "scheduler_enabled", "cluster_by", "retention_days",
              "alter_sources", "comment", "dropped", "state_format", "needs_reinit"),
             ("schema_name", "table_name")),
        RegisteredKind("base_table", ("schema_name", "table_name"),
             ("schema_name", "table_name", "table_id", "path"), ("schema_name", "table_name")),
        RegisteredKind("base_view", ("schema_name", "table_name"),
             ("schema_name", "table_name", "ordinal", "text"), ("schema_name", "table_name")),
        RegisteredKind("stream", ("id",),
             ("id", "schema_name", "stream_name", "source_schema", "source_name", "source_kind",
              "frontier", "advanced", "created", "append_only", "initial", "number", "comment",
              "extension_days"),
             ("schema_name", "stream_name")),
        RegisteredKind("sink", ("id",),
             ("id", "schema_name", "sink_name", "source_schema", "source_name", "source_kind",
              "url", "settings", "target_lag_seconds", "warehouse", "created", "comment", "state"),
             ("schema_name", "sink_name")),
        RegisteredKind("task", ("id",),
             ("id", "schema_name", "task_name", "body", "current_schema", "settings", "schedule",
              "after", "condition", "warehouse", "options", "created", "since", "comment", "state",
              "reason"), ("schema_name", "task_name")),
        RegisteredKind("user_function", ("name",),
             ("name", "kind", "returns", "immutable", "source", "place", "captured", "packages",
              "parameters", "comment", "created", "on_change"), ("name",)),
        RegisteredKind("hold", ("id",),
             ("id", "kind", "name", "subject", "point", "created", "expires", "tables", "host",
              "pid", "uid", "started"), ("name",), "name IS NOT NULL"),
        RegisteredKind("role", ("name",), ("name", "created", "comment"), ("name",)),
        RegisteredKind("granted",
             ("role", "right_name", "space", "schema_name", "object_name", "dropped"),
             ("role", "right_name", "kind", "space", "schema_name", "object_name", "dropped",
              "granted_on", "granted_by"), ("role", "right_name")),
    )
}  # fmt: skip
_KEPT = 1000
_VALUES = re.compile("decode|JSON")
"""What SQLite says of a value, not of the file."""
_log = logging.getLogger("dt_jupyter.catalog")
_NEW = {"sequence": 0, "error_count": 0, "generation": 0}


def last_stamp(connection: Connection) -> int:
    """The number of the newest change."""
    query = f"SELECT max(stamp) FROM registry_change WHERE {_is_sound(connection)}"
    return int(connection.execute(text(query)).scalar() or 0)


def changes(connection: Connection, after: int) -> list[Entry]:
    """The objects that were changed after change number `after`, in their present state."""
    query = (
        "SELECT max(stamp), kind, key FROM registry_change WHERE stamp > :after "
        f"AND {_is_sound(connection)} GROUP BY kind, key ORDER BY 1"
    )
    found = []
    for stamp, kind, key in connection.execute(text(query), {"after": after}).all():
        with _unreadable_left_out():
            found.append(Entry(stamp, kind, key, _sound(_row(connection, KINDS[kind], key))))
    return found


def _is_sound(connection: Connection) -> str:
    """SQLite takes any value for a number or JSON."""
    sound = "typeof(stamp) = 'integer' AND json_valid(key)"
    return sound if is_sqlite(connection) else "TRUE"


@contextmanager
def _unreadable_left_out() -> Iterator[None]:
    """An object whose row cannot be read stays in the file as it was last: it may be put back."""
    try:
        yield
    except (KeyError, ValueError, OperationalError) as e:
        if isinstance(e, OperationalError) and not _VALUES.search(str(e.orig)):
            raise
        _log.warning("a row of the catalog is not registered again: %s", e)


def _sound(row: RegistryRow | None) -> RegistryRow | None:
    if row is not None and any(isinstance(value, bytes) for value in row.values()):
        raise ValueError("it holds bytes")
    return row


def picture(connection: Connection) -> RegistryPicture:
    """All objects in their present state."""
    found = RegistryPicture(last_stamp(connection))
    for kind in KINDS.values():
        for one in _rows(connection, kind):
            with _unreadable_left_out():
                row = _sound(dict(zip(kind.columns, one[1:], strict=True)))
                if row is not None:
                    found.rows[kind.table, one[0]] = row
    return found


def _rows(connection: Connection, kind: RegisteredKind) -> Iterator[Row[Any]]:
    """Key and columns of each row; of a SQLite file without those that cannot be read."""
    key = key_text(connection, kind.key)
    query = f"SELECT {key}, {_listed(kind.columns)} FROM {kind.table} WHERE {kind.where}"
    if not is_sqlite(connection):
        yield from connection.execute(text(query)).all()
        return
    ids = text(f"SELECT rowid FROM {kind.table} WHERE {kind.where}")
    one = text(f"{query} AND rowid = :rowid")
    for rowid in connection.execute(ids).scalars().all():
        with _unreadable_left_out():
            yield connection.execute(one, {"rowid": rowid}).one()


def restore(connection: Connection, wanted: RegistryPicture) -> dict[str, list[str]]:
    """The registry made what the picture says; the names of what was changed for it, by kind.

    What the catalog keeps of an object in addition to its registered columns stays.
    """
    before = picture(connection)
    changed: dict[str, list[str]] = {}
    for kind in KINDS.values():
        keys = [k for k in before.rows | wanted.rows if k[0] == kind.table]
        keys = [k for k in keys if before.rows.get(k) != wanted.rows.get(k)]
        kept = {k: _remove(connection, kind, k[1]) for k in keys}
        for each in keys:
            row = wanted.rows.get(each)
            if row is not None:
                new = {**_NEW, "graph_valid_from": row["created"]} if _is_dynamic(kind) else {}
                _put(connection, kind, {**new, **kept[each], **row})
            name = ".".join(str((row or before.rows[each])[c]) for c in kind.name)
            changed.setdefault(kind.table, []).append(name.removeprefix("default."))
    return changed


def named_rows(connection: Connection, objects: Collection[tuple[str, str]]) -> RegistryPicture:
    """The objects of these kinds and names, in their current state; the name `*` is that of all."""
    found = RegistryPicture()
    for (table, key), row in picture(connection).rows.items():
        name = Name(*parts).sql if len(parts := _name_parts(table, row)) == 2 else parts[0]
        if (table, name) in objects or (table, "*") in objects:
            found.rows[table, key] = row
    return found


def _name_parts(table: str, row: RegistryRow) -> list[str]:
    return [str(row[column]) for column in KINDS[table].name]


def restore_some(
    connection: Connection, wanted: RegistryPicture, objects: Collection[tuple[str, str]]
) -> None:
    """As `restore`, of the objects of these kinds and names alone."""
    now = named_rows(connection, objects)
    for each in now.rows.keys() | wanted.rows.keys():
        row, kind = wanted.rows.get(each), KINDS[each[0]]
        if row != now.rows.get(each):
            kept = _remove(connection, kind, each[1])
            if row is not None:
                _put(connection, kind, {**kept, **row})


def renumber(connection: Connection, stamp: int) -> None:
    """The next change has a number above `stamp`."""
    connection.execute(
        schema.registry_change.insert(),
        {
            "stamp": max(stamp, last_stamp(connection)) + 1,
            "kind": "warehouse",
            "key": key_of(["default"]),
        },
    )


def prune_changes(connection: Connection, upto: int) -> None:
    """Forget the changes up to a number that the file has, but the newest ones."""
    newest = min(upto, last_stamp(connection) - _KEPT)
    table = schema.registry_change
    connection.execute(table.delete().where(table.c.stamp <= newest))


def registered(connection: Connection, kind: str, *key: str) -> RegistryRow | None:
    """An object in its present state."""
    return _row(connection, KINDS[kind], key_of(key))


def _row(connection: Connection, kind: RegisteredKind, key: str) -> RegistryRow | None:
    query = f"SELECT {_listed(kind.columns)} FROM {kind.table} WHERE {_is(kind)}"
    values = _values(kind, key)
    found = connection.execute(text(f"{query} AND {kind.where}"), values).one_or_none()
    return None if found is None else dict(zip(kind.columns, found, strict=True))


def _remove(connection: Connection, kind: RegisteredKind, key: str) -> Mapping[str, Any]:
    values = _values(kind, key)
    query = text(f"SELECT * FROM {kind.table} WHERE {_is(kind)}")
    found = connection.execute(query, values).mappings().one_or_none()
    connection.execute(text(f"DELETE FROM {kind.table} WHERE {_is(kind)}"), values)
    return dict(found or {})


def _put(connection: Connection, kind: RegisteredKind, row: Mapping[str, Any]) -> None:
    """A truth value is 0 or 1 in a file that SQLite wrote."""
    types = schema.METADATA.tables[kind.table].c
    truths = {c for c, v in row.items() if isinstance(types[c].type, Boolean) and v is not None}
    values = {c: bool(v) if c in truths else v for c, v in row.items()}
    marks = ", ".join(f":{c}" for c in row)
    statement = f"INSERT INTO {kind.table} ({_listed(row)}) VALUES ({marks})"
    connection.execute(text(statement), values)


def _is_dynamic(kind: RegisteredKind) -> bool:
    return kind.table == "dynamic_table"


def _is(kind: RegisteredKind) -> str:
    return " AND ".join(f'"{c}" = :{c}' for c in kind.key)


def _listed(columns: Iterable[str]) -> str:
    return ", ".join(f'"{c}"' for c in columns)


def _values(kind: RegisteredKind, key: str) -> dict[str, Any]:
    return dict(zip(kind.key, json.loads(key), strict=True))


def key_of(values: Iterable[object]) -> str:
    """A key as the catalog's triggers write it."""
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))
