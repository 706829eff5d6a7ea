"""Expressions of Spark Connect's plans as SQL: their names are not resolved yet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from dt_jupyter.model import quote
from dt_jupyter.plans.no_form import NoForm, PythonFunction
from dt_jupyter.sql import literal

_WORDS = {"==": "=", "and": "AND", "or": "OR", "in": "IN", "like": "LIKE", "rlike": "RLIKE"}
_AFTER = {"isNull": "IS NULL", "isnull": "IS NULL", "isNotNull": "IS NOT NULL",
          "isnotnull": "IS NOT NULL"}  # fmt: skip
_BEFORE = {"not": "NOT", "negative": "-", "!": "NOT"}
_NUMBERS = {"byte": "Y", "short": "S", "integer": "", "long": "L"}
_TRY = 3


@dataclass(frozen=True)
class ConnectExpressions:
    """Writes expressions over the relations of one FROM: `aliases` are theirs, by plan;
    `functions` are those of the user's that may be called by these names."""

    aliases: Mapping[int, str]
    functions: Collection[str] = ()

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
        return f"{word}({self.sql(node.expr)} AS {node.type_str or _ddl(node.type)})"

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
        number = self.sql(bound.value).rstrip("LSY")
        return f"{number[1:]} PRECEDING" if number.startswith("-") else f"{number} FOLLOWING"

    def value(self, node: Any) -> str:
        kind = node.WhichOneof("literal_type")
        value = getattr(node, kind)
        if kind == "null":
            return f"CAST(NULL AS {_ddl(value)})" if _ddl(value) != "void" else "NULL"
        if kind in _NUMBERS:
            return f"{value}{_NUMBERS[kind]}"
        if kind in ("float", "double"):
            return f"CAST({literal(repr(value))} AS {kind.upper()})"
        if kind == "decimal":
            return f"CAST({literal(value.value)} AS DECIMAL({value.precision},{value.scale}))"
        if kind in ("string", "boolean"):
            return literal(value) if kind == "string" else str(value).upper()
        if kind == "date":
            return f"date_from_unix_date({value})"
        if kind == "timestamp":
            return f"timestamp_micros({value})"
        raise NoForm(f"a literal of the kind {kind}")


def _case(given: list[str]) -> str:
    branches = zip(given[0::2], given[1::2], strict=False)
    rest = f" ELSE {given[-1]}" if len(given) % 2 else ""
    return f"CASE {' '.join(f'WHEN {a} THEN {b}' for a, b in branches)}{rest} END"


def _ddl(kind: Any) -> str:
    from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

    return proto_schema_to_pyspark_data_type(kind).simpleString()


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
    "window": ConnectExpressions.window,
    "unresolved_extract_value": ConnectExpressions.item,
    "common_inline_user_defined_function": _program,
}
