"""Expressions of Spark's plans as SQL: one text for each, whatever stands around it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from dt_jupyter.model import quote
from dt_jupyter.plans.function_names import INFIX, sql_function
from dt_jupyter.plans.literal_sql import ddl_type, literal_sql, spelled_sql
from dt_jupyter.plans.no_form import NoForm, PythonFunction
from dt_jupyter.plans.plan_facts import grouping_bit
from dt_jupyter.plans.plan_tree import SparkNode, nodes_in
from dt_jupyter.plans.window_sql import window_clause
from dt_jupyter.sql import literal

_PROGRAMS = frozenset({"PythonUDF", "ScalaUDF", "PythonUDAF", "PythonUDTF", "ScalaAggregator"})
"""Functions that are no SQL."""
_NEGATED = {"IsNull": "IS NULL", "IsNotNull": "IS NOT NULL"}
_PIVOTED = frozenset({"byte", "short", "integer", "long", "string", "boolean"})
GROUPING_ID = "grouping_id()"
_DAYS = "ExtractANSIIntervalDays"
_REPLACEMENT, _TRY = "replacement", "TRY"


@dataclass(frozen=True)
class ExpressionWriter:
    """What an expression may read: `columns` gives the text of each column by its number,
    `outer` those of the query around a subquery. `query` writes a subquery, `builtins` are the
    names of Spark's functions, `functions` those of the user's. `common` is what is read more than
    once, by its number, `keys` are the texts of what grouping sets group by."""

    columns: Mapping[int, str]
    builtins: Collection[str]
    query: Callable[[SparkNode, Mapping[int, str]], str]
    outer: Mapping[int, str] = field(default_factory=dict)
    functions: Collection[str] = ()
    common: Mapping[int, SparkNode] = field(default_factory=dict)
    keys: tuple[str, ...] = ()

    def over(self, columns: Mapping[int, str]) -> ExpressionWriter:
        return replace(self, columns=columns)

    def sql(self, node: SparkNode) -> str:
        """The expression as SQL; NoForm where it has none."""
        special = _SPECIAL.get(node.kind)
        if special is not None:
            return special(self, node)
        if node.kind in INFIX and len(node.children) == 2 and node.eval_mode != _TRY:
            left, right = map(self.operand, node.children)
            return f"{left} {INFIX[node.kind]} {right}"
        return self._call(node)

    def operand(self, node: SparkNode) -> str:
        text = self.sql(node)
        return text if node.kind in _CLOSED else f"({text})"

    def list(self, nodes: tuple[SparkNode, ...]) -> str:
        return ", ".join(map(self.sql, nodes))

    def _call(self, node: SparkNode, distinct: str = "") -> str:
        if node.kind in _PROGRAMS:
            return self._program(node)
        if self._is_stale(node):
            return self.sql(node.child)
        name = sql_function(node.kind, self.builtins)
        if node.eval_mode == _TRY:
            tried = (f"try_{name}", f"try_{node.kind.lower()}")
            name = next((t for t in tried if t in self.builtins), None)
        if node.kind == "PreciseTimestampConversion":
            raise NoForm("session_window(…) (its SQL, GROUP BY session_window(…), is FULL)")
        if name is None:
            raise NoForm(f"the expression {node.kind}")
        return f"{name}({distinct}{self.list(arguments(node))})"

    def _is_stale(self, node: SparkNode) -> bool:
        """Whether a call as it was written reads columns that there are no more: where Spark
        numbers those of a common table anew, it does so only in what it puts in its place."""
        if _REPLACEMENT not in node.fields:
            return False
        read = (n.id for a in arguments(node) for n in a.walk() if n.kind == "AttributeReference")
        return any(i not in self.columns for i in read)

    def _program(self, node: SparkNode) -> str:
        """By its name, if a function of the user's has it; whether it is that one Spark says, as
        it compares the text's plan."""
        name = _program_name(node)
        if node.kind != "PythonUDF" or name.lower() not in self.functions:
            raise PythonFunction(name)
        return f"{name.lower()}({self.list(node.children)})"

    def column(self, node: SparkNode) -> str:
        found = self.columns.get(node.id)
        if found is None:
            raise NoForm(f"the column {node.name}, which is not one of the tables' own")
        return found

    def alias(self, node: SparkNode) -> str:
        return self.sql(node.child)

    def outer_column(self, node: SparkNode) -> str:
        inner = node.tree("e")
        if inner is None or inner.kind != "AttributeReference":
            raise NoForm("a subquery that reads an expression of the query around it")
        return replace(self, columns=self.outer).column(inner)

    def cast(self, node: SparkNode) -> str:
        if (bit := grouping_bit(node)) is not None and self.columns.get(bit[0].id) == GROUPING_ID:
            return f"grouping({self.keys[-1 - bit[1]]})"
        word = "TRY_CAST" if node.eval_mode == _TRY else "CAST"
        return f"{word}({self.sql(node.child)} AS {ddl_type(node.fields['dataType'])})"

    def case(self, node: SparkNode) -> str:
        given = node.children
        branches = zip(given[0::2], given[1::2], strict=False)
        text = " ".join(f"WHEN {self.sql(a)} THEN {self.sql(b)}" for a, b in branches)
        rest = f" ELSE {self.sql(given[-1])}" if len(given) % 2 else ""
        return f"CASE {text}{rest} END"

    def aggregate(self, node: SparkNode) -> str:
        call = node.child
        distinct = "DISTINCT " if node.fields["isDistinct"] else ""
        text = self.call_of(call, distinct)
        if len(node.children) > 1:
            text += f" FILTER (WHERE {self.sql(node.children[1])})"
        return text

    def call_of(self, call: SparkNode, distinct: str = "") -> str:
        if call.kind == "PivotFirst":
            return self.pivot(call)
        if call.kind in ("First", "Last", "AnyValue") and call.fields.get("ignoreNulls"):
            return f"{call.kind.lower()}({self.sql(call.child)}, TRUE)"
        if call.kind == "HyperLogLogPlusPlus":
            error = call.fields["relativeSD"]
            return f"approx_count_distinct({self.sql(call.child)}, {error}D)"
        return self._call(call, distinct)

    def window(self, node: SparkNode) -> str:
        call, spec = node.children
        text = self.sql(call) if call.kind in _SPECIAL else self.call_of(call)
        if call.fields.get("ignoreNulls") and call.kind in ("Lag", "Lead", "NthValue"):
            text += " IGNORE NULLS"
        return f"{text} OVER ({window_clause(call, spec, self.sql)})"

    def subquery(self, node: SparkNode) -> str:
        plan = node.tree("plan")
        assert plan is not None
        return f"({self.query(plan, self.columns)})"

    def exists(self, node: SparkNode) -> str:
        return f"EXISTS {self.subquery(node)}"

    def in_subquery(self, node: SparkNode) -> str:
        values = node.children[:-1]
        left = self.operand(values[0]) if len(values) == 1 else f"({self.list(values)})"
        return f"{left} IN {self.subquery(node.children[-1])}"

    def between(self, node: SparkNode) -> str:
        if self._is_stale(node):
            return self.sql(node.child)
        value, low, high = map(self.operand, arguments(node))
        return f"{value} BETWEEN {low} AND {high}"

    def shared(self, node: SparkNode) -> str:
        """An expression that reads another one more than once, which is put where it is read."""
        body, *definitions = node.children
        common = {d.fields["id"]: d.child for d in definitions}
        return replace(self, common={**self.common, **common}).sql(body)

    def reference(self, node: SparkNode) -> str:
        return self.sql(self.common[node.fields["id"]])

    def in_list(self, node: SparkNode) -> str:
        if len(node.children) == 1:  # isin([]), which SQL does not write
            return "FALSE"
        return f"{self.operand(node.child)} IN ({self.list(node.children[1:])})"

    def like(self, node: SparkNode) -> str:
        left, right = map(self.operand, node.children)
        escape = str(node.fields.get("escapeChar") or "\\")
        more = "" if escape == "\\" else f" ESCAPE {literal(escape)}"
        return f"{left} {'ILIKE' if node.kind == 'ILike' else 'LIKE'} {right}{more}"

    def lambda_(self, node: SparkNode) -> str:
        body, *arguments = node.children
        names = [_variable(a) for a in arguments]
        listed = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return f"{listed} -> {self.sql(body)}"

    def item(self, node: SparkNode) -> str:
        return f"{self.operand(node.child)}[{self.sql(node.children[1])}]"

    def struct_field(self, node: SparkNode) -> str:
        kind, place = node.child.type, int(node.fields["ordinal"])
        name = node.fields["name"] or kind["fields"][place]["name"]
        return f"{self.operand(node.child)}.{quote(str(name))}"

    def array_field(self, node: SparkNode) -> str:
        return f"{self.operand(node.child)}.{quote(node.fields['field']['name'])}"

    def date_add(self, node: SparkNode) -> str:
        """date_add(…), or a date and an interval of days, which Spark makes the same call."""
        date, days = node.children
        minus = days.kind == "UnaryMinus" and days.child.kind == _DAYS
        inner = days.child if minus else days
        if inner.kind != _DAYS:
            return self._call(node)
        return f"{self.operand(date)} {'-' if minus else '+'} {self.operand(inner.child)}"

    def not_null(self, node: SparkNode) -> str:
        """What `na.drop` keeps: rows with enough values that are neither NULL nor NaN."""
        floating = ("float", "double")
        terms = []
        for child in node.children:
            text = self.operand(child)
            nan = f" AND NOT isnan({text})" if child.type in floating else ""
            terms.append(f"{text} IS NOT NULL{nan}")
        if node.fields["n"] == len(terms):
            return " AND ".join(terms)
        return f"{' + '.join(f'if({t}, 1, 0)' for t in terms)} >= {node.fields['n']}"

    def struct(self, node: SparkNode) -> str:
        """named_struct(…), or the window of time that Spark makes of one."""
        made = len(node.children) == 4 and node.children[1].kind == "KnownNullable"
        return self._time_window(node) if made else self._call(node)

    def _time_window(self, node: SparkNode) -> str:
        """window(time, length[, slide, start]), of the arithmetic that it comes to."""
        end = node.children[3]
        conversion = next(n for n in node.walk() if n.fields.get("toType") == "long")
        rest = next(n for n in node.walk() if n.kind == "Remainder")
        length = end.child.child.children[1].fields["value"]
        slide = rest.children[1].fields["value"]
        start = rest.child.children[1].fields["value"]
        given = [f"'{length} microseconds'"]
        if slide != length or start != "0":
            given += [f"'{slide} microseconds'", f"'{start} microseconds'"]
        return f"window({self.sql(conversion.child)}, {', '.join(given)})"

    def pivot(self, node: SparkNode) -> str:
        """The values of a column by those of another, each of which has one."""
        key, value = map(self.operand, node.children)
        kind = node.child.type
        if not isinstance(kind, str) or kind not in _PIVOTED:
            raise NoForm("a pivot by other values than whole numbers and strings")
        found = map(self.sql, node.trees("pivotColumnValues"))
        return f"array({', '.join(f'max({value}) FILTER (WHERE {key} <=> {v})' for v in found)})"

    def trim(self, node: SparkNode) -> str:
        if len(node.children) == 1:
            return self._call(node)
        source, characters = map(self.sql, node.children)
        side = {"StringTrimLeft": "LEADING", "StringTrimRight": "TRAILING"}.get(node.kind, "BOTH")
        return f"TRIM({side} {characters} FROM {source})"

    def from_json(self, node: SparkNode) -> str:
        schema, options = ddl_type(node.fields["schema"]), node.fields["options"]
        pairs = ", ".join(literal(str(word)) for pair in options.items() for word in pair)
        more = f", map({pairs})" if pairs else ""
        return f"from_json({self.sql(node.child)}, {literal(schema)}{more})"

    def static_call(self, node: SparkNode) -> str:
        """What reading a CHAR column adds, which reading it by the text adds again."""
        if node.fields.get("functionName") != "readSidePadding":
            raise NoForm(f"the expression {node.kind}")
        return self.sql(node.child)

    def variant_get(self, node: SparkNode) -> str:
        """A part of a VARIANT, `v:path` too, as a value of a type."""
        name = "variant_get" if node.fields["failOnError"] else "try_variant_get"
        kind = node.fields["targetType"]
        asked = "" if kind == "variant" else f", {literal(ddl_type(kind))}"
        return f"{name}({self.list(node.children)}{asked})"

    def order(self, node: SparkNode) -> str:
        """A term of an order, with where NULLs stand."""
        descending = node.word("direction") == "Descending"
        first = node.word("nullOrdering") == "NullsFirst"
        text = self.constant(node.child) + (" DESC" if descending else "")
        if first == descending:
            text += f" NULLS {'FIRST' if first else 'LAST'}"
        return text

    def constant(self, node: SparkNode) -> str:
        """A key of GROUP BY or ORDER BY, where a bare number would be a position."""
        if node.kind == "Literal":
            return f"CAST({self.sql(node)} AS {ddl_type(node.fields['dataType'])})"
        return self.sql(node)


def called_programs(plan: SparkNode) -> Iterator[str]:
    """The names of the programs that a plan calls."""
    return (_program_name(node) for node in plan.everything() if node.kind in _PROGRAMS)


def _program_name(node: SparkNode) -> str:
    return str(node.fields.get("name") or node.fields.get("udfName") or "?")


def arguments(node: SparkNode) -> tuple[SparkNode, ...]:
    """The arguments of a call as it was written, not what Spark puts in its place."""
    if _REPLACEMENT not in node.fields:
        return node.children
    given = (v for name, v in node.fields.items() if name != _REPLACEMENT)
    return tuple(argument for value in given for argument in nodes_in(value))


def _variable(node: SparkNode) -> str:
    return node.name if node.name.isidentifier() else quote(node.name)


def _negate(scope: ExpressionWriter, node: SparkNode) -> str:
    return f"NOT {scope.operand(node.child)}"


def _minus(scope: ExpressionWriter, node: SparkNode) -> str:
    return f"-{scope.operand(node.child)}"


def _bits(scope: ExpressionWriter, node: SparkNode) -> str:
    return f"~{scope.operand(node.child)}"


def _null(scope: ExpressionWriter, node: SparkNode) -> str:
    return f"{scope.operand(node.child)} {_NEGATED[node.kind]}"


def _literal(scope: ExpressionWriter, node: SparkNode) -> str:
    value, kind = node.fields["value"], node.fields["dataType"]
    is_spelled = value is not None and (kind == "binary" or isinstance(kind, dict))
    return spelled_sql(value, kind) if is_spelled else literal_sql(value, kind)


def _bare(scope: ExpressionWriter, node: SparkNode) -> str:
    return _variable(node)


_SPECIAL: dict[str, Callable[[ExpressionWriter, SparkNode], str]] = {
    "AttributeReference": ExpressionWriter.column,
    "Alias": ExpressionWriter.alias,
    "Literal": _literal,
    "OuterReference": ExpressionWriter.outer_column,
    "Cast": ExpressionWriter.cast,
    "Not": _negate,
    "UnaryMinus": _minus,
    "BitwiseNot": _bits,
    "IsNull": _null,
    "IsNotNull": _null,
    "CaseWhen": ExpressionWriter.case,
    "AggregateExpression": ExpressionWriter.aggregate,
    "WindowExpression": ExpressionWriter.window,
    "ScalarSubquery": ExpressionWriter.subquery,
    "Exists": ExpressionWriter.exists,
    "InSubquery": ExpressionWriter.in_subquery,
    "In": ExpressionWriter.in_list,
    "Between": ExpressionWriter.between,
    "With": ExpressionWriter.shared,
    "CommonExpressionRef": ExpressionWriter.reference,
    "Like": ExpressionWriter.like,
    "ILike": ExpressionWriter.like,
    "LambdaFunction": ExpressionWriter.lambda_,
    "NamedLambdaVariable": _bare,
    "GetArrayItem": ExpressionWriter.item,
    "GetMapValue": ExpressionWriter.item,
    "GetStructField": ExpressionWriter.struct_field,
    "GetArrayStructFields": ExpressionWriter.array_field,
    "StaticInvoke": ExpressionWriter.static_call,
    "VariantGet": ExpressionWriter.variant_get,
    "StringTrim": ExpressionWriter.trim,
    "StringTrimLeft": ExpressionWriter.trim,
    "StringTrimRight": ExpressionWriter.trim,
    "JsonToStructs": ExpressionWriter.from_json,
    "SortOrder": ExpressionWriter.order,
    "PipeExpression": ExpressionWriter.alias,
    "DateAdd": ExpressionWriter.date_add,
    "AtLeastNNonNulls": ExpressionWriter.not_null,
    "CreateNamedStruct": ExpressionWriter.struct,
}
_CLOSED = frozenset({
    "AttributeReference", "Literal", "OuterReference", "Cast", "NamedLambdaVariable",
    "GetArrayItem", "GetMapValue", "GetStructField", "CaseWhen", "AggregateExpression", "Coalesce",
    "ScalarSubquery",
})  # fmt: skip
"""What needs no brackets as an operand."""
