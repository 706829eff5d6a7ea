"""Aggregates of Spark's plans: keys and calls over a projection, items over these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dt_jupyter.ivm import (
    STAR,
    AggregateCall,
    Call,
    CallParts,
    Expr,
    Ids,
    Infix,
    Raw,
    Refusal,
    SortOrder,
    case,
    col,
    make_call,
    picked_values,
    refuse,
    require_rule,
)
from dt_jupyter.plans.expression_reader import arguments
from dt_jupyter.plans.function_names import called_function
from dt_jupyter.plans.plan_tree import SparkNode, read_facts
from dt_jupyter.plans.scalar_reader import ColumnValues, ScalarReader

_CLASSES = {
    "HyperLogLogPlusPlus": "approx_count_distinct", "StddevSamp": "stddev",
    "PercentileCont": "percentile_cont", "PercentileDisc": "percentile_disc",
    "ListAgg": "listagg", "CountIf": "count_if", "CountMinSketchAgg": "count_min_sketch",
}  # fmt: skip
"""The names of aggregates by which their rules are found, where they are not those of classes."""
_KNOWN = "count, sum, avg, min, max"


@dataclass
class GroupReader:
    """Reads the items of one aggregate over `columns` below; finds its calls as they are met.
    `keys` are the ids of grouping expressions, `carried` what the columns below the aggregate
    are."""

    scalars: ColumnValues
    ids: Ids
    columns: Mapping[int, str]
    keys: dict[Expr, str] = field(default_factory=dict)
    carried: dict[str, Expr] = field(default_factory=dict)
    found: dict[CallParts, str] = field(default_factory=dict)

    @property
    def below(self) -> ScalarReader:
        return self.scalars.over(self.columns)

    def key(self, node: SparkNode) -> str:
        """The id of a grouping expression's column."""
        value = self.below.read(node)
        if value not in self.keys:
            self.keys[value] = self.ids.new(value.column or "k")
            self.carried[self.keys[value]] = value
        return self.keys[value]

    def item(self, node: SparkNode) -> Expr:
        """An item over keys and calls."""
        return replace(self.below, known=self._known).read(node)

    def _known(self, reader: ScalarReader, node: SparkNode) -> Expr | None:
        if node.kind == "AggregateExpression":
            return col(self._call(take_call_apart(node, self.below)))
        value = self.scalars.value_of(reader, node)
        if value is not None:
            return col(self.keys[value]) if value in self.keys else value
        if any(n.kind == "AggregateExpression" for n in node.walk()):
            return None
        key = self.keys.get(self.below.read(node))
        return col(key) if key is not None else None

    def _call(self, parts: CallParts) -> str:
        require_rule(parts.name)
        if parts not in self.found:
            self.found[parts] = self.ids.new(f"a{len(self.found)}")
        return self.found[parts]

    def pivot(self, node: SparkNode) -> tuple[str, ...] | None:
        """The ids of the values of a pivot, which Spark puts into an array; None of other items."""
        inner = node.child if node.kind == "Alias" else node
        if inner.kind != "AggregateExpression" or inner.child.kind != "PivotFirst":
            return None
        key, value = map(self.below.operand, inner.child.children)
        wanted = self.below.list(inner.child.trees("pivotColumnValues"))
        if len(set(wanted)) < len(wanted):
            raise refuse(Refusal.PIVOT, what="a PIVOT with one value twice")
        chosen = (case(Infix(key, "<=>", each), value) for each in wanted)
        return tuple(self._call(CallParts("max", (each,))) for each in chosen)

    def calls(self) -> tuple[tuple[str, AggregateCall], ...]:
        """The calls that the items have; Refused where one has no rule."""
        picked = picked_values(self.found)
        return tuple((i, make_call(p, call_text(p), picked)) for p, i in self.found.items())


def aggregate_calls_in(nodes: Iterable[SparkNode]) -> list[SparkNode]:
    """The aggregate calls of items."""
    return [n for node in nodes for n in node.walk() if n.kind == "AggregateExpression"]


def call_text(parts: CallParts) -> Expr:
    """The call as it is written."""
    call = Call(parts.name.upper(), parts.args or (STAR,), parts.distinct, facts=parts.facts)
    if parts.condition is None:
        return call
    return Raw((call, " FILTER(WHERE ", parts.condition, ")"), facts=parts.facts)


def take_call_apart(node: SparkNode, reader: ScalarReader) -> CallParts:
    """An aggregate expression of Spark's taken apart."""
    call, *more = node.children
    condition = reader.read(more[0]) if more else None
    distinct = bool(node.fields["isDistinct"])
    parts = bare_parts(call, reader)
    if call.kind == "Count" and distinct:  # of constants: one, unless there are no rows
        parts = replace(parts, args=reader.list(call.children))
    return replace(parts, condition=condition, distinct=distinct, facts=read_facts(node))


def bare_parts(call: SparkNode, reader: ScalarReader) -> CallParts:
    """The same of the function without DISTINCT and FILTER."""
    name = _CLASSES.get(call.kind) or called_function(call, reader.builtins)
    if call.kind == "MaxMinByK":
        name = "min_by" if call.fields["reverse"] else "max_by"
    if name is None:
        raise refuse(Refusal.AGGREGATE, what=call.kind, known=_KNOWN)
    given = arguments(call)
    ignores = bool(call.fields.get("ignoreNulls"))
    order: tuple[SortOrder, ...] = ()
    if call.kind in ("PercentileCont", "PercentileDisc"):
        value, share = given[:2]
        reverse = bool(call.fields.get("reverse"))
        order, given = (SortOrder(reader.read(value), reverse, not reverse),), (share,)
    elif call.kind == "ListAgg":
        order = tuple(_sort_order(o, reader) for o in call.trees("orderExpressions"))
        given = given[:1] if is_null(given[1]) else given[:2]
    elif call.kind == "Count" and all(_is_constant(g) for g in given):
        given = ()
    elif call.kind == "Mode":
        given = given[:1]
        if call.fields.get("reverseOpt") is False:  # of equally frequent values the largest
            order, given = (SortOrder(reader.read(given[0]), True, False),), ()
    elif call.kind in ("First", "Last", "AnyValue"):
        given = given[:1]
    return CallParts(name, reader.list(given), order, None, False, ignores)


def is_null(node: SparkNode) -> bool:
    return node.kind == "Literal" and node.fields["value"] is None


def _sort_order(node: SparkNode, reader: ScalarReader) -> SortOrder:
    found = reader.order(node)
    assert isinstance(found, SortOrder)
    return found


def _is_constant(node: SparkNode) -> bool:
    return node.kind == "Literal" and node.fields.get("value") is not None


def columns_of_calls(calls: Iterable[tuple[str, AggregateCall]]) -> Iterable[tuple[str, Expr]]:
    """The columns that calls read."""
    for _, call in calls:
        for column in sorted(call.text.columns | {c for a in call.args for c in a.columns}):
            yield column, col(column)
