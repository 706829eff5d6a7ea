"""A relation as one query of Spark SQL, laid out to be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from dt_jupyter.ivm import (
    Aggregate,
    Bracketed,
    Cast,
    Column,
    Expr,
    Filter,
    Generate,
    Infix,
    Join,
    Literal,
    Match,
    PerOperator,
    Project,
    Reference,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    col,
    conjunction,
    equality,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql.emit.query import (
    AllColumns,
    FromNode,
    Generated,
    Joined,
    Nested,
    Over,
    Query,
    Select,
    SelectItem,
    Table,
    UnionAll,
    in_order,
    query_text,
)

Place = Callable[[Scan], str]
"""The relation text for a scan; it has the source's own column names (and `__dt_w` of changes)."""


@dataclass(frozen=True)
class Renderer:
    """`place` gives each scan's relation; `keys` the text of each materialised key relation;
    `small` whether a relation of changes is small enough to be sent to every task, `hint` how
    Spark is told of it."""

    place: Place
    keys: Callable[[str], str] = quote
    quote: Callable[[str], str] = quote
    small: Callable[[Rel], bool] = lambda rel: False
    hint: str = "BROADCAST"
    key_hint: str | None = "BROADCAST"
    """How Spark is to send the keys of restrictions; None: as it likes."""

    def __call__(self, rel: Rel) -> str:
        return query_text(self.query(rel), self.quote)

    def query(self, rel: Rel) -> Query:
        """The relation as a query."""
        return _RENDER[type(rel)](self, rel)

    def nested(self, rel: Rel, alias: str = "") -> Nested:
        return Nested(self.query(rel), alias)

    def item(self, value: Expr | Over, column: str) -> SelectItem:
        if isinstance(value, Column) and value.id == column:
            return SelectItem(value)
        return SelectItem(value, column, self.quote(column))

    def columns(self, rel: Rel) -> tuple[SelectItem, ...]:
        return tuple(SelectItem(col(c)) for c in rel.columns)

    def of(self, alias: str, column: str) -> Reference:
        """A column of the relation with this alias."""
        return Reference(alias, column, self.quote(column))


def _scan(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Scan)
    casts = dict(rel.casts)
    items = [r.item(Cast(col(n), casts[n]) if n in casts else col(n), i) for i, n in rel.reads]
    if rel.columns[-1:] == (WEIGHT,):
        items.append(SelectItem(col(WEIGHT)))
    return Select(tuple(items), Table(r.place(rel)))


def _project(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Project)
    return Select(tuple(r.item(e, i) for i, e in rel.items), r.nested(rel.input))


def _filter(r: Renderer, rel: Rel) -> Query:
    """With an alias: without one Spark reads `(…) WHERE (a)` as the alias WHERE with column a."""
    assert isinstance(rel, Filter)
    return Select((AllColumns(),), r.nested(rel.input, "f"), conjunction(rel.on))


def _join(r: Renderer, rel: Rel) -> Query:
    """A change is joined to one member after the other, and while it is small it is sent to
    every task: Spark does not know how few rows such a join has. Others are comma joins with
    every condition in WHERE, which Spark orders itself."""
    assert isinstance(rel, Join)
    if WEIGHT in rel.members[0].columns and len(rel.members) > 1:
        return _change_join(r, rel)
    members: list[FromNode] = [r.nested(m, f"j{i}") for i, m in enumerate(rel.members)]
    return Select(r.columns(rel), reduce(Joined, members), conjunction(rel.on))


def _change_join(r: Renderer, rel: Join) -> Query:
    *others, member = rel.members
    known = {c for m in others for c in m.columns}
    below = tuple(p for p in rel.on if p.columns <= known)
    on = tuple(p for p in rel.on if not p.columns <= known)
    left: Rel = Join(tuple(others), below)
    if len(others) == 1:
        left = Filter(others[0], below) if below else others[0]
    hint = f"{r.hint}(d)" if r.small(left) else ""
    sides = Joined(r.nested(left, "d"), r.nested(member, "m"))
    return Select(r.columns(rel), sides, conjunction(on), hint=hint)


def _union(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Union)
    members = []
    for member in rel.members:
        named = zip(rel.ids, member.columns, strict=True)
        members.append(Select(tuple(r.item(col(c), i) for i, c in named), r.nested(member)))
    return UnionAll(tuple(members))


def _aggregate(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Aggregate)
    keys = tuple(map(col, rel.keys))
    items = (*map(SelectItem, keys), *(r.item(c.text, i) for i, c in rel.calls))
    return Select(items, r.nested(rel.input), keys=keys)


def _rows(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Rows)
    return Select((AllColumns(),), Table(rel.text, "v", rel.ids))


def _match(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Match)
    on = [equality(r.of("l", a), r.of("m", b)) for a, b in rel.pairs]
    condition = in_order((*on, *map(Bracketed, rel.on))) or Literal("TRUE")
    left, right = r.nested(rel.left, "l"), r.nested(rel.right, "m")
    return Select(r.columns(rel), Joined(left, right, f"{rel.kind.value} JOIN", condition))


def _window(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Window)
    rest = tuple(col(c) for c in rel.input.columns if c not in rel.partition)
    partition = tuple(map(col, rel.partition))
    calls = [
        Over(c.function, partition, (*c.order, *(rest if c.total else ())), c.frame)
        for c in rel.calls
    ]
    made = (r.item(over, c.id) for over, c in zip(calls, rel.calls, strict=True))
    return Select((*r.columns(rel.input), *made), r.nested(rel.input, "w"))


def _generate(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Generate)
    source = Generated(r.nested(rel.input, "g"), rel.generator, rel.ids, rel.outer)
    return Select((AllColumns(),), source)


def _top(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Top)
    order = (*rel.order, *map(col, rel.columns))
    source = r.nested(rel.input, "t")
    return Select((AllColumns(),), source, order=order, limit=rel.count, skip=rel.skip)


def _restrict(r: Renderer, rel: Rel) -> Query:
    assert isinstance(rel, Restrict)
    on = in_order(tuple(Infix(r.of("r", a), "<=>", r.of("k", b)) for a, b in rel.on))
    keys: FromNode = (
        r.nested(rel.keys, "k") if isinstance(rel.keys, Rel) else Table(r.keys(rel.keys), "k")
    )
    hint = f"{r.key_hint}(k)" if r.key_hint else ""
    source = Joined(r.nested(rel.input, "r"), keys, "LEFT SEMI JOIN", on)
    return Select((AllColumns("r"),), source, hint=hint)


_RENDER = PerOperator[Callable[[Renderer, Rel], Query]](
    "render",
    {
        Scan: _scan,
        Rows: _rows,
        Project: _project,
        Filter: _filter,
        Join: _join,
        Match: _match,
        Union: _union,
        Generate: _generate,
        Window: _window,
        Top: _top,
        Aggregate: _aggregate,
        Restrict: _restrict,
    },
)
RENDERED = frozenset(_RENDER)
