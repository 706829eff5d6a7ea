"""Time travel of statements: snapshots, and which state of the lake a result shows."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dt_jupyter.engine.changes import Changes
from dt_jupyter.engine.timed import PastReaders
from dt_jupyter.engine.verify import verify_at
from dt_jupyter.engine.views import Verification, Verifications
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Isolation,
    ReadAt,
    Source,
    SourceKind,
    Timestamp,
    error,
    isolation,
)
from dt_jupyter.refresh.sources import Sources, name_of
from dt_jupyter.replay.past import Past as PastTable
from dt_jupyter.replay.refreshes import RefreshReplay, find_refresh, replay_refresh
from dt_jupyter.replay.replay import Bench, Replay
from dt_jupyter.replay.snapshots import NOBODY, Snapshots
from dt_jupyter.spark import run_cancellable
from dt_jupyter.sql.statements import SchemaMode, SparkKind, SparkStatement
from dt_jupyter.sql.timed import relations_in
from dt_jupyter.streams.points import OLDEST, Moment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.engine.core import Engine


@dataclass
class Travel:
    """What reads the past for statements, and remembers of each result what it read."""

    spark: SparkSession
    sources: Sources
    now: Callable[[], Timestamp]
    _labels: WeakKeyDictionary[DataFrame, Isolation] = field(default_factory=WeakKeyDictionary)
    _last: Isolation | None = None

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
            raise error("DT-1003", option="schema_mode", value=text, problem="there is none such",
                        hint=hint)  # fmt: skip
        return SchemaMode(text)

    def bench(self, engine: Engine) -> Bench:
        """What replays work with."""
        catalog = self.sources.catalog
        return Bench(
            self.spark, self.snapshots, engine.sessions, engine.layout,
            lambda: bool(catalog.running()),
        )  # fmt: skip

    def kept(self, replay: Replay) -> DataFrame:
        """The rows of a replay's last step as a DataFrame that outlives it: read from the tables
        themselves, so a vacuum may take what it reads."""
        snapshot = replay.snapshot(len(replay) - 1)
        tables = {i: self.snapshots.table(t.source, t.version) for i, t in snapshot.tables.items()}
        return self.snapshots.frame(replace(snapshot, tables=tables), replay.schema_mode)

    # -- dynamic tables as they were --------------------------------------------------------------

    def verified(
        self, engine: Engine, table: DynamicTable, at: Moment, *, every: bool
    ) -> Verification | Verifications:
        """The version of a point against the defining query of its time, or all from it on."""
        source = Source(table.name, SourceKind.DYNAMIC_TABLE, table.id,
                        str(engine.layout.public(table.id)))  # fmt: skip
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
            with engine.sessions.lease("__verify", table.definition.settings) as spark:
                done.append(verify_at(spark, engine.refresher, self.snapshots, table, t, version))
        return Verifications(table.name, tuple(done)) if every else done[0]

    def refresh_again(
        self, engine: Engine, table: DynamicTable, query_id: str | None,
        at: Timestamp | int | None,
    ) -> RefreshReplay:  # fmt: skip
        """A past refresh run again."""
        record = find_refresh(PastTable(self.sources, table), query_id, at)
        return run_cancellable(
            self.spark, f"replay:{uuid.uuid4().hex}", f"replay of a refresh of {table.name}",
            lambda: replay_refresh(self.bench(engine), engine.refresher, table, record),
        )  # fmt: skip

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
        return frame

    def isolation_of(self, frame: DataFrame | None) -> Isolation | None:
        """Of a result, or of the last query."""
        return self._last if frame is None else self._labels.get(frame)

    def _isolation(
        self, statement: SparkStatement, schema: str, reads: Sequence[ReadAt]
    ) -> Isolation | None:
        plain = {
            parts for parts, span in relations_in(statement.text)
            if not any(t.span.start <= statement.offset + span.start < t.span.end
                       for t in statement.timed)
        }  # fmt: skip
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
        except (DTError, LakeError, Refused):  # a temporary view, a path, a table of another kind
            return None
        return reads
