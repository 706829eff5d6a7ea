"""Transactions of several statements: BEGIN, what is between, and COMMIT or ROLLBACK.

What they write is staged on private copies of the tables' logs, which their own statements read;
COMMIT publishes each table in one commit. The rows of a stream are those of its first use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake import (
    LakeError,
    Publication,
    Staging,
    folded,
    loses_changes,
    publication,
    reach,
    refused,
    sql_table,
    stage_log,
)
from dt_jupyter.model import (
    DTError,
    Intent,
    Name,
    Span,
    Stream,
    Timestamp,
    did_you_mean,
    error,
    undo,
)
from dt_jupyter.replay import whole
from dt_jupyter.sources import CopiedTables, name_of
from dt_jupyter.spark import RelationKind, lookup, storage_of, text_of_path
from dt_jupyter.sql import relations_in, statement_values as S
from dt_jupyter.streams.change_query import ChangeRows
from dt_jupyter.streams.intents import versions_read
from dt_jupyter.streams.rollforward import RollForward, kept_alive
from dt_jupyter.streams.stream_verbs import CONSUMERS, FoundStream, Replaced, Streams
from dt_jupyter.streams.time_travel import aliased

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

WRITES = (CONSUMERS - {S.SparkKind.CREATE_TABLE}) | {S.SparkKind.TRUNCATE}
_READS = frozenset({S.SparkKind.QUERY, S.SparkKind.SET, S.SparkKind.USE})
_TOLD = re.compile(
    r"(SHOW|DESCRIBE|DESC|EXPLAIN|CACHE|UNCACHE|CLEAR|REFRESH|LIST)\b", re.IGNORECASE
)
_OURS = (
    S.Begin, S.Commit, S.Rollback, S.DescribeDynamicTable, S.ShowDynamicTables,
    S.ExplainDynamicTable, S.ShowWarehouses, S.DescribeStream, S.ShowStreams,
    S.DescribeTask, S.ShowTasks,
)  # fmt: skip
_EVOLVES = re.compile(r"\bWITH\s+SCHEMA\s+EVOLUTION\b", re.IGNORECASE)
_OUTSIDE = "Run it before BEGIN, or after COMMIT."


@dataclass
class Transaction:
    """An open transaction: the time of which it reads streams, those that it holds and how far it
    reads them, those that a statement consumed, and the tables that it writes, by path."""

    intent: Intent
    time: Timestamp | None = None
    recorded: bool = False
    streams: dict[str, Stream] = field(default_factory=dict)
    ends: dict[str, dict[str, int]] = field(default_factory=dict)
    consumed: set[str] = field(default_factory=set)
    tables: dict[Path, Staging] = field(default_factory=dict)
    folders: int = 0
    held: ExitStack = field(default_factory=ExitStack)


@dataclass
class Transactions:
    """The one transaction of an engine that may be open."""

    streams: Streams
    forward: RollForward
    now: Callable[[], Timestamp]
    current: Transaction | None = None

    # -- statements -------------------------------------------------------------------------------

    def begin(self) -> Transaction:
        """Opens a transaction. DT-3206 where one is open."""
        with self.streams.lock:
            if self.current is not None:
                raise error("DT-3206", since=self.current.intent.created)
            self.streams.recover()
            now = self.now()
            intent = Intent(self.streams.new_id(), "BEGIN", "", None, now, now)
            self.current = Transaction(intent)
            return self.current

    def rollback(self) -> None:
        """Nothing of the transaction happened, its streams keep their offsets. DT-3205."""
        with self.streams.lock:
            self._end(self._require("ROLLBACK"))

    def commit(self) -> dict[str, int]:
        """All of it, at once and once: the new version of each table by path; the streams that it
        consumed move. DT-3205; DT-3208 and DT-3209 as they say; the transaction is over."""
        with self.streams.lock:
            tx = self._require("COMMIT")
            try:
                made = self._made(tx)
                frontiers = {s: tx.ends[s] for s in tx.consumed}
                if not made and not frontiers:
                    self._end(tx)
                    return {}
                self.current = None
                intent = replace(tx.intent, at=self.now(), frontiers=frontiers)
                done = self.forward.commit(intent, made)
            except BaseException as e:
                undo(e, lambda: self._end(tx))
                raise
            tx.held.close()
            for path in done:
                place = text_of_path(self._copies.place_of(path))
                self.streams.changes.spark.catalog.refreshByPath(place)
            return done

    def require_allowed(self, statement: S.Statement) -> None:
        """DT-3207 for a statement that cannot be taken back."""
        if self.current is None or isinstance(statement, _OURS):
            return
        what = " ".join(statement.text.split()[:2]).upper()
        problem = "it takes effect immediately"
        if isinstance(statement, S.SparkStatement):
            if statement.kind in _READS or statement.temporary:
                return
            if statement.kind is S.SparkKind.OTHER and _TOLD.match(statement.text):
                return
            if statement.kind in WRITES:
                if not _EVOLVES.search(statement.text):
                    return
                what, problem = "WITH SCHEMA EVOLUTION", "it changes the table's schema"
        raise error("DT-3207", statement=what, problem=problem, hint=_OUTSIDE)

    def run(
        self,
        statement: S.SparkStatement,
        found: Sequence[FoundStream],
        script: str,
        schema: str,
        write: Callable[[Replaced], DataFrame],
    ) -> DataFrame:
        """Runs a statement in the open transaction; one that fails leaves it as it was."""
        with self.streams.lock:
            tx = self._require(statement.text[:20])
            target = self._target(tx, statement, schema) if statement.kind in WRITES else None
            own = self._staged_reads(tx, statement, script, schema)
            if target is not None:
                own.append(_placed(statement, tx.tables[target], script))
            with self.streams.in_place(found, script, lambda s: self.rows(tx, s)) as (streams, _):
                if target is None:
                    return write([*own, *streams])
                try:
                    frame = write([*own, *streams])
                    self._accept(tx, target, statement)
                except BaseException:
                    self._undo(tx, target)
                    raise
            tx.consumed.update(f.stream.id for f in found)
            reach("tx_statement_staged")
            return frame

    # -- streams ----------------------------------------------------------------------------------

    def rows(self, tx: Transaction, stream: Stream) -> ChangeRows:
        """What the stream held when the transaction first used a stream; it is the transaction's
        from then on. DT-3203 where it is another's, or another one moved it since.
        Source: CQ 3.3."""
        known = tx.streams.get(stream.id)
        if known is not None:
            return self.streams.rows(known, tx.ends[known.id])
        self.streams.recover()
        known = self.streams.catalog.stream(stream.name)
        tx.time = tx.time or self.now()
        ends = self.streams.ends_at(known, tx.time)
        if any(ends.get(table, version) < version for table, version in known.frontier.items()):
            raise error("DT-3203", name=known.name, owner="another session, since BEGIN")
        rows = self.streams.rows(known, ends)
        self._record(tx)
        self.streams.catalog.take_stream(tx.intent, known)
        tx.streams[known.id], tx.ends[known.id] = known, dict(rows.ends)
        return rows

    def consume(self, name: Name) -> DataFrame:
        """The rows of a stream, which moves at COMMIT whatever is done with them. DT-3201, 3203."""
        with self.streams.lock:
            tx = self._require("A stream's consumption")
            stream = self.streams.catalog.stream(name)
            rows = self.rows(tx, stream)
            tx.consumed.add(stream.id)
            return rows.frame

    # -- tables -----------------------------------------------------------------------------------

    def _target(self, tx: Transaction, statement: S.SparkStatement, schema: str) -> Path:
        """The folder of the table that the statement writes; staged from its first write on."""
        changes, name = self.streams.changes, statement.target
        if name is not None and lookup(changes.spark, name) is None:
            hint = did_you_mean(name.table, changes.sources.known())
            raise error("DT-1101", name=name, hint=hint)
        what = f"Writing {name or 'a path'}"
        try:
            path = self.streams.target(statement, schema)
        except DTError as e:
            facts = {k: e.facts[k] for k in ("problem", "hint")}
            raise error("DT-3207", statement=what, **facts) from e
        if path in tx.tables:
            return path
        log = changes.sources.logs[str(path)]
        self._record(tx)
        try:
            tx.tables[path] = stage_log(log, log.version(), self._folder(tx))
        except LakeError as e:
            raise error("DT-3207", statement=what, problem=e.sentence, hint="") from e
        return path

    def _folder(self, tx: Transaction) -> Path:
        tx.folders += 1
        return self.forward.folder(tx.intent.id) / str(tx.folders)

    def _accept(self, tx: Transaction, target: Path, statement: S.SparkStatement) -> None:
        staging = tx.tables[target]
        newest = staging.newest()
        for version in range(staging.last + 1, newest + 1):
            kind = refused(staging.actions(version))
            if kind is not None:
                problem = f"it changes the table's {kind}"
                what = statement.kind.value.replace("_", " ")
                raise error("DT-3207", statement=what, problem=problem, hint=_OUTSIDE)
        staging.last = newest

    def _undo(self, tx: Transaction, target: Path) -> None:
        staging = tx.tables[target]
        if staging.newest() > staging.last:
            tx.tables[target] = staging.rewound(self._folder(tx))

    def _staged_reads(
        self, tx: Transaction, statement: S.SparkStatement, script: str, schema: str
    ) -> Replaced:
        """The statement's relations that the transaction has written, as it has them.

        DT-3207 for a view of one: Spark would read what is published.
        """
        if not tx.tables:
            return []
        replaced: Replaced = []
        for parts, span in relations_in(statement.text):
            name = name_of(parts, schema)
            relation = lookup(self.streams.changes.spark, name)
            place = Span(statement.offset + span.start, statement.offset + span.end)
            if relation is None or relation.kind is RelationKind.TEMPORARY_VIEW:
                continue
            if relation.kind is RelationKind.VIEW:
                self._require_unstaged(tx, name, script, place)
            elif (staging := self._staged(tx, relation.location)) is not None:
                staged = sql_table(staging.folder)
                replaced.append(aliased(staged, name.table, script, place))
        return replaced

    def _staged(self, tx: Transaction, location: str | None) -> Staging | None:
        """What the transaction has of the table that the session knows at a location."""
        if location is not None and storage_of(location) is not None:
            location = self.streams.changes.sources.folder_of(location)
        return None if location is None else tx.tables.get(Path(location))

    @property
    def _copies(self) -> CopiedTables:
        return self.streams.changes.sources.copies

    def _require_unstaged(self, tx: Transaction, view: Name, script: str, place: Span) -> None:
        for base in self.streams.changes.base_tables(whole(view), view.schema):
            if base.path is not None and Path(base.path) in tx.tables:
                problem = f"it has written {base.name}, and a view shows the rows from before"
                hint = f"Write the view's query in its place, or read {view} first."
                made = error("DT-3207", statement=f"Reading {view}", problem=problem, hint=hint)
                raise made.at(script, place)

    # -- its end ----------------------------------------------------------------------------------

    def _made(self, tx: Transaction) -> list[Publication]:
        ends = {s: tx.ends[s] for s in tx.consumed}
        mark = {"intent": tx.intent.id, "reads": versions_read(ends)}
        made = []
        for staging in tx.tables.values():
            spark = self.streams.changes.spark
            changes = folded(spark, staging) if loses_changes(staging) else None
            made.append(publication(staging, mark, changes))
        return [m for m in made if m is not None]

    def _record(self, tx: Transaction) -> None:
        """The transaction is in the catalog from its first stream or written table on."""
        if tx.recorded:
            return
        self.streams.catalog.begin_intent(tx.intent, [])
        tx.recorded = True
        tx.held.enter_context(kept_alive(self.streams.catalog, tx.intent.id))
        reach("tx_intent_recorded")

    def _end(self, tx: Transaction) -> None:
        """Given up, unless its COMMIT is on record: then the next process publishes it."""
        self.current = None
        tx.held.close()
        if tx.recorded:
            catalog = self.streams.catalog
            catalog.let_go(tx.intent)
            if not catalog.decided(tx.intent.id):
                self.forward.abort(tx.intent)

    def _require(self, what: str) -> Transaction:
        if self.current is None:
            raise error("DT-3205", statement=what)
        return self.current


def _placed(statement: S.SparkStatement, staging: Staging, script: str) -> tuple[Span, str]:
    """The staged table in the place of the statement's target."""
    place, name = statement.places["name"], statement.target
    assert name is not None
    table = sql_table(staging.folder)
    if statement.kind is S.SparkKind.TRUNCATE:
        return Span(statement.offset, place.end), f"DELETE FROM {table}"
    if statement.kind is S.SparkKind.INSERT:
        return place, table
    return aliased(table, name.table, script, place)


__all__ = ["Transaction", "Transactions"]
