"""The definition's tree as it is kept: operator, rule, state and estimated rows of each node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.ivm import (
    Aggregate,
    Filter,
    Generate,
    Group,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Stage,
    Top,
    Union,
    Window,
)

_KEPT_SHARE = 0.5
"""What a condition is guessed to keep."""
_FAN = 3
"""What a generator is guessed to make of a row."""


@dataclass(frozen=True)
class Size:
    """Rows of a relation, and of its change: facts for sources and stages, guesses above them."""

    rows: float | None = None
    changed: float | None = None


@dataclass(frozen=True)
class PlanNode:
    """What a node does, the rule by which its change is derived (of a stage: how its rows are
    kept), and its size; `depth` counts from 0."""

    depth: int
    operator: str
    rule: str = ""
    state: str = ""
    size: Size = Size()

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
        nodes.append(PlanNode(0, title, "", _kept(stage), sizes.get(stage.id, Size())))
        nodes += _below(stage.input, names, sizes, 1)
    return tuple(nodes)


def _kept(stage: Stage) -> str:
    top = stage.top
    if not isinstance(top, Group):
        return "rows without a key, found again by a hash of their content"
    again = [a.call.function for a in top.aggregates if a.kept is None]
    kept = [a.call.function for a in top.aggregates if a.kept is not None]
    key = f"key ({', '.join(top.keys)})" if top.keys else "one row, always"
    parts = [f"{', '.join(dict.fromkeys(kept))} from state"] if kept else []
    if again:
        parts.append(f"{', '.join(dict.fromkeys(again))} computed again for touched groups")
    return f"{key}; " + (", ".join(parts) or "groups counted")


def _below(
    rel: Rel, names: Mapping[str, str], sizes: Mapping[str, Size], depth: int
) -> list[PlanNode]:
    operator, rule = _what(rel, names)
    node = PlanNode(depth, operator, rule, "", estimated(rel, sizes))
    return [node, *(x for i in rel.inputs for x in _below(i, names, sizes, depth + 1))]


def _what(rel: Rel, names: Mapping[str, str]) -> tuple[str, str]:
    """The node, and the rule by which its change is derived."""
    match rel:
        case Scan():
            return f"{names.get(rel.source, rel.source)} ({len(rel.reads)} columns)", ""
        case Rows():
            return "literal rows", "they never change"
        case Project():
            return f"projection of {len(rel.items)} columns", "π(Δ)"
        case Filter():
            return f"filter of {len(rel.on)} conditions", "σ(Δ)"
        case Join():
            return f"join of {len(rel.members)}", "Δ of each with the others, one term for each"
        case Match():
            keys = ", ".join(a for a, _ in rel.pairs)
            word = {MatchKind.LEFT: "left join", MatchKind.SEMI: "semi join"}.get(
                rel.kind, "anti join"
            )
            return (
                f"{word} on ({keys})",
                "Δ of the left side; touched keys of the right at both ends",
            )
        case Union():
            return f"union of {len(rel.members)}", "Δ of each"
        case Generate():
            return "rows generated from each row", "of Δ alone"
        case Window():
            keys = ", ".join(rel.partition)
            over = f"touched partitions of ({keys})" if keys else "the one partition"
            return "window", f"{over} at both ends"
        case Top():
            many = rel.count if rel.count is not None else "rows"
            return f"first {many} in order", "both ends"
        case Aggregate():
            return "aggregate", ""
        case Restrict():
            return "restriction to touched keys", ""
    raise TypeError(type(rel).__name__)


def estimated(rel: Rel, sizes: Mapping[str, Size]) -> Size:
    """Rows of a node and of its change."""
    below = [estimated(i, sizes) for i in rel.inputs]
    rows = _combined(rel, [s.rows for s in below])
    match rel:
        case Scan():
            return sizes.get(rel.source, Size())
        case Rows():
            return Size(None, 0)
        case Join() | Match():
            terms = [
                None if s.changed is None or not s.rows or rows is None
                else s.changed * max(1.0, rows / s.rows)
                for s in below
            ]  # fmt: skip
            known = [t for t in terms if t is not None]
            return Size(rows, sum(known) if len(known) == len(terms) else None)
    return Size(rows, _combined(rel, [s.changed for s in below]))


def _combined(rel: Rel, below: list[float | None]) -> float | None:
    known = [n for n in below if n is not None]
    if len(known) != len(below) or not known:
        return None
    match rel:
        case Filter():
            return float(known[0] * _KEPT_SHARE ** min(2, len(rel.on)))
        case Union():
            return sum(known)
        case Generate():
            return known[0] * _FAN
        case Match():
            return known[0] if rel.kind is MatchKind.LEFT else known[0] * _KEPT_SHARE
        case Top():
            return min(known[0], float(rel.count if rel.count is not None else known[0]))
    return max(known)


def _told(size: Size) -> str:
    if size.rows is None:
        return ""
    changed = f", Δ ≈ {size.changed:,.0f}" if size.changed is not None else ""
    return f"  [≈ {size.rows:,.0f} rows{changed}]"
