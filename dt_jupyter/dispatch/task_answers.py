"""Tasks as wire messages: the node of the graph, and all about one."""

from __future__ import annotations

from datetime import datetime

from dt_jupyter.model import (
    Name,
    RefreshState,
    SchedulingState,
    TaskRun,
    TaskRunState,
    Timestamp,
)
from dt_jupyter.reports import TaskName, TaskReport, task_definition
from dt_jupyter.sql import qualified_name
from dt_jupyter.wire import (
    ErrorMessage,
    GraphNode,
    NodeKind,
    TaskMessage,
    TaskRunRow,
    TaskStanding,
)

_PREFIX = "task "


def task_of(name: str | None) -> Name | None:
    """The task whose node is called so; None for any other node's name. DT-1001."""
    if name is None or not name.startswith(_PREFIX):
        return None
    return qualified_name(name.removeprefix(_PREFIX), "default")


def task_graph_node(found: TaskReport) -> GraphNode:
    """A task as a node of the graph; its state is that of its last run."""
    task, last = found.task, found.last
    return GraphNode(
        str(TaskName(task.name)),
        NodeKind.TASK,
        SchedulingState.ACTIVE if task.started else SchedulingState.SUSPENDED,
        state=RefreshState(last.state.value) if last is not None else None,
        error=found.problem,
        warehouse=task.warehouse,
        task=_standing(found),
    )


def task_message(found: TaskReport) -> TaskMessage:
    """All about a task."""
    task = found.task
    return TaskMessage(
        str(TaskName(task.name)),
        task_graph_node(found),
        task.created.datetime,
        task_definition(task),
        tuple(str(TaskName(n)) for n in task.after),
        tuple(map(str, found.flow.reads)),
        tuple(map(str, found.flow.writes)),
        tuple(map(_row, found.runs)),
        task.comment,
        _error(found.last),
    )


def _standing(found: TaskReport) -> TaskStanding:
    task = found.task
    return TaskStanding(
        task.state,
        found.runs_when,
        task.condition,
        _when(found.next),
        _row(found.last) if found.last is not None else None,
        task.failures,
    )


def _row(run: TaskRun) -> TaskRunRow:
    return TaskRunRow(
        run.state,
        run.trigger,
        run.scheduled.datetime,
        _when(run.start),
        _when(run.end),
        run.attempt,
        run.rows,
        run.message,
        run.quiet,
    )


def _error(last: TaskRun | None) -> ErrorMessage | None:
    """Why the last run failed, with the page of its code."""
    if last is None or last.state is not TaskRunState.FAILED or last.code is None:
        return None
    return ErrorMessage(last.code, last.message or "")


def _when(t: Timestamp | None) -> datetime | None:
    return t.datetime if t is not None else None
