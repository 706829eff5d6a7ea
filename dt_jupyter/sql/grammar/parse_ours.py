"""The statements about dynamic tables, warehouses, streams, sinks, tasks and transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from dt_jupyter.model import Name, Span, error
from dt_jupyter.sql.grammar.clauses import (
    BACKFILL,
    CLUSTER_BY,
    FROZEN,
    column_list,
    create_action,
    if_exists,
    like,
    name_to_describe,
    name_to_drop,
    options,
    source_of_changes,
    stream_clauses,
    suspension,
    time_point,
    unset_options,
)
from dt_jupyter.sql.grammar.functions import calls_in
from dt_jupyter.sql.grammar.options import (
    STREAM_SETTINGS,
    TABLE_OPTIONS,
    WAREHOUSE_OPTIONS,
    warehouse_name,
)
from dt_jupyter.sql.grammar.parse_rights import RIGHTS_PARSERS
from dt_jupyter.sql.grammar.parse_sinks import SINK_PARSERS, parse_create_sink
from dt_jupyter.sql.grammar.parse_tasks import TASK_PARSERS, parse_create_task
from dt_jupyter.sql.grammar.statement_values import (
    AlterDynamicTable,
    AlterStream,
    AlterWarehouse,
    Begin,
    CloneDynamicTable,
    CloneSchema,
    CloneStream,
    Commit,
    CreateAction,
    CreateDynamicTable,
    CreateStream,
    CreateWarehouse,
    DescribeDynamicTable,
    DescribeStream,
    DropDynamicTable,
    DropStream,
    DropWarehouse,
    ExplainDynamicTable,
    PointKind,
    Refresh,
    RenameSchema,
    RenameTo,
    Resume,
    Rollback,
    SetOptions,
    SetStream,
    SetWarehouse,
    ShowDynamicTables,
    ShowStreams,
    ShowWarehouses,
    SparkKind,
    Statement,
    StreamSource,
    Suspend,
    SwapSchemas,
    SwapWith,
    TableChange,
    UndropDynamicTable,
    UndropSchema,
    UndropStream,
    UndropTable,
    UnsetOptions,
    Unsupported,
)
from dt_jupyter.sql.grammar.unsupported import unsupported_in
from dt_jupyter.sql.text.cursor import Cursor
from dt_jupyter.sql.text.one_query import ONE_QUERY
from dt_jupyter.sql.text.spark_kind import kind_of
from dt_jupyter.sql.text.split import opens_block
from dt_jupyter.sql.text.token_guard import DEFINITION, guard_length, guard_tokens

TABLE = "the name of the dynamic table"
_WAREHOUSE = "the name of the warehouse"
_STREAM = "the name of the stream"
_ALTER = (
    "SET …, UNSET …, SUSPEND, RESUME, REFRESH [FULL] [NOWAIT], CLUSTER BY (…), "
    "DROP CLUSTERING KEY, RENAME TO … or SWAP WITH …"
)
_FIXED = frozenset(name for name, option in TABLE_OPTIONS.items() if option.fixed)
_ALTERABLE = {name: option for name, option in TABLE_OPTIONS.items() if not option.fixed}
_OF_CLONE = {name: TABLE_OPTIONS[name] for name in ("TARGET_LAG", "WAREHOUSE")}
_SCHEMA = ("SCHEMA", "DATABASE", "NAMESPACE")
_UNSETTABLE = (*_ALTERABLE, CLUSTER_BY, FROZEN)


def ours(cursor: Cursor) -> Statement | None:
    """The statement, if its first words make it one of ours; None if it is Spark's.

    DT-1001 to DT-1004 and DT-1114 when it is ours and wrong.
    """
    start = cursor.index
    for keywords, parse in _PARSERS:
        if cursor.accept(*keywords):
            cursor.statement = " ".join(keywords)
            found = parse(cursor)
            if found:
                return found
            cursor.index = start
    if cursor.accept("EXPLAIN"):
        subject = _created(cursor)
        if isinstance(subject, CreateDynamicTable):
            return ExplainDynamicTable(subject)
        if isinstance(subject, Unsupported):
            return subject
        cursor.index = start
        return None
    return _created(cursor)


def defining(cursor: Cursor, fields: Mapping[str, Any], given: Iterable[str]) -> Statement:
    """The dynamic table whose query is all that is left of the text.

    DT-1001 when it is no query, DT-1004; `Unsupported` for one that a later release will take.
    """
    words = cursor.words[cursor.index :]
    if not words:
        raise cursor.fail("the query is missing", f"{ONE_QUERY}.")
    if kind_of(words).kind is not SparkKind.QUERY:
        raise cursor.fail(f"{cursor.shown()} does not begin a query", f"{ONE_QUERY}.")
    place = Span(words[0].start, words[-1].end)
    query = cursor.script[place.start : place.end]
    cursor.placed(words[0].span, lambda: guard_length(query, DEFINITION))
    guard_tokens(cursor.script, words, DEFINITION)
    later = unsupported_in(cursor.script, words)
    if later:
        return later
    for call in calls_in(cursor.script, words):
        hint = "It changes without a commit. Query it directly."
        return Unsupported(f"{call.name}() in the query of a dynamic table", hint, call.span)
    cursor.places["query"] = place
    return CreateDynamicTable(
        query=query, query_offset=place.start, given=frozenset(given), **fields
    )


def _created(cursor: Cursor) -> Statement | None:
    """CREATE [OR REPLACE|OR ALTER] DYNAMIC TABLE|WAREHOUSE|STREAM|SINK|TASK …"""
    start = cursor.index
    if not cursor.accept("CREATE"):
        return None
    action = CreateAction.CREATE
    if cursor.accept("OR", "REPLACE"):
        action = CreateAction.REPLACE
    elif cursor.accept("OR", "ALTER"):
        action = CreateAction.ALTER
    if cursor.accept("DYNAMIC", "TABLE"):
        cursor.statement = "CREATE DYNAMIC TABLE"
        return _create_table(cursor, action)
    if cursor.accept("WAREHOUSE"):
        cursor.statement = "CREATE WAREHOUSE"
        return _create_warehouse(cursor, action)
    if cursor.accept("STREAM"):
        cursor.statement = "CREATE STREAM"
        return _create_stream(cursor, action)
    if cursor.accept("SINK"):
        cursor.statement = "CREATE SINK"
        return parse_create_sink(cursor, action)
    if cursor.accept("TASK"):
        cursor.statement = "CREATE TASK"
        return parse_create_task(cursor, action)
    if any(cursor.accept(word) for word in _SCHEMA):
        cursor.statement = "CREATE SCHEMA … CLONE"
        found = _clone_schema(cursor, action)
        if found is not None:
            return found
    cursor.index = start
    return None


def _clone_schema(cursor: Cursor, action: CreateAction) -> Statement | None:
    """None for a schema that Spark makes."""
    cursor.accept("IF", "NOT", "EXISTS")
    if cursor.peek(1).upper != "CLONE":
        return None
    cursor.index -= 3 if cursor.words[cursor.index - 1].upper == "EXISTS" else 0
    if action is not CreateAction.CREATE:
        hint = f"Drop the schema first, or write CREATE SCHEMA {cursor.peek().text} CLONE …."
        raise cursor.fail(f"there is no OR {action} for a schema", hint, cursor.words[0].span)
    action = create_action(cursor, action)
    name, cursor.places["name"] = cursor.identifier("the name of the schema")
    cursor.accept("CLONE")
    source, cursor.places["source"] = cursor.identifier("the name of the schema to clone")
    point = time_point(cursor, common=False)
    cursor.finish("Write CREATE SCHEMA b CLONE a [AT (…)].")
    if point is not None and point.kind is PointKind.VERSION:
        hint = "Write AT (TIMESTAMP => …) or AT (OFFSET => -s)."
        raise cursor.fail("a schema has no versions", hint, cursor.places["at"])
    return CloneSchema(name.lower(), source.lower(), point, action)


def _create_table(cursor: Cursor, action: CreateAction) -> Statement:
    action = create_action(cursor, action)
    name = cursor.name(TABLE)
    if cursor.accept("CLONE"):
        return _clone_table(cursor, name, action)
    columns = column_list(cursor)
    before = frozenset(cursor.places)
    region = (FROZEN, BACKFILL)
    given = options(cursor, TABLE_OPTIONS, until="AS", cluster=True, region=region)
    if BACKFILL in cursor.places and FROZEN not in cursor.places:
        raise error("DT-1141").at(cursor.script, cursor.places[BACKFILL])
    if not cursor.accept("AS"):
        raise cursor.fail("the query is missing", "End with AS SELECT ….")
    fields = {"name": name, "columns": columns, "action": action, **given}
    return defining(cursor, fields, frozenset(cursor.places) - before)


def _clone_table(cursor: Cursor, name: Name, action: CreateAction) -> Statement:
    if action is CreateAction.ALTER:
        hint = "Use CREATE OR REPLACE DYNAMIC TABLE n CLONE m."
        raise cursor.fail("there is no CREATE OR ALTER … CLONE", hint, cursor.words[0].span)
    source = cursor.name("the name of the dynamic table to clone", "source")
    point = time_point(cursor, common=False)
    return CloneDynamicTable(name, source, point, action, **options(cursor, _OF_CLONE, until=None))


def _alter_table(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = cursor.name(TABLE)
    change = _table_change(cursor)
    cursor.finish("One ALTER makes one change.")
    return AlterDynamicTable(name, change, exists)


def _table_change(cursor: Cursor) -> TableChange:
    if cursor.accept("SET"):
        return SetOptions(**_set_options(cursor))
    if cursor.accept("UNSET"):
        return UnsetOptions(unset_options(cursor, _UNSETTABLE))
    if cursor.at_words("CLUSTER", "BY"):
        return SetOptions(**options(cursor, {}, until=None, cluster=True))
    if cursor.accept("DROP", "CLUSTERING", "KEY"):
        return UnsetOptions(frozenset((CLUSTER_BY,)))
    if cursor.accept("RENAME", "TO"):
        return RenameTo(cursor.name("the new name", "new_name"))
    if cursor.accept("SWAP", "WITH"):
        return SwapWith(cursor.name("the name of the other dynamic table", "new_name"))
    if cursor.accept("REFRESH"):
        return Refresh(full=cursor.accept("FULL"), nowait=cursor.accept("NOWAIT"))
    change = suspension(cursor)
    if change is None:
        raise cursor.expected("a change", f"Write {_ALTER}.")
    return change


def _set_options(cursor: Cursor) -> dict[str, Any]:
    statement = cursor.statement
    cursor.statement = f"{statement} … SET"
    if cursor.done:
        raise cursor.expected("an option", f"Options are {', '.join(_UNSETTABLE)}.")
    token = next((t for t in cursor.words[cursor.index :] if t.upper in _FIXED), None)
    if token:
        raise cursor.fail(
            f"{token.upper} can only be set at creation",
            "Use CREATE OR ALTER DYNAMIC TABLE.",
            token.span,
        )
    return options(cursor, _ALTERABLE, until=None, cluster=True, region=(FROZEN,))


def _drop_table(cursor: Cursor) -> Statement:
    return DropDynamicTable(*name_to_drop(cursor, TABLE, f"{cursor.statement} [IF EXISTS] n"))


def _undrop_dynamic_table(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = cursor.name(TABLE)
    cursor.finish(f"Write {cursor.statement} [IF EXISTS] n.")
    return UndropDynamicTable(name, exists)


def _undrop_table(cursor: Cursor) -> Statement:
    name = cursor.name("the name of the table")
    cursor.finish("Write UNDROP TABLE n.")
    return UndropTable(name)


def _undrop_schema(cursor: Cursor) -> Statement:
    name, cursor.places["name"] = cursor.identifier("the name of the schema")
    cursor.finish("Write UNDROP SCHEMA s.")
    return UndropSchema(name.lower())


def _alter_schema(cursor: Cursor) -> Statement | None:
    """None for what Spark changes of a schema, its properties and its place."""
    name, cursor.places["name"] = cursor.identifier("the name of the schema")
    if cursor.accept("RENAME", "TO"):
        new, cursor.places["new_name"] = cursor.identifier("the new name")
        cursor.finish("Write ALTER SCHEMA a RENAME TO b.")
        return RenameSchema(name.lower(), new.lower())
    if cursor.accept("SWAP", "WITH"):
        other, cursor.places["new_name"] = cursor.identifier("the name of the other schema")
        cursor.finish("Write ALTER SCHEMA a SWAP WITH b.")
        return SwapSchemas(name.lower(), other.lower())
    return None


def _undrop_other(cursor: Cursor) -> Statement:
    hint = "Write UNDROP [DYNAMIC] TABLE n, UNDROP SCHEMA s or UNDROP STREAM s."
    raise cursor.expected("TABLE, DYNAMIC TABLE, SCHEMA or STREAM", hint)


def _refresh_other(cursor: Cursor) -> Statement:
    hint = "Write ALTER DYNAMIC TABLE n REFRESH."
    raise cursor.fail("REFRESH is a change of a dynamic table", hint, cursor.words[0].span)


def _describe(cursor: Cursor) -> Statement:
    name = cursor.name(TABLE)
    cursor.finish("Write DESCRIBE DYNAMIC TABLE n.")
    return DescribeDynamicTable(name)


def _explain(cursor: Cursor) -> Statement:
    name = cursor.name(TABLE)
    cursor.finish("Write EXPLAIN DYNAMIC TABLE n, or EXPLAIN CREATE DYNAMIC TABLE … AS ….")
    return ExplainDynamicTable(name)


def _show_tables(cursor: Cursor) -> Statement:
    return ShowDynamicTables(like(cursor, "SHOW DYNAMIC TABLES [LIKE 'pattern']"))


def _show_warehouses(cursor: Cursor) -> Statement:
    return ShowWarehouses(like(cursor, "SHOW WAREHOUSES [LIKE 'pattern']"))


def _warehouse(cursor: Cursor) -> str:
    name, span = cursor.identifier(_WAREHOUSE)
    cursor.places["name"] = span
    return cursor.placed(span, lambda: warehouse_name(name))


def _create_warehouse(cursor: Cursor, action: CreateAction) -> Statement:
    if action is CreateAction.ALTER:
        raise cursor.fail(
            "there is no CREATE OR ALTER WAREHOUSE",
            "Use ALTER WAREHOUSE w SET ….",
            cursor.words[0].span,
        )
    action = create_action(cursor, action)
    name = _warehouse(cursor)
    cursor.accept("WITH")
    return CreateWarehouse(name, **options(cursor, WAREHOUSE_OPTIONS, until=None), action=action)


def _alter_warehouse(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = _warehouse(cursor)
    change: Suspend | Resume | SetWarehouse | None = suspension(cursor)
    if change is None and cursor.accept("SET"):
        if cursor.done:
            raise cursor.expected("an option", f"Options are {', '.join(WAREHOUSE_OPTIONS)}.")
        change = SetWarehouse(**options(cursor, WAREHOUSE_OPTIONS, until=None))
    if change is None:
        raise cursor.expected("a change", "Write SUSPEND, RESUME or SET ….")
    cursor.finish("One ALTER makes one change.")
    return AlterWarehouse(name, change, exists)


def _drop_warehouse(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = _warehouse(cursor)
    cursor.finish("Write DROP WAREHOUSE [IF EXISTS] w.")
    return DropWarehouse(name, exists)


def _create_stream(cursor: Cursor, action: CreateAction) -> Statement:
    if action is CreateAction.ALTER:
        raise cursor.fail(
            "there is no CREATE OR ALTER STREAM",
            "Use CREATE OR REPLACE STREAM.",
            cursor.words[0].span,
        )
    action = create_action(cursor, action)
    name = cursor.name(_STREAM)
    if cursor.accept("CLONE"):
        source = cursor.name("the name of the stream to clone", "source")
        point = time_point(cursor, common=False)
        cursor.finish("Write CREATE STREAM s CLONE t [AT (…)].")
        return CloneStream(name, source, point, action)
    hint = "Write CREATE STREAM s ON TABLE t, ON VIEW v or ON DYNAMIC TABLE d."
    if not cursor.accept("ON"):
        raise cursor.expected("ON", hint)
    kind, source = source_of_changes(cursor, list(StreamSource), hint)
    return CreateStream(name, kind, source, action=action, **stream_clauses(cursor))


def _alter_stream(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = cursor.name(_STREAM)
    known = f"Options are {', '.join(STREAM_SETTINGS)}."
    if cursor.accept("SET"):
        if cursor.done:
            raise cursor.expected("an option", known)
        return AlterStream(name, SetStream(**options(cursor, STREAM_SETTINGS, until=None)), exists)
    if not cursor.accept("UNSET"):
        raise cursor.expected("a change", "Write SET … or UNSET ….")
    return AlterStream(name, UnsetOptions(unset_options(cursor, STREAM_SETTINGS)), exists)


def _undrop_stream(cursor: Cursor) -> Statement:
    return UndropStream(*name_to_drop(cursor, _STREAM, "UNDROP STREAM [IF EXISTS] s"))


def _drop_stream(cursor: Cursor) -> Statement:
    return DropStream(*name_to_drop(cursor, _STREAM, "DROP STREAM [IF EXISTS] s"))


def _describe_stream(cursor: Cursor) -> Statement | None:
    name = name_to_describe(cursor, _STREAM, "DESCRIBE STREAM s")
    return None if name is None else DescribeStream(name)


def _show_streams(cursor: Cursor) -> Statement:
    return ShowStreams(like(cursor, "SHOW STREAMS [LIKE 'pattern']"))


def _begin(cursor: Cursor) -> Statement | None:
    """None for BEGIN … END, a script of Spark's."""
    if opens_block(tuple(cursor.words), 0):
        return None
    if not cursor.accept("TRANSACTION"):
        cursor.accept("WORK")
    return _transaction(cursor, "BEGIN [TRANSACTION|WORK] [NAME x]")


def _start(cursor: Cursor) -> Statement:
    return _transaction(cursor, "START TRANSACTION [NAME x]")


def _transaction(cursor: Cursor, form: str) -> Begin:
    name = None
    if cursor.accept("NAME"):
        name, cursor.places["name"] = cursor.identifier("the name of the transaction")
    cursor.finish(f"Write {form}; and the statements after a semicolon.")
    return Begin(name)


def _commit(cursor: Cursor) -> Statement:
    cursor.accept("WORK")
    cursor.finish("Write COMMIT [WORK].")
    return Commit()


def _rollback(cursor: Cursor) -> Statement:
    cursor.accept("WORK")
    cursor.finish("Write ROLLBACK [WORK].")
    return Rollback()


_PARSERS: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement | None]], ...] = (
    (("ALTER", "DYNAMIC", "TABLE"), _alter_table),
    (("ALTER", "SCHEMA"), _alter_schema),
    (("ALTER", "DATABASE"), _alter_schema),
    (("ALTER", "NAMESPACE"), _alter_schema),
    (("DROP", "DYNAMIC", "TABLE"), _drop_table),
    (("UNDROP", "DYNAMIC", "TABLE"), _undrop_dynamic_table),
    (("UNDROP", "TABLE"), _undrop_table),
    (("UNDROP", "SCHEMA"), _undrop_schema),
    (("UNDROP", "DATABASE"), _undrop_schema),
    (("UNDROP", "STREAM"), _undrop_stream),
    (("UNDROP",), _undrop_other),
    (("DESCRIBE", "DYNAMIC", "TABLE"), _describe),
    (("DESC", "DYNAMIC", "TABLE"), _describe),
    (("SHOW", "DYNAMIC", "TABLES"), _show_tables),
    (("EXPLAIN", "DYNAMIC", "TABLE"), _explain),
    (("REFRESH", "DYNAMIC", "TABLE"), _refresh_other),
    (("ALTER", "WAREHOUSE"), _alter_warehouse),
    (("DROP", "WAREHOUSE"), _drop_warehouse),
    (("SHOW", "WAREHOUSES"), _show_warehouses),
    (("ALTER", "STREAM"), _alter_stream),
    (("DROP", "STREAM"), _drop_stream),
    (("DESCRIBE", "STREAM"), _describe_stream),
    (("DESC", "STREAM"), _describe_stream),
    (("SHOW", "STREAMS"), _show_streams),
    *SINK_PARSERS,
    *TASK_PARSERS,
    *RIGHTS_PARSERS,
    (("BEGIN",), _begin),
    (("START", "TRANSACTION"), _start),
    (("COMMIT",), _commit),
    (("ROLLBACK",), _rollback),
)
