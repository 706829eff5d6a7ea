"""Dates and timestamps that are evaluated here; of a timestamp's day and hour only where the
session's time zone is UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping

from dt_jupyter.evaluation.expressions import CallRule, Scalars, Value
from dt_jupyter.evaluation.kinds import DATE, INT, VOID, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.literals import constant_string, literal_day
from dt_jupyter.ivm import Call, Expr, Infix, Literal

_INTERVAL = re.compile(r"INTERVAL '(\d+)' (DAY|MONTH|YEAR)")
_OF_DAYS = frozenset({"year", "month", "day", "quarter"})
_OF_HOURS = frozenset({"hour", "minute", "second"})
_PARTS = {**{part: part for part in (*_OF_DAYS - {"day"}, *_OF_HOURS)}, "dayofmonth": "day"}
"""By Spark's names of functions."""
_TRUNCATED = {
    "YEAR": "year", "YYYY": "year", "YY": "year", "QUARTER": "quarter", "MONTH": "month",
    "MON": "month", "MM": "month", "WEEK": "week", "DAY": "day", "DD": "day", "HOUR": "hour",
    "MINUTE": "minute", "SECOND": "second",
}  # fmt: skip
TIMESTAMP, TIMESTAMP_NTZ = ValueKind("timestamp"), ValueKind("timestamp_ntz")


def _of_this_zone(s: Scalars, value: Value) -> Value:
    """A timestamp whose parts are told by DuckDB as Spark tells them."""
    if value.kind == TIMESTAMP and not s.is_utc:
        raise LeftOut("local time in another zone than UTC")
    return value


def day_of(s: Scalars, node: Expr) -> Value:
    """A value as a date."""
    if (text := constant_string(node)) is not None:
        return literal_day(text)
    value = s(node)
    if value.kind in (DATE, VOID):
        return Value(f"CAST({value.sql} AS DATE)", DATE)
    if value.kind in (TIMESTAMP, TIMESTAMP_NTZ):
        return Value(f"CAST({_of_this_zone(s, value).sql} AS DATE)", DATE)
    raise LeftOut(f"{value.kind.name} as a date")


def _as_day(s: Scalars, call: Call) -> Value:
    return day_of(s, call.args[0])


def _as_moment(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if value.kind not in (TIMESTAMP, VOID):
        raise LeftOut(f"a cast of {value.kind.name} to timestamp")
    return Value(f"CAST({value.sql} AS {TIMESTAMP.sql})", TIMESTAMP)


def is_interval(node: Expr) -> bool:
    return isinstance(node, Literal) and node.text.startswith("INTERVAL ")


def moved_date(s: Scalars, node: Infix) -> Value:
    """A date and an interval of days, months or years."""
    date = s(node.left)
    assert isinstance(node.right, Literal)
    interval = _INTERVAL.fullmatch(node.right.text)
    if date.kind != DATE or interval is None:
        raise LeftOut("an interval")
    moved = f"{date.sql} {node.op} INTERVAL {int(interval[1])} {interval[2]}"
    return Value(f"CAST(({moved}) AS DATE)", DATE)


def _days_later(s: Scalars, call: Call) -> Value:
    """DATE_ADD and DATE_SUB."""
    date, days = day_of(s, call.args[0]), s(call.args[1])
    if days.kind.name not in ("tinyint", "smallint", "int"):
        raise LeftOut("a date and other days")
    sign = "-" if call.function == "date_sub" else "+"
    return Value(f"({date.sql} {sign} {s.cast(days, INT)})", DATE)


def _days_between(s: Scalars, call: Call) -> Value:
    one, other = (day_of(s, a) for a in call.args)
    return Value(f"CAST(({one.sql} - {other.sql}) AS INTEGER)", INT)


def _part(s: Scalars, call: Call) -> Value:
    return _part_of(s, _PARTS[call.function], call.args[0])


def _named_part(s: Scalars, call: Call) -> Value:
    """EXTRACT, which Spark calls so too."""
    part = (constant_string(call.args[0]) or "").lower()
    if part == "second":
        raise LeftOut("SECOND with its fraction")
    if part not in _OF_DAYS | _OF_HOURS:
        raise LeftOut("a part of another name")
    return _part_of(s, part, call.args[1])


def _part_of(s: Scalars, part: str, node: Expr) -> Value:
    value = s(node)
    is_known = value.kind in (TIMESTAMP, TIMESTAMP_NTZ) or (value.kind == DATE and part in _OF_DAYS)
    if not is_known:
        raise LeftOut(f"{part.upper()} of {value.kind.name}")
    return Value(f"CAST({part}({_of_this_zone(s, value).sql}) AS INTEGER)", INT)


def _truncated(s: Scalars, call: Call) -> Value:
    unit, value = _TRUNCATED.get((constant_string(call.args[0]) or "").upper()), s(call.args[1])
    if value.kind != TIMESTAMP or unit is None:
        raise LeftOut("DATE_TRUNC of something else")
    return Value(f"date_trunc('{unit}', {_of_this_zone(s, value).sql})", TIMESTAMP)


TIMES: Mapping[str, CallRule] = {
    **dict.fromkeys(_PARTS, CallRule(_part)),
    "date_part": CallRule(_named_part, 2, 2),
    "to_date": CallRule(_as_day),
    "to_timestamp": CallRule(_as_moment),
    **dict.fromkeys(("dateadd", "date_sub"), CallRule(_days_later, 2, 2)),
    "datediff": CallRule(_days_between, 2, 2),
    "date_trunc": CallRule(_truncated, 2, 2),
}
