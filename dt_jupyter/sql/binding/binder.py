"""A query text bound to the algebra: names resolved, views expanded, everything else refused.

sqlglot gives structure and names; the types come from Spark's analyser, later. What is bound
wrongly is caught by the check at creation, which compares it with the text itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from dt_jupyter.ivm import (
    Aggregate,
    Filter,
    Ids,
    Project,
    Refusal,
    Rel,
    Rows,
    Scan,
    Union,
    col,
    count_sides,
    refuse,
)
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sql.binding.from_clause import open_brackets
from dt_jupyter.sql.binding.joins import refuse_merged
from dt_jupyter.sql.binding.large_texts import balance, refuse_large_text
from dt_jupyter.sql.binding.limit_clause import Ctes, is_ordered, top
from dt_jupyter.sql.binding.negations import push_negations
from dt_jupyter.sql.binding.pivots import expand_pivots
from dt_jupyter.sql.binding.scalars import check_scalar
from dt_jupyter.sql.binding.scope import NamedRelation, Scope
from dt_jupyter.sql.binding.select import Select
from dt_jupyter.sql.binding.subqueries import Bound
from dt_jupyter.sql.binding.table_functions import made_rows, sampled, table_rows
from dt_jupyter.sql.binding.time_windows import name_time_windows
from dt_jupyter.sql.dialect import SparkAsWritten, WholeSpark
from dt_jupyter.sql.text.common_tables import recursive_tables
from dt_jupyter.sql.text.deep_stack import deep
from dt_jupyter.sql.text.limits import MOST_SELECTS, refuse_large, too_many
from dt_jupyter.sql.text.token_guard import guard


@dataclass(frozen=True)
class Table:
    """A source as the binder sees it: its id, its columns in order, and a hidden boolean column
    that tells which rows are public (None: all). `casts` are the types that columns are read as,
    by name."""

    source: str
    columns: tuple[str, ...]
    visible: str | None = None
    casts: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class View:
    """A view: its text is bound in its place."""

    query: str


@dataclass(frozen=True)
class _Made:
    """A table function's call, whose rows are constants."""

    text: str
    columns: tuple[str, ...]


Resolve = Callable[[tuple[str, ...]], Table | View]


def bind(query: str, resolve: Resolve, builtins: frozenset[str]) -> Rel:
    """The relation of a query; Refused where it has no incremental form.

    `resolve` gives each table's source or view by the parts of its name; `builtins` are the
    names of Spark's own functions. The columns are those of the query, in order.
    """
    guard(query)
    return deep(lambda: _Binder(resolve, builtins).bind(query))


def _is_named(table: exp.Table) -> bool:
    """Not a function that gives a table."""
    return isinstance(table.this, exp.Identifier)


def _is_fixed(table: exp.Table) -> bool:
    """Read by VERSION AS OF or TIMESTAMP AS OF."""
    return bool(table.args.get("version") or table.args.get("when"))


def _parse(query: str) -> exp.Expr:
    try:
        tree = parse_one(query, read=SparkAsWritten)
    except Exception as e:  # what builds its calls may raise anything
        first = next(iter(str(e).splitlines()), type(e).__name__)
        if named := next(recursive_tables(query), None):  # MAX RECURSION LEVEL is not known there
            raise refuse(Refusal.RECURSIVE, what=named[0]) from None
        raise refuse(Refusal.EXPRESSION, what=f"the parser does not know it ({first})") from None
    if not isinstance(tree, exp.Query | exp.Values):
        raise refuse(Refusal.EXPRESSION, what="the parser does not take it for a query")
    return tree


def _tables(tree: exp.Expr) -> list[exp.Table]:
    found: dict[int, exp.Table] = {}
    for scope in traverse_scope(tree):
        for source in scope.sources.values():
            common = isinstance(source, exp.Table) and source.name in scope.cte_sources
            if isinstance(source, exp.Table) and not (common and not source.db):
                found[id(source)] = source
    return list(found.values())


def _recursive(with_: exp.Expr) -> str | None:
    """The first common table expression that reads itself."""
    for cte in with_.expressions:
        if any(t.name == cte.alias and not t.db for t in cte.this.find_all(exp.Table)):
            return str(cte.alias)
    return None


def _sides(node: exp.SetOperation) -> list[exp.Expr]:
    """The sides of a set operation; those of a chain of unions together, as far as UNION ALL
    does not stand behind a UNION."""
    sides: list[exp.Expr] = [node.right]
    below = node.left
    while (
        isinstance(node, exp.Union)
        and isinstance(below, exp.Union)
        and not _clauses(below)
        and (node.args.get("distinct") or not below.args.get("distinct"))
    ):
        sides.append(below.right)
        below = below.left
    return [below, *reversed(sides)]


def _clauses(node: exp.Expr) -> bool:
    """Whether a set operation has more to it than its sides."""
    known = ("this", "expression", "distinct")
    return any(v for k, v in node.args.items() if k not in known)


class _Binder:
    def __init__(self, resolve: Resolve, builtins: frozenset[str]) -> None:
        self._resolve = resolve
        self.builtins = builtins
        self.ids = Ids()
        self._tables: dict[str, Table | _Made] = {}
        self._known: dict[Table, str] = {}
        self._mentions = 0
        self._selects = 0

    def bind(self, query: str) -> Rel:
        tree = self._expand(_parse(query))
        open_brackets(tree)
        name_time_windows(tree, self._with_column("window"))
        refuse_large_text(tree)
        balance(tree)
        push_negations(tree)
        refuse_merged(tree)
        tree = self._qualified(expand_pivots(tree, self._names))
        rel = self._query(tree, {}).rel
        refuse_large(rel)
        return rel

    def _with_column(self, name: str) -> frozenset[str]:
        """The tables of the query that have a column of this name."""
        known = self._tables.items()
        return frozenset(n for n, t in known if name in (c.lower() for c in t.columns))

    def _qualified(self, tree: exp.Expr) -> exp.Expr:
        schema: dict[str, object] = {
            n: dict.fromkeys(t.columns, "string") for n, t in self._tables.items()
        }
        try:
            return qualify(
                tree,
                schema=schema,
                dialect=WholeSpark,
                quote_identifiers=True,
                validate_qualify_columns=True,
                isolate_tables=False,
            )
        except SqlglotError as e:
            first = str(e).splitlines()[0]
            raise refuse(Refusal.EXPRESSION, what=f"its names are not resolved ({first})") from None

    def _names(self, select: exp.Select) -> tuple[str, ...]:
        """The names of the columns of a SELECT that is of the query's own text."""
        found = self._qualified(select)
        assert isinstance(found, exp.Select)
        return tuple(found.named_selects)

    def _expand(self, tree: exp.Expr) -> exp.Expr:
        """Views become subqueries, tables names that are unique."""
        for table in _tables(tree):
            if problem := too_many(self._mentions, MOST_SELECTS, "tables"):
                raise problem
            self._mentions += 1
            if _is_fixed(table):
                raise refuse(Refusal.TIME_TRAVEL)
            name = hidden(f"src_{len(self._tables)}")
            found = self._meaning(table)
            name = self._known.get(found, name) if isinstance(found, Table) else name
            shown = table.alias_or_name if _is_named(table) else table.alias or name
            alias = exp.TableAlias(this=exp.to_identifier(shown, quoted=True))
            if columns := table.args.get("alias") and table.args["alias"].args.get("columns"):
                alias.set("columns", columns)
            if isinstance(found, View):
                inner = self._expand(_parse(found.query))
                replacement: exp.Expr = exp.Subquery(this=inner, alias=alias)
            else:
                self._tables[name] = found
                if isinstance(found, Table):
                    self._known[found] = name
                replacement = exp.Table(this=exp.to_identifier(name), alias=alias)
            for key in ("joins", "pivots", "sample"):
                if beside := table.args.get(key):
                    replacement.set(key, beside)
            if table is tree:
                tree = replacement
            else:
                table.replace(replacement)
        return tree

    def _meaning(self, table: exp.Table) -> Table | View | _Made:
        if _is_named(table):
            return self._resolve(tuple(str(p.this) for p in table.parts))
        return _Made(*table_rows(table, self.builtins))

    def _query(self, node: exp.Expr, ctes: Ctes) -> NamedRelation:
        ctes = self._with(node, ctes)
        if isinstance(node, exp.Subquery):
            return self._limited(node, self._query(node.this, ctes), ctes)
        if isinstance(node, exp.SetOperation):
            return self._limited(node, self._set_operation(node, ctes), ctes)
        if isinstance(node, exp.Select):
            return self._select(node, ctes).query()
        if isinstance(node, exp.Values):
            return self._limited(node, self._values(node), ctes)
        raise refuse(Refusal.EXPRESSION, what=f"{node.key.upper()} is not supported here")

    def _select(self, node: exp.Select, ctes: Ctes, outer: Scope | None = None) -> Select:
        """Counted: a common table expression is bound for each use, a NOT IN twice."""
        self._selects += 1
        if problem := too_many(self._selects, MOST_SELECTS, "SELECTs"):
            raise problem
        return Select(self, node, ctes, outer)

    def _with(self, node: exp.Expr, ctes: Ctes) -> Ctes:
        with_ = node.args.get("with_") or node.args.get("with")
        if with_ is None:
            return ctes
        if with_.args.get("recursive") and (name := _recursive(with_)):
            raise refuse(Refusal.RECURSIVE, what=name)
        return {**ctes, **{c.alias: c for c in with_.expressions}}

    def _limited(self, node: exp.Expr, named: NamedRelation, ctes: Ctes) -> NamedRelation:
        rel = top(node, named.rel, named.names, {}, self.builtins, ctes)
        return NamedRelation(rel, named.names)

    def subquery(self, node: exp.Expr, ctes: Ctes, outer: Scope) -> Bound:
        """A query in an expression of `outer`."""
        ctes = self._with(node, ctes)
        limited = any(node.args.get(k) for k in ("limit", "offset", "fetch"))
        if isinstance(node, exp.Subquery) and not limited:
            return self.subquery(node.this, ctes, outer)
        if isinstance(node, exp.Select):
            return self._select(node, ctes, outer).subquery()
        named = self._query(node, ctes)
        return Bound(named.rel, named.rel.columns)

    def _set_operation(self, node: exp.SetOperation, ctes: Ctes) -> NamedRelation:
        if node.args.get("by_name"):
            raise refuse(Refusal.SET_OPERATION, what=f"{node.key.upper()} BY NAME")
        sides = [self._query(s, ctes) for s in _sides(node)]
        names = sides[0].names
        if any(len(s.names) != len(names) for s in sides):
            raise refuse(Refusal.SET_OPERATION, what="sides of different widths")
        distinct = bool(node.args.get("distinct"))
        ids = tuple(self.ids.new(n) for n in names)
        if isinstance(node, exp.Union):
            union: Rel = Union(tuple(s.rel for s in sides), ids)
            return NamedRelation(Aggregate(union, ids, ()) if distinct else union, names)
        left, right = sides
        rel = count_sides(
            self.ids,
            left.rel,
            right.rel,
            ids,
            minus=isinstance(node, exp.Except),
            distinct=distinct,
        )
        return NamedRelation(rel, names)

    def _values(self, node: exp.Values) -> NamedRelation:
        """Literal rows: any deterministic expressions without columns."""
        for row in node.expressions:
            check_scalar(row, self.builtins)
        width = (
            len(node.expressions[0].expressions)
            if isinstance(node.expressions[0], exp.Tuple)
            else 1
        )
        names = tuple(f"col{i + 1}" for i in range(width))
        rows = ", ".join(row.sql(dialect=WholeSpark) for row in node.expressions)
        return NamedRelation(Rows(f"(VALUES {rows})", tuple(self.ids.new(n) for n in names)), names)

    def relation(self, node: exp.Expr, ctes: Ctes) -> NamedRelation:
        """What stands in FROM: a source, a common table expression, a subquery, literal rows; or
        a sample of it."""
        named, sample = self._whole(node, ctes), node.args.get("sample")
        if sample is None:
            return named
        if sample.args.get("size") and is_ordered(node, ctes):
            raise refuse(Refusal.LIMIT, what="a sample of rows with an ORDER BY of their own")
        return NamedRelation(sampled(named.rel, sample), named.names)

    def _whole(self, node: exp.Expr, ctes: Ctes) -> NamedRelation:
        if isinstance(node, exp.Table):
            found = self._tables.get(node.name)
            if isinstance(found, _Made):
                return made_rows(found.text, found.columns, self.ids)
            if found is not None:
                return self._scan(found)
            if node.name in ctes:
                return self._cte(ctes, node.name)
        if isinstance(node, exp.Subquery):
            return self._query(node, ctes)
        if isinstance(node, exp.Values):
            return self._values(node)
        if isinstance(node, exp.Lateral | exp.Unnest | exp.UDTF):
            raise refuse(Refusal.LATERAL, what="a lateral relation")
        raise refuse(Refusal.EXPRESSION, what=f"the relation {node.sql(dialect=WholeSpark)[:60]}")

    def _cte(self, ctes: Ctes, name: str) -> NamedRelation:
        """Bound anew for each use, so that every use has columns of its own."""
        visible = dict(list(ctes.items())[: list(ctes).index(name)])
        cte = ctes[name]
        named = self._query(cte.this, visible)
        renamed = tuple(c.name for c in cte.args["alias"].args.get("columns") or ())
        return NamedRelation(named.rel, renamed or named.names)

    def _scan(self, table: Table) -> NamedRelation:
        reads = tuple((self.ids.new(c.lower()), c) for c in table.columns)
        names = tuple(c.lower() for c in table.columns)
        if table.visible is None:
            return NamedRelation(Scan(table.source, reads, casts=table.casts), names)
        hidden = self.ids.new("visible")
        scan = Scan(table.source, (*reads, (hidden, table.visible)), casts=table.casts)
        rows = Filter(scan, (col(hidden),))
        return NamedRelation(Project(rows, tuple((i, col(i)) for i, _ in reads)), names)
