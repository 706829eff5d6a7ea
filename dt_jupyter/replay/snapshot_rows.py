"""The rows of a snapshot as Arrow, in the same order every time, a bounded part in memory.

A table's come by file, the oldest first, then by their position in it; those of another query, and
on Spark Connect, sorted by their hashes, through files next to the pinned copies.

Parts of a table are read one after the other, each by one core and when its turn has come.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from dt_jupyter.lake import Action, Metadata, files_view, open_log, snapshot_sql, spark_schema
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import hidden, unique_view
from dt_jupyter.replay.digest import Columns, hash_order, named
from dt_jupyter.replay.pace import paid_batches
from dt_jupyter.replay.snapshots import TableAt, rows_sql
from dt_jupyter.spark import collect_arrow, text_of_path, type_text
from dt_jupyter.sql import SchemaMode

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

PART_BYTES = 16 << 20
"""Files of this number of bytes are read at once."""
BATCH_ROWS = 65_536
_FILE, _BLOCK, _ROW = hidden("file"), hidden("block"), hidden("index")
AwaitTurn = Callable[[int], None]
"""Returns when the given number of bytes may be read."""


def table_batches(
    spark: SparkSession,
    table: TableAt,
    files: Sequence[Action],
    mode: SchemaMode,
    folder: Path,
    await_turn: AwaitTurn,
) -> Iterator[pa.RecordBatch]:
    """The rows of the live `files` of a snapshot, in their order; those of a large file come
    through files in `folder`."""
    for rows, size in _parts(spark, table, files, mode, await_turn):
        if size > PART_BYTES:
            batches = _through(rows, folder / unique_view("part"))
        else:
            batches = iter(collect_arrow(rows).to_batches(max_chunksize=BATCH_ROWS))
        yield from paid_batches(batches, size, await_turn)


def table_parts(
    spark: SparkSession,
    table: TableAt,
    files: Sequence[Action],
    mode: SchemaMode,
    await_turn: AwaitTurn,
) -> Iterator[DataFrame]:
    """The rows of the live `files` of a snapshot, part by part."""
    for rows, _ in _parts(spark, table, files, mode, await_turn):
        yield rows


def _parts(
    spark: SparkSession,
    table: TableAt,
    files: Sequence[Action],
    mode: SchemaMode,
    await_turn: AwaitTurn,
) -> Iterator[tuple[DataFrame, int]]:
    """The rows of each part when its turn has come, in one partition and in their order; the bytes
    of its files."""
    for part in parts_of(files, PART_BYTES):
        size = sum(int(f["size"]) for f in part)
        await_turn(size)
        view = unique_view("part")
        ordered = _positioned(spark, table, part).coalesce(1)
        ordered.sortWithinPartitions(_FILE, _BLOCK, _ROW).createOrReplaceTempView(view)
        try:
            yield spark.sql(rows_sql(table, view, mode)), size
        finally:
            spark.catalog.dropTempView(view)


def parts_of(files: Sequence[Action], limit: int) -> Iterator[list[Action]]:
    """Neighbours of at most `limit` bytes together, none of which has another's name."""
    part: list[Action] = []
    size = 0
    for file in files:
        own = int(file["size"])
        if part and (size + own > limit or _name(file) in map(_name, part)):
            yield part
            part, size = [], 0
        part.append(file)
        size += own
    if part:
        yield part


def _name(file: Action) -> str:
    return unquote(file["path"]).rsplit("/", 1)[-1]


def _positioned(spark: SparkSession, table: TableAt, part: Sequence[Action]) -> DataFrame:
    """The rows of files with the place of their file in the part, and of their block and theirs in
    it: a task reads a block from its start, and its ids rise."""
    from pyspark.sql import functions as f

    names = f.array(*(f.lit(_name(file)) for file in part))
    rows = files_view(spark, open_log(table.folder), table.version, part)
    return rows.select(
        "*",
        f.array_position(names, f.col("_metadata.file_name")).alias(_FILE),
        f.col("_metadata.file_block_start").alias(_BLOCK),
        f.monotonically_increasing_id().alias(_ROW),
    )


def query_batches(
    frame: DataFrame, columns: Columns, folder: Path, await_turn: AwaitTurn
) -> Iterator[pa.RecordBatch]:
    """The rows of any query sorted by their hashes, through Parquet files in `folder`. The query
    runs as a whole; each batch of its rows waits for its turn."""
    order = hash_order(columns)
    rows = named(frame, columns)
    if order is not None:
        from pyspark.sql import functions as f

        rows = rows.orderBy(*(f.expr(h) for h in order))
    for batch in paid_batches(_through(rows, folder), 0, await_turn):
        yield batch.rename_columns([n for n, _ in columns])


def _through(rows: DataFrame, folder: Path) -> Iterator[pa.RecordBatch]:
    """Ordered rows through Parquet files, which are gone afterwards."""
    import pyarrow.parquet as pq

    rows.write.mode("overwrite").parquet(text_of_path(folder))
    try:
        for file in sorted(folder.glob("part-*.parquet")):
            yield from pq.ParquetFile(file).iter_batches(BATCH_ROWS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def with_new_columns(folder: Path, version: int, stored: Sequence[str], metadata: Metadata) -> str:
    """A version of a backing table with NULLs in the columns of `metadata` that it lacks."""
    items = (
        quote(f.name)
        if f.name in stored
        else f"CAST(NULL AS {type_text(f.dataType)}) AS {quote(f.name)}"
        for f in spark_schema(metadata.fields)
    )
    return f"(SELECT {', '.join(items)} FROM {snapshot_sql(folder, version)})"
