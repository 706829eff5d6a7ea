"""What one SELECT has bound so far: its relation, and the names by which its texts see columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dt_jupyter.ivm import Cast, Expr, Filter, Ids, Join, Refusal, Rel, Split, refuse, with_columns
from dt_jupyter.sql.binding.large_texts import is_plain
from dt_jupyter.sql.binding.scalars import check_scalar, scalar
from dt_jupyter.sql.dialect import WholeSpark


@dataclass(frozen=True)
class NamedRelation:
    """A bound relation and the names by which a query sees its columns."""

    rel: Rel
    names: tuple[str, ...]


Key = tuple[str, str]
"""The table and the name of a column, as the qualified text has them."""


@dataclass
class Scope:
    """`rel` grows as clauses are bound; `columns` gives the id of each visible column, `known`
    that of each expression which has been computed below (an aggregate, a subquery, a window)."""

    ids: Ids
    builtins: frozenset[str]
    rel: Rel
    columns: dict[Key, str]
    outer: Scope | None = None
    known: dict[exp.Expr, str] = field(default_factory=dict)

    def lookup(self, column: exp.Column) -> str:
        key = (column.table, column.name)
        if key in self.columns:
            return self.columns[key]
        name = column.sql(dialect=WholeSpark)
        if self._around(key):
            what = f"a subquery that reads {name} elsewhere than in a condition of its WHERE"
            raise refuse(Refusal.SUBQUERY, what=what)
        raise refuse(Refusal.EXPRESSION, what=f"column {name} cannot be resolved")

    def _around(self, key: Key) -> bool:
        """Whether a column is of a query around this one."""
        return self.outer is not None and (key in self.outer.columns or self.outer._around(key))

    def either(self, column: exp.Column) -> str:
        """The id of a column of this scope or of the one around it."""
        if self.outer is None or (column.table, column.name) in self.columns:
            return self.lookup(column)
        return self.outer.lookup(column)

    def is_outer(self, node: exp.Expr) -> bool:
        """Whether the text reads a column that is not of this scope."""
        return any((c.table, c.name) not in self.columns for c in own_columns(node))

    def scalar(self, node: exp.Expr) -> Expr:
        """A deterministic scalar of the row, checked."""
        check_parts(masked(node, self.known), self.builtins)
        return scalar(node, self.lookup, self.known)

    def condition(self, node: exp.Expr) -> Expr:
        """A scalar as a condition, which a number or a text may be too."""
        text = self.scalar(node)
        is_boolean = isinstance(node, exp.Predicate | exp.Connector | exp.Not | exp.Boolean)
        return text if is_boolean else Cast(text, "BOOLEAN")

    def text(self, node: exp.Expr) -> Expr:
        """The text with its columns found, for what is checked elsewhere."""
        return scalar(node, self.lookup, self.known)

    def mixed(self, node: exp.Expr) -> Expr:
        """The same over the columns of this scope and of the one around it."""
        check_parts(masked(node, self.known), self.builtins)
        return scalar(node, self.either, self.known)

    def filter(self, predicates: Iterable[Expr]) -> None:
        if found := tuple(predicates):
            self.rel = Filter(self.rel, found)

    def column(self, e: Expr, name: str = "k") -> str:
        """The id of a column with the value of `e`, added to the relation if there is none."""
        if e.column is not None and e.column in self.rel.columns:
            return e.column
        made = self.ids.new(name)
        self.rel = with_columns(self.rel, ((made, e),))
        return made

    def join(self, other: Rel, on: tuple[Expr, ...] = ()) -> None:
        self.rel = Join((self.rel, other), on)


def masked(node: exp.Expr, known: Mapping[exp.Expr, str]) -> exp.Expr:
    """The text without what is computed below: that is checked already."""
    if not known:
        return node
    return node.copy().transform(lambda n: exp.null() if n in known else n)


def check_parts(node: exp.Expr, builtins: frozenset[str]) -> None:
    """`check` of what AND, OR and CASE put together, part by part: it writes each function out."""
    stack = [node]
    while stack:
        part = stack.pop()
        if is_plain(part):
            stack += part.iter_expressions()
        else:
            check_scalar(part, builtins)


def own_columns(node: exp.Expr) -> list[exp.Column]:
    """The columns of a text, those in its subqueries left out."""
    walked = node.walk(prune=lambda n: isinstance(n, exp.Query))
    return [n for n in walked if isinstance(n, exp.Column)]


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """What has to be true together; (p AND q) OR (p AND r) is p AND (q OR r)."""
    node = node.unnest()
    if isinstance(node, exp.And):
        return conjuncts(node.left) + conjuncts(node.right)
    return _factored(node) if isinstance(node, exp.Or) else [node]


def _factored(node: exp.Or) -> list[exp.Expr]:
    """A disjunction as the conjuncts that all of its sides share, and what is left of the sides."""
    common: list[exp.Expr] | None = None
    sides = []
    for side in _disjuncts(node):
        sides.append(conjuncts(side))
        common = sides[0] if common is None else [c for c in common if c in sides[-1]]
        if not common:
            return [node]
    shared = list(dict.fromkeys(common or ()))
    rests = [[c for c in side if c not in shared] for side in sides]
    if not all(rests):
        return shared
    return [*shared, exp.or_(*(exp.and_(*rest) for rest in rests))]


def _disjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    stack = [node]
    while stack:
        last = stack.pop().unnest()
        if isinstance(last, exp.Or):
            stack += [last.right, last.left]
        else:
            yield last


def split_conjuncts(
    nodes: Iterable[exp.Expr], bind: Callable[[exp.Expr], Expr], left: frozenset[str]
) -> Split:
    """The conjuncts `a = b` whose sides read only `left` columns and only others, and the rest."""
    pairs: list[tuple[Expr, Expr]] = []
    rest: list[Expr] = []
    for node in nodes:
        sides = [bind(s) for s in (node.left, node.right)] if isinstance(node, exp.EQ) else []
        if sides and all(s.columns for s in sides):
            homes = [_home(s, left) for s in sides]
            if homes == ["left", "right"]:
                pairs.append((sides[0], sides[1]))
                continue
            if homes == ["right", "left"]:
                pairs.append((sides[1], sides[0]))
                continue
        rest.append(bind(node))
    return Split(tuple(pairs), tuple(rest))


def _home(e: Expr, left: frozenset[str]) -> str:
    if e.columns <= left:
        return "left"
    return "both" if e.columns & left else "right"
