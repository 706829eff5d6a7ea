"""The definitions of a lake as one SQL script, which makes them again over the same tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    DEFAULT_WAREHOUSE,
    TRIGGER_SECONDS,
    DynamicTable,
    Initialize,
    Name,
    Named,
    SchedulingState,
    Sink,
    Stream,
    Task,
    ViewSource,
    Warehouse,
    plain,
)
from dt_jupyter.reports.export_functions import python_functions, sql_functions
from dt_jupyter.reports.export_rights import (
    grant_statements,
    granted_tables,
    role_statements,
)
from dt_jupyter.reports.sink_report import sink_definition
from dt_jupyter.sources import name_of
from dt_jupyter.sql import literal, relations_in

_HEAD = (
    "-- Definitions of a lake, each after what it reads. The script leaves out rows, history and\n"
    "-- the offsets of streams; what already exists is left as it is."
)
_SINKS = (
    "-- A sink delivers all rows to its store as soon as it is created: each of these is for you\n"
    "-- to run."
)


@dataclass(frozen=True)
class _Object:
    """A view or a dynamic table: `reads` are the names in its query, some of other kinds."""

    name: Name
    schema: str
    reads: frozenset[Name]
    statement: str
    settings: Mapping[str, str]


def export_script(catalog: Catalog, settings: Mapping[str, str]) -> str:
    """Roles, warehouses, functions, views, dynamic tables in the order of what they read, streams,
    tasks, grants, and sinks and functions of Python as comments. `settings` are the session's: a
    table that was created under others is created under those again."""
    tables, grants, functions = catalog.list(), catalog.rights().grants, catalog.functions()
    objects = [*map(_view, catalog.views()), *map(_table, tables)]
    known = {o.name for o in objects}
    others = {n for o in objects for n in o.reads} | granted_tables(grants)
    sources = sorted(map(str, others - known))
    parts = [f"{_HEAD}\n-- Tables that must be there: {', '.join(sources) or 'none'}."]
    parts += [*python_functions(functions), *role_statements(catalog.roles(), grants)]
    parts += [s for w in catalog.warehouses() for s in _warehouse(w)]
    schemas = {o.name.schema for o in objects} | {s.name.schema for s in catalog.streams()}
    schemas |= {g.on.schema for g in grants if g.on.kind is Named.SCHEMA}
    parts += [f"CREATE SCHEMA IF NOT EXISTS {plain(s)}" for s in sorted(schemas - {"default"})]
    parts += sql_functions(functions)
    parts += _in_their_schemas(_in_order(objects), settings)
    parts += map(_stream, sorted(catalog.streams(), key=lambda s: s.created))
    jobs = catalog.tasks()
    parts += _in_their_schemas(_in_order([*map(_task, jobs)]), settings) if jobs else ()
    parts += [f"ALTER TASK {t.name} RESUME" for t in jobs if t.started]
    parts += [f"ALTER DYNAMIC TABLE {t.name} SUSPEND" for t in tables
              if t.scheduling is SchedulingState.SUSPENDED]  # fmt: skip
    parts += [f"ALTER WAREHOUSE {plain(w.name)} SUSPEND" for w in catalog.warehouses()
              if w.suspended]  # fmt: skip
    parts += grant_statements(grants)
    return "\n\n".join([*map(_ended, parts), *_sinks(catalog.sinks())]) + "\n"


def _ended(part: str) -> str:
    """A statement with its end; a comment has none."""
    if all(line.startswith("--") for line in part.splitlines()):
        return part
    return f"{part}\n;" if "\n" in part else f"{part};"


def _in_order(objects: Sequence[_Object]) -> Iterator[_Object]:
    """Each after what it reads; of those that could come next the one that was there first."""
    waiting, done = list(objects), set[Name]()
    names = {o.name for o in objects}
    while waiting:
        ready = next((o for o in waiting if not (o.reads & names) - done - {o.name}), waiting[0])
        waiting.remove(ready)
        done.add(ready.name)
        yield ready


def _in_their_schemas(objects: Iterator[_Object], session: Mapping[str, str]) -> Iterator[str]:
    """Names without a schema mean what they meant, and a query under other settings also."""
    schema, settings = "default", dict(session)
    yield "USE default"
    for each in objects:
        if each.schema != schema:
            schema = each.schema
            yield f"USE {plain(schema)}"
        wanted = {key: each.settings.get(key, value) for key, value in session.items()}
        yield from (f"SET {k} = {v}" for k, v in sorted(wanted.items()) if settings[k] != v)
        settings = wanted
        yield each.statement
    yield from (f"SET {k} = {v}" for k, v in sorted(session.items()) if settings[k] != v)
    if schema != "default":
        yield "USE default"


def _reads(query: str, schema: str) -> frozenset[Name]:
    return frozenset(name_of(parts, schema) for parts, _ in relations_in(query))


def _view(view: ViewSource) -> _Object:
    schema = view.name.schema
    statement = f"CREATE VIEW IF NOT EXISTS {_target(view.name, schema)} AS\n{view.text.strip()}"
    return _Object(view.name, schema, _reads(view.text, schema), statement, {})


def _table(table: DynamicTable) -> _Object:
    definition, schema = table.definition, table.definition.current_schema
    statement = _statement(table, "CREATE DYNAMIC TABLE IF NOT EXISTS")
    reads = _reads(definition.query, schema)
    return _Object(table.name, schema, reads, statement, definition.settings)


def _statement(table: DynamicTable, create: str) -> str:
    definition = table.definition
    name = _target(table.name, definition.current_schema)
    lines = [f"{create} {name}{_columns(definition.listed)}"]
    lines += [f"  {option}" for option in _options(table)]
    lines += [f"  FROZEN WHERE ({definition.frozen.where})"] if definition.frozen else []
    return "\n".join([*lines, "AS", definition.query.strip()])


def editable_definition(subject: DynamicTable | ViewSource | Task) -> str:
    """The statement that changes it: edited, and run again. Names without a schema mean what they
    meant when it was made."""
    match subject:
        case DynamicTable():
            schema = subject.definition.current_schema
            text = _statement(subject, "CREATE OR ALTER DYNAMIC TABLE")
        case ViewSource():
            schema, text = subject.name.schema, _view(subject).statement
            text = text.replace("CREATE VIEW IF NOT EXISTS", "CREATE OR REPLACE VIEW", 1)
        case Task():
            schema = subject.schema
            text = task_definition(subject)
            text = text.replace("CREATE TASK IF NOT EXISTS", "CREATE OR REPLACE TASK", 1)
    return text if schema == "default" else f"USE {plain(schema)};\n{text};\nUSE default"


def _target(name: Name, schema: str) -> str:
    """A name where that schema is the current one."""
    return str(name) if schema == "default" else f"{plain(name.schema)}.{plain(name.table)}"


def _columns(listed: Sequence[tuple[str, str | None]]) -> str:
    columns = [plain(n) + (f" COMMENT {literal(c)}" if c else "") for n, c in listed]
    return f" ({', '.join(columns)})" if columns else ""


def _options(table: DynamicTable) -> Iterator[str]:
    lag = table.target_lag
    yield f"TARGET_LAG = {lag if lag.downstream else literal(str(lag))}"
    yield f"WAREHOUSE = {plain(table.warehouse)}"
    yield f"REFRESH_MODE = {table.mode}"
    if table.initialize is not Initialize.ON_CREATE:
        yield f"INITIALIZE = {table.initialize}"
    if not table.scheduler_enabled:
        yield "SCHEDULER = DISABLE"
    if table.cluster_by:
        yield f"CLUSTER BY ({', '.join(map(plain, table.cluster_by))})"
    if table.retention_days is not None:
        yield f"DATA_RETENTION_TIME_IN_DAYS = {table.retention_days}"
    if not table.alter_sources:
        yield "ALTER_SOURCES = FALSE"
    if table.comment:
        yield f"COMMENT = {literal(table.comment)}"


def _warehouse(warehouse: Warehouse) -> Iterator[str]:
    options = f"MAX_CONCURRENCY_LEVEL = {warehouse.max_concurrency} WEIGHT = {warehouse.weight}"
    if warehouse.auto_suspend:
        options += f" AUTO_SUSPEND = {warehouse.auto_suspend}"
    if warehouse.auto_resume:
        options += " AUTO_RESUME = TRUE"
    name = plain(warehouse.name)
    if warehouse.name != DEFAULT_WAREHOUSE:
        yield f"CREATE WAREHOUSE IF NOT EXISTS {name} {options}"
    elif options != "MAX_CONCURRENCY_LEVEL = 2 WEIGHT = 1":
        yield f"ALTER WAREHOUSE {name} SET {options}"


def _task(task: Task) -> _Object:
    after = frozenset(task.after)
    return _Object(task.name, task.schema, after, task_definition(task), task.settings)


def task_definition(task: Task) -> str:
    """The statement that makes a task as it is, in the schema of its creation."""
    options = [f"WAREHOUSE = {plain(task.warehouse)}"]
    if task.schedule is not None:
        options.append(f"SCHEDULE = '{task.schedule}'")
    options += ["ALLOW_OVERLAPPING_EXECUTION = TRUE"] if task.overlaps else []
    options += [
        f"SUSPEND_TASK_AFTER_NUM_FAILURES = {task.suspend_after}",
        f"TASK_AUTO_RETRY_ATTEMPTS = {task.retries}",
        f"USER_TASK_TIMEOUT_MS = {task.timeout_ms}",
    ]
    if task.trigger_seconds != TRIGGER_SECONDS:
        trigger = "USER_TASK_MINIMUM_TRIGGER_INTERVAL_IN_SECONDS"
        options.append(f"{trigger} = {task.trigger_seconds}")
    options += [f"COMMENT = {literal(task.comment)}"] if task.comment is not None else []
    options += [f"AFTER {', '.join(_target(n, task.schema) for n in task.after)}"] * bool(
        task.after
    )
    options += [f"WHEN {task.condition}"] if task.condition else []
    lines = [f"CREATE TASK IF NOT EXISTS {_target(task.name, task.schema)}"]
    return "\n".join([*lines, *(f"  {o}" for o in options), "AS", task.body])


def _sinks(sinks: Sequence[Sink]) -> list[str]:
    texts = [sink_definition(s).replace("\n", "\n-- ") for s in sinks]
    return [_SINKS, *(f"-- {text}\n-- ;" for text in texts)] if texts else []


def _stream(stream: Stream) -> str:
    options = ["APPEND_ONLY = TRUE"] * stream.append_only
    options += ["SHOW_INITIAL_ROWS = TRUE"] * stream.initial
    options += [f"COMMENT = {literal(text)}" for text in [stream.comment] if text]
    subject = f"{stream.kind.replace('_', ' ')} {stream.source}"
    return " ".join([f"CREATE STREAM IF NOT EXISTS {stream.name} ON {subject}", *options])
