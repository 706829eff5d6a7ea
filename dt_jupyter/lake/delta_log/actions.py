"""One commit file of a Delta log, read without Spark: its actions, and the facts they add up to."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from sys import intern
from types import MappingProxyType
from typing import Any, TypeAlias

from dt_jupyter.lake.delta_log.metadata import Metadata, SchemaChange
from dt_jupyter.lake.errors import LogBroken
from dt_jupyter.model import Timestamp

FileAction: TypeAlias = tuple[str, Mapping[str, Any]]
"""add, remove or cdc, and the action without its statistics."""

_FILES = frozenset(("add", "remove"))
FILE_FIELDS = ("path", "partitionValues", "size", "modificationTime", "deletionVector", "baseRowId",
         "defaultRowCommitVersion")  # fmt: skip
"""What an action says of a file besides what is known of its columns."""
_RECORDS = re.compile(r'\{"numRecords":(\d+)[,}]')
FileKey = tuple[str, str]
"""A file's path, and what its deletion vector is called ("" for none)."""


@dataclass(frozen=True, slots=True)
class CommitFacts:
    """One commit. Counts are of files, bytes and rows whose data changed; rows None: unknown.

    `metadata` (and `feed`, whether the change data feed is on) are those in force after the
    commit; `loose_vectors`: a file with a deletion vector came or went as a whole, rather than
    getting another vector; `marked_bytes` of files that got one, and were removed and added by
    that. `table_id` and `schema` are set only by one that wrote the metadata. `transactions`:
    application id → sequence.
    """

    version: int
    time: Timestamp
    operation: str
    metadata: Metadata
    data_change: bool = False
    added_files: int = 0
    added_bytes: int = 0
    added_rows: int | None = 0
    removed_files: int = 0
    removed_bytes: int = 0
    removed_rows: int | None = 0
    cdc_files: int = 0
    cdc_bytes: int = 0
    deletion_vectors: bool = False
    loose_vectors: bool = False
    marked_bytes: int = 0
    schema: SchemaChange | None = None
    table_id: str | None = None
    is_replace: bool = False
    transactions: Mapping[str, int] = field(default_factory=dict)
    user_metadata: str | None = None
    metrics: Mapping[str, str] = field(default_factory=dict)

    @property
    def feed(self) -> bool:
        return self.metadata.feed

    @property
    def only_adds(self) -> bool:
        return self.data_change and not (self.removed_files or self.cdc_files)


def commit_name(version: int) -> str:
    return f"{version:020d}.json"


def read_actions(
    file: Path | str, wanted: frozenset[str] | None = None
) -> Iterator[tuple[str, Any]]:
    """(kind, action) of each line; only `wanted` kinds are parsed. Raises FileNotFoundError and
    LogBroken (empty, truncated, not JSON)."""
    for line in _lines(file, wanted):
        for kind, body in _parsed(file, line).items():
            if body is not None and (wanted is None or kind in wanted):
                yield kind, body


def _lines(file: Path | str, wanted: frozenset[str] | None) -> Iterator[bytes]:
    """The lines of the wanted kinds, recognized by how they begin; one that is written unusually is
    among them."""
    begins = None if wanted is None else _begins(wanted)
    empty = True
    with open(file, "rb") as lines:
        for line in lines:
            if line.isspace():
                continue
            empty = False
            if begins is None or line.startswith(begins) or not line.startswith(b'{"'):
                yield line
    if empty:
        raise _broken(file, "is empty")


@cache
def _begins(wanted: frozenset[str]) -> tuple[bytes, ...]:
    return tuple(f'{{"{kind}"'.encode() for kind in sorted(wanted))


def _parsed(file: Path | str, line: bytes) -> dict[str, Any]:
    try:
        action: dict[str, Any] = json.loads(line.decode())  # bytes would have to be sniffed first
    except ValueError as e:
        raise _broken(file, f"is not JSON: {e}") from e
    return action


def _broken(file: Path | str, problem: str) -> LogBroken:
    path = Path(file)
    table = str(path.parent.parent)
    return LogBroken(f"the commit {path.name} {problem}", path=table, file=path.name)


def changes_data(file: Path | str) -> bool:
    """Whether a commit adds or removes rows; reads no further than to its first file that does.
    Raises as `read_actions` does."""
    for line in _lines(file, _FILES):
        if b'"dataChange":false' in line:  # unquoted, so it is the action's own and no text
            continue
        for kind, body in _parsed(file, line).items():
            if kind in _FILES and body is not None and body.get("dataChange", True):
                return True
    return False


def require_end(file: Path | str) -> None:
    """Reads no action but the last: a commit that was cut short lacks its end. Raises as
    `read_actions` does."""
    for last in deque(_lines(file, None), maxlen=1):
        _parsed(file, last)


def live_rows(action: Mapping[str, Any]) -> int | None:
    """The live rows of an add or remove: its records less its deletion vector's."""
    stats = action.get("stats")
    if not stats:
        return None
    found = _RECORDS.match(stats)  # as Spark and delta-rs begin it
    records = found[1] if found else json.loads(stats).get("numRecords")
    if records is None:
        return None
    return int(records) - int((action.get("deletionVector") or {}).get("cardinality", 0))


def file_key(action: Mapping[str, Any]) -> FileKey:
    """What identifies a logical file: its path and its deletion vector's unique id, as Delta's
    protocol has it."""
    vector = action.get("deletionVector")
    if not vector:
        return action["path"], ""
    name = f"{vector['storageType']}{vector['pathOrInlineDv']}@{vector.get('offset', '')}"
    return action["path"], name


@dataclass
class NetFiles:
    """Files that commits added and removed, by key; what was added and removed again is in
    neither."""

    came: dict[FileKey, Mapping[str, Any]] = field(default_factory=dict)
    went: dict[FileKey, Mapping[str, Any]] = field(default_factory=dict)

    def take(self, kind: str, body: Mapping[str, Any]) -> None:
        """One more action, an add or a remove."""
        mine, other = (self.came, self.went) if kind == "add" else (self.went, self.came)
        key = file_key(body)
        if other.pop(key, None) is None:
            mine[key] = body


class FactsBuilder:
    """Adds up the actions of one commit."""

    def __init__(self) -> None:
        self.info: Mapping[str, Any] = {}
        self.metadata: Metadata | None = None
        self.transactions: dict[str, int] = {}
        self.counts = {"add": [0, 0], "remove": [0, 0], "cdc": [0, 0]}
        self.rows: dict[str, int | None] = {"add": 0, "remove": 0}
        self.vectors = False
        self.moves: dict[str, dict[str, int]] = {}
        self.with_vector: set[str] = set()
        self.data_change = False
        self.files: list[FileAction] = []

    def take(self, kind: str, body: Mapping[str, Any]) -> None:
        if kind in ("add", "remove", "cdc"):
            self._file(kind, body)
        elif kind == "commitInfo":
            self.info = body
        elif kind == "metaData":
            self.metadata = Metadata.of(body)
        elif kind == "txn":
            self.transactions[body["appId"]] = int(body["version"])

    def _file(self, kind: str, body: Mapping[str, Any]) -> None:
        if body.get("deletionVector"):
            self.vectors = True
            self.with_vector.add(body["path"])
        if kind != "cdc":
            self.moves.setdefault(body["path"], {})[kind] = int(body.get("size") or 0)
            if not body.get("dataChange", True):
                return
            rows, known = live_rows(body), self.rows[kind]
            self.rows[kind] = None if rows is None or known is None else known + rows
        self.data_change = True
        self.files.append((kind, {k: body[k] for k in FILE_FIELDS if body.get(k) is not None}))
        self.counts[kind][0] += 1
        self.counts[kind][1] += int(body.get("size") or 0)

    def facts(
        self, version: int, time: Timestamp, metadata: Metadata, schema: SchemaChange | None
    ) -> CommitFacts:
        operation = intern(str(self.info.get("operation", "UNKNOWN")))
        (added, added_bytes), (removed, removed_bytes), (cdc, cdc_bytes) = self.counts.values()
        metrics = self.info.get("operationMetrics") or {}
        return CommitFacts(
            version=version,
            time=time,
            operation=operation,
            metadata=metadata,
            data_change=self.data_change,
            added_files=added,
            added_bytes=added_bytes,
            added_rows=self.rows["add"],
            removed_files=removed,
            removed_bytes=removed_bytes,
            removed_rows=self.rows["remove"],
            cdc_files=cdc,
            cdc_bytes=cdc_bytes,
            deletion_vectors=self.vectors,
            loose_vectors=any(len(self.moves[p]) == 1 for p in self.with_vector),
            marked_bytes=sum(
                sum(self.moves[p].values()) for p in self.with_vector if len(self.moves[p]) == 2
            ),
            schema=schema,
            table_id=self.metadata.id if self.metadata else None,
            is_replace=_replaces(operation, self.metadata is not None),
            transactions=MappingProxyType(dict(self.transactions)),
            user_metadata=user_metadata(self.info),
            metrics=MappingProxyType({intern(k): str(v) for k, v in metrics.items()}),
        )


def _replaces(operation: str, wrote_metadata: bool) -> bool:
    """`CREATE OR REPLACE`, `REPLACE TABLE`, and a clone over what was there."""
    name = operation.upper()
    return "REPLACE TABLE" in name or (name == "CLONE" and wrote_metadata)


def user_metadata(info: Mapping[str, Any]) -> str | None:
    """Spark writes a string; delta-rs a custom field of the same name, as text or as JSON."""
    value = info.get("userMetadata")
    return value if value is None or isinstance(value, str) else json.dumps(value)
