"""Where the hidden stages of dynamic tables stand; their own logs are the truth."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import from_frontier, to_frontier
from dt_jupyter.catalog.roots import root_of
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import StageRow

_stage = schema.stage


class StageRows(Store):
    """Reading; refreshes write, with their records."""

    def stages(self, dt_id: str) -> tuple[StageRow, ...]:
        """From the bottom up."""
        query = select(_stage).where(_stage.c.dt_id == dt_id).order_by(_stage.c.ordinal)
        with self._read() as connection:
            # of one that cannot be read its own log tells
            return tuple(read_each(connection, _stage, query, self._to_stage)[0])

    def _to_stage(self, row: RowMapping) -> StageRow:
        return StageRow(
            row["dt_id"],
            row["ordinal"],
            row["id"],
            row["sequence"],
            row["version"],
            to_frontier(row["frontier"]),
            self.root.found(row["path"]),
        )


def replace_stages(connection: Connection, dt_id: str, stages: Sequence[StageRow]) -> None:
    for stage in stages:
        key = (_stage.c.dt_id == dt_id, _stage.c.ordinal == stage.ordinal)
        connection.execute(_stage.delete().where(*key))
        connection.execute(
            _stage.insert().values(
                dt_id=dt_id,
                ordinal=stage.ordinal,
                id=stage.id,
                sequence=stage.sequence,
                version=stage.version,
                frontier=from_frontier(stage.frontier),
                path=root_of(connection).stored(stage.path),
            )
        )
