"""The live files of a snapshot, as delta-rs lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dt_jupyter.lake.paths import data_file

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(frozen=True, slots=True)
class LiveFile:
    """A data file; `rows` less those of its deletion vector (None: unknown), and for the columns
    asked for the bounds and NULLs that the log knows."""

    path: str
    bytes: int
    rows: int | None
    lowest: Mapping[str, Any]
    highest: Mapping[str, Any]
    nulls: Mapping[str, int | None]


@dataclass(frozen=True)
class Snapshot:
    """A table at a version; opened by delta-rs when first needed, once."""

    path: Path
    version: int

    @cached_property
    def table(self) -> DeltaTable:
        from deltalake import DeltaTable

        return DeltaTable(self.path, version=self.version)

    def on_disk(self, file: LiveFile) -> str:
        """The file's path, as the operating system has it."""
        return data_file(self.path, unquote(file.path))

    def files(self, columns: Iterable[str] = (), *, live_rows: bool = True) -> list[LiveFile]:
        """Every file; without `live_rows` deletion vectors are not read, and rows are records."""
        import pyarrow as pa

        actions = pa.table(self.table.get_add_actions(flatten=True)).to_pylist()
        vectors = "deletionVectors" in (self.table.protocol().reader_features or ())
        deleted = _deleted(pa.table(self.table.deletion_vectors())) if vectors and live_rows else {}
        wanted = tuple(columns)
        return [_live(a, deleted, wanted) for a in actions]


def _deleted(vectors: Any) -> dict[str, int]:
    """Deleted rows by file name, from delta-rs's selection vectors (true: the row lives)."""
    import pyarrow.compute as pc

    found = {}
    for row in range(vectors.num_rows):
        keep = vectors["selection_vector"][row].values
        name = vectors["filepath"][row].as_py().rsplit("/", 1)[-1]
        found[name] = len(keep) - (pc.sum(keep).as_py() or 0)
    return found


def _live(
    action: Mapping[str, Any], deleted: Mapping[str, int], columns: tuple[str, ...]
) -> LiveFile:
    records = action.get("num_records")
    gone = deleted.get(action["path"].rsplit("/", 1)[-1], 0)
    return LiveFile(
        path=action["path"],
        bytes=action["size_bytes"],
        rows=None if records is None else records - gone,
        lowest={c: action.get(f"min.{c}") for c in columns},
        highest={c: action.get(f"max.{c}") for c in columns},
        nulls={c: action.get(f"null_count.{c}") for c in columns},
    )
