"""STREAM objects: made, read, and consumed by the statement that writes what they gave.

Source: CQ 2.3 and 3.3.
"""

from __future__ import annotations

import re
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.lake import (
    DELETED_FILES,
    LOG,
    Added,
    Feed,
    LakeError,
    Unchanged,
    Unreadable,
    feed_parts,
    find_same_rows,
    gone_from_change,
    gone_from_snapshot,
    is_delta,
    may_change,
    plan_changes,
    retention,
    sql_table,
)
from dt_jupyter.model import (
    EXTENSION_DAYS,
    DTError,
    Name,
    Named,
    Source,
    SourceKind,
    Span,
    Stream,
    StreamMeaning,
    Timestamp,
    count_of,
    did_you_mean,
    error,
    require_name,
)
from dt_jupyter.replay import whole
from dt_jupyter.sources import (
    TRACKING,
    By,
    Layout,
    LeaseWaits,
    Moment,
    name_of,
    require_free,
    told_apart,
)
from dt_jupyter.spark import lookup, runs_elsewhere, storage_at, storage_of
from dt_jupyter.sql import (
    CreateAction,
    CreateStream,
    PointKind,
    SparkKind,
    SparkStatement,
    StreamSource,
    TimePoint,
    literal,
    relations_in,
    statement_values as S,
)
from dt_jupyter.streams.change_query import ChangeRows, Changes
from dt_jupyter.streams.intents import Ends, Intents
from dt_jupyter.streams.rollforward import RollForward
from dt_jupyter.streams.sides import NO_FEED
from dt_jupyter.streams.time_travel import Points, aliased, temporary_views

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

RETENTION_DAYS = EXTENSION_DAYS
"""A stream keeps what it needs of its sources for so long (MAX_DATA_EXTENSION_TIME_IN_DAYS)."""
_UNSET = {"COMMENT": ("comment", None), "MAX_DATA_EXTENSION_TIME_IN_DAYS":
          ("extension_days", EXTENSION_DAYS)}  # fmt: skip

CONSUMERS = frozenset(
    {SparkKind.INSERT, SparkKind.MERGE, SparkKind.UPDATE, SparkKind.DELETE, SparkKind.CREATE_TABLE}
)
_ONLY_NEW = re.compile(r"CREATE\s+TABLE\s+IF\s+NOT\s+EXISTS\b", re.IGNORECASE)
_PROVIDER = re.compile(r"\A(?:(?!\bAS\b).)*\bUSING\s+(?P<provider>\w+)", re.IGNORECASE | re.DOTALL)
_LOCATION = re.compile(r"\bLOCATION\b", re.IGNORECASE)


Replaced = list[tuple[Span, str]]
"""Places in a script, and what is put there."""


def _changes(change: S.SetStream | S.UnsetOptions) -> dict[str, Any]:
    if isinstance(change, S.UnsetOptions):
        return dict(_UNSET[name] for name in change.names)
    given = {"comment": change.comment, "extension_days": change.extension_days}
    return {field: value for field, value in given.items() if value is not None}


@dataclass(frozen=True)
class FoundStream:
    """A stream that a statement reads, at a place in the script."""

    stream: Stream
    span: Span


@dataclass
class Streams:
    """The streams of a lake, over the changes that the session reads."""

    catalog: Catalog
    changes: Changes
    layout: Layout
    waits: LeaseWaits
    lock: threading.RLock = field(default_factory=threading.RLock)
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex
    """What gives the ids of intents."""

    @cached_property
    def forward(self) -> RollForward:
        """What ends transactions."""
        return RollForward(self.catalog, self.changes.sources.logs, self.layout)

    @property
    def intents(self) -> Intents:
        """What runs statements that consume streams."""
        changes = self.changes
        logs = changes.sources.logs
        return Intents(self.catalog, changes.spark, logs, self.forward, changes.now, self.new_id)

    # -- statements -------------------------------------------------------------------------------

    def create(
        self, asked: CreateStream, points: Points, stream_id: str | None = None
    ) -> list[str]:
        """Makes a stream, by that id or a new one, and says what was done for it. DT-1101,
        DT-1105, DT-1109, DT-1119, DT-31xx, and DT-4110 where it is unknown how long a table keeps
        its past."""
        require_name(Named.STREAM, asked.name)
        if asked.action is CreateAction.IF_NOT_EXISTS and self.catalog.find_stream(asked.name):
            return [f"Stream {asked.name} already exists, nothing done."]
        if self.catalog.find_stream(asked.name) is None:
            require_free(self.catalog, self.changes.spark, asked.name)
        self._require_kind(asked)
        told = self.prepare(asked.source, asked.extension_days)
        frontier, advanced, meaning = self._start(asked, points)
        made = Stream(
            stream_id or uuid.uuid4().hex,
            asked.name,
            asked.source,
            asked.source_kind.value,
            frontier,
            advanced,
            self.changes.now(),
            asked.append_only,
            asked.show_initial_rows,
            comment=asked.comment,
            extension_days=asked.extension_days,
            meaning=meaning,
        )
        self.rows(replace(made, initial=False))  # what cannot be read is not made
        replacing = asked.action is CreateAction.REPLACE
        self.catalog.create_stream(made, replace_existing=replacing)
        return [f"Stream {asked.name} created on {asked.source}.", *told]

    def clone(self, asked: S.CloneStream, points: Points) -> list[str]:
        """Makes a stream at the offset of another one, or at a point, with its options.
        DT-3201, and as `create` raises."""
        of = self.catalog.stream(asked.source)
        at = asked.at or TimePoint(PointKind.STREAM, literal(str(of.name)))
        made = CreateStream(
            asked.name, StreamSource(of.kind), of.source, at, of.append_only,
            of.initial and asked.at is None, of.comment, of.extension_days, asked.action,
        )  # fmt: skip
        return self.create(made, points)

    def alter(self, name: Name, change: S.SetStream | S.UnsetOptions) -> list[str]:
        """Another comment, or another time for which its sources keep what it needs. DT-3201."""
        stream = self.catalog.stream(name)
        given = _changes(change)
        days = given.get("extension_days", stream.extension_days)
        told = self.prepare(stream.source, days) if days > stream.extension_days else []
        comment = given.get("comment", stream.comment)
        self.catalog.alter_stream(name, comment=comment, extension_days=days)
        return [f"Stream {name} altered.", *told]

    def undrop(self, name: Name) -> None:
        """Restores the one of that name that was dropped last, with its offset. DT-1118 where
        there is none, or what it has not consumed is gone; DT-1105."""
        known = self.catalog.dropped_stream(name)
        if known is None:
            hint = did_you_mean(name.table, [str(s.name) for s in self.catalog.streams()])
            raise error("DT-1118", name=name, problem="no such stream was dropped", hint=hint)
        require_free(self.catalog, self.changes.spark, name)
        _, problem = self.standing(known)
        if problem is not None:
            hint = f"Create it again: CREATE STREAM {name} ON {known.kind} {known.source}."
            raise error("DT-1118", name=name, problem=problem, hint=hint)
        self.catalog.undrop_stream(known)

    def _start(
        self, asked: CreateStream, points: Points
    ) -> tuple[dict[str, int], Timestamp, StreamMeaning]:
        """The versions at which a stream begins, the time of that, and what its source means. One
        that begins at the offset of another one on the same source takes over the meaning too."""
        query, schema, name = whole(asked.source), asked.source.schema, str(asked.source)
        at = asked.at
        if at is not None and at.kind is PointKind.STREAM:
            other = points.stream_of(at)
            tables = {s.table_id for s in self.changes.base_tables(query, schema)}
            if tables == set(other.frontier):
                known = other.meaning if other.source == asked.source else None
                meaning = known or self.changes.meaning(asked.source)
                return dict(other.frontier), other.advanced, meaning
            found = Moment(other.advanced)
        else:
            found = (
                points.moment(at) if at is not None else Moment(self.changes.now(), present=True)
            )
        advanced = found.time or self.changes.now()
        frontier = self.changes.frontier(query, schema, name, found)
        return frontier, advanced, self.changes.meaning(asked.source)

    def kind_of(self, source: Name) -> StreamSource | None:
        """What a stream on that name would be on; None where there is nothing."""
        if self.catalog.get(source) is not None:
            return StreamSource.DYNAMIC_TABLE
        relation = lookup(self.changes.spark, source)
        if relation is None:
            return None
        return StreamSource.TABLE if relation.text is None else StreamSource.VIEW

    def _require_kind(self, asked: CreateStream) -> None:
        kind = self.kind_of(asked.source)
        if kind in (asked.source_kind, None):  # its absence is found by its reader
            return
        hint = f"Write CREATE STREAM {asked.name} ON {kind} {asked.source}."
        raise error(
            "DT-1109",
            name=asked.source,
            kind=str(kind).lower(),
            expected=str(asked.source_kind).lower(),
            hint=hint,
        )

    def prepare(self, source: Name, days: int = RETENTION_DAYS) -> list[str]:
        """Row tracking and retention of the tables that a stream or a sink reads, where they lack
        it; what was done."""
        told = []
        for base in self.changes.base_tables(whole(source), source.schema):
            if base.kind is SourceKind.DELTA and base.path is not None:
                told += self._prepare(base, base.path, days)
        return told

    def _prepare(self, base: Source, path: str, days: int) -> list[str]:
        log = self.changes.sources.logs[path]
        version = log.version()
        by, _ = told_apart(log, version, version, log.metadata().columns)
        wanted: dict[str, str] = {}
        told = []
        if by is By.CONTENT:
            wanted[TRACKING] = "true"
            told.append(f"Turned row tracking of {base.name} on, to identify its rows.")
        least = days * 86_400
        short = [k for k in (DELETED_FILES, LOG) if retention(log, k, base.name) < least]
        if short:
            wanted |= dict.fromkeys(short, f"interval {days} days")
            told.append(f"History of {base.name} is retained for {count_of(days, 'day')}.")
        if wanted:
            pairs = ", ".join(f"'{k}' = '{v}'" for k, v in wanted.items())
            spark = self.changes.spark
            place = self.changes.sources.copies.place_of(path)
            spark.sql(f"ALTER TABLE {sql_table(place)} SET TBLPROPERTIES ({pairs})")
        return told

    # -- reading ----------------------------------------------------------------------------------

    def rows(self, stream: Stream, end: Mapping[str, int] | None = None) -> ChangeRows:
        """What a stream holds now, or up to the version of each base table, by its id, of `end`.
        DT-3202 where it cannot be read any more."""
        if stream.meaning is None:
            self.catalog.record_meaning(stream, self.changes.meaning(stream.source))
        try:
            return self.changes.of(
                whole(stream.source),
                stream.source.schema,
                str(stream.name),
                at=self._frontier_of(stream, end),
                end=end,
                append_only=stream.append_only,
                initial=stream.initial,
                stream=stream,
            )
        except DTError as e:
            if e.code != "DT-3103":
                raise
            raise error(
                "DT-3202", name=stream.name, since=stream.advanced, problem=e.facts["problem"]
            ) from e

    def ends_at(self, stream: Stream, t: Timestamp) -> dict[str, int]:
        """The version, by its id, of each table that a stream reads in the end, at a time."""
        query, schema = whole(stream.source), stream.source.schema
        return self.changes.frontier(query, schema, str(stream.name), Moment(t, present=True))

    def _frontier_of(self, stream: Stream, end: Mapping[str, int] | None) -> Mapping[str, int]:
        """The offset of a stream. One on a view reads whole tables there, so it moves to the last
        version with the same rows."""
        start = dict(stream.frontier)
        if stream.kind == StreamSource.VIEW:
            for base in self.changes.base_tables(whole(stream.source), stream.source.schema):
                if base.path is not None and base.table_id in start:
                    log = self.changes.sources.logs[base.path]
                    last = log.version() if end is None else end.get(base.table_id, log.version())
                    start[base.table_id] = find_same_rows(
                        log, start[base.table_id], last, evolving=True
                    )
        return start

    def has_data(self, name: Name) -> bool:
        """Whether a stream may hold rows: from the logs alone, no Spark job."""
        stream = self.catalog.stream(name)
        if stream.initial:
            return True
        source = stream.source
        for base in self.changes.base_tables(whole(source), source.schema):
            assert base.path is not None
            log = self.changes.sources.logs[base.path]
            old = stream.frontier.get(base.table_id)
            if old is None or may_change(log, old, log.version(), evolving=True):
                return True
        return self.changes.find_problem(stream) is not None

    def standing(self, stream: Stream) -> tuple[tuple[Source, ...], str | None]:
        """The tables that a stream reads in the end, and why it cannot be read any more."""
        try:
            bases = self.changes.base_tables(whole(stream.source), stream.source.schema)
        except (DTError, LakeError) as e:
            return (), e.sentence
        problems = (self.problem(stream, base) for base in bases)
        found = next((p for p in problems if p is not None), None)
        return bases, found or self.changes.find_problem(stream)

    def problem(self, stream: Stream, base: Source) -> str | None:
        """Why the changes of a table cannot be read from the offset of the stream, as the log and
        the files of the table show."""
        if base.table_id not in stream.frontier or base.path is None:
            return f"{base.name} was replaced"
        if stream.initial:
            return None
        log, old = self.changes.sources.logs[base.path], stream.frontier[base.table_id]
        view = stream.kind == StreamSource.VIEW
        try:
            new, columns = log.version(), log.metadata().columns
            old = find_same_rows(log, old, new, evolving=True) if view else old
            tracked = told_apart(log, old, new, columns)[0] is By.TRACKING
            plan = plan_changes(log, old, new, () if view else columns, evolving=True)
            if isinstance(plan, Unreadable):
                return plan.sentence
            changed = not isinstance(plan, Unchanged | Added)
            if stream.append_only and not tracked and changed and feed_parts(log, old, new) is None:
                return NO_FEED
            feed = isinstance(plan, Feed) or (isinstance(plan, Added) and plan.feed)
            gone = gone_from_change(
                log, plan, by_feed=feed and not tracked, first_images=stream.append_only and tracked
            )
            return gone or (gone_from_snapshot(log, old) if view else None)
        except LakeError as e:
            return e.sentence

    def found_in(self, statement: SparkStatement, schema: str) -> list[FoundStream]:
        """The streams that a statement reads, with their places in the script."""
        names = {s.name: s for s in self.catalog.streams()}
        if not names:
            return []
        return [
            FoundStream(
                names[name], Span(statement.offset + span.start, statement.offset + span.end)
            )
            for parts, span in relations_in(statement.text)
            if (name := name_of(parts, schema)) in names
        ]

    @contextmanager
    def in_place(
        self,
        found: Sequence[FoundStream],
        script: str,
        read: Callable[[Stream], ChangeRows] | None = None,
    ) -> Iterator[tuple[Replaced, Ends]]:
        """Each stream as a temporary view, the same rows wherever it is used, and the frontiers
        that the rows end at; `read` gives its rows, by default those that it holds now: of
        several all at one time."""
        with temporary_views(self.changes.spark) as put:
            views: dict[str, str] = {}
            ends: Ends = {}
            streams = {f.stream.id: f.stream for f in found}.values()
            read = read or self._reader(len(streams))
            for stream in streams:
                rows = read(stream)
                views[stream.id], ends[stream.id] = put(rows.frame), dict(rows.ends)
            yield (
                [aliased(views[f.stream.id], f.stream.name.table, script, f.span) for f in found],
                ends,
            )

    def _reader(self, count: int) -> Callable[[Stream], ChangeRows]:
        if count == 1:
            return self.rows
        now = self.changes.now()
        return lambda stream: self.rows(stream, self.ends_at(stream, now))

    # -- consuming --------------------------------------------------------------------------------

    def consume(
        self,
        statement: SparkStatement,
        found: Sequence[FoundStream],
        script: str,
        schema: str,
        write: Callable[[Replaced], DataFrame],
    ) -> DataFrame:
        """Runs a statement that reads streams; they move if it commits, and only then."""
        self.await_free(*(f.stream.name for f in found))
        with self.lock:
            self.recover()
            fresh = {f.stream.id: self.catalog.stream(f.stream.name) for f in found}
            found = [FoundStream(fresh[f.stream.id], f.span) for f in found]
            path = self.target(statement, schema)
            with self.in_place(found, script) as (replaced, ends):
                there = is_delta(path)
                if there and _ONLY_NEW.match(statement.text):
                    return write(replaced)
                intent = self.intents.begin(statement.text, path, list(fresh.values()), ends)
                if there:
                    return self.intents.run(intent, lambda: write(replaced))
                place = statement.places["name"]
                return self.intents.make(
                    intent, statement.target, lambda table: write([*replaced, (place, table)])
                )

    def await_free(self, *names: Name) -> None:
        """Until no single statement of another process consumes the streams; DT-3203 where that
        takes too long."""
        deadline = self.waits.deadline()
        for name in names:
            if (held := self.catalog.consumer(name)) is not None:
                self._await_end(name, held, deadline)

    def _await_end(self, name: Name, held: tuple[str, Owner], deadline: float) -> None:
        self.waits.until(
            lambda: self.catalog.consumer(name) != held,
            f"Waiting for the statement that consumes stream {name} ({held[1]})",
            error("DT-3203", name=name, owner=held[1]),
            deadline,
        )

    def recover(self) -> None:
        """Settles what processes that are gone left unfinished."""
        with self.lock:
            self.intents.recover()

    def target(self, statement: SparkStatement, schema: str) -> Path:
        """The folder of the one Delta table that a statement writes. DT-3204 for another."""
        name = statement.target
        if name is None or len(statement.targets) > 1:
            hint = "Write one table of the catalog by its name."
            problem = "all of it must be in one commit"
            raise error("DT-3204", name=name or "a path", problem=problem, hint=hint)
        relation = lookup(self.changes.spark, name)
        if relation is not None:
            if relation.provider != "delta" or relation.location is None:
                hint = "Create it USING delta."
                raise error("DT-3204", name=name, problem="it is not a Delta table", hint=hint)
            return self.table_at(name, relation.location)
        if statement.kind is not SparkKind.CREATE_TABLE:
            hint = did_you_mean(str(name), self.changes.sources.known())
            raise error("DT-1101", name=name, hint=hint)
        if _LOCATION.search(statement.text):
            hint = "Create the table first, and INSERT into it."
            problem = "its folder is not known yet"
            raise error("DT-3204", name=name, problem=problem, hint=hint)
        made = _PROVIDER.search(statement.text)
        if made is not None and made["provider"].lower() != "delta":
            hint = "Leave out USING, or create it USING delta."
            raise error("DT-3204", name=name, problem="it is not a Delta table", hint=hint)
        return self.layout.table(name)

    def table_at(self, name: Name, location: str) -> Path:
        """The folder of the log, or of its copy, of the table that the session knows at a location.
        DT-3204 where its commits cannot be read, or workers do not see the disk that it is on."""
        sources, place, folder = self.changes.sources, self.layout.place, Path(location)
        if storage := storage_of(location):
            problem = f"it is on {storage}, and its log cannot be read from here"
            if found := sources.folder_of(location):
                folder = Path(found)
                kept = sources.logs[found].protocol().kept_elsewhere
                problem = f"another program keeps its commits ({', '.join(kept)})" if kept else ""
        else:
            elsewhere = place and not storage_at(location) and runs_elsewhere(self.changes.spark)
            problem = "it is on a disk that Spark's workers may not see" if elsewhere else ""
        if problem:
            hint = "Write to a table of the lake, and deliver that by a sink."
            raise error("DT-3204", name=name, problem=problem, hint=hint)
        return folder
