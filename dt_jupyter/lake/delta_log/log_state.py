"""The whole state of a Delta table at a version, as raw actions: what a copy of its log needs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.actions import FileKey, commit_name, file_key, read_actions
from dt_jupyter.lake.delta_log.checkpoints import checkpoint_actions, checkpoints
from dt_jupyter.lake.delta_log.table_log import TableLog

ROW_TRACKING = "delta.rowTracking"
_KINDS = frozenset(("add", "protocol", "metaData", "domainMetadata", "sidecar"))
_WANTED = _KINDS | {"remove"}
Action = Mapping[str, Any]


@dataclass
class TableState:
    """Live files by key, the protocol, the metadata, and the domains (clustering, row tracking)."""

    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    files: dict[FileKey, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)

    def take(self, kind: str, body: dict[str, Any]) -> None:
        """Apply one action of the log."""
        match kind:
            case "add":
                self.files[file_key(body)] = body
            case "remove":
                self.files.pop(file_key(body), None)
            case "protocol":
                self.protocol = body
            case "metaData":
                self.metadata = body
            case "domainMetadata":
                self.domains[body["domain"]] = body

    @property
    def row_ids(self) -> int | None:
        """The highest row id that was given out; None where rows are not tracked."""
        return high_water_mark(self.domains.get(ROW_TRACKING))


def high_water_mark(domain: Action | None) -> int | None:
    """The mark that a domain's action holds."""
    if domain is None or domain.get("removed"):
        return None
    return int(json.loads(domain["configuration"])["rowIdHighWaterMark"])


def row_id_domain(mark: int) -> dict[str, Any]:
    """The action that says up to where row ids are given out."""
    configuration = json.dumps({"rowIdHighWaterMark": mark})
    return {"domain": ROW_TRACKING, "configuration": configuration, "removed": False}


def table_state(log: TableLog, version: int) -> TableState:
    """The state at a version: its last checkpoint, and the commits since.

    Raises VersionGone and LogBroken as the log does.
    """
    folder, state = log.path / "_delta_log", TableState()
    log.protocol(version)  # raises where the log does not reach the version
    found = {c: names for c, names in checkpoints(os.listdir(folder)).items() if c <= version}
    start = max(found, default=-1)
    for name in found.get(start, ()):
        for kind, body in _checkpoint(folder, folder / name):
            state.take(kind, body)
    for v in range(start + 1, version + 1):
        for kind, body in read_actions(folder / commit_name(v), _WANTED):
            state.take(kind, body)
    return state


def _checkpoint(folder: Path, file: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for kind, body in checkpoint_actions(file, _KINDS):
        if kind == "sidecar":
            path = Path(body["path"])
            name = path if path.is_absolute() else folder / "_sidecars" / path
            yield from _checkpoint(folder, name)
        else:
            yield kind, body
