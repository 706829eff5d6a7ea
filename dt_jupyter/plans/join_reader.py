"""Joins of Spark's plans, those among them that its rules make of subqueries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce

from dt_jupyter.ivm import (
    Bracketed,
    Expr,
    Filter,
    Ids,
    Infix,
    Join,
    MatchKind,
    Project,
    Rel,
    RelationTypes,
    Split,
    ask_for_absence,
    col,
    conjunction,
    match,
    with_columns,
)
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.scalar_reader import ColumnValues


def read_conjuncts(
    node: SparkNode | None, scalars: ColumnValues, columns: Mapping[int, str]
) -> list[Expr]:
    """What has to be true together; (p AND q) OR (p AND r) is p AND (q OR r)."""
    if node is None or _is_true(node):
        return []
    if node.kind == "And":
        return [c for side in node.children for c in read_conjuncts(side, scalars, columns)]
    if node.kind == "Or":
        return _factored(node, scalars, columns)
    return [scalars.read(node, columns)]


def _is_true(node: SparkNode) -> bool:
    return node.kind == "Literal" and str(node.fields.get("value")).lower() == "true"


def _factored(node: SparkNode, scalars: ColumnValues, columns: Mapping[int, str]) -> list[Expr]:
    sides = [read_conjuncts(s, scalars, columns) for s in _disjuncts(node)]
    common = [c for c in sides[0] if all(c in s for s in sides)]
    if not common:
        return [scalars.read(node, columns)]
    rests = [[c for c in side if c not in common] for side in sides]
    if not all(rests):
        return common
    made = (conjunction(tuple(rest)) for rest in rests)
    whole: list[Expr] = [Bracketed(c) for c in made if c is not None]
    return [*common, reduce(lambda a, b: Infix(a, "OR", b), whole[1:], whole[0])]


def _disjuncts(node: SparkNode) -> list[SparkNode]:
    if node.kind != "Or":
        return [node]
    return [d for side in node.children for d in _disjuncts(side)]


@dataclass(frozen=True)
class ReadPlan:
    """The relation of an operator, and its columns: Spark's number and the id of each, in order.
    The relation may have more. `pivots` are the ids of what Spark puts into an array."""

    rel: Rel
    columns: tuple[tuple[int, str], ...]
    pivots: Mapping[int, tuple[str, ...]] = field(default_factory=dict)

    @property
    def known(self) -> dict[int, str]:
        return dict(reversed(self.columns))

    @property
    def exact(self) -> Rel:
        """The relation with these columns alone, each once."""
        ids = tuple(i for _, i in self.columns)
        if ids == self.rel.columns:
            return self.rel
        return Project(self.rel, tuple((i, col(i)) for i in ids))


def split_condition(
    node: SparkNode | None,
    scalars: ColumnValues,
    left: ReadPlan,
    right: ReadPlan,
    types: RelationTypes,
) -> Split:
    """The equal pairs of a join's condition, and the rest. What is NULL in no row of a side is
    equal where it is not distinct."""
    both = {**left.known, **right.known}
    mine, theirs = (frozenset(side.known.values()) for side in (left, right))
    there = types.never_null(left.rel) | types.never_null(right.rel)
    pairs: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for part in _conditions(node):
        sides = _equal_sides(part, scalars, both, there)
        if sides is not None and all(s.columns for s in sides):
            a, b = sides
            if a.columns <= mine and b.columns <= theirs:
                pairs.append((a, b))
                continue
            if b.columns <= mine and a.columns <= theirs:
                pairs.append((b, a))
                continue
        rest += read_conjuncts(part, scalars, both)
    return Split(tuple(pairs), tuple(rest))


def _conditions(node: SparkNode | None) -> list[SparkNode]:
    if node is None or _is_true(node):
        return []
    if node.kind == "And":
        return [c for side in node.children for c in _conditions(side)]
    return [node]


def _equal_sides(
    node: SparkNode, scalars: ColumnValues, columns: Mapping[int, str], there: frozenset[str]
) -> tuple[Expr, Expr] | None:
    if node.kind not in ("EqualTo", "EqualNullSafe"):
        return None
    a, b = (scalars.read(s, columns) for s in node.children)
    return (a, b) if node.kind == "EqualTo" or {a.column, b.column} & there else None


def not_in_pair(node: SparkNode | None) -> SparkNode | None:
    """The equality of a condition `a = b OR (a = b) IS NULL`, as NOT IN has it; None of others."""
    if node is None or node.kind != "Or":
        return None
    equal, null = node.children
    if equal.kind != "EqualTo" or null.kind != "IsNull" or null.child.kind != "EqualTo":
        return None
    return equal


def compares_null(condition: SparkNode) -> bool:
    """Whether it compares a constant NULL, as NULL IN (…) does: Spark folds that to NULL before it
    is a join, which has FALSE."""
    sides = (side for n in condition.walk() if n.kind == "EqualTo" for side in n.children)
    return any(map(_is_null, sides))


def _is_null(node: SparkNode) -> bool:
    while node.kind == "Cast":
        node = node.child
    return node.kind == "Literal" and node.fields.get("value") is None


def keep_others(
    ids: Ids, left: Rel, value: Expr, right: Rel, item: Expr, again: Rel, other: Expr
) -> Rel:
    """x NOT IN (B) is true where B has no rows, or x is not NULL, B has no NULL, and no row of B
    is x: an anti join, and whether B is empty and whether it has NULLs, joined in as one row.
    `again` is B read a second time, `other` its item there."""
    if value.column is None:
        made = ids.new("k")
        left, value = with_columns(left, ((made, value),)), col(made)
    rel = match(ids, left, right, MatchKind.ANTI, Split(((value, item),), ()))
    facts, is_false = ask_for_absence(ids, again, other, value)
    return Filter(Join((rel, facts), ()), (is_false,))
