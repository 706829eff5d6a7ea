"""The changes of a table or dynamic table as a sink reads them: all rows at a version first, then
net changes between versions, both cut so that each interval is bounded.

A checkpoint is the source's frontier: {"table", "version", "schema"} once all of a version is
delivered. Its "version" is None before all rows of the first one are: those are read file by file
from "file" and "row" of the version "to". Where only Spark can read them, and for changes, a cut is
by a hash of the key, and the checkpoint has "to", "part" and "parts".
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dt_jupyter.delivery.net_rows import net_changes, new_keys, row_texts
from dt_jupyter.lake import (
    LakeError,
    NotSupported,
    RowPlace,
    RowRanges,
    Small,
    SmallTables,
    TableLog,
    arrow_schema,
    fields_named,
    gone_from_snapshot,
    may_change,
    plan_changes,
    selecting_columns,
    small_changes,
    snapshot_sql,
)
from dt_jupyter.model import DTError, Sink, count_of, error, quote
from dt_jupyter.model.hidden import public_columns, public_rows
from dt_jupyter.replay import whole
from dt_jupyter.sinks import KIND, ChangeInterval, ChangeKind, SinkColumn
from dt_jupyter.sources import By, Moment, told_apart
from dt_jupyter.spark import RefreshSessions, arrow_frame
from dt_jupyter.streams import Changes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

_FEW = Small(rows=20_000, bytes=8 << 20)
"""Changes that are read in this process."""
CUT_ROWS = 200_000
"""Rows of an interval, about: they are in memory at once."""
CUT_BYTES = 64 << 20
"""Bytes of the files that an interval is read from, about."""
_GONE = frozenset({"DT-1101", "DT-1110", "DT-3106", "DT-5112"})
_ACTION = "$ACTION"
FrontierCheckpoint = Mapping[str, Any]
"""A checkpoint of the runtime's, as above."""


class CheckedKey(NamedTuple):
    """The key of a table, that no row is without, and with `mirrors` no two have."""

    table_id: str
    key: tuple[str, ...]
    mirrors: bool


@dataclass(frozen=True)
class SourceAt:
    """A source at a version; `columns` are its public ones."""

    table_id: str
    log: TableLog
    version: int
    columns: tuple[SinkColumn, ...]

    @property
    def fingerprint(self) -> str:
        return fingerprint(self.log, self.version)


def fingerprint(log: TableLog, version: int) -> str:
    """Of the public columns' names and types."""
    metadata = log.metadata(version)
    fields = fields_named(metadata, public_columns(metadata.columns))
    text = json.dumps([(f["name"], f["type"]) for f in fields], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class TableChanges:
    """The source of a sink's changes, up to the version that it was last aimed at.

    Used by one thread. `mirrors`: each key is one row of the source, which is looked for once by
    all that share `checked`: the version that a key was checked at.
    """

    def __init__(
        self,
        changes: Changes,
        sessions: RefreshSessions,
        sink: Sink,
        key: Sequence[str] = (),
        *,
        mirrors: bool = True,
        checked: dict[CheckedKey, int] | None = None,
    ) -> None:
        self._changes, self._sessions, self._sink = changes, sessions, sink
        self._key, self._mirrors = tuple(key), mirrors
        self._checked = dict[CheckedKey, int]() if checked is None else checked
        self._at: SourceAt | None = None
        self._ranges: tuple[str, int, RowRanges] | None = None

    # -- where the source stands ------------------------------------------------------------------

    def aim(self, at: SourceAt) -> None:
        """Changes are read up to there, and no further: what comes later may have columns that
        nobody has been told of."""
        self._at = at

    def look(self) -> SourceAt:
        """The source as it stands now. DT-6151 where it is gone, DT-2101 for a dynamic table that
        was never refreshed, DT-6132 for a column that no store takes."""
        sink = self._sink
        query, schema = whole(sink.source), sink.source.schema
        try:
            (base,) = self._changes.base_tables(query, schema)
            table = self._changes.sources.catalog.get(sink.source)
            if table is not None and table.version is None:
                raise error("DT-2101", name=sink.source)
            now = Moment(self._changes.now())
            (version,) = self._changes.frontier(query, schema, str(sink.name), now).values()
        except (DTError, LakeError) as e:
            if isinstance(e, DTError) and e.code not in _GONE:
                raise
            raise error("DT-6151", name=sink.name, problem=e.sentence) from e
        assert base.path is not None
        log = self._changes.sources.logs[base.path]
        metadata = log.metadata(version)
        names = public_columns(metadata.columns)
        try:
            fields = arrow_schema(fields_named(metadata, names))
        except NotSupported as e:
            told = {"column": "?", "type": "?", "store": "a sink", **e.facts, "problem": e.sentence}
            raise error("DT-6132", **told) from e
        columns = tuple(SinkColumn(f.name, f.type) for f in fields)
        return SourceAt(base.table_id, log, version, columns)

    @staticmethod
    def is_behind(at: SourceAt, after: FrontierCheckpoint | None) -> bool:
        """Whether anything is to be delivered after a checkpoint, from the log alone."""
        if after is None or "to" in after or after.get("table") != at.table_id:
            return True
        return may_change(at.log, after["version"], at.version)

    # -- intervals --------------------------------------------------------------------------------

    def next(self, after: FrontierCheckpoint | None) -> ChangeInterval | None:
        """As a `ChangeSource`. DT-6150 where the past that is needed is gone, DT-6151 where the
        source is another table."""
        at = self._at or self.look()
        if after is None:
            return self._first(at)
        self._require_same(at, after)
        if "file" in after:
            ranges = self._ranges_at(at, after["to"])
            return self._range(at, ranges, after["to"], RowPlace(after["file"], after["row"]))
        if "part" in after:
            done, parts = after["part"], after["parts"]
            return self._interval(at, after["version"], after["to"], done, parts)
        version = after["version"]
        return self._begun(at, version, at.version) if self._moved(at, version) else None

    def _moved(self, at: SourceAt, version: int) -> bool:
        """Whether rows or columns may be others than at a version."""
        try:
            return may_change(at.log, version, at.version)
        except LakeError as e:
            raise self._stale(e.sentence) from e

    def _require_same(self, at: SourceAt, after: FrontierCheckpoint) -> None:
        name = self._sink.name
        if after.get("table") != at.table_id:
            raise error("DT-6151", name=name, problem=f"{self._sink.source} was replaced")
        version = after["version"] if after["version"] is not None else after["to"]
        if (last := after.get("to", version)) > at.version:
            problem = f"version {last} is delivered, and {at.version} is the newest"
            raise error("DT-6151", name=name, problem=problem)
        try:
            known = fingerprint(at.log, version) == after["schema"]
        except LakeError as e:
            raise self._stale(e.sentence) from e
        if not known:
            problem = f"version {version} has other columns than it had"
            raise error("DT-6151", name=name, problem=problem)

    # -- all rows of the first version ------------------------------------------------------------

    def _first(self, at: SourceAt) -> ChangeInterval:
        version = at.version
        with self._sessions.lease(self._sink.warehouse) as spark:
            self.require_key(spark, at, version)
        try:
            ranges = self._ranges_at(at, version)
        except NotSupported:
            return self._begun(at, None, version)
        return self._range(at, ranges, version, RowPlace())

    def _ranges_at(self, at: SourceAt, version: int) -> RowRanges:
        """The rows of a version, by the reader that has read up to here, if there is one. What it
        does not support it said before the first of them. DT-6150."""
        if self._ranges is None or self._ranges[:2] != (at.table_id, version):
            if gone := gone_from_snapshot(at.log, version):
                raise self._stale(gone)
            columns = public_columns(at.log.metadata(version).columns)
            try:
                made = RowRanges(at.log, version, columns)
            except NotSupported:
                raise
            except LakeError as e:
                raise self._stale(e.sentence) from e
            self._ranges = at.table_id, version, made
        return self._ranges[2]

    def _range(
        self, at: SourceAt, ranges: RowRanges, version: int, start: RowPlace
    ) -> ChangeInterval:
        end = ranges.end_of(start, CUT_ROWS, CUT_BYTES)
        until = {"table": at.table_id, "version": version, "schema": fingerprint(at.log, version)}
        if end is not None:
            until |= {"version": None, "to": version, "file": end.file, "row": end.row}
        else:
            self._ranges = None
        return ChangeInterval(until, self._rows_of(at, ranges, start, end))

    def _rows_of(
        self, at: SourceAt, ranges: RowRanges, start: RowPlace, end: RowPlace | None
    ) -> Iterator[pa.Table]:
        try:
            for rows in ranges.read(start, end):
                yield _aligned(rows, at.columns)
        except LakeError as e:
            raise self._stale(e.sentence) from e

    # -- intervals that Spark reads ---------------------------------------------------------------

    def _begun(self, at: SourceAt, old: int | None, new: int) -> ChangeInterval:
        return self._interval(at, old, new, 0, self._parts(at, old, new))

    def _parts(self, at: SourceAt, old: int | None, new: int) -> int:
        """How many intervals a change is cut into, by what the log tells of its size."""
        if old is None:
            size = at.log.size()
            rows, bytes_ = size.rows, size.bytes
        else:
            plan = plan_changes(at.log, old, new)
            rows, bytes_ = getattr(plan, "rows", 0), getattr(plan, "bytes", 0)
        return max(1, -(-(rows or 0) // CUT_ROWS), -(-bytes_ // CUT_BYTES))

    def _interval(
        self, at: SourceAt, old: int | None, new: int, part: int, parts: int
    ) -> ChangeInterval:
        base = {"table": at.table_id}
        if part + 1 < parts:
            first = old if old is not None else new
            until = {
                **base, "version": old, "schema": fingerprint(at.log, first),
                "to": new, "part": part + 1, "parts": parts,
            }  # fmt: skip
        else:
            until = {**base, "version": new, "schema": fingerprint(at.log, new)}
        return ChangeInterval(until, self._batches(at, old, new, part, parts))

    # -- rows -------------------------------------------------------------------------------------

    def _batches(
        self, at: SourceAt, old: int | None, new: int, part: int, parts: int
    ) -> Iterator[pa.Table]:
        """The rows of a part in Arrow: deletes before inserts, columns that are younger NULL."""
        try:
            if old is None:
                with self._sessions.lease(self._sink.warehouse) as spark:
                    rows = _part(self._snapshot(spark, at, new), self._key, part, parts).toArrow()
                yield _aligned(rows, at.columns)
                return
            for after, upto in self._steps(at, old, new):
                yield _aligned(self._step(at, after, upto, part, parts), at.columns)
        except LakeError as e:
            raise self._stale(e.sentence) from e
        except DTError as e:
            if e.code != "DT-3103":
                raise
            raise self._stale(e.facts["problem"]) from e

    def _steps(self, at: SourceAt, old: int, new: int) -> Iterator[tuple[int, int]]:
        """A net change, where a key is one row; what is reduced comes commit by commit, since of
        several rows of a key the last may win."""
        if self._mirrors:
            yield old, new
            return
        for version in range(old + 1, new + 1):
            if at.log.changes_data(version):
                yield version - 1, version

    def _step(self, at: SourceAt, old: int, new: int, part: int, parts: int) -> pa.Table:
        few = self._few_changes(at, old, new) if parts == 1 else None
        if few is not None:
            return few
        with self._sessions.lease(self._sink.warehouse) as spark:
            rows = self._changed(spark, at, old, new, part, parts)
            self._require_unique(spark, at, new, rows)
        return rows

    def _few_changes(self, at: SourceAt, old: int, new: int) -> pa.Table | None:
        """Changes that are few, without a job of Spark's. None where it has to read them, or to
        find two rows of one key."""
        columns = public_columns(at.log.metadata(new).columns)
        rows = small_changes(at.log, old, new, columns, _FEW)
        if rows is None:
            return None
        found = net_changes(rows)
        return found if not self._mirrors or self._are_single(at, new, found) else None

    def _are_single(self, at: SourceAt, version: int, changes: pa.Table) -> bool:
        """Whether each key that came is of one row, as far as this process sees."""
        keys = new_keys(changes, self._key)
        if keys is None or keys.num_rows == 0:
            return keys is not None
        by, *_ = self._key
        if by not in selecting_columns(at.log.metadata(version)) or keys[by].null_count:
            return False
        values = keys[by].combine_chunks()
        there = SmallTables().select(at.log, version, self._key, by, values, nulls=False)
        if there is None:
            return False
        known = Counter(row_texts(there))
        return all(known[text] == 1 for text in row_texts(keys))

    def _snapshot(self, spark: SparkSession, at: SourceAt, version: int) -> DataFrame:
        if gone := gone_from_snapshot(at.log, version):
            raise self._stale(gone)
        columns = at.log.metadata(version).columns
        rows = public_rows(snapshot_sql(at.log.path, version), columns)
        return spark.sql(f"SELECT * FROM {rows}")

    def _changed(
        self, spark: SparkSession, at: SourceAt, old: int, new: int, part: int, parts: int
    ) -> pa.Table:
        import pyarrow as pa
        import pyarrow.compute as pc

        source = self._sink.source
        found = replace(self._changes, spark=spark).of(
            whole(source),
            source.schema,
            str(self._sink.name),
            at={at.table_id: old},
            end={at.table_id: new},
        )
        rows = _part(found.frame, self._key, part, parts).toArrow()
        deleted = pc.equal(rows[_ACTION], "DELETE")
        kinds = pc.if_else(deleted, int(ChangeKind.DELETE), int(ChangeKind.INSERT))
        rows = rows.append_column(KIND, kinds.cast(pa.int8()))
        return pa.concat_tables([rows.filter(deleted), rows.filter(pc.invert(deleted))])

    # -- the key ----------------------------------------------------------------------------------

    def require_key(self, spark: SparkSession, at: SourceAt, version: int) -> None:
        """DT-6131 for a NULL in the key, DT-6130 for one of two rows, over a whole version."""
        asked = CheckedKey(at.table_id, self._key, self._mirrors)
        known = self._checked.get(asked, version + 1)
        if not self._key or (known <= version and not may_change(at.log, known, version)):
            return
        rows = self._snapshot(spark, at, version)
        nulls = [f"bool_or({quote(name)} IS NULL)" for name in self._key]
        for name, found in zip(self._key, rows.selectExpr(*nulls).first() or (), strict=True):
            if found:
                raise error("DT-6131", column=name)
        if self._mirrors:
            self._refuse_twins(rows)
        self._checked[asked] = version

    def _require_unique(
        self, spark: SparkSession, at: SourceAt, version: int, rows: pa.Table
    ) -> None:
        """DT-6130 where a key that came is now of two rows. A declared key was looked at by what
        read the changes."""
        import pyarrow.compute as pc

        came = rows.filter(pc.not_equal(rows[KIND], int(ChangeKind.DELETE))).select(self._key)
        if not self._mirrors or not came.num_rows or self._is_declared(at, version):
            return
        known = self._snapshot(spark, at, version)
        keys = arrow_frame(spark, came.combine_chunks()).distinct()
        self._refuse_twins(known.join(keys, list(self._key), "left_semi"))

    def _is_declared(self, at: SourceAt, version: int) -> bool:
        declared = declared_key_of(replace(at, version=version))
        return {n.lower() for n in declared} == {n.lower() for n in self._key}

    def _refuse_twins(self, rows: DataFrame) -> None:
        named = [quote(n) for n in self._key]
        twins = rows.groupBy(*named).count().where("count > 1").limit(1).collect()
        for twin in twins:
            values = ", ".join(str(twin[n]) for n in self._key)
            told = f"{count_of(twin['count'], 'row')} with ({values})"
            raise error("DT-6130", key=", ".join(self._key), example=told)

    def _stale(self, problem: str) -> DTError:
        return error("DT-6150", name=self._sink.name, problem=problem)


def _part(frame: DataFrame, key: Sequence[str], part: int, parts: int) -> DataFrame:
    """The rows whose keys hash into a part: the same in every process."""
    if parts == 1:
        return frame
    named = ", ".join(map(quote, key))
    return frame.where(f"pmod(xxhash64({named}), {parts}) = {part}")


def _aligned(rows: pa.Table, columns: Sequence[SinkColumn]) -> pa.Table:
    """The rows with all columns of a later version; their own are NULL there."""
    import pyarrow as pa

    known: Mapping[str, Any] = {n.lower(): rows[n] for n in rows.column_names}
    found = {
        c.name: known[c.name.lower()]
        if c.name.lower() in known
        else pa.nulls(rows.num_rows, c.type)
        for c in columns
    }
    if KIND in rows.column_names:
        found[KIND] = rows[KIND]
    return pa.table(found)


def declared_key_of(at: SourceAt) -> tuple[str, ...]:
    """The columns that `dt.primaryKey` declares, else none."""
    names = at.log.metadata(at.version).columns
    by, key = told_apart(at.log, at.version, at.version, names)
    return tuple(key) if by is By.KEY else ()
