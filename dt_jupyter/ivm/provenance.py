"""Where the values of a relation's columns come from.

One step down is a table with an entry for each operator; everything that follows columns through
a relation takes such steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.rel import (
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
    Union,
    Window,
)

Origin = tuple[Scan, str]
"""A scan and the name of one of its columns in the source."""
ColumnRef = tuple[Rel, str]
"""A relation and one of its columns; of a scan, the column's name in the source."""


class _Step(NamedTuple):
    """The columns of inputs that a column's values are computed from.

    `copied`: they are its values, except for the NULLs of an outer join. `bounds`: rows of the
    inputs without the wanted values there make no rows with them, and change no others.
    """

    reads: Sequence[ColumnRef] = ()
    copied: bool = False
    bounds: bool = False


_OF_NOTHING = _Step()


def origins(rel: Rel, column: str) -> tuple[Origin, ...] | None:
    """The columns of sources that hold every value of a relation's column, but the NULLs of an
    outer join; None where some are computed, or it has no such column."""
    return _origins(rel, column) if column in rel.columns else None


def _origins(rel: Rel, column: str) -> tuple[Origin, ...] | None:
    step = _STEPS[type(rel)](rel, column)
    if not step.copied:
        return None
    if isinstance(rel, Scan):
        return tuple((rel, name) for _, name in step.reads)
    parts = [_origins(*place) for place in step.reads]
    return None if None in parts else tuple(o for p in parts for o in p or ())


def places(rel: Rel, column: str) -> tuple[Origin, ...]:
    """The columns of scans that hold a relation's column, where a row without its value there
    makes no row of the relation: rows of it may be left out."""
    return tuple(_places(rel, column)) if column in rel.columns else ()


def _places(rel: Rel, column: str) -> Iterator[Origin]:
    step = _STEPS[type(rel)](rel, column)
    if not step.bounds:
        return
    if isinstance(rel, Scan):
        yield from ((rel, name) for _, name in step.reads)
        return
    for below, name in step.reads:
        yield from _places(below, name)


def stage_origins(
    rel: Rel, column: str, outputs: Mapping[tuple[str, str], ColumnRef]
) -> frozenset[tuple[str, str]]:
    """The columns (source, name) that hold a column's values, through the stages below; `outputs`
    are what those pass on, by the stage and the name."""
    found: frozenset[tuple[str, str]] = frozenset()
    for scan, name in origins(rel, column) or ():
        below = outputs.get((scan.source, name))
        found |= stage_origins(*below, outputs) if below else {(scan.source, name)}
    return found


# -- one step down --------------------------------------------------------------------------------


def _scan(rel: Rel, column: str) -> _Step:
    assert isinstance(rel, Scan)
    name = next((n for i, n in rel.reads if i == column), None)
    return _Step(((rel, name),), True, True) if name is not None else _OF_NOTHING


def _rows(rel: Rel, column: str) -> _Step:
    return _OF_NOTHING


def _project(rel: Rel, column: str) -> _Step:
    assert isinstance(rel, Project)
    item = next((e for i, e in rel.items if i == column), None)
    if item is None:
        return _OF_NOTHING
    if (passed := item.column) is not None:
        return _Step([(rel.input, passed)], True, True)
    return _Step([(rel.input, c) for c in item.columns])


def _union(rel: Rel, column: str) -> _Step:
    assert isinstance(rel, Union)
    at = rel.ids.index(column)
    return _Step([(m, m.columns[at]) for m in rel.members], True, True)


def _held(rel: Rel, column: str) -> Sequence[ColumnRef]:
    """The input that has the column itself."""
    return next(([(i, column)] for i in rel.inputs if column in i.columns), [])


def _passed(rel: Rel, column: str) -> _Step:
    """The rows that there are, some of them left out, each with others that it meets."""
    reads = _held(rel, column)
    return _Step(reads, bool(reads), bool(reads))


def _kept(rel: Rel, column: str) -> _Step:
    """A row less would change others: those that it meets, ties with, or is counted among."""
    reads = _held(rel, column)
    return _Step(reads, bool(reads))


def _match(rel: Rel, column: str) -> _Step:
    """Each row of the left side is independent; one of the right side less would make its partners
    have none."""
    assert isinstance(rel, Match)
    return _passed(rel, column) if column in rel.left.columns else _kept(rel, column)


def _generate(rel: Rel, column: str) -> _Step:
    assert isinstance(rel, Generate)
    if column not in rel.ids:
        return _kept(rel, column)
    return _Step([(rel.input, c) for c in rel.generator.columns])


def _window(rel: Rel, column: str) -> _Step:
    assert isinstance(rel, Window)
    call = next((c for c in rel.calls if c.id == column), None)
    if call is None:
        return _kept(rel, column)
    return _Step([(rel.input, c) for c in call.reads | set(rel.partition)])


def _aggregate(rel: Rel, column: str) -> _Step:
    assert isinstance(rel, Aggregate)
    call = next((c for i, c in rel.calls if i == column), None)
    if call is None:
        return _kept(rel, column)
    return _Step([(rel.input, c) for c in call.reads])


_STEPS = PerOperator[Callable[[Rel, str], _Step]](
    "provenance",
    {
        Scan: _scan,
        Rows: _rows,
        Project: _project,
        Filter: _passed,
        Join: _passed,
        Match: _match,
        Union: _union,
        Generate: _generate,
        Window: _window,
        Top: _kept,
        Aggregate: _aggregate,
        Restrict: _passed,
    },
)
