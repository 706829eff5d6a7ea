"""The replay of a Delta log: its last checkpoint up to a version, and the commits since.

The one place that knows what an action does to a table (Delta protocol, "Action Reconciliation").
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from dt_jupyter.lake.delta_log.actions import FileKey, commit_name, file_key, read_actions
from dt_jupyter.lake.delta_log.checkpoints import checkpoint_actions, last_checkpoint
from dt_jupyter.lake.delta_log.metadata import Metadata, Protocol
from dt_jupyter.lake.errors import LogBroken, VersionGone

Action: TypeAlias = Mapping[str, Any]

FILES = frozenset(("add", "remove"))
STATE = frozenset(("protocol", "metaData", "txn", "domainMetadata"))
ROW_TRACKING = "delta.rowTracking"
_CLUSTERING = "delta.clustering"
_TOMBSTONES = frozenset(("remove",))


@dataclass
class TableState:
    """A table at a version, in the log's own actions; version −1 is before the first commit.

    `since`: the metadata is known to be the same from this version on. `transactions`: application
    id → sequence.
    """

    version: int = -1
    since: int = -1
    protocol: dict[str, Any] = field(default_factory=dict)
    metadata: dict[str, Any] = field(default_factory=dict)
    files: dict[FileKey, dict[str, Any]] = field(default_factory=dict)
    domains: dict[str, dict[str, Any]] = field(default_factory=dict)
    transactions: dict[str, int] = field(default_factory=dict)

    def apply(self, version: int, actions: Iterable[tuple[str, Any]]) -> None:
        """One commit, or one checkpoint. Its actions have no order: a file that gets another
        deletion vector, or none, is removed before it is added."""
        added = []
        for kind, body in actions:
            match kind:
                case "add":
                    added.append(body)
                case "remove":
                    self.files.pop(file_key(body), None)
                case "protocol":
                    self.protocol = body
                case "metaData":
                    self.metadata, self.since = body, version
                case "domainMetadata" if body.get("removed"):
                    self.domains.pop(body["domain"], None)
                case "domainMetadata":
                    self.domains[body["domain"]] = body
                case "txn":
                    self.transactions[body["appId"]] = int(body["version"])
        for body in added:
            self.files[file_key(body)] = body
        self.version = version

    def copy(self) -> TableState:
        """One that may be carried on while this one stays."""
        return replace(
            self,
            files=dict(self.files),
            domains=dict(self.domains),
            transactions=dict(self.transactions),
        )

    @property
    def row_ids(self) -> int | None:
        """The highest row id that was given out; None where rows are not tracked."""
        return high_water_mark(self.domains.get(ROW_TRACKING))


def checkpoint_state(
    folder: Path, upto: int, wanted: frozenset[str], *, statistics: bool = True
) -> TableState:
    """The wanted parts of the state at the last checkpoint up to a version; version −1 where there
    is none. Raises LogBroken."""
    state = TableState()
    version, names = last_checkpoint(folder, upto)
    kinds = wanted - _TOMBSTONES
    actions = (
        a for n in names for a in checkpoint_actions(folder / n, kinds, statistics=statistics)
    )
    state.apply(version, actions)
    return state


def advance_state(
    state: TableState, folder: Path, version: int, wanted: frozenset[str]
) -> TableState:
    """The state at a later version, in place. Raises VersionGone, LogBroken."""
    prefix = f"{folder}{os.sep}"  # a Path for each commit would take a tenth of the time
    for v in range(state.version + 1, version + 1):
        try:
            state.apply(v, read_actions(prefix + commit_name(v), wanted))
        except FileNotFoundError as e:
            path = str(folder.parent)
            raise VersionGone(
                f"version {v} of {path} is not in the log", path=path, version=v
            ) from e
    return state


def replay_log(
    folder: Path, version: int, wanted: frozenset[str], *, statistics: bool = True
) -> TableState:
    """The wanted parts of the state at a version. Raises VersionGone, LogBroken."""
    start = checkpoint_state(folder, version, wanted, statistics=statistics)
    return advance_state(start, folder, version, wanted)


# -- parsed ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LogState:
    """A table's state at a version besides its files, parsed. `raw` is not changed any more.

    The metadata is known to be the same from version `since` on. `clustering` are the columns that
    it is clustered by, as paths of their names in the files.
    """

    raw: TableState
    found: Metadata | None
    protocol: Protocol
    clustering: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, raw: TableState, before: LogState | None = None) -> LogState:
        """The parsed state; what `before` has parsed already is taken from it."""
        same = before is not None and before.raw.metadata is raw.metadata
        found = before.found if same and before else None
        if found is None and raw.metadata:
            found = Metadata.of(raw.metadata)
        protocol = Protocol.of(raw.protocol) if raw.protocol else Protocol()
        return cls(raw, found, protocol, _clustering(raw.domains.get(_CLUSTERING)))

    @property
    def version(self) -> int:
        return self.raw.version

    @property
    def since(self) -> int:
        return self.raw.since

    @property
    def transactions(self) -> Mapping[str, int]:
        return self.raw.transactions

    @property
    def metadata(self) -> Metadata:
        if self.found is None:
            raise LogBroken(f"no metadata up to version {self.version}", version=self.version)
        return self.found


def _clustering(domain: Action | None) -> tuple[tuple[str, ...], ...]:
    found = json.loads(domain["configuration"]).get("clusteringColumns", ()) if domain else ()
    return tuple(tuple(path) for path in found)


# -- row tracking ----------------------------------------------------------------------------------


def high_water_mark(domain: Action | None) -> int | None:
    """The mark that a domain's action holds."""
    if domain is None or domain.get("removed"):
        return None
    return int(json.loads(domain["configuration"])["rowIdHighWaterMark"])


def row_id_domain(mark: int) -> dict[str, Any]:
    """The action that says up to where row ids are given out."""
    configuration = json.dumps({"rowIdHighWaterMark": mark})
    return {"domain": ROW_TRACKING, "configuration": configuration, "removed": False}
