"""A log of ours that a power loss, or a hand, has broken: cut back to what can be read, and carried
on from where it ended, without the versions that are lost.

A version that others have seen never means other rows later: the lost ones hold a file that is not
there, so that they cannot be read, and a reader that has used one has to start again.
"""

from __future__ import annotations

import os
import shutil
import time
import uuid
from pathlib import Path
from typing import Any

from dt_jupyter.lake.change.change_plan import LOST
from dt_jupyter.lake.delta_log.actions import commit_name, read_actions, require_end
from dt_jupyter.lake.delta_log.checkpoints import checkpoint_actions, checkpoints
from dt_jupyter.lake.delta_log.table_log import TableLog, version_of
from dt_jupyter.lake.disk import sync
from dt_jupyter.lake.errors import LakeError, LogBroken
from dt_jupyter.lake.paths import TablePath, local
from dt_jupyter.lake.storage.mounts import find_mounted, folder_exists, move_folder, open_log
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.lake.write.locks import table_lock

_ASIDE = ".broken"


def require_whole(log: TableLog) -> None:
    """LogBroken, TableGone where the newest version cannot be read to its last action; reads the
    commits since the newest checkpoint."""
    log.metadata()
    folder, newest = log.path / "_delta_log", log.version()
    known = [c for c in checkpoints(os.listdir(folder)) if c <= newest]
    for version in range(max(known, default=-1) + 1, newest + 1):
        require_end(folder / commit_name(version))


def readable_to(path: TablePath) -> int:
    """The newest version that can be read, and every one that Delta needs for it; −1: none."""
    folder = local(path) / "_delta_log"
    names = os.listdir(folder) if folder.is_dir() else []
    commits = {v for n in names if (v := version_of(n)) is not None}
    whole = [c for c, files in checkpoints(names).items() if _checkpoint_reads(folder, files)]
    for start in (*sorted(whole, reverse=True), -1):
        version = start
        while version + 1 in commits and _commit_reads(folder / commit_name(version + 1)):
            version += 1
        if version >= 0:
            return version
    return -1


def _commit_reads(file: Path) -> bool:
    try:
        return sum(1 for _ in read_actions(file)) > 0
    except (LogBroken, OSError):
        return False


def _checkpoint_reads(folder: Path, files: tuple[str, ...]) -> bool:
    try:
        wanted = frozenset(("metaData",))
        return any(True for f in files for _ in checkpoint_actions(folder / f, wanted))
    except (LogBroken, OSError, ValueError):
        return False


def cut(path: TablePath, aside: Path) -> None:
    """The table as it was at the newest version that can be read. What cannot be read stays next to
    it under other names; where nothing can, the whole table is at `aside`."""
    table = local(path)
    if find_mounted(table) is not None:  # a log that others read, too, is not cut
        if folder_exists(table):
            move_folder(table, aside)
    elif table.exists():
        with table_lock(table):
            _cut(table, aside)


def _cut(table: Path, aside: Path) -> None:
    last = readable_to(table)
    if last < 0:
        aside.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(table, aside)
        return
    folder = table / "_delta_log"
    sound = {
        f
        for c, files in checkpoints(os.listdir(folder)).items()
        if c <= last and _checkpoint_reads(folder, files)
        for f in files
    }
    for name in sorted(os.listdir(folder)):
        if _is_broken(name, last, sound):
            os.replace(folder / name, folder / f"{name}{_ASIDE}")
    sync((folder,))


def _is_broken(name: str, last: int, sound: set[str]) -> bool:
    if name == "_last_checkpoint":
        return True  # a hint; it is found without
    version = name.partition(".")[0]
    if not version.isdigit() or name.endswith(_ASIDE):
        return False
    return int(version) > last or (".checkpoint." in name and name not in sound)


def restore_sequence(path: TablePath, app_id: str, sequence: int, version: int) -> int:
    """The table's log up to `version` at least, and `sequence` as the application's last: what is
    missing is lost. Returns the newest version; nothing is done where the log has all of it."""
    table = local(path)
    with table_lock(table):
        log, place = open_log(table), table_place(table)
        newest = log.version()
        if (log.last_transaction(app_id) or 0) >= sequence:
            return newest
        last = max(version, newest + 1)
        for lost in range(newest + 1, last + 1):
            actions: list[dict[str, Any]] = [{"commitInfo": _info()}]
            if lost == newest + 1:
                actions.append({"add": _missing()})
            if lost == last:
                actions.append({"txn": {"appId": app_id, "version": sequence}})
            place.put_commit(lost, actions)
            place.settle((), lost)
        return last


def _info() -> dict[str, Any]:
    return {
        "timestamp": time.time_ns() // 1_000_000,
        "operation": LOST,
        "operationParameters": {},
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {},
        "engineInfo": "dt_jupyter",
        "txnId": str(uuid.uuid4()),
    }


def _missing() -> dict[str, Any]:
    return {
        "path": f"lost-{uuid.uuid4()}.parquet",
        "partitionValues": {},
        "size": 1,
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
    }


def is_whole(log: TableLog) -> bool:
    """Whether there is a table that can be read at its newest version."""
    try:
        require_whole(log)
    except LakeError:
        return False
    return True


__all__ = ["cut", "is_whole", "readable_to", "require_whole", "restore_sequence"]
