"""All rows of a table, computed by Spark and written without it where they are not many.

A write of Spark's to a Delta table takes a second for jobs over its log, however few the rows are.
So they are put into files of the attempt, and where these are small, delta-rs takes the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake import (
    FILE_CONFS,
    FastLane,
    NotSupported,
    TableLog,
    arrow_schema,
    table_refusal,
)
from dt_jupyter.spark import confs, text_of_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

WHOLE = FastLane(rows=10_000_000, bytes=256 << 20)
"""The rows of a whole table are written once, and nothing is looked for."""
_MOST_READ = 1 << 30
"""Where more bytes are read, a second write of many rows costs more than Spark's jobs."""


def gather_rows(
    frame: DataFrame, target: TableLog, folder: Path, read: int
) -> tuple[pa.Table | DataFrame, DataFrame | None]:
    """The rows of `frame`, which reads `read` bytes, for an overwrite of the table `target`, as
    Arrow where they are few; and the same rows from files in `folder`, None where delta-rs would
    not write them anyhow, so that they are computed when they are written."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if read > _MOST_READ or table_refusal(target) is not None:
        return frame, None
    try:
        schema = arrow_schema(list(frame.schema.jsonValue()["fields"]))
    except NotSupported:
        return frame, None
    spark = frame.sparkSession
    with confs(spark, FILE_CONFS):
        frame.write.mode("overwrite").parquet(text_of_path(folder))
    stored = spark.read.schema(frame.schema).parquet(text_of_path(folder))
    files = sorted(folder.glob("*.parquet"))
    few = sum(pq.read_metadata(f).num_rows for f in files) <= WHOLE.rows
    if not few or sum(f.stat().st_size for f in files) > WHOLE.bytes:
        return stored, stored
    try:
        parts = [pq.read_table(f, partitioning=None).select(schema.names) for f in files]
        rows = pa.concat_tables([p.cast(schema) for p in parts] or [schema.empty_table()])
    except pa.ArrowException:  # of a type that Arrow does not take over as Spark writes it
        return stored, stored
    return (rows if rows.nbytes <= WHOLE.bytes else stored), stored
