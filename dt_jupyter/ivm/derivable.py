"""Which of a query's rows follow from those of another one, as its table keeps them.

Two queries over the same relation differ by what is above it: projections and filters, and for
groups also which aggregates are shown. From the rows of the one, with the keys and partial results
that are stored with them, the rows of the other follow where every column and every condition of
it is among them. What is not clearly so is not derivable: it is recomputed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.ivm.equivalent import paired
from dt_jupyter.ivm.expr import Expr, col
from dt_jupyter.ivm.rel import Aggregate, AggregateCall, Filter, Project, Rel
from dt_jupyter.ivm.stage_groups import Group, StageColumn
from dt_jupyter.ivm.stages import Bag, Stage


@dataclass(frozen=True)
class Derivation:
    """How the rows of a stage follow from an older one's table.

    Of a bag, `columns` are the new public ones over the old public ones. Of groups they are the
    new stage's keys, aggregates that are not kept from state, and state, by id, each a column of
    the old table (a key's, a state, or a public one). `where` are conditions over the same.
    """

    columns: tuple[tuple[str, Expr], ...]
    where: tuple[Expr, ...] = ()


@dataclass(frozen=True)
class _Peeled:
    """A relation as projections and filters above a core, all over the columns of the core."""

    core: Rel
    columns: Mapping[str, Expr]
    conditions: tuple[Expr, ...]

    def renamed(self, ids: Mapping[str, str]) -> _Peeled:
        columns = {i: e.renamed(ids) for i, e in self.columns.items()}
        return _Peeled(self.core, columns, tuple(e.renamed(ids) for e in self.conditions))


class Underivable(Exception):
    """Why the rows do not follow, as the end of a sentence."""


@dataclass(frozen=True)
class KeyColumns:
    """The columns of the keys in the table of groups: their names, and which of them are equal
    only where they are the same (as 0.0 and −0.0 are not)."""

    names: tuple[str, ...] = ()
    exact: frozenset[str] = frozenset()


def derivation(
    old: Rel, new: Rel, old_stage: Stage, new_stage: Stage, keys: KeyColumns
) -> Derivation:
    """The derivation of a query's public stage from another's, of the same kind. Underivable."""
    if isinstance(old_stage.top, Bag) and isinstance(new_stage.top, Bag):
        return _bag(_peeled(old), _peeled(new), old_stage, new_stage)
    if isinstance(old_stage.top, Group) and isinstance(new_stage.top, Group):
        return _Groups(old_stage, old_stage.top, new_stage, new_stage.top, keys).derived(old, new)
    raise Underivable("one of the two queries groups its rows, and the other does not")


# -- bags ------------------------------------------------------------------------------------------


def _bag(old: _Peeled, new: _Peeled, old_stage: Stage, new_stage: Stage) -> Derivation:
    new = _over_the_same(old, new)
    shown = {e: n for e, (n, _) in zip(old.columns.values(), old_stage.outputs, strict=True)}
    added = _added(old.conditions, new.conditions)
    outputs = zip(new_stage.outputs, new.columns.values(), strict=True)
    columns = tuple((n, _over(e, shown, f"column {n}")) for (n, _), e in outputs)
    return Derivation(columns, tuple(_over(e, shown, "a condition") for e in added))


def _over(e: Expr, known: Mapping[Expr, str], what: str) -> Expr:
    """An expression over columns of the old table, which has these expressions; Underivable."""
    if e in known:
        return col(known[e])
    names = {c: known.get(col(c)) for c in e.columns}
    if None in names.values():
        raise Underivable(f"{what} needs what the rows do not show")
    return e.renamed({c: n for c, n in names.items() if n is not None})


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Groups:
    """Both stages keep groups; what is above the aggregates is computed from them again."""

    old_stage: Stage
    old_top: Group
    new_stage: Stage
    new_top: Group
    columns: KeyColumns

    def derived(self, old: Rel, new: Rel) -> Derivation:
        before, after = _peeled(old).core, _peeled(new).core
        if not isinstance(before, Aggregate) or not isinstance(after, Aggregate):
            raise Underivable("an aggregate is not on top")
        if before.keys != self.old_top.keys or after.keys != self.new_top.keys:
            raise Underivable("the keys are not those of the query")
        below = _peeled(before.input)
        above = _over_the_same(below, _peeled(after.input))
        keys = self._keys(below, above)
        calls = {i: _inlined(c, below.columns) for i, c in before.calls}
        columns = list(keys.items())
        new_calls = dict(after.calls)
        for aggregate in self.new_top.aggregates:
            wanted = _inlined(new_calls[aggregate.id], above.columns)
            columns += self._aggregate(aggregate, wanted, calls)
        names = zip(before.keys, self.columns.names, strict=True)
        shown = {below.columns[k]: n for k, n in names if n in self.columns.exact}
        added = _added(below.conditions, above.conditions)
        if added and not before.keys:
            raise Underivable("a condition on the rows of an aggregate without groups was added")
        where = tuple(_over(e, shown, "a condition on grouped rows") for e in added)
        return Derivation(tuple((i, col(c)) for i, c in columns), where)

    def _keys(self, below: _Peeled, above: _Peeled) -> dict[str, str]:
        old = [below.columns[k] for k in self.old_top.keys]
        new = [above.columns[k] for k in self.new_top.keys]
        if set(old) != set(new) or not len(set(old)) == len(old) == len(new):
            raise Underivable("it groups by other columns")
        places = (old.index(e) for e in new)
        return {k: self.columns.names[i] for k, i in zip(self.new_top.keys, places, strict=True)}

    def _aggregate(
        self, new: StageColumn, wanted: AggregateCall, calls: Mapping[str, AggregateCall]
    ) -> list[tuple[str, str]]:
        """The columns of the old table that hold an aggregate, or its state."""
        if new.kept is not None and not new.kept.state:
            return []  # of the group's number of rows, which every table of groups has
        for old in self.old_top.aggregates:
            if calls[old.id] == wanted and old.type == new.type:
                pairs = self._columns_of(old, new)
                if pairs is not None:
                    return pairs
        raise Underivable(f"{wanted.function}() of it is not kept")

    def _columns_of(self, old: StageColumn, new: StageColumn) -> list[tuple[str, str]] | None:
        if old.kept is None and new.kept is None:
            return self._own_value(old, new)
        if old.kept is None or new.kept is None:
            return None
        kinds = [[(s.type, s.kind) for s in k.kept.state] for k in (old, new) if k.kept]
        if kinds[0] != kinds[1]:
            return None
        own = self._own_value(old, new) if new.kept.outside else []
        pairs = zip(new.kept.state, old.kept.state, strict=True)
        return None if own is None else [*own, *((n.id, o.id) for n, o in pairs)]

    def _own_value(self, old: StageColumn, new: StageColumn) -> list[tuple[str, str]] | None:
        """The value that is not in the state, from the column that shows it."""
        shown = (n for n, e in self.old_stage.outputs if e.column == old.id)
        name = next(shown, None)
        return None if name is None else [(new.own, name)]


def _inlined(call: AggregateCall, columns: Mapping[str, Expr]) -> AggregateCall:
    """A call over the columns of the core; the text of its arguments is all that it reads."""
    args = tuple(a.replaced(columns) for a in call.args)
    return AggregateCall(call.function, args, call.text.replaced(columns), call.distinct)


# -- both ------------------------------------------------------------------------------------------


def _peeled(rel: Rel) -> _Peeled:
    above: list[Project | Filter] = []
    while isinstance(rel, Project | Filter):
        above.append(rel)
        rel = rel.input
    columns, conditions = {c: col(c) for c in rel.columns}, list[Expr]()
    for node in reversed(above):
        if isinstance(node, Filter):
            conditions += [p.replaced(columns) for p in node.on]
        else:
            columns = {i: e.replaced(columns) for i, e in node.items}
    return _Peeled(rel, columns, tuple(conditions))


def _over_the_same(old: _Peeled, new: _Peeled) -> _Peeled:
    """The new one over the columns of the old one's core, which is also its own; Underivable."""
    ids = paired(old.core, new.core)
    if ids is None:
        raise Underivable("it reads other rows")
    return new.renamed(ids)


def _added(old: tuple[Expr, ...], new: tuple[Expr, ...]) -> tuple[Expr, ...]:
    """The conditions that are new, where all that were there still are; Underivable."""
    if not set(old) <= set(new):
        raise Underivable("a condition is gone")
    return tuple(e for e in dict.fromkeys(new) if e not in set(old))


__all__ = ["Derivation", "KeyColumns", "Underivable", "derivation"]
