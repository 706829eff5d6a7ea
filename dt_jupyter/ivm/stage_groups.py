"""The groups that a stage keeps, with the aggregates of each and how they are kept."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dt_jupyter.ivm.aggregates import ON_CHANGE, ONCE, Kept, argument_types, arguments_of, keep
from dt_jupyter.ivm.expr import Call, Expr
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import Aggregate, AggregateCall, TypesOf
from dt_jupyter.model.hidden import hidden

HAS_MAP = re.compile(r"\bmap<")
"""Of types: values that do not compare."""


@dataclass(frozen=True)
class StageColumn:
    """An aggregate column of a stage: its call, its type, and how it is kept (None: recomputed)."""

    id: str
    call: AggregateCall
    type: str
    kept: Kept | None

    @property
    def function(self) -> str:
        """The user's function, where the column has the values of one."""
        assert isinstance(self.call.text, Call)
        return self.call.text.function

    @property
    def own(self) -> str:
        """The column with the value that the query's own call gives, where that may be the only
        way to it; else empty."""
        if self.kept is None:
            return self.id
        return hidden(f"{self.id}_own") if self.kept.outside else ""


@dataclass(frozen=True)
class Group:
    """One row for each group of the input, with its partial results; without keys it is one row
    that is always there.

    `visible` (such as HAVING) says which groups are in the public rows.
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


def group_of(node: Aggregate, visible: Expr | None, types: TypesOf) -> Group:
    below, above = types(arguments_of(node)), types(node)
    for key in node.keys:
        if HAS_MAP.search(above[key]):
            raise refuse(Refusal.MAP_KEY, type=above[key])
    kept = tuple(
        StageColumn(i, c, above[i], keep(c, i, above[i], argument_types(i, c, below)))
        for i, c in node.calls
    )
    return Group(node.keys, kept, visible)
