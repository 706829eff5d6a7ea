"""Changes as tests compare them: rows in order, without their ids, and by them."""

from __future__ import annotations

from typing import Any

from tests.spark.engine_lab import Lab

TRACKED = "TBLPROPERTIES ('delta.enableRowTracking' = 'true')"
KEYED = "TBLPROPERTIES ('dt.primaryKey' = 'id')"
Row = tuple[Any, ...]


def version(lab: Lab, table: str) -> int:
    return int(lab.sql(f"DESCRIBE HISTORY {table} LIMIT 1")[0][0])


def changes(lab: Lab, name: str, at: Any = None, **options: Any) -> list[Row]:
    """The rows without their ids, in order."""
    frame = lab.engine.changes(name, at, **options)
    assert frame.columns[-3:] == ["$ACTION", "$ISUPDATE", "$ROW_ID"]
    return sorted((tuple(r)[:-1] for r in frame.collect()), key=repr)


def ids(lab: Lab, name: str, at: Any = None) -> dict[Row, str]:
    return {tuple(r)[:-1]: r["$ROW_ID"] for r in lab.engine.changes(name, at).collect()}
