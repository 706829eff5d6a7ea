"""The type of any expression, and whether it may be NULL: as Spark says of what it read, by the
parts of what is of our own making."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dt_jupyter.ivm.expr import (
    EXPRESSIONS,
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
    walk_expression,
)

_INTEGRAL = ("tinyint", "smallint", "int", "bigint")
_TESTS = frozenset({
    "=", "<>", "<", "<=", ">", ">=", "<=>", "AND", "OR", "LIKE", "ILIKE", "IS DISTINCT FROM",
})  # fmt: skip
_TOTAL = frozenset({"<=>", "IS DISTINCT FROM"})
_LITERALS = (
    (re.compile(r"NULL"), "void"),
    (re.compile(r"TRUE|FALSE"), "boolean"),
    (re.compile(r"[+-]?\d+"), "int"),
    (re.compile(r"\d+L"), "bigint"),
    (re.compile(r"[\d.eE+-]+D"), "double"),
    (re.compile(r"'.*'", re.DOTALL), "string"),
)
"""The constants of our own making."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """A type as `type_text` has it, and whether there may be a NULL."""

    type: str
    nullable: bool = True


class Untyped(Exception):
    """No rule gives the type of an expression, which is named: Spark has to be asked."""


def type_expression(e: Expr, columns: Mapping[str, ColumnType]) -> ColumnType:
    """The type of an expression over columns; Untyped where no rule gives it."""
    order, waiting = list[Expr](), [e]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if node.facts is None:
            waiting += node.children
    made: dict[int, ColumnType] = {}
    for node in reversed(order):
        made[id(node)] = _type_node(node, columns, made)
    return made[id(e)]


def _type_node(
    node: Expr, columns: Mapping[str, ColumnType], made: Mapping[int, ColumnType]
) -> ColumnType:
    if isinstance(node, Column):
        if node.id not in columns:
            raise Untyped(node.id)
        return columns[node.id]
    if node.facts is not None:
        nullable = node.facts.nullable or not _holds(node, columns)
        return ColumnType(node.facts.type, nullable)
    return _RULES[type(node)](node, [made[id(c)] for c in node.children])


def _holds(e: Expr, columns: Mapping[str, ColumnType]) -> bool:
    """Whether the columns of an expression are NULL only where Spark took them to be when it said
    that the expression is not."""
    read = (c for c in walk_expression(e) if isinstance(c, Column))
    return all(_is_taken_for(c, columns.get(c.id)) for c in read)


def _is_taken_for(column: Column, found: ColumnType | None) -> bool:
    if found is not None and not found.nullable:
        return True
    return column.facts is not None and column.facts.nullable


def widest(kinds: Iterable[str]) -> str:
    """The type that Spark gives values of these types together; Untyped where they are neither of
    one type nor whole numbers."""
    found = sorted(set(kinds) - {"void"})
    if len(found) > 1 and set(found) <= set(_INTEGRAL):
        return max(found, key=_INTEGRAL.index)
    if len(found) > 1:
        raise Untyped(f"{found[0]} beside {found[1]}")
    return found[0] if found else "void"


_Parts = Sequence[ColumnType]


def _first(parts: _Parts) -> ColumnType:
    return ColumnType(parts[0].type)


def _together(parts: _Parts) -> ColumnType:
    """One of the parts, or what is computed of all of them."""
    return ColumnType(widest(p.type for p in parts), any(p.nullable for p in parts))


def _always(kind: str) -> Callable[[_Parts], ColumnType]:
    return lambda parts: ColumnType(kind, nullable=False)


def _computed(kind: str) -> Callable[[_Parts], ColumnType]:
    return lambda parts: ColumnType(kind, any(p.nullable for p in parts))


def _sum(parts: _Parts) -> ColumnType:
    if parts[0].type not in _INTEGRAL:
        raise Untyped(f"the sum of {parts[0].type}")
    return ColumnType("bigint")


def _coalesced(parts: _Parts) -> ColumnType:
    return ColumnType(widest(p.type for p in parts), all(p.nullable for p in parts))


def _list(parts: _Parts) -> ColumnType:
    return ColumnType(f"array<{widest(p.type for p in parts)}>", nullable=False)


def _sequence(parts: _Parts) -> ColumnType:
    return ColumnType(f"array<{_together(parts).type}>")


def _remainder(parts: _Parts) -> ColumnType:
    return ColumnType(widest(p.type for p in parts))


_test = _computed("boolean")
_CALLS: dict[str, Callable[[_Parts], ColumnType]] = {
    **dict.fromkeys(("count", "count_if", "xxhash64"), _always("bigint")),
    "unix_micros": _computed("bigint"),
    **dict.fromkeys(("max", "min", "any_value"), _first),
    "sum": _sum,
    "row_number": _always("int"),
    **dict.fromkeys(("coalesce", "least", "greatest"), _coalesced),
    "pmod": _remainder,
    "array": _list,
    "sequence": _sequence,
    "concat": _computed("string"),
    "map": _always("map<string,string>"),
    "isnan": _always("boolean"),
    "if": lambda parts: _together(parts[1:]),
    "raise_error": lambda parts: ColumnType("void"),
    "timestamp_micros": _computed("timestamp"),
    **dict.fromkeys(("md5", "hex"), _computed("string")),
}
"""The functions that we call ourselves."""


def _literal(e: Literal, parts: _Parts) -> ColumnType:
    for pattern, kind in _LITERALS:
        if pattern.fullmatch(e.text):
            return ColumnType(kind, nullable=kind == "void")
    raise Untyped(e.text)


def _call(e: Call, parts: _Parts) -> ColumnType:
    rule = _CALLS.get(e.function)
    if rule is None:
        raise Untyped(e.word)
    return rule(parts)


def _case(e: Case, parts: _Parts) -> ColumnType:
    values = parts[2 if e.value is not None else 1 :: 2]
    if e.otherwise is not None:
        values = [*values[: len(e.branches)], parts[-1]]
    found = _together(values)
    return ColumnType(found.type, found.nullable or e.otherwise is None)


def _infix(e: Infix, parts: _Parts) -> ColumnType:
    if e.op in _TESTS:
        return ColumnType("boolean", e.op not in _TOTAL and any(p.nullable for p in parts))
    if e.op not in ("+", "-"):
        raise Untyped(e.op)
    found = _together(parts)
    if found.type not in _INTEGRAL:
        raise Untyped(f"{e.op} of {found.type}")
    return found


def _postfix(e: Postfix, parts: _Parts) -> ColumnType:
    if e.op in ("IS NULL", "IS NOT NULL"):
        return ColumnType("boolean", nullable=False)
    return parts[0]


def _cast(e: Cast, parts: _Parts) -> ColumnType:
    return ColumnType(e.type if "<" in e.type else e.type.lower().replace(", ", ","))


def _unknown(e: Expr, parts: _Parts) -> ColumnType:
    raise Untyped(e.word)


def _same(e: Expr, parts: _Parts) -> ColumnType:
    return parts[0]


_RULES: dict[type[Expr], Callable[[Any, _Parts], ColumnType]] = {
    Column: _unknown,
    Literal: _literal,
    Call: _call,
    Cast: _cast,
    Case: _case,
    Infix: _infix,
    Prefix: lambda e, parts: (
        ColumnType("boolean", parts[0].nullable) if e.op == "NOT" else parts[0]
    ),
    Postfix: _postfix,
    InList: lambda e, parts: _test(parts),
    Between: lambda e, parts: _test(parts),
    Bracketed: _same,
    Element: _unknown,
    SortOrder: _same,
    Raw: _unknown,
}
assert set(_RULES) == set(EXPRESSIONS)
