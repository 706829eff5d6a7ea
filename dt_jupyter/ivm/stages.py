"""A definition's relation, cut into stages: each has at most one stateful operator, on top."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.ivm.aggregates import Kept, is_floating, keep
from dt_jupyter.ivm.expr import Col, Expr, col, conjunction, expr
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import (
    Aggregate,
    Call,
    Filter,
    Join,
    Project,
    Rel,
    Scan,
    Union,
    rewrite,
    walk,
)
from dt_jupyter.ivm.simplify import simplify

Types = Callable[[Rel], dict[str, str]]


@dataclass(frozen=True)
class Column:
    """An aggregate column of a stage: its call, its type, and how it is kept (None: recomputed)."""

    id: str
    call: Call
    type: str
    kept: Kept | None


@dataclass(frozen=True)
class Bag:
    """Rows without a key: duplicates are rows, found again by a hash of their content."""


@dataclass(frozen=True)
class Group:
    """One row for each group of the input, with its partial results.

    `visible` (HAVING and the like) says which groups the public sees.
    """

    keys: tuple[str, ...]
    aggregates: tuple[Column, ...]
    visible: Expr | None = None

    @property
    def recomputes(self) -> bool:
        return any(a.kept is None for a in self.aggregates)


@dataclass(frozen=True)
class Stage:
    """One backing table: `input` is linear in every source (no aggregate below), `top` says how
    it is kept, `outputs` (name in the table, expression over keys and aggregates, or over the
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
    return f"stage:{ordinal}"


def compile_stages(rel: Rel, names: tuple[str, ...], types: Types) -> tuple[Stage, ...]:
    """The stages of a definition whose public columns are `names`, bottom-up, the public one last.

    `types(rel)` gives the Spark type of each column. Raises Refusal where a rule forbids it.
    """
    stages: list[Stage] = []
    rel = rewrite(rel, lambda n: aligned(n, types))
    unstable(rel, types)
    post, core = _peel(rel)
    if isinstance(core, Aggregate):
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


def aligned(rel: Rel, types: Types) -> Rel:
    """A union whose members are cast to its own types: each then means the same without the
    others, as in a derivative, where those that did not change are left out."""
    if not isinstance(rel, Union):
        return rel
    wanted = [types(rel)[i] for i in rel.ids]
    members = []
    for member in rel.members:
        have = types(member)
        items = tuple(
            (c, col(c) if have[c] == t else expr("CAST({x} AS " + t + ")", x=col(c)))
            for c, t in zip(member.columns, wanted, strict=True)
        )
        members.append(member if all(e.column for _, e in items) else Project(member, items))
    return Union(tuple(members), rel.ids)


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


def _group(node: Aggregate, visible: Expr | None, types: Types) -> Group:
    below, above = types(_arguments(node)), types(node)
    kept = tuple(
        Column(i, c, above[i], keep(c, i, above[i], _argument_types(i, c, below)))
        for i, c in node.calls
    )
    return Group(node.keys, kept, visible)


def _arguments(node: Aggregate) -> Project:
    """The aggregate's arguments as columns, so that the analyser can say their types."""
    items = tuple((f"{i}__{j}", a) for i, c in node.calls for j, a in enumerate(c.args))
    return Project(node.input, (*((k, col(k)) for k in node.keys), *items) or
                   tuple((c, col(c)) for c in node.input.columns[:1]))  # fmt: skip


def _argument_types(result: str, call: Call, types: dict[str, str]) -> tuple[str, ...]:
    return tuple(types[f"{result}__{j}"] for j in range(len(call.args)))


def unstable(rel: Rel, types: Types) -> frozenset[str]:
    """The columns that are equal only within a tolerance: floating aggregates computed again.

    Raises Refused where a filter, a join or a key depends on one: a last bit would decide there.
    """
    if isinstance(rel, Scan):
        return frozenset()
    below = frozenset[str]().union(*(unstable(i, types) for i in rel.inputs))
    if isinstance(rel, Filter | Join):
        what = "a filter" if isinstance(rel, Filter) else "a join"
        if any(p.columns & below for p in rel.on):
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=what)
    if isinstance(rel, Project):
        return frozenset(i for i, e in rel.items if e.columns & below)
    if isinstance(rel, Union):
        at_place = {m.columns.index(c) for m in rel.members for c in m.columns if c in below}
        return frozenset(rel.ids[i] for i in at_place)
    if isinstance(rel, Aggregate):
        return _unstable_aggregates(rel, below, types)
    return below


def _unstable_aggregates(rel: Aggregate, below: frozenset[str], types: Types) -> frozenset[str]:
    if below & set(rel.keys):
        raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="a key")
    found = set()
    for a in _group(rel, None, types).aggregates:
        moved = any(e.columns & below for e in a.call.args)
        plain = a.call.function == "count" and not a.call.distinct
        if moved and not is_floating(a.type) and not plain:
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=f"{a.call.function}()")
        if is_floating(a.type) and (moved or a.kept is None):
            found.add(a.id)
    return frozenset(found)


def _cut(rel: Rel, stages: list[Stage], types: Types) -> Rel:
    """The relation with each aggregate replaced by the scan of a stage of its own."""
    if not isinstance(rel, Aggregate):
        return rel.with_inputs(tuple(_cut(i, stages, types) for i in rel.inputs))
    group = _group(rel, None, types)
    inner = simplify(_cut(rel.input, stages, types))
    number = len(stages)
    columns = tuple((c, col(c)) for c in rel.columns)
    stages.append(Stage(stage_source(number), inner, group, columns))
    return Scan(stage_source(number), tuple((c, c) for c in rel.columns))
