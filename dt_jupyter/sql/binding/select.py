"""One SELECT bound, clause by clause: FROM, WHERE, GROUP BY, HAVING, windows, items, DISTINCT,
ORDER BY with LIMIT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from sqlglot import exp

from dt_jupyter.ivm import (
    NOT_NULL_OF_NOTHING,
    NULL,
    Aggregate,
    AggregateCall,
    Call,
    Cast,
    Expr,
    Generate,
    Ids,
    Literal,
    Project,
    Refusal,
    Rel,
    Rows,
    Split,
    case,
    col,
    expr as template,
    refuse,
)
from dt_jupyter.sql.binding.aggregation import (
    Grouping,
    aggregates,
    bind_calls,
    grouping,
    having_of,
    is_aggregate,
)
from dt_jupyter.sql.binding.from_clause import bind_from, lift_outer_conditions
from dt_jupyter.sql.binding.generators import generator, is_generator
from dt_jupyter.sql.binding.limit_clause import Ctes, first_of_each, limit_scope, top
from dt_jupyter.sql.binding.outer_values import join_outer_values, reject_null
from dt_jupyter.sql.binding.scope import NamedRelation, Scope, conjuncts, split_conjuncts
from dt_jupyter.sql.binding.subqueries import Bound, attach, filter_by, has_subquery
from dt_jupyter.sql.binding.time_windows import bind_time_windows
from dt_jupyter.sql.binding.windows import bind_windows, windows

_UNKNOWN = ("pivots", "sample", "connect", "match")


class Relations(Protocol):
    """What a SELECT asks of the binder."""

    ids: Ids
    builtins: frozenset[str]

    def relation(self, node: exp.Expr, ctes: Ctes) -> NamedRelation: ...
    def subquery(self, node: exp.Expr, ctes: Ctes, outer: Scope) -> Bound: ...


class Select:
    """Binds `node`; with `outer`, a subquery that may read the columns of that scope."""

    def __init__(
        self, binder: Relations, node: exp.Select, ctes: Ctes, outer: Scope | None = None
    ) -> None:
        self.binder, self.node, self.ctes = binder, node, ctes
        if any(node.args.get(k) for k in _UNKNOWN):
            raise refuse(Refusal.EXPRESSION, what="a clause of SELECT is not supported here")
        self.scope = self._from(outer)
        self.items = [(s.alias_or_name, _item(s)) for s in node.expressions]
        self.correlation = Split((), ())
        self.is_strict = False
        self.grouped_alone = False
        self.empty: tuple[Expr, ...] = ()

    # -- the two ways in --------------------------------------------------------------------------

    def query(self) -> NamedRelation:
        """The rows of the SELECT."""
        self._where()
        return NamedRelation(self._rows(), self._names())

    def subquery(self) -> Bound:
        """The rows with what they are correlated on."""
        self._where()
        if self.correlation.pairs or self.correlation.rest:
            return self._correlated()
        rel = self._rows()
        several = (
            self._limit()
            or any(is_generator(i) for _, i in self.items)
            or any(self.node.args.get(k) for k in ("having", "qualify"))
        )
        return Bound(rel, rel.columns, grouped=self.grouped_alone and not several)

    def _correlated(self) -> Bound:
        if self.is_strict and self.correlation.rest and (self._is_grouped() or self._limit()):
            self.correlation = join_outer_values(self.scope, self.correlation)
        pairs, rest = self.correlation.pairs, self.correlation.rest
        self._refuse_correlated()
        unseen = self._unseen()
        keys = self._body(tuple(b for _, b in pairs), unseen)
        if rest and self._is_grouped():
            raise refuse(Refusal.NON_EQUI_JOIN, what="subquery with an aggregate")
        if self.grouped_alone and (self._limit() or any(is_generator(i) for _, i in self.items)):
            what = "a row generator or a LIMIT over a correlated aggregate"
            raise refuse(Refusal.SUBQUERY, what=what)
        own = [c for c in self.scope.rel.columns if any(c in p.columns for p in rest)]
        extra = [(self.scope.ids.new("k"), e) for e in keys]
        hidden = {n: self.scope.ids.new("o") for n in unseen}
        seen = tuple((i, self.scope.scalar(n)) for n, i in hidden.items())
        rel = self._project((*extra, *((c, col(c)) for c in own), *seen))
        if self._limit():
            rel = self._first_of_each(rel, tuple(i for i, _ in extra), hidden)
        return Bound(
            rel,
            rel.columns[: len(self._names())],
            tuple((a, i) for (a, _), (i, _) in zip(pairs, extra, strict=True)),
            rest,
            self.grouped_alone,
            self.empty,
            bool(self.node.args.get("distinct")),
        )

    def _refuse_correlated(self) -> None:
        if self.node.args.get("qualify"):
            raise refuse(Refusal.SUBQUERY, what="a correlated subquery with QUALIFY")
        if windows(i for _, i in self.items):
            raise refuse(Refusal.SUBQUERY, what="a correlated subquery with a window function")
        if not self._limit():
            return
        if self.correlation.rest or not self.correlation.pairs:
            what = "a subquery with LIMIT that is correlated on other than equal columns"
            raise refuse(Refusal.SUBQUERY, what=what)
        made = any(is_generator(i) for _, i in self.items)
        if made or self.node.args.get("distinct"):
            what = "a correlated subquery with LIMIT over DISTINCT or a generator"
            raise refuse(Refusal.SUBQUERY, what=what)

    def _first_of_each(
        self, rel: Rel, keys: tuple[str, ...], hidden: Mapping[exp.Expr, str]
    ) -> Rel:
        """LIMIT of a correlated subquery: the first rows for each of its keys."""
        items = {i: c for (_, i), c in zip(self.items, rel.columns, strict=False)}
        scope = limit_scope(rel, self._names(), {**items, **hidden}, self.binder.builtins)
        return first_of_each(self.node, scope, keys, self.scope.ids.new("n"), self.ctes)

    def _rows(self) -> Rel:
        """Everything after WHERE."""
        unseen = self._unseen()
        self._body(unseen=unseen)
        hidden = {n: self.scope.ids.new("o") for n in unseen}
        rel = self._project(tuple((i, self.scope.scalar(n)) for n, i in hidden.items()))
        if not hidden:
            return self._top(self._distinct(rel), {})
        if self.node.args.get("distinct"):
            raise refuse(Refusal.LIMIT, what="an order by what SELECT DISTINCT leaves out")
        shown = rel.columns[: -len(hidden)]
        return Project(self._top(rel, hidden), tuple((c, col(c)) for c in shown))

    def _unseen(self) -> list[exp.Expr]:
        """What ORDER BY with LIMIT reads that is no item: columns, aggregates, windows."""
        order = self.node.args.get("order")
        if order is None or not self._limit():
            return []
        items = {i for _, i in self.items}

        def unseen(n: exp.Expr) -> bool:
            column = isinstance(n, exp.Column) and bool(n.table)
            return n not in items and (column or isinstance(n, exp.Window) or is_aggregate(n))

        def done(n: exp.Expr) -> bool:
            return n in items or isinstance(n, exp.Query) or unseen(n)

        return list(dict.fromkeys(n for n in order.walk(prune=done) if unseen(n)))

    # -- clauses ----------------------------------------------------------------------------------

    def _from(self, outer: Scope | None) -> Scope:
        node, binder = self.node, self.binder
        from_ = node.args.get("from_") or node.args.get("from")
        if from_ is None:
            one = Rows("(SELECT 1)", (binder.ids.new("one"),))
            return Scope(binder.ids, binder.builtins, one, {}, outer)
        if outer is not None:
            lift_outer_conditions(node, outer)
        first = from_.this
        joins = [*(first.args.get("joins") or []), *(node.args.get("joins") or [])]
        made = bind_from(binder, first, joins, self._member, self._bind, outer)
        for lateral in node.args.get("laterals") or []:
            made.lateral(lateral)
        return Scope(binder.ids, binder.builtins, made.rel, made.columns, outer)

    def _member(self, node: exp.Expr) -> NamedRelation:
        named = self.binder.relation(node, self.ctes)
        alias = node.args.get("alias")
        renamed = [c.name for c in alias.args.get("columns") or []] if alias else []
        return NamedRelation(named.rel, tuple(renamed) or named.names)

    def _bind(self, node: exp.Expr, scope: Scope) -> Bound:
        return self.binder.subquery(node, self.ctes, scope)

    def _where(self) -> None:
        where = self.node.args.get("where")
        found = conjuncts(where.this) if where else []
        scope = self.scope
        outer = [c for c in found if scope.outer and scope.is_outer(c)]
        own = [c for c in found if c not in outer]
        scope.filter(scope.scalar(c) for c in own if not has_subquery(c))
        for conjunct in own:
            if has_subquery(conjunct):
                filter_by(scope, conjunct, self._bind)
        if any(has_subquery(c) for c in outer):
            raise refuse(Refusal.SUBQUERY, what="a subquery in a correlated condition")
        if outer and scope.outer is not None:
            left = frozenset(scope.outer.columns.values())
            self.correlation = split_conjuncts(outer, scope.mixed, left)
            self.is_strict = reject_null(outer)

    def _is_grouped(self) -> bool:
        node = self.node
        return bool(node.args.get("group") or node.args.get("having")) or any(
            aggregates(i) for _, i in self.items
        )

    def _body(
        self, keys: tuple[Expr, ...] = (), unseen: Sequence[exp.Expr] = ()
    ) -> tuple[Expr, ...]:
        """Everything between WHERE and the items; the keys of a correlation as they are now."""
        qualify = self.node.args.get("qualify")
        texts = [*(i for _, i in self.items), *([qualify.this] if qualify else []), *unseen]
        grouped = [self.node.args.get(k) for k in ("group", "having")]
        bind_time_windows(self.scope, [*texts, *(g for g in grouped if g)])
        if self._is_grouped():
            keys = self._group(texts, keys)
        for text in texts:
            attach(self.scope, text, self._bind)
        if windows(texts):
            bind_windows(self.scope, self.node, texts)
        if qualify:
            self.scope.filter(self.scope.scalar(c) for c in conjuncts(qualify.this))
        return keys

    def _group(self, texts: list[exp.Expr], keys: tuple[Expr, ...]) -> tuple[Expr, ...]:
        """The aggregate; above it only its keys and calls are known."""
        scope, having = self.scope, having_of(self.node, self.items)
        above = texts + ([having.this] if having else [])
        found = grouping(self.node)
        for text in (*found.keys, *(a for t in above for a in aggregates(t))):
            attach(scope, text, self._bind)
        known, carried = self._keys(found)
        ids = list(carried)
        if found.sets is not None:
            ids = self._sets(found, known, carried, above)
        moved = []
        for key in keys:
            moved.append(scope.ids.new("k"))
            carried[moved[-1]] = key
        calls = list(dict.fromkeys(a for t in above for a in aggregates(t) if a not in known))
        bound = bind_calls(scope, calls)
        for _, call in bound:
            for column in sorted(call.reads):
                carried.setdefault(column, col(column))
        self.grouped_alone = not ids
        if not bound and not ids and not moved:
            bound = [(scope.ids.new("n"), AggregateCall("count", (), template("COUNT(*)")))]
        if self.grouped_alone and having and keys:
            raise refuse(Refusal.SUBQUERY, what="a correlated subquery with HAVING")
        below = Project(scope.rel, tuple(carried.items())) if carried else scope.rel
        scope.rel = Aggregate(below, (*ids, *moved), tuple(bound))
        scope.columns = {
            (k.table, k.name): i for k, i in known.items() if isinstance(k, exp.Column)
        }
        scope.known = known | {c: i for c, (i, _) in zip(calls, bound, strict=False)}
        if self.grouped_alone and keys:
            self.empty = tuple(self._of_no_rows(i, dict(bound)) for _, i in self.items)
        self._having(having)
        return tuple(col(k) for k in moved)

    def _keys(self, found: Grouping) -> tuple[dict[exp.Expr, str], dict[str, Expr]]:
        """A column for each grouping expression."""
        scope = self.scope
        known: dict[exp.Expr, str] = {}
        carried: dict[str, Expr] = {}
        for key in found.keys:
            if key not in known:
                known[key] = scope.ids.new(key.name if isinstance(key, exp.Column) else "k")
                carried[known[key]] = scope.scalar(key)
        return known, carried

    def _sets(
        self,
        found: Grouping,
        known: dict[exp.Expr, str],
        carried: dict[str, Expr],
        above: Sequence[exp.Expr],
    ) -> list[str]:
        """Each row once for each grouping set, its other keys NULL, numbered as GROUPING_ID."""
        scope, keys = self.scope, list(carried)
        assert found.sets is not None
        width = len(keys)
        masks = [sum(1 << (width - 1 - i) for i in range(width) if i not in s) for s in found.sets]
        kept = dict(carried)
        number = scope.ids.new("set")
        array = Call("ARRAY", tuple(Literal(f"{m}L") for m in masks))
        scope.rel = Generate(scope.rel, Call("EXPLODE", (array,)), (number,))
        for i, (key, value) in enumerate(kept.items()):
            bit = 1 << (width - 1 - i)
            there = template("({g} & " + f"{bit}L) = 0", g=col(number))
            carried[key] = case(there, value)
        carried[number] = col(number)
        for text in above:
            for call in text.find_all(exp.Grouping, exp.GroupingId):
                known[call] = self._grouping(call, list(known), number, carried, width)
        return [*keys, number, *(c for c in carried if c.startswith(_GROUPING))]

    def _grouping(
        self,
        call: exp.Expr,
        keys: list[exp.Expr],
        number: str,
        carried: dict[str, Expr],
        width: int,
    ) -> str:
        """GROUPING(k) and GROUPING_ID(): bits of the set's number, constant within a group."""
        asked = list(call.expressions) or ([call.this] if call.this else [])
        if isinstance(call, exp.GroupingId) and asked and asked != keys[: len(asked)]:
            raise refuse(Refusal.GROUPING_SETS, what="GROUPING_ID of some keys")
        made = self.scope.ids.new(_GROUPING)
        if isinstance(call, exp.GroupingId):
            carried[made] = col(number)
            return made
        if asked[0] not in keys:
            raise refuse(Refusal.GROUPING_SETS, what="GROUPING of a column outside of GROUP BY")
        shift = width - 1 - keys.index(asked[0])
        carried[made] = template(
            "CAST(SHIFTRIGHT({g}, " + str(shift) + ") & 1L AS TINYINT)", g=col(number)
        )
        return made

    def _of_no_rows(self, item: exp.Expr, calls: Mapping[str, AggregateCall]) -> Expr:
        """The item's value where no row is aggregated: counts are 0, the rest is NULL."""
        if has_subquery(item):
            raise refuse(Refusal.SUBQUERY, what="a subquery beside an aggregate in a subquery")
        if some := sorted({c.function for c in calls.values()} & NOT_NULL_OF_NOTHING):
            what = f"a correlated subquery with {some[0]}(), which is not NULL of no rows"
            raise refuse(Refusal.SUBQUERY, what=what)
        zero = {i for i, c in calls.items() if c.function in ("count", "count_if")}
        text = self.scope.text(item)
        inside = item.walk(prune=lambda n: n in self.scope.known)
        if not zero and all(n in self.scope.known or isinstance(n, _STRICT) for n in inside):
            return NULL
        none = Cast(Literal("0"), "BIGINT")
        return text.rewritten(lambda e: (none if e.column in zero else NULL) if e.column else e)

    def _having(self, having: exp.Expr | None) -> None:
        if having is None:
            return
        found = conjuncts(having.this)
        self.scope.filter(self.scope.condition(c) for c in found if not has_subquery(c))
        for conjunct in found:
            if has_subquery(conjunct):
                filter_by(self.scope, conjunct, self._bind)

    # -- items ------------------------------------------------------------------------------------

    def _names(self) -> tuple[str, ...]:
        names: list[str] = []
        for select, (name, item) in zip(self.node.expressions, self.items, strict=True):
            if is_generator(item):
                names += self._generated(select)
            else:
                names.append(name)
        return tuple(names)

    def _generated(self, select: exp.Expr) -> tuple[str, ...]:
        """The names of the columns of a generator among the items."""
        if isinstance(select, exp.Aliases):
            return tuple(str(a.name) for a in select.expressions)
        _, made = generator(_item(select), self.scope.scalar)
        if isinstance(select, exp.Alias) and len(made) <= 1:
            return (select.alias,)
        if not made:
            raise refuse(Refusal.LATERAL, what="a generator whose columns are not named")
        return made

    def _project(self, extra: tuple[tuple[str, Expr], ...]) -> Rel:
        scope = self.scope
        made: list[tuple[str, Expr]] = []
        generators = 0
        for select, (name, item) in zip(self.node.expressions, self.items, strict=True):
            if is_generator(item):
                generators += 1
                if generators > 1:
                    raise refuse(Refusal.LATERAL, what="two generators in one SELECT")
                call, _ = generator(item, scope.scalar)
                ids = tuple(scope.ids.new(n) for n in self._generated(select))
                scope.rel = Generate(scope.rel, call.text, ids, call.outer)
                made += [(scope.ids.new(i), col(i)) for i in ids]
            else:
                made.append((scope.ids.new(name), scope.scalar(item)))
        return Project(scope.rel, (*made, *extra))

    def _distinct(self, rel: Rel) -> Rel:
        distinct = self.node.args.get("distinct")
        if not distinct:
            return rel
        if distinct.args.get("on"):
            raise refuse(Refusal.EXPRESSION, what="DISTINCT ON is not supported here")
        return Aggregate(rel, rel.columns, ())

    def _limit(self) -> bool:
        return any(self.node.args.get(k) for k in ("limit", "offset", "fetch"))

    def _top(self, rel: Rel, hidden: Mapping[exp.Expr, str]) -> Rel:
        if not self._limit():
            return rel
        items = {i: c for (_, i), c in zip(self.items, rel.columns, strict=False)}
        known = {**items, **hidden}
        return top(self.node, rel, self._names(), known, self.binder.builtins, self.ctes)


_GROUPING = "grouping"
_STRICT = (
    exp.Paren, exp.Mul, exp.Add, exp.Sub, exp.Neg, exp.Literal, exp.TryCast, exp.DataType,
    exp.DataTypeParam,
)  # fmt: skip
"""What is NULL where an operand is, and harmless beside one."""


def _item(node: exp.Expr) -> exp.Expr:
    """An item without its alias and its brackets; a subquery keeps its own."""
    item: exp.Expr = node.this if isinstance(node, exp.Alias | exp.Aliases) else node
    while isinstance(item, exp.Paren):
        item = item.this
    return item
