"""The changes of a stream over a view as a sink reads them, between versions of the view's tables.

A checkpoint is {"stream", "first", "versions"} once all up to there is delivered; "versions" is
None before all rows of the first ones are. A change is cut by a hash of the key: the checkpoint in
the middle of one has "to", "part" and "parts".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.delivery import table_changes as tables
from dt_jupyter.delivery.net_rows import has_twins, last_of_keys
from dt_jupyter.delivery.source_at import (
    FrontierCheckpoint,
    SourceAt,
    SourceTable,
    TableVersions,
    cannot_go_on,
    find_stream,
    require_kept,
    require_stream,
    single_commits,
    sink_columns,
)
from dt_jupyter.lake import LakeError, find_same_rows, may_change, plan_changes
from dt_jupyter.model import DTError, Name, Sink, Stream
from dt_jupyter.replay import whole
from dt_jupyter.sinks import KIND, ChangeInterval, ChangeKind, SinkColumn
from dt_jupyter.sources import OWN_SCHEMA, Moment
from dt_jupyter.spark import RefreshSessions, arrow_frame, collect_arrow
from dt_jupyter.streams import Changes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_OF = Name(OWN_SCHEMA, "sink")
ViewColumns = dict[tuple[str, ...], tuple[SinkColumn, ...]]
"""The columns of a view by its stream, and by the texts and schemas that they follow from."""


class ViewChanges:
    """The source of a sink's changes, up to the versions that it was last aimed at. As
    `TableChanges`; `known` is shared, since Spark decides a view's columns."""

    def __init__(
        self,
        changes: Changes,
        sessions: RefreshSessions,
        sink: Sink,
        key: Sequence[str] = (),
        *,
        mirrors: bool = True,
        known: ViewColumns | None = None,
    ) -> None:
        self._changes, self._sessions, self._sink = changes, sessions, sink
        self._key, self._mirrors = tuple(key), mirrors
        self._known: ViewColumns = {} if known is None else known
        self._at: SourceAt | None = None
        self._mark: dict[str, Any] = {}

    # -- the versions of the source ---------------------------------------------------------------

    def aim(self, at: SourceAt) -> None:
        """As `TableChanges.aim`."""
        self._at = at

    def look(self) -> SourceAt:
        """The view's tables as they are now. DT-6151, DT-6132."""
        sink, sources, now = self._sink, self._changes.sources, self._changes.now()
        stream = find_stream(sources.catalog, sink)
        assert stream is not None
        query, schema = whole(stream.source), stream.source.schema
        with tables.gone_is_told(sink):
            found = sources.of_query(query, schema, _OF)
            versions = self._changes.frontier(
                query, schema, str(sink.name), Moment(now, present=True)
            )
        stand = {
            s.table_id: SourceTable(sources.logs[s.path], versions[s.table_id])
            for s in found.sources.values()
            if s.path is not None
        }
        texts = (stream.id, *(v.text for v in found.views.values()))
        asked = *texts, *(t.log.metadata(t.version).schema_string for t in stand.values())
        if asked not in self._known:
            self._known[asked] = self._columns(stream, versions)
        return SourceAt(stream.source, stand, self._known[asked], now, stream)

    def _columns(self, stream: Stream, versions: TableVersions) -> tuple[SinkColumn, ...]:
        with self._sessions.lease(self._sink.warehouse) as spark:
            frame = self._of(spark, stream, versions, versions)
            fields = [f.jsonValue() for f in frame.schema.fields]
        return sink_columns([f for f in fields if not f["name"].startswith("$")])

    @staticmethod
    def is_behind(at: SourceAt, after: FrontierCheckpoint | None) -> bool:
        """As `TableChanges.is_behind`."""
        if after is None and at.stream is not None and not at.begins_whole:
            old: TableVersions = at.stream.frontier
        elif after is None or "to" in after:
            return True
        else:
            old = after["versions"]
        return set(old) != set(at.tables) or _may_change(at, old)

    @staticmethod
    def reads_all(at: SourceAt, after: FrontierCheckpoint | None) -> bool:
        """As `TableChanges.reads_all`."""
        return at.begins_whole if after is None else after["versions"] is None

    # -- intervals --------------------------------------------------------------------------------

    def next(self, after: FrontierCheckpoint | None) -> ChangeInterval | None:
        """As a `ChangeSource`. DT-6151 where the stream was replaced, DT-6152 where it cannot be
        read on."""
        at = self._at or self.look()
        assert at.stream is not None
        self._mark = at.mark(after)
        if after is None:
            require_kept(self._changes.sources.catalog, self._sink, at)
            if at.begins_whole:
                return self._first(at)
            return self._after(at, at.stream.frontier)
        require_stream(self._sink, at, after)
        if "part" in after:
            self._require_same(at, after["to"])
            return self._interval(at, after["versions"], after["to"], after["part"], after["parts"])
        return self._after(at, after["versions"])

    def _after(self, at: SourceAt, old: TableVersions) -> ChangeInterval | None:
        self._require_same(at, old)
        try:
            if not _may_change(at, old):
                return None
            return self._interval(at, old, at.versions, 0, self._parts(at, old))
        except LakeError as e:
            raise self._stale(at, e.sentence) from e

    def _first(self, at: SourceAt) -> ChangeInterval:
        with self._sessions.lease(self._sink.warehouse) as spark:
            self.require_key(spark, at)
        return self._interval(at, None, at.versions, 0, self._parts(at, None))

    def _require_same(self, at: SourceAt, known: TableVersions) -> None:
        if set(known) != set(at.tables):
            raise self._stale(at, f"{at.name} reads other tables than it did")
        if any(version > at.tables[t].version for t, version in known.items()):
            raise self._stale(at, f"a table of {at.name} is older than it was")

    def _parts(self, at: SourceAt, old: TableVersions | None) -> int:
        """As `TableChanges` cuts."""
        rows = bytes_ = 0
        for table, t in at.tables.items():
            size: Any = t.log.size() if old is None else plan_changes(t.log, old[table], t.version)
            rows += getattr(size, "rows", 0) or 0
            bytes_ += getattr(size, "bytes", 0) or 0
        return max(1, -(-rows // tables.CUT_ROWS), -(-bytes_ // tables.CUT_BYTES))

    def _interval(
        self, at: SourceAt, old: TableVersions | None, new: TableVersions, part: int, parts: int
    ) -> ChangeInterval:
        until = {**self._mark, "versions": dict(new)}
        if part + 1 < parts:
            cut = {"to": dict(new), "part": part + 1, "parts": parts}
            until |= {"versions": None if old is None else dict(old), **cut}
        return ChangeInterval(until, self._batches(at, old, new, part, parts))

    # -- rows -------------------------------------------------------------------------------------

    def _batches(
        self, at: SourceAt, old: TableVersions | None, new: TableVersions, part: int, parts: int
    ) -> Iterator[pa.Table]:
        """As `TableChanges` gives them."""
        try:
            with self._sessions.lease(self._sink.warehouse) as spark:
                for step in self._steps(spark, at, old, new, part, parts):
                    yield tables.align_columns(step, at.columns)
        except LakeError as e:
            raise self._stale(at, e.sentence) from e
        except DTError as e:
            if e.code != "DT-3103":
                raise
            raise self._stale(at, e.facts["problem"]) from e

    def _steps(
        self,
        spark: SparkSession,
        at: SourceAt,
        old: TableVersions | None,
        new: TableVersions,
        part: int,
        parts: int,
    ) -> Iterator[pa.Table]:
        """A net change where a key is one row of the view, else commit by commit."""
        assert at.stream is not None

        def read(a: TableVersions | None, b: TableVersions) -> pa.Table:
            assert at.stream is not None
            if a is not None:
                a = {t: find_same_rows(at.tables[t].log, v, b[t]) for t, v in a.items()}
            frame = self._of(spark, at.stream, a, b)
            return tables.with_kinds(collect_arrow(tables.hash_part(frame, self._key, part, parts)))

        if old is None:
            yield read(None, new)
        elif not self._mirrors:
            yield from (read(a, b) for a, b in single_commits(at, old, new))
        elif at.append_only:
            rows = read(old, new)
            if has_twins(rows, self._key):
                commits = single_commits(at, old, new)
                steps = [tables.cast_columns(read(a, b), at.columns) for a, b in commits]
                rows = last_of_keys(steps, self._key)
            yield rows
        else:
            rows = read(old, new)
            self._require_unique(spark, at, new, rows)
            yield rows

    def _of(
        self, spark: SparkSession, stream: Stream, old: TableVersions | None, new: TableVersions
    ) -> DataFrame:
        """What the stream holds after versions, or all rows at the new ones."""
        return (
            replace(self._changes, spark=spark)
            .of(
                whole(stream.source),
                stream.source.schema,
                str(self._sink.name),
                at=new if old is None else old,
                end=new,
                append_only=stream.append_only,
                initial=old is None,
                stream=stream,
            )
            .frame
        )

    # -- the key ----------------------------------------------------------------------------------

    def require_key(self, spark: SparkSession, at: SourceAt) -> None:
        """As `TableChanges.require_key`."""
        if not self._key or at.append_only or not self._mirrors:
            return
        assert at.stream is not None
        rows = self._of(spark, at.stream, None, at.versions)
        tables.require_no_null(rows, self._key)
        tables.refuse_twins(rows, self._key)

    def _require_unique(
        self, spark: SparkSession, at: SourceAt, new: TableVersions, rows: pa.Table
    ) -> None:
        """DT-6130 where a key that came is now of two rows of the view."""
        import pyarrow.compute as pc

        came = rows.filter(pc.not_equal(rows[KIND], int(ChangeKind.DELETE))).select(self._key)
        if not came.num_rows:
            return
        assert at.stream is not None
        keys = arrow_frame(spark, came.combine_chunks()).distinct()
        known = self._of(spark, at.stream, None, new)
        tables.refuse_twins(known.join(keys, list(self._key), "left_semi"), self._key)

    def _stale(self, at: SourceAt, problem: str) -> DTError:
        return cannot_go_on(self._sink, at, problem)


def _may_change(at: SourceAt, old: TableVersions) -> bool:
    return any(may_change(t.log, old[table], t.version) for table, t in at.tables.items())
