"""Statements of Spark's as DuckDB's: SELECT over views, joins, groups, unions, first rows.

Columns get names by their places, since DuckDB takes `a` and `A` for one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
    has_only,
)
from dt_jupyter.evaluation.groups import GROUPED
from dt_jupyter.evaluation.kinds import ValueKind
from dt_jupyter.evaluation.left_out import LeftOut
from dt_jupyter.evaluation.scalars import SCALARS
from dt_jupyter.evaluation.windows import WINDOWED, order_by
from dt_jupyter.sql import WholeSpark, has_other_precedence

ViewShape = tuple[tuple[str, ValueKind | None], ...]
"""The columns of a relation and their types, None for one that is not evaluated."""


@dataclass(frozen=True)
class Translation:
    """A statement in DuckDB's SQL, its columns, and the views and functions of ours in it."""

    sql: str
    columns: tuple[tuple[str, ValueKind], ...]
    views: tuple[str, ...]
    functions: Mapping[str, Function]


def translate(text: str, views: Mapping[str, ViewShape], *, is_utc: bool) -> Translation:
    """A statement over views of these shapes, in a session whose time zone is UTC or not. LeftOut
    where it has what is not evaluated."""
    node = _parsed(text)
    statements = _Statements(views, is_utc)
    sql, shape = statements.query(node)
    columns = tuple((n, k) for n, k in shape if k is not None)
    if len(columns) < len(shape):
        raise LeftOut("a column's type")
    return Translation(sql, columns, tuple(statements.used), statements.functions)


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
    """A relation in FROM."""

    sql: str
    columns: list[ScopeColumn]


@dataclass
class _Statements:
    views: Mapping[str, ViewShape]
    is_utc: bool
    functions: dict[str, Function] = field(default_factory=dict)
    used: dict[str, None] = field(default_factory=dict)
    aliases: count[int] = field(default_factory=count)

    def query(self, node: exp.Expr) -> tuple[str, ViewShape]:
        match node:
            case exp.Subquery() if has_only(node, "this"):
                return self.query(node.this)
            case exp.Union() if node.args.get("distinct") is False:
                return self._union(node)
            case exp.Select():
                return self._select(node)
        raise LeftOut(type(node).__name__.upper())

    def _scalars(self, columns: Sequence[ScopeColumn], rules: Rules = SCALARS) -> Scalars:
        return Scalars(columns, rules, self.functions, self.is_utc)

    def _union(self, node: exp.Union) -> tuple[str, ViewShape]:
        if not has_only(node, "this", "expression", "distinct"):
            raise LeftOut("a UNION with more")
        (left, one), (right, other) = self.query(node.this), self.query(node.expression)
        if len(one) != len(other):
            raise LeftOut("a UNION of other columns")
        shape = []
        for (name, a), (_, b) in zip(one, other, strict=True):
            if a is None or b is None:
                raise LeftOut("a column's type")
            shape.append((name, kinds.common(a, b)))
        target = tuple(shape)
        sides = (self._in_types(left, one, target), self._in_types(right, other, target))
        return f"{sides[0]} UNION ALL {sides[1]}", target

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

    def _select(self, node: exp.Select) -> tuple[str, ViewShape]:
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
        listed = ", ".join(f"{sql} AS c{i}" for i, (sql, _, _) in enumerate(items))
        sql = f"SELECT {listed} FROM {source.sql}"
        if where := node.args.get("where"):
            sql += f" WHERE {self._scalars(source.columns).condition(where.this)}"
        if keys is not None:
            sql += f" GROUP BY {', '.join(keys)}"
        if having := node.args.get("having"):
            sql += f" HAVING {scalars.condition(having.this)}"
        sql += self._first_rows(node, scalars)
        return sql, tuple((name, kind) for _, name, kind in items)

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
        both = [*left.columns, *right.columns]
        on = join.args.get("on")
        condition = self._scalars(both).condition(on) if on is not None else "TRUE"
        sql = f"{left.sql} {word} {right.sql} ON {condition}"
        return _Source(sql, left.columns if how in ("LEFT SEMI", "LEFT ANTI") else both)

    def _relation(self, node: exp.Expr) -> _Source:
        alias = f"s{next(self.aliases)}"
        match node:
            case exp.Table() if has_only(node, "this", "alias") and isinstance(
                node.this, exp.Identifier
            ):
                name = node.this.name
                if name not in self.views:
                    raise LeftOut("rows that Spark computes")
                self.used[name] = None
                text, shape = quoted_view(name), self.views[name]
            case exp.Subquery() if has_only(node, "this", "alias"):
                text, shape = self.query(node.this)
                text = f"({text})"
                name = ""
            case _:
                raise LeftOut(type(node).__name__.upper())
        given = node.args.get("alias")
        if given is not None and given.args.get("columns"):
            raise LeftOut("an alias with columns")
        qualifier = node.alias or name or None
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
    ) -> list[tuple[str, str, ValueKind | None]]:
        """The columns of a SELECT: DuckDB's text, name, type."""
        found: list[tuple[str, str, ValueKind | None]] = []
        for item in node.expressions:
            qualifier = _starred(item)
            if qualifier is not None:
                if grouped:
                    raise LeftOut("* with groups")
                named = (c for c in source.columns if qualifier in ("", c.qualifier))
                found += [(c.sql, c.name, c.kind) for c in named]
                continue
            inner = item.this if isinstance(item, exp.Alias) else item
            if not item.alias_or_name:
                raise LeftOut("a column without a name")
            value = scalars(inner)
            kind = None if value.kind == kinds.VOID else value.kind
            found.append((value.sql, item.alias_or_name, kind))
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
