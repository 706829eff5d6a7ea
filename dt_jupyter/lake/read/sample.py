"""A few rows of a table of any size, read by delta-rs: neither a job nor a snapshot of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.read.reader_rs import read_snapshot, times_are_sparks
from dt_jupyter.lake.types import arrow_schema

if TYPE_CHECKING:
    import pyarrow as pa

_FILES = 200
"""Of a table with timestamps the footers of all files are looked at: no more of them than this."""


def head(log: TableLog, count: int) -> pa.Table | None:
    """Some `count` rows of the newest version, whichever, with all columns in Delta's own types;
    None where Spark has to read them."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    version = log.version()
    metadata = log.metadata(version)
    if not metadata.is_plain:
        return None
    try:
        schema = arrow_schema(metadata.fields)
        snapshot = TableSnapshot(log.path, version)
        if times_are_sparks(snapshot, metadata, metadata.columns, _FILES):
            return None
        return read_snapshot(snapshot, metadata, schema, count)
    except (LakeError, NotSupported, DeltaError, pa.ArrowException, OSError):
        return None
