"""Time travel of statements: snapshots, and which state of the lake a result shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from dt_jupyter.engine.changes import Changes
from dt_jupyter.engine.timed import Past
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import LakeError
from dt_jupyter.model import DTError, Isolation, ReadAt, Source, Timestamp, isolation
from dt_jupyter.refresh.sources import Sources, name_of
from dt_jupyter.replay.snapshots import NOBODY, Snapshots
from dt_jupyter.sql.statements import SparkKind, SparkStatement
from dt_jupyter.sql.timed import relations_in

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


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

    def past(self, changes: Changes) -> Past:
        """For one statement."""
        return Past(changes, self.snapshots)

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
