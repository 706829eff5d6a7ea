"""Expressions of Spark's as DuckDB's, each with its type, by a table of rules."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dt_jupyter.evaluation import exact, kinds
from dt_jupyter.evaluation.brackets import require_brackets
from dt_jupyter.evaluation.kinds import BOOLEAN, DOUBLE, ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.ivm import Call, Expr, Literal
from dt_jupyter.model import count_of


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column of a view, under the alias that the view has in FROM; an optional one is NULL also
    where a join finds no row of the view."""

    view: str
    alias: str
    column: str
    optional: bool = False

    @property
    def sql(self) -> str:
        return f"{self.alias}.{self.column}"

    @property
    def row(self) -> str:
        """The number of the view's row."""
        return f"{self.alias}.{ROW_NUMBER}"


ROW_NUMBER = "r"
"""A view's column with the numbers of its rows."""


@dataclass(frozen=True, slots=True)
class Value:
    """An expression in DuckDB's SQL and its type; `literal` is the number that it is, `place` the
    column of a view that it is, and `row` the expression of the row where a group has it from."""

    sql: str
    kind: ValueKind
    literal: str | None = None
    place: ViewColumn | None = None
    row: str = ""


@dataclass(frozen=True, slots=True)
class ScopeColumn:
    """A column in scope; of a type that is not evaluated it has no kind. `place`: where it is a
    view's own."""

    qualifier: str | None
    name: str
    sql: str
    kind: ValueKind | None
    place: ViewColumn | None = None


@dataclass(frozen=True, slots=True)
class Function:
    """A function of rows that a statement needs, under the name by which it calls it."""

    evaluate: exact.Function
    arguments: tuple[ValueKind, ...]
    result: ValueKind


class HashedPart(StrEnum):
    VALUES = "values"
    ZEROS = "zeros"
    NULLS = "nulls"


@dataclass(frozen=True, slots=True)
class HashPart:
    """One argument of a row's hash, of columns of a view by name: a column's values, the zeros of a
    float's with their signs, or which of all the columns are NULL."""

    what: HashedPart
    columns: tuple[str, ...]
    kind: ValueKind


@dataclass(frozen=True, slots=True)
class ViewHash:
    """XXHASH64 of a literal, if there is one, and of columns of one view."""

    view: str
    literal: str | None
    parts: tuple[HashPart, ...]


@dataclass(frozen=True, slots=True)
class ViewHashes:
    """The hashes that a statement needs, each a further column of its view."""

    names: dict[ViewHash, str] = field(default_factory=dict)

    def name(self, of: ViewHash) -> str:
        return self.names.setdefault(of, f"x{len(self.names)}")


@dataclass(frozen=True, slots=True)
class CallRule:
    """How calls of a function are translated, and how many arguments they may have."""

    translate: Callable[[Scalars, Call], Value]
    least: int = 1
    most: int | None = 1
    distinct: bool = False
    """Whether DISTINCT may stand before its argument."""


@dataclass(frozen=True, slots=True)
class Rules:
    """By the class of a node, and for calls by the name of the function."""

    nodes: Mapping[type[Expr], Callable[[Scalars, Any], Value]]
    calls: Mapping[str, CallRule]


@dataclass
class Scalars:
    """Translates expressions over `columns` by `rules`; `functions` are those of ours that they
    call. `is_utc`: the session's time zone is UTC. `over` follows the call of an aggregate: the
    window that it is over, nothing in a group."""

    columns: Sequence[ScopeColumn]
    rules: Rules
    functions: dict[str, Function]
    is_utc: bool
    over: str = ""
    hashes: ViewHashes | None = None
    """Those of views' own columns, where they are computed before the statement."""
    by_name: dict[str, list[ScopeColumn]] | None = None
    """The columns; a copy with other rules has the same."""

    def __post_init__(self) -> None:
        if self.by_name is None:
            self.by_name = {}
            for column in self.columns:
                self.by_name.setdefault(column.name, []).append(column)

    def __call__(self, node: Expr) -> Value:
        rule = self.rules.nodes.get(type(node))
        if rule is None:
            raise LeftOut(node_name(node))
        value = rule(self, node)
        require_brackets(node)
        return value

    def called(self, call: Call) -> Value:
        """A call by the rule of its function."""
        rule, name, count = self.rules.calls.get(call.function), node_name(call), len(call.args)
        if rule is None:
            raise LeftOut(name)
        if call.distinct and not rule.distinct:
            raise LeftOut(f"{name} with DISTINCT")
        if count < rule.least or (rule.most is not None and count > rule.most):
            raise LeftOut(f"{name} of {count_of(count, 'argument')}")
        return rule.translate(self, call)

    def find(self, name: str, qualifier: str) -> Sequence[ScopeColumn]:
        """The columns of that name, of any relation where the qualifier is empty."""
        assert self.by_name is not None
        named = self.by_name.get(name, ())
        return [c for c in named if qualifier in ("", c.qualifier)]

    def cast(self, value: Value, kind: ValueKind) -> str:
        if value.kind == kind:
            return value.sql
        if kind == DOUBLE and value.kind.is_decimal:
            if value.literal is not None:
                return f"CAST('{value.literal}' AS DOUBLE)"
            return self.call("to_double", exact.to_double, (value,), DOUBLE).sql
        whole = value.kind.is_integer and (kind.is_integer or kind.is_decimal)
        text = value.literal if whole and value.literal is not None else value.sql
        return f"CAST({text} AS {kind.sql})"

    def call(
        self, name: str, function: exact.Function, args: Sequence[Value], kind: ValueKind
    ) -> Value:
        """A call of a function of ours."""
        arguments = tuple(a.kind for a in args)
        signature = "_".join(re.sub(r"\W+", "_", k.sql) for k in (*arguments, kind))
        called = f"{name}_{signature}".lower()
        self.functions[called] = Function(function, arguments, kind)
        return Value(f"{called}({', '.join(a.sql for a in args)})", kind)

    def together(self, values: Sequence[Value]) -> tuple[list[str], ValueKind]:
        """Expressions in the type that all of them become; VOID where each is NULL or an error."""
        kind = kinds.VOID
        for value in values:
            kind = kinds.common(kind, value.kind)
        return [self.cast(v, kind) for v in values], kind

    def condition(self, node: Expr) -> str:
        value = self(node)
        if value.kind != BOOLEAN:
            raise LeftOut(f"{value.kind.name} as a condition")
        return value.sql


def natural_number(node: Expr) -> int | None:
    """The whole number from 1 on that stands there; None for anything else."""
    if not isinstance(node, Literal) or not node.text.isdigit():
        return None
    number = int(node.text)
    return number if 0 < number < 1 << 31 else None


def node_name(node: Expr) -> str:
    """What a message calls a node: the name of a function, the words of an operator."""
    return node.word.removesuffix("()").upper() or "an expression of another form"
