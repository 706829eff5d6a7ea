"""The live files of a snapshot, as delta-rs lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from dt_jupyter.lake.errors import LogBroken, NotSupported, read_by_delta_rs
from dt_jupyter.lake.paths import data_file, require_openable

if TYPE_CHECKING:
    import pyarrow as pa
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
class TableSnapshot:
    """A table at a version; opened by delta-rs when first needed, once."""

    path: Path
    version: int

    @cached_property
    def table(self) -> DeltaTable:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        require_openable(self.path)
        try:
            return DeltaTable(self.path, version=self.version)
        except DeltaError as e:
            problem = next(iter(str(e).splitlines()), "")
            told = f"version {self.version} of {self.path} cannot be read: {problem}"
            raise LogBroken(told, path=str(self.path)) from e

    def on_disk(self, file: LiveFile) -> str:
        """The file's path, as the operating system has it."""
        return data_file(self.path, unquote(file.path))

    def files(self, columns: Iterable[str] = (), *, live_rows: bool = True) -> list[LiveFile]:
        """Every file; without `live_rows` deletion vectors are not read, and rows are records."""
        import pyarrow as pa

        actions = pa.table(self.table.get_add_actions(flatten=True)).to_pylist()
        vectors = "deletionVectors" in (self.table.protocol().reader_features or ())
        deleted = self._deleted_rows() if vectors and live_rows else {}
        wanted = tuple(columns)
        return [_live(a, deleted, wanted) for a in actions]

    def _deleted_rows(self) -> Mapping[str, int] | None:
        """By file name; None where a deletion vector cannot be read: counts are unknown then, and
        a reader of the rows fails."""
        import pyarrow as pa
        from deltalake.exceptions import DeltaError

        try:
            with read_by_delta_rs():
                return _deleted(pa.table(self.table.deletion_vectors()))
        except (NotSupported, DeltaError, pa.ArrowException, OSError):
            return None


def _deleted(vectors: pa.Table) -> dict[str, int]:
    """Deleted rows by file name, from delta-rs's selection vectors (true: the row lives)."""
    import pyarrow.compute as pc

    found = {}
    for row in range(vectors.num_rows):
        keep = vectors["selection_vector"][row].values
        name = vectors["filepath"][row].as_py().rsplit("/", 1)[-1]
        found[name] = len(keep) - (pc.sum(keep).as_py() or 0)
    return found


def _live(
    action: Mapping[str, Any], deleted: Mapping[str, int] | None, columns: tuple[str, ...]
) -> LiveFile:
    records = action.get("num_records") if deleted is not None else None
    gone = (deleted or {}).get(action["path"].rsplit("/", 1)[-1], 0)
    return LiveFile(
        path=action["path"],
        bytes=action["size_bytes"],
        rows=None if records is None else records - gone,
        lowest={c: action.get(f"min.{c}") for c in columns},
        highest={c: action.get(f"max.{c}") for c in columns},
        nulls={c: action.get(f"null_count.{c}") for c in columns},
    )
