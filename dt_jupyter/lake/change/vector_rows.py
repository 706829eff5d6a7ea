"""Rows that were inserted and deleted by deletion vectors: those in which the one that a file has
differs from the one that it had. Of the file only the columns that are requested are decoded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.actions import FileAction
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.table_files import TIMED_TYPES, VersionFile
from dt_jupyter.lake.types import INT96, contains
from dt_jupyter.model.hidden import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

_Action = Mapping[str, Any]


@dataclass(frozen=True)
class MovedFile:
    """A file as it came and as it went in one commit; None: it did not."""

    came: _Action | None
    went: _Action | None


def pairs_of(files: Sequence[FileAction]) -> list[tuple[_Action | None, _Action | None]]:
    """The files of one commit by path, each as it came and as it went."""
    came = {body["path"]: body for kind, body in files if kind == "add"}
    went = {body["path"]: body for kind, body in files if kind == "remove"}
    return [(came.get(path), went.get(path)) for path in dict.fromkeys([*came, *went])]


def vector_rows(
    log: TableLog,
    version: int,
    columns: Sequence[str],
    files: Sequence[MovedFile],
    kept: KeptColumns | None,
) -> list[pa.Table]:
    """The rows with their weights, in the columns of a version. NotSupported for what is left to
    Spark; raises as `KeptColumns.rows_of` does."""
    import pyarrow as pa

    metadata, found = log.metadata(version), []
    kept = kept if kept is not None else KeptColumns(most_bytes=0)
    timed = contains(metadata, TIMED_TYPES, columns)
    for moved in files:
        for file, weight in _changed(log, kept, moved):
            if timed and file.footer.has_other_times:
                raise NotSupported(INT96)
            if metadata.partition_columns and "partitionValues" not in file.action:
                raise NotSupported("a removed file without its partition's values")
            rows = kept.rows_of([file], metadata, columns)
            weights = pa.repeat(pa.scalar(weight, pa.int64()), rows.num_rows)
            found.append(rows.append_column(WEIGHT, weights))
    return found


def _changed(log: TableLog, kept: KeptColumns, moved: MovedFile) -> list[tuple[VersionFile, int]]:
    """A file with the rows that came, and with those that went."""
    import pyarrow as pa

    now, before = (
        None if action is None else kept.known.file_of(log.path, action)
        for action in (moved.came, moved.went)
    )
    if now is None or before is None:
        whole, weight = (now, 1) if now is not None else (before, -1)
        assert whole is not None
        return [(whole, weight)]
    lives, lived = now.living_mask, before.living_mask
    return [
        (replace(now, living=pa.array(mask)), weight)
        for mask, weight in ((lives & ~lived, 1), (lived & ~lives, -1))
        if mask.any()
    ]
