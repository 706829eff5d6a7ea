"""PIVOT and UNPIVOT as the SELECTs that they stand for, before any name is resolved.

PIVOT groups by every column that neither its aggregates nor its FOR columns read, and aggregates
over CASE; UNPIVOT makes as many rows of each as its IN lists. Where no row has a value, Spark
answers NULL if the types of all aggregates are numbers or booleans, and else what the aggregate
itself makes of no rows (Spark: PivotTransformer, PivotFirst, UnpivotTransformer).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from dt_jupyter.ivm import PICKS, Refusal, Refused, refuse
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sql.binding.aggregate_calls import bare_call, call_name
from dt_jupyter.sql.binding.aggregation import aggregates, is_aggregate
from dt_jupyter.sql.binding.scalars import function_name
from dt_jupyter.sql.dialect import WholeSpark
from dt_jupyter.sql.text.limits import too_many

MOST_PIVOTS = 20
_MOST_COLUMNS = 1_000

_Columns = Callable[[exp.Select], tuple[str, ...]]
"""The names of the columns of a SELECT, in lower case."""

_COUNTS = frozenset({"count", "count_if", "approx_count_distinct", "regr_count"})
_LISTS = frozenset({"collect_list", "collect_set", "array_agg"})
_OF_ARGUMENT = frozenset({"min", "max", "min_by", "max_by"})
_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "boolean")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}\Z")
_PLACE, _PLACES, _UNPIVOTED = hidden("place"), hidden("e"), hidden("u")


def expand_pivots(tree: exp.Expr, columns: _Columns) -> exp.Expr:
    """The tree with each PIVOT and UNPIVOT as a subquery; Refused (PIVOT) where that is unknown.

    `columns` is asked for those of `SELECT *` from what is pivoted, inner ones first.
    """
    found = [n for n in tree.find_all(exp.Table, exp.Subquery, exp.Values) if n.args.get("pivots")]
    if not found and tree.find(exp.Pivot) is None:
        return tree
    count = sum(len(n.args["pivots"]) for n in found)
    if problem := too_many(count, MOST_PIVOTS, "PIVOTs"):
        raise problem
    for join in tree.find_all(exp.Join):
        if join.args.get("pivots") or join.this.args.get("pivots"):
            raise _refuse("PIVOT or UNPIVOT after a join or a comma")
    for node in sorted(found, key=_order, reverse=True):
        _replace(node, columns)
    if tree.find(exp.Pivot) is not None:
        raise _refuse("PIVOT or UNPIVOT in this place")
    return tree


def _refuse(what: str) -> Refused:
    return refuse(Refusal.PIVOT, what=what)


def _order(node: exp.Expr) -> tuple[int, ...]:
    """Later for what has to be expanded first: inner queries, and common tables by their place."""
    path: list[int] = []
    inner, outer = node, node.parent
    while outer is not None:
        if isinstance(outer, exp.With):
            path.append(len(outer.expressions) - (inner.index or 0))
        elif isinstance(inner, exp.With):
            path.append(1)
        else:
            path.append(0)
        inner, outer = outer, outer.parent
    return tuple(reversed(path))


def _replace(node: exp.Expr, columns: _Columns) -> None:
    """The subquery in the place of what is pivoted."""
    pivots = node.args["pivots"]
    outside = {k: node.args.get(k) for k in ("joins", "laterals") if node.args.get(k)}
    if isinstance(node, exp.Subquery) and not isinstance(node.this, exp.Query):
        raise _refuse("PIVOT or UNPIVOT of a join in brackets")
    _refuse_star_of(node, pivots)
    made = node.copy()
    for key in ("pivots", *outside):
        made.set(key, None)
    for pivot in pivots:
        made = _one(made, pivot, node, columns)
    for key, value in outside.items():
        made.set(key, value)
    node.replace(made)


def _one(input: exp.Expr, pivot: exp.Pivot, place: exp.Expr, columns: _Columns) -> exp.Subquery:
    """One PIVOT over a relation that stands at `place`."""
    alias = input.alias_or_name or hidden("pivoted")
    if not input.alias_or_name:
        input.set("alias", exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
    names = columns(_with_ctes(_select([exp.Star()], input.copy()), place))
    _refuse_repeated(names)
    relation = _Relation(input, alias, names)
    made = _unpivot(relation, pivot) if pivot.args.get("unpivot") else _pivot(relation, pivot)
    _refuse_repeated([s.alias_or_name.lower() for s in made.selects])
    outer = pivot.args.get("alias") or exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Subquery(this=made, alias=outer.copy())


def _select(items: Sequence[exp.Expr], relation: exp.Expr) -> exp.Select:
    return exp.Select(expressions=list(items), from_=exp.From(this=relation))


def _with_ctes(select: exp.Select, place: exp.Expr) -> exp.Select:
    """The SELECT with the common tables that are seen at `place`."""
    seen: dict[str, exp.Expr] = {}
    inner, outer = place, place.parent
    while outer is not None:
        with_ = outer if isinstance(outer, exp.With) else outer.args.get("with_")
        if with_ is not None and with_ is not inner:
            own = with_.expressions
            for cte in reversed(own[: inner.index] if isinstance(outer, exp.With) else own):
                seen.setdefault(cte.alias.lower(), cte)
        inner, outer = outer, outer.parent
    if seen:
        select.set("with_", exp.With(expressions=[c.copy() for c in reversed(seen.values())]))
    return select


def _refuse_star_of(node: exp.Expr, pivots: Sequence[exp.Pivot]) -> None:
    """`t.*` of a pivoted t is what it kept of t's columns alone."""
    select = node.find_ancestor(exp.Select)
    if pivots[-1].alias or select is None:
        return
    for item in select.expressions:
        if isinstance(item, exp.Column) and item.is_star and item.table:
            raise _refuse(f"{item.table}.* beside a PIVOT")


def _refuse_repeated(names: Sequence[str]) -> None:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise _refuse(f"two columns of the name {name} in a PIVOT")


@dataclass(frozen=True)
class _Relation:
    """What is pivoted: its text, the alias that its columns have, and their names."""

    text: exp.Expr
    alias: str
    names: tuple[str, ...]

    def column(self, name: str) -> exp.Column:
        return exp.column(name, table=self.alias, quoted=True)

    def name(self, column: exp.Column) -> str:
        """The column of the relation that a text reads, also where it reads a field of it."""
        first = column.parts[0].name.lower()
        if len(column.parts) > 1 and first == self.alias.lower():
            first = column.parts[1].name.lower()
        if first not in self.names:
            raise _refuse(
                f"a PIVOT of the column {column.sql(dialect=WholeSpark)}, which is unknown"
            )
        return first

    def bound(self, text: exp.Expr) -> exp.Expr:
        """The text with its plain columns by the alias, so that no other name takes them."""

        def place(n: exp.Expr) -> exp.Expr:
            if isinstance(n, exp.Column) and not n.is_star and len(n.parts) == 1:
                return self.column(self.name(n))
            return n

        return text.copy().transform(place)

    def rest(self, read: Sequence[exp.Expr]) -> list[str]:
        """The names of the columns that none of the texts reads."""
        columns = [c for t in read for c in t.find_all(exp.Column) if not c.is_star]
        used = {self.name(c) for c in columns}
        return [n for n in self.names if n not in used]


# -- PIVOT ----------------------------------------------------------------------------------------


def _pivot(relation: _Relation, pivot: exp.Pivot) -> exp.Select:
    """SELECT keys, the aggregates of the rows with each value … GROUP BY keys."""
    if len(pivot.args["fields"]) != 1 or pivot.args.get("group"):
        raise _refuse("a PIVOT with several FOR")
    field = pivot.args["fields"][0]
    calls = [(e.unalias(), e.alias) for e in pivot.expressions]
    for call, _ in calls:
        _check_call(call)
    on = _tuple(field.this)
    values = [_value(v) for v in field.expressions]
    if problem := too_many(len(values) * len(calls), _MOST_COLUMNS, "columns of a PIVOT"):
        raise problem
    if len({tuple(map(_shown, v)) for v, _ in values}) != len(values):
        raise _refuse("PIVOT with a value twice")
    keys = relation.rest([*on, *(c for c, _ in calls)])
    items: list[exp.Expr] = [exp.alias_(relation.column(k), k, quoted=True) for k in keys]
    for value, name in values:
        condition = _has_value([relation.bound(c) for c in on], value)
        found = [relation.bound(c) for c, _ in calls]
        of_value = [_of_rows(c, condition) for c in found]
        for (call, alias), item in zip(calls, _or_null(of_value, condition), strict=True):
            shown = name if len(calls) == 1 else f"{name}_{alias or _pretty(call)}"
            items.append(exp.alias_(item, shown, quoted=True))
    select = _select(items, relation.text)
    if keys:
        select.set("group", exp.Group(expressions=[relation.column(k) for k in keys]))
    return select


def _check_call(call: exp.Expr) -> None:
    if not aggregates(call):
        raise _refuse(f"PIVOT of {call.sql(dialect=WholeSpark)[:40]}, which is not an aggregate")
    if call.find(exp.Query, exp.Window):
        raise _refuse("PIVOT of a subquery or a window function")
    inside = {id(n) for a in aggregates(call) for n in a.walk()}
    if any(id(c) not in inside for c in call.find_all(exp.Column)):
        raise _refuse("PIVOT of a column outside of an aggregate")


def _tuple(node: exp.Expr) -> list[exp.Expr]:
    node = node.unnest()
    return [e.unnest() for e in node.expressions] if isinstance(node, exp.Tuple) else [node]


def _value(node: exp.Expr) -> tuple[list[exp.Expr], str]:
    """The literals of a value of IN, and the name that its columns have."""
    alias = node.args["alias"].name if isinstance(node, exp.PivotAlias) else ""
    value = node.this if isinstance(node, exp.PivotAlias) else node
    parts = _tuple(value)
    shown = [_shown(p) for p in parts]
    is_tuple = isinstance(value.unnest(), exp.Tuple)
    return parts, alias or ("{" + ", ".join(shown) + "}" if is_tuple else shown[0])


def _shown(node: exp.Expr) -> str:
    """A literal as Spark casts it to a string."""
    if isinstance(node, exp.Null):
        return "null"
    if isinstance(node, exp.Boolean):
        return "true" if node.this else "false"
    if isinstance(node, exp.Literal) and (node.is_string or str(node.this).isdigit()):
        return str(node.this) if node.is_string else str(int(node.this))
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and node.this.is_int:
        return f"-{int(node.this.this)}"
    if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal):
        if node.is_type(exp.DType.DATE) and _DATE.match(node.this.name):
            return str(node.this.this)
        if node.is_type(exp.DType.BIGINT, exp.DType.SMALLINT, exp.DType.TINYINT):
            return _shown(node.this)
    raise _refuse(f"PIVOT with the value {node.sql(dialect=WholeSpark)[:40]}")


def _has_value(columns: Sequence[exp.Expr], value: Sequence[exp.Expr]) -> exp.Expr:
    if len(columns) != len(value):
        raise _refuse("PIVOT with values of another width than its FOR")
    tests: list[exp.Expr] = [
        exp.Is(this=c.copy(), expression=exp.null())
        if isinstance(v, exp.Null)
        else exp.EQ(this=c.copy(), expression=v.copy())
        for c, v in zip(columns, value, strict=True)
    ]
    return exp.and_(*tests)


_OF_WHOLE_ROWS = PICKS | {
    "listagg", "mode", "percentile_cont", "percentile_disc", "count_min_sketch",
    "bitmap_construct_agg", "bitmap_or_agg", "bitmap_and_agg",
}  # fmt: skip
"""Aggregates that do not pass over a row whose argument is NULL, or are not NULL of no rows."""


def _of_rows(call: exp.Expr, condition: exp.Expr) -> exp.Expr:
    """The aggregates in an expression, over the rows of the condition alone."""

    def case(value: exp.Expr) -> exp.Expr:
        return exp.Case(ifs=[exp.If(this=condition.copy(), true=value.copy())])

    def narrowed(node: exp.Expr) -> None:
        inner = node.this if isinstance(node, exp.Filter) else node
        if (name := call_name(bare_call(inner))) in _OF_WHOLE_ROWS:
            raise _refuse(f"PIVOT of {name}()")
        while isinstance(inner.this, exp.Distinct):
            inner = inner.this
        if isinstance(inner, exp.Distinct) and len(inner.expressions) > 1:
            raise _refuse("PIVOT of an aggregate over several DISTINCT columns")
        if isinstance(inner, exp.Distinct | exp.Anonymous):
            arguments = inner.expressions
        else:
            arguments = [v for v in inner.args.values() if isinstance(v, exp.Expr)]
            arguments += inner.expressions
        for i, argument in enumerate(arguments):
            if isinstance(argument, exp.Star):
                argument.replace(case(exp.Literal.number(1)))
            elif i == 0 or argument.find(exp.Column):
                argument.replace(case(argument))

    made = exp.Paren(this=call.copy())
    for aggregate in aggregates(made):
        narrowed(aggregate)
    whole: exp.Expr = made.this
    return whole


def _or_null(calls: Sequence[exp.Expr], condition: exp.Expr) -> list[exp.Expr]:
    """Each as it is where it is NULL of no rows; the others where there are rows, if the types
    of all are numbers or booleans."""
    if any(isinstance(n, exp.Func) and function_name(n) in _LISTS for c in calls for n in c.walk()):
        return list(calls)
    some: exp.Expr = exp.GT(
        this=exp.CountIf(this=condition.copy()), expression=exp.Literal.number(0)
    )
    for call in calls:
        if not _is_number(call):
            some = exp.or_(some, exp.Not(this=exp.paren(_has_number_type(call))))
    return [
        c if _is_null_of_no_rows(c) else exp.Case(ifs=[exp.If(this=some.copy(), true=c)])
        for c in calls
    ]


def _bare(call: exp.Expr) -> exp.Expr | None:
    """The aggregate call, where the expression is nothing else."""
    call = call.this if isinstance(call, exp.Filter) else call
    return call if is_aggregate(call) else None


def _is_null_of_no_rows(call: exp.Expr) -> bool:
    bare = _bare(call)
    return bare is not None and function_name(bare) not in _COUNTS


def _is_number(call: exp.Expr) -> bool:
    bare = _bare(call)
    return bare is not None and function_name(bare) not in _OF_ARGUMENT


def _has_number_type(call: exp.Expr) -> exp.Expr:
    """A condition that Spark folds to a constant."""
    type_ = exp.Typeof(this=call.copy())
    names = [exp.Literal.string(n) for n in _NUMBERS]
    decimal = exp.Like(this=type_.copy(), expression=exp.Literal.string("decimal%"))
    return exp.or_(exp.In(this=type_, expressions=names), decimal)


def _pretty(call: exp.Expr) -> str:
    """The name that Spark gives an aggregate without alias, where it is plain."""
    name, argument = function_name(call), call.this
    if isinstance(call, exp.Count) and isinstance(argument, exp.Star):
        return "count(1)"
    plain = isinstance(argument, exp.Column) and len(argument.parts) <= 2
    if name in ("sum", "avg", "min", "max", "count") and plain and not call.expressions:
        return f"{name}({argument.name})"
    raise _refuse(
        f"PIVOT of several aggregates with {call.sql(dialect=WholeSpark)[:40]} without AS"
    )


# -- UNPIVOT --------------------------------------------------------------------------------------


def _unpivot(relation: _Relation, pivot: exp.Pivot) -> exp.Select:
    """SELECT kept columns, the name and the values of each place in IN, of every row."""
    field = pivot.args["fields"][0]
    if len(pivot.expressions) != 1 or len(pivot.args["fields"]) != 1:
        raise _refuse("UNPIVOT with several FOR")
    made = [n.name for n in _tuple(pivot.expressions[0])]
    places = [_place(p) for p in field.expressions]
    if any(len(columns) != len(made) for columns, _ in places):
        raise _refuse("UNPIVOT with another number of columns than it names")
    if problem := too_many(len(places) * len(made), _MOST_COLUMNS, "columns of an UNPIVOT"):
        raise problem
    kept = relation.rest([c for columns, _ in places for c in columns])
    items = [exp.alias_(relation.column(k), k, quoted=True) for k in kept]
    named = [exp.Literal.string(name) for _, name in places]
    items.append(exp.alias_(_by_place(named), field.this.name, quoted=True))
    for i, name in enumerate(made):
        values = [relation.bound(columns[i]) for columns, _ in places]
        items.append(exp.alias_(_by_place(values), name, quoted=True))
    numbers: list[exp.Expr] = [exp.Literal.number(i) for i in range(len(places))]
    text = relation.text.copy()
    select = _select(items, text)
    generator = exp.Explode(this=exp.Array(expressions=numbers))
    alias = exp.TableAlias(this=exp.to_identifier(_PLACES), columns=[exp.to_identifier(_PLACE)])
    select.set("laterals", [exp.Lateral(this=generator, view=True, alias=alias)])
    if pivot.args.get("include_nulls"):
        return select
    inner = exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(_UNPIVOTED)))
    names = [s.alias_or_name for s in select.selects]
    _refuse_repeated([n.lower() for n in names])
    outer = _select([exp.alias_(_of(_UNPIVOTED, n), n, quoted=True) for n in names], inner)
    there = [exp.Not(this=exp.Is(this=_of(_UNPIVOTED, n), expression=exp.null())) for n in made]
    outer.set("where", exp.Where(this=exp.or_(*there)))
    return outer


def _of(table: str, name: str) -> exp.Column:
    return exp.column(name, table=table, quoted=True)


def _place(node: exp.Expr) -> tuple[list[exp.Column], str]:
    """The columns at one place of IN, and its name: the alias, or theirs as they are written."""
    value = node.this if isinstance(node, exp.PivotAlias) else node
    columns = _tuple(value)
    if not all(isinstance(c, exp.Column) for c in columns):
        raise _refuse("UNPIVOT of something other than columns")
    found = [c for c in columns if isinstance(c, exp.Column)]
    if isinstance(node, exp.PivotAlias):
        if not isinstance(node.args["alias"], exp.Identifier):
            raise _refuse("UNPIVOT with an alias that is not a name")
        return found, node.args["alias"].name
    return found, "_".join(c.name for c in found)


def _by_place(values: Sequence[exp.Expr]) -> exp.Expr:
    """One of the values, by the number that is generated for each place."""
    return exp.Case(
        ifs=[
            exp.If(this=exp.EQ(this=_of(_PLACES, _PLACE), expression=exp.Literal.number(i)), true=v)
            for i, v in enumerate(values)
        ]
    )
