"""The scalar expressions that are evaluated here: a closed list.

Whatever is not in it, or has a part that is not known here, is left out. An expression that fails
in DuckDB fails the whole statement, which is then Spark's: so ANSI mode makes no difference here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.arithmetic import ARITHMETIC, ARITHMETIC_OPERATORS, cast, negative
from dt_jupyter.evaluation.expressions import CallRule, Rules, Scalars, Value, node_name
from dt_jupyter.evaluation.kinds import BIGINT, BOOLEAN, STRING, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.literals import literal_value
from dt_jupyter.evaluation.row_hashes import hash_of_view
from dt_jupyter.evaluation.texts import TEXTS, match_pattern
from dt_jupyter.evaluation.times import TIMES
from dt_jupyter.ivm import (
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
    Reference,
    SortOrder,
    chain,
)

# -- columns and constants -------------------------------------------------------------------------


def _column(s: Scalars, node: Column) -> Value:
    return _found(s, node.id, "")


def _reference(s: Scalars, node: Reference) -> Value:
    return _found(s, node.name, node.relation)


def _found(s: Scalars, name: str, relation: str) -> Value:
    found = s.find(name, relation)
    if len(found) != 1:
        raise LeftOut(f"the column {name}")
    (column,) = found
    if column.kind is None:
        raise LeftOut(f"the type of {name}")
    return Value(column.sql, column.kind, place=column.place)


def _literal(s: Scalars, node: Literal) -> Value:
    return literal_value(node.text)


def _bracketed(s: Scalars, node: Bracketed) -> Value:
    value = s(node.inner)
    return Value(f"({value.sql})", value.kind, value.literal)


def _left_out(s: Scalars, node: Expr) -> Value:
    raise LeftOut(node_name(node))


# -- conditions ------------------------------------------------------------------------------------

_COMPARISONS = {
    "=": "=", "<>": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=",
    "<=>": "IS NOT DISTINCT FROM", "IS NOT DISTINCT FROM": "IS NOT DISTINCT FROM",
    "IS DISTINCT FROM": "IS DISTINCT FROM",
}  # fmt: skip


def _comparison(s: Scalars, node: Infix) -> Value:
    (a, b), _ = _compared(s, [s(node.left), s(node.right)])
    return Value(f"({a} {_COMPARISONS[node.op]} {b})", BOOLEAN)


def _compared(s: Scalars, values: Sequence[Value]) -> tuple[list[str], ValueKind]:
    texts, kind = s.together(values)
    if not kind.is_compared:
        raise LeftOut(f"{kind.name} compared")
    return texts, kind


def _logic(s: Scalars, node: Infix) -> Value:
    """A chain of one operator without recursion: a wide table's has thousands of members."""
    members = (e for _, e in chain(node, frozenset({node.op})))
    return Value(f"({f' {node.op} '.join(map(s.condition, members))})", BOOLEAN)


_OPERATORS: Mapping[str, Callable[[Scalars, Infix], Value]] = {
    **ARITHMETIC_OPERATORS,
    **dict.fromkeys(_COMPARISONS, _comparison),
    "AND": _logic,
    "OR": _logic,
    "LIKE": match_pattern,
}


def _infix(s: Scalars, node: Infix) -> Value:
    rule = _OPERATORS.get(node.op)
    if rule is None:
        raise LeftOut(node.op)
    return rule(s, node)


def _prefix(s: Scalars, node: Prefix) -> Value:
    if node.op == "-":
        return negative(s, node.value)
    if node.op != "NOT":
        raise LeftOut(node.op)
    return Value(f"(NOT {s.condition(node.value)})", BOOLEAN)


def _postfix(s: Scalars, node: Postfix) -> Value:
    if node.op not in ("IS NULL", "IS NOT NULL"):
        raise LeftOut(node.op)
    return Value(f"({s(node.value).sql} {node.op})", BOOLEAN)


def _between(s: Scalars, node: Between) -> Value:
    """As Spark has it: two comparisons, each in a type of its own."""
    value = s(node.value)
    (a, low), _ = _compared(s, [value, s(node.low)])
    (b, high), _ = _compared(s, [value, s(node.high)])
    return Value(f"({a} >= {low} AND {b} <= {high})", BOOLEAN)


def _in(s: Scalars, node: InList) -> Value:
    texts, _ = _compared(s, [s(node.value), *map(s, node.options)])
    return Value(f"({texts[0]} IN ({', '.join(texts[1:])}))", BOOLEAN)


# -- choices ---------------------------------------------------------------------------------------


def _case(s: Scalars, node: Case) -> Value:
    subject = node.value
    if subject is not None:
        conditions = [_comparison(s, Infix(subject, "=", e)).sql for e, _ in node.branches]
    else:
        conditions = [s.condition(e) for e, _ in node.branches]
    values = [s(e) for _, e in node.branches]
    values.append(s(node.otherwise) if node.otherwise is not None else _NULL)
    texts, kind = s.together(values)
    whens = " ".join(f"WHEN {c} THEN {t}" for c, t in zip(conditions, texts, strict=False))
    return Value(f"CASE {whens} ELSE {texts[-1]} END", kind)


_NULL = Value("NULL", kinds.VOID)


def _if(s: Scalars, call: Call) -> Value:
    asked, *values = call.args
    condition = s.condition(asked)
    (a, b), kind = s.together([*map(s, values), _NULL][:2])
    return Value(f"CASE WHEN {condition} THEN {a} ELSE {b} END", kind)


def _coalesce(s: Scalars, call: Call) -> Value:
    texts, kind = s.together([s(a) for a in call.args])
    return Value(f"COALESCE({', '.join(texts)})", kind)


def _null_if(s: Scalars, call: Call) -> Value:
    values = [s(a) for a in call.args]
    (a, b), _ = _compared(s, values)
    return Value(f"CASE WHEN ({a} = {b}) THEN NULL ELSE {values[0].sql} END", values[0].kind)


def _least_or_greatest(s: Scalars, call: Call) -> Value:
    texts, kind = _compared(s, [s(a) for a in call.args])
    return Value(f"{node_name(call)}({', '.join(texts)})", kind)


def _raise_error(s: Scalars, call: Call) -> Value:
    return Value("error('raised')", kinds.VOID)


def _hash(s: Scalars, call: Call) -> Value:
    of_view = hash_of_view(s, call.args)
    if of_view is not None:
        return of_view
    values = [_hashed(s, a) for a in call.args]
    hashed = [v.kind for v in values]
    if kinds.VOID in hashed:
        raise LeftOut("the hash of NULL")
    return s.call("row_hash", exact.row_hash(hashed), values, BIGINT)


def _hashed(s: Scalars, node: Expr) -> Value:
    """A text as it is: its bytes are hashed."""
    if isinstance(node, Cast) and node.type.upper() == "BINARY":
        value = s(node.value)
        if value.kind == STRING:
            return value
    return s(node)


SCALARS = Rules(
    {
        Column: _column,
        Reference: _reference,
        Literal: _literal,
        Bracketed: _bracketed,
        Call: Scalars.called,
        Cast: cast,
        Case: _case,
        Infix: _infix,
        Prefix: _prefix,
        Postfix: _postfix,
        Between: _between,
        InList: _in,
        Element: _left_out,
        SortOrder: _left_out,
        Raw: _left_out,
    },
    {
        **ARITHMETIC,
        **TIMES,
        **TEXTS,
        "if": CallRule(_if, 2, 3),
        **dict.fromkeys(("coalesce", "nvl"), CallRule(_coalesce, 1, None)),
        "nullif": CallRule(_null_if, 2, 2),
        **dict.fromkeys(("least", "greatest"), CallRule(_least_or_greatest, 1, None)),
        "raise_error": CallRule(_raise_error, 0, None),
        "xxhash64": CallRule(_hash, 1, None),
    },
)
"""The closed list, without aggregates and windows; of nodes it has all that there are."""
