"""Which versions of their sources sinks still have to read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.delivery.source_at import needed_of
from dt_jupyter.model import Name, Sink, Timestamp
from dt_jupyter.streams import RETENTION_DAYS


@dataclass(frozen=True)
class NeededVersion:
    """A sink continues from `version` of the table with that id."""

    sink: Name
    table_id: str
    version: int


def needed_versions(catalog: Catalog, now: Timestamp) -> Iterator[NeededVersion]:
    """What each sink continues from, if its last delivery is not older than what is retained for
    a stream."""
    for sink in catalog.sinks():
        done = catalog.last_delivery(sink)
        last = done.end if done is not None and done.end is not None else sink.created
        if now.since(last) < RETENTION_DAYS * 86_400:
            yield from _of_sink(catalog, sink, None if done is None else done.version)


def _of_sink(catalog: Catalog, sink: Sink, delivered: int | None) -> Iterator[NeededVersion]:
    """A store that commits on its own may be one transaction behind the recovery log, so the start
    of the previous delivery is retained until the next one is recorded."""
    for row in catalog.sink_tasks(sink.id):
        at = (row.checkpoints or {}).get("runtime")
        for table, version in needed_of(at).items() if at is not None else ():
            first = version if delivered is None else min(version, delivered)
            yield NeededVersion(sink.name, table, first)
