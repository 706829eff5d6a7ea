"""The recovery log of sinks: for each task two checkpoints, which move together under a fence."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import SinkTaskPlan, SinkTaskRow
from dt_jupyter.model import error

_task = schema.sink_task
_HINT = "What it delivered is not known: ALTER SINK … RESET delivers all again."


class SinkTasks(Store):
    """Opening fences; a commit is of the newest who opened."""

    def open_sink_task(
        self, sink: str, plan: Callable[[Sequence[SinkTaskRow]], SinkTaskPlan]
    ) -> SinkTaskRow:
        """Writes what `plan` makes of the sink's rows; its own one. DT-5112 for one that cannot
        be read."""
        with self._write() as connection:
            planned = plan(self._sink_tasks(connection, sink))
            for gone in planned.removed:
                connection.execute(_task.delete().where(_is(gone)))
            for row in (*planned.rest, planned.own):
                connection.execute(_task.delete().where(_is(row)))
                connection.execute(_task.insert().values(**_values(row)))
            return planned.own

    def commit_sink_task(self, row: SinkTaskRow) -> None:
        """Its checkpoints, if its epoch is the newest; else DT-6122."""
        with self._write() as connection:
            mine = _task.update().where(_is(row), _task.c.epoch == row.epoch)
            done = connection.execute(mine.values(checkpoints=dump(row.checkpoints)))
            if done.rowcount != 1:
                raise error("DT-6122", task=row.sink)

    def forget_sink_tasks(self, sink: str) -> None:
        """Delivers from the beginning next time; processes that have a task of it are fenced."""
        with self._write() as connection:
            connection.execute(_task.delete().where(_task.c.sink_id == sink))

    def sink_tasks(self, sink: str) -> tuple[SinkTaskRow, ...]:
        """In the order of their ranges."""
        with self._read() as connection:
            return tuple(self._sink_tasks(connection, sink))

    @staticmethod
    def _sink_tasks(connection: Connection, sink: str) -> list[SinkTaskRow]:
        query = select(_task).where(_task.c.sink_id == sink)
        made, broken = read_each(
            connection, _task, query.order_by(_task.c.range_begin, _task.c.range_end), _to_row
        )
        if broken:
            problem = "its checkpoint in the catalog cannot be read"
            raise error("DT-5112", kind="sink", name=sink, problem=problem, hint=_HINT)
        return made


def _is(row: SinkTaskRow) -> ColumnElement[bool]:
    same = (_task.c.range_begin == row.begin, _task.c.range_end == row.end)
    return and_(_task.c.sink_id == row.sink, *same)


def _values(row: SinkTaskRow) -> dict[str, object]:
    return {
        "sink_id": row.sink,
        "range_begin": row.begin,
        "range_end": row.end,
        "epoch": row.epoch,
        "checkpoints": None if row.checkpoints is None else dump(row.checkpoints),
    }


def _to_row(row: RowMapping) -> SinkTaskRow:
    text = row["checkpoints"]
    both = None if text is None else json.loads(text)
    if both is not None and not isinstance(both, dict):
        raise TypeError("checkpoints are a JSON object")
    return SinkTaskRow(row["sink_id"], row["range_begin"], row["range_end"], row["epoch"], both)
