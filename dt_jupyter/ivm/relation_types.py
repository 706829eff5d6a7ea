"""The types of the columns of any relation, by those of its sources: no engine is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dt_jupyter.ivm.expression_types import ColumnType, Untyped, type_expression, widest
from dt_jupyter.ivm.operators import PerOperator
from dt_jupyter.ivm.rel import (
    Aggregate,
    Filter,
    Generate,
    Join,
    Match,
    MatchKind,
    Project,
    Rel,
    Restrict,
    Rows,
    Scan,
    Top,
    Union,
    Window,
)
from dt_jupyter.ivm.required_columns import required_columns
from dt_jupyter.model.hidden import WEIGHT

Schema = dict[str, ColumnType]
"""The types of columns, by id."""
SchemaOf = Callable[[str], Mapping[str, ColumnType]]
"""The columns of a source by their names, by its id."""


class RelationTypes:
    """Types relations over sources with the columns that `sources` gives; each node once."""

    def __init__(self, sources: SchemaOf) -> None:
        self._sources = sources
        self._known: dict[int, tuple[Rel, Schema]] = {}

    def of(self, rel: Rel) -> Schema:
        """The types of a relation's columns, in order; Untyped where a rule is missing."""
        waiting = [rel]
        while waiting:  # no recursion: relations are deep
            node = waiting[-1]
            below = [i for i in node.inputs if id(i) not in self._known]
            waiting += below
            if not below:
                waiting.pop()
                if id(node) not in self._known:
                    self._known[id(node)] = node, _TYPES[type(node)](self, node)
        return self._known[id(rel)][1]

    def never_null(self, rel: Rel) -> frozenset[str]:
        """The columns of a relation that are known to hold no NULL."""
        try:
            return frozenset(c for c, t in self.of(rel).items() if not t.nullable)
        except Untyped:
            return frozenset()

    def below(self, rel: Rel) -> Schema:
        """The columns of all inputs."""
        return {c: t for i in rel.inputs for c, t in self.of(i).items()}

    def scan(self, rel: Scan) -> Schema:
        columns, casts = self._sources(rel.source), dict(rel.casts)
        found = {
            i: ColumnType(casts[n], columns[n].nullable) if n in casts else columns[n]
            for i, n in rel.reads
        }
        weight = {WEIGHT: ColumnType("bigint", nullable=False)}
        return found | weight if WEIGHT in rel.columns else found


def _project(types: RelationTypes, rel: Project) -> Schema:
    known = types.below(rel)
    return {i: type_expression(e, known) for i, e in rel.items}


def _generate(types: RelationTypes, rel: Generate) -> Schema:
    return types.below(rel) | _declared(rel)


def _required(schema: Schema, columns: frozenset[str]) -> Schema:
    """The columns, those that are required without NULLs."""
    sure = ((c, ColumnType(t.type, t.nullable and c not in columns)) for c, t in schema.items())
    return dict(sure)


def _filter(types: RelationTypes, rel: Filter | Join) -> Schema:
    return _required(types.below(rel), required_columns(rel.on))


def _match(types: RelationTypes, rel: Match) -> Schema:
    left, right = map(types.of, rel.inputs)
    if rel.kind is MatchKind.SEMI:
        return _required(left, required_columns(rel.on).union(a for a, _ in rel.pairs))
    if rel.kind is MatchKind.ANTI:
        return left
    return left | {c: ColumnType(t.type) for c, t in right.items()}


def _union(types: RelationTypes, rel: Union) -> Schema:
    rows = [tuple(types.of(m).values()) for m in rel.members]
    return {
        i: ColumnType(widest(c.type for c in cells), any(c.nullable for c in cells))
        for i, cells in zip(rel.ids, zip(*rows, strict=True), strict=True)
    }


def _aggregate(types: RelationTypes, rel: Aggregate) -> Schema:
    known = types.below(rel)
    keys = {k: known[k] for k in rel.keys}
    return keys | {i: type_expression(c.text, known) for i, c in rel.calls}


def _window(types: RelationTypes, rel: Window) -> Schema:
    known = types.below(rel)
    return known | {c.id: type_expression(c.function, known) for c in rel.calls}


def _rows(types: RelationTypes, rel: Rows) -> Schema:
    return _declared(rel)


def _declared(rel: Rows | Generate) -> Schema:
    if len(rel.types) != len(rel.ids):
        raise Untyped(f"the columns {', '.join(rel.ids)}")
    return {i: ColumnType(t) for i, t in zip(rel.ids, rel.types, strict=True)}


_TYPES = PerOperator[Callable[[RelationTypes, Any], Schema]](
    "types of columns",
    dict.fromkeys((Filter, Join), _filter)
    | dict.fromkeys((Top, Restrict), RelationTypes.below)
    | {
        Scan: RelationTypes.scan,
        Rows: _rows,
        Project: _project,
        Match: _match,
        Union: _union,
        Generate: _generate,
        Window: _window,
        Aggregate: _aggregate,
    },
)
