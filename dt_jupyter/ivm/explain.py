"""The definition's tree as it is kept: operator, rule, state and estimated rows of each node."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from dt_jupyter.ivm.derive import LAWS, Law
from dt_jupyter.ivm.estimate import Size, estimated
from dt_jupyter.ivm.expr import Column, col
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.provenance import origins
from dt_jupyter.ivm.rel import (
    SETTLING,
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
    is_sample,
)
from dt_jupyter.ivm.stage_groups import Group
from dt_jupyter.ivm.stages import Stage
from dt_jupyter.model import count_of


@dataclass(frozen=True)
class PlanNode:
    """What a node does, the rule by which its change is derived (of a stage: how its rows are
    kept), its size, and the law of that rule; `depth` counts from 0."""

    depth: int
    operator: str
    rule: str = ""
    state: str = ""
    size: Size = field(default_factory=Size)
    law: Law | None = None

    def __str__(self) -> str:
        how = self.rule or self.state
        return f"{'  ' * self.depth}{self.operator}{': ' if how else ''}{how}{_told(self.size)}"


def tree(
    stages: tuple[Stage, ...], names: Mapping[str, str], sizes: Mapping[str, Size]
) -> tuple[PlanNode, ...]:
    """In the order of reading, the public stage first. `names` and `sizes` are by source id; a
    stage of the definition is a source of those above it."""
    nodes: list[PlanNode] = []
    for ordinal in range(len(stages) - 1, -1, -1):
        stage = stages[ordinal]
        public = ordinal == len(stages) - 1
        title = "the table" if public else f"hidden stage {ordinal}"
        nodes.append(PlanNode(0, title, "", _kept(stage, public), sizes.get(stage.id, Size())))
        nodes += _below(stage.input, names, sizes, 1)
    return tuple(nodes)


def _kept(stage: Stage, public: bool) -> str:
    top = stage.top
    if not isinstance(top, Group):
        return "rows have no key: identified by a hash of all columns"
    again = [_again(a.call.function) for a in top.aggregates if a.kept is None]
    kept = [a.call.function for a in top.aggregates if a.kept is not None]
    named = {e: n for n, e in stage.outputs} if public else {}
    keys = ", ".join(named.get(col(k)) or _in_query(stage.input, k) for k in top.keys)
    key = f"key ({keys})" if top.keys else "always one row"
    parts = [f"{', '.join(dict.fromkeys(kept))} from state"] if kept else []
    if again:
        parts.append(f"{', '.join(dict.fromkeys(again))} recomputed for changed groups")
    return f"{key}; " + (", ".join(parts) or "row count of each group")


def _again(function: str) -> str:
    return f"{function} (in the order of its values)" if function in SETTLING else function


def _in_query(rel: Rel, column: str) -> str:
    """The name that a query has for a column, which is unique by a number at its end: the
    source's, or for what is computed the one without that number; what only a rule has made has
    none, and is shown as the expression that it is."""
    found = {name for _, name in origins(rel, column) or ()}
    if len(found) == 1:
        return found.pop()
    if _OF_RULES in column and isinstance(rel, Project | Filter):
        below, made = rel.input, dict(rel.items) if isinstance(rel, Project) else {}
        return made.get(column, col(column)).sql(lambda c: _in_query(below, c))
    return Column(column).name


_OF_RULES = "__"
"""A part of the ids that rules make."""


def _below(
    rel: Rel, names: Mapping[str, str], sizes: Mapping[str, Size], depth: int
) -> list[PlanNode]:
    operator, rule = _LINES[type(rel)](rel, names)
    node = PlanNode(depth, operator, rule, "", estimated(rel, sizes), LAWS[type(rel)])
    return [node, *(x for i in rel.inputs for x in _below(i, names, sizes, depth + 1))]


_Line = tuple[str, str]
"""What a node is, and the rule by which its change is derived."""


def _scan(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Scan)
    return f"{names.get(rel.source, rel.source)} ({count_of(len(rel.reads), 'column')})", ""


def _project(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Project)
    return f"projection of {count_of(len(rel.items), 'column')}", "π(Δ)"


def _filter(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Filter)
    if any(map(is_sample, rel.on)):
        return "sample by a hash of each row's contents and the seed", "σ(Δ)"
    return f"filter by {count_of(len(rel.on), 'condition')}", "σ(Δ)"


def _join(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Join)
    return (
        f"join of {count_of(len(rel.members), 'input')}",
        "Δ of each, joined with the others",
    )


def _match(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Match)
    if not rel.pairs:
        how = "on a condition" if rel.on else "with every row"
        return f"{_MATCHES[rel.kind]} {how}", "Δ of both sides; rows with a changed partner judged"
    keys = ", ".join(_in_query(rel.left, a) for a, _ in rel.pairs)
    rule = "Δ of the left side; changed keys of the right side recomputed"
    return f"{_MATCHES[rel.kind]} on ({keys})", rule


_MATCHES = {MatchKind.LEFT: "left join", MatchKind.SEMI: "semi join", MatchKind.ANTI: "anti join"}


def _union(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Union)
    return f"union of {count_of(len(rel.members), 'input')}", "Δ of each"


def _window(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Window)
    keys = ", ".join(_in_query(rel.input, c) for c in rel.partition)
    over = f"changed partitions of ({keys})" if keys else "the only partition"
    ties = ", ties in the order of contents" if any(c.settles for c in rel.calls) else ""
    return "window", f"{over} recomputed{ties}"


def _top(rel: Rel, names: Mapping[str, str]) -> _Line:
    assert isinstance(rel, Top)
    many = "all rows" if rel.count is None else f"first {count_of(rel.count, 'row')}"
    after = f" after {count_of(rel.skip, 'row')}" if rel.skip else ""
    order = "in order" if rel.order else "in the order of their contents, as the query names none"
    return f"{many}{after} {order}", "recomputed"


def _always(operator: str, rule: str) -> Callable[[Rel, Mapping[str, str]], _Line]:
    return lambda rel, names: (operator, rule)


_LINES = PerOperator[Callable[[Rel, Mapping[str, str]], _Line]](
    "line in EXPLAIN",
    {
        Scan: _scan,
        Rows: _always("literal rows", "constant"),
        Project: _project,
        Filter: _filter,
        Join: _join,
        Match: _match,
        Union: _union,
        Generate: _always("rows generated from each row", "of Δ alone"),
        Window: _window,
        Top: _top,
        Aggregate: _always("aggregate", ""),
        Restrict: _always("restriction to changed keys", ""),
    },
)


def list_laws(nodes: Iterable[PlanNode]) -> str:
    """The laws of a tree's operators, each once, with their sources."""
    found = dict.fromkeys(n.law for n in nodes if n.law is not None)
    return "\n".join(f"{law.equation}  [{law.source}]" for law in found)


def _told(size: Size) -> str:
    if size.rows is None:
        return ""
    changed = f", Δ ≈ {size.changed:,.0f}" if size.changed is not None else ""
    return f"  [≈ {count_of(round(size.rows), 'row')}{changed}]"
