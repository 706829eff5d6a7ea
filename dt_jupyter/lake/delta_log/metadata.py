"""The metadata of a table at a version, and what changed between two of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from dt_jupyter.lake.delta_log.type_changes import ID, TypeChange, column_change

LINKED = "dt.files.linked"
"""A property: the data files are links to those of other writers."""


PLAIN_FEATURES = frozenset(
    (
        *("appendOnly", "changeDataFeed", "checkConstraints", "clustering", "columnMapping"),
        *("deletionVectors", "domainMetadata", "generatedColumns", "identityColumns"),
        *("inCommitTimestamp", "invariants", "rowTracking", "timestampNtz", "v2Checkpoint"),
    )
)
"""Those that each release of Delta this package runs with has."""
_KEPT_ELSEWHERE = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")


@dataclass(frozen=True)
class Protocol:
    """The table features that readers and writers have to know."""

    features: frozenset[str] = frozenset()

    @classmethod
    def of(cls, action: Mapping[str, Any]) -> Protocol:
        features = (action.get("readerFeatures") or []) + (action.get("writerFeatures") or [])
        return cls(frozenset(features))

    @property
    def kept_elsewhere(self) -> list[str]:
        """The features by which another program keeps the table's commits."""
        return sorted(self.features.intersection(_KEPT_ELSEWHERE))


@dataclass(frozen=True)
class Metadata:
    """A `metaData` action: id, schema, partition columns and properties of the table."""

    id: str
    schema_string: str
    partition_columns: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, action: Mapping[str, Any]) -> Metadata:
        return cls(
            action["id"],
            action["schemaString"],
            tuple(action.get("partitionColumns") or ()),
            MappingProxyType(dict(action.get("configuration") or {})),
        )

    @cached_property
    def fields(self) -> tuple[Mapping[str, Any], ...]:
        """The columns as the schema's JSON has them: name, type, nullable, metadata."""
        return tuple(json.loads(self.schema_string)["fields"])

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(f["name"] for f in self.fields)

    @property
    def feed(self) -> bool:
        """Whether the change data feed is on."""
        return self.is_on("delta.enableChangeDataFeed")

    def is_on(self, name: str) -> bool:
        """Whether a property of the table is true."""
        return self.configuration.get(name, "").lower() == "true"

    @property
    def mapping(self) -> str:
        """The column mapping mode: none, name or id."""
        return self.configuration.get("delta.columnMapping.mode", "none").lower()

    @property
    def is_plain(self) -> bool:
        """Whether its files hold the columns by their names, as Delta's writers write them: those
        of others may have fewer columns, other types, dates of an old calendar."""
        return self.mapping == "none" and not self.is_linked

    @property
    def is_linked(self) -> bool:
        """Whether its files are those of other writers."""
        return self.configuration.get(LINKED) == "true"

    def __hash__(self) -> int:
        return hash((self.id, self.schema_string))


@dataclass(frozen=True)
class SchemaChange:
    """What one commit did to the columns, by their names before it (`added`: after it).

    Of those that are `retyped`, the values of `extended`, `widened` and `reshaped` ones are read in
    the new type as well.
    """

    new_id: bool = False
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: tuple[tuple[str, str], ...] = ()
    retyped: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    widened: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()
    partitioning: bool = False
    mapping: bool = False

    @property
    def touched(self) -> frozenset[str]:
        """Columns that are not what they were, in lower case."""
        names = (*self.dropped, *self.retyped, *(a for a, _ in self.renamed))
        return frozenset(n.lower() for n in names)

    @property
    def lost(self) -> frozenset[str]:
        """The `touched` ones whose values before are none of their values now."""
        return self.touched - {n.lower() for n in self._read_as_now}

    @property
    def replaced(self) -> frozenset[str]:
        """The columns, by their names now in lower case, in whose type no value before is read."""
        now = dict(self.renamed)
        other = set(self.retyped) - set(self._read_as_now)
        return frozenset(now.get(n, n).lower() for n in other)

    @property
    def _read_as_now(self) -> tuple[str, ...]:
        return (*self.extended, *self.widened, *self.reshaped)


def schema_change(old: Metadata, new: Metadata) -> SchemaChange | None:
    """The difference of two metadata actions; None if id, columns and layout are the same."""
    by_id = all(ID in f["metadata"] for f in (*old.fields, *new.fields))
    before = {_key(f, by_id): f for f in old.fields}
    after = {_key(f, by_id): f for f in new.fields}
    kept = [(before[k], after[k]) for k in before if k in after]
    types: dict[TypeChange, list[str]] = {kind: [] for kind in TypeChange}
    for a, b in kept:
        types[column_change(a, b)].append(a["name"])
    change = SchemaChange(
        new_id=old.id != new.id,
        added=tuple(f["name"] for k, f in after.items() if k not in before),
        dropped=tuple(f["name"] for k, f in before.items() if k not in after),
        renamed=tuple((a["name"], b["name"]) for a, b in kept if a["name"] != b["name"]),
        retyped=tuple(n for kind in TypeChange if kind is not TypeChange.SAME for n in types[kind]),
        extended=tuple(types[TypeChange.EXTENDED]),
        widened=tuple(types[TypeChange.WIDENED]),
        reshaped=tuple(types[TypeChange.RESHAPED]),
        partitioning=_partitions(old, by_id) != _partitions(new, by_id),
        mapping=old.mapping != new.mapping,
    )
    return None if change == SchemaChange() else change


def _key(column: Mapping[str, Any], by_id: bool) -> object:
    return column["metadata"][ID] if by_id else column["name"].lower()


def _partitions(metadata: Metadata, by_id: bool) -> list[object]:
    """The partition columns in order, whatever they are called."""
    known = {f["name"].lower(): _key(f, by_id) for f in metadata.fields}
    return [known.get(c.lower(), c) for c in metadata.partition_columns]
