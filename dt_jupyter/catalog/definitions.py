"""What a dynamic table was defined as, and since when: every definition that it ever had."""

from __future__ import annotations

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import definition_digest, from_definition, to_definition
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import DefinitionRow
from dt_jupyter.model import DynamicTable, Timestamp

_definition = schema.definition


def keep(connection: Connection, dt: DynamicTable, now: Timestamp) -> None:
    """The definition in force from `now` on, unless it is already."""
    text = from_definition(dt.definition)
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
            dt_id=dt.id, valid_from=now, digest=definition_digest(dt.definition), text=text
        )
    )


class Definitions(Store):
    """Reading; `graph.open_row` writes, whenever a dynamic table is made or changed."""

    def definitions(self, dt_id: str) -> tuple[DefinitionRow, ...]:
        """Oldest first."""
        query = (
            select(_definition)
            .where(_definition.c.dt_id == dt_id)
            .order_by(_definition.c.valid_from)
        )
        with self._read() as connection:
            return tuple(_to_row(row) for row in connection.execute(query).mappings())


def _to_row(row: RowMapping) -> DefinitionRow:
    definition = to_definition(row["text"])
    digest = row["digest"] or definition_digest(definition)
    return DefinitionRow(row["dt_id"], row["valid_from"], digest, definition)
