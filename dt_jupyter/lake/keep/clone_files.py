"""Versions of a table made another table: a separate log over the same files, as hard links.

The clone takes space only for what either of the two writes later, and neither's VACUUM, DROP or
log clean-up reaches the other.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.active_files import paths_of
from dt_jupyter.lake.delta_log.log_state import Action, TableState, table_state
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.paths import TablePath, is_uri, local
from dt_jupyter.lake.storage.mounts import folder_exists, remove_folder
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.lake.txn.shadow_log import DROPPED_PROPERTIES

_OF_FILE = ("partitionValues", "size", "deletionVector", "baseRowId", "defaultRowCommitVersion")


@dataclass(frozen=True)
class CloneMark:
    """What the last commit of a clone carries besides its files: sequence 1 of an application, and
    the text of its metadata."""

    app_id: str
    metadata: str


@dataclass(frozen=True)
class Cloned:
    """A table made of the versions of another: `versions` are those of the clone, by theirs."""

    folder: Path
    table_id: str
    versions: Mapping[int, int] = field(default_factory=dict)


def clone_table(
    log: TableLog,
    versions: Iterable[int],
    folder: TablePath,
    mark: CloneMark | None = None,
    table_id: str | None = None,
) -> Cloned:
    """A new table at `folder` whose versions 0, 1, … have the rows of these versions of the other,
    oldest first; their differences are its changes. Its id is `table_id`, or a new one.

    Raises FileExistsError, VersionGone, FileNotFoundError for a file that is gone, NotSupported
    where another program keeps the table's commits; then nothing is left behind.
    """
    wanted, target = sorted(set(versions)), local(folder)
    table_id = table_id or str(uuid.uuid4())
    if folder_exists(target):
        raise FileExistsError(f"{target} exists")
    try:
        _clone(log, wanted, target, table_id, mark)
    except BaseException:
        remove_folder(target)
        raise
    return Cloned(target, table_id, {v: i for i, v in enumerate(wanted)})


def _clone(
    log: TableLog, wanted: Sequence[int], target: Path, table_id: str, mark: CloneMark | None
) -> None:
    origin, place = table_place(log.path), table_place(target)
    read = [_state(log, version) for version in wanted]
    states = [replace(s, files={k: origin.own_names(a) for k, a in s.files.items()}) for s in read]
    brought = {n for s in states for a in s.files.values() for n in paths_of(a) if not is_uri(n)}
    place.copy_from(log.path, sorted(brought))
    now, before = time.time_ns() // 1_000_000, TableState()
    for number, state in enumerate(states):
        last = mark if number == len(states) - 1 else None
        place.put_commit(number, _actions(before, state, table_id, now + number, last))
        place.settle((), number)
        before = state


def _state(log: TableLog, version: int) -> TableState:
    if held := log.protocol(version).kept_elsewhere:
        raise NotSupported(f"{log.path} has {', '.join(held)}", path=str(log.path))
    return table_state(log, version)


def _actions(
    before: TableState, state: TableState, table_id: str, now: int, mark: CloneMark | None
) -> Iterator[Mapping[str, Any]]:
    operation = "CLONE" if before.version < 0 else "CLONE CHANGES"
    yield {"commitInfo": _info(operation, now, mark)}
    if state.protocol != before.protocol:
        yield {"protocol": state.protocol}
    if state.metadata != before.metadata:
        yield {"metaData": _metadata(state.metadata, table_id, now)}
    yield from (
        {"domainMetadata": body}
        for name, body in state.domains.items()
        if before.domains.get(name) != body
    )
    if mark is not None:
        yield {"txn": {"appId": mark.app_id, "version": 1, "lastUpdated": now}}
    for key, body in before.files.items():
        if key not in state.files:
            yield {"remove": _removed(body, now)}
    for key, body in state.files.items():
        if key not in before.files:
            yield {"add": {**body, "dataChange": True}}


def _info(operation: str, now: int, mark: CloneMark | None) -> dict[str, Any]:
    """A CLONE that writes metadata replaces what was there; a later version is what changed."""
    told = {"userMetadata": mark.metadata} if mark is not None else {}
    return {
        "inCommitTimestamp": now,
        "timestamp": now,
        "operation": operation,
        "operationParameters": {},
        "isolationLevel": "Serializable",
        "isBlindAppend": False,
        "operationMetrics": {},
        "engineInfo": "dt_jupyter",
        "txnId": str(uuid.uuid4()),
        **told,
    }


def _metadata(metadata: Action, table_id: str, now: int) -> dict[str, Any]:
    known = metadata.get("configuration") or {}
    configuration = {k: v for k, v in known.items() if k not in DROPPED_PROPERTIES}
    return {**metadata, "id": table_id, "configuration": configuration, "createdTime": now}


def _removed(add: Action, now: int) -> dict[str, Any]:
    kept = {k: add[k] for k in _OF_FILE if add.get(k) is not None}
    return {
        "path": add["path"],
        "deletionTimestamp": now,
        "dataChange": True,
        "extendedFileMetadata": True,
        **kept,
    }


__all__ = ["CloneMark", "Cloned", "clone_table"]
