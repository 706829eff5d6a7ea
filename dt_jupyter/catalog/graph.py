"""The history of the graph: what each dynamic table was, and read, from when to when."""

from __future__ import annotations

import json

from sqlalchemy import Connection, select

from dt_jupyter.catalog import definitions, schema
from dt_jupyter.catalog.codec import dump, from_name, storable, to_name
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import GraphRow
from dt_jupyter.model import DynamicTable, Name, SchedulingState, TargetLag, Timestamp

_graph = schema.graph_history


def close_row(connection: Connection, dt_id: str, now: Timestamp) -> None:
    open_row = (_graph.c.dt_id == dt_id, _graph.c.valid_to.is_(None))
    connection.execute(_graph.update().where(*open_row).values(valid_to=now))


def open_row(connection: Connection, dt: DynamicTable, trigger: str, now: Timestamp) -> None:
    """The definition in force from `now` on, in place of the one before."""
    close_row(connection, dt.id, now)
    inputs = [[source.kind, from_name(source.name)] for source in dt.definition.sources]
    connection.execute(
        _graph.insert().values(
            dt_id=dt.id,
            valid_from=now,
            valid_to=None,
            schema_name=dt.name.schema,
            table_name=dt.name.table,
            query=storable(dt.definition.query),
            inputs=dump(inputs),
            target_lag_seconds=dt.target_lag.seconds,
            warehouse=dt.warehouse,
            scheduling=dt.scheduling,
            trigger_kind=trigger,
        )
    )
    definitions.keep_definition(connection, dt, now)
    table = schema.dynamic_table
    connection.execute(table.update().where(table.c.id == dt.id).values(graph_valid_from=now))


class GraphHistory(Store):
    """Reading the graph's history."""

    def graph_history(self, limit: int | None = None) -> list[GraphRow]:
        """All rows, newest first, or the `limit` newest."""
        query = select(_graph).order_by(_graph.c.valid_from.desc()).limit(limit)
        with self._read() as connection:
            rows = connection.execute(query).mappings().all()
        return [
            GraphRow(
                dt_id=row["dt_id"],
                name=Name(row["schema_name"], row["table_name"]),
                valid_from=row["valid_from"],
                valid_to=row["valid_to"],
                query=row["query"],
                inputs=tuple((kind, to_name(name)) for kind, name in json.loads(row["inputs"])),
                target_lag=TargetLag(row["target_lag_seconds"]),
                warehouse=row["warehouse"],
                scheduling=SchedulingState(row["scheduling"]),
                trigger=row["trigger_kind"],
            )
            for row in rows
        ]
