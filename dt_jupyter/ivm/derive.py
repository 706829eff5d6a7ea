"""Derivatives: Δ of a relation over a change interval, as a relation with a weight column.

Each rule is its equation. A term of sources that did not change is never made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dt_jupyter.ivm.expr import col
from dt_jupyter.ivm.rel import (
    WEIGHT,
    Aggregate,
    End,
    Filter,
    Join,
    Project,
    Rel,
    Restrict,
    Scan,
    Union,
    at,
    scans,
)

Rule = Callable[[Rel, frozenset[str]], Rel | None]
DERIVATIVES: dict[type[Rel], Rule] = {}


def _rule(kind: type[Rel]) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        DERIVATIVES[kind] = rule
        return rule

    return register


def differentiate(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """ΔR where only the sources `changed` have changes; None where that is empty.

    The result has R's columns and `__dt_w`, each row's weight (+1 inserted, −1 deleted); equal
    rows may cancel. An aggregate is no relation to differentiate: its stage keeps it from state.
    """
    return DERIVATIVES[type(rel)](rel, changed)


@_rule(Scan)
def _scan(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """Δ(S) = the change relation of S.  Source: CQ 3.2.1."""
    assert isinstance(rel, Scan)
    return replace(rel, end=End.DELTA) if rel.source in changed else None


@_rule(Project)
def _project(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """Δ(π(R)) = π(ΔR)"""
    assert isinstance(rel, Project)
    delta = differentiate(rel.input, changed)
    return delta and Project(delta, (*rel.items, (WEIGHT, col(WEIGHT))))


@_rule(Filter)
def _filter(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """Δ(σ(R)) = σ(ΔR)"""
    assert isinstance(rel, Filter)
    delta = differentiate(rel.input, changed)
    return delta and Filter(delta, rel.on)


@_rule(Join)
def _join(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """Δ(S₁ ⋈ … ⋈ Sₙ) = Σᵢ (S₁ ⋈ … ⋈ Sᵢ₋₁)₁ ⋈ ΔSᵢ ⋈ (Sᵢ₊₁ ⋈ … ⋈ Sₙ)₀

    The two-way rule ΔA ⋈ B₀ + A₁ ⋈ ΔB, unrolled: n terms for n members, and each starts at its
    delta, so that the rest is joined to a small relation.  Source: CQ 3.2.3; DBSP, bilinear.
    """
    assert isinstance(rel, Join)
    terms = [t for i in range(len(rel.members)) if (t := _join_term(rel, i, changed))]
    return _sum(terms, (*rel.columns, WEIGHT))


def _join_term(rel: Join, i: int, changed: frozenset[str]) -> Rel | None:
    delta = differentiate(rel.members[i], changed)
    if delta is None:
        return None
    before = tuple(at(m, End.NEW) for m in rel.members[:i])
    after = tuple(_old(m, changed) for m in rel.members[i + 1 :])
    joined = Join((delta, *before, *after), rel.on)
    return Project(joined, tuple((c, col(c)) for c in (*rel.columns, WEIGHT)))


def _old(rel: Rel, changed: frozenset[str]) -> Rel:
    """R₀; unchanged sources are read at their new end, which is the same version."""
    if not any(s.source in changed for s in scans(rel)):
        return at(rel, End.NEW)
    return at(rel, End.OLD)


@_rule(Union)
def _union(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """Δ(A ∪ B) = ΔA ∪ ΔB"""
    assert isinstance(rel, Union)
    deltas = [d for m in rel.members if (d := differentiate(m, changed))]
    return _sum(deltas, (*rel.ids, WEIGHT))


@_rule(Restrict)
def _restrict(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """Δ(R ⋉ K) = ΔR ⋉ K, for a K that does not change."""
    assert isinstance(rel, Restrict)
    delta = differentiate(rel.input, changed)
    return delta and replace(rel, input=delta)


@_rule(Aggregate)
def _aggregate(rel: Rel, changed: frozenset[str]) -> Rel | None:
    raise TypeError("an aggregate is kept by its own stage; compile the definition first")


def _sum(terms: list[Rel], columns: tuple[str, ...]) -> Rel | None:
    if len(terms) > 1:
        return Union(tuple(terms), columns)
    if not terms:
        return None
    (only,) = terms
    if only.columns == columns:
        return only
    return Project(only, tuple((c, col(o)) for c, o in zip(columns, only.columns, strict=True)))


def restrict(rel: Rel, keys: str, on: tuple[tuple[str, str], ...]) -> Rel:
    """R ⋉ K with the restriction as near to the sources as its columns reach.

    Sound at every step: what is pushed down only removes rows that the one above removes too,
    and where the columns of K are divided between members, the one above stays.
    """
    wanted = {a for a, _ in on}
    if isinstance(rel, Project):
        passed = {i: c for i, e in rel.items if (c := e.column) is not None}
        if wanted <= passed.keys():
            below = tuple((passed[a], b) for a, b in on)
            return replace(rel, input=restrict(rel.input, keys, below))
    if isinstance(rel, Filter):
        return replace(rel, input=restrict(rel.input, keys, on))
    if isinstance(rel, Union):
        members = tuple(
            restrict(m, keys, tuple((m.columns[rel.ids.index(a)], b) for a, b in on))
            for m in rel.members
        )
        return replace(rel, members=members)
    if isinstance(rel, Join):
        return _restrict_join(rel, keys, on)
    return Restrict(rel, keys, on)


def _restrict_join(rel: Join, keys: str, on: tuple[tuple[str, str], ...]) -> Rel:
    members: list[Rel] = []
    whole = False
    for member in rel.members:
        own = tuple((a, b) for a, b in on if a in member.columns)
        whole = whole or len(own) == len(on)
        members.append(restrict(member, keys, own) if own else member)
    joined = Join(tuple(members), rel.on)
    return joined if whole else Restrict(joined, keys, on)
