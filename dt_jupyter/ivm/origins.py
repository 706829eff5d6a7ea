"""Where the values of a relation's column come from."""

from __future__ import annotations

from dt_jupyter.ivm.rel import Project, Rel, Scan, Union

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
