"""The versions of a sink's source, and what its checkpoints say of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import NotSupported, TableLog, arrow_schema, strip_metadata
from dt_jupyter.model import DTError, Name, Sink, Stream, Timestamp, error
from dt_jupyter.sinks import SinkColumn
from dt_jupyter.sql import StreamSource

FrontierCheckpoint = Mapping[str, Any]
"""A checkpoint of the runtime's, as `TableChanges` and `ViewChanges` write it."""
TableVersions = Mapping[str, int]
"""The version of each table, by its id."""


@dataclass(frozen=True)
class SourceTable:
    """A table at a version."""

    log: TableLog
    version: int


@dataclass(frozen=True)
class SourceAt:
    """`name` at the versions of its `tables`, by their ids; `columns` are its public ones. `stream`
    is the stream that the sink reads, as it is now; None if it reads the table itself."""

    name: Name
    tables: Mapping[str, SourceTable]
    columns: tuple[SinkColumn, ...]
    time: Timestamp
    stream: Stream | None = None

    @property
    def table_id(self) -> str:
        """Of the one table."""
        (found,) = self.tables
        return found

    @property
    def log(self) -> TableLog:
        """Of the one table."""
        return self.tables[self.table_id].log

    @property
    def version(self) -> int:
        """Of the one table."""
        return self.tables[self.table_id].version

    @property
    def versions(self) -> dict[str, int]:
        return {table: at.version for table, at in self.tables.items()}

    def at(self, versions: TableVersions) -> SourceAt:
        """The source when its tables were at these."""
        tables = {t: replace(at, version=versions[t]) for t, at in self.tables.items()}
        return replace(self, tables=tables)

    @property
    def is_view(self) -> bool:
        return self.stream is not None and self.stream.kind == StreamSource.VIEW

    @property
    def append_only(self) -> bool:
        return self.stream is not None and self.stream.append_only

    @property
    def begins_whole(self) -> bool:
        """Whether all rows come first."""
        return self.stream is None or self.stream.initial

    def mark(self, after: FrontierCheckpoint | None) -> dict[str, Any]:
        """What each checkpoint after `after` has besides: the stream, and how often that had moved
        when the sink began with it."""
        if self.stream is None:
            return {}
        first = self.stream.number if after is None else after["first"]
        return {"stream": self.stream.id, "first": first}


def sink_columns(fields: Sequence[Mapping[str, Any]]) -> tuple[SinkColumn, ...]:
    """Of columns as a Delta schema's JSON has them. A value is a plain one of its type, however
    it is bounded, compared or generated in the source. DT-6132."""
    return tuple(map(_sink_column, fields))


def _sink_column(field: Mapping[str, Any]) -> SinkColumn:
    try:
        (found,) = arrow_schema([strip_metadata(field)])
    except NotSupported as e:
        facts = {"column": field["name"], "type": e.facts.get("type", "nested")}
        raise error("DT-6132", **facts, store="a sink", problem=e.sentence) from e
    return SinkColumn(found.name, found.type, collated="__COLLATIONS" in field.get("metadata", {}))


def find_stream(catalog: Catalog, sink: Sink) -> Stream | None:
    """The stream of a sink, None where it has none. DT-6151 where it is gone."""
    if not sink.from_stream:
        return None
    found = catalog.find_stream(sink.source)
    if found is None:
        raise error("DT-6151", name=sink.name, problem=f"stream {sink.source} does not exist")
    return found


def require_stream(sink: Sink, at: SourceAt, after: FrontierCheckpoint) -> None:
    """DT-6151 where the sink has begun with another stream."""
    if at.stream is not None and after.get("stream") != at.stream.id:
        problem = f"stream {sink.source} was replaced"
        raise error("DT-6151", name=sink.name, problem=problem)


def require_kept(catalog: Catalog, sink: Sink, at: SourceAt) -> None:
    """DT-6152 for a store that starts again although its sink has moved the stream: what came
    before is in no store."""
    if (stream := at.stream) is None:
        return
    for row in catalog.sink_tasks(sink.id):
        begun = (row.checkpoints or {}).get("runtime") or {}
        if begun.get("stream") == stream.id and begun["first"] != stream.number:
            raise cannot_go_on(sink, at, "the store has lost what was delivered before")


def cannot_go_on(sink: Sink, at: SourceAt | None, problem: str) -> DTError:
    """DT-6150, or DT-6152 for a stream: to deliver it from its offset does not help."""
    if at is None or at.stream is None:
        return error("DT-6150", name=sink.name, problem=problem)
    return error("DT-6152", name=sink.name, stream=sink.source, problem=problem)


def frontier_of(checkpoint: FrontierCheckpoint | None) -> TableVersions | None:
    """Up to where all changes are delivered; None before all rows of the first version are."""
    if checkpoint is None:
        return None
    if "versions" in checkpoint:
        found: TableVersions | None = checkpoint["versions"]
        return found
    version = checkpoint["version"]
    return None if version is None else {checkpoint["table"]: version}


def needed_of(checkpoint: FrontierCheckpoint) -> TableVersions:
    """What a sink continues from."""
    begun: TableVersions | None = frontier_of(checkpoint)
    if begun is not None:
        return begun
    to = checkpoint["to"]
    return to if isinstance(to, Mapping) else {checkpoint["table"]: to}


def end_of(checkpoints: Sequence[FrontierCheckpoint | None]) -> TableVersions | None:
    """Where the furthest of several tasks is to come with the change that it has begun; None where
    one has not delivered all rows of the first version."""
    known = [c for c in checkpoints if c is not None]
    if any(frontier_of(c) is None for c in known):
        return None
    ends = [_to(c) for c in known]
    return {t: max(end.get(t, 0) for end in ends) for t in ends[0]} if ends else None


def _to(checkpoint: FrontierCheckpoint) -> TableVersions:
    to = checkpoint.get("to")
    if to is None:
        return needed_of(checkpoint)
    return to if isinstance(to, Mapping) else {checkpoint["table"]: to}


def lowest_frontier(frontiers: list[TableVersions]) -> dict[str, int]:
    """Of several along one way: each table's oldest."""
    return {table: min(f.get(table, v) for f in frontiers) for table, v in frontiers[0].items()}


def single_commits(
    at: SourceAt, old: TableVersions, new: TableVersions
) -> Iterator[tuple[TableVersions, TableVersions]]:
    """An interval as the intervals of its commits, in the order of their times."""
    commits = sorted(
        (c.time, table, c.version)
        for table, start in old.items()
        for c in at.tables[table].log.commits(start, new[table])
        if c.data_change
    )
    before = dict(old)
    for _, table, version in commits:
        after = {**before, table: version}
        yield before, after
        before = after
