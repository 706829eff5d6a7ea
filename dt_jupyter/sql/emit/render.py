"""A relation as one Spark SQL text, laid out to be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.ivm import (
    Aggregate,
    Expr,
    Filter,
    Generate,
    Join,
    Match,
    PerOperator,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import WEIGHT

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
        return self.text(rel, 0)

    def text(self, rel: Rel, depth: int) -> str:
        return _RENDER[type(rel)](self, rel, depth)

    def nested(self, rel: Rel, depth: int) -> str:
        """The relation in brackets, two spaces further in."""
        pad = "  " * (depth + 1)
        return f"(\n{pad}{self.text(rel, depth + 1)}\n{'  ' * depth})"

    def item(self, rendered: str, column: str) -> str:
        name = self.quote(column)
        return rendered if rendered == name else f"{rendered} AS {name}"


def _scan(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Scan)
    casts = dict(rel.casts)
    items = [
        r.item(f"CAST({r.quote(n)} AS {casts[n]})" if n in casts else r.quote(n), i)
        for i, n in rel.reads
    ]
    if rel.columns[-1:] == (WEIGHT,):
        items.append(r.quote(WEIGHT))
    return f"SELECT {', '.join(items)} FROM {r.place(rel)}"


def _project(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Project)
    items = ", ".join(r.item(e.sql(r.quote), i) for i, e in rel.items)
    return f"SELECT {items} FROM {r.nested(rel.input, depth)}"


def _filter(r: Renderer, rel: Rel, depth: int) -> str:
    """With an alias: without one Spark reads `(…) WHERE (a)` as the alias WHERE with column a."""
    assert isinstance(rel, Filter)
    predicates = " AND ".join(f"({p.sql(r.quote)})" for p in rel.on)
    return f"SELECT * FROM {r.nested(rel.input, depth)} f WHERE {predicates}"


def _join(r: Renderer, rel: Rel, depth: int) -> str:
    """A change is joined to one member after the other, and while it is small it is sent to
    every task: Spark does not know how few rows such a join has. Others are comma joins with
    every condition in WHERE, which Spark orders itself."""
    assert isinstance(rel, Join)
    if WEIGHT in rel.members[0].columns and len(rel.members) > 1:
        return _change_join(r, rel, depth)
    pad = "  " * depth
    members = [f"{r.nested(m, depth)} j{i}" for i, m in enumerate(rel.members)]
    columns = ", ".join(r.quote(c) for c in rel.columns)
    return f"SELECT {columns} FROM {', '.join(members)}{_where(r, rel.on, pad)}"


def _change_join(r: Renderer, rel: Join, depth: int) -> str:
    *others, member = rel.members
    known = {c for m in others for c in m.columns}
    below = tuple(p for p in rel.on if p.columns <= known)
    on = tuple(p for p in rel.on if not p.columns <= known)
    left: Rel = Join(tuple(others), below)
    if len(others) == 1:
        left = Filter(others[0], below) if below else others[0]
    hint = f"/*+ {r.hint}(d) */ " if r.small(left) else ""
    columns = ", ".join(r.quote(c) for c in rel.columns)
    sides = f"{r.nested(left, depth)} d, {r.nested(member, depth)} m"
    return f"SELECT {hint}{columns} FROM {sides}{_where(r, on, '  ' * depth)}"


def _where(r: Renderer, on: tuple[Expr, ...], pad: str) -> str:
    where = " AND ".join(f"({p.sql(r.quote)})" for p in on)
    return f"\n{pad}WHERE {where}" if where else ""


def _union(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Union)
    pad = "  " * depth
    members = []
    for member in rel.members:
        items = ", ".join(
            r.item(r.quote(c), i) for i, c in zip(rel.ids, member.columns, strict=True)
        )
        members.append(f"SELECT {items} FROM {r.nested(member, depth)}")
    return f"\n{pad}UNION ALL\n{pad}".join(members)


def _aggregate(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Aggregate)
    items = [r.quote(k) for k in rel.keys]
    items += [r.item(c.text.sql(r.quote), i) for i, c in rel.calls]
    keys = ", ".join(r.quote(k) for k in rel.keys)
    by = f" GROUP BY {keys}" if keys else ""
    return f"SELECT {', '.join(items)} FROM {r.nested(rel.input, depth)}{by}"


def _rows(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Rows)
    return f"SELECT * FROM {rel.text} v({', '.join(r.quote(i) for i in rel.ids)})"


def _match(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Match)
    on = [f"l.{r.quote(a)} = m.{r.quote(b)}" for a, b in rel.pairs]
    on += [f"({p.sql(r.quote)})" for p in rel.on]
    columns = ", ".join(r.quote(c) for c in rel.columns)
    return (
        f"SELECT {columns} FROM {r.nested(rel.left, depth)} l"
        f" {rel.kind.value} JOIN {r.nested(rel.right, depth)} m ON {' AND '.join(on) or 'TRUE'}"
    )


def _window(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Window)
    rest = [r.quote(c) for c in rel.input.columns if c not in rel.partition]
    by = ", ".join(r.quote(c) for c in rel.partition)
    calls = []
    for call in rel.calls:
        order = [e.sql(r.quote) for e in call.order] + (rest if call.total else [])
        over = [f"PARTITION BY {by}"] if by else []
        over += [f"ORDER BY {', '.join(order)}"] if order else []
        over += [call.frame] if call.frame else []
        text = f"{call.function.sql(r.quote)} OVER ({' '.join(over)})"
        calls.append(r.item(text, call.id))
    columns = ", ".join([*(r.quote(c) for c in rel.input.columns), *calls])
    return f"SELECT {columns} FROM {r.nested(rel.input, depth)} w"


def _generate(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Generate)
    outer = "OUTER " if rel.outer else ""
    names = ", ".join(r.quote(i) for i in rel.ids)
    return (
        f"SELECT * FROM {r.nested(rel.input, depth)} g"
        f" LATERAL VIEW {outer}{rel.generator.sql(r.quote)} e AS {names}"
    )


def _top(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Top)
    order = ", ".join([*(e.sql(r.quote) for e in rel.order), *(r.quote(c) for c in rel.columns)])
    limit = f" LIMIT {rel.count}" if rel.count is not None else ""
    skip = f" OFFSET {rel.skip}" if rel.skip else ""
    return f"SELECT * FROM {r.nested(rel.input, depth)} t ORDER BY {order}{limit}{skip}"


def _restrict(r: Renderer, rel: Rel, depth: int) -> str:
    assert isinstance(rel, Restrict)
    on = " AND ".join(f"r.{r.quote(a)} <=> k.{r.quote(b)}" for a, b in rel.on)
    keys = r.keys(rel.keys) if isinstance(rel.keys, str) else r.nested(rel.keys, depth)
    hint = f"/*+ {r.key_hint}(k) */ " if r.key_hint else ""
    return f"SELECT {hint}r.* FROM {r.nested(rel.input, depth)} r LEFT SEMI JOIN {keys} k ON {on}"


_RENDER = PerOperator[Callable[[Renderer, Rel, int], str]](
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
