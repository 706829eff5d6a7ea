"""Queries for a row of which a statement cannot compute a value, where its text tells it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from dt_jupyter.sql.dialect import SparkAsWritten, WholeSpark

_OF_MANY_ROWS = (exp.AggFunc, exp.Window, exp.Query, exp.Exists, exp.Explode, exp.Inline)
"""What a row of the table alone does not tell."""
_NO_VALUES = (exp.Query, exp.Identifier, exp.DataType, exp.Var)
_NEVER_FAIL = (exp.Column, exp.Literal, exp.Star, exp.Null, exp.Boolean)
_AROUND = (
    exp.Alias,
    exp.Where,
    exp.Group,
    exp.Having,
    exp.Qualify,
    exp.Ordered,
    exp.Order,
    exp.Tuple,
    exp.Distinct,
)
"""What holds expressions and is none."""


@dataclass(frozen=True)
class RowQuery:
    """SQL for one row; the table whose columns come first (None: it is no table of the lake), and
    the columns that the failing expressions read, in their order."""

    text: str
    table: str | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class _Step:
    """Rows that a statement goes through: `computed` of each, if the `filters` let it through."""

    rows: exp.Select
    computed: Sequence[exp.Expr]
    filters: Sequence[exp.Expr]


def failing_row_queries(text: str, fragment: str | None = None) -> list[RowQuery]:
    """Those for one row of which a statement cannot compute what holds `fragment`, as Spark writes
    that, or without it any value. The first that finds one does."""
    tree = _parsed(text)
    if tree is None:
        return []
    sought = _plain(fragment) if fragment else None
    steps = [*_changed(tree), *(s for select in tree.find_all(exp.Select) for s in _read(select))]
    return [query for step in steps for query in _queries(step, sought)]


# -- the rows that a statement goes through -------------------------------------------------------


def _read(select: exp.Select) -> Iterator[_Step]:
    """The rows of a SELECT, and before them those of each table that a join compares."""
    if select.args.get("from_") is None:
        return
    first, joins = select.args["from_"].this, select.args.get("joins") or []
    ctes = _in_scope(select)
    if conditions := [on for join in joins if (on := join.args.get("on")) is not None]:
        for source in (first, *(join.this for join in joins)):
            compared = [part for on in conditions for part in _of_source(on, source)]
            yield _Step(_rows(source, ctes=ctes), compared, [])
    clauses = (select.args.get(name) for name in ("group", "having", "qualify"))
    computed = [*select.expressions, *(c for c in clauses if c is not None)]
    laterals = select.args.get("laterals")
    yield _Step(_rows(first, joins, laterals, ctes), computed, _filters(select))


def _changed(tree: exp.Expr) -> Iterator[_Step]:
    """The rows that an UPDATE, DELETE or MERGE changes."""
    if isinstance(tree, exp.Update | exp.Delete):
        computed = _assigned(tree) if isinstance(tree, exp.Update) else []
        yield _Step(_rows(tree.this), computed, _filters(tree))
    elif isinstance(tree, exp.Merge):
        for when in tree.args["whens"].expressions:
            yield _merged(tree, when)


def _merged(merge: exp.Merge, when: exp.When) -> _Step:
    """Pairs of rows where they match, else the rows of one side that match none of the other."""
    target, source, on = merge.this, merge.args["using"], merge.args["on"]
    condition = when.args.get("condition")
    filters = [condition] if condition is not None else []
    computed = _assigned(when.args["then"])
    if when.args.get("matched"):
        return _Step(_rows(target, [exp.Join(this=source.copy(), on=on.copy())]), computed, filters)
    here, there = (target, source) if when.args.get("source") else (source, target)
    unmatched = exp.Join(this=there.copy(), on=on.copy(), side="LEFT", kind="ANTI")
    return _Step(_rows(here, [unmatched]), computed, filters)


def _assigned(change: exp.Expr) -> list[exp.Expr]:
    """What an UPDATE or the branch of a MERGE computes."""
    if isinstance(change, exp.Insert):
        return [change.expression] if isinstance(change.expression, exp.Expr) else []
    return [e.expression for e in change.expressions if isinstance(e, exp.EQ)]


def _filters(statement: exp.Expr) -> list[exp.Expr]:
    where = statement.args.get("where")
    return [] if where is None else [where.this]


def _rows(
    first: exp.Expr,
    joins: Sequence[exp.Expr] = (),
    laterals: Sequence[exp.Expr] | None = None,
    ctes: Sequence[exp.Expr] = (),
) -> exp.Select:
    made = exp.Select(
        expressions=[exp.Star()],
        from_=exp.From(this=first.copy()),
        joins=[join.copy() for join in joins],
        laterals=[lateral.copy() for lateral in laterals or ()],
    )
    if ctes:
        made.set("with_", exp.With(expressions=[cte.copy() for cte in ctes]))
    return made


def _of_source(condition: exp.Expr, source: exp.Expr) -> Iterator[exp.Expr]:
    """The largest parts of a join's condition that read one of its tables alone."""
    read = {column.table for column in condition.find_all(exp.Column)}
    if read and read <= {"", source.alias_or_name}:
        yield condition
        return
    for child in condition.iter_expressions():
        yield from _of_source(child, source)


def _in_scope(part: exp.Expr) -> list[exp.Expr]:
    """The common table expressions that a part of a statement may name, outermost first."""
    found: list[exp.Expr] = []
    node: exp.Expr | None = part
    while node is not None:
        if (named := node.args.get("with_")) is not None:
            found = [*named.expressions, *found]
        while isinstance(cte := node.parent, exp.CTE) and (named := cte.parent) is not None:
            found = [*named.expressions[: named.expressions.index(cte)], *found]
            node = named.parent or named
        node = node.parent
    return found


# -- one of them ----------------------------------------------------------------------------------


def _queries(step: _Step, sought: str | None) -> Iterator[RowQuery]:
    for clauses, kept in ((step.computed, step.filters), (step.filters, ())):
        found = [part for clause in clauses for part in _parts(clause)]
        if failing := [part for part in found if sought is None or _holds(part, sought)]:
            yield _query(step.rows, failing, kept)


def _query(rows: exp.Select, failing: Sequence[exp.Expr], kept: Sequence[exp.Expr]) -> RowQuery:
    """`try_to_binary` gives NULL for whatever its argument raises."""
    texts = (f"coalesce(CAST({part.sql(WholeSpark)} AS STRING), '')" for part in failing)
    conditions = [f"try_to_binary(concat({', '.join(texts)}), 'utf-8') IS NULL"]
    conditions += [f"({condition.sql(WholeSpark)})" for condition in kept]
    text = f"{rows.sql(WholeSpark)} WHERE {' AND '.join(conditions)} LIMIT 1"
    columns = (column.name for part in failing for column in part.find_all(exp.Column))
    return RowQuery(text, _table(rows), tuple(dict.fromkeys(columns)))


def _table(rows: exp.Select) -> str | None:
    first, named = rows.args["from_"].this, rows.args.get("with_")
    if not isinstance(first, exp.Table):
        return None
    if named is not None and any(cte.alias == first.name for cte in named.expressions):
        return None
    return ".".join(part.sql(WholeSpark) for part in first.parts)


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


def _plain(fragment: str) -> str:
    """The fragment as the same words are written when they are part of a text."""
    tree = _parsed(fragment)
    return _written(tree) if tree is not None else fragment


def _written(node: exp.Expr) -> str:
    return re.sub(r"[`\s]", "", node.sql(WholeSpark)).casefold()


def _parsed(text: str) -> exp.Expr | None:
    try:
        return parse_one(text, read=SparkAsWritten)
    except (SqlglotError, RecursionError):
        return None
