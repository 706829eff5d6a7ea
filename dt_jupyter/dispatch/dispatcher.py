"""The desk: each request of a panel or a widget answered through the engine's own methods.

It never raises: what goes wrong is an ErrorMessage with a code of the catalogue.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.dispatch.feed import hello
from dt_jupyter.dispatch.spark_errors import error_message
from dt_jupyter.failures import UNFORESEEN, catalogued
from dt_jupyter.model import DTError, DynamicTable, Name, RefreshRecord, SchedulingState, error
from dt_jupyter.spark import ACTIVITIES, in_background
from dt_jupyter.wire import (
    Ask,
    DetailMessage,
    DoneMessage,
    ErrorMessage,
    LiveMessage,
    PageMessage,
    ReplayMessage,
    Reply,
    Request,
    ScriptMessage,
    parse_request,
    request_id,
)

if TYPE_CHECKING:
    from dt_jupyter.engine import Engine
    from dt_jupyter.replay import Replay, Step
    from dt_jupyter.reports import Explanation
    from dt_jupyter.sql import TimePoint

_log = logging.getLogger("dt_jupyter.desk")
QUICK = frozenset(
    {Ask.HELLO, Ask.GRAPH, Ask.CATALOGUE, Ask.FRONTIERS, Ask.LAG, Ask.CANCEL, Ask.STOP}
)
"""What is answered from the catalog and the logs alone, in milliseconds."""
REPLAYS = 4
"""Replays that are open at once; the one opened first is closed for the next."""
STEPS = 500
"""Steps of a replay, the newest ones of a longer walk."""
_ROWS = 200
RECORDS = 20


@dataclass
class _Open:
    """A replay that was opened; one request reads it at a time."""

    name: str
    replay: Replay
    lock: threading.Lock = field(default_factory=threading.Lock)


class Desk:
    """Of one panel or widget; `engine_of` gives the engine that is open, if there is one, and
    `again` says what opens a replay once more that is closed."""

    def __init__(
        self, engine_of: Callable[[], Engine | None], again: str = "Open it again."
    ) -> None:
        self._engine_of, self._again = engine_of, again
        self._replays: OrderedDict[str, _Open] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False
        self._engine: Engine | None = None

    def answer(self, request: Request) -> Reply:
        """The answer, which may take as long as Spark does."""
        return Reply(request.id, self._message(request))

    def answer_json(self, value: object) -> dict[str, Any]:
        """The reply to what a browser sent, whatever it is."""
        try:
            request = parse_request(value)
        except DTError as e:
            return Reply(request_id(value), error_message(e)).to_json()
        return self.answer(request).to_json()

    def close(self) -> None:
        """Closes the replays that were opened here."""
        with self._lock:
            self._closed = True
            opened, self._replays = self._replays, OrderedDict()
        for one in opened.values():
            _close(one.replay)

    def _message(self, request: Request) -> LiveMessage:
        try:
            engine = self._engine_of()
            self._of(engine)
            if request.ask is Ask.HELLO:
                return hello(engine)
            if request.ask is Ask.STOP:
                return _stop(request.name or "")
            if engine is None:
                raise error("DT-5109")
            with in_background():
                return _ANSWERS[request.ask](self, engine, request)
        except Exception as e:
            return _told(e, request.ask.value)

    def _of(self, engine: Engine | None) -> None:
        """Replays of an engine that is closed, or another one, are closed."""
        with self._lock:
            if engine is self._engine:
                return
            self._engine = engine
            opened, self._replays = self._replays, OrderedDict()
        for one in opened.values():
            _close(one.replay)

    # -- what is shown ----------------------------------------------------------------------------

    def _graph(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.static_messages import graph_message

        periods = engine.context.scheduling.periods()
        return graph_message(engine.graph(), stages=True, periods=periods)

    def _catalogue(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import catalogue

        return catalogue(engine.context)

    def _frontiers(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import frontiers

        context = engine.context
        tables = [t.name for t in context.catalog.list() if context.access.monitors(t.name)]
        reports = [engine.frontier(name) for name in tables]
        return frontiers(reports, engine.context.clock.now())

    def _streams(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import streams

        return streams(engine.stream_reports(), engine.context.clock.now())

    def _lag(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.static_messages import lag_message
        from dt_jupyter.reports import SinkReport

        found = engine.lag(_name(request))
        if isinstance(found, SinkReport):
            hint = "Its details show its lag."
            kinds = {"kind": "sink", "expected": "dynamic table"}
            raise error("DT-1109", name=found.sink.name, **kinds, hint=hint)
        return lag_message(found)

    def _detail(self, engine: Engine, request: Request) -> LiveMessage:
        table = engine.table(_name(request))
        records = _records(engine, table)
        found, problem = None, _last_error(records)
        try:
            found = engine.explain(table.name)
        except Exception as e:
            problem = _told(e, request.ask.value)
        return _detail_of(engine, table.name, found, records, problem)

    def _sink(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.sink_answers import sink_message
        from dt_jupyter.engine import seen_sink

        context = engine.context
        context.access.require_sees(_name(request))
        sink = context.catalog.sink(_name(request))
        found = context.nodes.sinks.one(sink, context.clock.now())
        return sink_message(seen_sink(found, context.access))

    def _task(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.task_answers import task_message, task_of
        from dt_jupyter.engine import seen_task
        from dt_jupyter.model import Right

        context, name = engine.context, task_of(request.name) or _name(request)
        task = context.catalog.task(name)
        context.access.require_task(Right.MONITOR, name)
        found = context.nodes.tasks.one(task, context.clock.now())
        return task_message(seen_task(found, context.access))

    def _source(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import source
        from dt_jupyter.reports import SourceReports

        context, name = engine.context, _name(request)
        context.access.require_sees(name)
        graph = engine.graph()
        found = SourceReports(context.nodes.refresher).one(name, graph)
        streams = engine.stream_reports() if found.kind == "stream" else ()
        stream = next((s for s in streams if s.stream.name == name), None)
        seen = {node.name for node in graph.nodes}
        return source(found, stream, seen.__contains__, context.clock.now())

    def _lineage(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import lineage

        return lineage(engine.lineage(_name(request)))

    def _export(self, engine: Engine, request: Request) -> LiveMessage:
        return ScriptMessage(engine.export())

    def _health(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.health_rows import health_rows

        return health_rows(engine.health())

    def _definition(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.definitions import text_to_edit

        return ScriptMessage(text_to_edit(engine, request.name or ""))

    def _failure(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import failure

        return failure(engine.table(_name(request)), engine.records(_name(request), RECORDS))

    def _lint(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import lint
        from dt_jupyter.engine import lint_text

        return lint(lint_text(engine.context, request.text or "", verify=False))

    def _page(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.lake_page import graph_page

        return PageMessage("graph.html", graph_page(engine))

    def _verify(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.static_messages import verification_message

        return verification_message(engine.verify(_name(request)))

    def _profile(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import profile

        return profile(engine.profile(_name(request)))

    def _table_rows(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import live_rows_message

        since = _point(request.since, "since")
        return live_rows_message(engine.rows(_name(request), since, limit=request.limit or _ROWS))

    def _compare(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.static_messages import compared_message
        from dt_jupyter.engine import diff_versions

        points = _point(request.since, "since"), _point(request.until, "until")
        return compared_message(diff_versions(engine, _name(request), *points))

    def _compare_definition(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.static_messages import compared_message

        return compared_message(engine.compare(_name(request)))

    def _simulate(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import simulation

        name = _name(request)
        found = engine.foretell(
            name,
            target_lag=request.target_lag,
            seconds=request.refresh_seconds,
            interval=request.interval,
            concurrency=request.concurrency,
        )
        return simulation(str(name), found)

    # -- time travel ------------------------------------------------------------------------------

    def _replay(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.sql import SchemaMode

        name, mode = _name(request), request.schema_mode or SchemaMode.SNAPSHOT_TIME.value
        since, until = _point(request.since, "since"), _point(request.until or "now", "until")
        opened = engine.replay(name, since, until, schema_mode=mode)
        try:
            if len(opened) > STEPS:
                first = opened.stops[-STEPS]
                table = engine.context.catalog.get(name)
                number = next(iter(first.versions.values()))
                at = number if table is None and len(first.versions) == 1 else first.time
                opened.close()
                opened = engine.replay(name, at, until, schema_mode=mode)
            return self.take(str(name), opened, list(opened))
        except BaseException:
            opened.close()
            raise

    def _kept(self, opened: _Open) -> str:
        """The id of a replay from now on; the oldest is closed where there are too many."""
        id_, oldest = uuid.uuid4().hex, None
        with self._lock:
            if self._closed:
                raise error("DT-4108", hint=self._again)
            self._replays[id_] = opened
            if len(self._replays) > REPLAYS:
                _, oldest = self._replays.popitem(last=False)
        if oldest is not None:
            _close(oldest.replay)
        return id_

    def _rows(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.dispatch.answers import rows
        from dt_jupyter.sql import qualified_name

        with self._lock:
            opened = self._replays.get(request.replay or "")
        if opened is None:
            raise error("DT-4108", hint=self._again)
        assert request.step is not None
        engine.context.access.require_read(qualified_name(opened.name))
        with opened.lock:
            found = opened.replay.marked(request.step, request.against, limit=_ROWS)
        return rows(opened.name, request.step, found)

    def _pin(self, engine: Engine, request: Request) -> LiveMessage:
        assert request.pin is not None
        hold = engine.pin(request.pin, _name(request), request.version)
        return DoneMessage(f"Pin {hold.name} keeps {hold.subject} at {hold.point}.")

    def take(self, name: str, opened: Replay, steps: Sequence[Step]) -> ReplayMessage:
        """A replay that was opened elsewhere: it is closed with the others here."""
        from dt_jupyter.dispatch.answers import replay

        self._of(self._engine_of())  # the engine that it was opened on is the desk's from now on
        id_ = self._kept(_Open(name, opened))
        return replay(name, id_, opened.schema_mode.value, steps)

    def explained(self, engine: Engine, found: Explanation) -> DetailMessage:
        """The detail of a dynamic table that was just explained."""
        records = _records(engine, engine.table(found.name))
        return _detail_of(engine, found.name, found, records, _last_error(records))

    # -- acting -----------------------------------------------------------------------------------

    def _refresh(self, engine: Engine, request: Request) -> LiveMessage:
        if (task := _task_of(request)) is not None:
            return _ran(engine, f"EXECUTE TASK {task.sql}")
        name = _name(request)
        if _is_sink(engine, name):
            return _ran(engine, f"ALTER SINK {name.sql} REFRESH")
        engine.start_refresh(name)
        return DoneMessage(f"Refresh of {name} started.")

    def _refresh_full(self, engine: Engine, request: Request) -> LiveMessage:
        name = _name(request)
        engine.start_refresh(name, full=True)
        return DoneMessage(f"Full refresh of {name} started.")

    def _cancel(self, engine: Engine, request: Request) -> LiveMessage:
        name = _name(request)
        if engine.cancel(name):
            return DoneMessage(f"Refresh of {name} is being cancelled.")
        return DoneMessage(f"No refresh of {name} runs in this kernel.")

    def _suspend(self, engine: Engine, request: Request) -> LiveMessage:
        return self._schedule(engine, request, SchedulingState.SUSPENDED)

    def _resume(self, engine: Engine, request: Request) -> LiveMessage:
        return self._schedule(engine, request, SchedulingState.ACTIVE)

    def _schedule(self, engine: Engine, request: Request, to: SchedulingState) -> LiveMessage:
        verb, done = (
            ("SUSPEND", "suspended") if to is SchedulingState.SUSPENDED else ("RESUME", "resumed")
        )
        if (task := _task_of(request)) is not None:
            return _ran(engine, f"ALTER TASK {task.sql} {verb}")
        name = _name(request)
        if _is_sink(engine, name):
            return _ran(engine, f"ALTER SINK {name.sql} {verb}")
        engine.sql(f"ALTER DYNAMIC TABLE {name.sql} {verb}")
        return DoneMessage(f"Dynamic table {name} {done}.")

    def _alter(self, engine: Engine, request: Request) -> LiveMessage:
        name, seconds = _name(request), request.target_lag
        lag = "DOWNSTREAM" if seconds is None else f"'{seconds:.0f} seconds'"
        if _is_sink(engine, name):
            return _ran(engine, f"ALTER SINK {name.sql} SET TARGET_LAG = {lag}")
        engine.sql(f"ALTER DYNAMIC TABLE {name.sql} SET TARGET_LAG = {lag}")
        return DoneMessage(f"Target lag of {name}: {engine.table(name).target_lag}.")

    def _drop(self, engine: Engine, request: Request) -> LiveMessage:
        if (task := _task_of(request)) is not None:
            return _ran(engine, f"DROP TASK {task.sql}")
        name = _name(request)
        if _is_sink(engine, name):
            return _ran(engine, f"DROP SINK {name.sql}")
        engine.sql(f"DROP DYNAMIC TABLE {name.sql}")
        return DoneMessage(f"Dynamic table {name} dropped.")

    def _reset(self, engine: Engine, request: Request) -> LiveMessage:
        return _ran(engine, f"ALTER SINK {_name(request).sql} RESET")

    def _resume_warehouse(self, engine: Engine, request: Request) -> LiveMessage:
        from dt_jupyter.model import plain

        return _ran(engine, f"ALTER WAREHOUSE {plain(request.name or '')} RESUME")

    def _start_scheduler(self, engine: Engine, request: Request) -> LiveMessage:
        engine.start_scheduler()
        return DoneMessage("The scheduler runs in this kernel.")

    def _retry_dead_letters(self, engine: Engine, request: Request) -> LiveMessage:
        return _ran(engine, f"ALTER SINK {_name(request).sql} RETRY DEAD LETTERS")


_ANSWERS: dict[Ask, Callable[[Desk, Engine, Request], LiveMessage]] = {
    Ask.GRAPH: Desk._graph, Ask.CATALOGUE: Desk._catalogue, Ask.FRONTIERS: Desk._frontiers,
    Ask.STREAMS: Desk._streams, Ask.LAG: Desk._lag, Ask.DETAIL: Desk._detail,
    Ask.EXPORT: Desk._export, Ask.LINEAGE: Desk._lineage, Ask.PROFILE: Desk._profile,
    Ask.REPLAY: Desk._replay, Ask.ROWS: Desk._rows, Ask.TABLE_ROWS: Desk._table_rows,
    Ask.COMPARE: Desk._compare, Ask.COMPARE_DEFINITION: Desk._compare_definition,
    Ask.SIMULATE: Desk._simulate, Ask.REFRESH: Desk._refresh,
    Ask.REFRESH_FULL: Desk._refresh_full, Ask.CANCEL: Desk._cancel,
    Ask.SUSPEND: Desk._suspend, Ask.RESUME: Desk._resume, Ask.PIN: Desk._pin,
    Ask.ALTER: Desk._alter, Ask.DROP: Desk._drop, Ask.SINK: Desk._sink, Ask.RESET: Desk._reset,
    Ask.TASK: Desk._task, Ask.SOURCE: Desk._source,
    Ask.RETRY_DEAD_LETTERS: Desk._retry_dead_letters,
    Ask.HEALTH: Desk._health, Ask.DEFINITION: Desk._definition, Ask.FAILURE: Desk._failure,
    Ask.VERIFY: Desk._verify, Ask.LINT: Desk._lint, Ask.PAGE: Desk._page,
    Ask.RESUME_WAREHOUSE: Desk._resume_warehouse,
    Ask.START_SCHEDULER: Desk._start_scheduler,
}  # fmt: skip


def _stop(activity_id: str) -> LiveMessage:
    """What a thread of this process runs, which no interrupt of the kernel reaches; it may be what
    opens an engine."""
    made = ACTIVITIES.find(activity_id)
    if made is None:
        return DoneMessage("It has ended.")
    made.stop()
    return DoneMessage(f"Being stopped: {made.text}.")


def _is_sink(engine: Engine, name: Name) -> bool:
    return engine.context.catalog.has_sink(name)


def _task_of(request: Request) -> Name | None:
    from dt_jupyter.dispatch.task_answers import task_of

    return task_of(request.name)


def _ran(engine: Engine, statement: str) -> DoneMessage:
    """The status of a statement that has run."""
    rows = engine.sql(statement).collect()
    return DoneMessage(" ".join(str(row[0]) for row in rows) or "Done.")


def _told(failure: BaseException, what: str) -> ErrorMessage:
    """The message of any failure; an unexpected one has a code too, and is logged."""
    made = catalogued(failure, what)
    if made.code != UNFORESEEN:
        return error_message(made)
    _log.error("%s failed", what, exc_info=failure)
    return error_message(DTError(made.code, made.facts))


def _name(request: Request) -> Name:
    """The table or sink that is requested, as messages write names: of another schema than
    `default` with that schema. DT-1001."""
    from dt_jupyter.sql import qualified_name

    return qualified_name(request.name or "", "default")


def _point(text: str | None, option: str) -> TimePoint | None:
    from dt_jupyter.sql import parse_time_point

    return parse_time_point(option, text) if text else None


def _records(engine: Engine, table: DynamicTable) -> list[RefreshRecord]:
    """The newest refreshes, and the newest of those that changed something or failed."""
    newest = engine.records(table.name, RECORDS)
    known = {record.query_id for record in newest}
    loud = engine.context.catalog.recent(table.id, RECORDS, quiet=False)
    told = engine.context.access.told(loud)
    return newest + [record for record in told if record.query_id not in known]


def _detail_of(
    engine: Engine,
    name: Name,
    found: Explanation | None,
    records: list[RefreshRecord],
    problem: ErrorMessage | None,
) -> DetailMessage:
    """With why nothing refreshes it in the present graph, and what it costs."""
    from dt_jupyter.dispatch.answers import detail
    from dt_jupyter.dispatch.health_rows import cost_of
    from dt_jupyter.dispatch.late_rows import late_row
    from dt_jupyter.schedule import obstacles_in

    table, monitors = engine.table(name), engine.context.access.monitors(name)
    why = obstacles_in(engine.context.catalog).get(table.id)
    held_back = why.sentence if why is not None else None
    made = detail(table, found, records, problem, held_back)
    if not monitors:
        return made
    return replace(made, late=late_row(engine.why_late(name).cause), cost=cost_of(engine, table))


def _last_error(records: Sequence[RefreshRecord]) -> ErrorMessage | None:
    """Of the newest refresh, if it failed."""
    last = records[0] if records else None
    if last is None or last.error is None:
        return None
    code = last.error_code or "DT-2105"
    return ErrorMessage(code, last.error.removeprefix(f"[{code}] "))


def _close(replay: Replay) -> None:
    try:
        replay.close()
    except Exception:  # the engine was closed before, and released it
        _log.debug("a replay was closed already", exc_info=True)
