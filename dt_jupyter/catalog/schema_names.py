"""Schemas that take other names, with all that the catalog knows about their contents: one
transaction, so that they have the old names or the new ones."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Table, select

from dt_jupyter.catalog import definition_rows, leases, schema
from dt_jupyter.catalog.codec import dump, from_table, to_table
from dt_jupyter.catalog.rights_mark import mark_rights
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.schema_moves import SchemaMoves, moved_text
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.task_runs import is_lost
from dt_jupyter.catalog.tasks import TASK_SHELF, values_of
from dt_jupyter.model import DTError, DynamicTable, Name, Task, TaskRunState, Timestamp, error

_table, _hold, _task, _run = schema.dynamic_table, schema.hold, schema.task, schema.task_run
_LABELS = schema.meta.c.key == "labels"
_WITH_SOURCE = (schema.stream, schema.dropped_stream, schema.sink)
_NAMED = (schema.alert, schema.sink_history)
_KEYED = (schema.base_table, schema.base_view, schema.granted)
"""Tables whose key contains the schema: a change of the key is noted as a row that went and one
that came."""


class SchemaNames(Store):
    """Schemas as parts of names."""

    def rename_schemas(self, moves: SchemaMoves) -> None:
        """DT-1152 where a dynamic table of theirs is being refreshed, or a task runs: the names of
        its text would change their meaning in the middle."""
        with self._write() as connection:
            self._require_idle(connection, moves)
            self._move_dynamic_tables(connection, moves)
            self._move_tasks(connection, moves)
            _move_holds(connection, moves.names)
            for old, new in _hops(moves.names):
                _move_rows(connection, old, new)
            _record(connection, self, moves)
            _put_labels(connection, (*_labels(connection), *moves.labels))
            mark_rights(connection)

    def labels(self) -> tuple[tuple[str, str], ...]:
        """The folders of dropped tables that wait for their new names: (from, to)."""
        with self._read() as connection:
            return _labels(connection)

    def labels_moved(self) -> None:
        """None waits any more."""
        with self._write() as connection:
            _put_labels(connection, ())

    def _require_idle(self, connection: Connection, moves: SchemaMoves) -> None:
        now = self.clock.now()
        for table in self._of_schemas(connection, moves):
            row = leases.read_lease(connection, table.id)
            if row is not None and leases.in_force(row, self.owner, self._alive, now):
                raise _busy(table.name, f"{table.name} is refreshed", "DYNAMIC TABLE")
        for task in read_each(connection, _task, select(_task), self._made(TASK_SHELF))[0]:
            if moves.task(task) != task and self._runs_now(connection, task, now):
                raise _busy(task.name, f"the task {task.name} runs", "TASK")

    def _runs_now(self, connection: Connection, task: Task, now: Timestamp) -> bool:
        executing = (_run.c.task_id == task.id, _run.c.state == TaskRunState.EXECUTING.value)
        rows = connection.execute(select(_run).where(*executing)).mappings()
        return any(not is_lost(r, self.owner, (r["id"],), self._alive, now) for r in rows)

    def _of_schemas(self, connection: Connection, moves: SchemaMoves) -> list[DynamicTable]:
        """Live and dropped; those whose rows cannot be read stay as they are."""
        query = select(_table).where(
            _table.c.schema_name.in_(moves.names), _table.c.id.not_in(moves.apart)
        )
        return read_each(connection, _table, query, lambda r: to_table(r, self.root))[0]

    def _move_dynamic_tables(self, connection: Connection, moves: SchemaMoves) -> None:
        found = self._of_schemas(connection, moves)
        for table in found:  # the index allows no name twice
            own = _table.update().where(_table.c.id == table.id)
            connection.execute(own.values(schema_name=f"{table.name.schema} aside"))
        for table in found:
            self._move_dynamic_table(connection, moves.table(table), moves.trigger)

    def _move_dynamic_table(self, connection: Connection, moved: DynamicTable, why: str) -> None:
        values = from_table(moved, self.root)
        changed = {k: values[k] for k in ("schema_name", "definition")}
        own = _table.update().where(_table.c.id == moved.id)
        connection.execute(own.values(**changed, generation=_table.c.generation + 1))
        if moved.dropped is None:
            definition_rows.open_row(connection, moved, why, self.clock.now())

    def _move_tasks(self, connection: Connection, moves: SchemaMoves) -> None:
        found = read_each(connection, _task, select(_task), self._made(TASK_SHELF))[0]
        for task in found:
            if task.name.schema in moves.names:
                own = _task.update().where(_task.c.id == task.id)
                connection.execute(own.values(schema_name=f"{task.name.schema} aside"))
        for task in found:
            moved = moves.task(task)
            if moved == task:
                continue
            own = _task.update().where(_task.c.id == task.id)
            connection.execute(own.values(**values_of(moved)))
            runs = _run.update().where(_run.c.task_id == task.id)
            connection.execute(runs.values(schema_name=moved.name.schema))
            waiting = runs.where(_run.c.end_time.is_(None), _run.c.start_time.is_(None))
            connection.execute(waiting.values(body=moved.body, condition=moved.condition))


def _busy(name: Name, work: str, kind: str) -> DTError:
    return error("DT-1152", name=name.schema, work=work, kind=kind, object=name)


def _hops(names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """One schema after the other; two that swap by way of a name that none has."""
    aside = {old: f"{old} aside" for old, new in names.items() if new in names}
    yield from aside.items()
    for old, new in names.items():
        yield aside.get(old, old), new


def _move_rows(connection: Connection, old: str, new: str) -> None:
    for table in (*_NAMED, *_WITH_SOURCE):
        mine = table.update().where(table.c.schema_name == old)
        if table in _WITH_SOURCE:
            connection.execute(mine.where(table.c.source_schema == old).values(source_schema=new))
        connection.execute(mine.values(schema_name=new))
    for table in _KEYED:
        _move_keyed(connection, table, old, new)


def _move_keyed(connection: Connection, table: Table, old: str, new: str) -> None:
    mine = table.c.schema_name == old
    rows = connection.execute(select(table).where(mine)).mappings().all()
    connection.execute(table.delete().where(mine))
    for row in rows:
        moved = {**row, "schema_name": new}
        keys = (c == moved[c.name] for c in table.primary_key.columns)
        connection.execute(table.delete().where(*keys))
        connection.execute(table.insert().values(**moved))


def _move_holds(connection: Connection, names: Mapping[str, str]) -> None:
    rows = connection.execute(select(_hold.c.id, _hold.c.subject, _hold.c.tables)).all()
    for key, subject, text in rows:
        tables = [{**t, "name": moved_text(t["name"], names)} for t in json.loads(text)]
        values = {"subject": moved_text(subject, names), "tables": dump(tables)}
        if (values["subject"], tables) != (subject, json.loads(text)):
            connection.execute(_hold.update().where(_hold.c.id == key).values(**values))


def _record(connection: Connection, store: Store, moves: SchemaMoves) -> None:
    """Every table and view under its new name: those too that the session alone knew."""
    base, view = schema.base_table, schema.base_view
    known = {(r.schema_name, r.table_name): r.ordinal for r in connection.execute(select(view))}
    last = max(known.values(), default=0)
    for name, (table_id, path) in moves.tables.items():
        key = _key(moves, name.schema, name.table)
        connection.execute(base.delete().where(*_is(base, key)))
        values = {"table_id": table_id, "path": store.root.stored(path)}
        connection.execute(base.insert().values(**key, **values))
    for name in moves.views:
        key = _key(moves, name.schema, name.table)
        last += 1
        ordinal = known.get((key["schema_name"], key["table_name"]), last)
        connection.execute(view.delete().where(*_is(view, key)))
        values = {"text": store.root.stored_text(moves.view(name)), "ordinal": ordinal}
        connection.execute(view.insert().values(**key, **values))


def _key(moves: SchemaMoves, schema_name: str, table_name: str) -> dict[str, Any]:
    return {"schema_name": moves.names[schema_name], "table_name": table_name}


def _is(table: Table, key: Mapping[str, Any]) -> Iterator[Any]:
    return (table.c[column] == value for column, value in key.items())


def _labels(connection: Connection) -> tuple[tuple[str, str], ...]:
    text = connection.scalar(select(schema.meta.c.value).where(_LABELS))
    return tuple((old, new) for old, new in json.loads(text or "[]"))


def _put_labels(connection: Connection, labels: tuple[tuple[str, str], ...]) -> None:
    connection.execute(schema.meta.delete().where(_LABELS))
    if labels:
        text = dump([list(pair) for pair in labels])
        connection.execute(schema.meta.insert().values(key="labels", value=text))


__all__ = ["SchemaNames"]
