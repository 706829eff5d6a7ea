"""Whether a condition that asks for the time, once true of a row, stays true as time goes on."""

from __future__ import annotations

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dt_jupyter.sql.dialect import WholeSpark

_CLOCKS = (exp.CurrentTimestamp, exp.CurrentDate)
_CALLED = frozenset({"now", "curdate"})
_SHIFTED = (exp.TsOrDsAdd, exp.TimestampAdd, exp.DateAdd, exp.DateSub, exp.AddMonths, exp.Add,
            exp.Sub)  # fmt: skip
_CUT = (exp.Paren, exp.TimestampTrunc, exp.DateTrunc, exp.TsOrDsToDate, exp.LastDay)
_TIMES = (exp.DType.DATE, exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ)


def only_grows(condition: str) -> bool:
    """Whether the rows of which the condition is true can only become more as time goes on.

    True without a look at the clock, and where what is compared with the clock is on the smaller
    side: `day < current_date() - INTERVAL 30 DAYS`, also joined by AND and OR.
    """
    try:
        tree = parse_one(condition, dialect=WholeSpark)
    except SqlglotError:
        return False
    return _grows(tree)


def columns_in(condition: str) -> frozenset[str] | None:
    """The names in a condition that may be columns, in lower case, fields of them among them; None
    where it has a subquery. It can be parsed."""
    tree = parse_one(condition, dialect=WholeSpark)
    if tree.find(exp.Query) is not None:
        return None
    return frozenset(p.name.lower() for c in tree.find_all(exp.Column) for p in c.parts)


def _grows(e: exp.Expr) -> bool:
    if not _asks(e):
        return True
    match e:
        case exp.Paren() | exp.And() | exp.Or():
            return all(_grows(x) for x in e.iter_expressions())
        case exp.LT() | exp.LTE():
            return not _asks(e.this) and _rises(e.expression)
        case exp.GT() | exp.GTE():
            return _rises(e.this) and not _asks(e.expression)
        case exp.Between():
            low, high = e.args["low"], e.args["high"]
            return not _asks(e.this) and not _asks(low) and _rises(high)
    return False


def _rises(e: exp.Expr) -> bool:
    """Whether its value never falls as time goes on."""
    if not _asks(e) or _is_clock(e):
        return True
    if isinstance(e, exp.Cast):
        return e.to.this in _TIMES and _rises(e.this)
    if isinstance(e, _CUT):
        return _rises(e.this)
    return isinstance(e, _SHIFTED) and _rises(e.this) and not _asks(e.expression)


def _asks(e: exp.Expr) -> bool:
    return any(_is_clock(x) or isinstance(x, exp.Localtimestamp) for x in e.walk())


def _is_clock(e: exp.Expr) -> bool:
    return isinstance(e, _CLOCKS) or (isinstance(e, exp.Anonymous) and e.name.lower() in _CALLED)


def containing(old: str, new: str) -> str | None:
    """What is true where every row of which `old` is true has `new` true too, as an expression of
    constants; None where that cannot be told from the two texts.

    It can where the border of one comparison was moved: `day < DATE'2026-01-01'`.
    """
    if old == new:
        return "TRUE"
    try:
        one, other = (parse_one(c, dialect=WholeSpark) for c in (old, new))
    except SqlglotError:
        return None
    if type(one) is not type(other) or not isinstance(one, _BORDERS) or one.this != other.this:
        return None
    ends = [e.expression for e in (one, other)]
    if not all(map(_is_constant, ends)) or _asks(one.this):
        return None
    sign = "<=" if isinstance(one, exp.LT | exp.LTE) else ">="
    return f"({ends[0].sql(WholeSpark)}) {sign} ({ends[1].sql(WholeSpark)})"


_BORDERS = (exp.LT, exp.LTE, exp.GT, exp.GTE)


def _is_constant(e: exp.Expr) -> bool:
    """A number, a date or a time; texts are compared otherwise beside a date."""
    if isinstance(e, exp.Cast):
        return e.to.this in _TIMES and isinstance(e.this, exp.Literal)
    return isinstance(e, exp.Literal) and not e.is_string
