"""The scalar expressions that are evaluated here: a closed list.

Whatever is not in it, or has a part that is not known here, is left out. An expression that fails
in DuckDB fails the whole statement, which is then Spark's: so ANSI mode makes no difference here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.arithmetic import ARITHMETIC, literal_number
from dt_jupyter.evaluation.expressions import ScalarRule, Scalars, Value, node_name
from dt_jupyter.evaluation.kinds import BIGINT, BOOLEAN, STRING, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.row_hashes import hash_of_view
from dt_jupyter.evaluation.texts import TEXTS, quoted_text
from dt_jupyter.evaluation.times import TIMES

# -- columns and literals --------------------------------------------------------------------------


def _column(s: Scalars, node: exp.Expr) -> Value:
    assert isinstance(node, exp.Column)
    found = s.find(node.name, node.table)
    if len(found) != 1:
        raise LeftOut(f"the column {node.name}")
    (column,) = found
    if column.kind is None:
        raise LeftOut(f"the type of {node.name}")
    return Value(column.sql, column.kind, place=column.place)


def _literal(s: Scalars, node: exp.Expr) -> Value:
    assert isinstance(node, exp.Literal)
    if node.is_string:
        return Value(quoted_text(node.this), STRING)
    return literal_number(node.this)


def _boolean(s: Scalars, node: exp.Expr) -> Value:
    return Value("TRUE" if node.this else "FALSE", BOOLEAN)


def _null(s: Scalars, node: exp.Expr) -> Value:
    return Value("NULL", kinds.VOID)


def _paren(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    return Value(f"({value.sql})", value.kind, value.literal)


# -- conditions ------------------------------------------------------------------------------------

_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
}


def _comparison(s: Scalars, node: exp.Expr) -> Value:
    (a, b), _ = _compared(s, [s(node.this), s(node.expression)])
    return Value(f"({a} {_COMPARISONS[type(node)]} {b})", BOOLEAN)


def _compared(s: Scalars, values: Sequence[Value]) -> tuple[list[str], ValueKind]:
    texts, kind = s.together(values)
    if not kind.is_compared:
        raise LeftOut(f"{kind.name} compared")
    return texts, kind


def _logic(s: Scalars, node: exp.Expr) -> Value:
    """A chain of one operator without recursion: a wide table's has thousands of members."""
    kind, members = type(node), list[exp.Expr]()
    while type(node) is kind:
        members.append(node.expression)
        node = node.this
    word = " AND " if kind is exp.And else " OR "
    return Value(f"({word.join(map(s.condition, (node, *reversed(members))))})", BOOLEAN)


def _not(s: Scalars, node: exp.Expr) -> Value:
    return Value(f"(NOT {s.condition(node.this)})", BOOLEAN)


def _is_null(s: Scalars, node: exp.Expr) -> Value:
    negated = "NOT " if node.args.get("negate") else ""
    if isinstance(node.expression, exp.Null):
        return Value(f"({s(node.this).sql} IS {negated}NULL)", BOOLEAN)
    if isinstance(node.expression, exp.Boolean):
        wanted = "TRUE" if node.expression.this else "FALSE"
        return Value(f"({s.condition(node.this)} IS {negated}{wanted})", BOOLEAN)
    raise LeftOut("IS")


def _between(s: Scalars, node: exp.Expr) -> Value:
    """As Spark has it: two comparisons, each in a type of its own."""
    this = s(node.this)
    (a, low), _ = _compared(s, [this, s(node.args["low"])])
    (b, high), _ = _compared(s, [this, s(node.args["high"])])
    return Value(f"({a} >= {low} AND {b} <= {high})", BOOLEAN)


def _in(s: Scalars, node: exp.Expr) -> Value:
    texts, _ = _compared(s, [s(node.this), *map(s, node.expressions)])
    negated = "NOT " if node.args.get("negate") else ""
    return Value(f"({texts[0]} {negated}IN ({', '.join(texts[1:])}))", BOOLEAN)


# -- choices ---------------------------------------------------------------------------------------


def _case(s: Scalars, node: exp.Expr) -> Value:
    subject, branches = node.this, node.args["ifs"]
    if subject is not None:
        conditions = [_comparison(s, exp.EQ(this=subject, expression=b.this)).sql for b in branches]
    else:
        conditions = [s.condition(b.this) for b in branches]
    default = node.args.get("default")
    values = [s(b.args["true"]) for b in branches]
    values.append(s(default) if default is not None else Value("NULL", kinds.VOID))
    texts, kind = s.together(values)
    whens = " ".join(f"WHEN {c} THEN {t}" for c, t in zip(conditions, texts, strict=False))
    return Value(f"CASE {whens} ELSE {texts[-1]} END", kind)


def _if(s: Scalars, node: exp.Expr) -> Value:
    condition = s.condition(node.this)
    otherwise = node.args.get("false")
    last = s(otherwise) if otherwise is not None else Value("NULL", kinds.VOID)
    (a, b), kind = s.together([s(node.args["true"]), last])
    return Value(f"CASE WHEN {condition} THEN {a} ELSE {b} END", kind)


def _coalesce(s: Scalars, node: exp.Expr) -> Value:
    texts, kind = s.together([s(node.this), *map(s, node.expressions)])
    return Value(f"COALESCE({', '.join(texts)})", kind)


def _null_if(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    same = _comparison(s, exp.EQ(this=node.this, expression=node.expression))
    return Value(f"CASE WHEN {same.sql} THEN NULL ELSE {value.sql} END", value.kind)


def _least_or_greatest(s: Scalars, node: exp.Expr) -> Value:
    texts, kind = _compared(s, [s(node.this), *map(s, node.expressions)])
    return Value(f"{node_name(node)}({', '.join(texts)})", kind)


def _anonymous(s: Scalars, node: exp.Expr) -> Value:
    rule = _CALLS.get(node.name.upper())
    if rule is None:
        raise LeftOut(node_name(node))
    return rule(s, node.expressions)


def _raise_error(s: Scalars, args: Sequence[exp.Expr]) -> Value:
    return Value("error('raised')", kinds.VOID)


def _hash(s: Scalars, args: Sequence[exp.Expr]) -> Value:
    of_view = hash_of_view(s, args)
    if of_view is not None:
        return of_view
    values = [_hashed(s, a) for a in args]
    hashed = [v.kind for v in values]
    if kinds.VOID in hashed:
        raise LeftOut("the hash of NULL")
    return s.call("row_hash", exact.row_hash(hashed), values, BIGINT)


def _hashed(s: Scalars, node: exp.Expr) -> Value:
    """A text as it is: its bytes are hashed."""
    if isinstance(node, exp.TryCast | exp.Cast) and node.args["to"].sql("spark") == "BINARY":
        value = s(node.this)
        if value.kind == STRING:
            return value
    return s(node)


_CALLS: dict[str, Callable[[Scalars, Sequence[exp.Expr]], Value]] = {
    "RAISE_ERROR": _raise_error,
    "XXHASH64": _hash,
}


_LISTED = frozenset({"this", "expressions"})
_OF_ALL = frozenset({"this", "expressions", "ignore_nulls"})
SCALARS: Mapping[type[exp.Expr], ScalarRule] = {
    **ARITHMETIC,
    **TIMES,
    **TEXTS,
    exp.Column: ScalarRule(_column, frozenset({"this", "table"})),
    exp.Literal: ScalarRule(_literal, frozenset({"this", "is_string"})),
    exp.Boolean: ScalarRule(_boolean),
    exp.Null: ScalarRule(_null),
    exp.Paren: ScalarRule(_paren),
    **dict.fromkeys(_COMPARISONS, ScalarRule(_comparison)),
    exp.And: ScalarRule(_logic),
    exp.Or: ScalarRule(_logic),
    exp.Not: ScalarRule(_not),
    exp.Is: ScalarRule(_is_null, frozenset({"this", "expression", "negate"})),
    exp.Between: ScalarRule(_between, frozenset({"this", "low", "high"})),
    exp.In: ScalarRule(_in, frozenset({"this", "expressions", "negate"})),
    exp.Case: ScalarRule(_case, frozenset({"this", "ifs", "default"})),
    exp.If: ScalarRule(_if, frozenset({"this", "true", "false"})),
    exp.Coalesce: ScalarRule(_coalesce, _LISTED),
    exp.Nullif: ScalarRule(_null_if),
    exp.Least: ScalarRule(_least_or_greatest, _OF_ALL),
    exp.Greatest: ScalarRule(_least_or_greatest, _OF_ALL),
    exp.Anonymous: ScalarRule(_anonymous, _LISTED),
}
"""The closed list, without aggregates and windows."""
