"""How many rows a relation has at most, and whether a LIMIT leaves any of them out."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

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


def has_all(rel: Rel, count: int | None, skip: int) -> bool:
    """Whether no row is left out."""
    most = _most_rows(rel)
    return not skip and (count is None or (most is not None and most <= count))


def _most_rows(rel: Rel) -> int | None:
    """How many rows a relation has at most, where its operators say so."""
    return _MOST_ROWS[type(rel)](rel)


def _untold(rel: Rel) -> int | None:
    return None


def _most_below(rel: Rel) -> int | None:
    return _most_rows(rel.inputs[0])


def _most_groups(rel: Rel) -> int | None:
    assert isinstance(rel, Aggregate)
    return _most_rows(rel.input) if rel.keys else 1


def _most_on_top(rel: Rel) -> int | None:
    assert isinstance(rel, Top)
    bounds = [n for n in (_most_rows(rel.input), rel.count) if n is not None]
    return min(bounds, default=None)


def _most_joined(rel: Rel) -> int | None:
    known = [n for n in map(_most_rows, rel.inputs) if n is not None]
    return prod(known) if len(known) == len(rel.inputs) else None


_MOST_ROWS = PerOperator[Callable[[Rel], int | None]](
    "most rows",
    dict.fromkeys((Scan, Rows, Match, Union, Generate, Restrict), _untold)
    | dict.fromkeys((Project, Filter, Window), _most_below)
    | {Join: _most_joined, Top: _most_on_top, Aggregate: _most_groups},
    otherwise=_untold,
)
