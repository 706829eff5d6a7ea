"""Aggregates of Spark's plans: keys and calls over a projection, items over these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from dt_jupyter.ivm import SUPPORTED, UNRULED, Call, Expr, Refusal, col, expr, refuse
from dt_jupyter.ivm.settled_calls import PICKS, CallParts, OrderTerm, settle_call
from dt_jupyter.plans.function_names import sql_function
from dt_jupyter.plans.plan_tree import SparkNode
from dt_jupyter.plans.expression_sql import arguments
from dt_jupyter.plans.scalar_reader import Scalars, ScalarWriter, marked, parsed
from dt_jupyter.sql.binding.scope import Ids

_CLASSES = {
    "AggregateExpression": "", "HyperLogLogPlusPlus": "approx_count_distinct",
    "StddevSamp": "stddev", "PercentileCont": "percentile_cont", "PercentileDisc":
    "percentile_disc", "ListAgg": "listagg", "CountIf": "count_if", "CountMinSketchAgg":
    "count_min_sketch", "MaxMinByK": "max_by",
}  # fmt: skip
_KNOWN = "count, sum, avg, min, max"


@dataclass
class GroupReader:
    """Reads the items of one aggregate over `columns` below; finds its calls as they are met."""

    scalars: Scalars
    ids: Ids
    columns: Mapping[int, str]
    keys: dict[str, str] = field(default_factory=dict)
    """The id of each key, by its text over the columns below."""
    carried: dict[str, Expr] = field(default_factory=dict)
    found: dict[str, tuple[str, CallParts]] = field(default_factory=dict)
    """The id and the parts of each call, by its text."""

    @property
    def below(self) -> ScalarWriter:
        return self.scalars.writer(self.columns)

    def key(self, node: SparkNode) -> str:
        """The id of a grouping expression's column."""
        text = self.below.sql(node)
        if text not in self.keys:
            value = parsed(text)
            self.keys[text] = self.ids.new(value.column or "k")
            self.carried[self.keys[text]] = value
        return self.keys[text]

    def item(self, node: SparkNode) -> Expr:
        """An item over keys and calls."""
        return parsed(replace(self.below, known=self._known).sql(node))

    def _known(self, writer: ScalarWriter, node: SparkNode) -> str | None:
        if node.kind == "AggregateExpression":
            return marked(self._call(node))
        value = self.scalars._value(writer, node)
        if value is not None:
            return value
        if node.kind == "Alias" or any(n.kind == "AggregateExpression" for n in node.walk()):
            return None
        text = self.below.sql(node)
        return marked(self.keys[text]) if text in self.keys else None

    def _call(self, node: SparkNode) -> str:
        parts, text = self._parts(node)
        if text not in self.found:
            self.found[text] = (self.ids.new(f"a{len(self.found)}"), parts)
        return self.found[text][0]

    def _parts(self, node: SparkNode) -> tuple[CallParts, str]:
        parts = call_parts(node, self.below)
        text = repr(parts)
        return parts, text

    def pivot(self, node: SparkNode) -> tuple[str, ...] | None:
        """The ids of the values of a pivot, which Spark puts into an array; None of other items."""
        inner = node.child if node.kind == "Alias" else node
        if inner.kind != "AggregateExpression" or inner.child.kind != "PivotFirst":
            return None
        key, value = (parsed(self.below.sql(c)) for c in inner.child.children)
        made = []
        for each in inner.child.trees("pivotColumnValues"):
            wanted = parsed(self.below.sql(each))
            chosen = expr("CASE WHEN ({k}) <=> {v} THEN {x} END", k=key, v=wanted, x=value)
            parts = CallParts("max", (chosen,))
            made.append(self.found.setdefault(repr(parts), (self.ids.new("a"), parts))[0])
        return tuple(made)

    def calls(self) -> tuple[tuple[str, Call], ...]:
        """The calls that the items have; Refused where one has no rule."""
        parts = [p for _, p in self.found.values()]
        picked = picked_values(parts)
        return tuple((i, aggregate_call(p, picked)) for i, p in self.found.values())


def picked_values(calls: Iterable[CallParts]) -> tuple[Expr, ...]:
    """What first, last, any_value and kin among the calls pick, each once."""
    return tuple(dict.fromkeys(p.args[0] for p in calls if p.name in PICKS and p.args))


def aggregate_call(parts: CallParts, picked: tuple[Expr, ...]) -> Call:
    """A call by its rule; FILTER (WHERE p) is CASE WHEN p in its arguments."""
    if parts.name not in SUPPORTED:
        raise refuse(
            Refusal.AGGREGATE, what=parts.name, known=UNRULED.get(parts.name, _KNOWN)
        )
    settled = settle_call(parts, picked)
    if settled is not None:
        return Call(parts.name, settled.args, settled.text, parts.distinct)
    text = call_text(parts)
    if parts.condition is None:
        return Call(parts.name, parts.args, text, parts.distinct)
    if not parts.args:
        return Call("count_if", (parts.condition,), text, parts.distinct)
    chosen = expr("CASE WHEN {p} THEN {x} END", p=parts.condition, x=parts.args[0])
    return Call(parts.name, (chosen, *parts.args[1:]), text, parts.distinct)


def call_text(parts: CallParts) -> Expr:
    """The call as it is written."""
    fields: dict[str, Expr | str] = {f"x{i}": a for i, a in enumerate(parts.args)}
    args = ", ".join("{" + f + "}" for f in fields) or "*"
    text = f"{parts.name.upper()}({'DISTINCT ' if parts.distinct else ''}{args})"
    if parts.condition is not None:
        text, fields = text + " FILTER(WHERE {p})", fields | {"p": parts.condition}
    return expr(text, **fields)


def call_parts(node: SparkNode, writer: ScalarWriter) -> CallParts:
    """An aggregate expression of Spark's taken apart."""
    call, *more = node.children
    condition = parsed(writer.sql(more[0])) if more else None
    return replace(
        bare_parts(call, writer), condition=condition, distinct=bool(node.fields["isDistinct"])
    )


def bare_parts(call: SparkNode, writer: ScalarWriter) -> CallParts:
    """The same of the function without DISTINCT and FILTER."""
    name = _CLASSES.get(call.kind) or sql_function(call.kind, writer.builtins)
    if name is None:
        raise refuse(Refusal.AGGREGATE, what=call.kind, known=_KNOWN)
    given = arguments(call)
    ignores = bool(call.fields.get("ignoreNulls"))
    order: tuple[OrderTerm, ...] = ()
    if call.kind in ("PercentileCont", "PercentileDisc"):
        share, value = (1, 0) if call.kind == "PercentileDisc" else (1, 0)
        order = (_term(given[value], writer, bool(call.fields.get("reverse"))),)
        given = (given[share],)
    elif call.kind == "ListAgg":
        orders = call.trees("orderExpressions")
        order = tuple(_sort_term(o, writer) for o in orders)
        given = tuple(g for g in given[:2])
        if given[1:] and given[1].kind == "Literal" and given[1].fields["value"] is None:
            given = given[:1]
    elif call.kind == "Count" and all(_is_constant(g) for g in given):
        given = ()
    elif call.kind == "Mode":
        given = given[:1]
    elif call.kind in ("First", "Last", "AnyValue"):
        given = given[:1]
    args = tuple(parsed(writer.sql(g)) for g in given)
    return CallParts(name, args, order, None, False, ignores)


def _term(node: SparkNode, writer: ScalarWriter, descending: bool) -> OrderTerm:
    value = parsed(writer.sql(node))
    return OrderTerm(value, expr("{x} DESC", x=value) if descending else value)


def _sort_term(node: SparkNode, writer: ScalarWriter) -> OrderTerm:
    return OrderTerm(parsed(writer.sql(node.child)), parsed(writer.order(node)))


def _is_constant(node: SparkNode) -> bool:
    return node.kind == "Literal" and node.fields.get("value") is not None


def carried_columns(calls: Iterable[tuple[str, Call]]) -> Iterable[tuple[str, Expr]]:
    """The columns that calls read."""
    for _, call in calls:
        for column in sorted(call.text.columns | {c for a in call.args for c in a.columns}):
            yield column, col(column)
