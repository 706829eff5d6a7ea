"""Warehouses, and the base tables and views that a new session registers again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import name_in
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import delete_row
from dt_jupyter.catalog.store import Shelf, Store
from dt_jupyter.catalog.values import BaseTable
from dt_jupyter.model import (
    DEFAULT_WAREHOUSE,
    DTError,
    EventKind,
    Name,
    Named,
    TaskRunState,
    Timestamp,
    ViewSource,
    Warehouse,
    did_you_mean,
    error,
    name_taken,
    standing_event,
)

_warehouse, _base, _view = schema.warehouse, schema.base_table, schema.base_view
_COMPUTING = ("INCREMENTAL", "FULL", "REINITIALIZE")
_DEFAULT = {
    "name": DEFAULT_WAREHOUSE,
    "max_concurrency": 2,
    "weight": 1,
    "suspended": False,
    "created": Timestamp(0),
    "auto_suspend": 0,
    "auto_resume": False,
}


def _to_warehouse(row: RowMapping, _: LakeRoot) -> Warehouse:
    return Warehouse(
        row["name"],
        row["max_concurrency"],
        row["weight"],
        row["suspended"],
        row["created"],
        row["auto_suspend"],
        row["auto_resume"],
        row["resumed"],
    )


def _to_base(row: RowMapping, root: LakeRoot) -> BaseTable:
    return BaseTable(name_in(row), row["table_id"], root.found(row["path"]))


def _to_view(row: RowMapping, root: LakeRoot) -> ViewSource:
    return ViewSource(name_in(row), root.found_text(row["text"]))


WAREHOUSES = Shelf(
    _warehouse,
    "warehouse",
    (_warehouse.c.name,),
    _warehouse.c.name,
    _to_warehouse,
    "DROP WAREHOUSE {name} and create it again; default is then reset.",
)
BASES = Shelf(
    _base,
    "table",
    (_base.c.schema_name, _base.c.table_name),
    _base.c.path,
    _to_base,
    "DROP TABLE {name} forgets it.",
)
VIEWS = Shelf(
    _view,
    "view",
    (_view.c.schema_name, _view.c.table_name),
    _view.c.ordinal,
    _to_view,
    "DROP VIEW {name} forgets it.",
)


_OF_NAME = select(_warehouse).where(_warehouse.c.name == bindparam("of_name"))


class Warehouses(Store):
    """Names are compared without regard to case; `default` always exists."""

    def create_warehouse(self, warehouse: Warehouse, if_not_exists: bool = False) -> Warehouse:
        """DT-1105 if it exists; with `if_not_exists` the existing one is returned as it is."""
        name = warehouse.name.lower()
        with self._write() as connection:
            existing = self._find_warehouse(connection, name)
            if existing and if_not_exists:
                return existing
            if existing:
                raise name_taken(Named.WAREHOUSE, name)
            created = warehouse.created if warehouse.created > Timestamp(0) else self.clock.now()
            made = replace(warehouse, name=name, created=created)
            connection.execute(
                _warehouse.insert().values(
                    name=name,
                    max_concurrency=made.max_concurrency,
                    weight=made.weight,
                    suspended=made.suspended,
                    created=made.created,
                    auto_suspend=made.auto_suspend,
                    auto_resume=made.auto_resume,
                )
            )
        return made

    def alter_warehouse(
        self,
        name: str,
        *,
        suspended: bool | None = None,
        max_concurrency: int | None = None,
        weight: int | None = None,
        auto_suspend: int | None = None,
        auto_resume: bool | None = None,
    ) -> Warehouse:
        """Change what is given; DT-1108, DT-1003."""
        given = {
            "suspended": suspended,
            "max_concurrency": max_concurrency,
            "weight": weight,
            "auto_suspend": auto_suspend,
            "auto_resume": auto_resume,
        }
        changes: dict[str, Any] = {k: v for k, v in given.items() if v is not None}
        with self._write() as connection:
            before = self._require_warehouse(connection, name)
            if before.suspended and suspended is False:
                changes["resumed"] = self.clock.now()
            after = replace(before, **changes)
            if changes:
                row = _warehouse.c.name == after.name
                connection.execute(_warehouse.update().where(row).values(**changes))
            if after.suspended is not before.suspended:
                state = "SUSPENDED" if after.suspended else "STARTED"
                now = self.clock.now()
                told = standing_event(EventKind.WAREHOUSE, after.name, after.name, state, None, now)
                add_event(connection, told)
        return after

    def warehouse(self, name: str) -> Warehouse:
        """DT-1108, with the nearest names, if there is none."""
        return self._answer(("warehouse", name.lower()), lambda: self._read_warehouse(name))

    def _read_warehouse(self, name: str) -> Warehouse:
        with self._read() as connection:
            return self._require_warehouse(connection, name)

    def last_use(self, name: str) -> Timestamp | None:
        """When a refresh that computed rows, a delivery or a task last ended in it; None: never,
        as far as is known."""
        refresh, delivery, sink = schema.history, schema.sink_history, schema.sink
        run, done = schema.task_run, TaskRunState.SUCCEEDED.value
        computed = (func.lower(refresh.c.warehouse) == name, refresh.c.action.in_(_COMPUTING))
        queries = (
            select(func.max(refresh.c.end_time)).where(*computed),
            select(func.max(delivery.c.end_time))
            .join(sink, sink.c.id == delivery.c.sink_id)
            .where(func.lower(sink.c.warehouse) == name),
            select(func.max(run.c.end_time)).where(run.c.warehouse == name, run.c.state == done),
        )
        with self._read() as connection:
            ends = [connection.scalar(query) for query in queries]
        return max((end for end in ends if end is not None), default=None)

    def warehouses(self) -> tuple[Warehouse, ...]:
        """By name."""
        query = select(_warehouse).order_by(_warehouse.c.name)
        with self._read() as connection:
            found = self._listed(connection, query, WAREHOUSES)
        if not any(w.name == DEFAULT_WAREHOUSE for w in found):
            found.append(Warehouse(DEFAULT_WAREHOUSE))  # as it was at first
        return tuple(found)

    def drop_warehouse(self, name: str) -> None:
        """DT-1115 while a dynamic table, sink or task names it, and always for `default`;
        DT-1108."""
        with self._write() as connection:
            if broken := self._broken(connection, name.lower(), WAREHOUSES):
                for row in broken:
                    delete_row(connection, _warehouse, row)
                if name.lower() == DEFAULT_WAREHOUSE:
                    connection.execute(_warehouse.insert().values(**_DEFAULT))
                self.quarantine.lift(WAREHOUSES.kind, name.lower())
                return
            found = self._require_warehouse(connection, name).name
            if found == DEFAULT_WAREHOUSE:
                raise _used(
                    found,
                    "every dynamic table that names no warehouse",
                    "The warehouse default always exists; it can be suspended.",
                )
            if users := list(_users(connection, found)):
                hint = f"Give them another one: ALTER {users[0][0]} … SET WAREHOUSE = …"
                told = (f"{kind.lower()} {name}" for kind, name in users)
                raise _used(found, ", ".join(told), hint)
            connection.execute(_warehouse.delete().where(_warehouse.c.name == found))

    def _find_warehouse(self, connection: Connection, name: str) -> Warehouse | None:
        return self._one(connection, _OF_NAME, WAREHOUSES, {"of_name": name.lower()})

    def _require_warehouse(self, connection: Connection, name: str) -> Warehouse:
        found = self._find_warehouse(connection, name)
        if found is None:
            known = connection.execute(select(_warehouse.c.name)).scalars().all()
            hint = did_you_mean(name.lower(), list(known), f"Run CREATE WAREHOUSE {name}.")
            raise error("DT-1108", name=name, hint=hint)
        return found


def _users(connection: Connection, warehouse: str) -> Iterator[tuple[str, Name]]:
    """The kind and name of all that works in it."""
    for kind, table, name in _WORKERS:
        query = select(table.c.schema_name, name).where(func.lower(table.c.warehouse) == warehouse)
        if "dropped" in table.c:
            query = query.where(table.c.dropped.is_(None))
        pairs = (
            Name(*pair) for pair in connection.execute(query.order_by(*query.selected_columns))
        )
        yield from ((kind, found) for found in pairs)


_WORKERS = (
    ("DYNAMIC TABLE", schema.dynamic_table, schema.dynamic_table.c.table_name),
    ("SINK", schema.sink, schema.sink.c.sink_name),
    ("TASK", schema.task, schema.task.c.task_name),
)


def _used(name: str, users: str, hint: str) -> DTError:
    return error("DT-1115", kind="Warehouse", name=name, users=users, hint=hint)


class RegisteredSources(Store):
    """What the engine made in the session catalog, and a restarted session has lost."""

    def record_table(self, name: Name, table_id: str, path: str) -> None:
        """Remember a table, in place of whatever had the name."""
        values = {"table_id": table_id, "path": self.root.stored(path)}
        with self._write() as connection:
            self._forget(connection, name)
            connection.execute(
                _base.insert().values(schema_name=name.schema, table_name=name.table, **values)
            )

    def record_view(self, name: Name, text: str) -> None:
        """Remember a view, in place of whatever had the name; views come back in this order."""
        with self._write() as connection:
            self._forget(connection, name)
            last = connection.scalar(select(func.max(_view.c.ordinal))) or 0
            connection.execute(
                _view.insert().values(
                    schema_name=name.schema,
                    table_name=name.table,
                    ordinal=last + 1,
                    text=self.root.stored_text(text),
                )
            )

    def forget(self, name: Name) -> None:
        """Of a table or a view; no matter if it is unknown."""
        with self._write() as connection:
            self._forget(connection, name)

    def tables(self) -> tuple[BaseTable, ...]:
        """By name."""
        query = select(_base).order_by(_base.c.schema_name, _base.c.table_name)
        with self._read() as connection:
            return tuple(self._listed(connection, query, BASES))

    def views(self) -> tuple[ViewSource, ...]:
        """In the order in which they were recorded: a view comes after those that it reads."""
        with self._read() as connection:
            query = select(_view).order_by(_view.c.ordinal)
            return tuple(self._listed(connection, query, VIEWS))

    def _forget(self, connection: Connection, name: Name) -> None:
        for table in (_base, _view):
            connection.execute(
                table.delete().where(
                    table.c.schema_name == name.schema, table.c.table_name == name.table
                )
            )
