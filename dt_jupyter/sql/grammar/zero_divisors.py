"""The query for a row by which a query divides by zero, where its text says where to look."""

from __future__ import annotations

import re

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

_UNKNOWN = (exp.AggFunc, exp.Window, exp.Subquery, exp.Exists)
"""What the divisor of a row of the table alone cannot have."""


def zero_divisor_query(text: str, division: str) -> str | None:
    """SQL for one row of the table from which a SELECT of the text computes `division`, as Spark
    writes that, with a divisor of zero; None where that is not a plain column of one table."""
    try:
        tree = parse_one(text, read="spark")
    except (SqlglotError, RecursionError):
        return None
    found = (n for n in tree.find_all(exp.Div, exp.Mod) if _bare(n) == _plain(division))
    return next(filter(None, map(_query, found)), None)


def _query(division: exp.Binary) -> str | None:
    select = division.find_ancestor(exp.Select)
    table = _only_table(select) if select is not None else None
    divisor = division.expression.unnest()
    if table is None or select is None or divisor.find(*_UNKNOWN) is not None:
        return None
    where = select.args.get("where")
    conditions = [f"({divisor.sql('spark')}) = 0"]
    if where is not None and where.find(exp.Subquery, exp.Exists, exp.Div) is None:
        conditions.append(f"({where.this.sql('spark')})")
    return f"SELECT * FROM {table.sql('spark')} WHERE {' AND '.join(conditions)} LIMIT 1"


def _only_table(select: exp.Select) -> exp.Table | None:
    from_ = select.args.get("from_") or select.args.get("from")
    if from_ is None or select.args.get("joins") or select.args.get("laterals"):
        return None
    table = from_.this
    ctes = {cte.alias for cte in select.root().find_all(exp.CTE)}
    return table if isinstance(table, exp.Table) and table.name not in ctes else None


def _bare(node: exp.Expr) -> str:
    return _plain(node.sql("spark"))


def _plain(text: str) -> str:
    return re.sub(r"[`\s]", "", text).casefold()
