"""How large the statements are that move a definition: counted, not made.

A derivative grows with the square of what is joined and changes together, and faster where full
joins are nested; what Spark would plan for minutes is recomputed instead.
"""

from __future__ import annotations

from collections.abc import Iterable

from dt_jupyter.ivm import (
    Refusal,
    Rel,
    Restrict,
    Stage,
    differentiate,
    key_relations,
    refuse,
    with_keys,
)
from dt_jupyter.model import Reason, count_of

MOST_CHANGED = 2_000
"""The operators of the statements of a refresh."""

A_STATEMENT = 3
"""What it costs to begin one, in operators."""

_FAR_TOO_LARGE = 20_000
"""From this number of operators on, keys are not even distinguished."""


def refuse_large_change(stages: tuple[Stage, ...]) -> None:
    """Raises where the change of no source alone is small enough to be moved."""
    sources = {s for stage in stages for s in stage.sources} - {stage.id for stage in stages}
    if sources and all(operators(stages, frozenset({s})) > MOST_CHANGED for s in sorted(sources)):
        what = f"its change has more than {MOST_CHANGED:,} operators"
        raise refuse(Refusal.EXPRESSION, what=what)


def too_wide(stages: tuple[Stage, ...], changed: frozenset[str]) -> Reason | None:
    """Why everything is recomputed if these sources changed together; None: it is not."""
    count = operators(stages, changed)
    if count <= MOST_CHANGED:
        return None
    sentence = (
        f"{count_of(len(changed), 'source')} changed together, and their change has more "
        f"than {MOST_CHANGED:,} operators"
    )
    return Reason("WIDE_CHANGE", sentence)


def affected(stages: Iterable[Stage], changed: frozenset[str]) -> frozenset[str]:
    """The sources that change, and the stages that change with them."""
    found = set(changed)
    for stage in stages:
        if not found.isdisjoint(stage.sources):
            found.add(stage.id)
    return frozenset(found)


def operators(stages: tuple[Stage, ...], changed: frozenset[str]) -> int:
    """How large the statements are that move the stages where these sources change."""
    moving = affected(stages, changed)
    deltas = [d for s in stages if (d := differentiate(s.input, moving)) is not None]
    whole = sum(size(d, keys=True) for d in deltas)
    return whole if whole > _FAR_TOO_LARGE else sum(map(_statements, deltas))


def _statements(delta: Rel) -> int:
    """A derivative and the keys that restrict it, each of them computed once."""
    names: dict[Rel, str] = {}
    total = 0
    for keys in key_relations(delta):
        total += A_STATEMENT + size(with_keys(keys, names))
        names[keys] = ""
    return total + size(with_keys(delta, names))


def size(rel: Rel, *, keys: bool = False) -> int:
    """The operators of a relation, and of the keys that restrict it; what is used several times
    counts as often, and is visited once."""
    known: dict[int, int] = {}

    def measured(node: Rel) -> int:
        if id(node) not in known:
            below = node.inputs
            if keys and isinstance(node, Restrict) and isinstance(node.keys, Rel):
                below = (*below, node.keys)
            known[id(node)] = 1 + sum(map(measured, below))
        return known[id(node)]

    return measured(rel)
