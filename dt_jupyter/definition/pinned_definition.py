"""The rows that a definition means at a frontier, as one query."""

from __future__ import annotations

from dt_jupyter.definition.compile import Compiled
from dt_jupyter.lake import snapshot_sql
from dt_jupyter.model import Definition, Frontier
from dt_jupyter.sources import Logs, text_at


def defining_text(
    logs: Logs, definition: Definition, frontier: Frontier, compiled: Compiled | None
) -> str:
    """The user's text at a frontier; where it leaves an order open, with that order fixed as the
    stages of an incremental table fix it."""
    if compiled is None or not compiled.settles:
        return text_at(logs, definition, frontier)
    paths = {s.table_id: str(s.path) for s in definition.sources}
    return compiled.text(lambda s: snapshot_sql(paths[s.source], frontier.versions[s.source]))
