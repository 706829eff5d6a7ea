"""Which columns of tables flow into the columns of a query that has no form in the algebra."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.lineage import Node, lineage

from dt_jupyter.sql.text.deep_stack import deep
from dt_jupyter.sql.text.token_guard import guard

_MOST_COLUMNS = 100
"""Of so many columns of a query it is asked: each is a walk over the whole of it."""


def column_sources(
    query: str, tables: Mapping[str, Sequence[str]]
) -> tuple[frozenset[tuple[str, str]], ...] | None:
    """For each column of the query the (table, column) that flow into it, as far as they are
    understood; `tables` are the columns of each table by its plain, unique name. None where the
    text is not understood."""
    guard(query)
    schema = {name: dict.fromkeys(columns, "string") for name, columns in tables.items()}

    def find() -> tuple[frozenset[tuple[str, str]], ...]:
        parsed = parse_one(query, dialect="spark")
        names = list(getattr(parsed, "named_selects", ()))
        if "*" in names or len(names) > _MOST_COLUMNS:
            return ()
        return tuple(
            _leaves(lineage(name, parsed.copy(), schema=schema, dialect="spark"), tables)
            for name in names
        )

    try:
        return deep(find)
    except (SqlglotError, ValueError, KeyError, RecursionError):
        return None


def _leaves(root: Node, tables: Mapping[str, Sequence[str]]) -> frozenset[tuple[str, str]]:
    found = set()
    for node in root.walk():
        table = node.expression
        if isinstance(table, exp.Table) and table.name in tables:
            asked = exp.to_column(node.name).name.lower()
            column = next((c for c in tables[table.name] if c.lower() == asked), None)
            if column is not None:
                found.add((table.name, column))
    return frozenset(found)
