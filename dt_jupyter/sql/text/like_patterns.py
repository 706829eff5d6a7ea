"""Patterns after LIKE in SHOW: SQL's `%` and `_`, and Spark's `*` and `|`."""

from __future__ import annotations

import re

from dt_jupyter.model import DTError, Span
from dt_jupyter.sql.text.lex import TokenKind, tokens

_SIGNS = {"%": ".*", "*": ".*", "_": ".", "|": "|"}


def matches(name: str, pattern: str | None) -> bool:
    """Whether a name is like a pattern, whatever its case; every name is without one."""
    if pattern is None:
        return True
    signs = re.findall(r"\\.|.", pattern.lower(), re.DOTALL)
    expression = "".join(_SIGNS.get(sign, re.escape(sign.lstrip("\\"))) for sign in signs)
    return re.fullmatch(expression, name.lower(), re.DOTALL) is not None


def patterns_for_spark(statement: str) -> list[tuple[Span, str]]:
    """The pattern of a SHOW with `%` as Spark writes it, where the statement has one."""
    if statement[:4].upper() != "SHOW" or "%" not in statement:
        return []
    try:
        last = tokens(statement)[-1]
    except DTError:
        return []
    return [(last.span, last.text.replace("%", "*"))] if last.kind is TokenKind.STRING else []
