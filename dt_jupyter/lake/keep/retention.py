"""Whether what a change or a snapshot is read from is still on the disk: VACUUM takes the files of
old versions, and leaves the log."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dt_jupyter.lake.change.change_plan import Added, ChangePlan, Feed, FileDiff, Unreadable
from dt_jupyter.lake.delta_log.actions import FileKey, commit_name, file_key, read_actions
from dt_jupyter.lake.delta_log.active_files import LiveFiles, paths_of
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.paths import data_file, is_uri
from dt_jupyter.model import Timestamp

OLD_SECONDS = 86_400.0
"""Files of younger changes are looked for if the log has a VACUUM, and else not."""
_FILES = frozenset(("add", "remove", "cdc"))


def readable(log: TableLog, plan: ChangePlan, now: Timestamp) -> ChangePlan:
    """The plan, or Unreadable where a file is gone that it reads. Nothing is looked for while no
    VACUUM can have come by: that costs nothing."""
    if not isinstance(plan, Added | Feed | FileDiff) or not _at_risk(log, plan, now):
        return plan
    gone = gone_from_change(log, plan, by_feed=reads_feed(plan))
    return plan if gone is None else Unreadable("FILES_GONE", gone)


def reads_feed(plan: ChangePlan) -> bool:
    """Whether the change is read as the change data feed has it, commit by commit."""
    return isinstance(plan, Feed) or (isinstance(plan, Added) and plan.feed)


def _at_risk(log: TableLog, plan: Added | Feed | FileDiff, now: Timestamp) -> bool:
    """By the log alone: a VACUUM is logged since, or the change is so old that one that is not
    logged may have been."""
    facts = log.commits(plan.first - 1, log.version())
    old = now.since(facts[0].time) > OLD_SECONDS
    return old or any(f.operation.startswith("VACUUM") for f in facts)


def gone_from_change(
    log: TableLog, plan: ChangePlan, *, by_feed: bool, first_images: bool = False
) -> str | None:
    """What is to be said of a file that the change is read from and that is gone; None: all are
    there.

    It is read as the change data feed, or from the files that were added and removed, or, for
    `first_images`, from all files that were added.
    """
    if not isinstance(plan, Added | Feed | FileDiff):
        return None
    first, last = plan.first, plan.last
    if first_images:
        return _gone(log, log.new_files(first, last))
    if by_feed:
        return _gone(log, _of_feed(log, first, last))
    found = log.file_changes(first, last)
    return _gone(log, (*found.added, *found.removed))


def gone_from_snapshot(log: TableLog, version: int) -> str | None:
    """What is to be said of a file that the version has, and later ones have not, and that is gone;
    None: all are there."""
    later: dict[FileKey, Mapping[str, Any] | None] = {}
    for v in range(version + 1, log.version() + 1):
        for kind, body in _actions(log, v):
            if kind != "cdc":
                later.setdefault(file_key(body), body if kind == "remove" else None)
    return _gone(log, [body for body in later.values() if body is not None])


def gone_from_version(log: TableLog, version: int) -> str | None:
    """What is to be said of a file of the version that is gone, also where it is the newest, whose
    files no VACUUM takes; None: all are there."""
    return _gone(log, LiveFiles(log.path).at(version), "the file {} is missing")


def _of_feed(log: TableLog, first: int, last: int) -> Iterator[Mapping[str, Any]]:
    for _, files in log.files(first, last):
        changes = [body for kind, body in files if kind == "cdc"]
        yield from changes or (body for _, body in files)


def _actions(log: TableLog, version: int) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return read_actions(log.path / "_delta_log" / commit_name(version), _FILES)


def _gone(
    log: TableLog,
    files: Iterable[Mapping[str, Any]],
    said: str = "VACUUM removed {}, which it is read from",
) -> str | None:
    known: dict[str, bool] = {}
    for body in files:
        for name in paths_of(body):
            if name not in known:
                known[name] = _is_there(log, name, body)
            if not known[name]:
                return said.format(name) if is_uri(name) else _said(said, log.path, name)
    return None


def _is_there(log: TableLog, name: str, body: Mapping[str, Any]) -> bool:
    """A link leads to a file of another writer's, who may have written it again."""
    if is_uri(name):
        return log.has_file(name)
    path = data_file(log.path, name)
    try:
        found = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    if not os.path.islink(path):
        return True
    recorded = (body.get("size"), body.get("modificationTime"))
    return recorded == (found.st_size, found.st_mtime_ns // 1_000_000)


def _said(said: str, table: Path, name: str) -> str:
    path = data_file(table, name)
    if os.path.islink(path):
        return f"the file {os.readlink(path)} is gone, or was written again"
    return said.format(name)


__all__ = ["gone_from_change", "gone_from_snapshot", "gone_from_version", "readable", "reads_feed"]
