"""The newest time at which several dynamic tables have a version: AT (COMMON), and consistent
queries."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import Source, SourceKind, error
from dt_jupyter.replay.snapshots import NOBODY, Snapshots
from dt_jupyter.sources import Moment, Sources


def common_moment(snapshots: Snapshots, queries: Sequence[str], schema: str) -> Moment:
    """The greatest data timestamp that all dynamic tables of the queries have a version for, base
    tables as the refreshes to it read them; now where there is no dynamic table.

    Raises DT-1101, and DT-4106 where they have none in common.
    """
    tables = _dynamic(snapshots.sources, queries, schema)
    if not tables:
        return Moment(snapshots.now(), present=True)
    catalog = snapshots.sources.catalog
    found = catalog.common((t.table_id for t in tables), limit=1)
    if not found:
        newest = {str(t.name): catalog.timestamps(t.table_id, 1) for t in tables}
        facts = ", ".join(f"{n} is at {t[0].words if t else 'none yet'}" for n, t in newest.items())
        raise error("DT-4106", names=", ".join(newest), facts=facts)
    return Moment(found[0], frontier=catalog.resolved(found[0]))


def _dynamic(sources: Sources, queries: Sequence[str], schema: str) -> list[Source]:
    found: dict[str, Source] = {}
    for query in queries:
        read = sources.of_query(query, schema, NOBODY).sources.values()
        found |= {s.table_id: s for s in read if s.kind is SourceKind.DYNAMIC_TABLE}
    return list(found.values())
