"""Expressions of Spark Connect's plans as SQL: their names are not resolved yet."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import quote
from dt_jupyter.plans.connect_literal import connect_literal, type_ddl
from dt_jupyter.plans.no_form import NoForm, PythonFunction
from dt_jupyter.plans.struct_updates import FieldUpdate, update_struct

if TYPE_CHECKING:
    from pyspark.sql.types import DataType

_WORDS = {"==": "=", "and": "AND", "or": "OR", "in": "IN", "like": "LIKE", "rlike": "RLIKE"}
_AFTER = {"isNull": "IS NULL", "isnull": "IS NULL", "isNotNull": "IS NOT NULL",
          "isnotnull": "IS NOT NULL"}  # fmt: skip
_BEFORE = {"not": "NOT", "negative": "-", "!": "NOT"}
_SUFFIX = re.compile(r"(?<=\d)[LSY]\Z")
_PART = re.compile(r"`(?:[^`]|``)*`|[^.`]+")
_TRY = 3


@dataclass(frozen=True)
class ConnectExpressions:
    """Writes expressions over the relations of one FROM: `aliases` are theirs, by plan;
    `functions` are those of the user's that may be called by these names; `kind_of` tells the type
    of an expression."""

    aliases: Mapping[int, str]
    functions: Collection[str] = ()
    kind_of: Callable[[Any], DataType] | None = None

    def sql(self, node: Any) -> str:
        """The expression as SQL; NoForm where it has none."""
        kind = node.WhichOneof("expr_type")
        rule = _RULES.get(kind)
        if rule is None:
            raise NoForm(f"the expression {kind}")
        text: str = rule(self, getattr(node, kind))
        return text

    def column(self, node: Any) -> str:
        alias = self.aliases.get(node.plan_id) if node.HasField("plan_id") else None
        name = str(node.unparsed_identifier)
        return (
            f"{alias}.{name}"
            if alias and len(set(filter(None, self.aliases.values()))) > 1
            else name
        )

    def star(self, node: Any) -> str:
        return str(node.unparsed_target) or "*"

    def alias(self, node: Any) -> str:
        if len(node.name) > 1:
            return f"{self.sql(node.expr)} AS ({', '.join(map(quote, node.name))})"
        return f"{self.sql(node.expr)} AS {quote(node.name[0])}"

    def cast(self, node: Any) -> str:
        word = "TRY_CAST" if node.eval_mode == _TRY else "CAST"
        return f"{word}({self.sql(node.expr)} AS {node.type_str or type_ddl(node.type)})"

    def call(self, node: Any) -> str:
        name, given = node.function_name, [self.sql(a) for a in node.arguments]
        if node.is_user_defined_function and name.lower() not in self.functions:
            raise PythonFunction(name)
        if name == "when":
            return _case(given)
        if name == "in":
            return f"({given[0]} IN ({', '.join(given[1:])}))"
        if name in _AFTER:
            return f"({given[0]} {_AFTER[name]})"
        if name in _BEFORE and len(given) == 1:
            return f"({_BEFORE[name]} {given[0]})"
        if len(given) == 2 and (name in _WORDS or not name[0].isalpha()):
            return f"({given[0]} {_WORDS.get(name, name)} {given[1]})"
        return f"{name}({'DISTINCT ' if node.is_distinct else ''}{', '.join(given)})"

    def named_call(self, node: Any) -> str:
        return f"{node.function_name}({', '.join(map(self.sql, node.arguments))})"

    def text(self, node: Any) -> str:
        return str(node.expression)

    def order(self, node: Any) -> str:
        word = "DESC" if node.direction == 2 else "ASC"
        return (
            f"{self.sql(node.child)} {word} NULLS {'FIRST' if node.null_ordering == 1 else 'LAST'}"
        )

    def lambda_(self, node: Any) -> str:
        names = ", ".join(".".join(a.name_parts) for a in node.arguments)
        return f"({names}) -> {self.sql(node.function)}"

    def variable(self, node: Any) -> str:
        return ".".join(node.name_parts)

    def item(self, node: Any) -> str:
        return f"{self.sql(node.child)}[{self.sql(node.extraction)}]"

    def window(self, node: Any) -> str:
        parts = []
        if node.partition_spec:
            parts.append(f"PARTITION BY {', '.join(map(self.sql, node.partition_spec))}")
        if node.order_spec:
            parts.append(f"ORDER BY {', '.join(map(self.order, node.order_spec))}")
        if node.HasField("frame_spec"):
            frame = node.frame_spec
            kind = "ROWS" if frame.frame_type == 1 else "RANGE"
            low, high = self._bound(frame.lower, "PRECEDING"), self._bound(frame.upper, "FOLLOWING")
            parts.append(f"{kind} BETWEEN {low} AND {high}")
        return f"{self.sql(node.window_function)} OVER ({' '.join(parts)})"

    def _bound(self, bound: Any, end: str) -> str:
        if bound.WhichOneof("boundary") == "current_row":
            return "CURRENT ROW"
        if bound.WhichOneof("boundary") == "unbounded":
            return f"UNBOUNDED {end}"
        number = _SUFFIX.sub("", self.sql(bound.value))
        return f"{number[1:]} PRECEDING" if number.startswith("-") else f"{number} FOLLOWING"

    def value(self, node: Any) -> str:
        return connect_literal(node)

    def named_argument(self, node: Any) -> str:
        return f"{node.key} => {self.sql(node.value)}"

    def update_fields(self, node: Any) -> str:
        """All updates of one struct at once: each names it for every field."""
        updates, base = [], node
        while True:
            new = base.value_expression if base.HasField("value_expression") else None
            names = _name_parts(base.field_name)
            text = self.sql(new) if new is not None else None
            updates.append(FieldUpdate(names, text, partial(self._kind, new)))
            struct = base.struct_expression
            if struct.WhichOneof("expr_type") != "update_fields":
                break
            base = struct.update_fields
        whole = type(struct)(update_fields=node)
        kinds = (self._kind(struct), self._kind(whole))
        return update_struct(self._operand(struct), kinds[0], updates[::-1], kinds[1])

    def _operand(self, node: Any) -> str:
        text = self.sql(node)
        return text if node.WhichOneof("expr_type") == "unresolved_attribute" else f"({text})"

    def _kind(self, node: Any) -> DataType:
        if self.kind_of is None:
            raise NoForm("withField and dropFields in a join's condition")
        return self.kind_of(node)


def _case(given: list[str]) -> str:
    branches = zip(given[0::2], given[1::2], strict=False)
    rest = f" ELSE {given[-1]}" if len(given) % 2 else ""
    return f"CASE {' '.join(f'WHEN {a} THEN {b}' for a, b in branches)}{rest} END"


def _name_parts(name: str) -> tuple[str, ...]:
    """Of a name with dots, those in backquotes aside."""
    found = _PART.findall(name)
    return tuple(p[1:-1].replace("``", "`") if p.startswith("`") else p for p in found)


def _program(writer: ConnectExpressions, node: Any) -> str:
    raise PythonFunction(node.function_name)


_RULES: Mapping[str, Any] = {
    "literal": ConnectExpressions.value,
    "unresolved_attribute": ConnectExpressions.column,
    "unresolved_function": ConnectExpressions.call,
    "call_function": ConnectExpressions.named_call,
    "expression_string": ConnectExpressions.text,
    "unresolved_star": ConnectExpressions.star,
    "alias": ConnectExpressions.alias,
    "cast": ConnectExpressions.cast,
    "sort_order": ConnectExpressions.order,
    "lambda_function": ConnectExpressions.lambda_,
    "unresolved_named_lambda_variable": ConnectExpressions.variable,
    "update_fields": ConnectExpressions.update_fields,
    "named_argument_expression": ConnectExpressions.named_argument,
    "window": ConnectExpressions.window,
    "unresolved_extract_value": ConnectExpressions.item,
    "common_inline_user_defined_function": _program,
}
