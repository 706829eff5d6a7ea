"""A definition's relation, cut into stages: each has at most one stateful operator, on top."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dt_jupyter.ivm.aggregates import (
    ON_CHANGE,
    ONCE,
    Kept,
    argument_types,
    arguments_of,
    is_floating,
    keep,
)
from dt_jupyter.ivm.derive import equated
from dt_jupyter.ivm.distinct_calls import group_distinct_arguments
from dt_jupyter.ivm.expr import Col, Expr, col, conjunction, expr
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import (
    SETTLING,
    Aggregate,
    Call,
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
from dt_jupyter.model.hidden import hidden

_STAGE = "stage:"


@dataclass(frozen=True)
class StageColumn:
    """An aggregate column of a stage: its call, its type, and how it is kept (None: recomputed)."""

    id: str
    call: Call
    type: str
    kept: Kept | None

    @property
    def own(self) -> str:
        """The column with the value that the query's own call gives, where that may be the only
        way to it; else empty."""
        if self.kept is None:
            return self.id
        return hidden(f"{self.id}_own") if self.kept.outside else ""


@dataclass(frozen=True)
class Bag:
    """Rows without a key: duplicates are rows, found again by a hash of their content."""


@dataclass(frozen=True)
class Group:
    """One row for each group of the input, with its partial results; without keys it is one row
    that is always there.

    `visible` (HAVING and the like) says which groups the public sees.
    """

    keys: tuple[str, ...]
    aggregates: tuple[StageColumn, ...]
    visible: Expr | None = None

    @property
    def once(self) -> tuple[StageColumn, ...]:
        """The values of functions, which are computed for new groups alone."""
        return tuple(a for a in self.aggregates if a.call.function in (ONCE, ON_CHANGE))

    @property
    def on_change(self) -> bool:
        """Whether its values are those of the time at which its rows came."""
        return any(a.call.function == ON_CHANGE for a in self.aggregates)

    @property
    def recomputes(self) -> bool:
        return any(a.kept is None for a in self.aggregates)


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
        group = _group(core, visible, types)
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
        return expr("({a}) = ({b})", a=col(pair[0]), b=col(pair[1]))

    return Join(rel.members, tuple(plain(p) for p in rel.on))


def _aligned_match(rel: Rel, types: TypesOf) -> Rel:
    assert isinstance(rel, Match)
    left, right = types(rel.left), types(rel.right)
    other = [(a, b) for a, b in rel.pairs if left[a] != right[b]]
    if not other:
        return rel
    both = Join((rel.left, rel.right), ())
    items = tuple((a, expr("COALESCE({a}, {b})", a=col(a), b=col(b))) for a, b in other)
    for a, b in other:
        if _family(left[a]) != _family(right[b]):
            what = f"a join compares {left[a]} with {right[b]}"
            raise refuse(Refusal.EXPRESSION, what=what)
    wider = types(Project(both, items))
    casts = {}
    for a, b in other:
        cast = "CAST({x} AS " + wider[a] + ")"
        casts[(a, b)] = (expr(cast, x=col(a)), expr(cast, x=col(b)))
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
            (c, col(c) if have[c] == t else expr("CAST({x} AS " + t + ")", x=col(c)))
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
            if _UNORDERED.search(type_) or (call.function != "mode" and _MAP.search(type_)):
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
    """What stands above an aggregate, as expressions over its columns."""
    current = {c: col(c) for c in core.columns}
    order: tuple[str, ...] = core.columns
    conditions: list[Expr] = []
    for node in reversed(post):
        if isinstance(node, Filter):
            conditions += [_inline(p, current) for p in node.on]
        else:
            current = {i: _inline(e, current) for i, e in node.items}
            order = node.columns
    return tuple((c, current[c]) for c in order), conjunction(tuple(conditions))


def _inline(e: Expr, values: dict[str, Expr]) -> Expr:
    if e.column is not None:
        return values[e.column]
    parts: list[str | Col] = []
    for p in e.parts:
        if isinstance(p, str):
            parts.append(p)
        else:
            value = values[p.id]
            parts += value.parts if value.column else ("(", *value.parts, ")")
    return Expr(tuple(parts))


def _group(node: Aggregate, visible: Expr | None, types: TypesOf) -> Group:
    below, above = types(arguments_of(node)), types(node)
    for key in node.keys:
        if _MAP.search(above[key]):
            raise refuse(Refusal.MAP_KEY, type=above[key])
    kept = tuple(
        StageColumn(i, c, above[i], keep(c, i, above[i], argument_types(i, c, below)))
        for i, c in node.calls
    )
    return Group(node.keys, kept, visible)


_MAP = re.compile(r"\bmap<")
_NULL_TEST = re.compile(r"[)\s]*\bIS\s+(NOT\s+)?NULL\b", re.IGNORECASE)


def unstable(rel: Rel, types: TypesOf) -> frozenset[str]:
    """The columns that are equal only within a tolerance: floating aggregates computed again.

    Raises Refused where a filter, a join or a key depends on one: a last bit would decide there.
    """
    below = frozenset[str]().union(*(unstable(i, types) for i in rel.inputs))
    return _UNSTABLE[type(rel)](rel, below, types)


def _all_stable(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    """Stored rows, and those of the query's text."""
    return frozenset()


def _unstable_items(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    assert isinstance(rel, Project)
    found = set()
    for item, e in rel.items:
        if e.column in below:
            found.add(item)
        elif _values_of(e) & below:
            type_ = types(rel)[item]
            if "double" not in type_ and "float" not in type_:
                raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=f"a {type_}")
            found.add(item)
    return frozenset(found)


def _values_of(e: Expr) -> frozenset[str]:
    """The columns whose values an expression depends on, and not only on whether they are NULL."""
    following = (*e.parts[1:], "")
    return frozenset(
        part.id
        for part, after in zip(e.parts, following, strict=True)
        if isinstance(part, Col) and not (isinstance(after, str) and _NULL_TEST.match(after))
    )


def _unstable_places(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    assert isinstance(rel, Union)
    at_place = {m.columns.index(c) for m in rel.members for c in m.columns if c in below}
    return frozenset(rel.ids[i] for i in at_place)


def _decided_by(
    what: str, deciding: Callable[[Rel], frozenset[str]]
) -> Callable[[Rel, frozenset[str], TypesOf], frozenset[str]]:
    """Passes columns on; raises where what it decides by is equal within a tolerance only."""

    def rule(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
        if deciding(rel) & below:
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=what)
        return below

    return rule


def _conditions(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Filter | Join | Match)
    return frozenset(c for p in rel.on for c in p.columns)


def _matched(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Match)
    return _conditions(rel) | {c for pair in rel.pairs for c in pair}


def _generating(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Generate)
    return rel.generator.columns


def _ordering(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Top)
    return frozenset(c for e in rel.order for c in e.columns)


def _windowed(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Window)
    return frozenset(rel.partition).union(*(c.reads for c in rel.calls))


def _restricted(rel: Rel) -> frozenset[str]:
    assert isinstance(rel, Restrict)
    return frozenset(a for a, _ in rel.on)


def _unstable_window(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    """A floating value over rows that tie has other last bits each time it is computed."""
    assert isinstance(rel, Window)
    passed = _decided_by("a window", _windowed)(rel, below, types)
    known = types(rel)
    for call in rel.calls:
        by_ties = not call.total and (call.order or call.frame)
        decides = is_floating(known[call.id]) and call.function.columns
        if by_ties and decides and not _is_exact_average(call.function, known):
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="a window over ties")
    return passed


def _is_exact_average(function: Expr, types: Mapping[str, str]) -> bool:
    """Spark adds up integers of 32 bits as doubles, exactly below 2^53: four million rows of the
    largest."""
    match function.parts:
        case ("AVG(", Col(id=column), ")"):
            return types[column] in ("tinyint", "smallint", "int")
    return False


def _chosen_by(call: Call) -> tuple[Expr, ...]:
    """The arguments by which a call chooses a row, whose value it then gives."""
    if call.function == "mode":
        return call.args
    return call.args[1:] if call.function in SETTLING else ()


def _unstable_aggregates(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    assert isinstance(rel, Aggregate)
    if below & set(rel.keys):
        raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="a key")
    found = set()
    for a in _group(rel, None, types).aggregates:
        moved = any(e.columns & below for e in a.call.args)
        plain = a.call.function == "count" and not a.call.distinct
        chosen_by = any(e.columns & below for e in _chosen_by(a.call))
        if chosen_by or (moved and not is_floating(a.type) and not plain):
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=f"{a.call.function}()")
        if is_floating(a.type) and (moved or a.kept is None):
            found.add(a.id)
    return frozenset(found)


_UNSTABLE = PerOperator[Callable[[Rel, frozenset[str], TypesOf], frozenset[str]]](
    "unstable",
    {
        Scan: _all_stable,
        Rows: _all_stable,
        Project: _unstable_items,
        Filter: _decided_by("a filter", _conditions),
        Join: _decided_by("a join", _conditions),
        Match: _decided_by("a join", _matched),
        Union: _unstable_places,
        Generate: _decided_by("a generator", _generating),
        Window: _unstable_window,
        Top: _decided_by("an order with LIMIT", _ordering),
        Aggregate: _unstable_aggregates,
        Restrict: _decided_by("a key", _restricted),
    },
)


def _cut(rel: Rel, stages: list[Stage], types: TypesOf) -> Rel:
    """The relation with each aggregate, and what stands under a LIMIT, replaced by the scan of a
    stage of its own."""
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
    group = _group(rel, None, types)
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
