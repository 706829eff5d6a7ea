"""Columns that are NULL in no row: a condition below is true of none that has a NULL there."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dt_jupyter.ivm.expr import Bracketed, Column, Expr, Infix, Literal, Postfix, Prefix
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.rel import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
)

_COMPARED = frozenset({"=", "<>", "<", "<=", ">", ">="})
_STRICT = frozenset({"+", "-", "*"})


def never_null(rel: Rel) -> frozenset[str]:
    """The columns of a relation that are known to hold no NULL."""
    return _NEVER_NULL[type(rel)](rel)


def _required(conditions: Iterable[Expr]) -> frozenset[str]:
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


def _none(rel: Rel) -> frozenset[str]:
    return frozenset()


def _below(rel: Rel) -> frozenset[str]:
    return never_null(rel.inputs[0])


def _of_project(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Project)
    known = never_null(rel.input)
    return frozenset(i for i, e in rel.items if e.column in known)


def _of_filter(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Filter)
    return never_null(rel.input) | _required(rel.on)


def _of_join(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Join)
    return _required(rel.on).union(*map(never_null, rel.members))


def _of_match(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Match)
    known = never_null(rel.left)
    if rel.kind is not MatchKind.SEMI:
        return known
    own = _required(rel.on).union(a for a, _ in rel.pairs)
    return known | (own & frozenset(rel.left.columns))


def _of_aggregate(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Aggregate)
    return never_null(rel.input) & frozenset(rel.keys)


_NEVER_NULL = PerOperator[Callable[[Rel], frozenset[str]]](
    "never NULL",
    dict.fromkeys((Scan, Rows, Union), _none)
    | dict.fromkeys((Generate, Window, Top, Restrict), _below)
    | {
        Project: _of_project,
        Filter: _of_filter,
        Join: _of_join,
        Match: _of_match,
        Aggregate: _of_aggregate,
    },
    otherwise=_none,
)
