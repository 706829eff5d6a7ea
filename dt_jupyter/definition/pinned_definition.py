"""The rows that a definition means at a frontier, as one query."""

from __future__ import annotations

from dt_jupyter.definition.compile import Compiled
from dt_jupyter.definition.frozen_region import without_frozen
from dt_jupyter.lake import snapshot_sql
from dt_jupyter.model import Definition, Frontier
from dt_jupyter.sources import Logs, text_at


def defining_text(
    logs: Logs,
    definition: Definition,
    frontier: Frontier,
    compiled: Compiled | None,
    *,
    whole: bool = False,
) -> str:
    """The user's text at a frontier; where it leaves an order open, with that order fixed as the
    stages of an incremental table fix it. Without what belongs to a frozen region, unless the
    `whole` is requested."""
    text = _text(logs, definition, frontier, compiled)
    return text if whole else without_frozen(text, definition, frontier.data_timestamp)


def _text(logs: Logs, definition: Definition, frontier: Frontier, compiled: Compiled | None) -> str:
    if compiled is None or not compiled.settles:
        return text_at(logs, definition, frontier)
    paths = {s.table_id: str(s.path) for s in definition.sources}
    return compiled.text(lambda s: snapshot_sql(paths[s.source], frontier.versions[s.source]))
