"""Statements of Spark's as DuckDB's: SELECT over views, joins, groups, unions, first rows.

Columns get names by their places, since DuckDB takes `a` and `A` for one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

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
    has_only,
)
from dt_jupyter.evaluation.groups import GROUPED
from dt_jupyter.evaluation.kinds import ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS
from dt_jupyter.evaluation.windows import WINDOWED, order_by
from dt_jupyter.sql import WholeSpark, has_other_precedence

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
    text: str, views: Mapping[str, ViewShape], *, is_utc: bool, takes: bool = False
) -> Translation:
    """A statement over views of these shapes, in a session whose time zone is UTC or not. With
    `takes` the text leaves out what is a view's column in some rows, or the hash of some, so it is
    as short for wide rows. LeftOut where it has what is not evaluated."""
    node = _parsed(text)
    statements = _Statements(views, is_utc, ViewHashes() if takes else None)
    query = statements.query(node, takes=takes)
    columns = tuple((n, k) for n, k in query.shape if k is not None)
    if len(columns) < len(query.shape):
        raise LeftOut("a column's type")
    hashes = statements.hashes.names if statements.hashes is not None else {}
    return Translation(
        query.sql, columns, statements.reads(query.sql), statements.functions, hashes, query.taken
    )


def _parsed(text: str) -> exp.Expr:
    try:
        node = parse_one(text, dialect=WholeSpark)
    except (SqlglotError, ValueError) as e:
        raise LeftOut("SQL that sqlglot does not read") from e
    if has_other_precedence(node):
        raise LeftOut("a comparison beside IS, IN, BETWEEN or LIKE")
    return node


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
class _Query:
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

    def query(self, node: exp.Expr, *, takes: bool = False) -> _Query:
        match node:
            case exp.Subquery() if has_only(node, "this"):
                return self.query(node.this, takes=takes)
            case exp.Union() if node.args.get("distinct") is False:
                return self._union(node)
            case exp.Select():
                return self._select(node, takes=takes)
        raise LeftOut(type(node).__name__.upper())

    def reads(self, sql: str) -> dict[str, tuple[str, ...]]:
        """The columns of each view that a text names; some more where it has texts like them."""
        found: dict[str, dict[str, None]] = {view: {} for view in self.used.values()}
        for alias, column in _PLACE.findall(sql):
            if (view := self.used.get(alias)) is not None:
                found[view][column] = None
        return {view: tuple(columns) for view, columns in found.items()}

    def _scalars(self, columns: Sequence[ScopeColumn], rules: Rules = SCALARS) -> Scalars:
        return Scalars(columns, rules, self.functions, self.is_utc, hashes=self.hashes)

    def _union(self, node: exp.Union) -> _Query:
        if not has_only(node, "this", "expression", "distinct"):
            raise LeftOut("a UNION with more")
        left, right = self.query(node.this), self.query(node.expression)
        one, other = left.shape, right.shape
        if len(one) != len(other):
            raise LeftOut("a UNION of other columns")
        shape = []
        for (name, a), (_, b) in zip(one, other, strict=True):
            if a is None or b is None:
                raise LeftOut("a column's type")
            shape.append((name, kinds.common(a, b)))
        target = tuple(shape)
        sides = (self._in_types(left.sql, one, target), self._in_types(right.sql, other, target))
        return _Query(f"{sides[0]} UNION ALL {sides[1]}", target)

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

    def _select(self, node: exp.Select, *, takes: bool) -> _Query:
        if not has_only(
            node, "expressions", "from_", "joins", "where", "group", "having", "hint", "order",
            "limit", "offset",
        ):  # fmt: skip
            raise LeftOut("a SELECT with more")
        if node.args.get("from_") is None:
            raise LeftOut("a SELECT without FROM")
        source = self._from(node)
        group = node.args.get("group")
        grouped = group is not None or any(map(_is_aggregate, node.expressions))
        scalars = self._scalars(source.columns, GROUPED if grouped else WINDOWED)
        keys = self._keys(group, source) if group is not None else None
        items = self._items(node, scalars, source, grouped=grouped)
        shape = tuple((i.name, i.kind) for i in items)
        listed, taken = _listed(items, grouped=grouped, takes=takes)
        sql = f"SELECT {', '.join(listed)} FROM {source.sql}"
        if where := node.args.get("where"):
            sql += f" WHERE {self._scalars(source.columns).condition(where.this)}"
        if keys is not None:
            sql += f" GROUP BY {', '.join(keys)}"
        if having := node.args.get("having"):
            sql += f" HAVING {scalars.condition(having.this)}"
        sql += self._first_rows(node, scalars)
        places = tuple(i.value.place for i in items if i.value.place is not None)
        names_alone = source.is_view and not grouped and has_only(node, "expressions", "from_")
        if names_alone and len(places) == len(items):
            return _Query(sql, shape, taken, source.sql, places)
        return _Query(sql, shape, taken)

    # -- FROM --------------------------------------------------------------------------------------

    def _from(self, node: exp.Select) -> _Source:
        found = self._relation(node.args["from_"].this)
        for join in node.args.get("joins") or ():
            found = self._joined(found, join)
        return found

    def _joined(self, left: _Source, join: exp.Join) -> _Source:
        if not has_only(join, "this", "on", "side", "kind"):
            raise LeftOut("a join with more")
        right = self._relation(join.this)
        how = " ".join(filter(None, (join.side, join.kind))).upper()
        word = {
            "": "JOIN", "INNER": "JOIN", "CROSS": "JOIN", "LEFT": "LEFT JOIN",
            "LEFT SEMI": "SEMI JOIN", "LEFT ANTI": "ANTI JOIN",
        }.get(how)  # fmt: skip
        if word is None:
            raise LeftOut(f"{how} JOIN")
        if how == "LEFT":
            right.columns = [_made_optional(c) for c in right.columns]
        both = [*left.columns, *right.columns]
        on = join.args.get("on")
        condition = self._scalars(both).condition(on) if on is not None else "TRUE"
        sql = f"{left.sql} {word} {right.sql} ON {condition}"
        return _Source(sql, left.columns if how in ("LEFT SEMI", "LEFT ANTI") else both)

    def _relation(self, node: exp.Expr) -> _Source:
        alias, view = f"s{next(self.aliases)}", ""
        match node:
            case exp.Table() if has_only(node, "this", "alias") and isinstance(
                node.this, exp.Identifier
            ):
                name = node.this.name
                if name not in self.views:
                    raise LeftOut("rows that Spark computes")
                self.used[alias] = name
                text, shape = quoted_view(name), self.views[name]
                places = [ViewColumn(name, alias, f"c{i}") for i in range(len(shape))]
            case exp.Subquery() if has_only(node, "this", "alias"):
                query = self.query(node.this)
                text, shape, places = f"({query.sql})", query.shape, [*query.places]
                view, name = query.view, ""
            case _:
                raise LeftOut(type(node).__name__.upper())
        given = node.args.get("alias")
        if given is not None and given.args.get("columns"):
            raise LeftOut("an alias with columns")
        qualifier = node.alias or name or None
        if places:
            named = zip(shape, places, strict=True)
            columns = [ScopeColumn(qualifier, n, p.sql, k, p) for (n, k), p in named]
            return _Source(view or f"{text} AS {alias}", columns, is_view=True)
        columns = [ScopeColumn(qualifier, n, f"{alias}.c{i}", k) for i, (n, k) in enumerate(shape)]
        return _Source(f"{text} AS {alias}", columns)

    # -- the rest ----------------------------------------------------------------------------------

    def _keys(self, group: exp.Group, source: _Source) -> list[str]:
        """GROUP BY columns, and nothing else."""
        if not has_only(group, "expressions"):
            raise LeftOut("GROUP BY with more")
        scalars = self._scalars(source.columns)
        values = []
        for node in group.expressions:
            if not isinstance(node, exp.Column):
                raise LeftOut("GROUP BY an expression")
            values.append(scalars(node))
        for value in values:
            if not value.kind.is_compared or value.kind.is_float:  # of 0.0 and -0.0, Spark has one
                raise LeftOut(f"GROUP BY of {value.kind.name}")
        return [v.sql for v in values]

    def _items(
        self, node: exp.Select, scalars: Scalars, source: _Source, *, grouped: bool
    ) -> list[_Item]:
        found = list[_Item]()
        for item in node.expressions:
            qualifier = _starred(item)
            if qualifier is not None:
                if grouped:
                    raise LeftOut("* with groups")
                named = (c for c in source.columns if qualifier in ("", c.qualifier))
                found += [
                    _Item(Value(c.sql, c.kind or kinds.VOID, place=c.place), c.name, c.kind)
                    for c in named
                ]
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            if not item.alias_or_name:
                raise LeftOut("a column without a name")
            value = scalars(inner)
            kind = None if value.kind == kinds.VOID else value.kind
            found.append(_Item(value, item.alias_or_name, kind))
        return found

    def _first_rows(self, node: exp.Select, scalars: Scalars) -> str:
        order, limit, offset = (node.args.get(k) for k in ("order", "limit", "offset"))
        if limit is None and offset is None:
            if order is not None:
                raise LeftOut("ORDER BY of all rows")
            return ""
        if order is None:
            raise LeftOut("a LIMIT without an order")
        sql = f" ORDER BY {order_by(scalars, order)}"
        for word, part in (("LIMIT", limit), ("OFFSET", offset)):
            if part is not None:
                number = part.expression
                if not (isinstance(number, exp.Literal) and number.this.isdigit()):
                    raise LeftOut(f"{word} of no number")
                sql += f" {word} {number.this}"
        return sql


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


def _is_aggregate(item: exp.Expr) -> bool:
    """Whether it has an aggregate that is not over a window."""
    within = item.walk(prune=lambda n: isinstance(n, exp.Window))
    return any(isinstance(n, exp.AggFunc) for n in within)


def _starred(item: exp.Expr) -> str | None:
    """The qualifier of a `*`, empty for none; None of another item."""
    if isinstance(item, exp.Star) and not any(item.args.values()):
        return ""
    if isinstance(item, exp.Column) and isinstance(item.this, exp.Star) and item.table:
        return str(item.table)
    return None
