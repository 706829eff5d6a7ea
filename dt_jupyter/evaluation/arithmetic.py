"""Numbers that are evaluated here: arithmetic and casts.

Doubles are computed as IEEE 754 has it, by both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.expressions import CallRule, Scalars, Value
from dt_jupyter.evaluation.kinds import BIGINT, BOOLEAN, DATE, DOUBLE, STRING, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.literals import cast_kind, literal_value
from dt_jupyter.evaluation.times import day_of, is_interval, moved_date
from dt_jupyter.ivm import Call, Cast, Expr, Infix, Literal


def negative(s: Scalars, inner: Expr) -> Value:
    if isinstance(inner, Literal) and inner.text[:1].isdigit():
        return literal_value(f"-{inner.text}")
    value = s(inner)
    if value.kind.is_integer:
        return Value(f"(CAST(0 AS {value.kind.sql}) - {value.sql})", value.kind)
    if value.kind == DOUBLE:
        return Value(f"(- {value.sql})", DOUBLE)
    raise LeftOut(f"the negative of {value.kind.name}")  # Spark rounds that of a long decimal


def _positive(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if not value.kind.is_number:
        raise LeftOut(f"POSITIVE of {value.kind.name}")
    return Value(f"({value.sql})", value.kind, value.literal)


def _absolute(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if value.kind.is_integer or value.kind == DOUBLE:
        return Value(f"abs({value.sql})", value.kind)
    raise LeftOut(f"ABS of {value.kind.name}")


def _plus_or_minus(s: Scalars, node: Infix) -> Value:
    if is_interval(node.right):
        return moved_date(s, node)
    return _arithmetic(s, node)


def _arithmetic(s: Scalars, node: Infix) -> Value:
    left, operator, right = s(node.left), node.op, s(node.right)
    both = (left.kind, right.kind)
    if DOUBLE in both or (operator == "/" and not any(k.is_decimal for k in both)):
        return _of_doubles(s, operator, left, right)
    if left.kind.is_integer and right.kind.is_integer:
        (a, b), kind = s.together([left, right])
        return Value(f"({a} {operator} {b})", kind)
    a_kind, b_kind = _decimals(left, right)
    kind = kinds.result_of(operator, a_kind, b_kind)
    a, b = s.cast(left, a_kind), s.cast(right, b_kind)
    exactly = operator != "/" and kind.scale >= _exact_scale(operator, a_kind, b_kind)
    if operator in "+-" and exactly:
        a, b = (s.cast(Value(x, kinds.VOID), kind) for x in (a, b))
        return Value(f"CAST(({a} {operator} {b}) AS {kind.sql})", kind)
    if operator == "*" and exactly:
        return Value(f"CAST(({a} * {b}) AS {kind.sql})", kind)
    name = {"+": "plus", "-": "minus", "*": "times", "/": "over"}[operator]
    function = exact.arithmetic(operator, a_kind, b_kind, kind)
    return s.call(name, function, (Value(a, a_kind), Value(b, b_kind)), kind)


def _of_doubles(s: Scalars, operator: str, left: Value, right: Value) -> Value:
    for value in (left, right):
        if not value.kind.is_number:
            raise LeftOut(f"arithmetic of {value.kind.name}")
    a, b = s.cast(left, DOUBLE), s.cast(right, DOUBLE)
    if operator == "/":
        return _divided(a, "/", b, DOUBLE)
    return Value(f"({a} {operator} {b})", DOUBLE)


def _divided(a: str, operator: str, b: str, kind: ValueKind) -> Value:
    """NULL or an error in Spark where `b` is zero."""
    return Value(f"CASE WHEN {b} = 0 THEN error('zero') ELSE {a} {operator} {b} END", kind)


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


def _whole_quotient(s: Scalars, node: Infix) -> Value:
    left, right = s(node.left), s(node.right)
    if left.kind.is_integer and right.kind.is_integer:
        a, b = s.cast(left, BIGINT), s.cast(right, BIGINT)
        return _divided(a, "//", b, BIGINT)
    one, other = _decimals(left, right)
    function = exact.arithmetic("DIV", one, other, BIGINT)
    args = (Value(s.cast(left, one), one), Value(s.cast(right, other), other))
    return s.call("whole", function, args, BIGINT)


def _remainder(s: Scalars, node: Infix) -> Value:
    left, right = s(node.left), s(node.right)
    if not (left.kind.is_integer and right.kind.is_integer):
        raise LeftOut(f"a remainder of {left.kind.name}")
    (a, b), kind = s.together([left, right])
    return _divided(a, "%", b, kind)


def _rounded(s: Scalars, call: Call) -> Value:
    """Of decimals; a double is rounded by its decimal digits, which Java's releases differ in."""
    value, *places = s(call.args[0]), *call.args[1:]
    wanted = 0
    if places:
        (place,) = places
        if not (isinstance(place, Literal) and place.text.isdigit()):
            raise LeftOut("ROUND to other places")
        wanted = int(place.text)
    if not value.kind.is_decimal:
        raise LeftOut(f"ROUND of {value.kind.name}")
    scale = min(wanted, value.kind.scale)
    digits = value.kind.precision - value.kind.scale + 1 + scale
    kind = kinds.decimal(min(digits, kinds.MOST_DIGITS), scale)
    return s.call("rounded", exact.rounded(value.kind, kind), (value,), kind)


def _is_nan(s: Scalars, call: Call) -> Value:
    value = s(call.args[0])
    if value.kind != DOUBLE:
        raise LeftOut(f"ISNAN of {value.kind.name}")
    return Value(f"COALESCE(isnan({value.sql}), FALSE)", BOOLEAN)


# -- casts -----------------------------------------------------------------------------------------


def cast(s: Scalars, node: Cast) -> Value:
    """CAST, and TRY_CAST: what fails is Spark's."""
    value, kind = s(node.value), cast_kind(node.type)
    if value.kind in (kind, kinds.VOID):
        return Value(f"CAST({value.sql} AS {kind.sql})", kind)
    if kind == DATE:
        return day_of(s, node.value)
    if value.kind.is_number and kind.is_number:
        return _cast_number(s, value, kind)
    if value.kind == BOOLEAN and kind.is_integer:
        return Value(f"CAST({value.sql} AS {kind.sql})", kind)
    if kind == STRING and (value.kind.is_integer or value.kind == BOOLEAN):
        return Value(f"CAST({value.sql} AS VARCHAR)", STRING)
    if kind == STRING and value.kind.is_float:
        return s.call("zero_text", exact.zero_text, (value,), STRING)
    raise LeftOut(f"a cast of {value.kind.name} to {kind.name}")


def _cast_number(s: Scalars, value: Value, kind: ValueKind) -> Value:
    old = value.kind
    if old.is_float and kind.is_decimal:
        raise LeftOut(f"a cast of {old.name} to decimal")  # by the digits of its text
    if old.is_decimal and kind.name == "float":
        raise LeftOut("a cast of decimal to float")
    if kind.is_integer and (old.is_float or old.scale):
        return Value(f"CAST(trunc({value.sql}) AS {kind.sql})", kind)
    return Value(s.cast(value, kind), kind)


ARITHMETIC_OPERATORS: Mapping[str, Callable[[Scalars, Infix], Value]] = {
    "+": _plus_or_minus,
    "-": _plus_or_minus,
    "*": _arithmetic,
    "/": _arithmetic,
    "DIV": _whole_quotient,
    "%": _remainder,
}
ARITHMETIC: Mapping[str, CallRule] = {
    "abs": CallRule(_absolute),
    "positive": CallRule(_positive),
    "round": CallRule(_rounded, 1, 2),
    "isnan": CallRule(_is_nan),
}
