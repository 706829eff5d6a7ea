"""Relations of a statement that are read at another time, put in place as temporary views."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.engine.changes import OLDEST, Changes, Moment
from dt_jupyter.model import DTError, Span, Timestamp, error, plain
from dt_jupyter.refresh.sources import name_of
from dt_jupyter.sql.statements import (
    Information,
    PointKind,
    SparkKind,
    SparkStatement,
    TimedRelation,
    TimePoint,
)
from dt_jupyter.sql.timed import has_alias

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Run = Callable[[str], "DataFrame"]
_VALUES = {
    PointKind.TIMESTAMP: "UNIX_MICROS(CAST(({v}) AS TIMESTAMP))",
    PointKind.OFFSET: "CAST(ABS({v}) AS DOUBLE)",
    PointKind.VERSION: "CAST(({v}) AS BIGINT)",
}
"""SQL for the value of a point; an offset is in seconds, to the past."""


class ChangesWarning(UserWarning):
    """What is to be known of the rows of a change query."""


@dataclass(frozen=True)
class Points:
    """Evaluates points: `run` gives the value of an expression, `advanced` the time that the
    stream of a name stands for."""

    run: Run
    advanced: Callable[[str], Timestamp]
    now: Callable[[], Timestamp]

    def moment(self, point: TimePoint) -> Moment:
        """The moment of AT|BEFORE (kind => expression); DT-1003 where it is none."""
        if point.kind is PointKind.STREAM:
            (name,) = self.run(f"SELECT CAST(({point.value}) AS STRING)").collect()[0]
            return Moment(self.advanced(name), before=point.before)
        return evaluated(point, self.run, self.now())


def evaluated(point: TimePoint, run: Run, now: Timestamp) -> Moment:
    """The moment of a TIMESTAMP, OFFSET or VERSION; DT-1003 where it is none."""
    template = _VALUES.get(point.kind)
    if template is None:
        hint = "Use TIMESTAMP, OFFSET, VERSION or STREAM."
        raise error("DT-1005", statement=f"AT ({point.kind} => …)", hint=hint)
    try:
        value = run(f"SELECT {template.format(v=point.value)}").collect()[0][0]
    except PySparkException as e:
        problem = str(e).strip().splitlines()[0]
        raise _wrong(point, problem) from e
    if value is None:
        raise _wrong(point, "it is NULL")
    if point.kind is PointKind.VERSION:
        return Moment(version=int(value), before=point.before)
    time = Timestamp(int(value)) if point.kind is PointKind.TIMESTAMP else now.plus(-float(value))
    return Moment(time, before=point.before)


def _wrong(point: TimePoint, problem: str) -> DTError:
    hint = "Write TIMESTAMP => '2026-01-31 12:00', OFFSET => -60 or VERSION => 3."
    return error("DT-1003", option=point.kind, value=point.value, problem=problem, hint=hint)


@contextmanager
def in_place(
    statement: SparkStatement, script: str, changes: Changes, schema: str, points: Points
) -> Iterator[list[tuple[Span, str]]]:
    """The spans of a statement's timed relations, by offsets in `script`, with the names of
    temporary views that are there within the block."""
    views: list[str] = []
    replaced: list[tuple[Span, str]] = []
    if statement.timed and statement.kind is SparkKind.CREATE_VIEW:
        span = statement.timed[0].span
        hint = "A view reads its tables as they are: query the past or the changes directly."
        raise error("DT-3107", what="CHANGES, AT or BEFORE", where="in a view", hint=hint).at(
            script, span
        )
    try:
        for timed in statement.timed:
            view = f"__dt_timed_{uuid.uuid4().hex[:12]}"
            try:
                frame = rows_of(timed, script, changes, schema, points)
            except DTError as e:
                raise (e if e.span is not None else e.at(script, timed.span)) from e
            frame.createOrReplaceTempView(view)
            views.append(view)
            alias = plain(timed.parts[-1]) if timed.parts else ""
            named = "" if has_alias(script, timed.span.end) or not alias else f" AS {alias}"
            replaced.append((timed.span, f"{view}{named}"))
        yield replaced
    finally:
        for view in views:
            changes.spark.catalog.dropTempView(view)


def rows_of(
    timed: TimedRelation, script: str, changes: Changes, schema: str, points: Points
) -> DataFrame:
    """The rows of one timed relation; notes on changes are warnings."""
    at = points.moment(timed.at) if timed.at else OLDEST
    end = points.moment(timed.end) if timed.end else None
    if timed.query_span is not None:
        query, name = script[timed.query_span.start : timed.query_span.end], "the subquery"
    else:
        known = name_of(timed.parts, schema)
        query, name = f"SELECT * FROM {known.sql}", str(known)
    if timed.information is None:
        return changes.at(query, schema, name, at)
    if timed.information is Information.REDO:
        return changes.redo(name_of(timed.parts, schema), at=at, end=end).frame
    append_only = timed.information is Information.APPEND_ONLY
    found = changes.of(query, schema, name, at=at, end=end, append_only=append_only)
    warn(found.query.notes)
    return found.frame


def warn(notes: Sequence[str]) -> None:
    """Tells what is to be known of a result."""
    for note in notes:
        warnings.warn(f"{note}.", ChangesWarning, stacklevel=2)


__all__ = ["ChangesWarning", "Points", "in_place", "rows_of", "warn"]
