"""Statements of Spark's as DuckDB's: SELECT over views, joins, groups, unions, first rows.

Columns get names by their places, since DuckDB takes `a` and `A` for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count

from dt_jupyter.evaluation import kinds
from dt_jupyter.evaluation.expressions import (
    Function,
    Rules,
    Scalars,
    ScopeColumn,
    Value,
    ViewColumn,
    ViewHash,
    ViewHashes,
    node_name,
)
from dt_jupyter.evaluation.groups import AGGREGATES, GROUPED
from dt_jupyter.evaluation.kinds import ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS
from dt_jupyter.evaluation.windows import order_by, window_value
from dt_jupyter.ivm import Call, Column, Expr, Reference, walk_expression
from dt_jupyter.sql import (
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
)

_PLACE = re.compile(r"\b(s\d+)\.([cx]\d+|r\b)")

ViewShape = tuple[tuple[str, ValueKind | None], ...]
"""The columns of a relation and their types, None for one that is not evaluated."""


@dataclass(frozen=True)
class Translation:
    """A statement in DuckDB's SQL, its columns, and the views and functions of ours in it.

    `reads` are the columns of each view that the text names, `hashes` those that are computed
    before. The text leaves out a column in `taken`, by number: its values are those of a view's
    column in the rows whose numbers a column of the result has."""

    sql: str
    columns: tuple[tuple[str, ValueKind], ...]
    reads: Mapping[str, tuple[str, ...]]
    functions: Mapping[str, Function]
    hashes: Mapping[ViewHash, str]
    taken: Mapping[int, Taken]


@dataclass(frozen=True, slots=True)
class Taken:
    """A column of a view, and that of the result with the numbers of its rows."""

    view: str
    column: str
    rows: str


def translate(
    query: Query, views: Mapping[str, ViewShape], *, is_utc: bool, takes: bool = False
) -> Translation:
    """A statement over views of these shapes, in a session whose time zone is UTC or not. With
    `takes` the text leaves out what is a view's column in some rows, or the hash of some, so it is
    as short for wide rows. LeftOut where it has what is not evaluated."""
    statements = _Statements(views, is_utc, ViewHashes() if takes else None)
    made = statements.query(query, takes=takes)
    columns = tuple((n, k) for n, k in made.shape if k is not None)
    if len(columns) < len(made.shape):
        raise LeftOut("a column's type")
    hashes = statements.hashes.names if statements.hashes is not None else {}
    return Translation(
        made.sql, columns, statements.reads(made.sql), statements.functions, hashes, made.taken
    )


@dataclass
class _Source:
    """A relation in FROM; `is_view`: it is one of the views, and nothing else."""

    sql: str
    columns: list[ScopeColumn]
    is_view: bool = False


@dataclass(frozen=True)
class _Item:
    """A column of a SELECT."""

    value: Value
    name: str
    kind: ValueKind | None


@dataclass(frozen=True)
class _Made:
    """A query's text and the columns of its result. `view`: what is in its FROM where it does
    nothing but name columns of one view, and they are `places`."""

    sql: str
    shape: ViewShape
    taken: Mapping[int, Taken] = field(default_factory=dict)
    view: str = ""
    places: tuple[ViewColumn, ...] = ()


@dataclass
class _Statements:
    views: Mapping[str, ViewShape]
    is_utc: bool
    hashes: ViewHashes | None
    functions: dict[str, Function] = field(default_factory=dict)
    used: dict[str, str] = field(default_factory=dict)
    """Views by their aliases."""
    aliases: count[int] = field(default_factory=count)

    def query(self, node: Query, *, takes: bool = False) -> _Made:
        match node:
            case UnionAll():
                return self._union(node)
            case Select():
                return self._select(node, takes=takes)
        raise LeftOut(_BY_SPARK)

    def reads(self, sql: str) -> dict[str, tuple[str, ...]]:
        """The columns of each view that a text names; some more where it has texts like them."""
        found: dict[str, dict[str, None]] = {view: {} for view in self.used.values()}
        for alias, column in _PLACE.findall(sql):
            if (view := self.used.get(alias)) is not None:
                found[view][column] = None
        return {view: tuple(columns) for view, columns in found.items()}

    def _scalars(self, columns: Sequence[ScopeColumn], rules: Rules = SCALARS) -> Scalars:
        return Scalars(columns, rules, self.functions, self.is_utc, hashes=self.hashes)

    def _union(self, node: UnionAll) -> _Made:
        members = [self.query(m) for m in node.members]
        target = reduce(_common_shape, (m.shape for m in members))
        sides = (self._in_types(m.sql, m.shape, target) for m in members)
        return _Made(" UNION ALL ".join(sides), target)

    def _in_types(self, sql: str, shape: ViewShape, target: ViewShape) -> str:
        if [k for _, k in shape] == [k for _, k in target]:
            return f"SELECT * FROM ({sql})"
        scalars = self._scalars(())
        items = ", ".join(
            f"{scalars.cast(Value(f'c{i}', old), new)} AS c{i}"
            for i, ((_, old), (_, new)) in enumerate(zip(shape, target, strict=True))
            if old and new
        )
        return f"SELECT {items} FROM ({sql})"

    def _select(self, node: Select, *, takes: bool) -> _Made:
        source = self._relation(node.source)
        grouped = bool(node.keys) or any(map(_is_aggregate, node.items))
        scalars = self._scalars(source.columns, GROUPED if grouped else SCALARS)
        keys = self._keys(node.keys, source)
        items = self._items(node, scalars, source, grouped=grouped)
        shape = tuple((i.name, i.kind) for i in items)
        listed, taken = _listed(items, grouped=grouped, takes=takes)
        sql = f"SELECT {', '.join(listed)} FROM {source.sql}"
        if node.where is not None:
            sql += f" WHERE {self._scalars(source.columns).condition(node.where)}"
        if keys:
            sql += f" GROUP BY {', '.join(keys)}"
        if node.having is not None:
            sql += f" HAVING {scalars.condition(node.having)}"
        sql += _first_rows(node, scalars)
        places = tuple(i.value.place for i in items if i.value.place is not None)
        names_alone = source.is_view and not grouped and node.where is None and not node.hint
        if names_alone and not node.order and len(places) == len(items):
            return _Made(sql, shape, taken, source.sql, places)
        return _Made(sql, shape, taken)

    # -- FROM --------------------------------------------------------------------------------------

    def _relation(self, node: FromNode) -> _Source:
        match node:
            case Table():
                return self._table(node)
            case Nested():
                return self._nested(node)
            case Joined():
                return self._joined(node)
            case Generated():
                raise LeftOut(node_name(node.generator))

    def _joined(self, join: Joined) -> _Source:
        left, right = self._relation(join.left), self._relation(join.right)
        if join.how == "LEFT JOIN":
            right.columns = [_made_optional(c) for c in right.columns]
        both = [*left.columns, *right.columns]
        on = self._scalars(both).condition(join.on) if join.on is not None else "TRUE"
        sql = f"{left.sql} {_JOINS[join.how]} {right.sql} ON {on}"
        return _Source(sql, left.columns if join.how in _ONE_SIDED else both)

    def _table(self, node: Table) -> _Source:
        name = node.view
        if node.columns or name not in self.views:
            raise LeftOut(_BY_SPARK)
        alias = f"s{next(self.aliases)}"
        self.used[alias] = name
        shape, qualifier = self.views[name], node.alias or name
        places = [ViewColumn(name, alias, f"c{i}") for i in range(len(shape))]
        return _view_source(f"{quoted_view(name)} AS {alias}", qualifier, shape, places)

    def _nested(self, node: Nested) -> _Source:
        alias, made = f"s{next(self.aliases)}", self.query(node.query)
        if made.places:
            return _view_source(made.view, node.alias, made.shape, made.places)
        named = enumerate(made.shape)
        columns = [ScopeColumn(node.alias, n, f"{alias}.c{i}", k) for i, (n, k) in named]
        return _Source(f"({made.sql}) AS {alias}", columns)

    # -- the rest ----------------------------------------------------------------------------------

    def _keys(self, keys: Sequence[Expr], source: _Source) -> list[str]:
        """GROUP BY columns, and nothing else."""
        scalars = self._scalars(source.columns)
        if not all(isinstance(key, Column | Reference) for key in keys):
            raise LeftOut("GROUP BY an expression")
        values = [scalars(key) for key in keys]
        for value in values:
            if not value.kind.is_compared or value.kind.is_float:  # of 0.0 and -0.0, Spark has one
                raise LeftOut(f"GROUP BY of {value.kind.name}")
        return [v.sql for v in values]

    def _items(
        self, node: Select, scalars: Scalars, source: _Source, *, grouped: bool
    ) -> list[_Item]:
        found = list[_Item]()
        for item in node.items:
            if isinstance(item, AllColumns):
                if grouped:
                    raise LeftOut("* with groups")
                named = (c for c in source.columns if item.relation in ("", c.qualifier))
                found += [
                    _Item(Value(c.sql, c.kind or kinds.VOID, place=c.place), c.name, c.kind)
                    for c in named
                ]
                continue
            value = _value_of(item.value, scalars)
            kind = None if value.kind == kinds.VOID else value.kind
            found.append(_Item(value, _name_of(item), kind))
        return found


_BY_SPARK = "rows that Spark computes"
_JOINS = {
    ",": "JOIN", "JOIN": "JOIN", "LEFT JOIN": "LEFT JOIN", "LEFT SEMI JOIN": "SEMI JOIN",
    "LEFT ANTI JOIN": "ANTI JOIN",
}  # fmt: skip
_ONE_SIDED = frozenset({"LEFT SEMI JOIN", "LEFT ANTI JOIN"})


def _value_of(value: Expr | Over, scalars: Scalars) -> Value:
    return window_value(scalars, value) if isinstance(value, Over) else scalars(value)


def _common_shape(one: ViewShape, other: ViewShape) -> ViewShape:
    """The columns of the first, in types that hold those of both."""
    if len(one) != len(other):
        raise LeftOut("a UNION of other columns")
    shape = []
    for (name, a), (_, b) in zip(one, other, strict=True):
        if a is None or b is None:
            raise LeftOut("a column's type")
        shape.append((name, kinds.common(a, b)))
    return tuple(shape)


def _view_source(
    sql: str, qualifier: str, shape: ViewShape, places: Sequence[ViewColumn]
) -> _Source:
    named = zip(shape, places, strict=True)
    columns = [ScopeColumn(qualifier, n, p.sql, k, p) for (n, k), p in named]
    return _Source(sql, columns, is_view=True)


def _name_of(item: SelectItem) -> str:
    match item:
        case SelectItem(value=Column(id=name), name=""):
            return name
        case SelectItem(value=Reference(name=name), name=""):
            return name
        case SelectItem(name=""):
            raise LeftOut("a column without a name")
    return item.name


def _first_rows(node: Select, scalars: Scalars) -> str:
    if node.limit is None and not node.skip:
        if node.order:
            raise LeftOut("ORDER BY of all rows")
        return ""
    if not node.order:
        raise LeftOut("a LIMIT without an order")
    limit = f" LIMIT {node.limit}" if node.limit is not None else ""
    skip = f" OFFSET {node.skip}" if node.skip else ""
    return f" ORDER BY {order_by(scalars, node.order)}{limit}{skip}"


def _made_optional(column: ScopeColumn) -> ScopeColumn:
    place = column.place and replace(column.place, optional=True)
    return replace(column, place=place)


def _listed(
    items: Sequence[_Item], *, grouped: bool, takes: bool
) -> tuple[list[str], dict[int, Taken]]:
    """The items in DuckDB's SQL, and those that are taken from a view instead."""
    listed, rows, taken = list[str](), dict[str, str](), dict[int, Taken]()
    for i, item in enumerate(items):
        place = item.value.place
        row = "" if place is None else item.value.row if grouped else place.row
        if not (takes and place and row):
            listed.append(f"{item.value.sql} AS c{i}")
            continue
        numbers = rows.setdefault(row, f"r{len(rows)}")
        taken[i] = Taken(place.view, place.column, numbers)
    return [*listed, *(f"{row} AS {name}" for row, name in rows.items())], taken


def quoted_view(view: str) -> str:
    """A view's name in DuckDB."""
    return '"' + view.replace('"', '""') + '"'


def _is_aggregate(item: SelectItem | AllColumns) -> bool:
    """Whether it has an aggregate that is not over a window."""
    if isinstance(item, AllColumns) or isinstance(item.value, Over):
        return False
    return any(
        isinstance(n, Call) and n.function in AGGREGATES for n in walk_expression(item.value)
    )
