"""Writes snapshots to archives, and reads them."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake import sync, write_durable
from dt_jupyter.model import Name, Source, SourceKind, Timestamp, ViewSource, undo
from dt_jupyter.replay.archive_files import (
    MANIFEST,
    ROWS,
    Archive,
    ArchiveIndex,
    invalid_archive,
)
from dt_jupyter.replay.digest import bag_of, columns_of
from dt_jupyter.replay.replay import Bench, Replay, Step, open_replay
from dt_jupyter.replay.snapshots import Snapshots, whole
from dt_jupyter.sources import Moment
from dt_jupyter.spark import collect_arrow, text_of_path

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_MICRO = 1e-6


def archive_snapshot(bench: Bench, name: Name, at: Moment, to: Path) -> Archive:
    """A snapshot, pinned for the time, written to a folder that is not there yet, or empty; read
    again and compared before the lake records it.

    Raises DT-1101, DT-3106, DT-41xx; DT-4113 for a folder that cannot take it.
    """
    now = bench.snapshots.now()
    with _folder(to), open_replay(bench, name, whole(name), at) as replay:
        step = replay.only
        frame = step.frame()
        size = _write_rows(to / ROWS, step.batches(), frame)
        made = _archive(bench.snapshots, name, replay, step, frame, (to, size, now))
        _require_same(bench, made)
        write_durable(to / MANIFEST, made.to_json())
        sync([to])
    ArchiveIndex(bench.layout).add(made)
    return made


def read_archive(spark: SparkSession, archive: Archive) -> DataFrame:
    """Its rows, with the columns of then. DT-4113 where they are gone."""
    from pyspark.sql.types import StructType

    file = Path(archive.folder) / ROWS
    if not file.is_file():
        raise invalid_archive(archive.folder, f"{ROWS} is not there")
    return spark.read.schema(StructType.fromJson(_parsed(archive.schema))).parquet(
        text_of_path(file)
    )


def verify_archive(bench: Bench, archive: Archive) -> None:
    """DT-4113 where its rows are not those that were written."""
    _require_same(bench, archive)


# -- writing ---------------------------------------------------------------------------------------


@contextmanager
def _folder(to: Path) -> Iterator[None]:
    """A folder of the archive's own, which is gone again where the block raises."""
    try:
        to.mkdir(parents=True, exist_ok=True)
        taken = next(to.iterdir(), None)
    except OSError as e:
        raise invalid_archive(to, str(e)) from e
    if taken is not None:
        raise invalid_archive(to, f"it is not empty: {taken.name} is in it")
    try:
        yield
    except BaseException as e:
        undo(e, lambda: shutil.rmtree(to))
        raise


def _write_rows(path: Path, batches: Iterable[pa.RecordBatch], frame: DataFrame) -> int:
    """All rows in their order; the bytes of the file."""
    import pyarrow.parquet as pq

    schema = collect_arrow(frame.limit(0)).schema
    with pq.ParquetWriter(path, schema, coerce_timestamps="us", compression="zstd") as writer:
        for batch in batches:
            writer.write_batch(batch.cast(schema))
    sync([path])
    return path.stat().st_size


def _archive(
    snapshots: Snapshots,
    name: Name,
    replay: Replay,
    step: Step,
    frame: DataFrame,
    written: tuple[Path, int, Timestamp],
) -> Archive:
    to, size, now = written
    snapshot = replay.snapshot(0)
    spans = [_span(snapshots, t.source, t.version, now) for t in snapshot.tables.values()]
    found = snapshots.sources.source(name, name)
    table = snapshots.sources.catalog.get(name)
    query = found.text if isinstance(found, ViewSource) else None
    return Archive(
        uuid.uuid4().hex,
        name,
        str(to.resolve()),
        max(since for since, _ in spans),
        min(until for _, until in spans),
        step.versions,
        tuple(sorted(snapshot.tables)),
        step.row_count,
        size,
        step.digest,
        now,
        frame.schema.json(),
        step.commits,
        query if table is None else table.definition.query,
    )


def _span(
    snapshots: Snapshots, source: Source, version: int, now: Timestamp
) -> tuple[Timestamp, Timestamp]:
    """From when until before when a version is that of a table, as far as is known now; of a
    dynamic table by its data timestamps."""
    read = snapshots.read_at(source, version)
    if source.kind is not SourceKind.DYNAMIC_TABLE:
        return read.since, read.until or now.plus(_MICRO)
    times = snapshots.sources.catalog.versions(source.table_id)
    own = [t for t, v in times if v == version] or [read.since]
    later = (t for t, v in times if v > version)
    return own[0], next(later, own[-1].plus(_MICRO))


def _require_same(bench: Bench, archive: Archive) -> None:
    with bench.session() as spark:
        frame = read_archive(spark, archive)
        columns = columns_of(frame.schema)
        bench.pace.await_turn(archive.bytes)
        found = bag_of(spark, frame.coalesce(1), columns)
    if found.rows != archive.rows or found.digest(columns) != archive.digest:
        raise invalid_archive(archive.folder, "its rows are not those of the snapshot")


def _parsed(schema: str) -> dict[str, object]:
    found: dict[str, object] = json.loads(schema)
    return found


__all__ = ["archive_snapshot", "read_archive", "verify_archive"]
