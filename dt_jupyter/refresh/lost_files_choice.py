"""How a refresh continues where files are gone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from dt_jupyter.lake import Contents
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Reason,
    RefreshAction,
)
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.observation import Look
from dt_jupyter.refresh.recovery import lost_of_own
from dt_jupyter.sources import Sources, gone_between, unreadable_source
from dt_jupyter.spark import Cancelled


def choice_anew(
    sources: Sources,
    contents: Contents,
    table: DynamicTable,
    seen: Look,
    choice: Choice,
    e: Exception,
) -> Choice:
    """The choice to continue with after `e`, where a change could not be read since files are gone.

    Raises DT-2114 where no refresh can go well since files are gone, and any other failure again.
    """
    if isinstance(e, DTError | Cancelled):
        raise e
    source = unreadable_source(sources, table.name, seen.sources, seen.frontier.versions)
    if source is not None:
        raise source from e
    incremental = choice.action is RefreshAction.INCREMENTAL
    reason = unreadable_interval(sources, contents, table, seen) if incremental else None
    if reason is None:
        raise e
    return replace(choice, action=RefreshAction.REINITIALIZE, reason=reason)


def unreadable_interval(
    sources: Sources, contents: Contents, table: DynamicTable, seen: Look
) -> Reason | None:
    """Why no incremental refresh can go well: a file is gone of the table's own, of a change, or of
    what a source was before it. None: all are there."""
    said = next(_intervals(sources, table, seen), None)
    gone = None if said is None else Reason("FILES_GONE", said)
    return lost_of_own(sources, contents, table) or gone


def _intervals(sources: Sources, table: DynamicTable, seen: Look) -> Iterator[str]:
    """What is to be said of each source, and each hidden stage, that cannot be read."""
    assert table.frontier is not None
    old = table.frontier.versions
    paths = {s.table_id: (str(s.name), s.path) for s in seen.sources if s.path is not None}
    for id_ in old:
        if id_.startswith("stage:"):
            stage = sources.layout.stage(table.id, int(id_.partition(":")[2]))
            paths[id_] = "its state", str(stage)
    for id_, (name, path) in paths.items():
        if id_ not in old:
            continue
        gone = gone_between(sources.logs[path], old[id_], seen.frontier.versions.get(id_))
        if gone is not None:
            yield f"the changes of {name} cannot be read: {gone}"
