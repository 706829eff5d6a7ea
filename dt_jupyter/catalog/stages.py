"""The versions of the hidden stages of dynamic tables; their own logs are the truth."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, RowMapping, Select, bindparam, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import from_frontier, to_frontier
from dt_jupyter.catalog.roots import root_of
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import StageRow

_stage = schema.stage
_OF_TABLE = select(_stage).where(_stage.c.dt_id == bindparam("of_dt"))


class StageRows(Store):
    """Reading; refreshes write, with their records."""

    def stages(self, dt_id: str) -> tuple[StageRow, ...]:
        """From the bottom up."""
        if self._reads_whole:
            return self._answer("stages", self._read_all_stages).get(dt_id, ())
        return self._answer(
            ("stages", dt_id), lambda: self._read_stages(_OF_TABLE.params(of_dt=dt_id))
        )

    def _read_all_stages(self) -> dict[str, tuple[StageRow, ...]]:
        found = sorted(self._read_stages(select(_stage)), key=lambda row: row.dt_id)
        return {dt_id: tuple(rows) for dt_id, rows in groupby(found, lambda row: row.dt_id)}

    def _read_stages(self, query: Select[Any]) -> tuple[StageRow, ...]:
        """Those of each dynamic table from the bottom up."""
        with self._read() as connection:
            # the version of one that cannot be read is in its own log
            ordered = query.order_by(_stage.c.ordinal)
            return tuple(read_each(connection, _stage, ordered, self._to_stage)[0])

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
