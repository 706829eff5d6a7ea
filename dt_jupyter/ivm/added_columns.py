"""What a query means where some columns of its sources are NULL in every row, as those are that
were added to a table after its rows were written.

Rows that a table has follow from the ones before where such columns only pass through: what
computes, compares, groups or orders by one gives other rows, or may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from dt_jupyter.ivm.derivable import Underivable
from dt_jupyter.ivm.equivalent import paired
from dt_jupyter.ivm.expr import NULL, Cast, col
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.rel import (
    Aggregate,
    End,
    Filter,
    Generate,
    Join,
    Match,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
    own_reads,
    rewrite,
)

AddedColumns = Mapping[str, frozenset[str]]
"""The columns that sources have got, in lower case, by the source's id."""


@dataclass(frozen=True)
class NamedColumns:
    """A query's relation and the names of its columns, in order."""

    rel: Rel
    names: tuple[str, ...]


def find_null_outputs(old: NamedColumns, new: NamedColumns, added: AddedColumns) -> tuple[str, ...]:
    """The columns of `new` that `old` has not, each NULL in every row, where its rows are else
    those of `old`, over sources that got the columns `added` and no rows. Underivable."""
    rest, nulls = _without(new.rel, added)
    ids = paired(old.rel, rest)
    if ids is None:
        raise Underivable("what they are computed of is not the same")
    known = dict(zip(old.rel.columns, old.names, strict=True))
    pairs = list(zip(new.rel.columns, new.names, strict=True))
    if any(known[ids[c]] != name for c, name in pairs if c not in nulls):
        raise Underivable("a column has another name")
    return tuple(name for c, name in pairs if c in nulls)


def null_before(rel: Rel, added: Mapping[str, Mapping[str, str]]) -> Rel:
    """The relation with the columns that its sources do not have at the old end read as NULLs;
    `added` gives their types by source and name."""
    known: dict[int, Rel] = {}

    def rule(node: Rel) -> Rel:
        if isinstance(node, Restrict) and isinstance(node.keys, Rel):
            if id(node.keys) not in known:
                known[id(node.keys)] = rewrite(node.keys, rule)
            return replace(node, keys=known[id(node.keys)])
        if not isinstance(node, Scan) or node.end is not End.OLD:
            return node
        types = added.get(node.source, {})
        return _null_scan(node, types) if any(n in types for _, n in node.reads) else node

    return rewrite(rel, rule) if any(added.values()) else rel


def _null_scan(scan: Scan, types: Mapping[str, str]) -> Rel:
    stored = replace(scan, reads=tuple((i, n) for i, n in scan.reads if n not in types))
    items = tuple(
        (i, Cast(NULL, types[n]).typed(types[n]) if n in types else col(i)) for i, n in scan.reads
    )
    return Project(stored, items)


# -- without the columns ---------------------------------------------------------------------------

_Rest = tuple[Rel, frozenset[str]]
"""A relation without the columns that are NULL in every row, and the ids of those."""


def _without(rel: Rel, added: AddedColumns) -> _Rest:
    return _WITHOUT[type(rel)](rel, added)


def _require_unread(rel: Rel, nulls: frozenset[str]) -> None:
    """Rows that tie are put in the order of all columns, which one of NULLs leaves as it is."""
    if own_reads(rel) & nulls:
        raise Underivable("the query computes, compares or orders by a column that was added")


def _scan(rel: Rel, added: AddedColumns) -> _Rest:
    assert isinstance(rel, Scan)
    new = added.get(rel.source, frozenset())
    reads = tuple((i, n) for i, n in rel.reads if n.lower() not in new)
    nulls = frozenset(i for i, n in rel.reads if n.lower() in new)
    casts = tuple((n, t) for n, t in rel.casts if n.lower() not in new)
    return replace(rel, reads=reads, casts=casts), nulls


def _as_it_is(rel: Rel, added: AddedColumns) -> _Rest:
    return rel, frozenset()


def _project(rel: Rel, added: AddedColumns) -> _Rest:
    assert isinstance(rel, Project)
    below, nulls = _without(rel.input, added)
    gone = frozenset(i for i, e in rel.items if e.column in nulls)
    rest = Project(below, tuple((i, e) for i, e in rel.items if i not in gone))
    _require_unread(rest, nulls)
    return rest, gone


def _passing(rel: Rel, added: AddedColumns) -> _Rest:
    """Of an operator that passes on the columns of its one input."""
    below, nulls = _without(rel.inputs[0], added)
    _require_unread(rel, nulls)
    return rel.with_inputs((below,)), nulls


def _aggregate(rel: Rel, added: AddedColumns) -> _Rest:
    rest, _ = _passing(rel, added)
    return rest, frozenset()


def _join(rel: Rel, added: AddedColumns) -> _Rest:
    assert isinstance(rel, Join)
    members = [_without(m, added) for m in rel.members]
    nulls = frozenset[str]().union(*(n for _, n in members))
    _require_unread(rel, nulls)
    return replace(rel, members=tuple(m for m, _ in members)), nulls


def _match(rel: Rel, added: AddedColumns) -> _Rest:
    assert isinstance(rel, Match)
    (left, of_left), (right, of_right) = (_without(i, added) for i in rel.inputs)
    nulls = of_left | of_right
    _require_unread(rel, nulls)
    return replace(rel, left=left, right=right), nulls & set(rel.columns)


def _union(rel: Rel, added: AddedColumns) -> _Rest:
    """A column is NULL where that of every member is."""
    assert isinstance(rel, Union)
    rest = [_without(m, added) for m in rel.members]
    by_place = [[c in n for c in m.columns] for m, (_, n) in zip(rel.members, rest, strict=True)]
    places = list(zip(*by_place, strict=True))
    if any(any(p) and not all(p) for p in places):
        raise Underivable("a set operation combines a column that was added with one that was not")
    ids = tuple(i for i, p in zip(rel.ids, places, strict=True) if not any(p))
    return Union(tuple(m for m, _ in rest), ids), frozenset(rel.ids) - frozenset(ids)


_WITHOUT = PerOperator[Callable[[Rel, AddedColumns], _Rest]](
    "added columns",
    dict.fromkeys((Filter, Generate, Window, Top, Restrict), _passing)
    | {
        Scan: _scan,
        Rows: _as_it_is,
        Project: _project,
        Join: _join,
        Match: _match,
        Union: _union,
        Aggregate: _aggregate,
    },
)
