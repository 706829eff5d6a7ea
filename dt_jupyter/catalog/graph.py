"""The history of the graph: what each dynamic table was, and read, from when to when."""

from __future__ import annotations

import json

from sqlalchemy import select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import name_in, to_name
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import GraphRow
from dt_jupyter.model import SchedulingState, TargetLag

_graph = schema.graph_history


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
                name=name_in(row),
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
