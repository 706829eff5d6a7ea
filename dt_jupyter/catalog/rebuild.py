"""A catalog that is missing, or older than its lake, made what it was: from the registry log, or
where that is gone too from the logs of the dynamic tables, whose commits say what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection, select

from dt_jupyter.catalog import definition_rows, schema
from dt_jupyter.catalog.codec import to_table
from dt_jupyter.catalog.registry_log import RegistryLog, RegistryPicture, RegistryRow
from dt_jupyter.catalog.registry_rows import KINDS, key_of, last_stamp, renumber, restore
from dt_jupyter.catalog.rights_mark import mark_rights
from dt_jupyter.catalog.roots import LakeRoot, root_of
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.lake import LakeError, TableLog, is_delta, mark_of
from dt_jupyter.model import SourceKind, Timestamp, error

_MARK = "table"
"""The entry of a commit's metadata that says what its dynamic table is."""

_LISTS = "_dt/files/"
"""In the path of a list of files, which is not a table that is known by the source's name."""
_WORDS = {
    "dynamic_table": "dynamic tables",
    "stream": "streams",
    "sink": "sinks",
    "task": "tasks",
    "warehouse": "warehouses",
    "base_table": "tables",
    "base_view": "views",
    "user_function": "functions",
    "hold": "pins",
    "role": "roles",
    "granted": "grants",
}


class CatalogWarning(UserWarning):
    """A catalog was lost, and the outcome."""


@dataclass(frozen=True)
class Rebuilt:
    """What was restored: the names by kind. `older`: the catalog was there, and behind;
    `registry`: from the registry log, so that it is complete."""

    older: bool
    registry: bool
    changed: Mapping[str, list[str]]

    def __str__(self) -> str:
        was = "was older than the lake" if self.older else "was missing"
        kinds = (f"{_WORDS[k]} {', '.join(sorted(n))}" for k, n in self.changed.items())
        if self.registry:
            source = "its registry log"
            lost = "Lost: the refresh history and the state of running refreshes."
        else:
            source = "the logs of the dynamic tables, as of their last commits"
            lost = (
                "Lost: roles and grants, streams, sinks, tasks, functions, pins, warehouse "
                "settings, views that no dynamic table reads, options changed and tables dropped "
                "since, and the refresh history."
            )
        return f"The catalog {was}; it was rebuilt from {source}: {'; '.join(kinds)}. {lost}"


def rebuild(
    connection: Connection, log: RegistryLog, now: Timestamp, *, fresh: bool
) -> Rebuilt | None:
    """None where the catalog is as new as its lake. DT-5114 where nothing says what the lake's
    dynamic tables are."""
    known = log.read()
    if known is None and not fresh:
        return None
    wanted = known if known is not None else picture_of_logs(root_of(connection))
    if not wanted.rows or (not fresh and wanted.stamp <= last_stamp(connection)):
        return None
    changed = restore(connection, wanted)
    _open_rows(connection, now)
    mark_rights(connection)
    renumber(connection, wanted.stamp)
    made = {k: n for k, n in changed.items() if (k, n) != ("warehouse", ["default"])}
    return Rebuilt(not fresh, known is not None, made) if made else None


def _open_rows(connection: Connection, now: Timestamp) -> None:
    """What is restored is in the history of the graph and of definitions, from now on."""
    table, rows = schema.dynamic_table, schema.graph_history
    known = select(rows.c.dt_id).where(rows.c.valid_to.is_(None))
    query = select(table).where(table.c.id.not_in(known), table.c.dropped.is_(None))
    root = root_of(connection)
    for dt in read_each(connection, table, query, lambda row: to_table(row, root))[0]:
        definition_rows.open_row(connection, dt, "REBUILD", now)


def picture_of_logs(root: LakeRoot) -> RegistryPicture:
    """What the newest commits of the dynamic tables say; DT-5114 where some say nothing."""
    found, silent = RegistryPicture(), []
    rows: dict[tuple[str, str], RegistryRow] = {}
    for folder in sorted((Path(root.folder) / "_dt" / "dynamic").glob("*")):
        told = _registered(folder / "public")
        if told is None and is_delta(folder / "public"):
            silent.append(folder.name)
        elif told is not None and told["id"] == folder.name:
            name = (str(told["schema_name"]), str(told["table_name"]))
            rows[name] = max(told, rows.get(name, told), key=lambda r: str(r["created"]))
    if silent:
        raise error("DT-5114", path=root.folder, tables=", ".join(silent))
    for row in rows.values():
        found.rows["dynamic_table", key_of([row["id"]])] = row
        found.rows.update(_reads(row, root))
    return found


def _registered(path: Path) -> RegistryRow | None:
    if not is_delta(path):
        return None
    log = TableLog(path)
    try:
        for version in range(log.version(), log.oldest() - 1, -1):
            told = mark_of(log.user_metadata(version)).get(_MARK)
            if isinstance(told, dict) and set(KINDS["dynamic_table"].columns) <= told.keys():
                return {c: told[c] for c in KINDS["dynamic_table"].columns}
    except LakeError:
        return None
    return None


def _reads(row: RegistryRow, root: LakeRoot) -> Iterator[tuple[tuple[str, str], RegistryRow]]:
    """The warehouse, views, and tables outside of the lake that a dynamic table names."""
    created, text = row["created"], json.loads(str(row["definition"]))
    name = row["warehouse"]
    yield (
        ("warehouse", key_of([name])),
        {"name": name, "max_concurrency": 2, "weight": 1, "suspended": False, "created": created},
    )
    for i, ((schema_name, table_name), view) in enumerate(text["views"]):
        yield (
            ("base_view", key_of([schema_name, table_name])),
            {"schema_name": schema_name, "table_name": table_name, "ordinal": i + 1, "text": view},
        )
    for (schema_name, table_name), kind, table_id, path, _ in text["sources"]:
        if kind != SourceKind.DELTA or schema_name == "delta" or not path or _LISTS in path:
            continue
        yield (
            ("base_table", key_of([schema_name, table_name])),
            {
                "schema_name": schema_name,
                "table_name": table_name,
                "table_id": table_id,
                "path": path,
            },
        )
