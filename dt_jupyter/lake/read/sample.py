"""A few rows of a table of any size, read by delta-rs: neither a job nor a snapshot of Spark's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.read.reader_rs import read_snapshot, times_are_sparks
from dt_jupyter.lake.types import arrow_schema, fields_named
from dt_jupyter.model.hidden import VISIBLE

if TYPE_CHECKING:
    import pyarrow as pa

_FILES = 200
"""Of a table with timestamps the footers of all files are read: no more of them than this."""


def head(log: TableLog, count: int, columns: Sequence[str] = ()) -> pa.Table | None:
    """Any `count` rows of the newest version in Delta's own types, with all columns; with those of
    `columns` only rows that are shown. None where Spark has to read them."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    version = log.version()
    metadata = log.metadata(version)
    if not metadata.is_plain:
        return None
    try:
        schema = arrow_schema(fields_named(metadata, columns or metadata.columns))
        snapshot = TableSnapshot(log.path, version)
        if times_are_sparks(snapshot, metadata, schema.names, _FILES):
            return None
        shown = VISIBLE if columns and VISIBLE in metadata.columns else None
        return read_snapshot(snapshot, metadata, schema, count, shown)
    except (LakeError, NotSupported, DeltaError, pa.ArrowException, OSError):
        return None
