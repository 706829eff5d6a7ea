"""The plans of dynamic tables' queries as Spark analysed them: one row for each table, its last. A
row can always be recreated, so one that is lost or damaged is only read by Spark once more."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import zlib

from sqlalchemy import RowMapping, or_, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import StoredPlan

_plan, _table = schema.stored_plan, schema.dynamic_table
_log = logging.getLogger("dt_jupyter.catalog")


class StoredPlans(Store):
    """Written when a query is first compiled; removed once its table is dropped."""

    def stored_plan(self, dt_id: str) -> StoredPlan | None:
        """That of a dynamic table by its id; None where there is none, or its row is damaged."""
        query = select(_plan).where(_plan.c.dt_id == dt_id)
        with self._read() as connection:
            found, broken = read_each(connection, _plan, query, _to_plan)
        for row in broken:
            _log.warning("the stored plan of %s is damaged: %s", dt_id, row.problem)
        return found[0] if found else None

    def store_plan(self, dt_id: str, plan: StoredPlan) -> None:
        """Replaces the plan of a dynamic table, and removes those of tables that are dropped."""
        live = select(_table.c.id).where(_table.c.dropped.is_(None))
        with self._write() as connection:
            connection.execute(
                _plan.delete().where(or_(_plan.c.dt_id == dt_id, _plan.c.dt_id.not_in(live)))
            )
            if connection.scalar(live.where(_table.c.id == dt_id)) is not None:
                connection.execute(_plan.insert().values(dt_id=dt_id, **_values(plan)))


def _values(plan: StoredPlan) -> dict[str, str]:
    packed = zlib.compress(json.dumps(dict(plan.answers)).encode(), 9)
    said = (plan.query_key, plan.session_key, plan.digest, base64.b64encode(packed).decode())
    names = ("query_key", "session_key", "digest", "content")
    return {**dict(zip(names, said, strict=True)), "checksum": _checksum(said)}


def _to_plan(row: RowMapping) -> StoredPlan:
    """ValueError where the row does not have the checksum of its values."""
    said = (row["query_key"], row["session_key"], row["digest"], row["content"])
    if _checksum(said) != row["checksum"]:
        raise ValueError("its checksum differs")
    answers = json.loads(zlib.decompress(base64.b64decode(row["content"])))
    return StoredPlan(row["query_key"], row["session_key"], row["digest"], answers)


def _checksum(values: tuple[str, ...]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
