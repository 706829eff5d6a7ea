"""A query text bound to the algebra: names resolved, views expanded, everything else refused.

sqlglot gives structure and names; the types come from Spark's analyser, later. What is bound
wrongly is caught by the check at creation, which compares it with the text itself.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.qualify import qualify
from sqlglot.optimizer.scope import traverse_scope

from dt_jupyter.ivm import (
    Aggregate,
    Filter,
    Join,
    Project,
    Refusal,
    Rel,
    Scan,
    Union,
    col,
    refuse,
)
from dt_jupyter.ivm.expr import Expr
from dt_jupyter.sql.aggregation import aggregates, bind_call, group_keys
from dt_jupyter.sql.guard import guard
from dt_jupyter.sql.scalars import check, scalar

_STACK = 256 * 1024 * 1024
_DEPTH = 20_000
_deep = threading.Lock()
T = TypeVar("T")


@dataclass(frozen=True)
class Table:
    """A source as the binder sees it: its id, its columns in order, and a hidden boolean column
    that tells which rows are public (None: all)."""

    source: str
    columns: tuple[str, ...]
    visible: str | None = None


@dataclass(frozen=True)
class View:
    """A view: its text is bound in its place."""

    query: str


Resolve = Callable[[tuple[str, ...]], Table | View]


@dataclass
class _Ids:
    taken: set[str] = field(default_factory=set)

    def new(self, name: str) -> str:
        base = name if name and not name.startswith("__dt_") else "c"
        found, n = base, 1
        while found in self.taken:
            n += 1
            found = f"{base}_{n}"
        self.taken.add(found)
        return found


@dataclass(frozen=True)
class _Named:
    """A bound relation and the names by which a query sees its columns."""

    rel: Rel
    names: tuple[str, ...]


def bind(query: str, resolve: Resolve, builtins: frozenset[str]) -> Rel:
    """The relation of a query; Refused where it has no incremental form.

    `resolve` gives each table's source or view by the parts of its name; `builtins` are the
    names of Spark's own functions. The columns are those of the query, in order.
    """
    guard(query)
    return deep(lambda: _Binder(resolve, builtins).bind(query))


def table_places(query: str) -> list[tuple[tuple[str, ...], int, int, bool]]:
    """Where a query names tables: (parts, start, end, whether an alias follows), CTEs left out.

    Offsets in characters, end exclusive. Raises Refused if sqlglot cannot parse the text.
    """
    guard(query)

    def find() -> list[tuple[tuple[str, ...], int, int, bool]]:
        places = []
        for table in _tables(_parse(query)):
            metas = [p.meta for p in table.parts]
            if not all("start" in m for m in metas):
                raise refuse(Refusal.EXPRESSION, what=f"the place of {table.name} is unknown")
            parts = tuple(str(p.this) for p in table.parts)
            places.append((parts, metas[0]["start"], metas[-1]["end"] + 1, bool(table.alias)))
        return places

    return deep(find)


def deep(fn: Callable[[], T]) -> T:
    """Runs `fn` with a stack that holds the nesting which `guard` allows."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(fn())
        except BaseException as e:
            failure.append(e)

    with _deep:
        size, limit = threading.stack_size(_STACK), sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEPTH))
        try:
            thread = threading.Thread(target=run, name="dt-bind")
            thread.start()
        finally:
            threading.stack_size(size)
        thread.join()
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return outcome[0]


def _parse(query: str) -> exp.Expr:
    try:
        return parse_one(query, read="spark")
    except SqlglotError as e:
        first = str(e).splitlines()[0]
        raise refuse(Refusal.EXPRESSION, what=f"the parser does not know it ({first})") from None


def _tables(tree: exp.Expr) -> list[exp.Table]:
    found: dict[int, exp.Table] = {}
    for scope in traverse_scope(tree):
        for source in scope.sources.values():
            if isinstance(source, exp.Table):
                found[id(source)] = source
    return list(found.values())


class _Binder:
    def __init__(self, resolve: Resolve, builtins: frozenset[str]) -> None:
        self._resolve = resolve
        self._builtins = builtins
        self._ids = _Ids()
        self._tables: dict[str, Table] = {}

    def bind(self, query: str) -> Rel:
        tree = self._expand(_parse(query))
        schema: dict[str, object] = {
            n: dict.fromkeys(t.columns, "string") for n, t in self._tables.items()
        }
        try:
            tree = qualify(
                tree, schema=schema, dialect="spark", quote_identifiers=True,
                validate_qualify_columns=True, isolate_tables=False,
            )  # fmt: skip
        except SqlglotError as e:
            first = str(e).splitlines()[0]
            raise refuse(Refusal.EXPRESSION, what=f"its names are not resolved ({first})") from None
        return self._query(tree, {}).rel

    def _expand(self, tree: exp.Expr) -> exp.Expr:
        """Views become subqueries, tables names that are unique."""
        for table in _tables(tree):
            self._refuse_table(table)
            found = self._resolve(tuple(str(p.this) for p in table.parts))
            alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name, quoted=True))
            if columns := table.args.get("alias") and table.args["alias"].args.get("columns"):
                alias.set("columns", columns)
            if isinstance(found, View):
                inner = self._expand(_parse(found.query))
                replacement: exp.Expr = exp.Subquery(this=inner, alias=alias)
            else:
                name = f"src_{len(self._tables)}"
                self._tables[name] = found
                replacement = exp.Table(this=exp.to_identifier(name), alias=alias)
            joins = table.args.get("joins")
            if joins:
                replacement.set("joins", joins)
            if table is tree:
                tree = replacement
            else:
                table.replace(replacement)
        return tree

    def _refuse_table(self, table: exp.Table) -> None:
        if table.args.get("sample") or isinstance(table.parent, exp.TableSample):
            raise refuse(Refusal.SAMPLE)
        if table.args.get("version") or table.args.get("when"):
            raise refuse(Refusal.TIME_TRAVEL)
        if table.args.get("pivots"):
            raise refuse(Refusal.PIVOT, what="PIVOT or UNPIVOT")
        if not isinstance(table.this, exp.Identifier):
            raise refuse(Refusal.TABLE_FUNCTION, what=table.sql(dialect="spark"))

    def _query(self, node: exp.Expr, ctes: dict[str, exp.Expr]) -> _Named:
        with_ = node.args.get("with_") or node.args.get("with")
        if with_ is not None:
            if with_.args.get("recursive"):
                raise refuse(Refusal.RECURSIVE)
            ctes = ctes | {c.alias: c for c in with_.expressions}
        if isinstance(node, exp.Subquery):
            if node.args.get("pivots"):
                raise refuse(Refusal.PIVOT, what="PIVOT or UNPIVOT")
            self._refuse_tail(node)
            return self._query(node.this, ctes)
        self._refuse_tail(node)
        if isinstance(node, exp.Union):
            return self._union(node, ctes)
        if isinstance(node, exp.SetOperation):
            raise refuse(Refusal.SET_OPERATION, what=node.key.upper())
        if isinstance(node, exp.Select):
            return self._select(node, ctes)
        if isinstance(node, exp.Values):
            raise refuse(Refusal.VALUES)
        raise refuse(Refusal.EXPRESSION, what=f"{node.key.upper()} is not known here")

    def _refuse_tail(self, node: exp.Expr) -> None:
        """ORDER BY alone changes no bag, so it is left out; with LIMIT it does."""
        for part in ("limit", "offset", "fetch"):
            if node.args.get(part):
                raise refuse(Refusal.LIMIT, what=part.upper())
        if node.args.get("qualify"):
            raise refuse(Refusal.WINDOW, what="QUALIFY")

    def _union(self, node: exp.Union, ctes: dict[str, exp.Expr]) -> _Named:
        if node.args.get("by_name"):
            raise refuse(Refusal.SET_OPERATION, what="UNION BY NAME")
        left, right = self._query(node.left, ctes), self._query(node.right, ctes)
        ids = tuple(self._ids.new(n) for n in left.names)
        union: Rel = Union((left.rel, right.rel), ids)
        if node.args.get("distinct"):
            union = Aggregate(union, ids, ())
        return _Named(union, left.names)

    def _select(self, node: exp.Select, ctes: dict[str, exp.Expr]) -> _Named:
        if node.args.get("laterals"):
            raise refuse(Refusal.LATERAL, what="LATERAL VIEW")
        if any(node.args.get(k) for k in ("windows", "pivots", "sample", "connect", "match")):
            raise refuse(Refusal.EXPRESSION, what="a clause of SELECT is not known here")
        rel, columns = self._from(node, ctes)

        def lookup(column: exp.Column) -> str:
            found = columns.get((column.table, column.name))
            if found is None:
                raise refuse(Refusal.EXPRESSION, what=f"column {column.sql()} is not resolved")
            return found

        if where := node.args.get("where"):
            check(where.this, self._builtins)
            rel = Filter(rel, tuple(scalar(c, lookup, {}) for c in _conjuncts(where.this)))
        items = [(s.alias_or_name, s.this if isinstance(s, exp.Alias) else s)
                 for s in node.expressions]  # fmt: skip
        grouped = node.args.get("group") or node.args.get("having")
        if grouped or any(aggregates(i) for _, i in items):
            rel = self._grouped(node, rel, items, lookup)
        else:
            for _, item in items:
                check(item, self._builtins)
            rel = self._items(rel, [(n, scalar(i, lookup, {})) for n, i in items])
        if distinct := node.args.get("distinct"):
            if distinct.args.get("on"):
                raise refuse(Refusal.EXPRESSION, what="DISTINCT ON is not known here")
            rel = Aggregate(rel, rel.columns, ())
        return _Named(rel, tuple(n for n, _ in items))

    def _items(self, rel: Rel, items: list[tuple[str, Expr]]) -> Rel:
        return Project(rel, tuple((self._ids.new(n), e) for n, e in items))

    def _grouped(
        self, node: exp.Select, rel: Rel, items: list[tuple[str, exp.Expr]],
        lookup: Callable[[exp.Column], str],
    ) -> Rel:  # fmt: skip
        if not node.args.get("group"):
            raise refuse(Refusal.SCALAR_AGGREGATE)
        keys = group_keys(node, lambda i: not aggregates(i))
        having = node.args.get("having")
        texts = [i for _, i in items] + ([having.this] if having else [])
        known: dict[exp.Expr, str] = {}
        carried: dict[str, Expr] = {}
        for key in keys:
            check(key, self._builtins)
            if key not in known:
                known[key] = self._ids.new(key.name if isinstance(key, exp.Column) else "k")
                carried[known[key]] = scalar(key, lookup, {})
        calls = list(dict.fromkeys(a for t in texts for a in aggregates(t)))
        bound = [(self._ids.new(f"a{i}"), bind_call(c, lookup, {}, self._builtins))
                 for i, c in enumerate(calls)]  # fmt: skip
        group_ids = tuple(carried)
        for _, call in bound:
            for column in call.text.columns | {c for a in call.args for c in a.columns}:
                carried.setdefault(column, col(column))
        known |= {c: i for c, (i, _) in zip(calls, bound, strict=True)}
        below = Project(rel, tuple(carried.items()))
        result: Rel = Aggregate(below, group_ids, tuple(bound))

        def above(column: exp.Column) -> str:
            raise refuse(Refusal.EXPRESSION, what=f"{column.sql()} is neither key nor aggregate")

        for text in texts:
            self._check_above(text, known)
        if having:
            predicates = tuple(scalar(c, above, known) for c in _conjuncts(having.this))
            result = Filter(result, predicates)
        return self._items(result, [(n, scalar(i, above, known)) for n, i in items])

    def _check_above(self, node: exp.Expr, known: dict[exp.Expr, str]) -> None:
        """The scalar parts above the aggregates are checked like any other."""
        check(node.copy().transform(lambda n: exp.null() if n in known else n), self._builtins)

    def _from(
        self, node: exp.Select, ctes: dict[str, exp.Expr]
    ) -> tuple[Rel, dict[tuple[str, str], str]]:
        from_ = node.args.get("from_") or node.args.get("from")
        if from_ is None:
            raise refuse(Refusal.VALUES)
        columns: dict[tuple[str, str], str] = {}
        members = [self._member(from_.this, ctes, columns)]
        on: list[Expr] = []

        def lookup(column: exp.Column) -> str:
            found = columns.get((column.table, column.name))
            if found is None:
                raise refuse(Refusal.EXPRESSION, what=f"column {column.sql()} is not resolved")
            return found

        for join in [*(from_.this.args.get("joins") or []), *(node.args.get("joins") or [])]:
            self._refuse_join(join)
            members.append(self._member(join.this, ctes, columns))
            if condition := join.args.get("on"):
                check(condition, self._builtins)
                on += [scalar(c, lookup, {}) for c in _conjuncts(condition)]
        rel = members[0] if len(members) == 1 else Join(tuple(members), tuple(on))
        return rel, columns

    def _refuse_join(self, join: exp.Join) -> None:
        side, kind = str(join.side or "").upper(), str(join.kind or "").upper()
        if kind in ("SEMI", "ANTI"):
            raise refuse(Refusal.SEMI_JOIN, kind=f"LEFT {kind}")
        if side:
            raise refuse(Refusal.OUTER_JOIN, kind=side)
        if kind not in ("", "INNER", "CROSS") or join.args.get("method") or join.args.get("using"):
            raise refuse(Refusal.EXPRESSION, what=f"the join {join.sql(dialect='spark')[:60]}")

    def _member(
        self, node: exp.Expr, ctes: dict[str, exp.Expr],
        columns: dict[tuple[str, str], str],
    ) -> Rel:  # fmt: skip
        named = self._relation(node, ctes)
        alias = node.args.get("alias")
        renamed = [c.name for c in alias.args.get("columns") or []] if alias else []
        names = tuple(renamed) or named.names
        for name, column in zip(names, named.rel.columns, strict=True):
            columns[(node.alias_or_name, name)] = column
        return named.rel

    def _relation(self, node: exp.Expr, ctes: dict[str, exp.Expr]) -> _Named:
        if isinstance(node, exp.Table):
            if node.name in self._tables:
                return self._scan(self._tables[node.name])
            if node.name in ctes:
                return self._cte(ctes, node.name)
        if isinstance(node, exp.Subquery):
            return self._query(node, ctes)
        if isinstance(node, exp.Values):
            raise refuse(Refusal.VALUES)
        if isinstance(node, exp.Lateral | exp.Unnest | exp.UDTF):
            raise refuse(Refusal.LATERAL, what="a lateral relation")
        raise refuse(Refusal.EXPRESSION, what=f"the relation {node.sql(dialect='spark')[:60]}")

    def _cte(self, ctes: dict[str, exp.Expr], name: str) -> _Named:
        """Bound anew for each use, so that every use has columns of its own."""
        visible = dict(list(ctes.items())[: list(ctes).index(name)])
        cte = ctes[name]
        named = self._query(cte.this, visible)
        renamed = tuple(c.name for c in cte.args["alias"].args.get("columns") or ())
        return _Named(named.rel, renamed or named.names)

    def _scan(self, table: Table) -> _Named:
        reads = tuple((self._ids.new(c.lower()), c) for c in table.columns)
        names = tuple(c.lower() for c in table.columns)
        if table.visible is None:
            return _Named(Scan(table.source, reads), names)
        hidden = self._ids.new("visible")
        scan = Scan(table.source, (*reads, (hidden, table.visible)))
        rows = Filter(scan, (col(hidden),))
        return _Named(Project(rows, tuple((i, col(i)) for i, _ in reads)), names)


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    if isinstance(node, exp.And):
        return _conjuncts(node.left) + _conjuncts(node.right)
    return [node]
