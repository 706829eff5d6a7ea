"""Expressions of Spark's plans, whatever stands around them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce

from dt_jupyter.ivm import (
    NO_VALUE,
    Between,
    Bracketed,
    Call,
    Case,
    Cast,
    Column,
    Element,
    Expr,
    Infix,
    InList,
    Literal,
    Postfix,
    Prefix,
    Raw,
    SortOrder,
    separated,
)
from dt_jupyter.model import quote
from dt_jupyter.plans.function_names import INFIX, TRY, called_function
from dt_jupyter.plans.literal_sql import ddl_type, literal_sql, spelled_sql
from dt_jupyter.plans.no_form import NoForm, PythonFunction
from dt_jupyter.plans.plan_facts import grouping_bit
from dt_jupyter.plans.plan_tree import SparkNode, nodes_in, read_facts
from dt_jupyter.plans.time_windows import TimeWindow
from dt_jupyter.plans.window_sql import window_clause
from dt_jupyter.sql import literal

_PROGRAMS = frozenset({"PythonUDF", "ScalaUDF", "PythonUDAF", "PythonUDTF", "ScalaAggregator"})
"""Functions that are no SQL."""
_NULLNESS = {"IsNull": "IS NULL", "IsNotNull": "IS NOT NULL"}
_PIVOTED = frozenset({"byte", "short", "integer", "long", "string", "boolean"})
GROUPING_ID = "grouping_id()"
_DAYS = "ExtractANSIIntervalDays"
_LIKES = {
    "LikeAny": "LIKE ANY", "LikeAll": "LIKE ALL", "NotLikeAny": "NOT LIKE ANY",
    "NotLikeAll": "NOT LIKE ALL",
}  # fmt: skip
_FROM_TEXT = {"JsonToStructs": "from_json", "CsvToStructs": "from_csv", "XmlToStructs": "from_xml"}
REPLACEMENT = "replacement"
TAKEN_OUT = {
    "WindowExpression": "a window function in this place",
    "AggregateExpression": "an aggregate in this place",
}
"""What Spark computes below and reads as a column where it stands in an expression."""


@dataclass(frozen=True)
class ExpressionReader:
    """What an expression may read: `columns` gives the id of each column by its number, or its
    text, `outer` those of the query around a subquery. `query` writes a subquery, `builtins` are
    the names of Spark's functions, `functions` those of the user's. `common` is what is read more
    than once, by its number, `keys` are the texts of what grouping sets group by."""

    columns: Mapping[int, str]
    builtins: Collection[str]
    query: Callable[[SparkNode, Mapping[int, str]], str]
    outer: Mapping[int, str] = field(default_factory=dict)
    functions: Collection[str] = ()
    common: Mapping[int, SparkNode] = field(default_factory=dict)
    keys: tuple[str, ...] = ()

    def sql(self, node: SparkNode) -> str:
        """The expression as SQL, over columns that are texts; NoForm where it has none."""
        return self.read(node).sql(str)

    def operand_sql(self, node: SparkNode) -> str:
        return self.operand(node).sql(str)

    def read(self, node: SparkNode) -> Expr:
        """The expression, with what Spark says of it; NoForm where it has no form in SQL."""
        found = self._form(node)
        return found if found.facts is not None else found.as_said(read_facts(node))

    def _form(self, node: SparkNode) -> Expr:
        special = _SPECIAL.get(node.kind)
        if special is not None:
            return special(self, node)
        if node.kind in INFIX and len(node.children) == 2 and node.eval_mode != TRY:
            left, right = map(self.operand, node.children)
            return Infix(left, INFIX[node.kind], right)
        return self._call(node)

    def operand(self, node: SparkNode) -> Expr:
        found = self.read(node)
        return found if node.kind in SELF_CONTAINED else Bracketed(found)

    def list(self, nodes: Iterable[SparkNode]) -> tuple[Expr, ...]:
        return tuple(map(self.read, nodes))

    def _call(self, node: SparkNode, *, distinct: bool = False) -> Expr:
        if node.kind in _PROGRAMS:
            return self._program(node)
        if self._is_stale(node):
            return self.read(node.child)
        name = called_function(node, self.builtins)
        if node.kind == "PreciseTimestampConversion":
            raise NoForm("session_window(…) (its SQL, GROUP BY session_window(…), is FULL)")
        if name is None:
            raise NoForm(f"the expression {node.kind}")
        return Call(name, (*self.list(arguments(node)), *_options(node)), distinct)

    def _is_stale(self, node: SparkNode) -> bool:
        """Whether a call as it was written is not over the columns below: where Spark renumbers
        those of a common table, or takes windows and aggregates out, it does so only in what it
        puts in its place."""
        written = (n for n in written_nodes(node) if n.kind == "AttributeReference")
        return any(n.id not in self.columns for n in written) or has_taken_out(node)

    def _program(self, node: SparkNode) -> Expr:
        """By its name, if a function of the user's has it."""
        name = program_name(node)
        if node.kind != "PythonUDF" or name.lower() not in self.functions:
            raise PythonFunction(name)
        return Call(name.lower(), self.list(node.children))

    def column(self, node: SparkNode) -> Expr:
        found = self.columns.get(node.id)
        if found is None:
            raise NoForm(f"the column {node.name}, which is not one of the tables' own")
        return Column(found)

    def alias(self, node: SparkNode) -> Expr:
        return self.read(node.child)

    def outer_column(self, node: SparkNode) -> Expr:
        inner = node.tree("e")
        if inner is None or inner.kind != "AttributeReference":
            raise NoForm("a subquery that reads an expression of the query around it")
        return replace(self, columns=self.outer).column(inner)

    def cast(self, node: SparkNode) -> Expr:
        if (bit := grouping_bit(node)) is not None and self.columns.get(bit[0].id) == GROUPING_ID:
            return Raw((f"grouping({self.keys[-1 - bit[1]]})",))
        word = "TRY_CAST" if node.eval_mode == TRY else "CAST"
        return Cast(self.read(node.child), ddl_type(node.fields["dataType"]), word)

    def case(self, node: SparkNode) -> Expr:
        given = self.list(node.children)
        branches = tuple(zip(given[0::2], given[1::2], strict=False))
        return Case(None, branches, given[-1] if len(given) % 2 else None)

    def aggregate(self, node: SparkNode) -> Expr:
        call = self.call_of(node.child, distinct=bool(node.fields["isDistinct"]))
        if len(node.children) == 1:
            return call
        return Raw((call, " FILTER (WHERE ", self.read(node.children[1]), ")"))

    def call_of(self, call: SparkNode, *, distinct: bool = False) -> Expr:
        if call.kind == "PivotFirst":
            return self.pivot(call)
        if call.kind in ("First", "Last", "AnyValue") and call.fields.get("ignoreNulls"):
            name = called_function(call, self.builtins) or call.kind.lower()
            return Call(name, (self.read(call.child), Literal("TRUE")))
        if call.kind == "HyperLogLogPlusPlus":
            error = Literal(f"{call.fields['relativeSD']}D")
            return Call("approx_count_distinct", (self.read(call.child), error))
        return self._call(call, distinct=distinct)

    def window_call(self, call: SparkNode) -> Expr:
        """The function of a window, without its OVER."""
        made = self.read(call) if call.kind in _SPECIAL else self.call_of(call)
        if call.fields.get("ignoreNulls") and call.kind in ("Lag", "Lead", "NthValue"):
            return Postfix(made, "IGNORE NULLS")
        return made

    def window(self, node: SparkNode) -> Expr:
        call, spec = node.children
        return Raw((self.window_call(call), f" OVER ({window_clause(call, spec, self.sql)})"))

    def subquery(self, node: SparkNode) -> Expr:
        plan = node.tree("plan")
        assert plan is not None
        return Raw((f"({self.query(plan, self.columns)})",))

    def exists(self, node: SparkNode) -> Expr:
        return Raw(("EXISTS ", self.subquery(node)))

    def in_subquery(self, node: SparkNode) -> Expr:
        values = node.children[:-1]
        several = Raw(("(", *separated(self.list(values)), ")"), facts=NO_VALUE)
        left = self.operand(values[0]) if len(values) == 1 else several
        return Raw((left, " IN ", self.subquery(node.children[-1])))

    def between(self, node: SparkNode) -> Expr:
        if self._is_stale(node):
            return self.read(node.child)
        value, low, high = map(self.operand, arguments(node))
        return Between(value, low, high)

    def shared(self, node: SparkNode) -> Expr:
        """An expression that reads another one more than once, which is put where it is read."""
        body, *definitions = node.children
        common = {d.fields["id"]: d.child for d in definitions}
        return replace(self, common={**self.common, **common}).read(body)

    def reference(self, node: SparkNode) -> Expr:
        return self.read(self.common[node.fields["id"]])

    def in_list(self, node: SparkNode) -> Expr:
        if len(node.children) == 1:  # isin([]), which SQL does not write
            return Literal("FALSE")
        return InList(self.operand(node.child), self.list(node.children[1:]))

    def like(self, node: SparkNode) -> Expr:
        left, right = map(self.operand, node.children)
        escape = str(node.fields.get("escapeChar") or "\\")
        made = Infix(left, "ILIKE" if node.kind == "ILike" else "LIKE", right)
        return made if escape == "\\" else Postfix(made, f"ESCAPE {literal(escape)}")

    def lambda_(self, node: SparkNode) -> Expr:
        body, *arguments = node.children
        names = [_variable(a) for a in arguments]
        listed = names[0] if len(names) == 1 else f"({', '.join(names)})"
        return Raw((f"{listed} -> ", self.read(body)))

    def item(self, node: SparkNode) -> Expr:
        return Element(self.operand(node.child), self.read(node.children[1]))

    def struct_field(self, node: SparkNode) -> Expr:
        kind, place = node.child.type, int(node.fields["ordinal"])
        name = node.fields["name"] or kind["fields"][place]["name"]
        return Raw((self.operand(node.child), f".{quote(str(name))}"))

    def array_field(self, node: SparkNode) -> Expr:
        return Raw((self.operand(node.child), f".{quote(node.fields['field']['name'])}"))

    def date_add(self, node: SparkNode) -> Expr:
        """date_add(…), or a date and an interval of days, which Spark makes the same call."""
        date, days = node.children
        minus = days.kind == "UnaryMinus" and days.child.kind == _DAYS
        inner = days.child if minus else days
        if inner.kind != _DAYS:
            return self._call(node)
        return Infix(self.operand(date), "-" if minus else "+", self.operand(inner.child))

    def not_null(self, node: SparkNode) -> Expr:
        """What `na.drop` keeps: rows with enough values that are neither NULL nor NaN."""
        terms = [self._is_value(child) for child in node.children]
        if node.fields["n"] == len(terms):
            return reduce(lambda a, b: Infix(a, "AND", b), terms)
        one, none = Literal("1"), Literal("0")
        counted: list[Expr] = [Call("if", (t, one, none)) for t in terms]
        return Infix(
            reduce(lambda a, b: Infix(a, "+", b), counted), ">=", Literal(node.fields["n"])
        )

    def _is_value(self, node: SparkNode) -> Expr:
        found = self.operand(node)
        there = Postfix(found, "IS NOT NULL")
        if node.type not in ("float", "double"):
            return there
        return Infix(there, "AND", Prefix("NOT", Call("isnan", (found,))))

    def struct(self, node: SparkNode) -> Expr:
        """named_struct(…), or the window of time that Spark makes of one."""
        window = TimeWindow.of(node)
        return self._call(node) if window is None else window.call(self.read(window.time))

    def pivot(self, node: SparkNode) -> Expr:
        """The values of a column by those of another, each of which has one."""
        key, value = map(self.operand, node.children)
        kind = node.child.type
        if not isinstance(kind, str) or kind not in _PIVOTED:
            raise NoForm("a pivot by other values than whole numbers and strings")
        found = self.list(node.trees("pivotColumnValues"))
        tests = (Infix(key, "<=>", v) for v in found)
        most = Call("max", (value,))
        pieces = ((most, " FILTER (WHERE ", test, ")") for test in tests)
        made = tuple(Raw(p, facts=read_facts(node.children[1])) for p in pieces)
        return Call("array", made)

    def trim(self, node: SparkNode) -> Expr:
        if len(node.children) == 1:
            return self._call(node)
        source, characters = self.list(node.children)
        side = {"StringTrimLeft": "LEADING", "StringTrimRight": "TRAILING"}.get(node.kind, "BOTH")
        return Raw((f"TRIM({side} ", characters, " FROM ", source, ")"))

    def from_text(self, node: SparkNode) -> Expr:
        """from_json(…), from_csv(…), from_xml(…)."""
        name = _FROM_TEXT[node.kind]
        schema = Literal(literal(ddl_type(node.fields["schema"])))
        return Call(name, (self.read(node.child), schema, *_options(node)))

    def like_several(self, node: SparkNode) -> Expr:
        patterns = node.fields["patterns"]
        if not all(isinstance(p, str) for p in patterns):
            raise NoForm(f"the expression {node.kind} with a NULL")
        word = _LIKES[node.kind]
        listed = ", ".join(map(literal, patterns))
        return Raw((self.operand(node.child), f" {word} ({listed})"))

    def minus_interval(self, node: SparkNode) -> Expr:
        given = arguments(node)
        if self._is_stale(node):  # Spark adds the interval with the other sign
            time, negated = node.child.children
            given = (time, negated.child)
        left, right = map(self.operand, given)
        return Infix(left, "-", right)

    def collated(self, node: SparkNode) -> Expr:
        value, collation = node.children
        name = str(collation.fields["collationName"]).rpartition(".")[2]
        return Postfix(self.operand(value), f"COLLATE {name}")

    def time_unit(self, node: SparkNode) -> Expr:
        """A call whose first argument is a unit of time."""
        name, unit = node.kind.lower(), Literal(str(node.fields["unit"]), facts=NO_VALUE)
        return Call(name, (unit, *self.list(node.children)))

    def static_call(self, node: SparkNode) -> Expr:
        """What reading a CHAR column adds, which reading it by the text adds again."""
        if node.fields.get("functionName") != "readSidePadding":
            raise NoForm(f"the expression {node.kind}")
        return self.read(node.child)

    def tried(self, node: SparkNode) -> Expr:
        """A call that gives NULL where another one fails."""
        call = node.child
        name = f"try_{called_function(call, self.builtins)}"
        if name not in self.builtins:
            raise NoForm(f"the expression {node.kind} of {call.kind}")
        return Call(name, self.list(arguments(call)))

    def variant_get(self, node: SparkNode) -> Expr:
        """A part of a VARIANT, `v:path` too, as a value of a type."""
        name = "variant_get" if node.fields["failOnError"] else "try_variant_get"
        kind = node.fields["targetType"]
        asked = () if kind == "variant" else (Literal(literal(ddl_type(kind))),)
        return Call(name, (*self.list(node.children), *asked))

    def order(self, node: SparkNode) -> Expr:
        """A term of an order, with where NULLs stand."""
        descending = node.word("direction") == "Descending"
        first = node.word("nullOrdering") == "NullsFirst"
        return SortOrder(self.constant(node.child), descending, first)

    def constant(self, node: SparkNode) -> Expr:
        """A key of GROUP BY or ORDER BY, where a bare number would be a position."""
        if node.kind == "Literal":
            return Cast(self.read(node), ddl_type(node.fields["dataType"]))
        return self.read(node)

    def negation(self, node: SparkNode) -> Expr:
        return Prefix("NOT", self.operand(node.child))

    def minus(self, node: SparkNode) -> Expr:
        """`--` would begin a comment, and `-1` is a literal."""
        inner = self.operand(node.child)
        is_number = isinstance(inner, Literal) and inner.text[0] in "-0123456789"
        return Prefix("-", Bracketed(inner) if is_number else inner)

    def bits(self, node: SparkNode) -> Expr:
        return Prefix("~", self.operand(node.child))

    def nullness(self, node: SparkNode) -> Expr:
        return Postfix(self.operand(node.child), _NULLNESS[node.kind])

    def literal(self, node: SparkNode) -> Expr:
        value, kind = node.fields["value"], node.fields["dataType"]
        is_spelled = value is not None and (kind == "binary" or isinstance(kind, dict))
        return Literal(spelled_sql(value, kind) if is_spelled else literal_sql(value, kind))

    def typed_null(self, node: SparkNode) -> Expr:
        return Literal(literal_sql(None, node.type))

    def variable(self, node: SparkNode) -> Expr:
        return Raw((_variable(node),))


def called_programs(plan: SparkNode) -> Iterator[str]:
    """The names of the programs that a plan calls."""
    return (program_name(node) for node in plan.everything() if node.kind in _PROGRAMS)


def program_name(node: SparkNode) -> str:
    """The name by which a program is called."""
    return str(node.fields.get("name") or node.fields.get("udfName") or "?")


def arguments(node: SparkNode) -> tuple[SparkNode, ...]:
    """The arguments of a call as it was written, not what Spark puts in its place."""
    if REPLACEMENT not in node.fields:
        return node.children
    given = (v for name, v in node.fields.items() if name != REPLACEMENT)
    return tuple(argument for value in given for argument in nodes_in(value))


def written_nodes(call: SparkNode) -> Iterator[SparkNode]:
    """The arguments of a call that Spark replaces, and all below them; none of other calls."""
    if REPLACEMENT in call.fields:
        yield from (n for a in arguments(call) for n in a.walk())


def has_taken_out(call: SparkNode) -> bool:
    """Whether a call as it was written has what is a column in what Spark puts in its place."""
    taken = TAKEN_OUT.keys() & {n.kind for n in written_nodes(call)}
    return bool(taken) and not taken <= {n.kind for n in call.child.walk()}


def _options(node: SparkNode) -> tuple[Expr, ...]:
    """The argument that gives a call its options; none where it has none."""
    options = node.fields.get("options")
    if not isinstance(options, dict) or not options:
        return ()
    words = (word for pair in options.items() for word in pair)
    return (Call("map", tuple(Literal(literal(str(word))) for word in words)),)


def _variable(node: SparkNode) -> str:
    return node.name if node.name.isidentifier() else quote(node.name)


_SPECIAL: dict[str, Callable[[ExpressionReader, SparkNode], Expr]] = {
    "AttributeReference": ExpressionReader.column,
    "Alias": ExpressionReader.alias,
    "Literal": ExpressionReader.literal,
    "TypedNullLiteral": ExpressionReader.typed_null,
    "OuterReference": ExpressionReader.outer_column,
    "Cast": ExpressionReader.cast,
    "Not": ExpressionReader.negation,
    "UnaryMinus": ExpressionReader.minus,
    "BitwiseNot": ExpressionReader.bits,
    "IsNull": ExpressionReader.nullness,
    "IsNotNull": ExpressionReader.nullness,
    "CaseWhen": ExpressionReader.case,
    "AggregateExpression": ExpressionReader.aggregate,
    "WindowExpression": ExpressionReader.window,
    "ScalarSubquery": ExpressionReader.subquery,
    "Exists": ExpressionReader.exists,
    "InSubquery": ExpressionReader.in_subquery,
    "In": ExpressionReader.in_list,
    "Between": ExpressionReader.between,
    "With": ExpressionReader.shared,
    "CommonExpressionRef": ExpressionReader.reference,
    "Like": ExpressionReader.like,
    "ILike": ExpressionReader.like,
    "LambdaFunction": ExpressionReader.lambda_,
    "NamedLambdaVariable": ExpressionReader.variable,
    "GetArrayItem": ExpressionReader.item,
    "GetMapValue": ExpressionReader.item,
    "GetStructField": ExpressionReader.struct_field,
    "GetArrayStructFields": ExpressionReader.array_field,
    "StaticInvoke": ExpressionReader.static_call,
    "VariantGet": ExpressionReader.variant_get,
    "StringTrim": ExpressionReader.trim,
    "StringTrimLeft": ExpressionReader.trim,
    "StringTrimRight": ExpressionReader.trim,
    "JsonToStructs": ExpressionReader.from_text,
    "CsvToStructs": ExpressionReader.from_text,
    "XmlToStructs": ExpressionReader.from_text,
    "TryEval": ExpressionReader.tried,
    "LikeAny": ExpressionReader.like_several,
    "LikeAll": ExpressionReader.like_several,
    "NotLikeAny": ExpressionReader.like_several,
    "NotLikeAll": ExpressionReader.like_several,
    "DatetimeSub": ExpressionReader.minus_interval,
    "SortOrder": ExpressionReader.order,
    "PipeExpression": ExpressionReader.alias,
    "DateAdd": ExpressionReader.date_add,
    "AtLeastNNonNulls": ExpressionReader.not_null,
    "CreateNamedStruct": ExpressionReader.struct,
    "Collate": ExpressionReader.collated,
    "TimestampAdd": ExpressionReader.time_unit,
    "TimestampDiff": ExpressionReader.time_unit,
}
SELF_CONTAINED = frozenset({
    "AttributeReference", "Literal", "OuterReference", "Cast", "NamedLambdaVariable",
    "GetArrayItem", "GetMapValue", "GetStructField", "CaseWhen", "AggregateExpression", "Coalesce",
    "ScalarSubquery",
})  # fmt: skip
"""What needs no brackets as an operand."""
