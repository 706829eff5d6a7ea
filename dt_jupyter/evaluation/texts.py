"""Strings that are evaluated here; they are compared by their bytes."""

from __future__ import annotations

from collections.abc import Mapping

from dt_jupyter.evaluation import exact
from dt_jupyter.evaluation.expressions import CallRule, Scalars, Value, natural_number
from dt_jupyter.evaluation.kinds import BOOLEAN, INT, STRING
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.literals import constant_string, quoted_text
from dt_jupyter.ivm import Call, Expr, Infix


def _string(s: Scalars, node: Expr, what: str) -> Value:
    value = s(node)
    if value.kind != STRING:
        raise LeftOut(f"{what} of {value.kind.name}")
    return value


def match_pattern(s: Scalars, node: Infix) -> Value:
    value, pattern = s(node.left), constant_string(node.right)
    if value.kind != STRING or pattern is None:
        raise LeftOut("LIKE of another pattern")
    return Value(f"({value.sql} LIKE {quoted_text(pattern)})", BOOLEAN)


def _concat(s: Scalars, call: Call) -> Value:
    """Also `||`, as Spark calls it."""
    values = [s(a) for a in call.args]
    for value in values:
        if not (value.kind == STRING or value.kind.is_integer):
            raise LeftOut(f"|| of {value.kind.name}")
    texts = [v.sql if v.kind == STRING else f"CAST({v.sql} AS VARCHAR)" for v in values]
    return Value(_concatenated(texts), STRING)


def _concatenated(texts: list[str]) -> str:
    """In halves: DuckDB refuses what is nested as often as a row has columns."""
    if len(texts) == 1:
        return f"({texts[0]})"
    half = len(texts) // 2
    return f"({_concatenated(texts[:half])} || {_concatenated(texts[half:])})"


def _substring(s: Scalars, call: Call) -> Value:
    value, numbers = s(call.args[0]), [natural_number(a) for a in call.args[1:]]
    if value.kind != STRING or None in numbers:
        raise LeftOut("SUBSTRING from another place")
    return Value(f"substring({value.sql}, {', '.join(map(str, numbers))})", STRING)


def _in_case(s: Scalars, call: Call) -> Value:
    value, name = _string(s, call.args[0], "UPPER or LOWER"), call.function
    return s.call(name, exact.in_case(upper=name == "upper"), (value,), STRING)


def _trimmed(s: Scalars, call: Call) -> Value:
    return Value(f"{call.function}({_string(s, call.args[0], 'TRIM').sql}, ' ')", STRING)


def _length(s: Scalars, call: Call) -> Value:
    return Value(f"CAST(length({_string(s, call.args[0], 'LENGTH').sql}) AS INTEGER)", INT)


_PARTS_OF = {"startswith": "starts_with", "endswith": "suffix", "contains": "contains"}


def _part_of(s: Scalars, call: Call) -> Value:
    name = _PARTS_OF[call.function]
    a, b = (_string(s, e, name) for e in call.args)
    return Value(f"{name}({a.sql}, {b.sql})", BOOLEAN)


TEXTS: Mapping[str, CallRule] = {
    "concat": CallRule(_concat, 1, None),
    "substring": CallRule(_substring, 2, 3),
    **dict.fromkeys(("upper", "lower"), CallRule(_in_case)),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), CallRule(_trimmed)),
    "length": CallRule(_length),
    **dict.fromkeys(_PARTS_OF, CallRule(_part_of, 2, 2)),
}
