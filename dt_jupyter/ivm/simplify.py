"""Rewrites that keep the meaning and make derivatives cheap; `PASSES` in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from dt_jupyter.ivm.expr import Expr, col
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
    own_reads,
    rewrite,
)

_Columns = frozenset[str]


def merge_filters(rel: Rel) -> Rel:
    """σp(σq(R)) = σ(q ∧ p)(R)"""
    if isinstance(rel, Filter) and isinstance(rel.input, Filter):
        return Filter(rel.input.input, rel.input.on + rel.on)
    return rel


def filter_into_join(rel: Rel) -> Rel:
    """σp(A ⋈ B) = A ⋈p B"""
    if isinstance(rel, Filter) and isinstance(rel.input, Join):
        return replace(rel.input, on=rel.input.on + rel.on)
    return rel


def filter_below_projection(rel: Rel) -> Rel:
    """σp(π(R)) = π(σp(R)), where p reads columns that the projection only passes on."""
    if not (isinstance(rel, Filter) and isinstance(rel.input, Project)):
        return rel
    passed = {i: c for i, e in rel.input.items if (c := e.column) is not None}
    if not all(p.columns <= passed.keys() for p in rel.on):
        return rel
    below = Filter(rel.input.input, tuple(p.renamed(passed) for p in rel.on))
    return replace(rel.input, input=merge_filters(filter_into_join(below)))


def filter_below_match(rel: Rel) -> Rel:
    """σp(A ⟕ B) = σp(A) ⟕ B, where p reads A alone; the same for ⋉ and ▷."""
    if not (isinstance(rel, Filter) and isinstance(rel.input, Match)):
        return rel
    match, left = rel.input, set(rel.input.left.columns)
    below = tuple(p for p in rel.on if p.columns and p.columns <= left)
    above = tuple(p for p in rel.on if p not in below)
    if below:
        under = rewrite_filter(Filter(match.left, below))
        match = replace(match, left=under)
    return Filter(match, above) if above else match


def rewrite_filter(rel: Filter) -> Rel:
    """A filter that has just been made, moved on as far as it goes."""
    for rule in (merge_filters, filter_below_projection, filter_into_join, filter_below_match):
        moved = rule(rel)
        if not isinstance(moved, Filter):
            return moved
        rel = moved
    return rel


def condition_below_match(rel: Rel) -> Rel:
    """A ⟕(p ∧ q) B = A ⟕p σq(B), where q reads B alone; the same for ⋉ and ▷."""
    if not isinstance(rel, Match):
        return rel
    right = set(rel.right.columns)
    below = tuple(p for p in rel.on if p.columns and p.columns <= right)
    if not below:
        return rel
    kept = tuple(p for p in rel.on if p not in below)
    return replace(rel, right=rewrite_filter(Filter(rel.right, below)), on=kept)


def flatten_joins(rel: Rel) -> Rel:
    """(A ⋈ B) ⋈ C = ⋈(A, B, C); a projection that only renames is pulled above."""
    if not isinstance(rel, Join):
        return rel
    members: list[Rel] = []
    on: list[Expr] = []
    names: dict[str, str] = {}
    for member in rel.members:
        inner = member
        if isinstance(inner, Project) and isinstance(inner.input, Join):
            columns = {i: e.column for i, e in inner.items}
            if all(columns.values()):
                names.update({i: c for i, c in columns.items() if c is not None})
                inner = inner.input
        if isinstance(inner, Join):
            members.extend(inner.members)
            on.extend(inner.on)
        else:
            members.append(inner)
    flat = Join(tuple(members), (*on, *(p.renamed(names) for p in rel.on)))
    if not names and flat.columns == rel.columns:
        return flat
    return Project(flat, tuple((c, col(names.get(c, c))) for c in rel.columns))


def flatten_unions(rel: Rel) -> Rel:
    """(A ∪ B) ∪ C = ∪(A, B, C)"""
    if not isinstance(rel, Union):
        return rel
    members = [m.members if isinstance(m, Union) else (m,) for m in rel.members]
    return replace(rel, members=tuple(m for ms in members for m in ms))


def sink_filters(rel: Rel) -> Rel:
    """σp(A) ⋈ B for a conjunct p of the join that reads A alone: the change meets it first."""
    if not isinstance(rel, Join):
        return rel
    members = list(rel.members)
    kept = []
    for predicate in rel.on:
        homes = [i for i, m in enumerate(members) if predicate.columns <= set(m.columns)]
        if predicate.columns and homes:
            members[homes[0]] = merge_filters(Filter(members[homes[0]], (predicate,)))
        else:
            kept.append(predicate)
    return Join(tuple(members), tuple(kept))


PASSES: tuple[Callable[[Rel], Rel], ...] = (
    merge_filters,
    filter_below_projection,
    filter_into_join,
    filter_below_match,
    condition_below_match,
    flatten_joins,
    flatten_unions,
    sink_filters,
)


def simplify(rel: Rel) -> Rel:
    for rule in PASSES:
        rel = rewrite(rel, rule)
    return prune(rel, frozenset(rel.columns))


def prune(rel: Rel, used: _Columns) -> Rel:
    """The relation reads no column that nothing above uses (the root's columns stay)."""
    return PRUNED[type(rel)](rel, used)


def _prune_scan(rel: Rel, used: _Columns) -> Rel:
    assert isinstance(rel, Scan)
    reads = tuple(r for r in rel.reads if r[0] in used)
    return replace(rel, reads=reads or rel.reads[:1])


def _prune_rows(rel: Rel, used: _Columns) -> Rel:
    return rel


def _prune_project(rel: Rel, used: _Columns) -> Rel:
    assert isinstance(rel, Project)
    items = tuple(i for i in rel.items if i[0] in used) or rel.items[:1]
    below = frozenset(c for _, e in items for c in e.columns)
    return Project(prune(rel.input, below or frozenset(rel.input.columns[:1])), items)


def _prune_union(rel: Rel, used: _Columns) -> Rel:
    assert isinstance(rel, Union)
    return replace(rel, members=tuple(prune(m, frozenset(m.columns)) for m in rel.members))


def _prune_passing(rel: Rel, used: _Columns) -> Rel:
    """It passes on what it does not read."""
    below = used | own_reads(rel)
    return rel.with_inputs(tuple(prune(i, below) for i in rel.inputs))


def _prune_match(rel: Rel, used: _Columns) -> Rel:
    assert isinstance(rel, Match)
    read = own_reads(rel)
    right = read | used if rel.kind is MatchKind.LEFT else read
    return replace(rel, left=prune(rel.left, read | used), right=prune(rel.right, right))


def _prune_window(rel: Rel, used: _Columns) -> Rel:
    assert isinstance(rel, Window)
    shown = tuple(c for c in rel.calls if c.id in used)
    if not shown:
        return prune(rel.input, used)
    below = (used | frozenset(rel.partition)).union(*(c.reads for c in shown))
    return replace(rel, input=prune(rel.input, below), calls=shown)


def _prune_aggregate(rel: Rel, used: _Columns) -> Rel:
    assert isinstance(rel, Aggregate)
    calls = tuple(c for c in rel.calls if c[0] in used)
    if not rel.keys:
        calls = calls or rel.calls[:1]
    below = frozenset(rel.keys).union(*(c.reads for _, c in calls))
    return Aggregate(prune(rel.input, below or used), rel.keys, calls)


PRUNED = PerOperator[Callable[[Rel, _Columns], Rel]](
    "prune",
    dict.fromkeys((Filter, Join, Generate, Top, Restrict), _prune_passing)
    | {
        Scan: _prune_scan,
        Rows: _prune_rows,
        Project: _prune_project,
        Match: _prune_match,
        Union: _prune_union,
        Window: _prune_window,
        Aggregate: _prune_aggregate,
    },
)
