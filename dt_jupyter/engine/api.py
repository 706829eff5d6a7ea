"""The engine: a lake, a session and a scheduler, and one method for each thing to ask."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from dt_jupyter.catalog import DefinitionRow, Hold
from dt_jupyter.engine import consume as streaming, script as scripts, services
from dt_jupyter.engine.alerting import alert_function, seen_alerts
from dt_jupyter.engine.compared import LAST, compared_definitions, compared_tables
from dt_jupyter.engine.consume import OpenTransaction
from dt_jupyter.engine.context import Context
from dt_jupyter.engine.created import Created
from dt_jupyter.engine.evaluate import Point, moment_of, timestamp_of
from dt_jupyter.engine.frame_definition import (
    create_from,
    define_by,
    require_of_spark,
    statement_of,
)
from dt_jupyter.engine.functions import drop_function, register_function
from dt_jupyter.engine.late_tables import late_causes, why_late
from dt_jupyter.engine.lint import lint_text
from dt_jupyter.engine.load import LoadedTable, load_table
from dt_jupyter.engine.naming import require_names
from dt_jupyter.engine.own_spark import MEMORY
from dt_jupyter.engine.planning import apply_plan, plan_script
from dt_jupyter.engine.profile import profile_table
from dt_jupyter.engine.remote_lake import is_remote, mount_lake
from dt_jupyter.engine.rights.graph import seen_graph, seen_sink
from dt_jupyter.engine.rights.methods import guarded
from dt_jupyter.engine.rights.shared import Shared
from dt_jupyter.engine.scheduling import HISTORY_DAYS, start_refresh
from dt_jupyter.engine.shown_methods import shows_calls
from dt_jupyter.engine.sink_creation import create_sink
from dt_jupyter.engine.status import engine_status
from dt_jupyter.engine.subjects import explain_subject, lineage_of
from dt_jupyter.failures import LARGEST_INT, coded, is_frame, shown, within
from dt_jupyter.histories import HistoryEvent, HistoryReport, TransactionHistory, check_history
from dt_jupyter.maintenance import Pins, Storage, Vacuum
from dt_jupyter.model import (
    ADMIN,
    DEFAULT_WAREHOUSE,
    DEFAULTS,
    Alert,
    Clock,
    DynamicTable,
    FunctionInfo,
    Isolation,
    Lateness,
    Name,
    RefreshRecord,
    RefreshTrigger,
    TargetLag,
    Timestamp,
    Tuning,
    count_of,
    error,
)
from dt_jupyter.replay import (
    Archive,
    Archives,
    Diff,
    QueryDiff,
    RefreshReplay,
    Replay,
    TableRows,
    whole,
)
from dt_jupyter.reports import (
    AppliedPlan,
    Explanation,
    FrontierReport,
    GraphReport,
    HealthReport,
    LagReport,
    Lineage,
    LintReport,
    ScriptPlan,
    SinkReport,
    StreamReport,
    TableProfile,
    Verification,
    Verifications,
    export_script,
    frontier_report,
    lag_report,
    read_health,
    read_lag_days,
    stream_report,
)
from dt_jupyter.schedule import Foretold, LagDays, StateReader, foretell
from dt_jupyter.sources import Moment
from dt_jupyter.spark import activity, meaning, require_delta
from dt_jupyter.sql import CreateDynamicTable, SchemaMode, TimePoint, format_cell
from dt_jupyter.streams import ChangeRows, warn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType

_HISTORY = 500
_TIMES = 200


@coded("dt.")
@shows_calls
@guarded
class Engine:
    """Dynamic tables over one lake folder, on one Spark session. A context manager.

    Make one with `connect`. Threads may share it; several processes may open one lake.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.spark = context.spark
        self.lake = context.layout.known_as

    @classmethod
    def connect(
        cls, lake: str | os.PathLike[str] = "lake", spark: SparkSession | None = None, *,
        scheduler: bool | None = None, clock: Clock | None = None, memory: str = MEMORY,
        tuning: Tuning = DEFAULTS, role: str = ADMIN, shared: bool = False,
        roots: Sequence[str | os.PathLike[str]] = (), catalog: str | None = None,
    ) -> Engine:  # fmt: skip
        """Opens the engine on a lake folder, made where it is missing; all tables, views and
        dynamic tables of the lake are known by name again. `hdfs://…`, `s3a://…` or any other
        place that the session reaches is a lake there, with its catalog on a server.

        `spark`: the session to use; None adopts the active one, else starts a local Delta-enabled
        one with `memory` of heap. Where another lake is open on the session that is adopted, the
        engine gets another one with separate names: the engine's `spark`. `scheduler`: whether
        scheduled refreshes start now; None: in a notebook. `tuning`: thresholds, by which no
        table's rows change.
        `role`: the role that the session has; it may change to those granted to it. `shared`:
        the engine runs as a service for others, and refuses what would let a statement out of the
        lake: files by their path, except for the folders `roots`, programs, and settings of Spark.
        `catalog`: postgresql+psycopg://user@host/database, for a lake that several machines open;
        it is taken over from the file in the lake, and found there by all who connect later.
        Errors: DT-5103 (lake), DT-5106 (a session without Delta), DT-51xx (catalog, Java, Spark),
        DT-5203, DT-5209.
        """
        layout = services.begin_connecting(lake, catalog)
        with activity("Starting Spark"):
            session = require_delta(spark) if spark else services.own_session(lake, memory)
        with activity(f"Opening {lake}"):
            if is_remote(lake):
                layout = mount_lake(session, os.fspath(lake), tuning, catalog)
            else:
                services.require_shared_disk(session, layout)
            opened = Shared.of(roots) if shared else None
            context = services.build(session, layout, clock or Clock(), tuning, opened, catalog)
            try:
                services.recover_lake(context)
                services.log_in(context, role)
            except BaseException:
                services.close(context)
                raise
        if scheduler or (scheduler is None and in_notebook()):
            context.scheduling.start()
        return cls(context)

    # -- statements -------------------------------------------------------------------------------

    def sql(
        self, script: str, args: Mapping[str, Any] | None = None, *, consistent: bool = False
    ) -> DataFrame:
        """Runs a script of our statements and Spark's, mixed freely; the last one's result.

        `args` are the values of `:parameters`, bound by Spark. With `consistent` all that a
        statement reads is AT (COMMON): dynamic tables at their greatest common data timestamp,
        base tables as of it, or DT-4106. `isolation` reports what a query read. Errors are the
        catalogue's, placed in the script; the statements before the failing one have been run.
        Dynamic tables and views whose definitions follow each other are made after what they
        read, in any order; DT-1106 for those that read each other.

        A query runs when its DataFrame is read: what fails then, in `collect()` or `show()`, is
        raised by Spark in Spark's own words.
        """
        return scripts.run_last(self.context, script, args, consistent=consistent)

    def run(
        self, script: str, args: Mapping[str, Any] | None = None, *, consistent: bool = False
    ) -> list[DataFrame | Created]:
        """As `sql`, with each statement's result; of a created table, what was decided."""
        done = list(scripts.run_script(self.context, script, args, consistent=consistent))
        return [one.result for one in sorted(done, key=lambda one: one.statement.offset)]

    def isolation(self, frame: DataFrame | None = None) -> Isolation | None:
        """What a result of `sql` shows: one moment's state, or each table's own, as it was when
        the query was analysed. Without `frame` of the last query; None where a query read
        nothing that has versions."""
        return self.context.travel.isolation_of(frame)

    @property
    def last_query_id(self) -> str | None:
        """The id of the last statement that wrote rows, for AT|BEFORE (STATEMENT => id); None
        before the first. LAST_QUERY_ID() in SQL."""
        return self.context.state.last_query_id

    def create(
        self, name: str | Name | CreateDynamicTable,
        query: DataFrame | str | Mapping[str, Any] | None = None,
        args: Mapping[str, Any] | None = None, **options: Any,
    ) -> Created:  # fmt: skip
        """Creates a dynamic table over a DataFrame, or over a query's text.

        A DataFrame is kept as the SQL that Spark plans as it plans the DataFrame. `options` are
        those of CREATE DYNAMIC TABLE (`target_lag="1 minute"`, or a number of seconds, `warehouse`,
        `refresh_mode`, …), `columns` and `cluster_by` as lists, `frozen` as the condition of FROZEN
        WHERE, `backfill` as the table of BACKFILL FROM, and `replace`, `if_not_exists` or
        `or_alter`. `args` are the values of a text's `:parameters`. Also takes a statement value,
        with its `args`.
        Errors: as CREATE DYNAMIC TABLE has them, DT-1125 to DT-1128, DT-1166.
        """
        context = self._open()
        if isinstance(name, CreateDynamicTable):
            given = args if args is not None else cast("Mapping[str, Any] | None", query)
            return scripts.create_by_cell(context, name, given)
        if query is None or isinstance(query, Mapping):
            raise error(
                "DT-1031", parameter="query", call="dt.create", given=shown(query),
                expected="a DataFrame or a string",
            )  # fmt: skip
        return create_from(context, name, query, args, options)

    def load(self, name: str | Name | None, source: Any) -> LoadedTable:
        """A new table with the rows of `source`: a CSV, JSON, Parquet or ORC file, or a folder of
        such files; or a frame of pandas, Polars, Arrow or Spark. The result reports what was made:
        its columns with their types, and whether the first line of a CSV file has names (it has
        none where a cell of it is empty or a number). Without a `name` it is called as the file is.
        Nothing is overwritten: DT-1105. Errors: DT-1003, DT-1031, DT-1119."""
        return load_table(self._open(), name, source)

    def dynamic_table(
        self, name: str | Name, **options: Any
    ) -> Callable[[Callable[[], DataFrame]], Created]:
        """`@dt.dynamic_table("daily", target_lag="1 minute")` over a function without parameters
        that returns a DataFrame: creates the dynamic table, once, as `create` does with the same
        `options`; the function's name is then what was created. DT-1129 for another result."""
        return define_by(self._open(), name, options)

    def explain(
        self,
        subject: str | Name | CreateDynamicTable | DataFrame,
        args: Mapping[str, Any] | None = None,
    ) -> Explanation:
        """How a dynamic table is kept and the statements of its next refresh; of a CREATE
        statement, or of a DataFrame that could define one, all that it would decide, with nothing
        created."""
        self.context.require_open()
        require_of_spark(subject, "The query", "a_table")
        if is_frame(subject):
            subject = statement_of(self.context, cast("DataFrame", subject))
        if isinstance(subject, CreateDynamicTable):
            require_names(subject, subject.query)
            subject, _ = scripts.replace_variables(self.context, subject)
        return explain_subject(
            self.context, cast("str | Name | CreateDynamicTable", subject), args or {}
        )

    def lint(self, text: str, args: Mapping[str, Any] | None = None) -> LintReport:
        """What is wrong with a script, or a cell with magics, before it runs: all problems that
        creation would raise, each at its place, and what may not be meant: a table that would be
        FULL, with why; a source without a declared key; DOWNSTREAM without a reader. Nothing is
        written. `args` are the values of `:parameters`."""
        return lint_text(self._open(), text, args)

    def format(self, text: str) -> str:
        """A script with each clause on a separate line: its words and comments are the same, in
        the same order. DT-1001 for a text that has no words of SQL."""
        return format_cell(text) or text

    # -- refreshing -------------------------------------------------------------------------------

    def refresh(
        self,
        name: str | Name,
        at: datetime | str | Timestamp | None = None,
        *,
        full: bool = False,
        wait: float | None = None,
    ) -> RefreshRecord:
        """Refreshes a dynamic table and everything upstream to now (or to `at`, a past time).

        With `full` all its rows are recomputed, whatever has changed; upstream is refreshed as
        usual. Where a refresh of the table, or of one upstream, runs already, this one waits for
        it: for `wait` seconds at most (0: not at all; None: as `Tuning` has it). A refresh whose
        data timestamp is not before this call is returned; after any other one this runs.
        The record says what was done and why, a failure included. Errors: DT-1101, DT-1109,
        DT-2104 (the other refresh has not ended), DT-2109 (`at` out of range).
        """
        within("wait", wait, 0, 1e9)
        table = self._open().table(name)
        t = timestamp_of(self.context, at) if at is not None else None
        done = self.context.graph.refresh(table, RefreshTrigger.MANUAL, t, full=full, wait=wait)
        return self.context.access.redacted(done)

    def start_refresh(self, name: str | Name, *, full: bool = False) -> None:
        """As `refresh`, in another thread: its outcome is reported by `events`, and is in
        the history. Errors: DT-1101, DT-1109."""
        table = self._open().table(name)
        start_refresh(self.context.graph, self.spark, table, full=full)

    def cancel(self, name: str | Name) -> bool:
        """Cancels the refresh of a dynamic table that runs in this process; False where none
        does. DT-1101, DT-1109."""
        table = self._open().table(name)
        return self.context.refresher.cancel(table.id)

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

        With `at` as it was then, against the definition of then; with `all` every version that
        is retained, from `at` on. Errors: DT-1101, DT-2101, DT-2114, DT-2115, DT-4101 to
        DT-4104, DT-4109.
        """
        table = self._open().table(name)
        return self.context.travel.verify(table, self._moment(at), every=all)

    # -- changes ----------------------------------------------------------------------------------

    def changes(
        self,
        name: str | Name,
        at: Point | TimePoint | None = None,
        end: Point | TimePoint | None = None,
        append_only: bool = False,
    ) -> DataFrame:
        """The changes of a table, view or dynamic table in (`at`, `end`], with `$ACTION`,
        `$ISUPDATE` and `$ROW_ID`.

        `at` and `end`: a datetime or ISO text is a time, an int a version, a timedelta a distance
        from now, a TimePoint what AT (…) is in SQL; without `at` the oldest retained version,
        without `end` now. `append_only`: the rows as first inserted, whatever happened to them
        later. Errors: DT-1101, DT-31xx, DT-41xx.
        """
        found = self.change_rows(name, at, end, append_only=append_only)
        warn(found.query.notes)
        return found.frame

    def change_rows(
        self,
        name: str | Name,
        at: Point | TimePoint | None = None,
        end: Point | TimePoint | None = None,
        *,
        append_only: bool = False,
    ) -> ChangeRows:
        """As `changes`, with the query's text, the shape of its plan and its notes."""
        known = self._open().name(name)
        points = (self._moment(at), self._moment(end))
        return self.context.changes.between(
            whole(known), known.schema, str(known), *points, append_only=append_only
        )

    def query_changes(
        self,
        query: str,
        at: Point | TimePoint | None = None,
        end: Point | TimePoint | None = None,
        *,
        append_only: bool = False,
    ) -> ChangeRows:
        """As `change_rows`, of a query."""
        schema = self._open().schema()
        points = (self._moment(at), self._moment(end))
        return self.context.changes.between(
            query, schema, "the query", *points, append_only=append_only
        )

    def create_stream(
        self, name: Name, subject: Name | str, *, at: TimePoint | None = None,
        append_only: bool = False, show_initial_rows: bool = False, replace: bool = False,
    ) -> str:  # fmt: skip
        """A stream on a table, view or dynamic table, or on a query, which is then kept as the
        view `NAME__source`; what was done for it. The one that is there stays as it is, where it
        is the same; DT-1105 where it differs, unless `replace` begins it again. Errors:
        DT-1101, DT-1105, DT-1119, DT-31xx, DT-41xx."""
        return streaming.create_stream(
            self._open(),
            name,
            subject,
            at=at,
            append_only=append_only,
            show_initial_rows=show_initial_rows,
            replace=replace,
        )

    @contextmanager
    def transaction(self) -> Iterator[OpenTransaction]:
        """A transaction for the block: `with dt.transaction() as tx: …`; all that the block writes
        by `dt.sql`, or by `tx.insert`, is committed at its end, or rolled back where it raises.

        Writes of DataFrames (`df.write`) are not part of it. Errors: DT-3206, DT-3208, DT-3209.
        """
        with streaming.transaction(self._open()) as made:
            yield made

    def consume(
        self, stream: str | Name, fn: Callable[[DataFrame], DataFrame | None], *,
        into: str | Name | None = None, batches: int | None = None, every: float | None = None,
    ) -> int:  # fmt: skip
        """Calls `fn` once for each batch of a stream until it holds nothing; how many there were.

        A batch is a DataFrame of what the stream holds; what `fn` writes by `dt.sql`, and the
        DataFrame that it returns where `into` names a table, is committed together with the
        stream's move: each change is in the tables exactly once, though `fn` may be called again
        for a batch that failed. `batches` is the most of them; with `every`, it checks again after
        this number of seconds if there is nothing. Errors: DT-3201 to DT-3210.
        """
        within("batches", batches, 0, LARGEST_INT)
        within("every", every, 0, 1e9)
        context = self._open()
        known = context.name(stream)
        return streaming.consume(context, known, fn, into=into, batches=batches, every=every)

    def _moment(self, point: Point | TimePoint | None) -> Moment | None:
        return None if point is None else moment_of(self.context, point)

    # -- sinks ------------------------------------------------------------------------------------

    def create_sink(
        self, name: str | Name, source: str | Name, url: str, *, key: Sequence[str] = (),
        reduce: Mapping[str, str] | None = None, delta_updates: bool = False,
        target_lag: str | float | timedelta = "DOWNSTREAM", warehouse: str = DEFAULT_WAREHOUSE,
        partitions: int = 1, options: Mapping[str, str] | None = None,
    ) -> str:  # fmt: skip
        """A sink of a table, dynamic table or stream into the store at `url`, to which all rows are
        delivered before this returns; what was done for it.

        `key`: columns that identify a row, by default the declared ones. `reduce`: a
        strategy by column, as REDUCE has them in SQL. `options`: the store's, secrets by reference.
        Errors: DT-1003, DT-1101, DT-1105, DT-1109, DT-1119, DT-61xx.
        """
        context, strategies = self._open(), dict(reduce or {})
        given = (tuple(key), delta_updates, TargetLag.of(target_lag), warehouse, strategies)
        return create_sink(context, name, source, url, *given, partitions, dict(options or {}))

    def sinks(self) -> DataFrame:
        """SHOW SINKS as a DataFrame: the state of each, and why it does not deliver."""
        return self._open().sink_tables.shown()

    def tasks(self) -> DataFrame:
        """SHOW TASKS as a DataFrame: when each runs, and the outcome of its last run."""
        return self._open().task_tables.shown()

    # -- functions --------------------------------------------------------------------------------

    def register_udf(
        self, name: str, fn: Callable[..., Any], returns: str | DataType, *,
        immutable: bool = False, on_change: bool = False, kind: str = "python",
    ) -> FunctionInfo:  # fmt: skip
        """A function of Python for queries, kept with the lake by its source text, and known again
        in every session and process. In place of one of its name: if that was another function,
        the dynamic tables that call it reinitialise.

        `returns` is a Spark type, as `array<float>`. `immutable`: equal arguments always give
        equal values; a dynamic table that calls it is then incremental. `on_change`: they need not,
        and a row of a dynamic table has the value of the time when the row was inserted or
        updated; it is incremental too, and computes all values again where it computes all rows
        again. Neither: the dynamic table is FULL. `kind`: python (called for each row), pandas
        (from Series to Series) or arrow (from Arrow arrays to one); of a UDF of PySpark it is that
        UDF's. Errors: DT-1003, DT-1130 to DT-1133.
        """
        return register_function(
            self._open(), name, fn, returns, kind, immutable=immutable, on_change=on_change
        )

    def udfs(self) -> tuple[FunctionInfo, ...]:
        """The functions of the lake by name: each with its source, the dynamic tables that call
        it, and why it cannot be called in this process, if it cannot."""
        return self._open().functions.infos()

    def drop_udf(self, name: str) -> None:
        """Forgets a function. Errors: DT-1115 (a dynamic table calls it), DT-1117."""
        drop_function(self._open(), name)

    # -- time travel ------------------------------------------------------------------------------

    def replay(
        self,
        name: str | Name,
        at: Point | TimePoint | None = None,
        to: Point | TimePoint | None = None,
        *,
        every: float | timedelta | None = None,
        schema_mode: str = SchemaMode.SNAPSHOT_TIME,
    ) -> Replay:
        """A pinned walk over the snapshots of a table, view, dynamic table or stream's source,
        from `at` to `to`; without `to` the snapshot at `at`, without both the one of now.

        The steps are the versions of a table, the data timestamps of a dynamic table, the commits
        of a view's tables, or one for each `every` seconds. `schema_mode`: `snapshot_time` shows
        the schema of then, `current` the rows of then in the schema of now. Close it, or use it as
        a context manager. Errors: DT-1003, DT-1101, DT-3101, DT-3106, DT-41xx.
        """
        context = self._open()
        mode, known = context.travel.mode(schema_mode), context.name(name)
        seconds = every.total_seconds() if isinstance(every, timedelta) else every
        within("every", seconds, 0.000001, 1e12)
        start, end = self._moment(at), self._moment(to)
        return context.travel.replay(known, start, end, every=seconds, mode=mode)

    def replay_refresh(
        self, name: str | Name, at: Point | None = None, *, query_id: str | None = None
    ) -> RefreshReplay:
        """A past refresh of a dynamic table run again on the versions that it read, and compared
        with what it committed: the one of `query_id`, else the one that made the version `at` (an
        int), or the newest up to a data timestamp `at`.

        Nothing is written. Errors: DT-1003, DT-1101, DT-4104, DT-4109.
        """
        table = self._open().table(name)
        return self.context.travel.replay_refresh(table, query_id, self._moment(at))

    def diff(self, name: str | Name, a: Point | TimePoint, b: Point | TimePoint) -> Diff:
        """What changed of a table, view or dynamic table between two points: the text of its
        definition, its schema, and its rows. Errors: DT-1101, DT-41xx."""
        known = self._open().name(name)
        start, end = moment_of(self.context, a), moment_of(self.context, b)
        return self.context.travel.diff(known, start, end)

    def compare(
        self, name: str | Name, other: str | Name | None = None, *, definition: int = LAST
    ) -> QueryDiff:
        """A table compared with an `other` as both are now; without one the rows that a dynamic
        table's definition gives now, compared with those of an earlier `definition` of it, by its
        number in `definitions` (the one before): texts, columns, and rows by the columns of both.
        `diff` compares versions. Errors: DT-1003, DT-1101, DT-3106, DT-41xx."""
        context = self._open()
        sides = (
            compared_definitions(context, self.table(name), definition)
            if other is None
            else compared_tables(context, other, name)
        )
        return context.travel.compare(*sides)

    def archive(
        self, name: str | Name, at: Point | TimePoint | None = None, *, to: str | os.PathLike[str]
    ) -> Archive:
        """Writes a table, view or dynamic table as it was at a point (now) to the folder `to`,
        which is not there yet or empty: its rows as Parquet in a fixed order, and `archive.json`
        with schema, versions, commits and digest. No VACUUM and no DROP reaches it; `AT (…,
        ARCHIVE => TRUE)` reads it, and an error of a point past retention names it.

        Errors: DT-1101, DT-3106, DT-41xx; DT-4113 for a folder that cannot take it.
        """
        context, folder = self._open(), services.lake_folder(to)
        known, point = (
            context.name(name),
            self._moment(at) or Moment(context.clock.now(), present=True),
        )
        return context.travel.archive(known, point, folder)

    def archives(self) -> Archives:
        """The archives that this lake knows, oldest first."""
        return self._open().travel.archives.list()

    def attach_archive(self, folder: str | os.PathLike[str]) -> Archive:
        """An archive that was made by another lake, or before this one's folder was lost, or that
        was moved: known to this one once its rows are verified. DT-4113."""
        context = self._open()
        return context.travel.attach(services.lake_folder(folder))

    def detach_archive(self, folder: str | os.PathLike[str]) -> Archive:
        """The lake forgets an archive; its folder stays. DT-4113 where it knows none there."""
        return self._open().travel.detach(services.lake_folder(folder))

    def definitions(self, name: str | Name) -> tuple[DefinitionRow, ...]:
        """The definitions that a dynamic table has had, oldest first, each with since when."""
        return self.context.catalog.definitions(self.table(name).id)

    def pin(
        self,
        name: str,
        table: str | Name,
        at: Point | TimePoint | None = None,
        days: float | None = None,
    ) -> Hold:
        """Keeps a table, view or dynamic table as it was at a point (now), by a name: no VACUUM of
        the engine takes its files, and where the disk has hard links none from outside reaches
        them. For `days` days, or until `unpin`. Errors: DT-1101, DT-1119, DT-4101 to DT-4104,
        DT-4107."""
        known, now = self._open().name(table), self.context.clock.now()
        point = self._moment(at) or Moment(now)
        within("days", days, 0, 1_000_000)
        expires = None if days is None else now.plus(days * 86_400)
        return self.context.keeper.pin(name, whole(known), known, point, expires)

    def unpin(self, name: str) -> None:
        """Removes a pin; DT-4107."""
        self._open().keeper.unpin(name)

    def pins(self) -> Pins:
        """What is held against VACUUM: pins, and the replays that run."""
        return self._open().keeper.pins()

    def vacuum(
        self,
        name: str | Name | None = None,
        *,
        retain_hours: float | None = None,
        dry_run: bool = False,
    ) -> Vacuum:
        """Takes the files that no version within the retention needs and nothing holds, of one
        table or of the lake; says how many bytes, and who held how many. `dry_run` only says it.

        `retain_hours` replaces every table's `delta.deletedFileRetentionDuration`. Pins,
        replays, running refreshes, streams, and what the next refreshes read are never taken.
        Errors: DT-1003, DT-1101.
        """
        within("retain_hours", retain_hours, 0, 10_000_000)
        context = self._open()
        known = context.name(name) if name is not None else None
        return context.keeper.vacuum(known, retain_hours, context.clock.now(), dry=dry_run)

    def storage(self) -> Storage:
        """The bytes of each table: live, history, hidden state, log, and copies of pins."""
        return self._open().keeper.storage()

    # -- reports ----------------------------------------------------------------------------------

    def table(self, name: str | Name) -> DynamicTable:
        """The catalog's row of a dynamic table; DT-1101."""
        return self.context.table(name)

    def history(self, name: str | Name | None = None, limit: int | None = None) -> DataFrame:
        """DYNAMIC_TABLE_REFRESH_HISTORY as a DataFrame, newest first."""
        within("limit", limit, 0, LARGEST_INT)
        known = self.context.name(name) if name is not None else None
        return self.context.tables.history(known, limit)

    def records(
        self, name: str | Name | None = None, limit: int | None = None
    ) -> list[RefreshRecord]:
        """The history as values, newest first."""
        within("limit", limit, 0, LARGEST_INT)
        known = self.context.name(name) if name is not None else None
        return self.context.access.told(self.context.catalog.history(known, limit))

    def events(self, name: str | Name | None = None, limit: int | None = None) -> DataFrame:
        """DT_EVENTS as a DataFrame, newest first: refreshes that did something or failed,
        deliveries, runs of tasks, what was suspended or resumed, schedulers, alerts."""
        within("limit", limit, 0, LARGEST_INT)
        context = self._open()
        known = context.name(name) if name is not None else None
        return context.event_tables.events(known, limit)

    def on_alert(self, handler: Callable[[Alert], object] | str) -> Callable[[], None]:
        """Notifies of each alert that is raised or cleared from now on, in any process: calls
        the function `handler`, in a separate thread, or posts it as JSON to an address
        (https://host/path). Call the result to stop.

        Of a dynamic table, sink or task that FAILED, a table or sink that is LATE while a scheduler
        runs, what failures SUSPENDED, and a stream that is STALE; once for each episode. DT-5130.
        """
        context = self._open()
        return context.alerts.tell(alert_function(context, handler))

    def alerts(self) -> tuple[Alert, ...]:
        """The active alerts, oldest first; the lake is checked for it."""
        context = self._open()
        context.alerts.look_at_logs()
        context.alerts.check()
        return seen_alerts(context.alerts.standing(), context.access)

    def graph(self) -> GraphReport:
        """All dynamic tables, what they read, the streams and sinks, as they are now."""
        report = self.context.nodes.report(self.context.clock.now())
        return seen_graph(report, self.context.access)

    @overload
    def lag(self, name: str | Name) -> LagReport | SinkReport: ...

    @overload
    def lag(self, name: str | Name, *, days: float) -> LagDays: ...

    def lag(
        self, name: str | Name, *, days: float | None = None
    ) -> LagReport | SinkReport | LagDays:
        """The lag of a dynamic table over its newest refreshes, or the present lag of a sink.

        With `days` the percentiles of a dynamic table's lag over that number of days, up to the 14
        that the history is retained, and for each of them; times without a scheduler are left out.
        DT-1003.
        """
        now = self.context.clock.now()
        if days is not None:
            within("days", days, 0.001, HISTORY_DAYS)
            return read_lag_days(self.context.catalog, self.table(name), now, days)
        sink = self.context.catalog.find_sink(self.context.name(name))
        if sink is not None:
            return seen_sink(self.context.nodes.sinks.one(sink, now), self.context.access)
        report = lag_report(self.context.catalog, self.table(name), now, _HISTORY)
        return replace(report, records=tuple(self.context.access.told(report.records)))

    def why_late(self, name: str | Name) -> Lateness:
        """Why a dynamic table is late, in which table the cause is, and what helps: it, or one
        upstream, is suspended or fails; a source is gone; a refresh takes longer than the target
        lag, waits for another one or for a slot of its warehouse; nothing asks for it; no scheduler
        runs. Its `cause` is None for a table that is on time. DT-1101, DT-1109."""
        return why_late(self._open(), self.table(name))

    def health(self, days: float = 7.0) -> HealthReport:
        """All dynamic tables over the last `days`, at most 14, the worst first: the share of the
        time within the target lag, refreshes and what they cost in seconds, rows and bytes, and why
        a table is not fresh now. DT-1003."""
        within("days", days, 0.001, HISTORY_DAYS)
        context = self._open()
        nodes = [n for n in self.graph().nodes if n.table and context.access.monitors(n.table.name)]
        causes = late_causes(context)
        return read_health(context.catalog, nodes, causes, context.clock.now(), days)

    def frontier(self, name: str | Name) -> FrontierReport:
        """The version of each source that a dynamic table has read."""
        table = self.table(name)
        times = self.context.catalog.timestamps(table.id, _TIMES)
        return frontier_report(table, self.context.nodes.newest, times)

    def stream_reports(self) -> list[StreamReport]:
        """All streams: their offsets, what waits for them, whether they can be read."""
        context = self._open()
        seen = [s for s in context.catalog.streams() if context.access.sees(s.name)]
        return [stream_report(context.streams, stream) for stream in seen]

    def profile(
        self, name: str | Name, at: Point | TimePoint | None = None, rows: int = 20
    ) -> TableProfile:
        """The columns of a table, view or dynamic table at a point (now): NULLs, distinct values
        (approximate), least and greatest, by one aggregation, with some `rows` of that snapshot.
        Errors: DT-1003, DT-1101, DT-41xx."""
        within("rows", rows, 0, 1_000)
        context = self._open()
        known, point = context.name(name), self._moment(at)
        return profile_table(context, known, point, rows)

    def rows(
        self, name: str | Name, since: Point | TimePoint | None = None, *, limit: int = 200,
        chart: tuple[str, str] | None = None,
    ) -> TableRows:  # fmt: skip
        """The first rows of a table, view or dynamic table as it is now, in the order of its
        columns, at most 1,000; with `since` marked with what was inserted, deleted and changed
        since that point. In a notebook they follow its refreshes. `chart`: the columns of a
        picture, across and up. Errors: DT-1003, DT-1101, DT-31xx, DT-41xx."""
        within("limit", limit, 1, 1_000)
        context = self._open()
        known, point = context.name(name), self._moment(since)
        return context.travel.rows(known, point, limit, chart)

    def lineage(self, name: str | Name) -> Lineage:
        """The columns that flow into and out of those of a dynamic table, or of a table that
        dynamic tables read. DT-1101."""
        return lineage_of(self._open(), name)

    def foretell(
        self, name: str | Name, *, target_lag: str | float | timedelta | None = None,
        seconds: float | None = None,
        interval: float | None = None, concurrency: int | None = None,
    ) -> Foretold:  # fmt: skip
        """What the scheduler would do from now on with other settings of a dynamic table: its
        target lag (in seconds, or as SQL writes it) and how long its refresh takes, how often data
        arrives, both in seconds, and how many refreshes run at once in its warehouse. Nothing is
        changed. DT-1003, DT-1101."""
        context = self._open()
        given = {
            "target_lag": None if target_lag is None else TargetLag.of(target_lag).seconds,
            "seconds": seconds,
            "interval": interval,
        }
        for option, value in given.items():
            within(option, value, 0.001, 1e9)
        within("concurrency", concurrency, 1, 1_000_000)
        state, table, now = (
            StateReader(context.catalog).read(),
            self.table(name),
            context.clock.now(),
        )
        return foretell(state, table.id, now, concurrency=concurrency, **given)

    def export(self) -> str:
        """All definitions as one SQL script, each after what it reads: `dt.sql(script)` makes
        them again in a lake with the same tables, with roles, grants and functions of SQL. It
        holds neither rows nor history, streams start again, and sinks are comments: creating one
        delivers. Functions of Python are comments too: run them as Python before."""
        context = self._open()
        return export_script(context.catalog, meaning(context.spark))

    def plan(self, script: str, *, remove: bool = False) -> ScriptPlan:
        """What a script of definitions, as `export` writes it, would change: what is added or
        changed and how, whether rows are kept, and which dynamic tables are downstream. Nothing is
        done. With `remove`, what the lake has and the script has not is dropped when it is
        applied. DT-1137 for a statement that is not a definition."""
        return plan_script(self._open(), script, remove=remove)

    def apply(self, plan: ScriptPlan) -> AppliedPlan:
        """Runs a plan, whole or not at all: what fails or is interrupted is undone. Gives what was
        done, by object. DT-1138 where the definitions of the lake have changed since it was
        made, with nothing done."""
        return apply_plan(self._open(), plan)

    def check_history(
        self, events: TransactionHistory | str | Iterable[HistoryEvent] | None = None
    ) -> HistoryReport:
        """Which guarantees of isolation a history of transactions kept: events of
        `dt_jupyter.histories`, or a text as `w1(x1) c1 r2(x1) d3(y3|x1) c2`, in which a refresh
        derives. Without any, the lake's own: commits and refreshes as the logs still have them,
        and the last 1,000 queries of this engine. DT-1003 for an invalid history."""
        recorded = self._open().travel.recorded
        return check_history(recorded() if events is None else events)

    def status(self) -> dict[str, Any]:
        """The engine at a glance: lake, Spark, scheduler, warehouses, what runs."""
        return engine_status(self.context)

    # -- scheduler, closing -----------------------------------------------------------------------

    def start_scheduler(self) -> None:
        """Scheduled refreshes from now on, in background threads; once is enough."""
        self._open().scheduling.start()

    def stop_scheduler(self, timeout: float = 30.0) -> None:
        """No scheduled refreshes any more; those that run are cancelled and waited for."""
        self.context.scheduling.stop(timeout)

    def close(self) -> None:
        """Stops the scheduler, ends running refreshes, frees leases and pins; the session stays."""
        services.close(self.context)

    def __enter__(self) -> Engine:
        self.context.state.holders += 1
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.context.state.holders -= 1
        if self.context.state.holders <= 0:
            self.close()

    def __repr__(self) -> str:
        count = len(self.context.catalog.list()) if not self.context.state.closed else 0
        state = "closed" if self.context.state.closed else count_of(count, "dynamic table")
        return f"<dt_jupyter engine on {self.lake}: {state}>"

    def _open(self) -> Context:
        self.context.require_open()
        return self.context


def in_notebook() -> bool:
    """Whether an IPython kernel runs this process."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
