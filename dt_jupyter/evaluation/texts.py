"""Strings that are evaluated here; they are compared by their bytes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from dt_jupyter.evaluation import exact
from dt_jupyter.evaluation.expressions import ScalarRule, Scalars, Value, natural_number
from dt_jupyter.evaluation.kinds import BOOLEAN, INT, STRING
from dt_jupyter.evaluation.left_out import LeftOut


def quoted_text(text: str) -> str:
    """A string as it stands in a query."""
    if "\\" in text or "\0" in text:
        raise LeftOut("a string with a backslash")
    return "'" + text.replace("'", "''") + "'"


def _string(s: Scalars, node: exp.Expr, what: str) -> Value:
    value = s(node)
    if value.kind != STRING:
        raise LeftOut(f"{what} of {value.kind.name}")
    return value


def _like(s: Scalars, node: exp.Expr) -> Value:
    value, pattern = s(node.this), node.expression
    if value.kind != STRING or not (isinstance(pattern, exp.Literal) and pattern.is_string):
        raise LeftOut("LIKE of another pattern")
    negated = "NOT " if node.args.get("negate") else ""
    return Value(f"({value.sql} {negated}LIKE {quoted_text(pattern.this)})", BOOLEAN)


def _concat(s: Scalars, node: exp.Expr) -> Value:
    return _joined([s(n) for n in node.expressions])


def _pipe(s: Scalars, node: exp.Expr) -> Value:
    return _joined([s(node.this), s(node.expression)])


def _joined(values: Sequence[Value]) -> Value:
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


def _substring(s: Scalars, node: exp.Expr) -> Value:
    value, start, length = s(node.this), node.args.get("start"), node.args.get("length")
    places = [start] if length is None else [start, length]
    numbers = [natural_number(p) for p in places]
    if value.kind != STRING or None in numbers:
        raise LeftOut("SUBSTRING from another place")
    return Value(f"substring({value.sql}, {', '.join(map(str, numbers))})", STRING)


def _in_case(s: Scalars, node: exp.Expr) -> Value:
    value, upper = _string(s, node.this, "UPPER or LOWER"), isinstance(node, exp.Upper)
    return s.call("upper" if upper else "lower", exact.in_case(upper=upper), (value,), STRING)


def _trimmed(s: Scalars, node: exp.Expr) -> Value:
    value, side = _string(s, node.this, "TRIM"), str(node.args.get("position") or "BOTH").upper()
    function = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
    return Value(f"{function}({value.sql}, ' ')", STRING)


def _length(s: Scalars, node: exp.Expr) -> Value:
    return Value(f"CAST(length({_string(s, node.this, 'LENGTH').sql}) AS INTEGER)", INT)


_PARTS_OF: Mapping[type[exp.Expr], str] = {
    exp.StartsWith: "starts_with", exp.EndsWith: "suffix", exp.Contains: "contains",
}  # fmt: skip


def _part_of(s: Scalars, node: exp.Expr) -> Value:
    name = _PARTS_OF[type(node)]
    a, b = _string(s, node.this, name), _string(s, node.expression, name)
    return Value(f"{name}({a.sql}, {b.sql})", BOOLEAN)


TEXTS: Mapping[type[exp.Expr], ScalarRule] = {
    exp.Like: ScalarRule(_like, frozenset({"this", "expression", "negate"})),
    exp.Concat: ScalarRule(_concat, frozenset({"expressions", "safe"})),
    exp.DPipe: ScalarRule(_pipe, frozenset({"this", "expression", "safe"})),
    exp.Substring: ScalarRule(_substring, frozenset({"this", "start", "length"})),
    exp.Upper: ScalarRule(_in_case, frozenset({"this"})),
    exp.Lower: ScalarRule(_in_case, frozenset({"this"})),
    exp.Trim: ScalarRule(_trimmed, frozenset({"this", "position"})),
    exp.Length: ScalarRule(_length, frozenset({"this"})),
    exp.StartsWith: ScalarRule(_part_of),
    exp.EndsWith: ScalarRule(_part_of),
    exp.Contains: ScalarRule(_part_of),
}
