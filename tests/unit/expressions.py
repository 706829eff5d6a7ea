"""Expressions as the binder makes them of a text."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp, parse_one

from dt_jupyter.ivm import Expr
from dt_jupyter.sql.binding.scalars import scalar
from dt_jupyter.sql.dialect import SparkAsWritten


def read(text: str, **ids: str) -> Expr:
    """The expression over columns by their names, or by the ids that are given for these."""

    return _bound(parse_one(text, read=SparkAsWritten), ids)


def read_term(text: str) -> Expr:
    """A term of ORDER BY."""
    query = parse_one(f"SELECT 1 ORDER BY {text}", read=SparkAsWritten)
    return _bound(query.args["order"].expressions[0], {})


def _bound(node: exp.Expr, ids: Mapping[str, str]) -> Expr:
    return scalar(node, lambda column: ids.get(column.name, column.name), {})
