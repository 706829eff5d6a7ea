"""Relations of a statement that are read at another time, put in place as temporary views."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.failures import first_line, is_syntax_error
from dt_jupyter.model import DTError, Name, ReadAt, Span, Stream, Timestamp, error, plain
from dt_jupyter.model.hidden import unique_view
from dt_jupyter.replay import (
    ArchiveIndex,
    Snapshots,
    common_moment,
    naming_archive,
    read_archive,
    table_ids,
    whole,
)
from dt_jupyter.sources import OLDEST, Moment, name_of
from dt_jupyter.sql import (
    Information,
    PointKind,
    SparkKind,
    SparkStatement,
    Statement,
    TimedRelation,
    TimePoint,
    after_sample,
    has_alias,
    relations_in,
)
from dt_jupyter.streams.change_query import NO_OFFSET, ChangeRows, Changes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_Run = Callable[[str], "DataFrame"]
Tell = Callable[[str, ChangeRows, bool], None]
"""A callback about changes: what they are called, how they are found, and whether it is REDO."""
_VALUES = {
    PointKind.TIMESTAMP: "UNIX_MICROS(CAST(({v}) AS TIMESTAMP))",
    PointKind.OFFSET: "CAST(({v}) AS DOUBLE)",
    PointKind.VERSION: "CAST(({v}) AS BIGINT)",
    PointKind.STATEMENT: "CAST(({v}) AS STRING)",
}
"""SQL for the value of a point; an offset is in seconds, and not positive."""
_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")
_TEXT = re.compile(r"\s*'(?P<text>[^'\\]*)'\s*")


class ChangesWarning(UserWarning):
    """What is to be known of the rows of a change query."""


@dataclass(frozen=True)
class Points:
    """Evaluates points: `run` gives the value of an expression, `stream` the one of a name."""

    run: _Run
    stream: Callable[[str], Stream]
    now: Callable[[], Timestamp]

    def stream_of(self, point: TimePoint) -> Stream:
        """The stream of AT|BEFORE (STREAM => name). DT-3201."""
        return self.stream(self._value(point, "CAST(({v}) AS STRING)"))

    def moment(self, point: TimePoint) -> Moment:
        """The moment of AT|BEFORE (kind => expression); DT-1003 where it is none."""
        if point.kind is PointKind.STREAM:
            stream = self.stream_of(point)
            return Moment(stream.advanced, before=point.before, frontier=stream.frontier)
        template = _VALUES.get(point.kind)
        if template is None:
            hint = "Use TIMESTAMP, OFFSET, VERSION, STATEMENT or STREAM."
            raise error("DT-1005", statement=f"AT ({point.kind} => …)", hint=hint)
        try:
            value = self._value(point, template)
        except PySparkException as e:
            problem = (
                "it is not an SQL expression" if is_syntax_error(e) else first_line(e).rstrip(".")
            )
            raise _wrong(point, problem) from e
        if value is None:
            raise _wrong(point, "it is NULL")
        if point.kind is PointKind.VERSION:
            return Moment(version=int(value), before=point.before)
        if point.kind is PointKind.STATEMENT:
            return Moment(statement=value, before=point.before)
        if point.kind is PointKind.OFFSET:
            return self._offset(point, float(value))
        return _dated(point, Timestamp(int(value)))

    def _offset(self, point: TimePoint, seconds: float) -> Moment:
        if not -math.inf < seconds <= 0:
            raise _wrong(point, NO_OFFSET)
        return _dated(point, self.now().plus(seconds), present=not seconds)

    def _value(self, point: TimePoint, template: str) -> Any:
        """A plain number or text as it is; what is computed is computed by Spark."""
        if point.kind in (PointKind.VERSION, PointKind.OFFSET) and _NUMBER.fullmatch(point.value):
            return int(point.value)
        text = _TEXT.fullmatch(point.value)
        if text and point.kind in (PointKind.STATEMENT, PointKind.STREAM):
            return text["text"]
        return self.run(f"SELECT {template.format(v=point.value)}").collect()[0][0]


def _dated(point: TimePoint, time: Timestamp, *, present: bool = False) -> Moment:
    if not time.has_date:
        raise _wrong(point, "it is beyond what has a date")
    return Moment(time, before=point.before, present=present)


def _wrong(point: TimePoint, problem: str) -> DTError:
    hint = "Write TIMESTAMP => '2026-01-31 12:00', OFFSET => -60 or VERSION => 3."
    return error("DT-1003", option=point.kind, value=point.value, problem=problem, hint=hint)


@contextmanager
def temporary_views(spark: SparkSession) -> Iterator[Callable[[DataFrame], str]]:
    """Gives names to frames, by which SQL reads them within the block."""
    views: list[str] = []

    def put(frame: DataFrame) -> str:
        views.append(unique_view("placed"))
        frame.createOrReplaceTempView(views[-1])
        return views[-1]

    try:
        yield put
    finally:
        for view in views:
            spark.catalog.dropTempView(view)


def aliased(view: str, name: str | None, script: str, span: Span) -> tuple[Span, str]:
    """The view in the place of what was called `name`, which stays its alias where it has none."""
    end = after_sample(script, span.end)
    if name is None or has_alias(script, end):
        return span, view
    return Span(span.start, end), f"{view}{script[span.end : end]} AS {plain(name)}"


@contextmanager
def in_place(
    statement: SparkStatement,
    script: str,
    past: PastReaders,
    schema: str,
    points: Points,
    tell: Tell = lambda *told: None,
) -> Iterator[list[tuple[Span, str]]]:
    """The spans of a statement's timed relations, by offsets in `script`, with the names of
    temporary views that are there within the block; `tell` is called for the changes among them."""
    if statement.timed and statement.kind is SparkKind.CREATE_VIEW:
        span = statement.timed[0].span
        hint = "A view reads the current rows: query past rows or changes directly."
        raise error("DT-3107", what="CHANGES, AT or BEFORE", where="in a view", hint=hint).at(
            script, span
        )
    with temporary_views(past.changes.spark) as put:
        replaced = []
        common = _common(statement.timed, script, past, schema)
        for timed in statement.timed:
            try:
                view = put(_rows_of(timed, script, past, schema, points, tell, common))
            except DTError as e:
                raise (e if e.span is not None else e.at(script, timed.span)) from e
            name = timed.parts[-1] if timed.parts else None
            replaced.append(aliased(view, name, script, timed.span))
        yield replaced


@dataclass(frozen=True)
class PastReaders:
    """What reads snapshots and changes; `reads` are the tables of the snapshots that were."""

    changes: Changes
    snapshots: Snapshots
    reads: list[ReadAt] = field(default_factory=list)


def _common(
    relations: Sequence[TimedRelation], script: str, past: PastReaders, schema: str
) -> Moment | None:
    """The one moment of all AT (COMMON) of a statement; None where there is none."""
    asked = [t for t in relations if _is_common(t)]
    if not asked:
        return None
    queries = [_query_of(t, script, schema)[0] for t in asked]
    return common_moment(past.snapshots, queries, schema)


def all_common(
    statement: Statement, stream: Callable[[Name], Stream | None], schema: str
) -> Statement:
    """A statement of Spark's with all that it reads AT (COMMON), but streams and what is timed
    already."""
    if not isinstance(statement, SparkStatement):
        return statement
    common = TimePoint(PointKind.COMMON, "")
    added = []
    for parts, found in relations_in(statement.text):
        if stream(name_of(parts, schema)) is None:
            span = Span(statement.offset + found.start, statement.offset + found.end)
            added.append(TimedRelation(parts, None, common, None, span, span))
    return replace(statement, timed=(*statement.timed, *added))


def _is_common(timed: TimedRelation) -> bool:
    return timed.at is not None and timed.at.kind is PointKind.COMMON


def _query_of(timed: TimedRelation, script: str, schema: str) -> tuple[str, str]:
    """The query of a timed relation, and what it is called."""
    if timed.query_span is not None:
        return script[timed.query_span.start : timed.query_span.end], "the subquery"
    known = name_of(timed.parts, schema)
    return whole(known), str(known)


def _rows_of(
    timed: TimedRelation,
    script: str,
    past: PastReaders,
    schema: str,
    points: Points,
    tell: Tell,
    common: Moment | None = None,
) -> DataFrame:
    """The rows of one timed relation; notes on changes are warnings."""
    changes = past.changes
    query, name = _query_of(timed, script, schema)
    if common is not None and _is_common(timed):
        at = common
    else:
        at = points.moment(timed.at) if timed.at else OLDEST
    end = points.moment(timed.end) if timed.end else None
    if timed.information is None:
        known = name_of(timed.parts, schema) if timed.query_span is None else None
        if timed.at is not None and timed.at.archive:
            return _archived(past.snapshots, known, name, at)
        with naming_archive(past.snapshots, known, at):
            snapshot = past.snapshots.of(query, schema, name, at)
        past.reads.extend(snapshot.reads)
        return past.snapshots.frame(snapshot)
    if timed.information is Information.REDO:
        redo = changes.redo(name_of(timed.parts, schema), at=at, end=end)
        tell(f"changes of {name}", redo, True)
        return redo.frame
    append_only = timed.information is Information.APPEND_ONLY
    found = changes.of(query, schema, name, at=at, end=end, append_only=append_only)
    tell(f"changes of {name}", found, False)
    warn(found.query.notes)
    return found.frame


def _archived(snapshots: Snapshots, known: Name | None, name: str, at: Moment) -> DataFrame:
    """The rows of the archive that has a point, also of a table that is not there any more."""
    if known is None:
        hint = "Write AT (…, ARCHIVE => TRUE) after the names in it."
        raise error("DT-4112", name=name, point=at, hint=hint)
    index = ArchiveIndex(snapshots.sources.layout)
    found = index.require(known, table_ids(snapshots, known), at)
    return read_archive(snapshots.spark, found)


def warn(notes: Sequence[str]) -> None:
    """Shows what is to be known about a result."""
    for note in notes:
        warnings.warn(f"{note}.", ChangesWarning, stacklevel=2)
