"""The statements about sinks."""

from __future__ import annotations

from collections.abc import Callable

from dt_jupyter.sql.grammar.clauses import (
    create_action,
    if_exists,
    like,
    name_to_describe,
    name_to_drop,
    options,
    sink_clauses,
    source_of_changes,
    suspension,
)
from dt_jupyter.sql.grammar.options import SINK_SET_OPTIONS
from dt_jupyter.sql.grammar.statement_values import (
    AlterSink,
    CreateAction,
    CreateSink,
    DescribeSink,
    DropSink,
    Refresh,
    ResetSink,
    Resume,
    RetryDeadLetters,
    SetSink,
    ShowSinks,
    SinkSource,
    Statement,
    Suspend,
)
from dt_jupyter.sql.text.cursor import Cursor

_SINK = "the name of the sink"
_CHANGES = "Write SUSPEND, RESUME, REFRESH, RESET, RETRY DEAD LETTERS or SET …."


def parse_create_sink(cursor: Cursor, action: CreateAction) -> Statement:
    if action is not CreateAction.CREATE:
        raise cursor.fail(
            f"there is no CREATE OR {action} SINK",
            "Use ALTER SINK s SET …, or DROP SINK s before.",
            cursor.words[0].span,
        )
    action = create_action(cursor, action)
    name = cursor.name(_SINK)
    hint = "Write CREATE SINK s FROM TABLE t INTO 'url', FROM DYNAMIC TABLE d or FROM STREAM x."
    if not cursor.accept("FROM"):
        raise cursor.expected("FROM", hint)
    kind, source = source_of_changes(cursor, list(SinkSource), hint)
    if not cursor.accept("INTO"):
        raise cursor.expected("INTO", hint)
    cursor.places["url"] = cursor.peek().span
    url = cursor.string("a URL in quotes", hint)
    return CreateSink(name, kind, source, url, action=action, **sink_clauses(cursor))


def _alter_sink(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = cursor.name(_SINK)
    change = _sink_change(cursor)
    cursor.finish("One ALTER makes one change.")
    return AlterSink(name, change, exists)


def _sink_change(
    cursor: Cursor,
) -> Suspend | Resume | Refresh | ResetSink | RetryDeadLetters | SetSink:
    if cursor.accept("REFRESH"):
        return Refresh()
    if cursor.accept("RESET"):
        return ResetSink()
    if cursor.accept("RETRY"):
        if not cursor.accept("DEAD", "LETTERS"):
            raise cursor.expected("DEAD LETTERS", "Write ALTER SINK s RETRY DEAD LETTERS.")
        return RetryDeadLetters()
    if cursor.accept("SET"):
        if cursor.done:
            raise cursor.expected("an option", f"Options are {', '.join(SINK_SET_OPTIONS)}.")
        return SetSink(**options(cursor, SINK_SET_OPTIONS, until=None))
    change = suspension(cursor)
    if change is None:
        raise cursor.expected("a change", _CHANGES)
    return change


def _drop_sink(cursor: Cursor) -> Statement:
    return DropSink(*name_to_drop(cursor, _SINK, "DROP SINK [IF EXISTS] s"))


def _describe_sink(cursor: Cursor) -> Statement | None:
    name = name_to_describe(cursor, _SINK, "DESCRIBE SINK s")
    return None if name is None else DescribeSink(name)


def _show_sinks(cursor: Cursor) -> Statement:
    return ShowSinks(like(cursor, "SHOW SINKS [LIKE 'pattern']"))


SINK_PARSERS: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement | None]], ...] = (
    (("ALTER", "SINK"), _alter_sink),
    (("DROP", "SINK"), _drop_sink),
    (("DESCRIBE", "SINK"), _describe_sink),
    (("DESC", "SINK"), _describe_sink),
    (("SHOW", "SINKS"), _show_sinks),
)
