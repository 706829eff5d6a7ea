"""Time travel of statements: snapshots, and which state of the lake a result shows."""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dt_jupyter.histories import TransactionHistory
from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Isolation,
    Name,
    Named,
    ReadAt,
    Source,
    SourceKind,
    Timestamp,
    error,
    isolation,
)
from dt_jupyter.replay import (
    NOBODY,
    Archive,
    ArchiveIndex,
    Axes,
    Bench,
    Compared,
    Diff,
    Pace,
    Past as PastTable,
    QueryDiff,
    RefreshReplay,
    Replay,
    Snapshots,
    TableRows,
    archive_snapshot,
    compare_queries,
    diff,
    find_refresh,
    open_replay,
    read_manifest,
    read_table_rows,
    replay_refresh,
    verify_archive,
    whole,
)
from dt_jupyter.reports import (
    Verification,
    Verifications,
    read_lake_history,
    verify,
    verify_at,
)
from dt_jupyter.sources import OLDEST, Moment, Sources, is_unreadable, name_of, whole_micro
from dt_jupyter.spark import run_cancellable
from dt_jupyter.sql import SchemaMode, SparkKind, SparkStatement, relations_in
from dt_jupyter.streams import Changes, PastReaders

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.refresh import Refresher
    from dt_jupyter.spark import RefreshSessions


@dataclass
class Travel:
    """What reads the past for statements, and remembers of each result what it read."""

    spark: SparkSession
    sources: Sources
    sessions: RefreshSessions
    refresher: Refresher
    now: Callable[[], Timestamp]
    closed: Callable[[], bool]
    pace: Pace
    _labels: WeakKeyDictionary[DataFrame, Isolation] = field(default_factory=WeakKeyDictionary)
    _last: Isolation | None = None
    queries: deque[tuple[Timestamp, Isolation]] = field(default_factory=lambda: deque(maxlen=1000))

    def __post_init__(self) -> None:
        self.snapshots = Snapshots(self.spark, self.sources, self.now)

    def past(self, changes: Changes) -> PastReaders:
        """For one statement."""
        return PastReaders(changes, self.snapshots)

    @staticmethod
    def mode(text: str) -> SchemaMode:
        """The schema mode of that name; DT-1003."""
        if text not in tuple(SchemaMode):
            hint = f"Use {' or '.join(SchemaMode)}."
            raise error(
                "DT-1003", option="schema_mode", value=text, problem="it does not exist", hint=hint
            )
        return SchemaMode(text)

    def bench(self) -> Bench:
        """What replays work with."""
        catalog = self.sources.catalog
        return Bench(
            self.spark,
            self.snapshots,
            self.sessions,
            self.sources.layout,
            lambda: bool(catalog.running()),
            self.closed,
            self.pace,
        )

    def kept(self, replay: Replay) -> DataFrame:
        """The rows of a replay's last step as a DataFrame that outlives it: read from the tables
        themselves, so a vacuum may take what it reads."""
        snapshot = replay.snapshot(len(replay) - 1)
        tables = {i: self.snapshots.table(t.source, t.version) for i, t in snapshot.tables.items()}
        return self.snapshots.frame(replace(snapshot, tables=tables), replay.schema_mode)

    # -- dynamic tables as they were --------------------------------------------------------------

    def verify(
        self, table: DynamicTable, at: Moment | None, *, every: bool
    ) -> Verification | Verifications:
        """A table as it is now against its query, where `at` is None; else the version of a point
        against the defining query of its time, or with `every` all from it on."""
        found = self.sources.catalog.quarantine.find(table.name, Named.DYNAMIC_TABLE)
        if found is not None and is_unreadable(table):
            raise found.error

        def run() -> Verification | Verifications:
            if at is None and not every:
                with self.sessions.lease("__verify", table.definition.settings) as spark:
                    return verify(spark, self.refresher, self.snapshots, table)
            return self._verify_past(table, OLDEST if at is None else at, every=every)

        group = f"verify:{uuid.uuid4().hex}"
        return run_cancellable(self.spark, group, f"Verifying {table.name}", run)

    def _verify_past(
        self, table: DynamicTable, at: Moment, *, every: bool
    ) -> Verification | Verifications:
        layout = self.sources.layout
        source = Source(
            table.name, SourceKind.DYNAMIC_TABLE, table.id, str(layout.public(table.id))
        )
        if table.frontier is None:
            raise error("DT-2101", name=table.name)
        first = self.snapshots.oldest_retained(source)[1] if at is OLDEST else None
        if first is None:
            version = self.snapshots.versions([source], str(table.name), at)[table.id]
            start = self.snapshots.read_at(source, version, at.time).since
            wanted = [(start, version)]
        else:
            start, wanted = Timestamp(0), []
        if every:
            found = self.sources.catalog.versions(table.id, start)
            wanted = [(t, v) for t, v in found if first is None or v >= first]
        done = []
        for t, version in wanted:
            with self.sessions.lease("__verify", table.definition.settings) as spark:
                done.append(verify_at(spark, self.refresher, self.snapshots, table, t, version))
        return Verifications(table.name, tuple(done)) if every else done[0]

    def replay(
        self,
        name: Name,
        start: Moment | None,
        end: Moment | None,
        *,
        every: float | None,
        mode: SchemaMode,
    ) -> Replay:
        """A walk over the snapshots of a table, view, dynamic table or stream's source. Without
        `start` it begins at the offset of the stream, else at the oldest version, or is of now."""
        stream = self.sources.catalog.find_stream(name)
        if stream is not None:
            name = stream.source
            start = start or Moment(stream.advanced, frontier=stream.frontier)
        if start is None:
            start = Moment(self.now(), present=True) if end is None else OLDEST
        return open_replay(self.bench(), name, whole(name), start, end, every=every, mode=mode)

    def rows(self, name: Name, since: Moment | None, limit: int, chart: Axes | None) -> TableRows:
        """The rows of now, with what moved since a point."""
        now = Moment(self.now(), present=True)
        dynamic = self.sources.catalog.get(name) is not None

        def run() -> TableRows:
            mode = SchemaMode.SNAPSHOT_TIME
            with self.replay(name, since or now, now, every=None, mode=mode) as replay:
                return read_table_rows(replay, limit, dynamic, chart)

        return run_cancellable(self.spark, f"rows:{uuid.uuid4().hex}", f"rows of {name}", run)

    def replay_refresh(
        self, table: DynamicTable, query_id: str | None, at: Moment | None
    ) -> RefreshReplay:
        """A past refresh run again: of that query, else the newest one up to `at`."""
        t = whole_micro(at.time) if at is not None and at.time is not None else None
        version = at.version if at is not None and t is None else t
        record = find_refresh(PastTable(self.sources, table), query_id, version)
        return run_cancellable(
            self.spark,
            f"replay:{uuid.uuid4().hex}",
            f"Running a past refresh again of {table.name}",
            lambda: replay_refresh(self.bench(), self.refresher, table, record),
        )

    def archive(self, name: Name, at: Moment, to: Path) -> Archive:
        """A snapshot written to a folder."""
        return run_cancellable(
            self.spark,
            f"archive:{uuid.uuid4().hex}",
            f"Archiving {name}",
            lambda: archive_snapshot(self.bench(), name, at, to),
        )

    def attach(self, folder: Path) -> Archive:
        """An archive of a folder, known from now on, once its rows are verified."""
        found = read_manifest(folder)
        verify_archive(self.bench(), found)
        for other in self.archives.list().found:
            if other.id == found.id:
                self.archives.remove(other)
        self.archives.add(found)
        return found

    def detach(self, folder: Path) -> Archive:
        """The archive of a folder, not known any more."""
        for found in self.archives.list().found:
            if Path(found.folder) == folder:
                self.archives.remove(found)
                return found
        raise error("DT-4113", folder=folder, problem="the lake has no archive there")

    @property
    def archives(self) -> ArchiveIndex:
        return ArchiveIndex(self.sources.layout)

    def diff(self, name: Name, a: Moment, b: Moment) -> Diff:
        """What changed between two points."""
        return diff(self.bench(), name, whole(name), a, b, self.sources.catalog.get(name))

    def compare(self, old: Compared, new: Compared) -> QueryDiff:
        """What two queries give now."""
        group = f"compare:{uuid.uuid4().hex}"
        work = lambda: compare_queries(self.bench(), old, new)  # noqa: E731
        return run_cancellable(self.spark, group, f"compare {new.label}", work)

    # -- isolation --------------------------------------------------------------------------------

    def labelled(
        self, frame: DataFrame, statement: SparkStatement, schema: str, reads: Sequence[ReadAt]
    ) -> DataFrame:
        """The result of a query, remembered with its isolation; `reads` are its snapshots."""
        if statement.kind is SparkKind.QUERY:
            found = self._isolation(statement, schema, reads)
            self._last = found
            if found is not None:
                self._labels[frame] = found
                self.queries.append((self.now(), found))
        return frame

    def recorded(self) -> TransactionHistory:
        """The lake's own history, with the queries of this engine."""
        sources = self.sources
        told = tuple(self.queries)
        return read_lake_history(sources.catalog, sources.logs, sources.layout, told)

    def isolation_of(self, frame: DataFrame | None) -> Isolation | None:
        """Of a result, or of the last query."""
        return self._last if frame is None else self._labels.get(frame)

    def _isolation(
        self, statement: SparkStatement, schema: str, reads: Sequence[ReadAt]
    ) -> Isolation | None:
        plain = {
            parts
            for parts, span in relations_in(statement.text)
            if not any(
                t.span.start <= statement.offset + span.start < t.span.end for t in statement.timed
            )
        }
        current = self._current([name_of(p, schema).sql for p in sorted(plain)], schema)
        if current is None:
            return None
        found = (*reads, *current)
        return isolation(found, self.now()) if found else None

    def _current(self, names: Sequence[str], schema: str) -> list[ReadAt] | None:
        """The tables that are read as they are, views looked through; None where one of them has
        no versions."""
        sources: dict[str, Source] = {}
        try:
            for name in names:
                found = self.sources.of_query(f"SELECT * FROM {name}", schema, NOBODY)
                sources |= {s.table_id: s for s in found.sources.values()}
            reads = []
            for source in sources.values():
                table = self.sources.catalog.by_id(source.table_id)
                log = self.snapshots.log(source)
                version = table.version if table is not None else log.version()
                if version is None:
                    return None
                asked = table.data_timestamp if table is not None else None
                reads.append(self.snapshots.read_at(source, version, asked))
        except (DTError, LakeError):  # a temporary view, a path, a table of another kind
            return None
        return reads
