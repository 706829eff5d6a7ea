"""Whether a condition that asks for the time, once true of a row, stays true over time."""

from __future__ import annotations

from dt_jupyter.ivm.expr import (
    Between,
    Bracketed,
    Call,
    Cast,
    Expr,
    Infix,
    Literal,
    Postfix,
    Prefix,
    walk_expression,
    without_brackets,
)

_RISING = frozenset({"current_timestamp", "current_date", "now"})
_CLOCKS = _RISING | {"localtimestamp", "current_time"}
_STEADY = {
    "date_add": 0, "date_sub": 0, "add_months": 0, "timestampadd": 2, "date_trunc": 1, "trunc": 0,
    "last_day": 0,
}  # fmt: skip
"""Calls whose value never falls as the argument of this place rises, the others being constants of
the row."""
_TIMES = ("date", "timestamp")
_BELOW, _ABOVE = ("<", "<="), (">", ">=")


def find_shrinking(condition: Expr) -> Expr | None:
    """The part of a condition by which it may cease to be true of a row over time; None where
    rows only come to it. The condition is as Spark reads it, with the casts that Spark adds.

    They do where the clock is not read, and where what is compared with the clock is on the
    smaller side: `day < current_date() - INTERVAL 30 DAYS`, also joined by AND and OR.
    """
    waiting = [condition]
    while waiting:
        part = waiting.pop()
        match part:
            case Bracketed() | Infix(op="AND" | "OR"):
                waiting += part.children[::-1]
            case _ if not _grows(part):
                return part
    return None


def _grows(e: Expr) -> bool:
    if not _asks(e):
        return True
    match e:
        case Infix(left, "<" | "<=", right):
            return not _asks(left) and _rises(right)
        case Infix(left, ">" | ">=", right):
            return _rises(left) and not _asks(right)
        case Between(value, low, high):
            return not _asks(value) and not _asks(low) and _rises(high)
    return False


def _rises(e: Expr) -> bool:
    """Whether its value never falls over time."""
    if not _asks(e):
        return True
    match e:
        case Bracketed(inner):
            return _rises(inner)
        case Cast(value, kind):
            return _is_order_kept(value, kind.lower()) and _rises(value)
        case Infix(left, "+" | "-", right):
            return _rises(left) and not _asks(right)
        case Call(args=()):
            return e.function in _RISING
        case Call(args=(only,)) if e.function == "to_date":
            return _rises(only)
        case Call(args=args) if (place := _STEADY.get(e.function)) is not None:
            others = (a for i, a in enumerate(args) if i != place)
            return _rises(args[place]) and not any(map(_asks, others))
    return False


def _is_order_kept(value: Expr, kind: str) -> bool:
    """Whether later times are later ones of this type: those of a timestamp without a zone are not
    where an hour comes again."""
    is_day = value.facts is not None and value.facts.type == "date"
    return kind in _TIMES or (kind == "timestamp_ntz" and is_day)


def _asks(e: Expr) -> bool:
    return any(isinstance(n, Call) and n.function in _CLOCKS for n in walk_expression(e))


def containing(old: Expr, new: Expr) -> str | None:
    """What is true where each row that `old` is true of has `new` true too, as an expression of
    constants; None where that cannot be seen. Both are as Spark reads them.

    It can where the border of one comparison was moved: `day < DATE'2026-01-01'`.
    """
    one, other = map(without_brackets, (old, new))
    if _is_same(one, other):
        return "TRUE"
    match one, other:
        case Infix(value, op, before), Infix(again, op_after, after):
            sides = _is_same(value, again) and not _asks(value) and value.deterministic
            if op == op_after and op in (*_BELOW, *_ABOVE) and sides:
                constant = _is_constant(before) and _is_constant(after)
                sign = "<=" if op in _BELOW else ">="
                ends = (f"({e.sql(str)})" for e in (before, after))
                return f" {sign} ".join(ends) if constant else None
    return None


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether they print the same and are of the same types, with all their parts."""
    return one == other and _types(one) == _types(other)


def _types(e: Expr) -> list[str]:
    return [n.facts.type if n.facts is not None else "" for n in walk_expression(e)]


def _is_constant(e: Expr) -> bool:
    """Whether it is a literal, or casts and signs of one."""
    while not isinstance(e, Literal):
        match e:
            case Bracketed(inner) | Cast(inner) | Prefix("-", inner) | Postfix(inner):
                e = inner
            case _:
                return False
    return True
