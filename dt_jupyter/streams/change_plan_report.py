"""EXPLAIN of a query that reads changes: how they are found, before Spark's plan of it all."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dt_jupyter.model import Stream
from dt_jupyter.sources import By
from dt_jupyter.streams.change_query import ChangeRows, Interval
from dt_jupyter.streams.change_reader import Shape

_EXPLAIN = re.compile(r"EXPLAIN\b", re.IGNORECASE)
_HEAD, _NEXT = "== Changes ==", ""
_SHAPES = {
    Shape.EMPTY: "no changes, nothing is read",
    Shape.ADDED_ONLY: "rows were only inserted",
    Shape.REMOVED_ONLY: "rows were only deleted",
    Shape.MINIMIZE: "inserts and deletes of a row cancel by its id",
    Shape.INITIAL_ROWS: "all rows at the end, as inserts",
}
_TITLES = {
    Shape.EMPTY: "No changes of",
    Shape.ADDED_ONLY: "Rows inserted into",
    Shape.REMOVED_ONLY: "Rows deleted from",
    Shape.MINIMIZE: "Net changes of",
    Shape.INITIAL_ROWS: "All rows of",
}
_REDO = "every change of each commit"
_CONTENT = "inserts and deletes of a row cancel by its values"


def explains(text: str) -> bool:
    """Whether the statement is Spark's EXPLAIN."""
    return _EXPLAIN.match(text) is not None


@dataclass
class ChangePlans:
    """The lines of an EXPLAIN about changes, one relation after the other."""

    lines: list[str] = field(default_factory=list)

    def add(self, label: str, rows: ChangeRows, redo: bool = False) -> None:
        """Shape, interval of each base table, and what ids are made of."""
        shape = rows.query.shape
        by_content = any(i.ids.by is By.CONTENT for i in rows.intervals)
        minimal = by_content and shape not in (Shape.EMPTY, Shape.INITIAL_ROWS)
        kind, why = (
            ("REDO", _REDO) if redo else (shape.value, _CONTENT if minimal else _SHAPES[shape])
        )
        self.lines.append(f"{label}: {kind} ({why})")
        initial = shape is Shape.INITIAL_ROWS
        self.lines += [f"  {interval_text(i, initial)}" for i in rows.intervals]

    def add_stream(self, stream: Stream, rows: ChangeRows) -> ChangeRows:
        """The rows, after telling how they were found."""
        self.add(f"stream {stream.name} on {stream.source}", rows)
        return rows

    def before(self, plan: str) -> str:
        """The lines, and then Spark's plan."""
        return "\n".join([_HEAD, *self.lines, _NEXT, plan]) if self.lines else plan


def changes_title(name: str, rows: ChangeRows) -> str:
    """`Net changes of orders since version 1`."""
    shape = rows.query.shape
    title = f"{_TITLES[shape]} {name}"
    if len(rows.intervals) > 1 or shape is Shape.INITIAL_ROWS:
        return title
    return " ".join([title, *(f"since version {i.start}" for i in rows.intervals)])


def interval_text(interval: Interval, initial: bool = False) -> str:
    """`people: version 1 → 5, ids from row tracking`."""
    start = "all of version" if initial else f"version {interval.start} →"
    ids = interval.ids
    key = f" ({', '.join(ids.names)})" if ids.by is By.KEY else ""
    return f"{interval.name}: {start} {interval.end}, ids from {ids.by}{key}"
