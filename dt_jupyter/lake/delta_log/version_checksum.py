"""The checksum of a version that Spark's commits leave next to them: from it Delta knows a table's
metadata and protocol without a job over the log. Commits that are not Spark's get one here.

Source: Delta's protocol, "Version Checksum File". Readers do without a file that is torn or absent,
so it is not synced.
"""

from __future__ import annotations

import json
import logging
import os
import uuid
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.delta_log.table_size import TableSize
from dt_jupyter.lake.errors import LakeError

_log = logging.getLogger("dt_jupyter.lake")
_IN_COMMIT_TIMES = "delta.enableInCommitTimestamps"


def checksum_name(version: int) -> str:
    return f"{version:020d}.crc"


def write_checksum(log: TableLog, version: int) -> None:
    """Writes the checksum of a new commit next to it. What fails here is
    logged: the commit is valid, and is read all the same."""
    try:
        if (text := checksum_text(log, version)) is not None:
            _put(log.path, version, text)
    except (LakeError, OSError, ValueError, KeyError) as e:
        _log.warning("version %d of %s has no checksum: %s", version, log.path, e)


def checksum_text(log: TableLog, version: int) -> str | None:
    """What the file has; None for a table whose checksums hold more than is known here."""
    state = log.raw_state(version)
    if state.metadata["configuration"].get(_IN_COMMIT_TIMES, "").lower() == "true":
        return None  # a checksum of such a table holds the time too
    return f"{_text(state.protocol, state.metadata, log.size(version))}\n"


def _text(protocol: dict[str, Any], metadata: dict[str, Any], totals: TableSize) -> str:
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
        draft.write_text(text, "utf-8")
        os.replace(draft, folder / checksum_name(version))
    finally:
        draft.unlink(missing_ok=True)
