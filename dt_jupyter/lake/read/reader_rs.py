"""Rows of a snapshot as delta-rs reads them, where they are those that Spark reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.errors import read_by_delta_rs
from dt_jupyter.lake.types import contains, int96

if TYPE_CHECKING:
    import pyarrow as pa


def times_are_sparks(
    snapshot: TableSnapshot, metadata: Metadata, columns: Sequence[str], most: int | None = None
) -> bool:
    """Whether a file holds timestamps as INT96, which lose what Spark wrote; with timestamps in
    more than `most` files that is not looked for, and Spark has to read them."""
    if not contains(metadata, frozenset(["timestamp"]), columns):
        return False
    files = snapshot.files(live_rows=False)
    too_many = most is not None and len(files) > most
    return too_many or int96(map(snapshot.on_disk, files)) is not None


def read_snapshot(
    snapshot: TableSnapshot,
    metadata: Metadata,
    schema: pa.Schema,
    count: int | None = None,
    where: str | None = None,
) -> pa.Table:
    """The columns of a schema (of `arrow_schema`); `count`: any `count` rows, and those for
    which the column `where` is true.

    Raises NotSupported, DeltaError, ArrowException and OSError.
    """
    import pyarrow as pa
    from deltalake import QueryBuilder

    limit = "" if count is None else f" LIMIT {count:d}"
    condition = "" if where is None else f" WHERE {items(metadata, [where])}"
    text = f"SELECT {items(metadata, schema.names)} FROM t{condition}{limit}"
    with read_by_delta_rs():
        query = QueryBuilder().register("t", snapshot.table)
        found = pa.table(query.execute(text).read_all())
    return found.rename_columns(schema.names).cast(schema)


def items(metadata: Metadata, columns: Sequence[str]) -> str:
    """The columns as they are stored, quoted for delta-rs."""
    stored = {f["name"].lower(): f["name"] for f in metadata.fields}
    return ", ".join('"' + stored[c.lower()].replace('"', '""') + '"' for c in columns)
