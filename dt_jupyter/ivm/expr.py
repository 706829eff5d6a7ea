"""Scalar expressions: SQL text with holes for columns.

A column is known by an id that is unique in its definition, so an expression means the same
wherever its columns are in scope; no alias has to be resolved again after a rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Col:
    """A reference to the column with this id."""

    id: str


class Opening(str):
    """The text that opens a call of a function that is none of Spark's, or may be none; what
    reads an expression as text sees no difference."""

    __slots__ = ()


class Between(str):
    """The text between two arguments of such a call."""

    __slots__ = ()


class Closing(str):
    """The text that ends such a call."""

    __slots__ = ()


@dataclass(frozen=True)
class Expr:
    """Text fragments and columns, in order. Deterministic: the binder lets nothing else pass."""

    parts: tuple[str | Col, ...]

    @cached_property
    def columns(self) -> frozenset[str]:
        return frozenset(p.id for p in self.parts if isinstance(p, Col))

    @property
    def column(self) -> str | None:
        """The column's id, where the expression is nothing but a column."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only.id if isinstance(only, Col) else None

    def sql(self, quote: Callable[[str], str]) -> str:
        return "".join(quote(p.id) if isinstance(p, Col) else p for p in self.parts)

    def renamed(self, ids: Mapping[str, str]) -> Expr:
        return Expr(
            tuple(Col(ids.get(p.id, p.id)) if isinstance(p, Col) else p for p in self.parts)
        )


def col(column: str) -> Expr:
    return Expr((Col(column),))


def expr(template: str, /, **values: Expr | str) -> Expr:
    """`expr("sum({x})", x=col("a"))`: the template with its fields filled in."""
    parts: list[str | Col] = []
    rest = template
    while rest:
        text, opening, rest = rest.partition("{")
        if text:
            parts.append(text)
        if opening:
            field, _, rest = rest.partition("}")
            value = values[field]
            parts.extend([value] if isinstance(value, str) else value.parts)
    return Expr(tuple(parts))


def conjunction(conditions: tuple[Expr, ...]) -> Expr | None:
    """All of them; None of none."""
    parts: list[str | Col] = []
    for condition in conditions:
        parts += [") AND (" if parts else "(", *condition.parts]
    return Expr((*parts, ")")) if parts else None
