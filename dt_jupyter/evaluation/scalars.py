"""The scalar expressions that are evaluated here: a closed list.

Whatever is not in it, or has a part that is not known here, is left out. An expression that fails
in DuckDB fails the whole statement, which is then Spark's: so ANSI mode makes no difference here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.expressions import ScalarRule, Scalars, Value, node_name
from dt_jupyter.evaluation.kinds import BIGINT, BOOLEAN, DATE, INT, STRING, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut

# -- columns and literals --------------------------------------------------------------------------


def _column(s: Scalars, node: exp.Expr) -> Value:
    assert isinstance(node, exp.Column)
    found = [
        c
        for c in s.columns
        if c.name == node.name and (not node.table or c.qualifier == node.table)
    ]
    if len(found) != 1:
        raise LeftOut(f"the column {node.name}")
    (column,) = found
    if column.kind is None:
        raise LeftOut(f"the type of {node.name}")
    return Value(column.sql, column.kind)


def _literal(s: Scalars, node: exp.Expr) -> Value:
    assert isinstance(node, exp.Literal)
    if node.is_string:
        return Value(_text(node.this), STRING)
    return _number(node.this)


def _number(text: str) -> Value:
    digits = text.removeprefix("-")
    if digits.isdigit():
        value = int(text)
        for kind, bits in ((INT, 31), (BIGINT, 63)):
            if -(1 << bits) <= value < 1 << bits:
                return Value(f"CAST({text} AS {kind.sql})", kind, text)
    whole, point, fraction = digits.partition(".")
    if not point or not (whole + fraction).isdigit():
        raise LeftOut(f"the number {text}")
    scale = len(fraction)
    precision = max(len((whole + fraction).lstrip("0")), scale)
    if not fraction or precision > kinds.MOST_DIGITS:
        raise LeftOut(f"the number {text}")
    kind = kinds.decimal(precision, scale)
    return Value(f"CAST('{text}' AS {kind.sql})", kind, text)


def _text(text: str) -> str:
    if "\\" in text or "\0" in text:
        raise LeftOut("a string with a backslash")
    return "'" + text.replace("'", "''") + "'"


def _boolean(s: Scalars, node: exp.Expr) -> Value:
    return Value("TRUE" if node.this else "FALSE", BOOLEAN)


def _null(s: Scalars, node: exp.Expr) -> Value:
    return Value("NULL", kinds.VOID)


def _paren(s: Scalars, node: exp.Expr) -> Value:
    value = s(node.this)
    return Value(f"({value.sql})", value.kind, value.literal)


# -- arithmetic ------------------------------------------------------------------------------------


def _negative(s: Scalars, node: exp.Expr) -> Value:
    if isinstance(node.this, exp.Literal) and not node.this.is_string:
        return _number(f"-{node.this.this}")
    value = s(node.this)
    if value.kind.is_integer:
        return Value(f"(CAST(0 AS {value.kind.sql}) - {value.sql})", value.kind)
    raise LeftOut(f"the negative of {value.kind.name}")  # Spark rounds that of a long decimal


def _plus_or_minus(s: Scalars, node: exp.Expr) -> Value:
    operator = "+" if isinstance(node, exp.Add) else "-"
    if isinstance(node.expression, exp.Interval):
        return _moved_date(s, node, operator)
    return _arithmetic(s, operator, node)


def _times(s: Scalars, node: exp.Expr) -> Value:
    return _arithmetic(s, "*", node)


def _over(s: Scalars, node: exp.Expr) -> Value:
    return _arithmetic(s, "/", node)


def _arithmetic(s: Scalars, operator: str, node: exp.Expr) -> Value:
    left, right = s(node.this), s(node.expression)
    if left.kind.is_integer and right.kind.is_integer and operator != "/":
        (a, b), kind = s.together([left, right])
        return Value(f"({a} {operator} {b})", kind)
    a_kind, b_kind = _decimals(left, right)
    kind = kinds.result_of(operator, a_kind, b_kind)
    a, b = s.cast(left, a_kind), s.cast(right, b_kind)
    exactly = operator != "/" and kind.scale >= _exact_scale(operator, a_kind, b_kind)
    if operator in "+-" and exactly and kind.precision < kinds.MOST_DIGITS:
        a, b = (s.cast(Value(x, kinds.VOID), kind) for x in (a, b))
        return Value(f"CAST(({a} {operator} {b}) AS {kind.sql})", kind)
    if operator == "*" and exactly and a_kind.precision + b_kind.precision < kinds.MOST_DIGITS:
        return Value(f"CAST(({a} * {b}) AS {kind.sql})", kind)
    name = {"+": "plus", "-": "minus", "*": "times", "/": "over"}[operator]
    function = exact.arithmetic(operator, a_kind, b_kind, kind)
    return s.call(name, function, (Value(a, a_kind), Value(b, b_kind)), kind)


def _exact_scale(operator: str, one: ValueKind, other: ValueKind) -> int:
    return one.scale + other.scale if operator == "*" else max(one.scale, other.scale)


def _decimals(left: Value, right: Value) -> tuple[ValueKind, ValueKind]:
    """The types of the operands of an arithmetic with a decimal: a whole number that stands in the
    query has as many digits as it has."""
    if not (left.kind.is_decimal or right.kind.is_decimal):
        raise LeftOut(f"arithmetic of {left.kind.name} and {right.kind.name}")
    for value in (left, right):
        if not (value.kind.is_decimal or value.kind.is_integer):
            raise LeftOut(f"arithmetic of {value.kind.name}")
    return _digits_of(left), _digits_of(right)


def _digits_of(value: Value) -> ValueKind:
    if value.literal is not None and value.kind.is_integer:
        return kinds.decimal(len(value.literal.removeprefix("-").lstrip("0")) or 1, 0)
    return kinds.as_decimal(value.kind)


def _whole_quotient(s: Scalars, node: exp.Expr) -> Value:
    left, right = s(node.this), s(node.expression)
    if left.kind.is_integer and right.kind.is_integer:
        a, b = s.cast(left, BIGINT), s.cast(right, BIGINT)
        return Value(f"CASE WHEN {b} = 0 THEN error('zero') ELSE {a} // {b} END", BIGINT)
    one, other = _decimals(left, right)
    function = exact.arithmetic("DIV", one, other, BIGINT)
    args = (Value(s.cast(left, one), one), Value(s.cast(right, other), other))
    return s.call("whole", function, args, BIGINT)


def _remainder(s: Scalars, node: exp.Expr) -> Value:
    left, right = s(node.this), s(node.expression)
    if not (left.kind.is_integer and right.kind.is_integer):
        raise LeftOut("a remainder of decimals")
    (a, b), kind = s.together([left, right])
    return Value(f"CASE WHEN {b} = 0 THEN error('zero') ELSE {a} % {b} END", kind)


# -- dates -----------------------------------------------------------------------------------------


def _moved_date(s: Scalars, node: exp.Expr, operator: str) -> Value:
    date, interval = s(node.this), node.expression
    count, unit = interval.this, interval.args.get("unit")
    others = [v for k, v in interval.args.items() if k not in ("this", "unit")]
    known = not any(others) and isinstance(unit, exp.Var)
    if date.kind != DATE or not known or not isinstance(count, exp.Literal):
        raise LeftOut("an interval")
    if not count.this.isdigit() or unit.name.upper() not in ("DAY", "MONTH", "YEAR"):
        raise LeftOut("an interval")
    moved = f"{date.sql} {operator} INTERVAL {int(count.this)} {unit.name.upper()}"
    return Value(f"CAST(({moved}) AS DATE)", DATE)


def _part_of_date(s: Scalars, node: exp.Expr) -> Value:
    if isinstance(node, exp.Extract):
        part, inner = node.name.upper(), node.expression
    else:
        part, inner = type(node).__name__.upper(), node.this
    if isinstance(inner, exp.TsOrDsToDate) and set(inner.args) == {"this"}:
        inner = inner.this
    date = s(inner)
    if date.kind != DATE or part not in ("YEAR", "MONTH", "DAY", "QUARTER"):
        raise LeftOut(f"{part} of {date.kind.name}")
    return Value(f"CAST({part.lower()}({date.sql}) AS INTEGER)", INT)


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
    word = "AND" if isinstance(node, exp.And) else "OR"
    return Value(f"({s.condition(node.this)} {word} {s.condition(node.expression)})", BOOLEAN)


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


def _like(s: Scalars, node: exp.Expr) -> Value:
    value, pattern = s(node.this), node.expression
    if value.kind != STRING or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise LeftOut("LIKE of another pattern")
    negated = "NOT " if node.args.get("negate") else ""
    return Value(f"({value.sql} {negated}LIKE {_text(pattern.this)})", BOOLEAN)


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


def _least_or_greatest(s: Scalars, node: exp.Expr) -> Value:
    texts, kind = _compared(s, [s(node.this), *map(s, node.expressions)])
    return Value(f"{node_name(node)}({', '.join(texts)})", kind)


# -- texts, casts, calls ---------------------------------------------------------------------------


def _concat(s: Scalars, node: exp.Expr) -> Value:
    values = [s(n) for n in node.expressions]
    if any(v.kind != STRING for v in values):
        raise LeftOut("CONCAT of values that are no strings")
    return Value(f"({' || '.join(v.sql for v in values)})", STRING)


def _pipe(s: Scalars, node: exp.Expr) -> Value:
    values = [s(node.this), s(node.expression)]
    if any(v.kind != STRING for v in values):
        raise LeftOut("|| of values that are no strings")
    return Value(f"({values[0].sql} || {values[1].sql})", STRING)


def _substring(s: Scalars, node: exp.Expr) -> Value:
    value, start, length = s(node.this), node.args.get("start"), node.args.get("length")
    places = [start] if length is None else [start, length]
    if value.kind != STRING or not all(_is_natural(p) for p in places):
        raise LeftOut("SUBSTRING from another place")
    numbers = ", ".join(str(p.this) for p in places if p is not None)
    return Value(f"substring({value.sql}, {numbers})", STRING)


def _is_natural(node: exp.Expr | None) -> bool:
    """Whether it is a whole number from 1 on."""
    number = isinstance(node, exp.Literal) and not node.is_string and node.this.isdigit()
    return number and node is not None and 0 < int(node.this) < 1 << 31


def _cast(s: Scalars, node: exp.Expr) -> Value:
    type_ = node.args["to"].sql("spark").lower().replace(" ", "")
    value, kind = s(node.this), kinds.value_kind(type_)
    if kind is None:
        raise LeftOut(f"a cast to {type_}")
    if value.kind in (kind, kinds.VOID):
        return Value(f"CAST({value.sql} AS {kind.sql})", kind)
    old = value.kind
    if kind == DATE and isinstance(node.this, exp.Literal) and _DAY.fullmatch(node.this.this):
        return Value(f"DATE '{node.this.this}'", DATE)
    numbers = old.is_integer and (kind.is_integer or kind.is_decimal)
    if not (numbers or (old.is_decimal and kind.is_decimal)):
        raise LeftOut(f"a cast of {old.name} to {kind.name}")
    return Value(f"CAST({value.sql} AS {kind.sql})", kind)


_DAY = re.compile(r"(?:19|20)\d\d-\d\d-\d\d")


def _anonymous(s: Scalars, node: exp.Expr) -> Value:
    rule = _CALLS.get(node.name.upper())
    if rule is None:
        raise LeftOut(node_name(node))
    return rule(s, node.expressions)


def _raise_error(s: Scalars, args: Sequence[exp.Expr]) -> Value:
    return Value("error('raised')", kinds.VOID)


def _hash(s: Scalars, args: Sequence[exp.Expr]) -> Value:
    values = [_hashed(s, a) for a in args]
    hashed = [v.kind for v in values]
    if any(k.name in ("float", "double", "void") for k in hashed):
        raise LeftOut("the hash of a float")
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
SCALARS: Mapping[type[exp.Expr], ScalarRule] = {
    exp.Column: ScalarRule(_column, frozenset({"this", "table"})),
    exp.Literal: ScalarRule(_literal, frozenset({"this", "is_string"})),
    exp.Boolean: ScalarRule(_boolean),
    exp.Null: ScalarRule(_null),
    exp.Paren: ScalarRule(_paren),
    exp.Neg: ScalarRule(_negative),
    exp.Add: ScalarRule(_plus_or_minus),
    exp.Sub: ScalarRule(_plus_or_minus),
    exp.Mul: ScalarRule(_times),
    exp.Div: ScalarRule(_over, frozenset({"this", "expression", "typed", "safe"})),
    exp.IntDiv: ScalarRule(_whole_quotient),
    exp.Mod: ScalarRule(_remainder),
    exp.Year: ScalarRule(_part_of_date),
    exp.Month: ScalarRule(_part_of_date),
    exp.Day: ScalarRule(_part_of_date),
    exp.Quarter: ScalarRule(_part_of_date),
    exp.Extract: ScalarRule(_part_of_date),
    **dict.fromkeys(_COMPARISONS, ScalarRule(_comparison)),
    exp.And: ScalarRule(_logic),
    exp.Or: ScalarRule(_logic),
    exp.Not: ScalarRule(_not),
    exp.Is: ScalarRule(_is_null, frozenset({"this", "expression", "negate"})),
    exp.Between: ScalarRule(_between, frozenset({"this", "low", "high"})),
    exp.In: ScalarRule(_in, frozenset({"this", "expressions", "negate"})),
    exp.Like: ScalarRule(_like, frozenset({"this", "expression", "negate"})),
    exp.Case: ScalarRule(_case, frozenset({"this", "ifs", "default"})),
    exp.If: ScalarRule(_if, frozenset({"this", "true", "false"})),
    exp.Coalesce: ScalarRule(_coalesce, _LISTED),
    exp.Least: ScalarRule(_least_or_greatest, frozenset({"this", "expressions", "ignore_nulls"})),
    exp.Greatest: ScalarRule(
        _least_or_greatest, frozenset({"this", "expressions", "ignore_nulls"})
    ),
    exp.Concat: ScalarRule(_concat, frozenset({"expressions", "safe"})),
    exp.DPipe: ScalarRule(_pipe, frozenset({"this", "expression", "safe"})),
    exp.Substring: ScalarRule(_substring, frozenset({"this", "start", "length"})),
    exp.Cast: ScalarRule(_cast, frozenset({"this", "to"})),
    exp.TryCast: ScalarRule(_cast, frozenset({"this", "to", "requires_string"})),
    exp.Anonymous: ScalarRule(_anonymous, _LISTED),
}
"""The closed list, without aggregates."""
