"""Whether the text of an expression means its tree: what Spark reads of it, and what is evaluated
here, must be one.

Source: the precedence of `booleanExpression`, `predicate` and `valueExpression` in Spark's grammar.
"""

from __future__ import annotations

from collections.abc import Mapping

from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.ivm import Between, Expr, Infix, InList, Postfix, Prefix, Raw, SortOrder

_OR, _AND, _NOT, _PREDICATE, _COMPARISON, _SUM, _PRODUCT, _SIGN, _WHOLE = range(9)
_LEVELS: Mapping[str, int] = {
    "OR": _OR, "AND": _AND, "LIKE": _PREDICATE, "ILIKE": _PREDICATE, "RLIKE": _PREDICATE,
    "IS DISTINCT FROM": _PREDICATE, "IS NOT DISTINCT FROM": _PREDICATE,
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "<=>"), _COMPARISON),
    **dict.fromkeys(("+", "-", "||"), _SUM), **dict.fromkeys(("*", "/", "%", "DIV"), _PRODUCT),
}  # fmt: skip


def require_brackets(node: Expr) -> None:
    """Raises LeftOut where an operand that binds less than the operator has no brackets."""
    if any(_level(e) < least for e, least in _operands(node)):
        raise LeftOut("an operand without brackets")


def _operands(node: Expr) -> tuple[tuple[Expr, int], ...]:
    """The operands of a node, and the level from which each needs no brackets."""
    match node:
        case Infix(left, op, right):
            own = _LEVELS.get(op, _OR)
            if own == _PREDICATE:
                return (left, _COMPARISON), (right, _COMPARISON)
            return (left, own), (right, own if own in (_OR, _AND) else own + 1)
        case Prefix(op, value):
            return ((value, _NOT if op == "NOT" else _SIGN),)
        case Postfix(value) | InList(value):
            return ((value, _COMPARISON),)
        case Between(value, low, high):
            return (value, _COMPARISON), (low, _COMPARISON), (high, _COMPARISON)
    return ()


def _level(e: Expr) -> int:
    match e:
        case Infix(op=op):
            return _LEVELS.get(op, _OR)
        case Prefix("NOT"):
            return _NOT
        case Prefix():
            return _SIGN
        case Postfix() | InList() | Between():
            return _PREDICATE
        case Raw() | SortOrder():
            return _OR
    return _WHOLE
