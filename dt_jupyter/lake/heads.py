"""A few rows of a table of any size, read by delta-rs: neither a job nor a snapshot of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.files import Snapshot
from dt_jupyter.lake.log import TableLog
from dt_jupyter.lake.paths import data_file
from dt_jupyter.lake.types import arrow_schema, contains, int96

if TYPE_CHECKING:
    import pyarrow as pa

_FILES = 200
"""Of a table with timestamps the footers of all files are looked at: no more of them than this."""


def head(log: TableLog, count: int) -> pa.Table | None:
    """Some `count` rows of the newest version, whichever, with all columns in Delta's own types;
    None where Spark has to read them."""
    import pyarrow as pa
    from deltalake import QueryBuilder
    from deltalake.exceptions import DeltaError

    version = log.version()
    metadata = log.metadata(version)
    if metadata.mapping != "none":
        return None
    try:
        schema = arrow_schema(metadata.fields)
        snapshot = Snapshot(log.path, version)
        if contains(metadata, frozenset(["timestamp"])):
            files = [data_file(log.path, unquote(f.path)) for f in snapshot.files(live_rows=False)]
            if len(files) > _FILES or int96(files) is not None:
                return None
        query = QueryBuilder().register("t", snapshot.table)
        read = pa.table(query.execute(f"SELECT * FROM t LIMIT {count:d}").read_all())
        return read.select(list(metadata.columns)).cast(schema)
    except (LakeError, NotSupported, DeltaError, pa.ArrowException, OSError):
        return None
