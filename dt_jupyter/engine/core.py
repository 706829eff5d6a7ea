"""The engine: a lake, a session and a scheduler, and one method for each thing to ask."""

from __future__ import annotations

import logging
import os
import reprlib
import sys
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, overload

from dt_jupyter.catalog import (
    DEFAULT_WAREHOUSE,
    Catalog,
    CatalogWarning,
    DefinitionRow,
    Hold,
    Owner,
)
from dt_jupyter.engine.changes import ChangeRows, Changes, moment
from dt_jupyter.engine.consume import OpenTransaction, consume, transaction
from dt_jupyter.engine.create import Created, Creator
from dt_jupyter.engine.events import Events
from dt_jupyter.engine.explain import explain_defined, explain_table
from dt_jupyter.engine.graph import Graph
from dt_jupyter.engine.interrupts import StatementFlag
from dt_jupyter.engine.lake_tables import LakeTables
from dt_jupyter.engine.lineage import Lineage, Lineages
from dt_jupyter.engine.nodes import Nodes
from dt_jupyter.engine.parameters import bind_parameters
from dt_jupyter.engine.publish import Publisher
from dt_jupyter.engine.rename import TableNames
from dt_jupyter.engine.reports import (
    FrontierReport,
    GraphReport,
    LagReport,
    frontier_report,
    lag_report,
)
from dt_jupyter.engine.scheduling import EnginePort, spawner
from dt_jupyter.engine.statements import Executor
from dt_jupyter.engine.stream_reports import StreamReport, stream_report
from dt_jupyter.engine.streams import Streams
from dt_jupyter.engine.tables import CatalogTables
from dt_jupyter.engine.timed import Points, all_common, warn
from dt_jupyter.engine.transactions import Transactions
from dt_jupyter.engine.travel import Travel
from dt_jupyter.engine.upkeep import Keeper, Pins, Storage, Vacuum
from dt_jupyter.engine.verify import verify
from dt_jupyter.engine.views import Explanation, Verification, Verifications
from dt_jupyter.failures import LARGEST_INT, catalogued, coded, within
from dt_jupyter.lake import is_delta
from dt_jupyter.model import (
    FIRST,
    LAST,
    Clock,
    DTError,
    DynamicTable,
    Isolation,
    Name,
    Named,
    RefreshRecord,
    RefreshTrigger,
    Timestamp,
    Warehouse,
    error,
    require_name,
    undo,
    zone_of,
)
from dt_jupyter.refresh.define import Definer
from dt_jupyter.refresh.layout import Layout
from dt_jupyter.refresh.mend import is_to_mend, is_unreadable, noticed
from dt_jupyter.refresh.recovery import recover_table, restore_times
from dt_jupyter.refresh.run import Refresher
from dt_jupyter.refresh.sources import Logs, Sources
from dt_jupyter.replay.diff import Diff, diff
from dt_jupyter.replay.refreshes import RefreshReplay
from dt_jupyter.replay.replay import Replay, open_replay
from dt_jupyter.replay.secure import release
from dt_jupyter.replay.snapshots import whole
from dt_jupyter.schedule import Scheduler, StateReader, obstacles_in
from dt_jupyter.schedule.foretell import Foretold, foretell
from dt_jupyter.spark import Pool, RefreshSessions, declare_pool, local_session, run_cancellable
from dt_jupyter.spark.pools import SHARE
from dt_jupyter.spark.relations import builtin_functions, lookup
from dt_jupyter.sql.functions import qualified_name
from dt_jupyter.sql.parse import parse_piece, parse_script
from dt_jupyter.sql.split import split
from dt_jupyter.sql.statements import (
    CreateDynamicTable,
    CreateStream,
    SchemaMode,
    StreamSource,
    TimePoint,
)
from dt_jupyter.sql.unsupported import later
from dt_jupyter.streams.points import OLDEST, Moment, whole_micro

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_log = logging.getLogger("dt_jupyter.engine")
SESSION_CONFS: Mapping[str, str] = {
    # In a session of ours a plain CREATE TABLE, and saveAsTable, make Delta tables.
    "spark.sql.sources.default": "delta",
    # One dynamic table has a handful of generated classes: none is compiled twice.
    "spark.sql.codegen.cache.maxEntries": "2000",
}
_HISTORY = 500
_TIMES = 200
Point = datetime | str | int | timedelta | Timestamp
"""A time (or "now"), a version, or a distance from now."""


@coded("dt.")
class Engine:
    """Dynamic tables over one lake folder, on one Spark session. A context manager.

    Make one with `connect`. Threads may share it; several processes may open one lake.
    """

    def __init__(self, spark: SparkSession, layout: Layout, clock: Clock) -> None:
        self.spark = spark
        self.layout = layout
        self.clock = clock
        self._closed = False
        self._scheduler: Scheduler | None = None
        self._last_query_id: str | None = None
        owner = Owner.here(uuid.uuid4().hex)
        self.catalog = Catalog(layout.catalog, clock, owner, lake=layout.lake)
        self.sources = Sources(spark, self.catalog, layout, Logs())
        self.sessions = RefreshSessions(spark)
        builtins = builtin_functions(spark)
        definer = Definer(self.sources, builtins)
        self.refresher = Refresher(spark, self.sources, definer, self.sessions, clock)
        self.publisher = Publisher(spark, self.sources)
        self.graph_of = Graph(self.refresher, clock, self.publisher.publish, self.nudge)
        creator = Creator(
            spark, self.sources, definer, self.sessions, self.graph_of, self.publisher, clock
        )
        self.tables = CatalogTables(spark, self.catalog, clock)
        self._executor = Executor(
            self, creator, TableNames(self.catalog, self.publisher, self.refresher.standing),
            self.tables,
            LakeTables(self.sources, self.publisher.known_tables),
        )  # fmt: skip
        self._creator = creator
        self.nodes = Nodes(self.refresher)
        self.lineages = Lineages(self.refresher)
        self.events = Events(self.catalog, clock, self.refresher.running)
        self._port = EnginePort(self.graph_of)
        self.change_queries = Changes(spark, self.sources, builtins, clock.now)
        self.streams = Streams(self.catalog, self.change_queries, layout)
        self.travel = Travel(spark, self.sources, clock.now)
        self.keeper = Keeper(self.sources, self.travel.snapshots, layout, self.publisher)
        self.transactions = Transactions(self.streams, self.streams.forward, clock.now)

    @classmethod
    def connect(
        cls, lake: str | os.PathLike[str] = "lake", spark: SparkSession | None = None, *,
        scheduler: bool | None = None, clock: Clock | None = None, memory: str = "2g",
    ) -> Engine:  # fmt: skip
        """Opens the engine on a lake folder, made where it is missing; all tables, views and
        dynamic tables of the lake are known by name again.

        `spark`: the session to use; None adopts the active one, else starts a local Delta-enabled
        one with `memory` of heap. `scheduler`: whether scheduled refreshes start now; None: in a
        notebook. Errors: DT-5103 (folder), DT-51xx (catalog, Java, Spark).
        """
        layout = Layout(lake_folder(lake))
        try:
            layout.tables.mkdir(parents=True, exist_ok=True)
            layout.own.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            raise error("DT-5103", path=lake, problem=str(e), hint="Choose another folder.") from e
        session = spark or local_session(
            layout.tables, cores=os.cpu_count() or 2, memory=memory, confs=SESSION_CONFS,
            pools=[Pool(DEFAULT_WAREHOUSE, SHARE)],
        )  # fmt: skip
        engine = cls(session, layout, clock or Clock())
        engine._open()
        if scheduler or (scheduler is None and in_notebook()):
            engine.start_scheduler()
        return engine

    def _open(self) -> None:
        """One object that cannot be restored keeps nobody out: it is in quarantine."""
        for warehouse in self.catalog.warehouses():
            with self._each(Named.WAREHOUSE, warehouse.name):
                self.declare(warehouse)
        self.catalog.reap()
        self.keeper.reap()
        for table in self.catalog.list():
            with self._each(Named.DYNAMIC_TABLE, table.name):
                self._recover(table)
        if self.catalog.rebuilt is not None:
            warnings.warn(str(self.catalog.rebuilt), CatalogWarning, stacklevel=3)
        self.publisher.restore()
        self.catalog.streams()  # those that cannot be read are known from now on
        self.streams.recover()
        self.streams.forward.sweep()
        self.sessions.warm("default")

    def _recover(self, table: DynamicTable) -> None:
        path = self.layout.public(table.id)
        table = noticed(self.catalog, self.sources.logs, self.layout, table, whole=True)
        if is_to_mend(table):
            return
        if table.sequence or path.exists():
            recover_table(self.catalog, self.sources.logs[str(path)], table)
        if self.catalog.rebuilt is not None and is_delta(path):
            restore_times(self.catalog, self.sources.logs[str(path)], table)

    @contextmanager
    def _each(self, kind: Named, name: object) -> Iterator[None]:
        try:
            yield
        except Exception as e:
            hint = f"DROP {kind.upper()} {name} takes it out of the way."
            self.catalog.quarantine.put(kind, name, e, hint)

    # -- statements -------------------------------------------------------------------------------

    def sql(
        self, script: str, args: Mapping[str, Any] | None = None, *, consistent: bool = False
    ) -> DataFrame:
        """Runs a script of our statements and Spark's, mixed freely; the last one's result.

        `args` are the values of `:parameters`, bound by Spark. With `consistent` all that a
        statement reads is AT (COMMON): dynamic tables at their greatest common data timestamp,
        base tables as of it, or DT-4106. What a query read is told by `isolation`. Errors are the
        catalogue's, placed in the script; the statements before the failing one have been run.

        A query runs when its DataFrame is read: what fails then, in `collect()` or `show()`, is
        raised by Spark in Spark's own words.
        """
        results = self.run(script, args, consistent=consistent)
        last = results[-1] if results else None
        if last is None:
            return self.tables.status("Nothing to do.")
        return self.tables.status(last.status) if isinstance(last, Created) else last

    def run(
        self, script: str, args: Mapping[str, Any] | None = None, *, consistent: bool = False
    ) -> list[DataFrame | Created]:
        """As `sql`, with each statement's result; of a created table, what was decided."""
        self._require_open()
        for parsed in parse_script(script, self.schema()):
            if refused := later(parsed):
                raise refused.error(script)
        values = dict(args or {})
        group = f"statement:{uuid.uuid4().hex}"
        results: list[DataFrame | Created] = []
        for piece in split(script):
            # One at a time: a USE before it decides what a bare name means.
            statement = parse_piece(script, piece, self.schema())
            if statement is None:
                continue
            if consistent:
                statement = all_common(statement, self.catalog.find_stream, self.schema())
            results.append(
                run_cancellable(
                    self.spark, f"{group}:{len(results)}", statement.text[:80],
                    lambda s=statement: self._executor.run(s, script, values),  # type: ignore[misc]
                    StatementFlag(self.refresher, getattr(statement, "name", None)),
                )
            )  # fmt: skip
        return results

    def isolation(self, frame: DataFrame | None = None) -> Isolation | None:
        """What a result of `sql` shows: one moment's state, or each table's own, as it was when
        the query was analysed. Without `frame` of the last query; None where a query read
        nothing that has versions."""
        return self.travel.isolation_of(frame)

    @property
    def last_query_id(self) -> str | None:
        """The id of the last statement that wrote rows, for AT|BEFORE (STATEMENT => id); None
        before the first. LAST_QUERY_ID() in SQL."""
        return self._last_query_id

    def statement_done(self, statement_id: str) -> None:
        """That statement is the last now."""
        self._last_query_id = statement_id

    def create(
        self, statement: CreateDynamicTable, args: Mapping[str, Any] | None = None
    ) -> Created:
        """Creates what a statement value describes; magics and SQL come through the same door."""
        self._require_open()
        result = run_cancellable(
            self.spark, f"statement:{uuid.uuid4().hex}", f"create {statement.name}",
            lambda: self._executor.run(statement, statement.query, dict(args or {})),
            StatementFlag(self.refresher, statement.name),
        )  # fmt: skip
        assert isinstance(result, Created)
        return result

    def explain(
        self, subject: str | Name | CreateDynamicTable, args: Mapping[str, Any] | None = None
    ) -> Explanation:
        """How a dynamic table is kept and the statements of its next refresh; of a CREATE
        statement, all that it would decide, with nothing created."""
        self._require_open()

        def run() -> Explanation:
            if isinstance(subject, CreateDynamicTable):
                bound = replace(subject, query=bind_parameters(subject.query, args or {}))
                return explain_defined(subject.name, self._creator.define(bound))
            table = self._executor.require(self.name(subject))
            with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
                return explain_table(spark, self.refresher, table, self.clock.now())

        return run_cancellable(self.spark, f"explain:{uuid.uuid4().hex}", "explain", run)

    # -- refreshing -------------------------------------------------------------------------------

    def refresh(
        self, name: str | Name, at: datetime | str | Timestamp | None = None
    ) -> RefreshRecord:
        """Refreshes a dynamic table and everything upstream to now (or to `at`, a past time).

        The record says what was done and why, a failure included. Errors: DT-1101, DT-1109,
        DT-2104 (it runs already), DT-2109 (`at` out of range).
        """
        self._require_open()
        table = self._executor.require(self.name(name))
        t = self.timestamp(at) if at is not None else None
        return self.graph_of.refresh(table.id, RefreshTrigger.MANUAL, t)

    def start_refresh(self, name: str | Name) -> None:
        """As `refresh`, in a thread of its own: what comes of it is told by `events`, and is in
        the history. Errors: DT-1101, DT-1109, DT-2104."""
        self._require_open()
        table = self._executor.require(self.name(name))
        for lease in self.catalog.running():
            if lease.dt_id == table.id:
                raise error("DT-2104", name=table.name, owner=lease.owner)

        def run() -> None:
            try:
                self.graph_of.refresh(table.id, RefreshTrigger.MANUAL)
            except Exception as e:  # another one was faster, or the engine was closed
                told = catalogued(e, f"the refresh of {table.name}")
                _log.warning("the refresh of %s did not begin: %s", table.name, told)

        spawner(self.spark)(run, f"dt-refresh-{table.id}")

    def cancel(self, name: str | Name) -> bool:
        """Cancels the refresh of a dynamic table that runs in this process; False where none
        does. DT-1101, DT-1109."""
        self._require_open()
        table = self._executor.require(self.name(name))
        return self.refresher.cancel(table.id)

    @overload
    def verify(self, name: str | Name, at: Point | TimePoint | None = None) -> Verification: ...

    @overload
    def verify(
        self, name: str | Name, at: Point | TimePoint | None = None, *, all: Literal[True]
    ) -> Verifications: ...

    def verify(
        self, name: str | Name, at: Point | TimePoint | None = None, *, all: bool = False
    ) -> Verification | Verifications:
        """Compares a dynamic table with its query at its data timestamp, all rows: exactly, floats
        within a relative tolerance, and the result says so.

        With `at` as it stood then, against the definition of then; with `all` every version that
        is retained, from `at` on. Errors: DT-1101, DT-2101, DT-2114, DT-2115, DT-4101 to
        DT-4104, DT-4109.
        """
        self._require_open()
        table = self._executor.require(self.name(name))
        found = self.catalog.quarantine.find(table.name, Named.DYNAMIC_TABLE)
        if found is not None and is_unreadable(table):
            raise found.error
        group = f"verify:{uuid.uuid4().hex}"

        def run() -> Verification | Verifications:
            if at is None and not all:
                with self.sessions.lease("__verify", table.definition.settings) as spark:
                    return verify(spark, self.refresher, self.travel.snapshots, table)
            point = OLDEST if at is None else self._moment(at)
            return self.travel.verified(self, table, point, every=all)

        return run_cancellable(self.spark, group, f"verify {table.name}", run)

    # -- changes ----------------------------------------------------------------------------------

    def changes(
        self, name: str | Name, at: Point | TimePoint | None = None,
        end: Point | TimePoint | None = None, append_only: bool = False,
    ) -> DataFrame:  # fmt: skip
        """The changes of a table, view or dynamic table in (`at`, `end`], with `$ACTION`,
        `$ISUPDATE` and `$ROW_ID`.

        `at` and `end`: a datetime or ISO text is a time, an int a version, a timedelta a distance
        from now, a TimePoint what AT (…) is in SQL; without `at` the oldest retained version,
        without `end` now. `append_only`: the rows as first inserted, whatever became of them.
        Errors: DT-1101, DT-31xx, DT-41xx.
        """
        found = self.change_rows(name, at, end, append_only=append_only)
        warn(found.query.notes)
        return found.frame

    def change_rows(
        self, name: str | Name, at: Point | TimePoint | None = None,
        end: Point | TimePoint | None = None, *, append_only: bool = False,
    ) -> ChangeRows:  # fmt: skip
        """As `changes`, with the query's text, the shape of its plan and its notes."""
        known = self.name(name)
        return self._change_rows(whole(known), known.schema, str(known), at, end, append_only)

    def query_changes(
        self, query: str, at: Point | TimePoint | None = None,
        end: Point | TimePoint | None = None, *, append_only: bool = False,
    ) -> ChangeRows:  # fmt: skip
        """As `change_rows`, of a query."""
        return self._change_rows(query, self.schema(), "the query", at, end, append_only)

    def _change_rows(
        self, query: str, schema: str, name: str, at: Point | TimePoint | None,
        end: Point | TimePoint | None, append_only: bool,
    ) -> ChangeRows:  # fmt: skip
        self._require_open()
        return run_cancellable(
            self.spark, f"changes:{uuid.uuid4().hex}", f"changes of {name}",
            lambda: self.change_queries.of(
                query, schema, name, at=OLDEST if at is None else self._moment(at),
                end=None if end is None else self._moment(end), append_only=append_only,
            ),
        )  # fmt: skip

    def create_stream(
        self, name: Name, subject: Name | str, *, at: TimePoint | None = None,
        append_only: bool = False, show_initial_rows: bool = False,
    ) -> str:  # fmt: skip
        """A stream on a table, view or dynamic table, or on a query, which is then kept as the
        view `NAME__source`; what was done for it. Errors: DT-1101, DT-1105, DT-1119, DT-31xx,
        DT-41xx."""
        self._require_open()
        require_name(Named.STREAM, name)
        view = None
        if isinstance(subject, str):
            view = Name(name.schema, f"{name.table}__source")
            self.sql(f"CREATE VIEW {view.sql} AS {subject}")
        source = view or subject
        assert isinstance(source, Name)
        kind = self.streams.kind_of(source) or StreamSource.TABLE
        statement = CreateStream(
            name, kind, source, at, append_only=append_only, show_initial_rows=show_initial_rows
        )
        try:
            return " ".join(self.streams.create(statement, self.points()))
        except BaseException as e:
            if view is not None:
                undo(e, lambda: self.sql(f"DROP VIEW IF EXISTS {view.sql}"))
            raise

    @contextmanager
    def transaction(self) -> Iterator[OpenTransaction]:
        """A transaction for the block: `with dt.transaction() as tx: …`; all that the block writes
        by `dt.sql`, or by `tx.insert`, is committed at its end, or rolled back where it raises.

        Writes of DataFrames (`df.write`) are no part of it. Errors: DT-3206, DT-3208, DT-3209.
        """
        self._require_open()
        with transaction(self) as made:
            yield made

    def consume(
        self, stream: str | Name, fn: Callable[[DataFrame], DataFrame | None], *,
        into: str | Name | None = None, batches: int | None = None, every: float | None = None,
    ) -> int:  # fmt: skip
        """Calls `fn` once for each batch of a stream until it holds nothing; how many there were.

        A batch is a DataFrame of what the stream holds; what `fn` writes by `dt.sql`, and the
        DataFrame that it returns where `into` names a table, is committed together with the
        stream's move: each change is in the tables exactly once, though `fn` may be called again
        for a batch that failed. `batches` is the most of them; with `every`, it looks again after
        so many seconds where there is nothing. Errors: DT-3201 to DT-3210.
        """
        self._require_open()
        within("batches", batches, 0, LARGEST_INT)
        within("every", every, 0, 1e9)
        return consume(self, self.name(stream), fn, into=into, batches=batches, every=every)

    def _moment(self, point: Point | TimePoint) -> Moment:
        if isinstance(point, TimePoint):
            return self.points().moment(point)
        return moment(point, self.timestamp, self.clock.now())

    def points(self, run: Callable[[str], DataFrame] | None = None) -> Points:
        """What evaluates AT, BEFORE and END; `run` gives the value of an expression."""
        return Points(
            run or (lambda text: self._executor.run_spark(text, {})),
            lambda s: self.catalog.stream(self.name(s)), self.clock.now,
        )  # fmt: skip

    # -- time travel ------------------------------------------------------------------------------

    def replay(
        self, name: str | Name, at: Point | TimePoint | None = None,
        to: Point | TimePoint | None = None, *, every: float | timedelta | None = None,
        schema_mode: str = SchemaMode.SNAPSHOT_TIME,
    ) -> Replay:  # fmt: skip
        """A pinned walk over the snapshots of a table, view, dynamic table or stream's source,
        from `at` to `to`; without `to` the snapshot at `at`, without both the one of now.

        The steps are the versions of a table, the data timestamps of a dynamic table, the commits
        of a view's tables, or `every` so many seconds. `schema_mode`: `snapshot_time` shows the
        schema of then, `current` the rows of then in the schema of now. Close it, or use it as a
        context manager. Errors: DT-1003, DT-1101, DT-3101, DT-3106, DT-41xx.
        """
        self._require_open()
        mode = self.travel.mode(schema_mode)
        known = self.name(name)
        stream = self.catalog.find_stream(known)
        start = self._moment(at) if at is not None else None
        if stream is not None:
            known = stream.source
            start = start or Moment(stream.advanced, frontier=stream.frontier)
        if start is None:
            start = Moment(self.clock.now()) if to is None else OLDEST
        seconds = every.total_seconds() if isinstance(every, timedelta) else every
        within("every", seconds, 0.000001, 1e12)
        return open_replay(
            self.travel.bench(self), known, whole(known), start,
            None if to is None else self._moment(to), every=seconds, mode=mode,
        )  # fmt: skip

    def replay_refresh(
        self, name: str | Name, at: Point | None = None, *, query_id: str | None = None,
    ) -> RefreshReplay:  # fmt: skip
        """A past refresh of a dynamic table run again on the versions that it read, beside what
        it committed: the one of `query_id`, else the one that made the version `at` (an int), or
        the newest up to a data timestamp `at`.

        Nothing is written. Errors: DT-1003, DT-1101, DT-4104, DT-4109.
        """
        self._require_open()
        table = self._executor.require(self.name(name))
        found = self._moment(at) if at is not None else None
        t = whole_micro(found.time) if found is not None and found.time is not None else None
        return self.travel.refresh_again(
            self, table, query_id, found.version if found is not None and t is None else t
        )

    def diff(self, name: str | Name, a: Point | TimePoint, b: Point | TimePoint) -> Diff:
        """What changed of a table, view or dynamic table between two points: the text of its
        definition, its schema, and its rows. Errors: DT-1101, DT-41xx."""
        self._require_open()
        known = self.name(name)
        return diff(
            self.travel.bench(self), known, whole(known), self._moment(a), self._moment(b),
            self.catalog.get(known),
        )  # fmt: skip

    def definitions(self, name: str | Name) -> tuple[DefinitionRow, ...]:
        """The definitions that a dynamic table has had, oldest first, each with since when."""
        return self.catalog.definitions(self.table(name).id)

    def pin(
        self, name: str, table: str | Name, at: Point | TimePoint | None = None,
        days: float | None = None,
    ) -> Hold:  # fmt: skip
        """Keeps a table, view or dynamic table as it was at a point (now), by a name: no VACUUM of
        the engine takes its files, and where the disk has hard links none from outside reaches
        them. For so many days, or until `unpin`. Errors: DT-1101, DT-1119, DT-4101 to DT-4104,
        DT-4107."""
        self._require_open()
        known, now = self.name(table), self.clock.now()
        point = Moment(now) if at is None else self._moment(at)
        within("days", days, 0, 1_000_000)
        expires = None if days is None else now.plus(days * 86_400)
        return self.keeper.pin(name, whole(known), known, point, expires)

    def unpin(self, name: str) -> None:
        """Lets go of a pin; DT-4107."""
        self._require_open()
        self.keeper.unpin(name)

    def pins(self) -> Pins:
        """What is held against VACUUM: pins, and the replays that run."""
        self._require_open()
        return self.keeper.pins()

    def vacuum(
        self, name: str | Name | None = None, *, retain_hours: float | None = None,
        dry_run: bool = False,
    ) -> Vacuum:  # fmt: skip
        """Takes the files that no version within the retention needs and nobody holds, of one
        table or of the lake; says how many bytes, and who held how many. `dry_run` only says it.

        `retain_hours` stands for every table's `delta.deletedFileRetentionDuration`. Pins,
        replays, running refreshes, streams, and what the next refreshes read are never taken.
        Errors: DT-1003, DT-1101.
        """
        self._require_open()
        within("retain_hours", retain_hours, 0, 10_000_000)
        known = self.name(name) if name is not None else None
        return self.keeper.vacuum(known, retain_hours, self.clock.now(), dry=dry_run)

    def storage(self) -> Storage:
        """The bytes of each table: live, history, hidden state, log, and copies of pins."""
        self._require_open()
        return self.keeper.storage()

    # -- reports ----------------------------------------------------------------------------------

    def table(self, name: str | Name) -> DynamicTable:
        """The catalog's row of a dynamic table; DT-1101."""
        return self._executor.require(self.name(name))

    def history(self, name: str | Name | None = None, limit: int | None = None) -> DataFrame:
        """DYNAMIC_TABLE_REFRESH_HISTORY as a DataFrame, newest first."""
        within("limit", limit, 0, LARGEST_INT)
        return self.tables.history(self.name(name) if name is not None else None, limit)

    def records(
        self, name: str | Name | None = None, limit: int | None = None
    ) -> list[RefreshRecord]:
        """The history as values, newest first."""
        within("limit", limit, 0, LARGEST_INT)
        return self.catalog.history(self.name(name) if name is not None else None, limit)

    def graph(self) -> GraphReport:
        """All dynamic tables, what they read, and the streams, as they stand now."""
        return self.nodes.report(self.clock.now())

    def lag(self, name: str | Name) -> LagReport:
        """The lag of a dynamic table over its newest refreshes."""
        return lag_report(self.catalog, self.table(name), self.clock.now(), _HISTORY)

    def frontier(self, name: str | Name) -> FrontierReport:
        """The version of each source that a dynamic table stands on."""
        table = self.table(name)
        times = self.catalog.timestamps(table.id, _TIMES)
        return frontier_report(table, self.nodes.newest, times)

    def stream_reports(self) -> list[StreamReport]:
        """All streams: where they stand, what waits for them, whether they can be read."""
        self._require_open()
        return [stream_report(self.streams, stream) for stream in self.catalog.streams()]

    def lineage(self, name: str | Name) -> Lineage:
        """The columns that flow into and out of those of a dynamic table, or of a table that
        dynamic tables read. DT-1101."""
        self._require_open()
        known = self.name(name)
        if self.catalog.get(known) is not None:
            return self.lineages.of(known)
        relation = lookup(self.spark, known)
        if relation is None:
            known = self._executor.require(known).name
        fields = self.spark.table(known.sql).schema.fields
        return self.lineages.of(known, tuple((f.name, f.dataType.simpleString()) for f in fields))

    def foretell(
        self, name: str | Name, *, target_lag: float | None = None, seconds: float | None = None,
        interval: float | None = None, concurrency: int | None = None,
    ) -> Foretold:  # fmt: skip
        """What the scheduler would do from now on with other settings of a dynamic table: its
        target lag and how long its refresh takes, how often data arrives, all in seconds, and how
        many refreshes run at once in its warehouse. Nothing is changed. DT-1003, DT-1101."""
        self._require_open()
        given = {"target_lag": target_lag, "seconds": seconds, "interval": interval}
        for option, value in given.items():
            within(option, value, 0.001, 1e9)
        within("concurrency", concurrency, 1, 1_000_000)
        state = StateReader(self.catalog).read()
        return foretell(
            state, self.table(name).id, self.clock.now(), target_lag=target_lag, seconds=seconds,
            interval=interval, concurrency=concurrency,
        )  # fmt: skip

    def status(self) -> dict[str, Any]:
        """The engine at a glance: lake, Spark, scheduler, warehouses, what runs."""
        scheduler = self._scheduler
        return {
            "lake": str(self.layout.lake),
            "spark": self.spark.version,
            "scheduler": "running" if scheduler is not None and scheduler.alive else "stopped",
            "dynamic_tables": len(self.catalog.list()),
            "warehouses": [w.name for w in self.catalog.warehouses()],
            "running": [lease.dt_id for lease in self.catalog.running()],
            "waiting": self._waiting(),
            "problems": list(self._port.problems),
            "quarantine": [str(q) for q in self.catalog.quarantine.all()],
        }

    def _waiting(self) -> list[str]:
        """What waits, and for what: for somebody, whether or not a scheduler runs here, or for
        another refresh."""
        tables = {table.id: table.name for table in self.catalog.list()}
        waits = self._scheduler.waits() if self._scheduler is not None else ()
        found = {**{w.dt: w.reason for w in waits}, **obstacles_in(self.catalog)}
        return [f"{tables[i]}: {reason}" for i, reason in found.items() if i in tables]

    # -- scheduler, closing -----------------------------------------------------------------------

    def start_scheduler(self) -> None:
        """Scheduled refreshes from now on, in background threads; once is enough."""
        self._require_open()
        if self._scheduler is None:
            self._scheduler = Scheduler(self._port, self.clock, spawn=spawner(self.spark))
            self._scheduler.start()

    def stop_scheduler(self, timeout: float = 30.0) -> None:
        """No scheduled refreshes any more; those that run are cancelled and waited for."""
        scheduler, self._scheduler = self._scheduler, None
        if scheduler is not None:
            scheduler.stop(timeout)

    def nudge(self) -> None:
        """Something changed that the scheduler may act on."""
        if self._scheduler is not None:
            self._scheduler.nudge()

    def close(self) -> None:
        """Stops the scheduler, ends running refreshes, frees leases and pins; the session stays."""
        if self._closed:
            return
        self._closed = True
        self.events.close()
        if self.transactions.current is not None:
            self.transactions.rollback()
        self.stop_scheduler()
        self.refresher.cancel_all()
        self.sessions.close()
        if self.layout.own.is_dir():
            for hold in self.catalog.own_replays():
                release(self.catalog, self.layout, hold)
        self.catalog.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self.catalog.list())} dynamic tables"
        return f"<dt_jupyter engine on {self.layout.lake}: {state}>"

    # -- small things -----------------------------------------------------------------------------

    def name(self, name: str | Name) -> Name:
        """A name as typed, in the current schema where it has none."""
        if isinstance(name, Name):
            return name
        return qualified_name(name, self.schema())

    def schema(self) -> str:
        """The session's current schema."""
        return self.spark.catalog.currentDatabase().lower()

    def timestamp(self, value: datetime | str | Timestamp) -> Timestamp:
        """A time as given, or "now"; a naive one is in the session's zone. DT-1003 for a text that
        is no time."""
        if isinstance(value, Timestamp):
            return value
        if value == "now":
            return self.clock.now()
        moment = _parsed(value) if isinstance(value, str) else value
        if moment.tzinfo is None:
            zone = str(self.spark.conf.get("spark.sql.session.timeZone"))
            moment = moment.replace(tzinfo=zone_of(zone))
        found = Timestamp.of(moment)
        if not FIRST <= found <= LAST:
            raise _no_time(value)
        return found

    def declare(self, warehouse: Warehouse) -> None:
        """The warehouse's pool and its number of sessions."""
        declare_pool(self.spark, Pool(warehouse.name, warehouse.weight * SHARE))
        self.sessions.limit(warehouse.name, warehouse.max_concurrency)

    def _require_open(self) -> None:
        if self._closed:
            raise error("DT-5108", path=self.layout.lake)


def lake_folder(lake: str | os.PathLike[str]) -> Path:
    """The folder that is meant; DT-5103 for what can be no path."""
    try:
        found = Path(lake).expanduser().resolve()
        os.fsencode(found)
    except (ValueError, RuntimeError, OSError) as e:
        raise error("DT-5103", path=repr(lake), problem=e, hint="Give the path of a folder.") from e
    return found


def _parsed(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise _no_time(text) from None


def _no_time(value: datetime | str) -> DTError:
    hint = "Give '2026-01-31T12:00' or 'now'."
    shown = reprlib.repr(value) if isinstance(value, str) else value
    return error("DT-1003", option="time", value=shown, problem="it is no point in time", hint=hint)


def in_notebook() -> bool:
    """Whether an IPython kernel runs this process."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
