"""The objects of the registry as rows: which tables and columns they are, read and put back."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import OperationalError

from dt_jupyter.catalog.registry_log import Entry, RegistryPicture, RegistryRow


@dataclass(frozen=True)
class RegisteredKind:
    """A table of the catalog whose rows are registered; `columns` are those that nothing else
    tells, `key` among them. What the logs of tables tell is none of them."""

    table: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    name: tuple[str, ...]
    where: str = "TRUE"

    @property
    def json_key(self) -> str:
        return f"json_array({', '.join(self.key)})"


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
    query = "SELECT max(stamp) FROM registry_change WHERE typeof(stamp) = 'integer'"
    return int(connection.exec_driver_sql(query).scalar() or 0)


def changes(connection: Connection, after: int) -> list[Entry]:
    """The objects that were changed after change number `after`, as they stand."""
    newest = connection.exec_driver_sql(
        "SELECT max(stamp), kind, key FROM registry_change WHERE stamp > ? "
        "AND typeof(stamp) = 'integer' AND json_valid(key) GROUP BY kind, key ORDER BY 1",
        (after,),
    ).all()
    found = []
    for stamp, kind, key in newest:
        with _unreadable_left_out():
            found.append(Entry(stamp, kind, key, _sound(_row(connection, KINDS[kind], key))))
    return found


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
    """All objects as they stand."""
    found = RegistryPicture(last_stamp(connection))
    for kind in KINDS.values():
        query = f"SELECT {kind.json_key}, {', '.join(kind.columns)} FROM {kind.table}"
        ids = connection.exec_driver_sql(f"SELECT rowid FROM {kind.table} WHERE {kind.where}").all()
        for (rowid,) in ids:
            with _unreadable_left_out():
                one = connection.exec_driver_sql(f"{query} WHERE rowid = ?", (rowid,)).one()
                row = _sound(dict(zip(kind.columns, one[1:], strict=True)))
                if row is not None:
                    found.rows[kind.table, one[0]] = row
    return found


def restore(connection: Connection, wanted: RegistryPicture) -> dict[str, list[str]]:
    """The registry made what the picture says; the names of what was changed for it, by kind.

    What the catalog keeps of an object beside its registered columns stays.
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


def renumber(connection: Connection, stamp: int) -> None:
    """The next change has a number above `stamp`."""
    connection.exec_driver_sql(
        "INSERT INTO registry_change (stamp, kind, key) VALUES (?, 'warehouse', '[\"default\"]')",
        (max(stamp, last_stamp(connection)) + 1,),
    )


def prune_changes(connection: Connection, upto: int) -> None:
    """Forget the changes up to a number that the file has, but the newest ones."""
    newest = min(upto, last_stamp(connection) - _KEPT)
    connection.exec_driver_sql("DELETE FROM registry_change WHERE stamp <= ?", (newest,))


def registered(connection: Connection, kind: str, *key: str) -> RegistryRow | None:
    """An object as it stands."""
    return _row(connection, KINDS[kind], key_of(key))


def _row(connection: Connection, kind: RegisteredKind, key: str) -> RegistryRow | None:
    query = f"SELECT {', '.join(kind.columns)} FROM {kind.table} WHERE {_is(kind)}"
    found = connection.exec_driver_sql(f"{query} AND {kind.where}", _values(key)).one_or_none()
    return None if found is None else dict(zip(kind.columns, found, strict=True))


def _remove(connection: Connection, kind: RegisteredKind, key: str) -> Mapping[str, Any]:
    values = _values(key)
    found = (
        connection.exec_driver_sql(f"SELECT * FROM {kind.table} WHERE {_is(kind)}", values)
        .mappings()
        .one_or_none()
    )
    connection.exec_driver_sql(f"DELETE FROM {kind.table} WHERE {_is(kind)}", values)
    return dict(found or {})


def _put(connection: Connection, kind: RegisteredKind, row: Mapping[str, Any]) -> None:
    marks = ", ".join("?" * len(row))
    connection.exec_driver_sql(
        f"INSERT INTO {kind.table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
    )


def _is_dynamic(kind: RegisteredKind) -> bool:
    return kind.table == "dynamic_table"


def _is(kind: RegisteredKind) -> str:
    return " AND ".join(f"{c} = ?" for c in kind.key)


def _values(key: str) -> tuple[Any, ...]:
    return tuple(json.loads(key))


def key_of(values: Iterable[object]) -> str:
    """A key as the catalog's triggers write it."""
    return json.dumps(list(values), ensure_ascii=False, separators=(",", ":"))
