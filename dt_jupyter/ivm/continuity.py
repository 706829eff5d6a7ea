"""Whether an expression turns nearly equal floats into nearly equal values.

A floating aggregate that is computed again may differ in its last bits. What only moves by as much
may depend on it; what decides by it (a comparison, a rounding, a cast to an integer) may come to
another value. A form that is not listed here decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from dt_jupyter.ivm.expr import (
    Bracketed,
    Call,
    Case,
    Cast,
    Column,
    Element,
    Expr,
    Infix,
    Postfix,
    Prefix,
    chain,
)

CONTINUOUS = frozenset({
    "ABS", "ASINH", "ATAN", "CBRT", "COS", "COSH", "DEGREES", "DOUBLE", "EXP", "EXPM1", "FLOAT",
    "LN", "LOG", "LOG10", "LOG1P", "LOG2", "NEGATIVE", "POSITIVE", "RADIANS", "SIN", "SINH", "SQRT",
    "TAN", "TANH",
})  # fmt: skip
"""Functions of one number. A test moves the argument of each by 1e-12 and compares the values."""
_OF_SEVERAL = frozenset({
    "ARRAY", "GREATEST", "HYPOT", "LEAST", "NAMED_STRUCT", "STRUCT", "TRY_ADD", "TRY_MULTIPLY",
    "TRY_SUBTRACT",
})  # fmt: skip
_BY_FIRST = frozenset({"POW", "POWER", "TRY_DIVIDE"})
"""Functions of two numbers that move with their first alone: a second one decides."""
_FIRST_NOT_NULL = frozenset({"COALESCE", "IFNULL", "NVL"})
_FLOATS = frozenset({"DOUBLE", "FLOAT", "REAL"})
_OPERATORS = frozenset("+-*/")
_CONNECTORS = frozenset({"AND", "OR"})
_NULL_TESTS = ("IS NULL", "IS NOT NULL")


def decider_in(e: Expr, unstable: frozenset[str]) -> str | None:
    """What in an expression decides by columns that are equal only within a tolerance; None where
    it moves by no more than they do."""
    return _Judge(unstable).value(e)


def only_null_tests(e: Expr, unstable: frozenset[str]) -> bool:
    """Whether an expression depends on those columns only by whether they are NULL."""
    return _Judge(unstable).condition(e) is None


@dataclass(frozen=True)
class _Judge:
    """By the columns that are `unstable`: each method gives the name of what decides."""

    unstable: frozenset[str]

    def reads(self, e: Expr) -> bool:
        return not self.unstable.isdisjoint(e.columns)

    def decides(self, e: Expr) -> str | None:
        return e.word if self.reads(e) else None

    def first(self, parts: Iterable[Expr | None]) -> str | None:
        return _first(self.value(p) for p in parts if p is not None)

    def value(self, e: Expr) -> str | None:
        if not self.reads(e):
            return None
        match e:
            case Column():
                return None
            case Infix(op=op) if op in _OPERATORS:
                return self.first(operand for _, operand in chain(e, _OPERATORS))
            case Bracketed(inner) | Prefix("-", inner):
                return self.value(inner)
            case Element(value, key):
                return "[" if self.reads(key) else self.value(value)
            case Cast(value, type_):
                return self.value(value) if type_.upper() in _FLOATS else e.word
            case Case():
                return self.case(e)
            case Call():
                return self.call(e)
            case Prefix("NOT") | Infix(op="AND" | "OR") | Postfix(op="IS NULL" | "IS NOT NULL"):
                return self.condition(e)
        return e.word

    def call(self, e: Call) -> str | None:
        name = e.function.upper()
        if rule := _RULES.get(name):
            return rule(self, e)
        return self.first(e.args) if name in CONTINUOUS | _OF_SEVERAL else e.word

    def condition(self, e: Expr) -> str | None:
        """A condition may ask whether a value is NULL."""
        if not self.reads(e):
            return None
        match e:
            case Infix(op="AND" | "OR"):
                return _first(self.condition(part) for _, part in chain(e, _CONNECTORS))
            case Bracketed(inner) | Prefix("NOT", inner):
                return self.condition(inner)
            case Postfix(value, op) if op in _NULL_TESTS:
                return self.nullness(value)
        return e.word or "a condition"

    def nullness(self, e: Expr) -> str | None:
        """Where whether a value is NULL is decided by more than whether the columns are."""
        if not self.reads(e):
            return None
        match e:
            case Infix(op=op) if op in _OPERATORS:
                operands = chain(e, _OPERATORS)
                divided = any(sign == "/" and self.reads(x) for sign, x in operands)
                return "/" if divided else _first(self.nullness(x) for _, x in operands)
            case Bracketed(inner) | Prefix("-", inner):
                return self.nullness(inner)
            case Call() | Case() | Cast():
                return e.word
        return self.value(e)

    def coalesce(self, e: Call) -> str | None:
        return self.first(e.args) or _first(map(self.nullness, e.args[:-1]))

    def by_first(self, e: Call) -> str | None:
        first, *others = e.args
        return e.word if any(map(self.reads, others)) else self.value(first)

    def chosen(self, e: Call) -> str | None:
        """IF, or NVL2: the first argument decides."""
        first, *others = e.args
        asked = self.condition(first) if e.function == "if" else self.nullness(first)
        return asked or self.first(others)

    def case(self, e: Case) -> str | None:
        conditions = [when for when, _ in e.branches]
        if e.value is None:
            asked = _first(map(self.condition, conditions))
        else:
            asked = "CASE" if any(map(self.reads, (e.value, *conditions))) else None
        return asked or self.first((*(then for _, then in e.branches), e.otherwise))


def _first(found: Iterable[str | None]) -> str | None:
    return next((f for f in found if f is not None), None)


_RULES: dict[str, Callable[[_Judge, Call], str | None]] = {
    **dict.fromkeys(_FIRST_NOT_NULL, _Judge.coalesce),
    **dict.fromkeys(_BY_FIRST, _Judge.by_first),
    "IF": _Judge.chosen, "NVL2": _Judge.chosen,
}  # fmt: skip
