"""Derivatives: Δ of a relation over a change interval, as a relation with a weight column.

Each rule is registered with its law, which EXPLAIN and the reference read. A term of sources that
did not change is never made.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from dt_jupyter.ivm.expr import Column, Expr, Infix, col
from dt_jupyter.ivm.match_by_condition import terms_by_condition
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.rel import (
    Aggregate,
    End,
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
    at,
    scans,
)
from dt_jupyter.ivm.weighted_terms import in_columns, signed, sum_of
from dt_jupyter.model.hidden import WEIGHT

Rule = Callable[[Rel, frozenset[str]], Rel | None]


@dataclass(frozen=True, slots=True)
class Law:
    """The equation by which a change is derived, and where it comes from."""

    equation: str
    source: str


DERIVATIVES = PerOperator[Rule]("differentiate")
LAWS = PerOperator[Law]("law")


def rule(kind: type[Rel], *, law: str, source: str) -> Callable[[Rule], Rule]:
    """Registers the derivative of an operator with its law.

    P and S are the members before one and itself, R₀ and R₁ a relation at the old and the new end
    of the interval. `source`: CQ and DT are the papers on change queries and on dynamic tables
    with their sections, DBSP is Budiu et al. (2023).
    """

    def register(derivative: Rule) -> Rule:
        DERIVATIVES[kind] = derivative
        LAWS[kind] = Law(law, source)
        return derivative

    return register


def differentiate(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """ΔR where only the sources `changed` have changes; None where that is empty.

    The result has R's columns and `__dt_w`, each row's weight (+1 inserted, −1 deleted); equal
    rows may cancel.
    """
    return DERIVATIVES[type(rel)](rel, changed)


@rule(Scan, law="Δ(S) = the change relation of S", source="CQ 3.2.1")
def _scan(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Scan)
    return replace(rel, end=End.DELTA) if rel.source in changed else None


@rule(Project, law="Δ(π(R)) = π(ΔR)", source="DBSP, linear operators")
def _project(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Project)
    delta = differentiate(rel.input, changed)
    return delta and Project(delta, (*rel.items, (WEIGHT, col(WEIGHT))))


@rule(Filter, law="Δ(σ(R)) = σ(ΔR)", source="DBSP, linear operators")
def _filter(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Filter)
    delta = differentiate(rel.input, changed)
    return delta and Filter(delta, rel.on)


@rule(Join, law="Δ(P ⋈ S) = ΔP ⋈ S₀ + P₁ ⋈ ΔS", source="CQ 3.2.3; DBSP, bilinear operators")
def _join(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """For the members before S as P, and S one after the other: so a member is read once for all
    changes before it. Each term starts at its change, so that the rest is joined to a small
    relation."""
    assert isinstance(rel, Join)
    columns = rel.members[0].columns
    applied = _decided(rel.on, columns)
    delta = differentiate(rel.members[0], changed)
    if delta is not None and applied:
        delta = Filter(delta, applied)
    for i, member in enumerate(rel.members[1:], 1):
        known = set(columns)
        columns = (*columns, *member.columns)
        on = _decided(rel.on, columns)
        terms: list[Rel] = []
        if delta is not None:
            rest = tuple(p for p in on if not p.columns <= known)
            terms.append(in_columns(Join((delta, _old(member, changed)), rest), (*columns, WEIGHT)))
        if (own := differentiate(member, changed)) is not None:
            before = tuple(at(m, End.NEW) for m in rel.members[:i])
            terms.append(in_columns(Join((own, *before), on), (*columns, WEIGHT)))
        delta = sum_of(terms, (*columns, WEIGHT))
    return delta


def _decided(on: tuple[Expr, ...], columns: tuple[str, ...]) -> tuple[Expr, ...]:
    """The conditions over these columns alone."""
    known = set(columns)
    return tuple(p for p in on if p.columns <= known)


def _old(rel: Rel, changed: frozenset[str]) -> Rel:
    """R₀; unchanged sources are read at their new end, which is the same version."""
    if not any(s.source in changed for s in scans(rel)):
        return at(rel, End.NEW)
    return at(rel, End.OLD)


@rule(Union, law="Δ(A ∪ B) = ΔA ∪ ΔB", source="DBSP, linear operators")
def _union(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Union)
    deltas = [d for m in rel.members if (d := differentiate(m, changed))]
    return sum_of(deltas, (*rel.ids, WEIGHT))


@rule(
    Restrict,
    law="Δ(R ⋉ K) = ΔR ⋉ K, for a K that does not change",
    source="DBSP, linear operators",
)
def _restrict(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Restrict)
    delta = differentiate(rel.input, changed)
    return delta and replace(rel, input=delta)


@rule(Rows, law="Δ(VALUES …) = ∅", source="the definition of Δ")
def _rows(rel: Rel, changed: frozenset[str]) -> Rel | None:
    return None


@rule(Generate, law="Δ(explode(R)) = explode(ΔR)", source="DBSP, linear operators")
def _generate(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Generate)
    delta = differentiate(rel.input, changed)
    if delta is None:
        return None
    return in_columns(replace(rel, input=delta), (*rel.columns, WEIGHT))


@rule(
    Match,
    law="Δ(A ⟕ B) = ΔA ⟕ B₁ + (A₀ ⋉ K) ⟕ (B₁ ⋉ K) − (A₀ ⋉ K) ⟕ (B₀ ⋉ K),  K = keys(ΔB); "
    "without keys = ΔA ⟕ B₁ + A₀ ⋈ ΔB + T ▷ B₁ − T ▷ B₀,  T = A₀ ⋉ ΔB",
    source="CQ 3.2.3; DT 5.5.1",
)
def _match(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """The same for ⋉ and ▷: all three are linear in their left side, and a row of it is touched
    by ΔB only where its key is in K, or where it is a partner by the condition."""
    assert isinstance(rel, Match)
    if not rel.pairs:
        return _match_by_condition(rel, changed)
    columns = (*rel.columns, WEIGHT)
    left_keys, right_keys = tuple(a for a, _ in rel.pairs), tuple(b for _, b in rel.pairs)
    terms: list[Rel] = []
    if (delta := differentiate(rel.left, changed)) is not None:
        partners = _of_keys(at(rel.right, End.NEW), right_keys, delta, left_keys, nulls=False)
        terms.append(in_columns(replace(rel, left=delta, right=partners), columns))
    if (delta := differentiate(rel.right, changed)) is not None:
        kept = _of_keys(_old(rel.left, changed), left_keys, delta, right_keys, nulls=False)
        for end, sign in ((End.NEW, "+1"), (End.OLD, "-1")):
            right = _of_keys(at(rel.right, end), right_keys, delta, right_keys, nulls=False)
            terms.append(signed(replace(rel, left=kept, right=right), sign))
    return sum_of(terms, columns)


def _match_by_condition(rel: Match, changed: frozenset[str]) -> Rel | None:
    left, right = (differentiate(i, changed) for i in rel.inputs)
    read = frozenset(c for p in rel.on for c in p.columns) & set(rel.right.columns)
    values = _holding(right, read, nulls=True) if right is not None and read else rel.right
    terms = terms_by_condition(rel, left, right, _old(rel.left, changed), values)
    return sum_of(terms, (*rel.columns, WEIGHT))


@rule(Window, law="Δ(W(R)) = W(R₁ ⋉ K) − W(R₀ ⋉ K),  K = the partitions of ΔR", source="DT 5.5.1")
def _window(rel: Rel, changed: frozenset[str]) -> Rel | None:
    assert isinstance(rel, Window)
    return _both_ends(rel, rel.input, rel.partition, changed)


@rule(Aggregate, law="Δ(γ(R)) = γ(R₁ ⋉ K) − γ(R₀ ⋉ K),  K = the keys of ΔR", source="CQ 3.2.1")
def _aggregate(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """For a query that has no state; in an incremental definition, a separate stage has one."""
    assert isinstance(rel, Aggregate)
    return _both_ends(rel, rel.input, rel.keys, changed)


def _both_ends(rel: Rel, input: Rel, keys: tuple[str, ...], changed: frozenset[str]) -> Rel | None:
    """op(R₁ ⋉ K) − op(R₀ ⋉ K) for an operator that works group by group."""
    delta = differentiate(input, changed)
    if delta is None:
        return None
    ends = [
        signed(rel.with_inputs((_of_keys(at(input, e), keys, delta, keys),)), sign)
        for e, sign in ((End.NEW, "+1"), (End.OLD, "-1"))
    ]
    return sum_of(ends, (*rel.columns, WEIGHT))


@rule(Top, law="Δ(top(R)) = top(R₁) − top(R₀)", source="the definition of Δ")
def _top(rel: Rel, changed: frozenset[str]) -> Rel | None:
    """In a definition R is a stage, which is read and not computed."""
    assert isinstance(rel, Top)
    if differentiate(rel.input, changed) is None:
        return None
    ends = [
        signed(replace(rel, input=at(rel.input, e)), s)
        for e, s in ((End.NEW, "+1"), (End.OLD, "-1"))
    ]
    return sum_of(ends, (*rel.columns, WEIGHT))


def _holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
    """A smaller relation that has all the values of these columns, NULLs only where they matter.

    K computed from all of a change would occur in the very term that the change is in, and double
    with every outer join and window above it. Each row of ⟕, ⋉, ▷ and W has the values of a row
    of its input, whatever it meets there.
    """
    return _HOLDING[type(rel)](rel, keys, nulls)


def _itself(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
    """The relation has its own values."""
    return rel


def _match_holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
    assert isinstance(rel, Match)
    if keys <= set(rel.left.columns):
        return _holding(rel.left, keys, nulls)
    if rel.kind is MatchKind.LEFT and keys <= set(rel.right.columns) and not nulls:
        return _holding(rel.right, keys, nulls)
    return rel


def _window_holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
    assert isinstance(rel, Window)
    return _holding(rel.input, keys, nulls) if keys <= set(rel.input.columns) else rel


def _projection_holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
    assert isinstance(rel, Project)
    items = tuple(i for i in rel.items if i[0] in keys)
    computed = any(e.column is None for _, e in items)
    read = frozenset(c for _, e in items for c in e.columns)
    below = _holding(rel.input, read, nulls or computed) if read else rel.input
    return Project(below, items)


def _members_holding(rel: Rel, keys: frozenset[str], nulls: bool) -> Rel:
    """The same for each member; what both ends of an interval have in common is taken once."""
    assert isinstance(rel, Union)
    members: list[Rel] = []
    for member in rel.members:
        names = {i: c for i, c in zip(rel.ids, member.columns, strict=True) if i in keys}
        below = _holding(member, frozenset(names.values()), nulls)
        own = Project(below, tuple((i, col(c)) for i, c in names.items()))
        if own not in members:
            members.append(own)
    return members[0] if len(members) == 1 else Union(tuple(members), members[0].columns)


_HOLDING = PerOperator[Callable[[Rel, frozenset[str], bool], Rel]](
    "keys of a change",
    {
        Scan: _itself,
        Rows: _itself,
        Project: _projection_holding,
        Filter: _itself,
        Join: _itself,
        Match: _match_holding,
        Union: _members_holding,
        Generate: _itself,
        Window: _window_holding,
        Top: _itself,
        Aggregate: _itself,
        Restrict: _itself,
    },
    otherwise=_itself,
)


def _of_keys(
    rel: Rel, columns: tuple[str, ...], delta: Rel, keys: tuple[str, ...], *, nulls: bool = True
) -> Rel:
    """R ⋉ K for at least the K of a change; without columns every row is touched. Without `nulls`
    those need not be in K: they have no partners."""
    if not columns:
        return rel
    held = _holding(delta, frozenset(keys), nulls)
    found = Aggregate(
        Project(held, tuple((k, col(k)) for k in dict.fromkeys(keys))),
        tuple(dict.fromkeys(keys)),
        (),
    )
    return restrict(rel, found, tuple(zip(columns, keys, strict=True)))


_Pairs = tuple[tuple[str, str], ...]
"""Columns of a relation with those of the keys that they have to match."""
_Pushed = tuple[Rel, bool] | None


def restrict(rel: Rel, keys: str | Rel, on: _Pairs) -> Rel:
    """R ⋉ K with the restriction as near to the sources as its columns reach.

    Sound at every step: what is pushed down only removes rows that the one above removes too,
    and where the columns of K are divided between members, the one above stays.
    """
    pushed = _pushed(rel, keys, on)
    if pushed is None:
        return Restrict(rel, keys, on)
    below, whole = pushed
    return below if whole else Restrict(below, keys, on)


def _pushed(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
    """The relation with its inputs restricted, and whether that is all of the restriction."""
    return _PUSHED[type(rel)](rel, keys, on)


def _stays(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
    """The restriction stays above."""
    return None


def _below(
    reached: Callable[[Rel, str], str | None],
) -> Callable[[Rel, str | Rel, _Pairs], _Pushed]:
    """Pushed into the one input by the columns that it has for those of the relation."""

    def push(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
        own = tuple((c, b) for a, b in on if (c := reached(rel, a)) is not None)
        if not own:
            return None
        return rel.with_inputs((restrict(rel.inputs[0], keys, own),)), len(own) == len(on)

    return push


def _passed(rel: Rel, column: str) -> str | None:
    """The input's column that a projection passes on under this name."""
    assert isinstance(rel, Project)
    return next((e.column for i, e in rel.items if i == column), None)


def _partitioned(rel: Rel, column: str) -> str | None:
    assert isinstance(rel, Window)
    return column if column in rel.partition else None


def _keyed(rel: Rel, column: str) -> str | None:
    assert isinstance(rel, Aggregate)
    return column if column in rel.keys else None


def _own(rel: Rel, column: str) -> str | None:
    return column if column in rel.inputs[0].columns else None


def _pushed_filter(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
    return rel.with_inputs((restrict(rel.inputs[0], keys, on),)), True


def _pushed_union(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
    assert isinstance(rel, Union)
    members = tuple(
        restrict(m, keys, tuple((m.columns[rel.ids.index(a)], b) for a, b in on))
        for m in rel.members
    )
    return replace(rel, members=members), True


def _pushed_match(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
    """The left side by its columns, the right one by those that are equal to them."""
    assert isinstance(rel, Match)
    own = tuple((a, b) for a, b in on if a in rel.left.columns)
    if not own:
        return None
    partner = dict(rel.pairs)
    theirs = tuple((partner[a], b) for a, b in own if a in partner)
    right = restrict(rel.right, keys, theirs) if theirs else rel.right
    left = restrict(rel.left, keys, own)
    return replace(rel, left=left, right=right), len(own) == len(on)


def _pushed_join(rel: Rel, keys: str | Rel, on: _Pairs) -> _Pushed:
    """Each member by its columns and by those that the join makes equal to its own."""
    assert isinstance(rel, Join)
    same = equal_columns(rel)
    members: list[Rel] = []
    whole = False
    for member in rel.members:
        known = set(member.columns)
        own = tuple(
            (c, b)
            for a, b in on
            if (c := next((c for c in (a, *same.get(a, ())) if c in known), None)) is not None
        )
        whole = whole or len(own) == len(on)
        members.append(restrict(member, keys, own) if own else member)
    return replace(rel, members=tuple(members)), whole


_PUSHED = PerOperator[Callable[[Rel, str | Rel, _Pairs], _Pushed]](
    "restrict",
    {
        Scan: _stays,
        Rows: _stays,
        Project: _below(_passed),
        Filter: _pushed_filter,
        Join: _pushed_join,
        Match: _pushed_match,
        Union: _pushed_union,
        Generate: _below(_own),
        Window: _below(_partitioned),
        Top: _stays,
        Aggregate: _below(_keyed),
        Restrict: _stays,
    },
    otherwise=_stays,
)


def equal_columns(rel: Join) -> dict[str, tuple[str, ...]]:
    """For each column, those that the conjuncts `a = b` of the join make equal to it."""
    groups: dict[str, set[str]] = {}
    for predicate in rel.on:
        pair = equated(predicate)
        if pair is None or (pair[0] in groups and groups[pair[0]] is groups.get(pair[1])):
            continue
        merged = set().union(*(groups.get(c, {c}) for c in pair))
        for c in merged:
            groups[c] = merged
    return {c: tuple(sorted(g - {c})) for c, g in groups.items()}


def equated(predicate: Expr) -> tuple[str, str] | None:
    """The two columns of a conjunct that is nothing but `a = b`."""
    match predicate:
        case Infix(Column(a), "=", Column(b)):
            return a, b
    return None
