"""Writing down what a dynamic table is: in the graph's history, and among its definitions."""

from __future__ import annotations

from sqlalchemy import Connection, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import definition_digest, dump, from_definition, from_name, storable
from dt_jupyter.catalog.roots import root_of
from dt_jupyter.model import DynamicTable, Timestamp

_graph = schema.graph_history
_definition = schema.definition


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
    _keep_definition(connection, dt, now)
    table = schema.dynamic_table
    connection.execute(table.update().where(table.c.id == dt.id).values(graph_valid_from=now))


def _keep_definition(connection: Connection, dt: DynamicTable, now: Timestamp) -> None:
    """The definition in force from `now` on, unless it is already."""
    text = from_definition(dt.definition, root_of(connection))
    newest = (
        select(_definition.c.text)
        .where(_definition.c.dt_id == dt.id)
        .order_by(_definition.c.valid_from.desc())
        .limit(1)
    )
    if connection.scalar(newest) == text:
        return
    connection.execute(
        _definition.insert().values(
            dt_id=dt.id, valid_from=now, digest=definition_digest(text), text=text
        )
    )
