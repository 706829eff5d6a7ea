"""The lakes that this user opened last, newest first: a short list in the user's state folder."""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path

from platformdirs import user_state_path

from dt_jupyter.spark import storage_of

MOST_LAKES = 8
_LONGEST = 1 << 16
"""Bytes of a file that is read."""
_log = logging.getLogger("dt_jupyter.desk")


def recent_lakes(folder: Path | None = None) -> tuple[str, ...]:
    """Those that are still there; whether other storage has one is not asked."""
    lakes = _read(_file(folder))
    return tuple(lake for lake in lakes if storage_of(lake) or (Path(lake) / "_dt").is_dir())


def record_lake(lake: Path | str, folder: Path | None = None) -> None:
    """Puts the lake first. A home that cannot be written to is ignored."""
    file = _file(folder)
    text = lake if isinstance(lake, str) else str(lake.absolute())
    lakes = [text, *(other for other in _read(file) if other != text)][:MOST_LAKES]
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=file.name)
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            json.dump(lakes, opened)
        Path(name).replace(file)
    except OSError as problem:
        _log.debug("the recent lakes cannot be written: %s", problem)


def _file(folder: Path | None) -> Path:
    return (folder or user_state_path("dt_jupyter")) / "recent_lakes.json"


def _read(file: Path) -> list[str]:
    """Nothing of a file that is missing, or that something else wrote."""
    try:
        found = json.loads(file.read_bytes()[:_LONGEST])
    except (OSError, ValueError, RecursionError):
        return []
    lakes = found if isinstance(found, list) else []
    return [lake for lake in lakes if isinstance(lake, str) and "\0" not in lake][:MOST_LAKES]
