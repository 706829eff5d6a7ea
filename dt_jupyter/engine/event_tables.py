"""What happened in a lake as a DataFrame: DT_EVENTS."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.engine.information_schema import DATABASE
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.seen_events import seen_events
from dt_jupyter.model import LakeEvent, Name
from dt_jupyter.spark import rows_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EVENTS: tuple[tuple[str, str, Callable[[LakeEvent], object]], ...] = (
    ("EVENT_TIME", "timestamp", lambda e: e.at.datetime),
    ("SEVERITY", "string", lambda e: e.severity.value),
    ("KIND", "string", lambda e: e.kind.value),
    ("NAME", "string", lambda e: e.name or None),
    ("SCHEMA_NAME", "string", lambda e: e.schema or None),
    ("DATABASE_NAME", "string", lambda e: DATABASE if e.schema else None),
    ("STATE", "string", lambda e: e.state),
    ("STATE_CODE", "string", lambda e: e.code),
    ("STATE_MESSAGE", "string", lambda e: e.message),
    ("QUERY_ID", "string", lambda e: e.attributes.get("query_id")),
    ("OBJECT_ID", "string", lambda e: e.object_id or None),
    ("ATTRIBUTES", "string", lambda e: json.dumps(dict(e.attributes))),
)
EVENTS_SCHEMA = ", ".join(f"{n} {t}" for n, t, _ in _EVENTS)


@dataclass(frozen=True)
class EventTables:
    """Each method gives a DataFrame of the session, of what its role may see."""

    spark: SparkSession
    catalog: Catalog
    access: Access

    def events(self, name: Name | None = None, limit: int | None = None) -> DataFrame:
        """DT_EVENTS, newest first."""
        seen = seen_events(self.catalog.lake_events(name, limit), self.access)
        rows = (tuple(get(event) for _, _, get in _EVENTS) for event in seen)
        return rows_frame(self.spark, rows, EVENTS_SCHEMA)
