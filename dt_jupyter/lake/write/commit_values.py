"""The request for a commit, and its outcome."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias

from dt_jupyter.lake.paths import TablePath, local

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    Rows: TypeAlias = pa.Table | DataFrame


@dataclass(frozen=True)
class CommitRequest:
    """One commit to the table at `path` as number `sequence` (dense, from 1) of `app_id`.

    `metadata` (JSON values) goes into the commit's userMetadata with `seq` and `attempt`.
    `expected_version` is the version that the change was computed on: data that others wrote
    since then make the commit Lost. `cluster_by` names the columns that the table is clustered by
    afterwards, whatever the writer made of that (None: as the writer leaves it).
    """

    path: TablePath
    app_id: str
    sequence: int
    attempt: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    expected_version: int | None = None
    cluster_by: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.sequence < 1 or not self.app_id or not self.attempt:
            raise ValueError("a commit has an application, an attempt and a sequence from 1")
        object.__setattr__(self, "metadata", MappingProxyType(dict(self.metadata)))

    @property
    def folder(self) -> Path:
        return local(self.path)

    @property
    def user_metadata(self) -> str:
        """The text that the commit carries."""
        own = {"seq": self.sequence, "attempt": self.attempt}
        return json.dumps({**self.metadata, **own}, sort_keys=True)


@dataclass(frozen=True)
class Append:
    """Insert all rows."""

    rows: Rows


@dataclass(frozen=True)
class Merge:
    """Apply rows that carry `__dt_op`: D deletes and U replaces the row with equal keys (NULL
    equals NULL; a U without one inserts), I inserts without looking. At most one D or U per key.
    `whole`: a row with D is the stored one, and not its keys alone. `counts`: how many rows have
    each of these, where that is known.
    """

    keys: Sequence[str]
    rows: Rows
    whole: bool = False
    counts: Mapping[str, int] | None = None

    def __post_init__(self) -> None:
        if not self.keys:
            raise ValueError("a merge has keys")


@dataclass(frozen=True)
class Overwrite:
    """Replace the whole contents; `new_schema` also takes the rows' columns as the table's."""

    rows: Rows
    new_schema: bool = False


Change: TypeAlias = Append | Merge | Overwrite


@dataclass(frozen=True, slots=True)
class CommitStatistics:
    """Counts of files, bytes and rows; None: unknown. `copied` rows were rewritten
    unchanged; an updated row counts in `updated` alone."""

    files_added: int = 0
    files_removed: int = 0
    bytes_added: int = 0
    inserted: int | None = 0
    updated: int | None = 0
    deleted: int | None = 0
    copied: int | None = 0


@dataclass(frozen=True, slots=True)
class Committed:
    """The commit is in the log, is ours and is on disk; by which writer, and why."""

    version: int
    statistics: CommitStatistics
    writer: str
    reason: str


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing of this attempt is visible. Codes: SEQUENCE_TAKEN (before writing), FENCED (another
    attempt holds the sequence), SKIPPED (the writer wrote nothing), FOREIGN_WRITE."""

    code: str
    sentence: str
    version: int
