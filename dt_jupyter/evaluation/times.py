"""Dates and timestamps that are evaluated here; of a timestamp's day and hour only where the
session's time zone is UTC."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlglot import exp

from dt_jupyter.evaluation.expressions import ScalarRule, Scalars, Value
from dt_jupyter.evaluation.kinds import DATE, INT, VOID, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut

_DAY = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")
_OF_DAYS = {"YEAR": "year", "MONTH": "month", "DAY": "day", "QUARTER": "quarter"}
_OF_HOURS = {"HOUR": "hour", "MINUTE": "minute", "SECOND": "second"}
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


def day_of(s: Scalars, node: exp.Expr) -> Value:
    """A value as a date."""
    if isinstance(node, exp.Literal) and node.is_string and _DAY.fullmatch(node.this):
        return Value(f"DATE '{node.this}'", DATE)
    value = s(node)
    if value.kind in (DATE, VOID):
        return Value(f"CAST({value.sql} AS DATE)", DATE)
    if value.kind in (TIMESTAMP, TIMESTAMP_NTZ):
        return Value(f"CAST({_of_this_zone(s, value).sql} AS DATE)", DATE)
    raise LeftOut(f"{value.kind.name} as a date")


def _as_day(s: Scalars, node: exp.Expr) -> Value:
    return day_of(s, node.this)


def moved_date(s: Scalars, node: exp.Expr, operator: str) -> Value:
    """A date and an interval of days, months or years."""
    date, interval = s(node.this), node.expression
    count, unit = interval.this, interval.args.get("unit")
    others = [v for k, v in interval.args.items() if k not in ("this", "unit")]
    known = not any(others) and isinstance(unit, exp.Var)
    if date.kind != DATE or not known or not isinstance(count, exp.Literal):
        raise LeftOut("an interval")
    if not count.this.isdigit() or unit.name.upper() not in ("DAY", "MONTH", "YEAR"):
        raise LeftOut("an interval")
    moved = f"{date.sql} {operator} INTERVAL {int(count.this)} {unit.name.upper()}"
    return Value(f"CAST(({moved}) AS DATE)", DATE)


def _days_later(s: Scalars, node: exp.Expr) -> Value:
    """DATE_ADD and DATE_SUB."""
    days = s(node.expression)
    if node.args["unit"].name.upper() != "DAY" or days.kind.name not in (
        "tinyint",
        "smallint",
        "int",
    ):
        raise LeftOut("a date and other days")
    return Value(f"({day_of(s, node.this).sql} + {s.cast(days, INT)})", DATE)


def _days_between(s: Scalars, node: exp.Expr) -> Value:
    one, other = day_of(s, node.this), day_of(s, node.expression)
    return Value(f"CAST(({one.sql} - {other.sql}) AS INTEGER)", INT)


def _part(s: Scalars, node: exp.Expr) -> Value:
    if isinstance(node, exp.Extract):
        part, inner = node.name.upper(), node.expression
    else:
        part, inner = type(node).__name__.upper(), node.this
    if isinstance(inner, exp.TsOrDsToDate) and set(inner.args) == {"this"}:
        inner = inner.this
    value = s(inner)
    if part in _OF_DAYS and value.kind in (DATE, TIMESTAMP, TIMESTAMP_NTZ):
        sql = f"{_OF_DAYS[part]}({_of_this_zone(s, value).sql})"
    elif part in _OF_HOURS and value.kind in (TIMESTAMP, TIMESTAMP_NTZ):
        if part == "SECOND" and isinstance(node, exp.Extract):
            raise LeftOut("SECOND with its fraction")
        sql = f"{_OF_HOURS[part]}({_of_this_zone(s, value).sql})"
    else:
        raise LeftOut(f"{part} of {value.kind.name}")
    return Value(f"CAST({sql} AS INTEGER)", INT)


def _truncated(s: Scalars, node: exp.Expr) -> Value:
    value, unit = s(node.this), _TRUNCATED.get(node.args["unit"].name.upper())
    if value.kind != TIMESTAMP or unit is None:
        raise LeftOut("DATE_TRUNC of something else")
    return Value(f"date_trunc('{unit}', {_of_this_zone(s, value).sql})", TIMESTAMP)


_AT_UNIT = frozenset({"this", "expression", "unit"})
TIMES: Mapping[type[exp.Expr], ScalarRule] = {
    **dict.fromkeys(
        (exp.Year, exp.Month, exp.Day, exp.Quarter, exp.Hour, exp.Minute, exp.Second, exp.Extract),
        ScalarRule(_part),
    ),
    exp.TsOrDsToDate: ScalarRule(_as_day, frozenset({"this", "safe"})),
    exp.TsOrDsAdd: ScalarRule(_days_later, _AT_UNIT),
    exp.DateDiff: ScalarRule(_days_between),
    exp.TimestampTrunc: ScalarRule(_truncated, _AT_UNIT),
}
