"""Expressions of Spark's plans as `Expr`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from dt_jupyter.ivm import Bracketed, Call, Expr, Infix, Literal, Refusal, col, refuse
from dt_jupyter.plans.expression_reader import (
    SELF_CONTAINED,
    TAKEN_OUT,
    ExpressionReader,
    has_taken_out,
    program_name,
    written_nodes,
)
from dt_jupyter.plans.function_names import sql_function
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.plans.plan_tree import SparkNode, place_refusals, read_facts
from dt_jupyter.plans.special_times import refused_time

CONTEXT = {
    "CurrentTimestamp": "current_timestamp", "CurrentDate": "current_date", "Now": "now",
    "LocalTimestamp": "localtimestamp", "CurrentTime": "current_time",
    "CurrentUser": "current_user", "SessionUser": "session_user",
    "CurrentCatalog": "current_catalog", "CurrentDatabase": "current_database",
    "CurrentTimeZone": "current_timezone", "SparkVersion": "version",
    "CurrentPath": "current_path",
}  # fmt: skip
_SUBQUERIES = {
    "ScalarSubquery": "a subquery in this place", "Exists": "EXISTS in this place",
    "InSubquery": "IN (subquery) in this place", "ListQuery": "a subquery in this place",
    "LateralSubquery": "a lateral relation",
}  # fmt: skip
_PRECISE = "PreciseTimestampConversion"
_NOT_FIXED = {"AesEncrypt": "aes_encrypt", "RaiseError": "raise_error"}
"""What Spark takes for deterministic: one has random bytes in its value, one no value."""


@dataclass(frozen=True)
class ScalarReader(ExpressionReader):
    """Reads expressions of a relation; `known` gives what is computed below: subqueries, calls,
    keys. Refused unless an expression is a deterministic scalar of the row."""

    known: Callable[[ScalarReader, SparkNode], Expr | None] = lambda reader, node: None

    def read(self, node: SparkNode) -> Expr:
        if node.kind == "Alias":
            return self._item(node.child)
        return self._value(_as_written(node))

    def operand(self, node: SparkNode) -> Expr:
        written = _as_written(node)
        found = self._value(written)
        closed = found.column is not None or written.kind in SELF_CONTAINED
        return found if closed else Bracketed(found)

    def _item(self, node: SparkNode) -> Expr:
        """An item, of the type that Spark's analyser casts it to."""
        if node.kind != "Cast" or node.fields["explicit"]:
            return self.read(node)
        return self.known(self, node) or self.cast(node)

    def _value(self, node: SparkNode) -> Expr:
        with place_refusals(node):
            try:
                return self._placed_value(node)
            except NoForm as e:
                raise refuse(Refusal.EXPRESSION, what=e.what) from None

    def _placed_value(self, node: SparkNode) -> Expr:
        found = self.known(self, node)
        if found is not None:
            return found.as_said(read_facts(node))
        if (end := _window_end(node)) is not None:
            micros = Call("unix_micros", (self.read(end),))
            return Call("timestamp_micros", (Infix(micros, "-", Literal("1")),))
        check_node(node, self.builtins, self.functions)
        return super().read(node)

    def _is_stale(self, node: SparkNode) -> bool:
        return super()._is_stale(node) or is_read_replaced(node)


def _as_written(node: SparkNode) -> SparkNode:
    """Without the casts that Spark's analyser adds to operands: it adds the same to a text without
    them."""
    while node.kind == "Cast" and not (node.fields["explicit"] or _is_kept(node)):
        _check_time(node)
        node = node.child
    return node


_WHOLE = ("byte", "short", "integer", "long")


def _is_kept(cast: SparkNode) -> bool:
    """Whether Spark does not add the same to every text: that of `grouping(…)`, which is a bit of a
    number, and of a condition of HAVING, which may be of any type."""
    if cast.type == "boolean":
        return True
    kind, made = cast.child.type, cast.type
    return kind in _WHOLE and made in _WHOLE and _WHOLE.index(made) < _WHOLE.index(kind)


def is_read_replaced(call: SparkNode) -> bool:
    """Whether a call is read by what Spark puts in its place: as it was written it has a subquery,
    which is a join by now, or a window or an aggregate, which is a column."""
    return has_taken_out(call) or any(n.kind in _SUBQUERIES for n in written_nodes(call))


def _window_end(node: SparkNode) -> SparkNode | None:
    """The end of the window whose window_time(…) an expression is; None of other expressions."""
    if node.kind != _PRECISE or node.type != "timestamp" or node.child.kind != "Subtract":
        return None
    end, one = node.child.children
    is_time = end.kind == _PRECISE and end.child.type == "timestamp"
    return end.child if is_time and one.fields.get("value") == "1" else None


def check_node(node: SparkNode, builtins: Collection[str], own: Collection[str]) -> None:
    """Raises Refused unless an expression is a deterministic scalar of the row. Calls of `own`,
    functions of the user's, are such: their values are kept."""
    kind = node.kind
    if kind in CONTEXT:
        raise refuse(Refusal.CONTEXT_FUNCTION, what=f"{CONTEXT[kind]}()")
    if node.deterministic is False:
        _check_calls(node, builtins, own)
    if kind in _SUBQUERIES:
        raise refuse(Refusal.SUBQUERY, what=_SUBQUERIES[kind])
    if kind in TAKEN_OUT:
        raise refuse(Refusal.EXPRESSION, what=TAKEN_OUT[kind])
    if kind in _NOT_FIXED:
        raise refuse(Refusal.NON_DETERMINISTIC, what=f"{_NOT_FIXED[kind]}()")
    if kind == _PRECISE:
        raise refuse(Refusal.SESSION_WINDOW)
    if kind == "Cast":
        _check_time(node)


def _check_calls(node: SparkNode, builtins: Collection[str], own: Collection[str]) -> None:
    """Raises Refused of the first call in an expression that makes it give another value each
    time."""
    for call in node.walk():
        if call.deterministic is not False or any(c.deterministic is False for c in call.children):
            continue
        if call.kind == "PythonUDF" and program_name(call).lower() in own:
            continue
        with place_refusals(call):
            if call.kind == "PythonUDF":
                raise refuse(Refusal.UNKNOWN_FUNCTION, what=f"{program_name(call)}()")
            name = sql_function(call.kind, builtins) or call.kind.lower()
            raise refuse(Refusal.NON_DETERMINISTIC, what=f"{name}()")


def _check_time(cast: SparkNode) -> None:
    """Raises Refused of a string that is read as another time each day."""
    is_time = isinstance(cast.type, str) and cast.type.startswith(("date", "timestamp"))
    if is_time and cast.child.kind == "Literal" and cast.child.type == "string":
        refused = refused_time(str(cast.child.fields.get("value")))
        if refused is not None:
            raise refused


@dataclass
class ColumnValues:
    """Reads expressions over columns: `builtins` are Spark's functions, `functions` the user's.
    `values` are the ids of columns that were joined in for subqueries, by Spark's number."""

    builtins: Collection[str]
    functions: Collection[str] = ()
    values: dict[int, str] = field(default_factory=dict)

    def over(self, columns: Mapping[int, str]) -> ScalarReader:
        return ScalarReader(
            columns, self.builtins, _no_query, functions=self.functions, known=self.value_of
        )

    def read(self, node: SparkNode, columns: Mapping[int, str]) -> Expr:
        return self.over(columns).read(node)

    def value_of(self, reader: ScalarReader, node: SparkNode) -> Expr | None:
        """The column of a subquery's value."""
        if node.kind not in _SUBQUERIES or "exprId" not in node.fields:
            return None
        column = self.values.get(node.id)
        return col(column) if column is not None else None


def _no_query(node: SparkNode, outer: Mapping[int, str]) -> str:
    raise refuse(Refusal.SUBQUERY, what="a subquery in this place")
