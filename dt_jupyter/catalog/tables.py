"""The registry of dynamic tables: made, changed, renamed, dropped and brought back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from sqlalchemy import ColumnElement, Connection, RowMapping, Select, bindparam, select, tuple_

from dt_jupyter.catalog import definition_rows, graph, leases, schema
from dt_jupyter.catalog.codec import TABLE_FIELDS, from_table, name_in, to_table
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.roots import root_of
from dt_jupyter.catalog.rows import RowMemory, name_like, overwrite_row, read_each
from dt_jupyter.catalog.store import Shelf, name_text
from dt_jupyter.catalog.values import TOO_MANY_FAILURES
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    EventKind,
    Name,
    Named,
    Timestamp,
    did_you_mean,
    error,
    name_taken,
    standing_event,
)

_table = schema.dynamic_table
_ALTERED = (
    "definition", "mode", "effective_mode", "mode_reason", "needs_reinit", "target_lag_seconds",
    "warehouse", "comment", "cluster_by", "retention_days", "scheduler_enabled", "alter_sources",
)  # fmt: skip
"""What CREATE OR ALTER may change."""
_IN_GRAPH = frozenset(("name", "definition", "target_lag", "warehouse", "scheduling"))


TABLE_SHELF = Shelf(
    _table,
    "dynamic table",
    (_table.c.schema_name, _table.c.table_name),
    _table.c.id,
    to_table,
    "DROP DYNAMIC TABLE {name} removes it.",
)


# Built once, without parameters: building a statement costs more than running it.
_OF_ID = select(_table).where(_table.c.id == bindparam("of_dt"))
_NAMED = select(_table).where(
    tuple_(_table.c.schema_name, _table.c.table_name).in_(bindparam("names", expanding=True)),
    _table.c.dropped.is_(None),
)


def live_row(connection: Connection, name: Name) -> RowMapping | None:
    return _row(connection, _live(name))


def _live(name: Name) -> Select[Any]:
    return select(_table).where(
        _table.c.schema_name == name.schema,
        _table.c.table_name == name.table,
        _table.c.dropped.is_(None),
    )


def _row(connection: Connection, query: Select[Any]) -> RowMapping | None:
    """DT-5112 for one that cannot be read."""
    root = root_of(connection)

    def checked(row: RowMapping) -> RowMapping:
        to_table(row, root)
        return row

    made, broken = read_each(connection, _table, query, checked)
    for row in broken:
        raise TABLE_SHELF.told(connection, row).error from row.problem
    return made[0] if made else None


def row_of(connection: Connection, dt_id: str) -> RowMapping:
    """The row of a dynamic table that is not dropped; DT-1101 when it is gone."""
    row = _row(connection, select(_table).where(_table.c.id == dt_id))
    if row is None or row["dropped"] is not None:
        name = dt_id if row is None else name_in(row)
        raise error("DT-1101", name=name, hint="It was dropped.")
    return row


def apply(
    connection: Connection, dt_id: str, changes: Mapping[str, Any], trigger: str, now: Timestamp
) -> DynamicTable:
    """`dataclasses.replace` on a stored dynamic table; its graph row and generation follow."""
    unknown = changes.keys() - TABLE_FIELDS
    if unknown or "id" in changes:
        raise TypeError(f"not fields that may change: {sorted(unknown) or ['id']}")
    row = row_of(connection, dt_id)
    root = root_of(connection)
    before = to_table(row, root)
    after = replace(before, **changes)
    if after.name != before.name and live_row(connection, after.name):
        raise _exists(after.name)
    old, new = from_table(before, root), from_table(after, root)
    values = {column: value for column, value in new.items() if value != old[column]}
    if values.keys() & {"definition", "needs_reinit"}:
        values["generation"] = row["generation"] + 1
    if values:
        connection.execute(_table.update().where(_table.c.id == dt_id).values(**values))
    if after.scheduling is not before.scheduling:
        _tell(connection, after, now)
    if any(getattr(after, field) != getattr(before, field) for field in _IN_GRAPH):
        definition_rows.open_row(connection, after, trigger, now)
    return after


def _tell(connection: Connection, dt: DynamicTable, now: Timestamp) -> None:
    reason, state = dt.scheduling_reason, dt.scheduling.value
    bad = reason is not None and reason.code == TOO_MANY_FAILURES
    kind = EventKind.DYNAMIC_TABLE
    add_event(connection, standing_event(kind, dt.name, dt.id, state, reason, now, bad=bad))


def _exists(name: Name) -> DTError:
    return name_taken(Named.DYNAMIC_TABLE, name)


def _insert(connection: Connection, dt: DynamicTable, trigger: str, now: Timestamp) -> None:
    values = from_table(dt, root_of(connection)) | {"generation": 0, "graph_valid_from": now}
    connection.execute(_table.insert().values(**values))
    definition_rows.open_row(connection, dt, trigger, now)


def _set_dropped(connection: Connection, dt_id: str, now: Timestamp) -> None:
    connection.execute(_table.update().where(_table.c.id == dt_id).values(dropped=now))
    leases.abandon_of(connection, dt_id, leases.DROPPED, now)
    definition_rows.close_row(connection, dt_id, now)


@dataclass(frozen=True, slots=True)
class _Live:
    """All live dynamic tables, by their ids and by their names."""

    by_id: Mapping[str, DynamicTable]
    named: Mapping[Name, DynamicTable]


class DynamicTables(graph.GraphHistory):
    """Each method is one transaction: done wholly, or not at all."""

    @cached_property
    def _live_tables(self) -> RowMemory[DynamicTable]:
        """A scheduler lists them every second, and few have changed."""
        return RowMemory()

    def create(self, dt: DynamicTable) -> DynamicTable:
        """Register it; DT-1105 if a live dynamic table has the name."""
        with self._write() as connection:
            if live_row(connection, dt.name):
                raise _exists(dt.name)
            _insert(connection, dt, "CREATE", self.clock.now())
        return dt

    def replace(self, dt: DynamicTable) -> DynamicTable | None:
        """Register `dt`, and drop the live one of its name, which is returned."""
        with self._write() as connection:
            now = self.clock.now()
            row = live_row(connection, dt.name)
            if row is not None:
                _set_dropped(connection, row["id"], now)
            _insert(connection, dt, "REPLACE", now)
        return replace(to_table(row, self.root), dropped=now) if row is not None else None

    def get(self, name: Name) -> DynamicTable | None:
        """The live one of that name."""
        with self._read() as connection:
            return self._one(connection, _live(name), TABLE_SHELF)

    def get_all(self, names: Collection[Name]) -> dict[Name, DynamicTable]:
        """The live ones of those names, in one transaction; DT-5112 as `get`."""
        if not names:
            return {}
        if (live := self._all_live()) is not None:
            return {name: live.named[name] for name in names if name in live.named}
        return self._answer(("tables", frozenset(names)), lambda: self._read_named(names))

    def _read_named(self, names: Collection[Name]) -> dict[Name, DynamicTable]:
        wanted = [(name.schema, name.table) for name in names]
        with self._read() as connection:
            found = self._every(connection, _NAMED, TABLE_SHELF, {"names": wanted})
        return {table.name: table for table in found}

    def require(self, name: Name) -> DynamicTable:
        """The live one of that name; DT-1101 with the nearest names if there is none."""
        with self._read() as connection:
            return self._required(connection, name)

    def by_id(self, dt_id: str) -> DynamicTable | None:
        """Live or dropped."""
        if (live := self._all_live()) is not None and dt_id in live.by_id:
            return live.by_id[dt_id]
        return self._answer(("table", dt_id), lambda: self._read_table(dt_id))

    def _read_table(self, dt_id: str) -> DynamicTable | None:
        with self._read() as connection:
            return self._one(connection, _OF_ID, TABLE_SHELF, {"of_dt": dt_id})

    def _all_live(self) -> _Live | None:
        """All live ones, read once, to who reads one state of the catalog; None to others, and
        where one of them cannot be read."""
        return self._answer("live tables", self._read_live) if self._reads_whole else None

    def _read_live(self) -> _Live | None:
        tables = self.list()
        broken = (q.row and q.kind == TABLE_SHELF.kind for q in self.quarantine.all())
        return (
            None if any(broken) else _Live({t.id: t for t in tables}, {t.name: t for t in tables})
        )

    def list(
        self, like: str | None = None, include_dropped: bool = False
    ) -> tuple[DynamicTable, ...]:
        """By name, oldest first within one. `like`: as `name_like` reads it."""
        query = select(_table).order_by(_table.c.schema_name, _table.c.table_name, _table.c.created)
        if like is not None:
            query = query.where(name_like(_table.c.table_name, like))
        if not include_dropped:
            query = query.where(_table.c.dropped.is_(None))
        with self._read() as connection:
            if like is None and not include_dropped:
                return tuple(self._listed(connection, query, TABLE_SHELF, self._live_tables))
            return tuple(read_each(connection, _table, query, self._made(TABLE_SHELF))[0])

    def update(self, dt_id: str, **changes: Any) -> DynamicTable:
        """`dataclasses.replace` on it, in one transaction. DT-1101 if it is gone, DT-1105 if its
        new name is taken, TypeError for a field that there is not."""
        with self._write() as connection:
            return apply(connection, dt_id, changes, "ALTER", self.clock.now())

    def altered_columns(self, table: DynamicTable) -> dict[str, Any]:
        """What CREATE OR ALTER may change of a table, as JSON; `reinstate` takes it."""
        row = from_table(table, self.root)
        return {column: row[column] for column in _ALTERED}

    def reinstate(self, dt_id: str, columns: Mapping[str, Any]) -> DynamicTable:
        """The table with these columns again. DT-1101 if it is gone."""
        with self._write() as connection:
            row = row_of(connection, dt_id)
            wanted = to_table(cast(RowMapping, {**row, **columns}), self.root)
            changes = {field: getattr(wanted, field) for field in map(_field_of, columns)}
            return apply(connection, dt_id, changes, "ALTER", self.clock.now())

    def rename(self, old: Name, new: Name) -> DynamicTable:
        """DT-1101, DT-1105."""
        with self._write() as connection:
            dt_id = self._required(connection, old).id
            return apply(connection, dt_id, {"name": new}, "RENAME", self.clock.now())

    def swap(self, one: Name, other: Name) -> None:
        """Each takes the other's name; DT-1101."""
        with self._write() as connection:
            first, second = self._required(connection, one), self._required(connection, other)
            if first.id == second.id:
                return
            now = self.clock.now()
            aside = Name(one.schema, f"{one.table} {first.id}")  # the index allows no name twice
            for dt, name in ((first, aside), (second, one)):
                connection.execute(
                    _table.update()
                    .where(_table.c.id == dt.id)
                    .values(schema_name=name.schema, table_name=name.table)
                )
                if name is one:
                    definition_rows.open_row(connection, replace(dt, name=one), "SWAP", now)
            apply(connection, first.id, {"name": other}, "SWAP", now)

    def drop(self, name: Name) -> DynamicTable:
        """Mark it dropped, for UNDROP; a refresh that runs is fenced. DT-1101."""
        with self._write() as connection:
            dt = self._required(connection, name)
            now = self.clock.now()
            _set_dropped(connection, dt.id, now)
        return replace(dt, dropped=now)

    def drop_broken(self, name: Name) -> bool:
        """Mark those in quarantine with the name (or id) dropped; False if there is none."""
        with self._write() as connection:
            rows = self._broken(connection, name, TABLE_SHELF)
            now = self.clock.now()
            for row in rows:
                overwrite_row(connection, _table, row, dropped=now)
        self.quarantine.lift(TABLE_SHELF.kind, name)
        return bool(rows)

    def dropped_id(self, name: Name) -> str | None:
        """The id of the one that `undrop` brings back."""
        with self._read() as connection:
            row = _row(connection, _dropped_last(name))
        return str(row["id"]) if row is not None else None

    def undrop(self, name: Name) -> DynamicTable:
        """Bring back the one dropped last; DT-1118 if there is none, or the name is taken."""
        with self._write() as connection:
            if live_row(connection, name):
                raise error(
                    "DT-1118",
                    name=name,
                    problem="another one has that name now",
                    hint="Rename or drop that one first.",
                )
            row = _row(connection, _dropped_last(name))
            if row is None:
                known = _names(connection, _table.c.dropped.is_not(None))
                hint = did_you_mean(str(name), known)
                raise error("DT-1118", name=name, problem="no dropped one has that name", hint=hint)
            connection.execute(_table.update().where(_table.c.id == row["id"]).values(dropped=None))
            dt = replace(to_table(row, self.root), dropped=None)
            definition_rows.open_row(connection, dt, "UNDROP", self.clock.now())
        return dt

    def purge(self, dt_id: str) -> None:
        """Forget a dynamic table wholly, its history with it; it cannot be undropped."""
        with self._write() as connection:
            leases.abandon_of(connection, dt_id, leases.DROPPED, self.clock.now())
            for table in (
                schema.stage,
                schema.dt_version,
                schema.lease,
                schema.history,
                schema.graph_history,
                schema.definition,
                schema.stored_plan,
            ):
                connection.execute(table.delete().where(table.c.dt_id == dt_id))
            event = schema.event
            connection.execute(event.delete().where(event.c.object_id == dt_id))
            connection.execute(_table.delete().where(_table.c.id == dt_id))

    def _required(self, connection: Connection, name: Name) -> DynamicTable:
        found = self._one(connection, _live(name), TABLE_SHELF)
        if found is None:
            known = _names(connection, _table.c.dropped.is_(None))
            raise error(
                "DT-1101",
                name=name,
                hint=did_you_mean(str(name), known, "See SHOW DYNAMIC TABLES."),
            )
        return found


def _field_of(column: str) -> str:
    return "target_lag" if column == "target_lag_seconds" else column


def _dropped_last(name: Name) -> Select[Any]:
    return (
        select(_table)
        .where(
            _table.c.schema_name == name.schema,
            _table.c.table_name == name.table,
            _table.c.dropped.is_not(None),
        )
        .order_by(_table.c.dropped.desc())
        .limit(1)
    )


def _names(connection: Connection, which: ColumnElement[bool]) -> list[str]:
    """Those of the dynamic tables for which the condition holds, as they are shown."""
    found = connection.execute(select(_table.c.schema_name, _table.c.table_name).where(which))
    return [name for pair in found if (name := name_text([str(part) for part in pair]))]
