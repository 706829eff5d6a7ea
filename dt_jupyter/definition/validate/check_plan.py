"""What the check at creation does: which sources change together, and on how many rows.

A derivative grows with the square of the sources that change, and rows with the product of those
that are joined. So wide definitions change in rounds of few sources, and rows become fewer, and
their keys more similar, until the count of rows allows them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from dt_jupyter.definition.change_size import operators
from dt_jupyter.ivm import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Match,
    PerOperator,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Stage,
    Top,
    Union,
    Window,
    combines,
    equated,
    stage_origins,
    walk,
)

MOST_OPERATORS = 150
"""The operators of the derivatives of one round: Spark takes some 15 ms for each."""

HARDEST = 8 * MOST_OPERATORS
"""The same where one source alone makes more; beyond, its change is not checked."""

_WIDE = 12
"""From this number of joined relations on, not even the size of a change of all sources is
computed."""


@dataclass(frozen=True)
class Rung:
    """How many rows each source has: `made` ones and `real` ones at most. `drift` is how often a
    value of a joined column is not that of its row's number; None: any value, as of the others."""

    made: int
    real: int
    drift: float | None = None


def rungs(stages: Iterable[Stage]) -> tuple[Rung, ...]:
    """From the most telling rows to the fewest."""
    found = list(stages)
    drift = min(0.3, 0.5 / max(1, sum(len(list(_pairs(s.input))) for s in found)))
    few = (Rung(3, 3), Rung(3, 1, drift), Rung(2, 0, drift), Rung(1, 0, 0.0))
    if any(explosive(s.input) for s in found):
        return few
    aligned = (Rung(40, 40, drift), Rung(40, 8, drift), Rung(40, 0, drift), Rung(40, 0, 0.0))
    return (Rung(40, 40), *aligned, Rung(12, 2, drift), *few)


def explosive(rel: Rel) -> bool:
    """Whether a few rows may make any number: what generators make of them is combined freely."""
    nodes = list(walk(rel))
    combined = any(isinstance(n, Join) and not any(map(equated, n.on)) for n in nodes)
    return combined and any(isinstance(n, Generate) for n in nodes)


def joined_columns(stages: Iterable[Stage]) -> frozenset[tuple[str, str]]:
    """The columns (source, name) that are compared with columns of other sources: their values
    decide how many rows a join has."""
    found: set[tuple[str, str]] = set()
    outputs: dict[tuple[str, str], tuple[Rel, str]] = {}
    for stage in stages:
        for left, right in _pairs(stage.input):
            for rel, column in (left, right):
                found |= stage_origins(rel, column, outputs)
        outputs |= {(stage.id, n): (stage.input, e.column) for n, e in stage.outputs if e.column}
    return frozenset(found)


_Compared = tuple[Rel, str]
"""A column of an input, with that input."""


def _pairs(rel: Rel) -> Iterator[tuple[_Compared, _Compared]]:
    """What joins compare: columns of two of their inputs, each with its input."""
    for node in walk(rel):
        yield from _COMPARED[type(node)](node)


def _nothing_compared(rel: Rel) -> Iterator[tuple[_Compared, _Compared]]:
    return iter(())


def _conditions_compared(rel: Rel) -> Iterator[tuple[_Compared, _Compared]]:
    assert isinstance(rel, Join | Match)
    for predicate in rel.on:
        homes = [(i, c) for c in sorted(predicate.columns) for i in rel.inputs if c in i.columns]
        if len(homes) == 2 and homes[0][0] is not homes[1][0]:
            yield homes[0], homes[1]


def _match_compared(rel: Rel) -> Iterator[tuple[_Compared, _Compared]]:
    assert isinstance(rel, Match)
    for a, b in rel.pairs:
        yield (rel.left, a), (rel.right, b)
    yield from _conditions_compared(rel)


_COMPARED = PerOperator[Callable[[Rel], Iterator[tuple[_Compared, _Compared]]]](
    "compared columns",
    dict.fromkeys(
        (Scan, Rows, Project, Filter, Union, Generate, Window, Top, Aggregate, Restrict),
        _nothing_compared,
    )
    | {Join: _conditions_compared, Match: _match_compared},
)


def rounds(
    stages: tuple[Stage, ...], sources: Iterable[str], rng: random.Random
) -> Iterator[frozenset[str]]:
    """Sets of sources that change together, each of derivatives that Spark can plan in a moment,
    one found when it is requested; a source that is in none changes in no check."""
    every = list(sources)
    rng.shuffle(every)
    most = len(every) if _width(stages) <= _WIDE else _WIDE // 2
    pending = [every[i : i + most] for i in range(0, len(every), most or 1)][::-1]
    while pending:
        some = pending.pop()
        size = operators(stages, frozenset(some))
        if size <= MOST_OPERATORS or (len(some) == 1 and size <= HARDEST):
            yield frozenset(some)
        elif len(some) > 1:
            pending += [some[len(some) // 2 :], some[: len(some) // 2]]


def _width(stages: Iterable[Stage]) -> int:
    """How many relations a stage joins, of the stage that joins most."""
    nodes = [list(filter(combines, walk(s.input))) for s in stages]
    return max(sum(len(n.inputs) for n in some) for some in nodes)
