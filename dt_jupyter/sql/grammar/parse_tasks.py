"""The statements about tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dt_jupyter.model import Name, Span
from dt_jupyter.sql.grammar.clauses import (
    create_action,
    if_exists,
    like,
    name_to_describe,
    name_to_drop,
    one_option,
    options,
    suspension,
    unset_options,
)
from dt_jupyter.sql.grammar.options import TASK_OPTIONS
from dt_jupyter.sql.grammar.statement_values import (
    AfterTasks,
    AlterTask,
    CreateAction,
    CreateTask,
    DescribeTask,
    DropTask,
    ExecuteTask,
    ModifyBody,
    ModifyCondition,
    Resume,
    SetTask,
    ShowTasks,
    Statement,
    Suspend,
    TaskChange,
    UnsetOptions,
)
from dt_jupyter.sql.grammar.task_condition import condition_of
from dt_jupyter.sql.text.cursor import Cursor

_TASK = "the name of the task"
_BODY = "End with AS and a statement, or with AS BEGIN statement; … END."
_ALTER = (
    "SUSPEND, RESUME, EXECUTE, SET …, UNSET …, MODIFY AS …, MODIFY WHEN …, REMOVE WHEN, "
    "ADD AFTER … or REMOVE AFTER …"
)


def parse_create_task(cursor: Cursor, action: CreateAction) -> Statement:
    if action is CreateAction.ALTER:
        hint = "Use ALTER TASK t …, or CREATE OR REPLACE TASK."
        raise cursor.fail("there is no CREATE OR ALTER TASK", hint, cursor.words[0].span)
    action = create_action(cursor, action)
    name = cursor.name(_TASK)
    fields = _clauses(cursor)
    if not cursor.accept("AS"):
        raise cursor.fail("the statement of the task is missing", _BODY)
    if "schedule" in fields and "after" in fields:
        hint = "A task after others runs when they have: leave SCHEDULE out."
        raise cursor.fail("SCHEDULE and AFTER are both given", hint, cursor.places["SCHEDULE"])
    body, offset = _body(cursor)
    return CreateTask(name, body, action=action, body_offset=offset, **fields)


def _clauses(cursor: Cursor) -> dict[str, Any]:
    """AFTER, WHEN and the options, in any order, up to AS: {field: value}."""
    found: dict[str, Any] = {}
    while not cursor.done and not cursor.at_words("AS"):
        if found and cursor.accept_sign(","):
            continue
        start = cursor.peek()
        if cursor.accept("AFTER"):
            _require_new(cursor, found, "after", start.span)
            found["after"] = _names(cursor)
        elif cursor.accept("WHEN"):
            _require_new(cursor, found, "condition", start.span)
            found["condition"] = _condition(cursor)
        else:
            field, value = one_option(cursor, TASK_OPTIONS, "AS", ("AFTER", "WHEN"))
            found[field] = value
    return found


def _require_new(cursor: Cursor, found: dict[str, Any], field: str, span: Span) -> None:
    if field in found:
        word = cursor.script[span.start : span.end].upper()
        raise cursor.fail(f"{word} is given twice", "Keep one of the two.", span)


def _names(cursor: Cursor) -> tuple[Name, ...]:
    found = [cursor.name("the name of the task before", "after")]
    while cursor.accept_sign(","):
        found.append(cursor.name("the name of the task before", "after"))
    return tuple(dict.fromkeys(found))


def _condition(cursor: Cursor) -> str:
    """What stands there up to AS or the end; DT-3303 for what is no condition."""
    first, depth = cursor.index, 0
    while not cursor.done and not (depth == 0 and cursor.at_words("AS")):
        text = cursor.next().text
        depth += (text == "(") - (text == ")")
    words = cursor.words[first : cursor.index]
    condition_of(cursor.script, words)
    cursor.places["condition"] = Span(words[0].start, words[-1].end)
    return cursor.script[words[0].start : words[-1].end]


def _body(cursor: Cursor) -> tuple[str, int]:
    """All that is left, and where it begins."""
    words = cursor.words[cursor.index :]
    if not words:
        raise cursor.fail("the statement of the task is missing", _BODY)
    cursor.index = len(cursor.words)
    cursor.places["body"] = Span(words[0].start, words[-1].end)
    return cursor.script[words[0].start : words[-1].end], words[0].start


def _alter_task(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = cursor.name(_TASK)
    if cursor.accept("EXECUTE"):
        cursor.finish("Write ALTER TASK t EXECUTE.")
        return ExecuteTask(name)
    change = _change(cursor)
    cursor.finish("One ALTER makes one change.")
    return AlterTask(name, change, exists)


def _change(cursor: Cursor) -> TaskChange:
    if cursor.accept("MODIFY", "AS"):
        return ModifyBody(*_body(cursor))
    if cursor.accept("MODIFY", "WHEN"):
        return ModifyCondition(_condition(cursor))
    if cursor.accept("REMOVE", "WHEN"):
        return ModifyCondition(None)
    if cursor.accept("ADD", "AFTER"):
        return AfterTasks(_names(cursor))
    if cursor.accept("REMOVE", "AFTER"):
        return AfterTasks(_names(cursor), remove=True)
    if cursor.accept("SET"):
        if cursor.done:
            raise cursor.expected("an option", f"Options are {', '.join(TASK_OPTIONS)}.")
        return SetTask(**options(cursor, TASK_OPTIONS, until=None))
    if cursor.accept("UNSET"):
        return UnsetOptions(unset_options(cursor, TASK_OPTIONS))
    change: Suspend | Resume | None = suspension(cursor)
    if change is None:
        raise cursor.expected("a change", f"Write {_ALTER}.")
    return change


def _execute_task(cursor: Cursor) -> Statement:
    name = cursor.name(_TASK)
    cursor.finish("Write EXECUTE TASK t.")
    return ExecuteTask(name)


def _drop_task(cursor: Cursor) -> Statement:
    return DropTask(*name_to_drop(cursor, _TASK, "DROP TASK [IF EXISTS] t"))


def _describe_task(cursor: Cursor) -> Statement | None:
    name = name_to_describe(cursor, _TASK, "DESCRIBE TASK t")
    return None if name is None else DescribeTask(name)


def _show_tasks(cursor: Cursor) -> Statement:
    return ShowTasks(like(cursor, "SHOW TASKS [LIKE 'pattern']"))


TASK_PARSERS: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement | None]], ...] = (
    (("ALTER", "TASK"), _alter_task),
    (("EXECUTE", "TASK"), _execute_task),
    (("DROP", "TASK"), _drop_task),
    (("DESCRIBE", "TASK"), _describe_task),
    (("DESC", "TASK"), _describe_task),
    (("SHOW", "TASKS"), _show_tasks),
)
