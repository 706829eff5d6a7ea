"""The checksum of a version that Spark's commits leave beside them: from it Delta knows a table's
metadata and protocol without a job over the log. Commits that are not Spark's get one here.

Source: Delta's protocol, "Version Checksum File". Readers do without a file that is torn or absent,
so it is not synced.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.actions import commit_name, read_actions
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError

_log = logging.getLogger("dt_jupyter.lake")
_IN_COMMIT_TIMES = "delta.enableInCommitTimestamps"
_FILES = frozenset(("add", "remove"))


@dataclass(frozen=True, slots=True)
class FileTotals:
    """How many files a version has, and their bytes."""

    files: int
    bytes: int


def checksum_name(version: int) -> str:
    return f"{version:020d}.crc"


def write_checksum(log: TableLog, version: int) -> None:
    """Puts the checksum of a commit that was just made beside it. What fails here is told in the
    log: the commit stands, and is read all the same."""
    try:
        state = log.raw_state(version)
        if state.metadata["configuration"].get(_IN_COMMIT_TIMES, "").lower() == "true":
            return  # a checksum of such a table holds the time too
        _put(log.path, version, _text(state.protocol, state.metadata, file_totals(log, version)))
    except (LakeError, OSError, ValueError, KeyError) as e:
        _log.warning("version %d of %s has no checksum: %s", version, log.path, e)


def _text(protocol: dict[str, Any], metadata: dict[str, Any], totals: FileTotals) -> str:
    return json.dumps(
        {
            "tableSizeBytes": totals.bytes,
            "numFiles": totals.files,
            "numMetadata": 1,
            "numProtocol": 1,
            "metadata": metadata,
            "protocol": protocol,
        }
    )


def _put(table: Path, version: int, text: str) -> None:
    """One that is there already is of a commit that is lost."""
    folder = table / "_delta_log"
    draft = folder / f".{version}.{uuid.uuid4().hex}.tmp"
    try:
        draft.write_text(f"{text}\n", "utf-8")
        os.replace(draft, folder / checksum_name(version))
    finally:
        draft.unlink(missing_ok=True)


# -- totals ----------------------------------------------------------------------------------------


def file_totals(log: TableLog, version: int) -> FileTotals:
    """Of a version: from the checksum before it and the commit's own actions, else by listing."""
    before = FileTotals(0, 0) if version == 0 else _totals_before(log, version)
    return (before and _carried_on(log, version, before)) or _listed(log, version)


def _totals_before(log: TableLog, version: int) -> FileTotals | None:
    try:
        text = (log.path / "_delta_log" / checksum_name(version - 1)).read_text("utf-8")
        found = json.loads(text)
        if found["metadata"]["id"] != log.table_id(version - 1):
            return None
        return FileTotals(int(found["numFiles"]), int(found["tableSizeBytes"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None  # absent or torn: the files are listed


def _carried_on(log: TableLog, version: int, before: FileTotals) -> FileTotals | None:
    """None where an action does not say how large its file is, or a file is added anew that may
    have been there."""
    count, size = before.files, before.bytes
    added: set[str] = set()
    removed: set[str] = set()
    for kind, body in read_actions(log.path / "_delta_log" / commit_name(version), _FILES):
        paths, sign = (added, 1) if kind == "add" else (removed, -1)
        if body.get("size") is None or body["path"] in paths:
            return None
        paths.add(body["path"])
        count, size = count + sign, size + sign * int(body["size"])
    return FileTotals(count, size)


def _listed(log: TableLog, version: int) -> FileTotals:
    files = TableSnapshot(log.path, version).files(live_rows=False)
    return FileTotals(len(files), sum(f.bytes for f in files))
