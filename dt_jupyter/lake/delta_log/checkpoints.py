"""Checkpoints of a Delta log: classic, multi-part and V2."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.actions import read_actions
from dt_jupyter.lake.delta_log.metadata import Metadata, Protocol
from dt_jupyter.lake.errors import LogBroken

_NAME = re.compile(
    r"(?P<version>\d{20})\.checkpoint\."
    r"(?:(?P<part>\d{10})\.(?P<parts>\d{10})\.parquet|parquet|[0-9a-f-]{36}\.(?:parquet|json))\Z"
)
_KINDS = frozenset(("metaData", "protocol", "txn", "domainMetadata"))
_CLUSTERING = "delta.clustering"
_MAPS = frozenset(("partitionValues", "tags", "configuration", "options"))


@dataclass(frozen=True)
class LogState:
    """A table's state at a version besides its files; version −1 is before the first commit.

    The metadata is known to be the same from version `since` on. `clustering` are the columns that
    it is clustered by, as paths of their names in the files.
    """

    version: int
    found: Metadata | None = None
    protocol: Protocol = field(default_factory=Protocol)
    transactions: Mapping[str, int] = field(default_factory=dict)
    since: int = -1
    clustering: tuple[tuple[str, ...], ...] = ()

    @property
    def metadata(self) -> Metadata:
        if self.found is None:
            raise LogBroken(f"no metadata up to version {self.version}", version=self.version)
        return self.found

    def after(self, version: int, actions: Iterable[tuple[str, Any]]) -> LogState:
        """The state once the actions of commit `version` are applied."""
        found, protocol, transactions = self.found, self.protocol, dict(self.transactions)
        since, clustering = self.since, self.clustering
        for kind, body in actions:
            if kind == "metaData":
                found, since = Metadata.of(body), version
            elif kind == "protocol":
                protocol = Protocol.of(body)
            elif kind == "txn":
                transactions[body["appId"]] = int(body["version"])
            elif body["domain"] == _CLUSTERING:
                clustering = _clustering(body)
        return LogState(version, found, protocol, transactions, since, clustering)


def _clustering(body: Mapping[str, Any]) -> tuple[tuple[str, ...], ...]:
    if body.get("removed"):
        return ()
    found = json.loads(body["configuration"]).get("clusteringColumns", ())
    return tuple(tuple(path) for path in found)


def checkpoints(names: Iterable[str]) -> dict[int, tuple[str, ...]]:
    """Complete checkpoints in a listing: version → its files."""
    groups: dict[tuple[int, int], list[str]] = {}
    for name in names:
        if m := _NAME.match(name):
            key = int(m["version"]), int(m["parts"] or 1)
            groups.setdefault(key, []).append(name)
    whole: dict[int, tuple[str, ...]] = {}
    for (version, parts), files in sorted(groups.items()):
        if parts == 1:
            whole[version] = (min(files),)
        elif len(files) == parts:
            whole.setdefault(version, tuple(sorted(files)))
    return whole


def checkpoint_state(folder: Path, version: int, names: tuple[str, ...]) -> LogState:
    """The state that a checkpoint holds; raises LogBroken where it cannot be read."""
    actions = (a for name in names for a in checkpoint_actions(folder / name, _KINDS))
    return LogState(-1).after(version, actions)


def checkpoint_actions(file: Path, wanted: frozenset[str]) -> Iterator[tuple[str, Any]]:
    """(kind, action) of the wanted kinds in one file of a checkpoint, as the JSON of a commit has
    them. Raises LogBroken where it cannot be read."""
    return read_actions(file, wanted) if file.suffix == ".json" else _from_parquet(file, wanted)


def _from_parquet(file: Path, wanted: frozenset[str]) -> Iterator[tuple[str, Any]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            kinds = [k for k in parquet.schema_arrow.names if k in wanted]
            for batch in parquet.iter_batches(columns=kinds):
                for kind in kinds:
                    for body in batch.column(kind).drop_null().to_pylist():
                        yield kind, _plain(body)
    except (pa.ArrowException, OSError) as e:
        raise LogBroken(
            f"the checkpoint {file.name} cannot be read: {e}", path=str(file), file=file.name
        ) from e


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """Maps are objects, what is absent is left out."""
    made: dict[str, Any] = {}
    for key, value in body.items():
        if value is None or key.endswith("_parsed"):
            continue
        if key in _MAPS and not isinstance(value, str):  # a domain's configuration is a text
            made[key] = dict(value)
        else:
            made[key] = _plain(value) if isinstance(value, Mapping) else value
    return made
