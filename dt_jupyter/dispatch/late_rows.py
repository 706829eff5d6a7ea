"""Why a table is late, and what helps, as a page hears it."""

from __future__ import annotations

from dt_jupyter.model import LateCause
from dt_jupyter.wire import LateRow, RemedyRow


def late_row(cause: LateCause | None) -> LateRow | None:
    """None for a table that is on time."""
    if cause is None:
        return None
    root = str(cause.root) if cause.root is not None else None
    return LateRow(cause.code, cause.sentence, root, remedy_rows(cause))


def remedy_rows(cause: LateCause | None) -> tuple[RemedyRow, ...]:
    """A button for each thing that helps."""
    remedies = cause.remedies if cause is not None else ()
    return tuple(RemedyRow(r.kind, r.label, r.name, r.target_lag) for r in remedies)
