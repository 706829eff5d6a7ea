"""Columns that are NULL in no row that a condition is true of."""

from __future__ import annotations

from collections.abc import Iterable

from dt_jupyter.ivm.expr import Bracketed, Column, Expr, Infix, Literal, Postfix, Prefix

_COMPARED = frozenset({"=", "<>", "<", "<=", ">", ">="})
_STRICT = frozenset({"+", "-", "*"})


def required_columns(conditions: Iterable[Expr]) -> frozenset[str]:
    """The columns without which conditions are not all true."""
    return frozenset[str]().union(*map(_requires, conditions))


def _requires(condition: Expr) -> frozenset[str]:
    """The columns without which a condition is not true."""
    match condition:
        case Bracketed(inner):
            return _requires(inner)
        case Infix(left, "AND", right):
            return _requires(left) | _requires(right)
        case Infix(left, op, right) if op in _COMPARED:
            return _operands(left) | _operands(right)
        case Prefix("NOT", Bracketed(Infix(left, op, right))) if op in _COMPARED:
            return _operands(left) | _operands(right)
        case Postfix(Column(column), "IS NOT NULL"):
            return frozenset({column})
    return frozenset()


def _operands(e: Expr) -> frozenset[str]:
    """The columns of what is NULL where any of them is; none of anything else."""
    match e:
        case Column(column):
            return frozenset({column})
        case Bracketed(inner) | Prefix("-", inner):
            return _operands(inner)
        case Infix(left, op, right) if op in _STRICT:
            return _operands(left) | _operands(right)
        case Literal():
            return frozenset()
    return frozenset()
