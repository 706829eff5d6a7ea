"""How an engine is put together, opened on its lake, and closed."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog, CatalogWarning, Owner, find_database, parse_catalog_url
from dt_jupyter.definition import Definer
from dt_jupyter.delivery import Deliveries, Sinks, SinkWorkers
from dt_jupyter.engine.base_tables import LakeTables
from dt_jupyter.engine.clone import Cloner
from dt_jupyter.engine.context import Context, EngineState
from dt_jupyter.engine.create import Creator
from dt_jupyter.engine.event_tables import EventTables
from dt_jupyter.engine.information_schema import CatalogTables
from dt_jupyter.engine.own_spark import MEMORY, OWN, import_in_background, import_libraries
from dt_jupyter.engine.remote_lake import home_layout, is_remote
from dt_jupyter.engine.rename import TableNames
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.seen_events import seen_event
from dt_jupyter.engine.rights.shared import Shared
from dt_jupyter.engine.rights.spark_rights import SparkRights
from dt_jupyter.engine.scheduling import Scheduling, spawner
from dt_jupyter.engine.schema_names import move_labels
from dt_jupyter.engine.sink_tables import SinkTables
from dt_jupyter.engine.statement_steps import handle_steps
from dt_jupyter.engine.step_kinds import CLOSING_STEPS, LATE_STEPS, QUIET_STEPS
from dt_jupyter.engine.task_runner import TaskRunner
from dt_jupyter.engine.task_sessions import TaskSessions
from dt_jupyter.engine.task_tables import TaskTables
from dt_jupyter.engine.task_verbs import Tasks
from dt_jupyter.engine.task_workers import TaskWorkers
from dt_jupyter.engine.terminal_progress import show_on_terminal
from dt_jupyter.engine.travel import Travel
from dt_jupyter.engine.upstream_refresh import Graph
from dt_jupyter.functions import Functions
from dt_jupyter.lake import HadoopStorage, find_escape, folder_exists, is_delta, lock_writers
from dt_jupyter.maintenance import Keeper
from dt_jupyter.model import (
    Clock,
    DynamicTable,
    EventKind,
    Named,
    Reason,
    Timestamp,
    Tuning,
    error,
    standing_event,
)
from dt_jupyter.refresh import Refresher, recover_table, restore_times
from dt_jupyter.replay import REFRESH_PAUSE_SECONDS, Pace, release
from dt_jupyter.reports import Events, Lineages, Nodes, SinkReports, TaskReports
from dt_jupyter.sources import (
    CopiedTables,
    Layout,
    LeaseWaits,
    Logs,
    Publisher,
    Sources,
    enter_lake,
    has_other_lake,
    is_to_mend,
    leave_lake,
    noticed,
)
from dt_jupyter.spark import (
    RefreshSessions,
    archive_of,
    builtin_functions,
    find_java,
    has_delta_confs,
    is_connect,
    is_shared,
    is_unused,
    local_session,
    path_of_uri,
    private_session,
    replace_session,
    runs_elsewhere,
    separate_session,
    session_end,
    start_writer,
    storage_of,
)
from dt_jupyter.streams import Changes, StatementLog, Streams, Transactions
from dt_jupyter.watching import AlertWatch, start_telemetry, stop_telemetry, stream_problem

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def build(
    spark: SparkSession,
    layout: Layout,
    clock: Clock,
    tuning: Tuning,
    shared: Shared | None = None,
    catalog_url: str | None = None,
) -> Context:
    """The services of an engine, each made once and given what it works with; opens the catalog,
    and recovers nothing."""
    state = EngineState()
    require_open = partial(state.require_open, layout.known_as)
    waits = LeaseWaits(tuning.statement_timeout_seconds, require_open)
    owner = Owner.here(uuid.uuid4().hex)
    database = find_database(layout.catalog, catalog_url, home=bool(layout.place))
    catalog = Catalog(layout.catalog, clock, owner, lake=layout.lake, database=database)
    storage = None if is_connect(spark) else HadoopStorage(spark)
    if layout.place and storage is not None and not storage.keeps_apart(layout.place):
        for folder in layout.shared:
            lock_writers(folder, database.hold_lock)
    shared_at = f"{layout.place}/_dt/copied_logs" if layout.place else None
    lock = database.hold_lock
    logs = Logs(CopiedTables(layout.copied_logs, storage, tuning.fetched_bytes, shared_at, lock))
    sources = Sources(spark, catalog, layout, logs)
    functions = Functions(catalog, spark)
    sessions = RefreshSessions(spark, prepare=functions.install)
    builtins = builtin_functions(spark)
    definer = Definer(sources, builtins, tuning)
    refresher = Refresher(spark, sources, definer, sessions, clock, tuning)
    publisher = Publisher(spark, sources)
    scheduling = Scheduling(spark, clock)
    shown = (publisher.publish, scheduling.nudge, publisher.retry_views)
    graph = Graph(refresher, clock, waits, *shown)
    changes = Changes(spark, sources, builtins, clock.now)
    streams = Streams(catalog, changes, layout, waits)
    sources.publications.finish = streams.recover
    deliveries = Deliveries(catalog, changes, sessions)
    workers = SinkWorkers(catalog, deliveries, spawner(spark))
    opener = partial(_task_context, catalog, spark, layout, clock, tuning, shared, catalog_url)
    runner = TaskRunner(catalog, streams, TaskSessions(opener), clock.now, scheduling.nudge)
    ticking = TaskWorkers(catalog, runner, clock.now, spawner(spark))
    log = StatementLog(catalog, late=LATE_STEPS, closing=CLOSING_STEPS, quiet=QUIET_STEPS)
    scheduling.connect(graph, workers, ticking, log.recover)
    sinks = SinkReports(sources, deliveries)
    access = Access(spark, catalog, state, shared)
    rights = SparkRights(access, layout, sources.copies)
    refresher.judge = rights.require_owner
    alerts = AlertWatch(
        catalog,
        stream_problem(streams.standing),
        partial(seen_event, access),
        sinks.behind_since,
    )
    scheduling.watched = alerts.watch
    pace = Pace(tuning.replay_bytes_per_second, partial(refresher.is_busy, REFRESH_PAUSE_SECONDS))
    travel = Travel(spark, sources, sessions, refresher, clock.now, lambda: state.closed, pace)
    creator = Creator(spark, sources, definer, sessions, graph, publisher, clock, rights, log)
    made = Context(
        spark,
        layout,
        clock,
        state,
        catalog,
        sources,
        sessions,
        refresher,
        publisher,
        graph,
        scheduling,
        creator=creator,
        cloner=Cloner(creator, refresher, travel.snapshots),
        names=TableNames(catalog, publisher, refresher.standing, log),
        tables=CatalogTables(spark, catalog, clock, access, sources.describe_source),
        sink_tables=SinkTables(spark, catalog, sinks, clock, access),
        task_tables=TaskTables(spark, catalog, clock, access),
        event_tables=EventTables(spark, catalog, access),
        lake_tables=LakeTables(sources, publisher.known_tables, log),
        nodes=Nodes(refresher, sinks, TaskReports(catalog)),
        lineages=Lineages(refresher),
        alerts=alerts,
        events=Events(catalog, clock, refresher.running, tuning),
        changes=changes,
        streams=streams,
        sinks=Sinks(catalog, streams, deliveries, scheduling.nudge, lambda: scheduling.running),
        tasks=Tasks(catalog, spark, runner, clock.now, scheduling.nudge),
        travel=travel,
        keeper=Keeper(sources, travel.snapshots, layout, publisher),
        functions=functions,
        transactions=Transactions(streams, streams.forward, clock.now),
        access=access,
        log=log,
        spark_rights=rights,
    )
    handle_steps(made)
    return made


def _task_context(
    catalog: Catalog,
    spark: SparkSession,
    layout: Layout,
    clock: Clock,
    tuning: Tuning,
    shared: Shared | None,
    catalog_url: str | None,
) -> Context:
    """The services for runs of tasks, in a separate session; subscribers to events in
    `catalog` get theirs too."""
    made = build(private_session(spark), layout, clock, tuning, shared, catalog_url)
    made.catalog.noted = catalog.noted
    return made


# -- opening ---------------------------------------------------------------------------------------


def lake_folder(lake: str | os.PathLike[str]) -> Path:
    """The folder that is meant; DT-5103 for what can be no path, and for other storage."""
    text = os.fspath(lake)
    if storage := storage_of(text):
        problem = f"it is on {storage}, and a lake is a folder of a disk"
        hint = "Give a folder that this machine, and each worker of a cluster, has on a disk."
        raise error("DT-5103", path=lake, problem=problem, hint=hint)
    try:
        found = Path(path_of_uri(text)).expanduser().resolve()
        os.fsencode(found)
    except (ValueError, RuntimeError, OSError) as e:
        raise error("DT-5103", path=repr(lake), problem=e, hint="Give the path of a folder.") from e
    if problem := find_escape(found):
        raise error("DT-5103", path=lake, problem=problem, hint="Rename the folder.")
    return found


def known_lake(lake: str | os.PathLike[str]) -> Path | str:
    """The lake that is meant, as an engine on it names it; DT-5103."""
    return os.fspath(lake).rstrip("/") if is_remote(lake) else lake_folder(lake)


def require_catalog_url(url: str | None) -> None:
    """DT-5115 for an address that no catalog can be at, before anything is started."""
    if url is not None:
        parse_catalog_url(url)


def begin_connecting(lake: str | os.PathLike[str], catalog: str | None) -> Layout:
    """The layout of the lake that is connected to: what takes long is seen on a terminal from now
    on. DT-5103, DT-5115."""
    show_on_terminal()
    require_catalog_url(catalog)
    return lake_layout(lake)


def lake_layout(lake: str | os.PathLike[str]) -> Layout:
    """The layout of a lake, whose folders are made where they are missing, or of the home of one
    on other storage; DT-5103."""
    if is_remote(lake):
        return home_layout(os.fspath(lake))
    layout = Layout(lake_folder(lake))
    try:
        layout.tables.mkdir(parents=True, exist_ok=True)
        layout.own.mkdir(parents=True, exist_ok=True)
    except OSError as e:
        raise error("DT-5103", path=lake, problem=str(e), hint="Choose another folder.") from e
    return layout


def require_shared_disk(spark: SparkSession, layout: Layout) -> None:
    """DT-5103 where tasks of Spark would read and write another folder of that name."""
    try:
        shared = not runs_elsewhere(spark) or is_shared(spark, layout.own)
    except OSError as e:
        raise error("DT-5103", path=layout.lake, problem=e, hint="Choose another folder.") from e
    if not shared:
        problem = "not each machine that Spark runs on finds its files"
        hint = "Choose a folder of a disk that all of them mount under this path."
        raise error("DT-5103", path=layout.lake, problem=problem, hint=hint)


def start_session(lake: str | os.PathLike[str]) -> SparkSession:
    """The session that `Engine.connect` would start for the lake; its folders are made. DT-5103,
    DT-51xx (Java, Spark)."""
    return _start(lake, MEMORY)


def _start(lake: str | os.PathLike[str], memory: str) -> SparkSession:
    """The active session, else a local one whose tables are made in the lake."""
    import_libraries()
    return local_session(lake_layout(lake).tables, memory=memory, **OWN)


def replace_unused(lake: str | os.PathLike[str], spark: SparkSession) -> SparkSession | None:
    """A session with Delta in the place of one without, on which nothing depends; None where
    `spark` has Delta, or is in use."""
    if session_end(spark) is None and not has_delta_confs(spark) and is_unused(spark):
        return replace_session(spark, lake_layout(lake).tables, memory=MEMORY, **OWN)
    return None


def archive_classes() -> None:
    """The classes of a session like this are archived in the background, once for each Java and
    release of Spark: from then on one is there sooner."""
    start_writer(archive_of(find_java(os.environ)), os.environ)


def own_session(lake: str | os.PathLike[str], memory: str) -> SparkSession:
    """The active session, else a local one whose tables are made in the lake; as
    `separate_names`."""
    return separate_names(lake, _start(lake, memory))


def separate_names(lake: str | os.PathLike[str], spark: SparkSession) -> SparkSession:
    """The session itself, or another one with separate names if another lake is open under
    those of `spark`."""
    layout = lake_layout(lake)
    return separate_session(spark, layout.tables) if has_other_lake(spark, layout) else spark


def recover_lake(context: Context) -> None:
    """All that a lake holds is known again, and what processes that are gone left is settled.

    One object that cannot be restored does not block the others: it is in quarantine.
    """
    catalog = context.catalog
    enter_lake(context.spark, context.layout)
    for warehouse in catalog.warehouses():
        with _quarantining(catalog, Named.WAREHOUSE, warehouse.name):
            context.declare(warehouse)
    catalog.reap()
    context.keeper.reap()
    with catalog.one_state():
        for table in catalog.list():
            with _quarantining(catalog, Named.DYNAMIC_TABLE, table.name):
                _recover_table(context, table)
    if catalog.rebuilt is not None:
        warnings.warn(str(catalog.rebuilt), CatalogWarning, stacklevel=3)
        _tell_rebuilt(catalog, context.clock.now())
    context.functions.install(context.spark)  # views may call those of SQL
    context.functions.tell_changes()
    move_labels(context)
    context.log.recover(late=False)
    context.publisher.restore()
    catalog.sinks()
    catalog.tasks()
    catalog.streams()  # those that cannot be read are known from now on
    context.streams.recover()
    context.log.recover()
    context.streams.forward.sweep()
    start_telemetry(catalog)
    context.sessions.warm("default")
    import_in_background()


def _tell_rebuilt(catalog: Catalog, now: Timestamp) -> None:
    why = Reason("CATALOG_LOST", str(catalog.rebuilt))
    catalog.note(standing_event(EventKind.CATALOG, "", "", "REBUILT", why, now, bad=True))


def log_in(context: Context, role: str) -> None:
    """The role that a session is opened with. DT-5203, DT-5209."""
    context.access.use(role.lower())
    context.state.login = context.state.role


def _recover_table(context: Context, table: DynamicTable) -> None:
    catalog, logs, path = context.catalog, context.sources.logs, context.layout.public(table.id)
    table = noticed(catalog, logs, context.layout, table, whole=True)
    if is_to_mend(table):
        return
    if table.sequence or folder_exists(path):
        recover_table(catalog, logs[str(path)], table)
    if catalog.rebuilt is not None and is_delta(path):
        restore_times(catalog, logs[str(path)], table)


@contextmanager
def _quarantining(catalog: Catalog, kind: Named, name: object) -> Iterator[None]:
    try:
        yield
    except Exception as e:
        hint = f"DROP {kind.upper()} {name} removes it."
        catalog.quarantine.put(kind, name, e, hint)


# -- closing ---------------------------------------------------------------------------------------


def close(context: Context) -> None:
    """Stops the scheduler, ends running refreshes, frees leases and pins; the session stays."""
    if context.state.closed:
        return
    context.state.closed = True
    context.events.close()
    if context.transactions.current is not None:
        context.transactions.rollback()
    context.scheduling.stop()
    context.alerts.close()
    stop_telemetry(context.catalog)
    context.tasks.close()
    context.sinks.deliveries.close_all()
    context.refresher.cancel_all()
    context.sessions.close()
    if context.layout.own.is_dir():
        for hold in context.catalog.own_replays():
            release(context.catalog, context.layout, hold)
        context.catalog.release_sinks()
        context.catalog.leftovers.finish()
    leave_lake(context.spark, context.layout, context.publisher.lake_names)
    context.catalog.close()
