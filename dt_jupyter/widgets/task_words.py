"""What is said of a task in a graph's card."""

from __future__ import annotations

from dt_jupyter.model import count_of
from dt_jupyter.widgets.markup import one_line
from dt_jupyter.wire import TaskRunRow, TaskStanding, duration, instant


def tick_text(task: TaskStanding) -> str:
    """`next 2026-01-01 12:05:00 UTC`, else its condition."""
    if task.next is not None:
        return f"next {instant(task.next)}"
    return one_line(task.condition or "")


def written_text(task: TaskStanding) -> str:
    """How many rows the last run wrote."""
    rows = task.last.rows if task.last is not None else None
    return count_of(rows, "row") if rows is not None else ""


def run_text(done: TaskRunRow) -> str:
    """The outcome of a run, in a sentence."""
    took = duration((done.end - done.start).total_seconds()) if done.start and done.end else ""
    rows = count_of(done.rows, "row") if done.rows is not None else ""
    told = ", ".join(filter(None, (took, rows)))
    return f"{done.state} at {instant(done.scheduled)}" + (f": {told}" if told else "")


def task_facts(task: TaskStanding) -> list[tuple[str, str]]:
    """The state of a task, in names and values; what is unknown is left out."""
    found = [
        ("state", task.state),
        ("runs", task.runs_when),
        ("when", task.condition or ""),
        ("next", instant(task.next) if task.next is not None else ""),
        ("last run", run_text(task.last) if task.last is not None else "none yet"),
        ("failed in a row", str(task.failures) if task.failures else ""),
    ]
    return [(name, one_line(value)) for name, value in found if value]
