"""Files that a refresh met to be gone: looked for on the disk once a reader has failed.

What readers raise for a file that is not there differs with each of them, and from release to
release; whether it is there does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from dt_jupyter.lake import LakeError, TableLog, plan_changes
from dt_jupyter.lake.contents import Contents
from dt_jupyter.lake.retained import gone_from_change, gone_from_version, reads_feed
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Name,
    Reason,
    RefreshAction,
    Source,
    SourceKind,
    error,
)
from dt_jupyter.refresh.choose import Choice
from dt_jupyter.refresh.look import Look
from dt_jupyter.refresh.recovery import lost_of_own
from dt_jupyter.refresh.sources import Sources
from dt_jupyter.spark import Cancelled


def choice_anew(
    sources: Sources, contents: Contents, table: DynamicTable, seen: Look, choice: Choice,
    e: Exception,
) -> Choice:  # fmt: skip
    """The choice to go on with after `e`, where a change could not be read since files are gone.

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


@contextmanager
def lost_is_named(sources: Sources, source: Source, of: Name) -> Iterator[None]:
    """What fails within since a file of the source's newest version is gone is DT-2114."""
    try:
        yield
    except Exception as e:
        assert source.path is not None
        newest = {source.table_id: sources.logs[source.path].version()}
        lost = unreadable_source(sources, of, [source], newest)
        if lost is None:
            raise
        raise lost from e


def unreadable_source(
    sources: Sources, table: Name, read: Iterable[Source], versions: Mapping[str, int]
) -> DTError | None:
    """DT-2114 for a source of which a file is gone at the version that `table` reads of it: no
    refresh to there can go well. None: all are there."""
    for source in read:
        if source.path is None or source.table_id not in versions:
            continue
        log, version = sources.logs[source.path], versions[source.table_id]
        gone = _said(gone_from_version, log, version)
        if gone is not None:
            return error("DT-2114", source=source.name, version=version, name=table,
                         problem=gone, hint=_hint(source, log, version))  # fmt: skip
    return None


def _hint(source: Source, log: TableLog, version: int) -> str:
    if version < log.version():
        return "Refresh it to a later time: newer versions have other files."
    if source.kind is SourceKind.DYNAMIC_TABLE:
        return f"ALTER DYNAMIC TABLE {source.name} REFRESH computes it anew; then this one goes on."
    return (
        f"Put the file back, or write {source.name} anew (INSERT OVERWRITE, or RESTORE TABLE … TO "
        "VERSION AS OF an older version): refreshes then go on by themselves."
    )


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
        gone = _said(_gone, sources.logs[path], old[id_], seen.frontier.versions.get(id_))
        if gone is not None:
            yield f"the changes of {name} cannot be read: {gone}"


def _gone(log: TableLog, old: int, new: int | None) -> str | None:
    plan = plan_changes(log, old, log.version() if new is None else new)
    gone = gone_from_change(log, plan, by_feed=reads_feed(plan))
    return gone or gone_from_version(log, old)


def _said(look: Callable[..., str | None], *of: Any) -> str | None:
    """What a look at files tells; a log that does not reach them tells as much."""
    try:
        return look(*of)
    except LakeError as e:
        return e.sentence
