"""Files that came, changed or went since they were last listed: the next version of their list."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.lake import (
    DataFile,
    FileList,
    LakeError,
    ListChange,
    ListReader,
    LiveFiles,
    Recorded,
    StoredFile,
    TableGone,
    TableLog,
    WrongValue,
    carry_on,
    close_batch,
    compare_lists,
    count_rows,
    new_batch,
    partition_values,
    reach,
    spark_schema,
    sweep_batches,
    table_lock,
)
from dt_jupyter.model import Name, Timestamp, error
from dt_jupyter.sources.file_roots import Roots
from dt_jupyter.sources.file_tables import FileTable, partition_types
from dt_jupyter.spark import empty_frame, text_of_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

Session = Callable[[], AbstractContextManager["SparkSession"]]
"""A session of Spark's in which files are read, for the time of a block."""
YOUNG_SECONDS = 60.0
"""A Parquet file that is not whole, and has been changed since, may still be in the writing."""
_TRIES = 3
_SAMPLED = 20
_PATTERN = re.compile(r"[*?\[\]{}\\]")


@dataclass(frozen=True)
class FileSource:
    """The files of one source, the log of their lists, and its name where they are read; `spark`
    is the session that resolves what a pattern names, and which partitions count."""

    name: Name
    table: FileTable
    log: TableLog
    lists: ListReader
    spark: SparkSession

    @property
    def place(self) -> Path:
        return self.table.place

    def path(self, file: str) -> Path:
        return self.place / file if file else self.place

    def recorded(self) -> FileList:
        return self.lists.at(self.log.version())

    def listed(self) -> dict[str, DataFile]:
        """The files that are there. Raises TableGone, DT-1146."""
        try:
            found = self.table.files(self.spark)
        except TableGone:
            raise
        except LakeError as e:
            raise error("DT-1146", source=self.name, problem=e.sentence) from e
        if self.table.roots is not Roots.FOLDER or partition_types(self.log):
            return found
        if stray := next((p for p in sorted(found) if "=" in p.rpartition("/")[0]), None):
            problem = f"{stray} is in one, and there were none"
            raise error("DT-1146", source=self.name, problem=problem)
        return {p: f for p, f in found.items() if "/" not in p}

    def change(self) -> ListChange:
        """What is new since the last version of the list; no Spark job."""
        return compare_lists(self.recorded(), self.listed())


def follow_files(source: FileSource, t: Timestamp, session: Session | None) -> bool:
    """Records the files as they are for the data timestamp `t`, unless a list of then or later is
    there. Without a `session`, whether one would be needed for it: nothing is recorded then.

    Raises TableGone, DT-1145 for a file that does not have its format, DT-1146 for one in the wrong
    folder, DT-1147 where files are written while they are read, DT-1148 for a folder with a value
    of another type.
    """
    log = source.log
    if log.commit_time(log.version()).micros // 1000 >= t.micros // 1000 and log.version():
        return False
    if not source.change():
        return False
    if session is None and not source.table.linked:
        return True
    with table_lock(log.path):
        for _ in range(_TRIES):
            if _recorded(source, t, session):
                return False
    change = source.change()
    file = next(iter((*change.came, *change.others)), "")
    raise error("DT-1147", file=source.path(file), source=source.name)


def _recorded(source: FileSource, t: Timestamp, session: Session | None) -> bool:
    """Whether the files were the same after they were read, and are recorded."""
    before, now = source.recorded(), source.listed()
    sweep_batches(source.log.path, before)
    change = compare_lists(before, now)
    anew = now if change.others and not source.table.linked else None
    wanted = sorted(anew if anew is not None else (*change.came, *(change.others.keys() & now)))
    batch = new_batch(source.log.path)
    if source.table.linked:
        came, stored = _link(source, t, batch, {p: now[p] for p in wanted})
    else:
        came, stored = _copy(source, session, batch, {p: now[p] for p in wanted})
        if not _same(source, came):
            return False
    reach("files_copied")
    if came or change.others:
        _commit(source, change, before, came, stored, t)
        reach("files_listed")
    close_batch(source.log.path, batch)
    return True


def _commit(
    source: FileSource,
    change: ListChange,
    before: FileList,
    came: FileList,
    stored: Sequence[StoredFile],
    t: Timestamp,
) -> None:
    gone = [p for p in change.others if p not in came]
    after = {p: r for p, r in before.items() if p not in gone} | dict(came)
    carry_on(
        source.log,
        after,
        came,
        gone,
        stored,
        _taken(source, change, before),
        change.sentence,
        t.micros // 1000,
    )


def _taken(source: FileSource, change: ListChange, before: FileList) -> list[str]:
    if not change.others:
        return []
    if source.table.linked:
        return [before[p].stored for p in change.others]
    live = LiveFiles(source.log.path).at(source.log.version())
    return [str(add["path"]) for add in live]


def _same(source: FileSource, came: FileList) -> bool:
    now = source.listed()
    return all(now.get(p) == r.file for p, r in came.items())


# -- Parquet: read in place -------------------------------------------------------------------


def _link(
    source: FileSource, t: Timestamp, batch: str, files: Mapping[str, DataFile]
) -> tuple[FileList, list[StoredFile]]:
    """Links to the files that are whole. DT-1145 for one that has not become so, DT-1146."""
    rows = count_rows([source.path(p) for p in files])
    came, stored = dict[str, Recorded](), list[StoredFile]()
    for i, ((path, file), count) in enumerate(zip(files.items(), rows, strict=True)):
        if count is None:
            _require_young(source, path, file, t)
            continue
        link = f"{batch}/{i}.parquet"
        os.symlink(source.path(path), source.log.path / link)
        came[path] = Recorded(file, link)
        values = _values(source, path)
        stored.append(StoredFile(link, file.size, file.modified, count, values))
    return came, stored


def _require_young(source: FileSource, path: str, file: DataFile, t: Timestamp) -> None:
    if t.since(Timestamp(file.modified // 1000)) > YOUNG_SECONDS:
        kind = source.table.format
        raise error("DT-1145", file=source.path(path), source=source.name, format=kind)


def _values(source: FileSource, path: str) -> dict[str, str | None]:
    types = partition_types(source.log)
    if not types and source.table.roots is Roots.PATTERN:
        return {}
    try:
        return partition_values(path, types)
    except WrongValue as e:
        raise error("DT-1148", source=source.name, problem=e.sentence) from e
    except LakeError as e:
        raise error("DT-1146", source=source.name, problem=e.sentence) from e


# -- other formats: their rows as Parquet ----------------------------------------------------------


def _copy(
    source: FileSource, session: Session | None, batch: str, files: Mapping[str, DataFile]
) -> tuple[FileList, list[StoredFile]]:
    """The rows of the files, read once by Spark with the recorded columns."""
    came = {p: Recorded(f, batch) for p, f in files.items()}
    if not files:
        return came, []
    for path in files:
        _values(source, path)
    assert session is not None
    folder = source.log.path / batch / "rows"
    with session() as spark:
        _write_rows(spark, source, sorted(files), folder)
    parts = sorted(folder.glob("*.parquet"))
    counts = count_rows(parts)
    stored = [
        StoredFile(f"{batch}/rows/{p.name}", s.st_size, s.st_mtime_ns, n, {})
        for p, n in zip(parts, counts, strict=True)
        if n and (s := p.stat())
    ]
    return came, stored


def sample_files(spark: SparkSession, source: FileSource, count: int) -> DataFrame:
    """A few rows of the files as they are now."""
    if source.table.roots is Roots.FOLDER:
        return _reader(spark, source).load([_literal(source.place)]).limit(count)
    some = [_literal(source.path(f)) for f in sorted(source.listed())[:_SAMPLED]]
    schema = spark_schema(source.log.metadata().fields)
    return _reader(spark, source).load(some).limit(count) if some else empty_frame(spark, schema)


def _reader(spark: SparkSession, source: FileSource) -> DataFrameReader:
    columns = spark_schema(source.log.metadata().fields)
    reader = spark.read.format(source.table.format).schema(columns)
    for key, value in source.table.options:
        reader = reader.option(key, value)
    if source.place.is_dir() and source.table.roots is not Roots.PATTERN:
        reader = reader.option("basePath", text_of_path(source.place))
    return reader


def _literal(path: Path) -> str:
    """A path as Spark reads it, whatever characters of a pattern are in it. (Its option against
    patterns reads the other files twice.)"""
    return _PATTERN.sub(r"\\\g<0>", text_of_path(path))


def _write_rows(
    spark: SparkSession, source: FileSource, files: Sequence[str], folder: Path
) -> None:
    rows = _reader(spark, source).load([_literal(source.path(f)) for f in files])
    rows.write.mode("append").parquet(text_of_path(folder))


__all__ = ["FileSource", "Session", "follow_files", "sample_files"]
