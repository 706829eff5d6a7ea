"""Rows of a version by those of a version before it and what changed since: a writer that makes
files again for a few of their rows makes what was cached of them useless, but the old files' rows
are the new ones', less and plus the change."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count
from typing import TYPE_CHECKING

from dt_jupyter.caches import Cache
from dt_jupyter.lake.change.feed_cache import KeptRows
from dt_jupyter.lake.change.pairs import paired_off
from dt_jupyter.lake.change.small_changes import Small, stored_changes
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.read.column_memory import table_bytes
from dt_jupyter.lake.read.kept_columns import KeptColumns
from dt_jupyter.lake.read.table_files import VersionFiles
from dt_jupyter.lake.read.wanted_rows import RowSelection, are_among
from dt_jupyter.model.hidden import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa

_ENDS = 2
_CHUNKS = 16
_NEW_SHARE = 0.01
"""A version with so few of its bytes in new files is read as it is, and the next base."""
_CHANGED_SHARE = 0.05
"""The share of a table's rows that may change before a later version is its base."""
_CACHED_SHARE = 0.5
"""If less than this share of a base's bytes is in files with columns on the disk, another base is
made."""
_MOST_CHANGES = Small(rows=1_000_000, bytes=256 << 20)

_ChangesKey = tuple[int, tuple[str, ...], int]
"""A base, columns, and the version up to which, or from which, they changed."""


@dataclass
class _Base:
    """The version whose files are read; `log_rows` distinguishes its log from another in its
    place."""

    files: VersionFiles
    metadata: Metadata
    log_rows: KeptRows
    near: dict[int, bool] = field(default_factory=dict)
    asked: dict[tuple[str, ...], list[int]] = field(default_factory=dict)
    """For columns, the versions whose changes were requested last."""
    number: int = field(default_factory=count().__next__)
    """No other base has it."""

    @cached_property
    def paths(self) -> frozenset[str]:
        return frozenset(str(a["path"]) for a in self.files.actions)

    @cached_property
    def most(self) -> Small:
        """Up to this number of changes of it are few."""
        rows = min(_MOST_CHANGES.rows, int(_CHANGED_SHARE * self.files.rows))
        return replace(_MOST_CHANGES, rows=rows)

    def is_near(self, files: VersionFiles) -> bool:
        """Whether few of the bytes of a version are in files that the base has not."""
        if files.version not in self.near:
            new = sum(int(a["size"]) for a in files.actions if a["path"] not in self.paths)
            self.near[files.version] = new <= _NEW_SHARE * files.bytes
        return self.near[files.version]

    def is_alike(self, files: VersionFiles) -> bool:
        """Whether a version has the columns of this one, and the log is the same."""
        here, there = self.metadata, files.log.metadata(files.version)
        same = here is there or (
            (here.id, here.schema_string, here.partition_columns)
            == (there.id, there.schema_string, there.partition_columns)
        )
        return same and files.log.kept is self.log_rows


@dataclass
class BaseVersions:
    """For each table that rows are selected of, the version whose kept columns they are found in.
    Threads share it."""

    columns: KeptColumns
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._bases: Cache[str, _Base] = Cache(self.columns.memory, "base versions")
        self._rows: Cache[_ChangesKey, pa.Table] = Cache(self.columns.memory, "changes")

    def select(
        self, files: VersionFiles, columns: Sequence[str], wanted: RowSelection, most_rows: int
    ) -> pa.Table | None:
        """The rows of a version that are wanted; None where they are more than `most_rows`. Raises
        as `KeptColumns.select` does."""
        base = self._base(files)
        if base is not None:
            try:
                changes = self._changes(base, files, columns)
                return self._find(base, changes, columns, wanted, most_rows)
            except (LakeError, NotSupported, OSError):
                # VACUUM took a file, say, or much has changed; the version's own files are there.
                if files.version > base.files.version:
                    self._move(files)
        return self.columns.select(files, columns, wanted, most_rows)

    def _base(self, files: VersionFiles) -> _Base | None:
        """Whose rows the version's are found by; None: by its own."""
        known = self._bases.get(str(files.log.path))
        if known is None:
            known = self._base_on_disk(files)
        if known is None or not known.is_alike(files):
            self._move(files)
            return None
        if known.files.version == files.version:
            return None
        if known.is_near(files):
            if files.version > known.files.version:
                self._move(files)
            return None
        return known

    def _base_on_disk(self, files: VersionFiles) -> _Base | None:
        """The base of another process, where the columns of most of its files are on the disk: as
        good a base as any version that the log has."""
        disk, log = self.columns.disk, files.log
        version = None if disk is None else disk.base_of(str(log.path))
        if disk is None or version is None or not 0 <= version < files.version:
            return None
        try:
            before = self.columns.files(log, version)
            cached = sum(int(a["size"]) for a in before.actions if disk.has(before.path_of(a)))
            if cached < _CACHED_SHARE * before.bytes:
                return None
            self._move(before)
        except (LakeError, OSError):  # VACUUM took a file, say
            return None
        return self._bases.get(str(log.path))

    def _move(self, files: VersionFiles) -> None:
        """Makes a version the base of its table. Raises as its `footers` do."""
        made = _Base(files, files.log.metadata(files.version), files.log.kept)
        before = self._bases.get(str(files.log.path))
        self._bases.put(str(files.log.path), made, files.held_bytes)
        if before is not None:
            for key in (k for k in self._rows if k[0] == before.number):
                self._rows.pop(key)
        self.columns.known.hold(files)
        if self.columns.disk is not None:
            self.columns.disk.keep_base(str(files.log.path), files.version, files.bytes)

    def _changes(self, base: _Base, files: VersionFiles, columns: Sequence[str]) -> pa.Table:
        """What to add to the base's rows, with weights. NotSupported where it is not few rows."""
        names = tuple(columns)
        with self._lock:
            versions = tuple(base.asked.get(names, ()))
        kept = ((v, self._rows.get((base.number, names, v))) for v in versions)
        known = {v: rows for v, rows in kept if rows is not None}
        if files.version not in known:
            rows = self._read_changes(base, files, names, known)
            if rows.num_rows > base.most.rows:
                raise NotSupported("more rows than a few have changed")
            self._keep(base, names, files.version, rows)
            return rows
        return known[files.version]

    def _read_changes(
        self,
        base: _Base,
        files: VersionFiles,
        columns: Sequence[str],
        known: Mapping[int, pa.Table],
    ) -> pa.Table:
        """Those since the last version up to which they are known."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if files.version < base.files.version:
            rows = paired_off(
                _stored(base, self.columns, files.version, base.files.version, columns)
            )
            weights = pc.negate(rows[WEIGHT])
            return rows.drop_columns(WEIGHT).append_column(WEIGHT, weights)
        upto = [v for v in known if base.files.version < v < files.version]
        since = max(upto, default=base.files.version)
        more = paired_off(_stored(base, self.columns, since, files.version, columns))
        rows = pa.concat_tables([known[since], more]) if upto else more
        return rows.combine_chunks() if rows[WEIGHT].num_chunks > _CHUNKS else rows

    def _keep(self, base: _Base, names: tuple[str, ...], version: int, rows: pa.Table) -> None:
        """Of the same columns both ends of a refresh."""
        self._rows.put((base.number, names, version), rows, table_bytes(rows))
        with self._lock:
            versions = base.asked.setdefault(names, [])
            versions[:] = [*(v for v in versions if v != version), version]
            old, versions[:] = versions[:-_ENDS], versions[-_ENDS:]
        for gone in old:
            self._rows.pop((base.number, names, gone))

    def _find(
        self,
        base: _Base,
        changes: pa.Table,
        columns: Sequence[str],
        wanted: RowSelection,
        most_rows: int,
    ) -> pa.Table | None:
        """None where there are too many. LakeError where the base does not have a row that went
        since: then the feed is not the table's history."""
        import pyarrow as pa
        import pyarrow.compute as pc

        moved = paired_off(changes.filter(wanted.are_in(changes[wanted.column])))
        here = wanted.within(base.metadata)
        rows = self.columns.select(base.files, columns, here, most_rows + moved.num_rows)
        if rows is None or not moved.num_rows:
            return rows
        new = pc.greater(moved[WEIGHT], 0)
        rows = _without(rows, moved.filter(pc.invert(new)), wanted.column)
        found = pa.concat_tables([rows, moved.filter(new).select(rows.column_names)])
        return found if found.num_rows <= most_rows else None


def _without(rows: pa.Table, gone: pa.Table, key: str) -> pa.Table:
    """Rows less those that went, of weight −1. LakeError where one of these was not there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not gone.num_rows:
        return rows
    keys = gone[key]
    touched = are_among(rows[key], keys.combine_chunks(), nulls=keys.null_count > 0)
    some = rows.filter(touched)
    some = some.append_column(WEIGHT, pa.repeat(pa.scalar(1, pa.int64()), some.num_rows))
    left = paired_off(pa.concat_tables([some, gone.select(some.column_names)]))
    if left.num_rows and pc.min(left[WEIGHT]).as_py() < 0:
        raise LakeError(f"a row went that was not there: {left.slice(0, 1).to_pylist()}")
    return pa.concat_tables([rows.filter(pc.invert(touched)), left.drop_columns(WEIGHT)])


def _stored(
    base: _Base, kept: KeptColumns, after: int, upto: int, columns: Sequence[str]
) -> pa.Table:
    """NotSupported where Spark has to read the changes, or they are many."""
    rows = stored_changes(base.files.log, after, upto, columns, base.most, kept)
    if rows is None:
        raise NotSupported(f"what versions {after} to {upto} changed is left to Spark")
    return rows
