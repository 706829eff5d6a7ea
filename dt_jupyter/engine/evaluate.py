"""Texts run by Spark with their parameters, and points in time as moments."""

from __future__ import annotations

import reprlib
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from dt_jupyter.engine.rights.spark_rights import PlacedByEngine
from dt_jupyter.model import DTError, Name, Stream, Timestamp, error, parse_time, zone_of
from dt_jupyter.spark import Args, bind_parameters, binding, is_connect, values_in
from dt_jupyter.sql import TimePoint, find_current_role, find_last_query_id, literal, replace_spans
from dt_jupyter.streams import Points, moment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context
    from dt_jupyter.sources import Moment

Point = datetime | str | int | timedelta | Timestamp
"""A time (or "now"), a version, or a distance from now."""
_NO_ARGS: Mapping[str, Any] = {}
_QUERY = PlacedByEngine(reads_only=True)


def run_spark(
    context: Context, text: str, args: Args = _NO_ARGS, placed: PlacedByEngine = _QUERY
) -> DataFrame:
    """Spark's result of a text with its parameters, and LAST_QUERY_ID() and CURRENT_ROLE() in it as
    their values. DT-52xx for what the session's role may not do; `placed` is what the engine put
    into the text."""
    last = context.state.last_query_id
    known = literal(last) if last else "CAST(NULL AS STRING)"
    role = [(span, literal(context.state.role)) for span in find_current_role(text)]
    text = replace_spans(text, [*role, *((span, known) for span in find_last_query_id(text))])
    if context.access.guarded:
        return context.spark_rights.run(bind_parameters(text, args), placed)
    if is_connect(context.spark):  # a server drops them with `binding` too
        return context.spark.sql(bind_parameters(text, args))
    bound = values_in(text, args)
    with binding(context.spark, bound):
        return context.spark.sql(text, args=bound or None)


def points(context: Context, args: Args = _NO_ARGS) -> Points:
    """What evaluates AT, BEFORE and END; their expressions may have parameters."""
    return Points(
        lambda text: run_spark(context, text, args),
        lambda stream: _stream(context, context.name(stream)),
        context.clock.now,
    )


def _stream(context: Context, name: Name) -> Stream:
    context.access.require_stream(name)
    return context.catalog.stream(name)


def moment_of(context: Context, point: Point | TimePoint) -> Moment:
    """The moment of a point as Python has it, or as SQL writes it; DT-1003 where it is none."""
    if isinstance(point, TimePoint):
        return points(context).moment(point)
    return moment(point, lambda value: timestamp_of(context, value), context.clock.now())


def timestamp_of(context: Context, value: datetime | str | Timestamp) -> Timestamp:
    """A time as given, or "now"; a naive one is in the session's zone. DT-1003 for a text that
    is not a time."""
    if isinstance(value, Timestamp):
        return value
    if value == "now":
        return context.clock.now()
    found = _parsed(value) if isinstance(value, str) else value
    if found.tzinfo is None:
        zone = str(context.spark.conf.get("spark.sql.session.timeZone"))
        found = found.replace(tzinfo=zone_of(zone))
    time = Timestamp.of(found)
    if not time.has_date:
        raise _no_time(value)
    return time


def _parsed(text: str) -> datetime:
    try:
        return parse_time(text)
    except ValueError:
        raise _no_time(text) from None


def _no_time(value: datetime | str) -> DTError:
    hint = "Give '2026-01-31T12:00' or 'now'."
    shown = reprlib.repr(value) if isinstance(value, str) else value
    return error(
        "DT-1003", option="time", value=shown, problem="it is not a point in time", hint=hint
    )
