"""The changes of a table or dynamic table as a sink reads them: all rows at a version first, then
net changes between versions, both cut so that each interval is bounded.

A checkpoint is the source's frontier: {"table", "version", "schema"} once all of a version is
delivered. Its "version" is None before all rows of the first one are: those are read file by file
from "file" and "row" of the version "to". Where only Spark can read them, and for changes, a cut is
by a hash of the key, and the checkpoint has "to", "part" and "parts". One of a stream's changes has
"stream" and "first", as `SourceAt.mark`; the first of them follow the offset of the stream.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from dt_jupyter.delivery.net_rows import has_twins, last_of_keys, net_changes, new_keys, row_texts
from dt_jupyter.delivery.source_at import (
    FrontierCheckpoint,
    SourceAt,
    SourceTable,
    cannot_go_on,
    find_stream,
    require_kept,
    require_stream,
    sink_columns,
)
from dt_jupyter.lake import (
    LakeError,
    NotSupported,
    RowPlace,
    RowRanges,
    Small,
    SmallTables,
    TableLog,
    fields_named,
    gone_from_snapshot,
    may_change,
    plan_changes,
    selecting_columns,
    small_changes,
    snapshot_sql,
)
from dt_jupyter.model import DTError, Sink, count_of, error, quote
from dt_jupyter.model.hidden import WEIGHT, public_columns, public_rows
from dt_jupyter.replay import whole
from dt_jupyter.sinks import KIND, ChangeInterval, ChangeKind, SinkColumn
from dt_jupyter.sources import Moment, find_declared_key
from dt_jupyter.spark import RefreshSessions, arrow_frame, collect_arrow
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


class CheckedKey(NamedTuple):
    """The key of a table, that no row is without, and with `mirrors` no two have."""

    table_id: str
    key: tuple[str, ...]
    mirrors: bool


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
        self._mark: dict[str, Any] = {}
        self._ranges: tuple[str, int, RowRanges] | None = None

    # -- the versions of the source ---------------------------------------------------------------

    def aim(self, at: SourceAt) -> None:
        """Changes are read up to there, and no further: what comes later may have columns that
        the sink does not know yet."""
        self._at = at

    def look(self) -> SourceAt:
        """The source as it is now. DT-6151 where it is gone, DT-2101 for a dynamic table that
        was never refreshed, DT-6132 for a column that no store takes."""
        sink, catalog = self._sink, self._changes.sources.catalog
        stream = find_stream(catalog, sink)
        source = stream.source if stream is not None else sink.source
        query, schema, now = whole(source), source.schema, self._changes.now()
        with gone_is_told(sink):
            (base,) = self._changes.base_tables(query, schema)
            table = catalog.get(source)
            if table is not None and table.version is None:
                raise error("DT-2101", name=source)
            found = self._changes.frontier(query, schema, str(sink.name), Moment(now, present=True))
            (version,) = found.values()
        assert base.path is not None
        log = self._changes.sources.logs[base.path]
        metadata = log.metadata(version)
        names = public_columns(metadata.columns)
        columns = sink_columns(fields_named(metadata, names))
        tables = {base.table_id: SourceTable(log, version)}
        return SourceAt(source, tables, columns, now, stream)

    @staticmethod
    def is_behind(at: SourceAt, after: FrontierCheckpoint | None) -> bool:
        """Whether anything is to be delivered after a checkpoint, from the log alone."""
        if after is None and at.stream is not None and not at.begins_whole:
            version = at.stream.frontier.get(at.table_id)
        elif after is None or "to" in after or after.get("table") != at.table_id:
            return True
        else:
            version = after["version"]
        return version is None or may_change(at.log, version, at.version)

    @staticmethod
    def reads_all(at: SourceAt, after: FrontierCheckpoint | None) -> bool:
        """Whether all rows of a version follow a checkpoint."""
        return at.begins_whole if after is None else after["version"] is None

    # -- intervals --------------------------------------------------------------------------------

    def next(self, after: FrontierCheckpoint | None) -> ChangeInterval | None:
        """As a `ChangeSource`. DT-6150 where the past that is needed is gone, DT-6151 where the
        source is another table, DT-6152 where a stream cannot be read on."""
        at = self._at or self.look()
        self._mark = at.mark(after)
        if after is None:
            require_kept(self._changes.sources.catalog, self._sink, at)
            return self._first(at) if at.begins_whole else self._after_stream(at)
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
        """Whether rows or columns may have changed since a version."""
        try:
            return may_change(at.log, version, at.version)
        except LakeError as e:
            raise self._stale(e.sentence) from e

    def _after_stream(self, at: SourceAt) -> ChangeInterval | None:
        """The first changes of a stream: those after its offset."""
        assert at.stream is not None
        start = at.stream.frontier.get(at.table_id)
        if start is None:
            raise self._stale(f"{at.name} was replaced")
        if start > at.version:
            raise self._stale(f"version {at.version} of {at.name} is the newest")
        return self._begun(at, start, at.version) if self._moved(at, start) else None

    def _require_same(self, at: SourceAt, after: FrontierCheckpoint) -> None:
        name = self._sink.name
        require_stream(self._sink, at, after)
        if after.get("table") != at.table_id:
            if at.stream is not None:
                raise self._stale(f"{at.name} was replaced")
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
            self.require_key(spark, at)
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
        schema = fingerprint(at.log, version)
        until = {"table": at.table_id, "version": version, "schema": schema, **self._mark}
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
                yield align_columns(rows, at.columns)
        except LakeError as e:
            raise self._stale(e.sentence) from e

    # -- intervals that Spark reads ---------------------------------------------------------------

    def _begun(self, at: SourceAt, old: int | None, new: int) -> ChangeInterval:
        return self._interval(at, old, new, 0, self._parts(at, old, new))

    def _parts(self, at: SourceAt, old: int | None, new: int) -> int:
        """How many intervals a change is cut into, by its size in the log."""
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
        base = {"table": at.table_id, **self._mark}
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
                    whole_rows = self._snapshot(spark, at, new)
                    rows = collect_arrow(hash_part(whole_rows, self._key, part, parts))
                yield align_columns(rows, at.columns)
                return
            if at.append_only and self._mirrors:
                yield self._last_rows(at, old, new, part, parts)
                return
            for after, upto in self._steps(at, old, new):
                yield align_columns(self._step(at, after, upto, part, parts), at.columns)
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
        yield from self._commits(at, old, new)

    @staticmethod
    def _commits(at: SourceAt, old: int, new: int) -> Iterator[tuple[int, int]]:
        for version in range(old + 1, new + 1):
            if at.log.changes_data(version):
                yield version - 1, version

    def _last_rows(self, at: SourceAt, old: int, new: int, part: int, parts: int) -> pa.Table:
        """Of what was only appended the last row of each key."""
        rows = align_columns(self._step(at, old, new, part, parts), at.columns)
        if not has_twins(rows, self._key):
            return rows
        steps = (self._step(at, a, b, part, parts) for a, b in self._commits(at, old, new))
        return last_of_keys([cast_columns(step, at.columns) for step in steps], self._key)

    def _step(self, at: SourceAt, old: int, new: int, part: int, parts: int) -> pa.Table:
        few = self._few_changes(at, old, new) if parts == 1 else None
        if few is not None:
            return few
        with self._sessions.lease(self._sink.warehouse) as spark:
            rows = self._changed(spark, at, old, new, part, parts)
            if not at.append_only:
                self._require_unique(spark, at, new, rows)
        return rows

    def _few_changes(self, at: SourceAt, old: int, new: int) -> pa.Table | None:
        """Changes that are few, without a job of Spark's. None where it has to read them, or to
        find two rows of one key."""
        columns = public_columns(at.log.metadata(new).columns)
        rows = small_changes(at.log, old, new, columns, _FEW)
        if rows is None:
            return None
        if at.append_only:  # a row that was inserted and deleted was inserted
            return net_changes(rows) if min(rows[WEIGHT].to_pylist(), default=1) > 0 else None
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
        found = replace(self._changes, spark=spark).of(
            whole(at.name),
            at.name.schema,
            str(self._sink.name),
            at={at.table_id: old},
            end={at.table_id: new},
            append_only=at.append_only,
        )
        return with_kinds(collect_arrow(hash_part(found.frame, self._key, part, parts)))

    # -- the key ----------------------------------------------------------------------------------

    def require_key(self, spark: SparkSession, at: SourceAt) -> None:
        """DT-6131 for a NULL in the key, DT-6130 for one of two rows, over a whole version. Of a
        stream that is only appended to, or reduced, a row counts when it comes."""
        asked, version = CheckedKey(at.table_id, self._key, self._mirrors), at.version
        known = self._checked.get(asked, version + 1)
        if not self._key or (known <= version and not may_change(at.log, known, version)):
            return
        if at.stream is not None and (at.append_only or not self._mirrors):
            return
        rows = self._snapshot(spark, at, version)
        require_no_null(rows, self._key)
        if self._mirrors:
            refuse_twins(rows, self._key)
        self._checked[asked] = version

    def _require_unique(
        self, spark: SparkSession, at: SourceAt, version: int, rows: pa.Table
    ) -> None:
        """DT-6130 where a key that came is now of two rows. A declared key was checked by what
        read the changes."""
        import pyarrow.compute as pc

        came = rows.filter(pc.not_equal(rows[KIND], int(ChangeKind.DELETE))).select(self._key)
        if not self._mirrors or not came.num_rows or self._is_declared(at, version):
            return
        known = self._snapshot(spark, at, version)
        keys = arrow_frame(spark, came.combine_chunks()).distinct()
        refuse_twins(known.join(keys, list(self._key), "left_semi"), self._key)

    def _is_declared(self, at: SourceAt, version: int) -> bool:
        declared = find_declared_key(at.log, version)
        return {n.lower() for n in declared} == {n.lower() for n in self._key}

    def _stale(self, problem: str) -> DTError:
        return cannot_go_on(self._sink, self._at, problem)


@contextmanager
def gone_is_told(sink: Sink) -> Iterator[None]:
    """A source that is not there any more is DT-6151."""
    try:
        yield
    except (DTError, LakeError) as e:
        if isinstance(e, DTError) and e.code not in _GONE:
            raise
        raise error("DT-6151", name=sink.name, problem=e.sentence) from e


def with_kinds(rows: pa.Table) -> pa.Table:
    """Changes as Spark gives them, deletes first, each with its kind."""
    import pyarrow as pa
    import pyarrow.compute as pc

    deleted = pc.equal(rows[_ACTION], "DELETE")
    kinds = pc.if_else(deleted, int(ChangeKind.DELETE), int(ChangeKind.INSERT))
    rows = rows.append_column(KIND, kinds.cast(pa.int8()))
    return pa.concat_tables([rows.filter(deleted), rows.filter(pc.invert(deleted))])


def require_no_null(rows: DataFrame, key: Sequence[str]) -> None:
    """DT-6131 for a NULL in the key."""
    nulls = [f"bool_or({quote(name)} IS NULL)" for name in key]
    for name, found in zip(key, rows.selectExpr(*nulls).first() or (), strict=True):
        if found:
            raise error("DT-6131", column=name)


def refuse_twins(rows: DataFrame, key: Sequence[str]) -> None:
    """DT-6130 for two rows of one key."""
    named = [quote(n) for n in key]
    for twin in rows.groupBy(*named).count().where("count > 1").limit(1).collect():
        values = ", ".join(str(twin[n]) for n in key)
        told = f"{count_of(twin['count'], 'row')} with ({values})"
        raise error("DT-6130", key=", ".join(key), example=told)


def hash_part(frame: DataFrame, key: Sequence[str], part: int, parts: int) -> DataFrame:
    """The rows whose keys hash into a part: the same in every process."""
    if parts == 1:
        return frame
    named = ", ".join(map(quote, key))
    return frame.where(f"pmod(xxhash64({named}), {parts}) = {part}")


def align_columns(rows: pa.Table, columns: Sequence[SinkColumn]) -> pa.Table:
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


def cast_columns(rows: pa.Table, columns: Sequence[SinkColumn]) -> pa.Table:
    """As `align_columns`, for the columns' types, from any reader."""
    import pyarrow as pa

    fields = [*((c.name, c.type) for c in columns), (KIND, pa.int8())]
    return align_columns(rows, columns).cast(pa.schema(fields))
