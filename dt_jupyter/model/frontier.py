"""Frontiers: which version of each source a table has read (DT paper, 5.3)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from dt_jupyter.model.time import Timestamp


@dataclass(frozen=True)
class Frontier:
    """A data timestamp, and for each source (by Delta table id) the version read at it.

    `stateless`: the rows were computed without what moves them by a change.
    """

    data_timestamp: Timestamp
    versions: Mapping[str, int] = field(default_factory=dict)
    stateless: bool = False

    def __post_init__(self) -> None:
        if any(v < 0 for v in self.versions.values()):
            raise ValueError("a version is not negative")
        object.__setattr__(self, "versions", MappingProxyType(dict(self.versions)))

    def to_json(self) -> dict[str, Any]:
        found = {"data_timestamp": str(self.data_timestamp), "versions": dict(self.versions)}
        return {**found, "stateless": True} if self.stateless else found

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Frontier:
        stateless = bool(value.get("stateless"))
        return cls(Timestamp.parse(value["data_timestamp"]), value["versions"], stateless)

    def __str__(self) -> str:
        versions = json.dumps(dict(sorted(self.versions.items())))
        return f"{self.data_timestamp} {versions}"
