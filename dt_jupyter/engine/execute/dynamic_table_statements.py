"""CREATE, CLONE, ALTER, DROP, UNDROP, DESCRIBE, SHOW and EXPLAIN of dynamic tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.definition import require_clusterable
from dt_jupyter.engine.created import schema_words
from dt_jupyter.engine.dependents import dropped_words, find_dependents, names_downstream
from dt_jupyter.engine.evaluate import points
from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.subjects import explain_subject
from dt_jupyter.engine.upstream_refresh import failure_of
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Reason,
    RefreshTrigger,
    SchedulingState,
    Span,
    TargetLag,
    error,
)
from dt_jupyter.schedule import obstacles_in
from dt_jupyter.sources import holder, require_free
from dt_jupyter.spark import bind_definition
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.engine.created import Created

_BY_USER = Reason("USER_SUSPENDED", "ALTER DYNAMIC TABLE … SUSPEND was run.")
_DEFAULTS: Mapping[str, tuple[str, Any]] = {
    "COMMENT": ("comment", None),
    "CLUSTER BY": ("cluster_by", ()),
    "DATA_RETENTION_TIME_IN_DAYS": ("retention_days", None),
    "TARGET_LAG": ("target_lag", TargetLag(None)),
    "WAREHOUSE": ("warehouse", "default"),
    "SCHEDULER": ("scheduler_enabled", True),
    "ALTER_SOURCES": ("alter_sources", True),
}
"""The field of each option that UNSET may name, and its default."""
_FROZEN = "FROZEN WHERE"


def create_dynamic_table(
    context: Context, statement: S.CreateDynamicTable, origin: StatementOrigin
) -> Created:
    """Errors of the query are placed in the script."""
    bound = replace(statement, query=bind_definition(statement.query, origin.args))
    with _placed(statement, bound.query, origin):
        return _standing(context, context.creator.create(bound, origin.announce))


def _standing(context: Context, created: Created) -> Created:
    """With why nothing refreshes it in the present graph."""
    why = obstacles_in(context.catalog).get(created.table.id)
    return created if why is None else replace(created, held_back=why.sentence)


@contextmanager
def _placed(statement: S.CreateDynamicTable, query: str, origin: StatementOrigin) -> Iterator[None]:
    """Errors of the query that was run are placed in the script."""
    try:
        yield
    except DTError as e:
        if e.query is not None and e.span is not None and query == statement.query:
            start = 0 if origin.script == query else statement.query_offset  # a cell's query
            raise e.at(origin.script, Span(start + e.span.start, start + e.span.end)) from e
        raise


def clone(context: Context, statement: S.CloneDynamicTable, origin: StatementOrigin) -> Created:
    at = None
    if statement.at is not None:
        at = points(context, origin.args).moment(statement.at)
    return _standing(context, context.cloner.clone(statement, at))


def drop_dynamic_table(
    context: Context, statement: S.DropDynamicTable, origin: StatementOrigin
) -> DataFrame:
    catalog, name = context.catalog, statement.name
    if catalog.drop_broken(name):
        context.names.unpublish(name)
        return context.tables.status(f"Dynamic table {name} is out of quarantine, and dropped.")
    if statement.if_exists and catalog.get(name) is None:
        return context.tables.status(f"{name} does not exist, nothing done.")
    table = context.table(name, f"Write DROP {{kind}} {name}.")
    readers = find_dependents(catalog, {name}, context.access.sees)
    context.refresher.cancel(table.id)
    with context.names.followed(f"DROP DYNAMIC TABLE {name}", name):
        catalog.drop(name)
        context.names.unpublish(name)
    more = dropped_words(readers, f"UNDROP DYNAMIC TABLE {name}")
    return context.tables.status(f"Dynamic table {name} dropped; UNDROP brings it back.{more}")


def undrop(context: Context, statement: S.UndropDynamicTable, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if holder(context.catalog, context.spark, name) is not None:
        raise error("DT-1118", name=name, problem="the name is taken", hint="Rename the other.")
    with context.names.followed(f"UNDROP DYNAMIC TABLE {name}", name):
        schema = context.names.undrop(name)
    return context.tables.status(f"Dynamic table {name} restored{schema_words(schema)}.")


def describe_dynamic_table(
    context: Context, statement: S.DescribeDynamicTable, origin: StatementOrigin
) -> DataFrame:
    context.table(statement.name, f"Write DESCRIBE TABLE {statement.name}.")
    return context.tables.describe(statement.name)


def show_dynamic_tables(
    context: Context, statement: S.ShowDynamicTables, origin: StatementOrigin
) -> DataFrame:
    return context.tables.dynamic_tables(statement.like)


def explain(
    context: Context, statement: S.ExplainDynamicTable, origin: StatementOrigin
) -> DataFrame:
    subject = statement.subject
    if isinstance(subject, S.CreateDynamicTable):
        with _placed(subject, bind_definition(subject.query, origin.args), origin):
            text = str(explain_subject(context, subject, origin.args))
    else:
        text = str(explain_subject(context, subject, origin.args))
    return context.tables.frame([(line,) for line in text.splitlines()], "plan string")


# -- ALTER -----------------------------------------------------------------------------------------


def alter_dynamic_table(
    context: Context, statement: S.AlterDynamicTable, origin: StatementOrigin
) -> DataFrame:
    if statement.if_exists and context.catalog.get(statement.name) is None:
        return context.tables.status(f"{statement.name} does not exist, nothing done.")
    table = context.table(statement.name)
    if isinstance(statement.change, S.Refresh):
        return _refresh(context, table, statement.change)
    done = ALTER_HANDLERS[type(statement.change)](context, table, statement.change)
    context.scheduling.nudge()
    return context.tables.status(f"Dynamic table {statement.name} {done}.")


def _refresh(context: Context, table: DynamicTable, change: S.Refresh) -> DataFrame:
    wait = 0.0 if change.nowait else None
    done = context.graph.refresh(table, RefreshTrigger.MANUAL, full=change.full, wait=wait)
    record = context.access.redacted(done)
    if record.error_code is not None:
        raise failure_of(record)
    s = record.statistics
    row = (
        str(record.name),
        str(record.action),
        str(record.reason),
        record.data_timestamp.datetime,
        s.inserted_rows,
        s.deleted_rows,
    )
    schema = (
        "name string, action string, reason string, data_timestamp timestamp, "
        "inserted_rows bigint, deleted_rows bigint"
    )
    return context.tables.frame([row], schema)


def _suspend(context: Context, table: DynamicTable, change: S.Suspend) -> str:
    state = SchedulingState.SUSPENDED
    context.catalog.update(table.id, scheduling=state, scheduling_reason=_BY_USER)
    below = _below(context, table)
    return f"suspended; {', '.join(below)} downstream of it wait" if below else "suspended"


def _below(context: Context, table: DynamicTable) -> list[str]:
    """The tables that the scheduler would refresh and that read it, directly or not."""
    tables = context.catalog.list()
    below = names_downstream(tables, {table.name})
    active = (t for t in tables if t.scheduling is SchedulingState.ACTIVE)
    return [str(t.name) for t in active if t.name in below]


def _resume(context: Context, table: DynamicTable, change: S.Resume) -> str:
    state = SchedulingState.ACTIVE
    context.catalog.update(table.id, scheduling=state, scheduling_reason=None, error_count=0)
    below = _below(context, table)
    return f"resumed; {', '.join(below)} downstream of it continue" if below else "resumed"


def _rename(context: Context, table: DynamicTable, change: S.RenameTo) -> str:
    require_free(context.catalog, context.spark, change.new_name)
    old, new = table.name, change.new_name
    with context.names.followed(f"ALTER DYNAMIC TABLE {old} RENAME TO {new}", old, new):
        schema = context.names.rename(old, new)
    return f"renamed to {change.new_name}{schema_words(schema)}"


def _swap(context: Context, table: DynamicTable, change: S.SwapWith) -> str:
    context.table(change.other)
    one, other = table.name, change.other
    with context.names.followed(f"ALTER DYNAMIC TABLE {one} SWAP WITH {other}", one, other):
        context.names.swap(one, other)
    return f"swapped with {change.other}"


def _set(context: Context, table: DynamicTable, options: S.SetOptions) -> str:
    require_clusterable(table.definition, options.cluster_by or ())
    if options.warehouse is not None:
        context.catalog.warehouse(options.warehouse)
    wanted = {
        "target_lag": options.target_lag,
        "warehouse": options.warehouse,
        "scheduler_enabled": options.scheduler,
        "cluster_by": options.cluster_by,
        "retention_days": options.retention_days,
        "alter_sources": options.alter_sources,
        "comment": options.comment,
    }
    done = _update(context, table, {k: v for k, v in wanted.items() if v is not None})
    return done if options.frozen is None else _freeze(context, table, options.frozen)


def _unset(context: Context, table: DynamicTable, options: S.UnsetOptions) -> str:
    plain = options.names - {_FROZEN}
    done = _update(context, table, dict(_DEFAULTS[name] for name in plain))
    return _freeze(context, table, None) if _FROZEN in options.names else done


def _freeze(context: Context, table: DynamicTable, where: str | None) -> str:
    made = context.creator.freeze(context.catalog.require(table.name), where)
    return "altered; its rows are kept" if made.record is None else "altered"


def _update(context: Context, table: DynamicTable, fields: Mapping[str, Any]) -> str:
    context.creator.set_options(table, fields)
    return "altered"


ALTER_HANDLERS: Mapping[type[S.TableChange], Callable[[Context, DynamicTable, Any], str]] = {
    S.Suspend: _suspend,
    S.Resume: _resume,
    S.RenameTo: _rename,
    S.SwapWith: _swap,
    S.SetOptions: _set,
    S.UnsetOptions: _unset,
}
"""What each change but a refresh does; its function says what was done."""
