"""Conditions of a query answered by Arrow, where it answers as Spark does: for local rows that a
condition leaves out, Spark need not be asked.

A condition outside this module is not known, and leaves nothing out. Comparisons are of a column
(or a part of a text) with a literal or a column of the same kind: whole numbers, decimals, dates,
plain strings.
"""

from __future__ import annotations

import datetime
import re
from calendar import monthrange
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from functools import reduce
from typing import TYPE_CHECKING

from dt_jupyter.ivm import (
    Between,
    Bracketed,
    Call,
    Cast,
    Column,
    Expr,
    Infix,
    InList,
    Literal,
    Postfix,
    Prefix,
    without_brackets,
)
from dt_jupyter.model import is_bigint
from dt_jupyter.sql import unquote

if TYPE_CHECKING:
    import pyarrow as pa

_COMPARES = {
    "=": "equal",
    "<>": "not_equal",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
}
_TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_NUMBER = re.compile(r"(-?(?:\d+(?:\.\d*)?|\.\d+))(?:[LSY]|BD)?")
_DATE = re.compile(r"DATE\s*'(.*)'")
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_INTERVAL = re.compile(r"INTERVAL '(-?\d+)' (DAY|MONTH|YEAR)")
_BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_EXACT = Context(prec=80)
_MOST_DIGITS = 28
"""Of decimals whose sum has all its digits, whatever types they have."""
_Constant = str | Decimal | datetime.date


class _Unknown(Exception):
    """Arrow is not asked this."""


def sieved(rows: pa.Table, names: Mapping[str, str], condition: Expr) -> pa.Table:
    """The rows without those for which the condition is surely not true. `names` are the columns
    of `rows` (of the types above) by their ids in the condition."""
    found = _answer(rows, names, condition) if condition.columns else None
    return rows if found is None else _passing(rows, found)


def filtered(rows: pa.Table, names: Mapping[str, str], condition: Expr) -> pa.Table | None:
    """The rows for which the condition is true; None where Arrow is not asked all of it. `names`
    as for `sieved`."""
    found = _answer(rows, names, condition)
    return None if found is None or not found.exact else _passing(rows, found)


@dataclass(frozen=True)
class _Truth:
    """Truth values, NULL among them, of a condition over the rows of a table; unless they are
    `exact`, they are true where the condition is, and may be true elsewhere."""

    values: pa.ChunkedArray
    exact: bool = True


def _passing(rows: pa.Table, found: _Truth) -> pa.Table:
    import pyarrow.compute as pc

    return rows.filter(pc.fill_null(found.values, False))


def _answer(rows: pa.Table, names: Mapping[str, str], condition: Expr) -> _Truth | None:
    """None where nothing of the condition is known."""
    comparison = _Comparison(rows, names)
    found: dict[int, _Truth | None] = {}
    for node in reversed(list(_connected(condition))):
        match node:
            case Bracketed(inner):
                found[id(node)] = found[id(inner)]
            case Prefix("NOT", inner):
                found[id(node)] = _negated(found[id(inner)])
            case Infix(left, "AND" | "OR" as op, right):
                found[id(node)] = _joined(op, [found[id(left)], found[id(right)]])
            case _:
                found[id(node)] = comparison.truth(node)
    return found[id(condition)]


def _connected(condition: Expr) -> Iterator[Expr]:
    """The condition and the conditions in it, each before its parts."""
    waiting = [condition]
    while waiting:
        node = waiting.pop()
        yield node
        match node:
            case Bracketed() | Prefix("NOT") | Infix(op="AND" | "OR"):
                waiting += node.children


def _negated(found: _Truth | None) -> _Truth | None:
    import pyarrow.compute as pc

    return None if found is None or not found.exact else _Truth(pc.invert(found.values))


def _joined(op: str, sides: Sequence[_Truth | None]) -> _Truth | None:
    """What is not known leaves nothing out of the other conditions."""
    import pyarrow.compute as pc

    known = [s for s in sides if s is not None]
    whole = len(known) == len(sides)
    if not known or (op == "OR" and not whole):
        return None
    join = pc.or_kleene if op == "OR" else pc.and_kleene
    return _Truth(reduce(join, (s.values for s in known)), whole and all(s.exact for s in known))


@dataclass(frozen=True)
class _Comparison:
    """Answers single comparisons over the rows of a table."""

    rows: pa.Table
    names: Mapping[str, str]

    def truth(self, node: Expr) -> _Truth | None:
        try:
            return _Truth(self._values(node))
        except _Unknown:
            return None

    def _values(self, node: Expr) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        match node:
            case Infix(left, op, right) if op in _COMPARES:
                return self._compared(left, op, right)
            case Infix(value, "LIKE", pattern):
                return self._like(value, pattern)
            case InList(value, options):
                return reduce(pc.or_kleene, (self._compared(value, "=", o) for o in options))
            case Between(value, low, high):
                above, below = self._compared(value, ">=", low), self._compared(value, "<=", high)
                return pc.and_kleene(above, below)
            case Postfix(value, "IS NULL"):
                return pc.is_null(self._column(value))
            case Postfix(value, "IS NOT NULL"):
                return pc.is_valid(self._column(value))
        raise _Unknown

    def _compared(self, left: Expr, op: str, right: Expr) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        if not _is_value(left):
            left, op, right = right, _TURNED.get(op, op), left
        column, compare = self._column(left), _COMPARES[op]
        if not _is_value(right):
            return pc.call_function(compare, [column, _scalar(_constant(right), column.type)])
        other = self._column(right)
        if other.type != column.type:
            raise _Unknown
        return pc.call_function(compare, [column, other])

    def _column(self, e: Expr) -> pa.ChunkedArray:
        match without_brackets(e):
            case Column(column) if column in self.names:
                return self.rows[self.names[column]]
            case Call("substring" | "substr", (text, start, length)):
                return self._part(text, _whole(start), _whole(length))
        raise _Unknown

    def _part(self, text: Expr, start: int, length: int) -> pa.ChunkedArray:
        """That number of characters from a place that is counted from the left."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(text)
        if not pa.types.is_string(column.type) or start < 1 or length < 0:
            raise _Unknown
        return pc.utf8_slice_codeunits(column, start - 1, start - 1 + length)

    def _like(self, value: Expr, pattern: Expr) -> pa.ChunkedArray:
        """Patterns with `%` at the ends alone."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column, text = self._column(value), _constant(pattern)
        if not isinstance(text, str) or not pa.types.is_string(column.type):
            raise _Unknown
        inner = text.strip("%")
        if not inner or {"%", "_", "\\"} & set(inner):
            raise _Unknown
        match (text.startswith("%"), text.endswith("%")):
            case (True, True):
                return pc.match_substring(column, inner)
            case (True, False):
                return pc.ends_with(column, inner)
            case (False, True):
                return pc.starts_with(column, inner)
        return pc.equal(column, inner)


def _is_value(e: Expr) -> bool:
    return isinstance(without_brackets(e), Column | Call)


def _scalar(value: _Constant, type_: pa.DataType) -> pa.Scalar:
    """A literal to compare a column of the type with; unknown where Spark would cast either."""
    import pyarrow as pa

    if isinstance(value, Decimal) and pa.types.is_integer(type_):
        if value == int(value) and is_bigint(value):
            return pa.scalar(int(value), pa.int64())
    elif isinstance(value, Decimal) and pa.types.is_decimal(type_):
        exact = value.quantize(Decimal(1).scaleb(-type_.scale), context=_EXACT)
        if exact == value and len(exact.as_tuple().digits) <= type_.precision:
            return pa.scalar(exact, type_)
    elif isinstance(value, str) and pa.types.is_string(type_):
        return pa.scalar(value)
    elif isinstance(value, datetime.date) and pa.types.is_date(type_):
        return pa.scalar(value, type_)
    raise _Unknown


# -- constants -------------------------------------------------------------------------------------


def _constant(e: Expr) -> _Constant:
    """The value of literals, and of sums of them: whole numbers and decimals, strings, dates."""
    match without_brackets(e):
        case Literal(text):
            return _literal(text)
        case Prefix("-", inner) as node:
            return _fitting(node, -_number(inner))
        case Cast(Literal(text), "DATE", "CAST") if text.startswith("'"):
            return _day(unquote(text))
        case Infix(left, "+" | "-" as sign, right) as node:
            return _sum(node, left, -1 if sign == "-" else 1, right)
    raise _Unknown


def _literal(text: str) -> _Constant:
    """A number without an exponent, which would make it a double; a string; a date."""
    if text.startswith("'"):
        return unquote(text)
    if found := _DATE.fullmatch(text):
        return _day(found[1])
    if found := _NUMBER.fullmatch(text):
        return Decimal(found[1])
    raise _Unknown


def _number(e: Expr) -> Decimal:
    value = _constant(e)
    if not isinstance(value, Decimal) or len(value.as_tuple().digits) > _MOST_DIGITS:
        raise _Unknown
    return value


def _whole(e: Expr) -> int:
    value = _number(e)
    if value != int(value):
        raise _Unknown
    return int(value)


def _fitting(e: Expr, value: Decimal) -> Decimal:
    """What Spark computes, unless it is too large for the type."""
    bits = _BITS.get(e.facts.type if e.facts else "int")
    if bits is not None and not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
        raise _Unknown
    return value


def _day(text: str) -> datetime.date:
    if not _DAY.fullmatch(text):
        raise _Unknown
    try:
        return datetime.date.fromisoformat(text)
    except ValueError:
        raise _Unknown from None


def _sum(e: Expr, left: Expr, sign: int, right: Expr) -> _Constant:
    step = without_brackets(right)
    found = _INTERVAL.fullmatch(step.text) if isinstance(step, Literal) else None
    if found is None:
        return _fitting(e, _EXACT.add(_number(left), sign * _number(right)))
    day = _constant(left)
    if not isinstance(day, datetime.date):
        raise _Unknown
    try:
        return _STEPS[found[2]](day, sign * int(found[1]))
    except (OverflowError, ValueError):
        raise _Unknown from None


def _months(day: datetime.date, count: int) -> datetime.date:
    """`count` months later, on the month's last day where it has no such day."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    return datetime.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


_STEPS: Mapping[str, Callable[[datetime.date, int], datetime.date]] = {
    "DAY": lambda day, n: day + datetime.timedelta(days=n),
    "MONTH": _months,
    "YEAR": lambda day, n: _months(day, 12 * n),
}
