"""Conditions of a query answered by Arrow, where it answers as Spark does: for local rows that a
condition leaves out, Spark need not be asked.

A condition outside this module is not known, and leaves nothing out. Comparisons are of a column
(or a part of a text) with a literal or a column of the same kind: whole numbers, decimals, dates,
plain strings.
"""

from __future__ import annotations

import datetime
from calendar import monthrange
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import reduce
from typing import TYPE_CHECKING, Any

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dt_jupyter.caches import text_cache
from dt_jupyter.ivm import Expr
from dt_jupyter.model import is_bigint, quote
from dt_jupyter.sql import WholeSpark, has_other_precedence

if TYPE_CHECKING:
    import pyarrow as pa

_COMPARES: Mapping[type[exp.Expr], str] = {
    exp.EQ: "equal",
    exp.NEQ: "not_equal",
    exp.LT: "less",
    exp.LTE: "less_equal",
    exp.GT: "greater",
    exp.GTE: "greater_equal",
}
_VALUES = (exp.Column, exp.Substring)


class _Unknown(Exception):
    """Arrow is not asked this."""


def sieved(rows: pa.Table, names: Mapping[str, str], condition: Expr) -> pa.Table:
    """The rows without those for which the condition is surely not true. `names` are the columns
    of `rows` (of the types above) by their ids in the condition."""
    import pyarrow.compute as pc

    if not condition.columns or not condition.columns <= names.keys():
        return rows
    text = condition.sql(quote)
    tree = None if "\\" in text else _parsed(text)
    if tree is None:
        return rows
    try:
        kept = _Answer(rows, names).truth(tree)
    except _Unknown:
        return rows
    return rows.filter(pc.fill_null(kept, False))


def filtered(rows: pa.Table, names: Mapping[str, str], condition: Expr) -> pa.Table | None:
    """The rows for which the condition is true; None where Arrow is not asked all of it. `names`
    as for `sieved`."""
    import pyarrow.compute as pc

    text = condition.sql(quote)
    tree = None if "\\" in text or not condition.columns <= names.keys() else _parsed(text)
    if tree is None:
        return None
    try:
        return rows.filter(pc.fill_null(_Answer(rows, names, whole=True).truth(tree), False))
    except _Unknown:
        return None


@text_cache("conditions", 150)
def _parsed(text: str) -> exp.Expr | None:
    try:
        tree = parse_one(text, dialect=WholeSpark)
    except SqlglotError:
        return None
    return None if has_other_precedence(tree) else tree


def _chain(node: exp.And | exp.Or) -> list[exp.Expr]:
    """The members of a chain of one connector, in order; it may be a thousand levels deep."""
    found: list[exp.Expr] = []
    left: exp.Expr = node
    while type(left) is type(node):
        found.append(left.expression)
        left = left.this
    return [left, *reversed(found)]


class _Answer:
    """Truth values, NULL among them, of conditions over the rows of a table; those of a `whole`
    condition, or of what Arrow is asked of it."""

    def __init__(self, rows: pa.Table, names: Mapping[str, str], *, whole: bool = False) -> None:
        self._rows, self._names, self._whole = rows, names, whole

    def truth(self, node: exp.Expr) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        if node.args.get("symmetric"):
            raise _Unknown
        found = self._positive(node)
        return pc.invert(found) if node.args.get("negate") else found

    def _positive(self, node: exp.Expr) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        match node:
            case exp.Paren():
                return self.truth(node.this)
            case exp.Not():
                return pc.invert(self.truth(node.this))
            case exp.And():
                return self._both(node)
            case exp.Or():
                return reduce(pc.or_kleene, map(self.truth, _chain(node)))
            case exp.In() if node.expressions and not node.args.get("query"):
                found = [self._compared("equal", node.this, e) for e in node.expressions]
                return _any(found)
            case exp.Between():
                low = self._compared("greater_equal", node.this, node.args["low"])
                high = self._compared("less_equal", node.this, node.args["high"])
                return pc.and_kleene(low, high)
            case exp.Is() if isinstance(node.expression, exp.Null):
                return pc.is_null(self._column(node.this))
            case exp.Like():
                return self._like(node)
        compare = _COMPARES.get(type(node))
        if compare is None:
            raise _Unknown
        return self._compared(compare, node.this, node.expression)

    def _both(self, node: exp.And) -> pa.ChunkedArray:
        """What is not known leaves nothing out, if it stands beside what is: not under a NOT."""
        import pyarrow.compute as pc

        parts = []
        for member in _chain(node):
            try:
                parts.append(self.truth(member))
            except _Unknown:
                if self._whole or node.find_ancestor(exp.Not):
                    raise
        if not parts:
            raise _Unknown
        return reduce(pc.and_kleene, parts)

    def _compared(self, compare: str, left: exp.Expr, right: exp.Expr) -> pa.ChunkedArray:
        import pyarrow.compute as pc

        if not isinstance(left, _VALUES):
            turned = {
                "less": "greater",
                "less_equal": "greater_equal",
                "greater": "less",
                "greater_equal": "less_equal",
            }
            if not isinstance(right, _VALUES):
                raise _Unknown
            return self._compared(turned.get(compare, compare), right, left)
        column = self._column(left)
        if isinstance(right, _VALUES):
            other = self._column(right)
            if other.type != column.type:
                raise _Unknown
            return pc.call_function(compare, [column, other])
        return pc.call_function(compare, [column, _scalar(_constant(right), column.type)])

    def _column(self, node: exp.Expr) -> pa.ChunkedArray:
        if isinstance(node, exp.Substring):
            return self._part(node)
        if not isinstance(node, exp.Column) or node.table or node.name not in self._names:
            raise _Unknown
        return self._rows[self._names[node.name]]

    def _part(self, node: exp.Substring) -> pa.ChunkedArray:
        """So many characters from a place that is counted from the left."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column = self._column(node.this)
        if not pa.types.is_string(column.type) or node.args.get("length") is None:
            raise _Unknown
        start, length = (_numeric(node.args[name]) for name in ("start", "length"))
        if start < 1 or length < 0 or {start % 1, length % 1} != {0}:
            raise _Unknown
        first = int(start) - 1
        return pc.utf8_slice_codeunits(column, first, first + int(length))

    def _like(self, node: exp.Like) -> pa.ChunkedArray:
        """Patterns with `%` at the ends alone."""
        import pyarrow as pa
        import pyarrow.compute as pc

        column, pattern = self._column(node.this), node.expression
        if not (isinstance(pattern, exp.Literal) and pattern.is_string):
            raise _Unknown
        text = str(pattern.this)
        inner = text.strip("%")
        if not inner or {"%", "_"} & set(inner) or not pa.types.is_string(column.type):
            raise _Unknown
        match (text.startswith("%"), text.endswith("%")):
            case (True, True):
                return pc.match_substring(column, inner)
            case (True, False):
                return pc.ends_with(column, inner)
            case (False, True):
                return pc.starts_with(column, inner)
        return pc.equal(column, inner)


def _any(found: list[pa.ChunkedArray]) -> pa.ChunkedArray:
    import pyarrow.compute as pc

    result = found[0]
    for one in found[1:]:
        result = pc.or_kleene(result, one)
    return result


def _scalar(value: Any, type_: pa.DataType) -> pa.Scalar:
    """A literal to compare a column of the type with; unknown where Spark would cast either."""
    import pyarrow as pa

    is_number = isinstance(value, int | Decimal)
    if pa.types.is_integer(type_) and is_number and value == int(value) and is_bigint(value):
        return pa.scalar(int(value), pa.int64())
    if pa.types.is_decimal(type_) and is_number:
        number = Decimal(value)
        exact = number.quantize(Decimal(1).scaleb(-type_.scale))
        if exact == number and len(exact.as_tuple().digits) <= type_.precision:
            return pa.scalar(exact, type_)
    if pa.types.is_string(type_) and isinstance(value, str):
        return pa.scalar(value)
    if pa.types.is_date(type_) and isinstance(value, datetime.date):
        return pa.scalar(value, type_)
    raise _Unknown


def _constant(node: exp.Expr) -> str | Decimal | datetime.date:
    """The value of literals, and of sums of them: whole numbers and decimals, strings, dates."""
    match node:
        case exp.Paren():
            return _constant(node.this)
        case exp.Literal():
            return str(node.this) if node.is_string else _number(str(node.this))
        case exp.Neg():
            return -_numeric(node.this)
        case exp.Cast() if node.to.is_type("date"):
            return _date(_constant(node.this))
        case exp.Add():
            return _sum(node, 1)
        case exp.Sub():
            return _sum(node, -1)
    raise _Unknown


def _number(text: str) -> Decimal:
    """A number without an exponent, which would make it a double."""
    if not text.replace(".", "", 1).isdecimal():
        raise _Unknown
    return Decimal(text)


def _numeric(node: exp.Expr) -> Decimal:
    value = _constant(node)
    if not isinstance(value, Decimal):
        raise _Unknown
    return value


def _date(text: Any) -> datetime.date:
    try:
        return datetime.date.fromisoformat(text)
    except (TypeError, ValueError):
        raise _Unknown from None


def _sum(node: exp.Binary, sign: int) -> Decimal | datetime.date:
    if not isinstance(node.expression, exp.Interval):
        return _numeric(node.this) + sign * _numeric(node.expression)
    day, count = _constant(node.this), str(_constant(node.expression.this))
    unit = str(node.expression.args.get("unit") or "").upper()
    if not isinstance(day, datetime.date) or not count.isdecimal():
        raise _Unknown
    step = _STEPS.get(unit)
    if step is None:
        raise _Unknown
    try:
        return step(day, sign * int(count))
    except (OverflowError, ValueError):
        raise _Unknown from None


def _months(day: datetime.date, count: int) -> datetime.date:
    """So many months later, on the month's last day where it has no such day."""
    year, month = divmod(day.year * 12 + day.month - 1 + count, 12)
    return datetime.date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


_STEPS: Mapping[str, Callable[[datetime.date, int], datetime.date]] = {
    "DAY": lambda day, n: day + datetime.timedelta(days=n),
    "MONTH": _months,
    "YEAR": lambda day, n: _months(day, 12 * n),
}
