"""The joins of FROM: inner ones in one `Join`, the others as `Match`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from dt_jupyter.ivm import (
    Expr,
    Generate,
    Ids,
    Join,
    MatchKind,
    Refusal,
    Rel,
    Split,
    join_fully,
    match,
    refuse,
)
from dt_jupyter.sql.binding.generators import generator
from dt_jupyter.sql.binding.scalars import scalar
from dt_jupyter.sql.binding.scope import Key, NamedRelation, check_parts, conjuncts, split_conjuncts
from dt_jupyter.sql.dialect import WholeSpark

_ANY = "*"
_KINDS = {"SEMI": MatchKind.SEMI, "ANTI": MatchKind.ANTI}


@dataclass(frozen=True)
class VisibleRelation:
    """What stands in FROM, and the columns that it makes visible."""

    rel: Rel
    columns: Mapping[Key, str]


def name_columns(table: str, named: NamedRelation) -> VisibleRelation:
    """A relation by its name."""
    if len(named.names) != len(named.rel.columns):
        raise refuse(Refusal.EXPRESSION, what=f"{table} has another number of column names")
    columns = zip(named.names, named.rel.columns, strict=True)
    return VisibleRelation(named.rel, {(table, name): column for name, column in columns})


@dataclass
class From:
    """The relation of a FROM clause as far as it is bound, and its columns."""

    ids: Ids
    builtins: frozenset[str]
    members: list[Rel] = field(default_factory=list)
    on: list[Expr] = field(default_factory=list)
    columns: dict[Key, str] = field(default_factory=dict)

    @property
    def rel(self) -> Rel:
        return (
            self.members[0] if len(self.members) == 1 else Join(tuple(self.members), tuple(self.on))
        )

    def _lookup(self, column: exp.Column) -> str:
        found = self.columns.get((column.table, column.name))
        if found is None:
            name = column.sql(dialect=WholeSpark)
            raise refuse(Refusal.EXPRESSION, what=f"column {name} cannot be resolved")
        return found

    def bound(self, node: exp.Expr) -> Expr:
        """An expression over the columns that are visible."""
        check_parts(node, self.builtins)
        return scalar(node, self._lookup, {})

    def add(self, found: VisibleRelation) -> None:
        self.columns.update(found.columns)
        self.members.append(found.rel)

    def join(self, node: exp.Join, found: VisibleRelation) -> None:
        """One more relation, by the kind of join that the text says."""
        side, kind = str(node.side or "").upper(), str(node.kind or "").upper()
        odd = node.args.get("method") or node.args.get("using")
        if odd or kind not in ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"):
            raise refuse(Refusal.EXPRESSION, what=f"the join {node.sql(dialect=WholeSpark)[:60]}")
        condition = node.args.get("on")
        left = frozenset(self.rel.columns)
        if kind in _KINDS:
            self._semi(node, found, condition, left)
            return
        self.columns.update(found.columns)
        if not side:
            self.members.append(found.rel)
            self.on += [self.bound(c) for c in conjuncts(condition)] if condition else []
            return
        self._outer(side, found.rel, condition, left)

    def _semi(
        self,
        node: exp.Join,
        found: VisibleRelation,
        condition: exp.Expr | None,
        left: frozenset[str],
    ) -> None:
        """The columns of the right side are seen by the condition alone."""
        kind = _KINDS[str(node.kind).upper()]
        visible = dict(self.columns)
        self.columns.update(found.columns)
        on = self._condition(condition, left)
        self.columns = visible
        self.replace(match(self.ids, self.rel, found.rel, kind, on))

    def _condition(self, node: exp.Expr | None, left: frozenset[str]) -> Split:
        return split_conjuncts(conjuncts(node), self.bound, left) if node else Split((), ())

    def _outer(
        self, side: str, right: Rel, condition: exp.Expr | None, left: frozenset[str]
    ) -> None:
        found = self._condition(condition, left)
        before = self.rel
        if side == "LEFT":
            self.replace(match(self.ids, before, right, MatchKind.LEFT, found))
            return
        turned = Split(tuple((b, a) for a, b in found.pairs), found.rest)
        if side == "RIGHT":
            self.replace(match(self.ids, right, before, MatchKind.LEFT, turned))
            return
        rel, renamed = join_fully(self.ids, before, right, found)
        self.replace(rel)
        self.columns = {k: renamed.get(c, c) for k, c in self.columns.items()}

    def replace(self, rel: Rel) -> None:
        """All that is bound so far is this relation."""
        self.members, self.on = [rel], []

    def lateral_join(self, node: exp.Join) -> None:
        """, LATERAL generator(…) t(a, b): the same as a lateral view; a LEFT JOIN without a
        condition as an outer one."""
        on, side = node.args.get("on"), str(node.side or "").upper()
        always = on is None or (isinstance(on, exp.Boolean) and on.this)
        odd = side not in ("", "LEFT") or node.args.get("using") or node.args.get("method")
        if odd or not always or not isinstance(node.this.this, exp.Func):
            raise refuse(Refusal.LATERAL, what="a lateral join")
        self.lateral(node.this, outer=side == "LEFT")

    def lateral(self, node: exp.Lateral, *, outer: bool = False) -> None:
        """LATERAL VIEW [OUTER] generator(…) t AS a, b."""
        alias = node.args["alias"]
        given = tuple(c.name for c in alias.args.get("columns") or ())
        call, made = generator(node.this, self.bound, len(given))
        names = given or made
        if not names or (len(names) != len(made) and made != ()):
            raise refuse(Refusal.LATERAL, what="LATERAL VIEW with other columns than it makes")
        ids = tuple(self.ids.new(n) for n in names)
        outer = outer or bool(node.args.get("outer")) or call.outer
        self.replace(Generate(self.rel, call.text, ids, outer))
        for name, column in zip(names, ids, strict=True):
            self.columns[(alias.name, name)] = column


def refuse_merged(tree: exp.Expr) -> None:
    """A column that USING has merged in a right or full outer join is of both its sides; what
    joins by it again would be bound to the left one alone."""
    for select in tree.find_all(exp.Select):
        merged: set[str] = set()
        for join in select.args.get("joins") or []:
            natural = str(join.args.get("method") or "").upper() == "NATURAL"
            names = {n.name.lower() for n in join.args.get("using") or []}
            names |= {_ANY} if natural else set()
            if merged & names or (merged and names and _ANY in merged | names):
                what = "USING joins by a column that a right or full outer join has merged"
                raise refuse(Refusal.EXPRESSION, what=what)
            if str(join.side or "").upper() in ("RIGHT", "FULL"):
                merged |= names
