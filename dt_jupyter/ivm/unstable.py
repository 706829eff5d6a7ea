"""Which columns are equal only within a tolerance, and what may not depend on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dt_jupyter.ivm.aggregates import is_floating
from dt_jupyter.ivm.continuity import decider_in, only_null_tests
from dt_jupyter.ivm.expr import Call, Column, Expr
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.refusal import Refusal, refuse
from dt_jupyter.ivm.rel import (
    SETTLING,
    Aggregate,
    AggregateCall,
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
    own_reads,
)
from dt_jupyter.ivm.stage_groups import group_of

_OF_ONE_ROW = frozenset({
    "min", "max", "first", "last", "first_value", "last_value", "any_value", "nth_value", "lag",
    "lead",
})  # fmt: skip
"""Window functions whose value is that of one row."""


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
        elif e.columns & below and not only_null_tests(e, below):
            type_ = types(rel)[item]
            if "double" not in type_ and "float" not in type_:
                raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=f"a {type_}")
            _require_continuous(e, below)
            found.add(item)
    return frozenset(found)


def _require_continuous(e: Expr, below: frozenset[str]) -> None:
    """Refused where a last bit may make another value."""
    if decider := decider_in(e, below):
        raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=f"the value of {decider}")


def _unstable_places(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    assert isinstance(rel, Union)
    at_place = {m.columns.index(c) for m in rel.members for c in m.columns if c in below}
    return frozenset(rel.ids[i] for i in at_place)


def _decided_by(what: str) -> Callable[[Rel, frozenset[str], TypesOf], frozenset[str]]:
    """Passes columns on; raises where what it decides by is equal within a tolerance only."""

    def rule(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
        if own_reads(rel) & below:
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=what)
        return below

    return rule


def _unstable_window(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    """A floating value over rows that tie has other last bits each time it is computed."""
    assert isinstance(rel, Window)
    passed = _decided_by("a window")(rel, below, types)
    known, found = types(rel), set()
    for call in rel.calls:
        by_ties = not call.total and (call.order or call.frame)
        decides = is_floating(known[call.id]) and call.function.columns
        if not decides or _is_exact_average(call.function, known):
            continue
        if by_ties:
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="a window over ties")
        in_order = call.total and call.order
        if not in_order and not _is_of_one_row(call.function):
            found.add(call.id)
    return passed | found


def _is_exact_average(function: Expr, types: Mapping[str, str]) -> bool:
    """Spark adds up integers of 32 bits as doubles, exactly below 2^53: four million rows of the
    largest."""
    match function:
        case Call("AVG", (Column(column),), False):
            return types[column] in ("tinyint", "smallint", "int")
    return False


def _is_of_one_row(function: Expr) -> bool:
    """Whether the call, with FILTER and what is said of NULLs, gives the value of one row."""
    while not isinstance(function, Call) and (first := function.first) is not None:
        function = first
    return isinstance(function, Call) and function.function in _OF_ONE_ROW


def _chosen_by(call: AggregateCall) -> tuple[Expr, ...]:
    """The arguments by which a call chooses a row, whose value it then gives."""
    if call.function == "mode":
        return call.args
    return call.args[1:] if call.function in SETTLING else ()


def _unstable_aggregates(rel: Rel, below: frozenset[str], types: TypesOf) -> frozenset[str]:
    assert isinstance(rel, Aggregate)
    if below & set(rel.keys):
        raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="a key")
    found = set()
    for a in group_of(rel, None, types).aggregates:
        moved = any(e.columns & below for e in a.call.args)
        plain = a.call.function == "count" and not a.call.distinct
        chosen_by = any(e.columns & below for e in _chosen_by(a.call))
        if chosen_by or (moved and not is_floating(a.type) and not plain):
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what=f"{a.call.function}()")
        if moved and a.call.distinct:
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="DISTINCT")
        for arg in a.call.args:
            _require_continuous(arg, below)
        if is_floating(a.type) and (moved or a.kept is None):
            found.add(a.id)
    return frozenset(found)


_UNSTABLE = PerOperator[Callable[[Rel, frozenset[str], TypesOf], frozenset[str]]](
    "unstable",
    {
        Scan: _all_stable,
        Rows: _all_stable,
        Project: _unstable_items,
        Filter: _decided_by("a filter"),
        Join: _decided_by("a join"),
        Match: _decided_by("a join"),
        Union: _unstable_places,
        Generate: _decided_by("a generator"),
        Window: _unstable_window,
        Top: _decided_by("an order with LIMIT"),
        Aggregate: _unstable_aggregates,
        Restrict: _decided_by("a key"),
    },
)
