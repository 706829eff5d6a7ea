"""A definition's relation, cut into stages: each has at most one stateful operator, on top."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from dt_jupyter.ivm.aggregates import (
    argument_types,
    arguments_of,
)
from dt_jupyter.ivm.derive import equated
from dt_jupyter.ivm.distinct_calls import group_distinct_arguments
from dt_jupyter.ivm.expr import Bracketed, Call, Cast, Expr, col, conjunction, equality
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import (
    SETTLING,
    Aggregate,
    Filter,
    Generate,
    Join,
    Match,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    TypesOf,
    Union,
    Window,
    rewrite,
    walk,
)
from dt_jupyter.ivm.simplify import simplify
from dt_jupyter.ivm.stage_groups import HAS_MAP, Group, group_of
from dt_jupyter.ivm.unstable import unstable

_STAGE = "stage:"


@dataclass(frozen=True)
class Bag:
    """Rows without a key: duplicates are rows, found again by a hash of their content."""


@dataclass(frozen=True)
class Stage:
    """One backing table: `input` has a derivative (no aggregate below), `top` says how it is
    kept, `outputs` (name in the table, expression over keys and aggregates, or over the
    input's columns) are its public columns. The last stage is the dynamic table itself."""

    id: str
    input: Rel
    top: Bag | Group
    outputs: tuple[tuple[str, Expr], ...]

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n.source for n in walk(self.input) if isinstance(n, Scan)))


def stage_source(ordinal: int) -> str:
    """The id by which a later stage reads an earlier one."""
    return f"{_STAGE}{ordinal}"


def compile_stages(
    rel: Rel, names: tuple[str, ...], types: TypesOf, frozen: frozenset[str] | None = None
) -> tuple[Stage, ...]:
    """The stages of a definition whose public columns are `names`, bottom-up, the public one last.

    `types(rel)` gives the Spark type of each column. Of a table with a frozen region `frozen` are
    the columns that its condition reads: its public rows are a bag, since a frozen row and a new
    one may be of the same group. Raises Refusal where a rule forbids it.
    """
    stages: list[Stage] = []
    rel = settle_types(rel, types)
    inexact = unstable(rel, types)
    if {n for n, c in zip(names, rel.columns, strict=True) if c in inexact} & (frozen or set()):
        raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="FROZEN WHERE")
    if (grouped := group_distinct_arguments(rel, types)) != rel:
        rel = simplify(grouped)
    post, core = _peel(rel)
    if isinstance(core, Aggregate) and frozen is None:
        outputs, visible = _outputs(post, core)
        group = group_of(core, visible, types)
        inner = _cut(core.input, stages, types)
        items = tuple((n, e) for n, (_, e) in zip(names, outputs, strict=True))
        stages.append(Stage(stage_source(len(stages)), simplify(inner), group, items))
    else:
        inner = simplify(_cut(rel, stages, types))
        items = tuple((n, col(c)) for n, c in zip(names, rel.columns, strict=True))
        stages.append(Stage(stage_source(len(stages)), inner, Bag(), items))
    return tuple(stages)


def settle_types(rel: Rel, types: TypesOf) -> Rel:
    """The definition's relation as its stages are cut from it."""
    return simplify(rewrite(rel, lambda n: align_types(n, types)))


def align_types(rel: Rel, types: TypesOf) -> Rel:
    """The node with what its derivative relies on: a union's members have its own types, so that
    each means the same where those that did not change are left out; and columns that pass for
    equal are of one type, so that a key of the one finds the rows of the other."""
    return _ALIGNED[type(rel)](rel, types)


def _as_it_is(rel: Rel, types: TypesOf) -> Rel:
    """It puts no columns of several inputs together."""
    return rel


def _aligned_join(rel: Rel, types: TypesOf) -> Rel:
    assert isinstance(rel, Join)
    if not any(equated(p) for p in rel.on):
        return rel
    known = types(rel)

    def plain(p: Expr) -> Expr:
        pair = equated(p)
        if pair is None or known[pair[0]] == known[pair[1]]:
            return p
        return equality(*(Bracketed(col(c)) for c in pair))

    return Join(rel.members, tuple(plain(p) for p in rel.on))


def _aligned_match(rel: Rel, types: TypesOf) -> Rel:
    assert isinstance(rel, Match)
    left, right = types(rel.left), types(rel.right)
    other = [(a, b) for a, b in rel.pairs if left[a] != right[b]]
    if not other:
        return rel
    both = Join((rel.left, rel.right), ())
    items = tuple((a, Call("COALESCE", (col(a), col(b)))) for a, b in other)
    for a, b in other:
        if _family(left[a]) != _family(right[b]):
            what = f"a join compares {left[a]} with {right[b]}"
            raise refuse(Refusal.EXPRESSION, what=what)
    wider = types(Project(both, items))
    casts = {}
    for a, b in other:
        casts[(a, b)] = (Cast(col(a), wider[a]), Cast(col(b), wider[a]))
    pairs = [p for p in rel.pairs if p not in casts]
    extra_left, extra_right = [], []
    for i, ((a, b), (x, y)) in enumerate(casts.items()):
        pairs.append((f"{a}__l{i}", f"{b}__r{i}"))
        extra_left.append((f"{a}__l{i}", x))
        extra_right.append((f"{b}__r{i}", y))
    match = Match(
        Project(rel.left, (*((c, col(c)) for c in rel.left.columns), *extra_left)),
        Project(rel.right, (*((c, col(c)) for c in rel.right.columns), *extra_right)),
        rel.kind,
        tuple(pairs),
        rel.on,
    )
    return Project(match, tuple((c, col(c)) for c in rel.columns))


def _family(type_: str) -> str:
    """Types that compare with each other by their value."""
    if type_ in ("tinyint", "smallint", "int", "bigint", "float", "double"):
        return "number"
    if type_.startswith("decimal"):
        return "number"
    return "time" if type_ in ("date", "timestamp", "timestamp_ntz") else type_


def _aligned_union(rel: Rel, types: TypesOf) -> Rel:
    assert isinstance(rel, Union)
    whole = types(rel)
    wanted = [whole[i] for i in rel.ids]
    members = []
    for member in rel.members:
        have = types(member)
        items = tuple(
            (c, col(c) if have[c] == t else Cast(col(c), t))
            for c, t in zip(member.columns, wanted, strict=True)
        )
        members.append(member if all(e.column for _, e in items) else Project(member, items))
    return Union(tuple(members), rel.ids)


def _ordered_aggregate(rel: Rel, types: TypesOf) -> Rel:
    """Raises Refused where a call whose order a query leaves open is over values without any."""
    assert isinstance(rel, Aggregate)
    calls = [(i, c) for i, c in rel.calls if c.function in SETTLING]
    known = types(arguments_of(rel)) if calls else {}
    for i, call in calls:
        for type_ in argument_types(i, call, known):
            if _UNORDERED.search(type_) or (call.function != "mode" and HAS_MAP.search(type_)):
                raise refuse(Refusal.UNORDERED, what=f"{call.function}()", type=type_)
    return rel


_UNORDERED = re.compile(
    r"\bvariant\b|\binterval\b(?! (?:year|month|day|hour|minute|second)\b)|\bgeo"
)
"""Values that do not compare; those of maps do for MODE."""
_ALIGNED = PerOperator[Callable[[Rel, TypesOf], Rel]](
    "aligned",
    dict.fromkeys((Scan, Rows, Project, Filter, Generate, Window, Top, Restrict), _as_it_is)
    | {
        Aggregate: _ordered_aggregate,
        Join: _aligned_join,
        Match: _aligned_match,
        Union: _aligned_union,
    },
)


def _peel(rel: Rel) -> tuple[list[Project | Filter], Rel]:
    """The projections and filters above the first other operator, topmost first."""
    post: list[Project | Filter] = []
    while isinstance(rel, Project | Filter):
        post.append(rel)
        rel = rel.input
    return post, rel


def _outputs(
    post: list[Project | Filter], core: Aggregate
) -> tuple[tuple[tuple[str, Expr], ...], Expr | None]:
    """What is above an aggregate, as expressions over its columns."""
    current = {c: col(c) for c in core.columns}
    order: tuple[str, ...] = core.columns
    conditions: list[Expr] = []
    for node in reversed(post):
        if isinstance(node, Filter):
            conditions += [p.replaced(current) for p in node.on]
        else:
            current = {i: e.replaced(current) for i, e in node.items}
            order = node.columns
    return tuple((c, current[c]) for c in order), conjunction(tuple(conditions))


def _cut(rel: Rel, stages: list[Stage], types: TypesOf) -> Rel:
    """The relation with each aggregate, and what is under a LIMIT, replaced by the scan of a
    separate stage."""
    return _CUT[type(rel)](rel, stages, types)


def _cut_below(rel: Rel, stages: list[Stage], types: TypesOf) -> Rel:
    return rel.with_inputs(tuple(_cut(i, stages, types) for i in rel.inputs))


def _cut_project(rel: Rel, stages: list[Stage], types: TypesOf) -> Rel:
    post, core = _peel(rel)
    if isinstance(core, Aggregate) and all(isinstance(p, Project) for p in post):
        outputs, _ = _outputs(post, core)
        stored = tuple((c, e) for c, e in outputs if e.columns)
        if stored in ((), outputs):
            return _cut_group(core, outputs, stages, types)
        below = _cut_group(core, stored, stages, types)  # constants take no room in its table
        return Project(below, tuple((c, col(c) if e.columns else e) for c, e in outputs))
    return _cut_below(rel, stages, types)


def _cut_aggregate(rel: Rel, stages: list[Stage], types: TypesOf) -> Rel:
    assert isinstance(rel, Aggregate)
    return _cut_group(rel, tuple((c, col(c)) for c in rel.columns), stages, types)


def _cut_top(rel: Rel, stages: list[Stage], types: TypesOf) -> Rel:
    assert isinstance(rel, Top)
    below = _cut(rel.input, stages, types)
    if not _is_stage(below):
        items = tuple((c, col(c)) for c in rel.input.columns)
        below = _hidden(simplify(below), Bag(), items, stages)
    return replace(rel, input=below)


_CUT = PerOperator[Callable[[Rel, list[Stage], TypesOf], Rel]](
    "stages",
    dict.fromkeys((Scan, Rows, Filter, Join, Match, Union, Generate, Window, Restrict), _cut_below)
    | {Project: _cut_project, Top: _cut_top, Aggregate: _cut_aggregate},
)


def _is_stage(rel: Rel) -> bool:
    """Whether the rows are those of one stage, so that reading them again is cheap."""
    while isinstance(rel, Project | Filter):
        rel = rel.input
    return isinstance(rel, Scan) and rel.source.startswith(_STAGE)


def _cut_group(
    rel: Aggregate, outputs: tuple[tuple[str, Expr], ...], stages: list[Stage], types: TypesOf
) -> Rel:
    """What is computed above an aggregate is computed by its stage: where that stays the same,
    nothing above is touched."""
    group = group_of(rel, None, types)
    inner = simplify(_cut(rel.input, stages, types))
    return _hidden(inner, group, outputs, stages)


def _hidden(
    inner: Rel, top: Bag | Group, outputs: tuple[tuple[str, Expr], ...], stages: list[Stage]
) -> Rel:
    known = [s for s in stages if (s.input, s.top, s.outputs) == (inner, top, outputs)]
    source = known[0].id if known else stage_source(len(stages))
    if not known:
        stages.append(Stage(source, inner, top, outputs))
    return Scan(source, tuple((c, c) for c, _ in outputs))
