"""Where the values of a relation's column come from."""

from __future__ import annotations

from dt_jupyter.ivm.rel import (
    Aggregate,
    Generate,
    Match,
    MatchKind,
    Project,
    Rel,
    Rows,
    Scan,
    Union,
    Window,
)

Origin = tuple[Scan, str]
"""A scan and the name of one of its columns in the source."""


def origins(rel: Rel, column: str) -> tuple[Origin, ...] | None:
    """The columns of sources that hold every value of a relation's column, but the NULLs of an
    outer join; None where some are computed, or it has no such column."""
    if column not in rel.columns:
        return None
    match rel:
        case Scan():
            name = next((n for i, n in rel.reads if i == column), None)
            return ((rel, name),) if name is not None else None
        case Project():
            below = next((e.column for i, e in rel.items if i == column), None)
            return origins(rel.input, below) if below is not None else None
        case Union():
            at = rel.ids.index(column)
            parts = [origins(m, m.columns[at]) for m in rel.members]
            return None if None in parts else tuple(o for p in parts for o in p or ())
    found = next((i for i in rel.inputs if column in i.columns), None)
    return origins(found, column) if found is not None else None


def flows(rel: Rel) -> dict[str, frozenset[tuple[str, str]]]:
    """For each column of a relation the columns (source, name) that its values are computed from.
    What only decides which rows there are (a filter, a join's condition) is no part of it."""
    below = {c: f for i in rel.inputs for c, f in flows(i).items()}

    def of(columns: frozenset[str]) -> frozenset[tuple[str, str]]:
        return frozenset[tuple[str, str]]().union(*(below.get(c, frozenset()) for c in columns))

    match rel:
        case Scan():
            return {i: frozenset({(rel.source, name)}) for i, name in rel.reads}
        case Rows():
            return dict.fromkeys(rel.ids, frozenset())
        case Project():
            return {i: of(e.columns) for i, e in rel.items}
        case Union():
            return {
                made: of(frozenset(m.columns[at] for m in rel.members))
                for at, made in enumerate(rel.ids)
            }
        case Generate():
            return below | dict.fromkeys(rel.ids, of(rel.generator.columns))
        case Window():
            parts = frozenset(rel.partition)
            return below | {c.id: of(c.reads | parts) for c in rel.calls}
        case Aggregate():
            calls = {
                i: of(c.text.columns.union(*(a.columns for a in c.args))) for i, c in rel.calls
            }
            return {k: below[k] for k in rel.keys} | calls
        case Match() if rel.kind is not MatchKind.LEFT:
            return {c: below[c] for c in rel.columns}
    return below
