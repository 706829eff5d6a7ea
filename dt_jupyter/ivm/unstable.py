"""Which columns are equal only within a tolerance, and what may not depend on them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from dt_jupyter.ivm.aggregates import is_floating
from dt_jupyter.ivm.continuity import decider_in, only_null_tests
from dt_jupyter.ivm.expr import Col, Expr
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
)
from dt_jupyter.ivm.stage_groups import group_of

_EXACT = re.compile(r"(MIN|MAX|FIRST|LAST|FIRST_VALUE|LAST_VALUE|ANY_VALUE|NTH_VALUE|LAG|LEAD)\(")
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
    known, found = types(rel), set()
    for call in rel.calls:
        by_ties = not call.total and (call.order or call.frame)
        decides = is_floating(known[call.id]) and call.function.columns
        if not decides or _is_exact_average(call.function, known):
            continue
        if by_ties:
            raise refuse(Refusal.FLOATING_AGGREGATE_DECIDES, what="a window over ties")
        in_order = call.total and call.order
        if not in_order and not _EXACT.match(call.function.sql(str).upper()):
            found.add(call.id)
    return passed | found


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
