"""The statements that keep a stage's backing table: initial contents, change, merge, rescan.

`explain` prints exactly these queries and a refresh runs exactly these queries. A stage's table has
the public columns and hidden ones:
  group: `__dt_k<i>` keys, `__dt_n` row count, `__dt_<aggregate>_…` partial results, `__dt_visible`
  bag:   `__dt_h1`, `__dt_h2` content hash; `__dt_seq`, `__dt_pos` row id (newest copy is largest)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

from dt_jupyter.ivm import (
    Aggregate,
    AggregateCall,
    Bracketed,
    Call,
    Case,
    Cast,
    End,
    Expr,
    Group,
    Infix,
    Kept,
    Kind,
    Literal,
    Postfix,
    Prefix,
    Project,
    Rel,
    Stage,
    StageColumn,
    StateColumn,
    at,
    case,
    col,
    equality,
    initial,
    removed,
    restrict,
    weighted,
)
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import (
    COUNT,
    EXISTED,
    GROUP_KEY,
    OP,
    RESCAN,
    VISIBLE,
    WEIGHT,
    hidden,
)
from dt_jupyter.sql.emit.bag_sql import BagSql
from dt_jupyter.sql.emit.query import (
    AllColumns,
    Joined,
    Nested,
    Query,
    SelectItem,
    Table,
    hidden_column,
    hidden_item,
    in_order,
    named_item,
    quoted_column,
    tall_select,
)
from dt_jupyter.sql.emit.render import Renderer

_SAME = hidden("same")
_ROWS = Call("COUNT", (Literal("*"),))
_WEIGHED = Call("COALESCE", (Call("SUM", (col(WEIGHT),)), Literal("0")))


_NOTHING, _TRUE, _NO_ROW = Literal("0"), Literal("TRUE"), Literal("NULL")


def _some(conditions: Sequence[Expr]) -> Expr:
    """Whether one of them holds."""
    return reduce(lambda a, b: Infix(a, "OR", b), conditions) if conditions else Literal("FALSE")


def _all(conditions: Sequence[Expr]) -> Expr:
    return in_order(tuple(conditions)) or _TRUE


@dataclass(frozen=True)
class GroupSql:
    """The statements of a stage with an aggregate on top."""

    stage: Stage
    top: Group

    @property
    def keys(self) -> tuple[str, ...]:
        """The key columns of the backing table; one row without a key has a constant."""
        return tuple(f"{GROUP_KEY}{i}" for i in range(max(1, len(self.top.keys))))

    @property
    def scalar(self) -> bool:
        """Whether there is one row, always."""
        return not self.top.keys

    @property
    def _key_values(self) -> tuple[Expr, ...]:
        return tuple(map(col, self.top.keys)) or (Cast(_NOTHING, "INT"),)

    def _groups(self, rows: Rel, calls: Iterable[tuple[str, Expr]]) -> Aggregate:
        """One row for each group of the rows, with these aggregates by their ids."""
        made = tuple((i, AggregateCall("", (), text)) for i, text in calls)
        return Aggregate(rows, self.top.keys, made)

    @property
    def states(self) -> tuple[StateColumn, ...]:
        return tuple(s for a in self.top.aggregates if a.kept for s in a.kept.state)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the backing table, in order."""
        hidden = (*self.keys, COUNT, *(s.id for s in self.states))
        visible = (VISIBLE,) if self.top.visible else ()
        return (*hidden, *(n for n, _ in self.stage.outputs), *visible)

    @property
    def state_columns(self) -> tuple[str, ...]:
        """What a merge reads of the table."""
        return (*self.keys, COUNT, *(s.id for s in self.states), *(n for n, _ in self.once))

    @property
    def once(self) -> tuple[tuple[str, StageColumn], ...]:
        """The output columns with the values of functions; a stage of ours has them as they are."""
        names = {e.column: n for n, e in self.stage.outputs if e.column}
        return tuple((names[a.id], a) for a in self.top.once)

    @staticmethod
    def _arguments(a: StageColumn) -> tuple[str, ...]:
        """The columns of a change with the arguments of a function."""
        return tuple(f"{a.id}_{i}" for i in range(len(a.call.args)))

    def computed(self, new: str) -> Query:
        """The rows of new groups, of a relation as `merged` gives it, with their values: the only
        statement of a change that calls a function."""
        values = {}
        for name, a in self.once:
            arguments = tuple(map(col, self._arguments(a))) if a.call.text.children else ()
            values[name] = a.call.text.with_children(arguments)
        items = [
            named_item(values[c], c) if c in values else SelectItem(col(c)) for c in self.columns
        ]
        return tall_select([*items, SelectItem(hidden_column(OP))], Table(new))

    def shown(self, sequence: int) -> dict[str, str] | None:
        """The columns of the table that the query's own rows tell, over its outputs; None where
        a key is not among them."""
        outputs = {e.column: quote(n) for n, e in self.stage.outputs if e.column}
        if any(k not in outputs for k in self.top.keys):
            return None
        scalar = tuple(e.sql(quote) for e in self._key_values)
        named = scalar if self.scalar else tuple(outputs[k] for k in self.top.keys)
        found = dict(zip(self.keys, named, strict=True))
        found |= {n: quote(n) for n, _ in self.stage.outputs}
        return found | ({VISIBLE: "TRUE"} if self.top.visible else {})

    def initial(self, render: Renderer) -> Query:
        """All rows, from the sources at the new end."""
        return self._finished(render.query(self.whole(self.stage.input)), ())

    def counted(self, render: Renderer) -> Query:
        """Each group with the number of its rows, from the sources at the new end."""
        groups = self._groups(at(self.stage.input, End.NEW), [(COUNT, _ROWS)])
        keys = tuple((c, col(k)) for k, c in zip(self.top.keys, self.keys, strict=True))
        return render.query(Project(groups, (*keys, (COUNT, col(COUNT)))))

    def derived(self, rows: Query) -> Query:
        """All rows, from those of another table that has its keys, aggregates and state by id."""
        return self._finished(rows, ())

    def whole(self, rows: Rel) -> Rel:
        """Each group of the rows at the new end with its state."""
        calls = [(COUNT, _ROWS), *((s.id, _zero(s, initial(s))) for s in self.states)]
        calls += [
            (a.own or a.id, a.call.text) for a in self.top.aggregates if a.own or a in self.top.once
        ]
        return self._groups(at(rows, End.NEW), calls)

    def _finished(
        self, grouped: Query, extra: Iterable[SelectItem], alive: Expr | None = None
    ) -> Query:
        """From keys, count and state to the columns of the table (and `extra` ones kept).

        Where `alive` does not hold, nothing is computed above the aggregates: `x / count(*)` of
        a group that is gone is no error of the user's.
        """

        def output(e: Expr) -> Expr:
            return case(alive, e) if alive is not None and e.column is None else e

        values = (
            named_item(_value(a, a.kept), a.id)
            for a in self.top.aggregates
            if a.kept and a not in self.top.once
        )
        inner = tall_select([AllColumns(), *values], Nested(grouped))
        items = [hidden_item(k, c) for k, c in zip(self._key_values, self.keys, strict=True)]
        items += [SelectItem(hidden_column(COUNT)), *(SelectItem(col(s.id)) for s in self.states)]
        items += [named_item(output(e), n) for n, e in self.stage.outputs]
        if self.top.visible:
            shown = Call("COALESCE", (output(self.top.visible), Literal("FALSE")))
            items.append(hidden_item(shown, VISIBLE))
        return tall_select([*items, *extra], Nested(inner))

    def touched(self, render: Renderer, delta: Rel) -> Query:
        """One row for each group that the change touches, with the change of its state."""
        calls = [(COUNT, _WEIGHED), *((s.id, _zero(s, weighted(s))) for s in self.states)]
        calls += [(f"{s.id}_gone", removed(s)) for s in self.states if s.kind is not Kind.SUM]
        calls += [
            (c, Call("ANY_VALUE", (x,)))
            for _, a in self.once
            for x, c in zip(a.call.args, self._arguments(a), strict=True)
        ]
        return render.query(self._groups(delta, calls))

    def merged(self, touched: Query, state: str, *, hint: str = "") -> Query:
        """The touched groups' new rows: old state and change in one, with what is to be done.

        `__dt_op` is I, U or D (NULL: nothing), `__dt_rescan` that the sources must be asked;
        `hint` is for the join of both.
        """
        count, rescan = _merged_count(), _TRUE if self.top.recomputes else _some(self._reasons)
        same = _all([equality(_new(COUNT), _NOTHING), *map(_stays, self.states)])
        there = _TRUE if self.scalar else Infix(count, ">", _NOTHING)
        again = Infix(Bracketed(rescan), "AND", there)
        items = [SelectItem(quoted_column(k, "t")) for k in self.top.keys]
        items.append(hidden_item(Postfix(_old(COUNT), "IS NOT NULL"), EXISTED))
        items.append(hidden_item(count, COUNT))
        items += [named_item(_merge(s), s.id) for s in self.states]
        items += [named_item(quoted_column(n, "o"), a.id) for n, a in self.once]
        items += [SelectItem(quoted_column(c, "t")) for c in self._all_arguments]
        items.append(hidden_item(again, RESCAN))
        items.append(hidden_item(Infix(Prefix("NOT", Bracketed(rescan)), "AND", same), _SAME))
        on = [
            Infix(quoted_column(k, "t"), "<=>", _old(c))
            for k, c in zip(self.top.keys, self.keys, strict=False)
        ]
        both = Joined(Nested(touched, "t"), Table(state, "o"), "LEFT JOIN", _all(on))
        joined = tall_select(items, both, hint=f"{hint}(t)" if hint else "")
        kept = map(hidden_column, (RESCAN, EXISTED))
        extra = [hidden_item(self._operation(), OP), *map(SelectItem, kept)]
        extra += [SelectItem(col(c)) for c in self._all_arguments]
        return self._finished(self._with_placeholders(joined), extra, self._alive)

    @property
    def _all_arguments(self) -> tuple[str, ...]:
        return tuple(c for _, a in self.once for c in self._arguments(a))

    @property
    def _alive(self) -> Expr:
        """Whether a merged group has values."""
        known = Prefix("NOT", hidden_column(RESCAN))
        if self.scalar:
            return known
        return Infix(Infix(hidden_column(COUNT), ">", _NOTHING), "AND", known)

    def _operation(self) -> Expr:
        """What is done with a merged group: I, U, D, nothing, or X: it has fewer than no rows."""
        count, existed = hidden_column(COUNT), hidden_column(EXISTED)
        branches: list[tuple[Expr, Expr]] = [(Infix(count, "<", _NOTHING), Literal("'X'"))]
        if not self.scalar:
            none = equality(count, _NOTHING)
            branches += [(Infix(none, "AND", existed), Literal("'D'")), (none, _NO_ROW)]
        branches += [(hidden_column(_SAME), _NO_ROW), (existed, Literal("'U'"))]
        return Case(None, tuple(branches), Literal("'I'"))

    @property
    def _reasons(self) -> list[Expr]:
        """What makes it necessary to ask the sources for a group."""
        outside = {a.kept.outside for a in self.top.aggregates if a.kept}
        reached = [_reached(s) for s in self.states if s.kind is not Kind.SUM]
        some = [Infix(_merge(s), "<>", _NOTHING) for s in self.states if s.id in outside]
        return [*reached, *some]

    def _with_placeholders(self, joined: Query) -> Query:
        """Aggregates that are recomputed have no value yet; the rescan gives it."""
        missing = [a for a in self.top.aggregates if a.own]
        if not missing:
            return joined
        nulls = (named_item(Cast(_NO_ROW, a.type), a.own) for a in missing)
        return tall_select([AllColumns(), *nulls], Nested(joined))

    def rescan(
        self, render: Renderer, keys: str, read: Callable[[Rel], Rel] = lambda rel: rel
    ) -> Query:
        """The rows of some groups, computed again from the sources; `keys` is a relation of
        key columns and `__dt_existed`, and `read` has a say in how what they select is read."""
        pairs = tuple(zip(self.top.keys, self.keys, strict=False))
        some = restrict(self.stage.input, keys, pairs) if pairs else self.stage.input
        fresh = self._finished(render.query(self.whole(read(some))), ())
        on = [Infix(hidden_column(c, "k"), "<=>", hidden_column(c, "f")) for c in self.keys]
        there, existed = hidden_column(COUNT, "f"), hidden_column(EXISTED, "k")
        found = Postfix(there, "IS NOT NULL")
        op = Case(
            None,
            (
                (Infix(found, "AND", existed), Literal("'U'")),
                (found, Literal("'I'")),
                (existed, Literal("'D'")),
            ),
        )
        items = [SelectItem(hidden_column(c, "k")) for c in self.keys]
        items += [SelectItem(quoted_column(c, "f")) for c in self.columns if c not in self.keys]
        both = Joined(Table(render.keys(keys), "k"), Nested(fresh, "f"), "LEFT JOIN", _all(on))
        return tall_select([*items, hidden_item(op, OP)], both)


def _value(a: StageColumn, kept: Kept) -> Expr:
    """An aggregate's value from its state, or the query's own where that has not all."""
    if not kept.outside:
        return kept.result
    return case(equality(col(kept.outside), _NOTHING), kept.result, col(a.own))


def _zero(state: StateColumn, value: Expr) -> Expr:
    """A sum over no values is zero here; an extreme stays NULL."""
    if state.kind is not Kind.SUM:
        return value
    return Cast(Call("COALESCE", (value, _NOTHING)), state.type)


def _old(column: str) -> Expr:
    """A hidden column of the state that a change is merged into."""
    return hidden_column(column, "o")


def _new(column: str) -> Expr:
    """A hidden column of the groups that a change touches."""
    return hidden_column(column, "t")


def _merged_count() -> Expr:
    return Infix(Call("COALESCE", (_old(COUNT), _NOTHING)), "+", _new(COUNT))


def _merge(state: StateColumn) -> Expr:
    old, new = quoted_column(state.id, "o"), quoted_column(state.id, "t")
    if state.kind is Kind.SUM:
        before = Call("COALESCE", (old, Cast(_NOTHING, state.type)))
        return Cast(Infix(before, "+", new), state.type)
    return Call("LEAST" if state.kind is Kind.MIN else "GREATEST", (old, new))


def _stays(state: StateColumn) -> Expr:
    """Whether the change leaves a state as it is: a sum of exact numbers by the change alone."""
    old, new = quoted_column(state.id, "o"), quoted_column(state.id, "t")
    if state.kind is Kind.SUM and state.type.lower().startswith(("bigint", "decimal")):
        return Infix(equality(new, _NOTHING), "AND", Postfix(old, "IS NOT NULL"))
    return Infix(_merge(state), "IS NOT DISTINCT FROM", old)


def _reached(state: StateColumn) -> Expr:
    """Whether a deleted row may have been the extreme."""
    gone = quoted_column(f"{state.id}_gone", "t")
    compare = "<=" if state.kind is Kind.MIN else ">="
    return Call("COALESCE", (Infix(gone, compare, _merge(state)), Literal("FALSE")))


def stage_sql(
    stage: Stage, types: tuple[str, ...], added: tuple[str, ...] = ()
) -> GroupSql | BagSql:
    """The statements of a stage whose outputs have these Spark types; `added` as of `BagSql`."""
    if isinstance(stage.top, Group):
        return GroupSql(stage, stage.top)
    return BagSql(stage, types, added)
