"""Queries for a row of which a query cannot compute a value, where its text says where to look."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_OF_MANY_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.Exists, exp.Explode, exp.Inline)
"""What a row of the table alone does not tell."""
_NO_VALUES = (exp.Query, exp.Identifier, exp.DataType, exp.Var)
_NEVER_FAIL = (exp.Column, exp.Literal, exp.Star, exp.Null, exp.Boolean)
_AROUND = (exp.Alias, exp.Where, exp.Group, exp.Ordered, exp.Order, exp.Tuple, exp.Distinct)
"""What holds expressions and is none."""


def failing_row_queries(text: str, fragment: str | None = None) -> list[str]:
    """SQL for one row of which a SELECT of the text, from one plain table, cannot compute what
    holds `fragment`, as Spark writes that, or without it any value. The first that finds one does.
    """
    tree = _parsed(text)
    if tree is None:
        return []
    sought = _plain(fragment) if fragment else None
    return [query for select in tree.find_all(exp.Select) for query in _queries(select, sought)]


def _queries(select: exp.Select, sought: str | None) -> Iterator[str]:
    table, where = _only_table(select), select.args.get("where")
    if table is None:
        return
    computed = [*select.expressions, *filter(None, [select.args.get("group")])]
    filtered = [where] if where is not None and where.find(*_OF_MANY_ROWS) is None else []
    for clauses, kept in ((computed, filtered), (filtered, [])):
        found = [part for clause in clauses for part in _parts(clause)]
        if failing := [part for part in found if sought is None or _holds(part, sought)]:
            yield _query(table, failing, kept)


def _query(table: exp.Table, failing: list[exp.Expr], kept: list[exp.Where]) -> str:
    """`try_to_binary` gives NULL for whatever its argument raises."""
    texts = (f"coalesce(CAST({part.sql('spark')} AS STRING), '')" for part in failing)
    conditions = [f"try_to_binary(concat({', '.join(texts)}), 'utf-8') IS NULL"]
    conditions += [f"({where.this.sql('spark')})" for where in kept]
    return f"SELECT * FROM {table.sql('spark')} WHERE {' AND '.join(conditions)} LIMIT 1"


def _parts(node: exp.Expr) -> Iterator[exp.Expr]:
    """The largest expressions over single rows. They are taken whole: a branch that is not taken
    does not fail."""
    if isinstance(node, (*_NO_VALUES, *_NEVER_FAIL)):
        return
    if not isinstance(node, _AROUND) and node.find(*_OF_MANY_ROWS) is None:
        yield node
        return
    for child in node.iter_expressions():
        yield from _parts(child)


def _holds(part: exp.Expr, sought: str) -> bool:
    return any(_written(node) == sought for node in part.walk())


def _only_table(select: exp.Select) -> exp.Table | None:
    from_ = select.args.get("from_") or select.args.get("from")
    if from_ is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    table = from_.this
    ctes = {cte.alias for cte in select.root().find_all(exp.CTE)}
    return table if isinstance(table, exp.Table) and table.name not in ctes else None


def _plain(fragment: str) -> str:
    """The fragment as the same words are written when they are part of a text."""
    tree = _parsed(fragment)
    return _written(tree) if tree is not None else fragment


def _written(node: exp.Expr) -> str:
    return re.sub(r"[`\s]", "", node.sql("spark")).casefold()


def _parsed(text: str) -> exp.Expr | None:
    try:
        return parse_one(text, read="spark")
    except (SqlglotError, RecursionError):
        return None
