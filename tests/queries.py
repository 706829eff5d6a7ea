"""Queries as trees, for tests of what evaluates them."""

from __future__ import annotations

from dt_jupyter.ivm import Expr
from dt_jupyter.model import quote
from dt_jupyter.sql import FromNode, Select, SelectItem


def select(
    source: FromNode, where: Expr | None = None, keys: tuple[Expr, ...] = (), **items: Expr
) -> Select:
    """SELECT of expressions under names."""
    listed = tuple(SelectItem(e, name, quote(name)) for name, e in items.items())
    return Select(listed, source, where, keys)
