"""Files that a reader met to be gone: looked for on the disk once it has failed.

What readers raise for a file that is not there differs with each of them, and from release to
release; whether it is there does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from dt_jupyter.lake import (
    LakeError,
    TableLog,
    gone_from_change,
    gone_from_version,
    plan_changes,
    reads_feed,
)
from dt_jupyter.model import DTError, Name, Source, SourceKind, error
from dt_jupyter.sources.source_names import Sources


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
    """DT-2114 for a source that lacks a file at the version that `table` reads of it: no
    refresh to there can succeed. None: all are there."""
    for source in read:
        if source.path is None or source.table_id not in versions:
            continue
        log, version = sources.logs[source.path], versions[source.table_id]
        gone = _tell(gone_from_version, log, version)
        if gone is not None:
            return error(
                "DT-2114",
                source=source.name,
                version=version,
                name=table,
                problem=gone,
                hint=_hint(source, log, version),
            )
    return None


def _hint(source: Source, log: TableLog, version: int) -> str:
    if version < log.version():
        return "Refresh it to a later time: newer versions have other files."
    if source.kind is SourceKind.DYNAMIC_TABLE:
        return f"ALTER DYNAMIC TABLE {source.name} REFRESH recomputes it."
    return (
        f"Put the file back, or write {source.name} again (INSERT OVERWRITE, or RESTORE TABLE … TO "
        "VERSION AS OF an older version): refreshes then resume."
    )


def gone_between(log: TableLog, old: int, new: int | None) -> str | None:
    """What is gone of a table's change from a version to another (None: the newest), or of what
    it was before."""
    return _tell(_gone, log, old, new)


def _gone(log: TableLog, old: int, new: int | None) -> str | None:
    plan = plan_changes(log, old, log.version() if new is None else new)
    gone = gone_from_change(log, plan, by_feed=reads_feed(plan))
    return gone or gone_from_version(log, old)


def _tell(look: Callable[..., str | None], *of: Any) -> str | None:
    """What a check of files finds; a log that does not reach them means the same."""
    try:
        return look(*of)
    except LakeError as e:
        return e.sentence
