"""A past refresh run again: its ΔQ on its own frontiers, compared with what it committed.

Nothing is written: the change that the refresh's own code computes is applied to the contents
before it in a query, and the result compared with the contents after it.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.catalog import HoldKind
from dt_jupyter.definition import Compiled, KeptValues, defining_text, frozen_at, row_text
from dt_jupyter.evaluation import Evaluator
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import (
    Append,
    Change,
    Merge,
    Metadata,
    Overwrite,
    TableLog,
    frame as as_frame,
    open_log,
    snapshot_sql,
)
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    Name,
    RefreshAction,
    RefreshRecord,
    Source,
    SourceKind,
    Timestamp,
    count_of,
    error,
    quote,
)
from dt_jupyter.model.hidden import OP, STOP, WEIGHT, hidden, is_hidden, where_visible
from dt_jupyter.refresh import (
    HeldFrames,
    LogFacts,
    Refresher,
    StageRun,
    Standing,
    kept_region,
    plan_stage,
)
from dt_jupyter.replay.definition_history import Past, PastCommit, elsewhere, require_versions
from dt_jupyter.replay.digest import Moved, hash_order, moved_of
from dt_jupyter.replay.hold_files import Wanted, release, secure
from dt_jupyter.replay.replay import Bench
from dt_jupyter.replay.snapshot_rows import with_new_columns
from dt_jupyter.replay.verify_rows import Comparison, compare
from dt_jupyter.sources import rows_at
from dt_jupyter.spark import is_connect

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from dt_jupyter.replay.digest import Columns

_NONE_HERE = Evaluator(0)
"""Spark computes a refresh of the past, wherever its rows were computed then."""
_SHOWN = 20
"""Rows of a delta that are kept with its report."""
RowChanges = tuple[tuple[str, tuple[object, ...], int], ...]
"""Action, values, and how often."""


@dataclass(frozen=True)
class Delta:
    """What moved, by content: counts, and the first rows (action, values, how often)."""

    inserted: int
    deleted: int
    rows: RowChanges = field(repr=False)

    def lines(self) -> list[str]:
        return row_lines(self.rows, self.inserted + self.deleted)


def row_lines(rows: RowChanges, moved: int) -> list[str]:
    """A line for each row that is shown of `moved` that moved, similar ones below each other."""
    signs = {"INSERT": "+", "DELETE": "−"}
    lines = [
        f"{signs[action]} {row_text(values)}" + (f" × {count}" if count > 1 else "")
        for action, values, count in sorted(rows, key=lambda r: (row_text(r[1]), r[0]))
    ]
    return [*lines, "…"] if sum(r[2] for r in rows) < moved else lines


@dataclass(frozen=True)
class RefreshReplay:
    """A refresh that was run again.

    `read` are the versions of each source between which its change lay, by name (None before the
    first refresh). `before` and `after` are the versions of the dynamic table around its commit
    (equal where it wrote nothing); `again` is the delta that its statements give now, `committed`
    the one that it wrote; `comparison` holds the contents that would be there now against those
    that were written.
    """

    name: Name
    query_id: str
    action: RefreshAction
    data_timestamp: Timestamp
    old: Frontier | None
    new: Frontier
    read: Mapping[str, tuple[int | None, int]]
    before: int | None
    after: int
    rows_before: int
    again: Delta
    committed: Delta
    comparison: Comparison

    @property
    def equal(self) -> bool:
        return self.comparison.difference is None

    def __bool__(self) -> bool:
        return self.equal

    def __str__(self) -> str:
        verdict = "as it was committed"
        if not self.equal:
            verdict = f"not {verdict}: {self.comparison.difference}"
        sources = (
            f"{name} version {new}"
            if old is None
            else f"{name} unchanged at version {new}"
            if old == new
            else f"{name} versions {old} → {new}"
            for name, (old, new) in self.read.items()
        )
        before = "nothing" if self.before is None else f"version {self.before}"
        lines = [
            f"{self.name}: {self.action} at {self.data_timestamp.words} ({self.query_id})",
            f"  reads: {', '.join(sources)}",
            f"  before: {before}, {count_of(self.rows_before, 'row')}",
            f"  delta again: +{self.again.inserted} −{self.again.deleted}; "
            f"committed: +{self.committed.inserted} −{self.committed.deleted}",
            *(f"    {line}" for line in self.again.lines()),
            f"  after: version {self.after}, {count_of(self.comparison.rows, 'row')}, {verdict}",
        ]
        return "\n".join(lines)


def find_refresh(past: Past, refresh: str | None, at: Timestamp | int | None) -> RefreshRecord:
    """The refresh of that id, else the one that made a version, or the newest up to a data
    timestamp; DT-4109."""
    found = [r for r in past.records() if _is_asked_for(r, refresh, at)]
    if found:
        return found[-1 if refresh is None and isinstance(at, int) else 0]
    what = refresh or f"of {past.table.name}"
    problem = "no refresh of it succeeded"
    if refresh is None and at is not None:
        problem = (
            f"none made version {at}" if isinstance(at, int) else f"none succeeded up to {at.words}"
        )
    hint = f"See dt.history('{past.table.name}')."
    raise error("DT-4109", refresh=what, problem=problem, hint=hint)


def _is_asked_for(record: RefreshRecord, refresh: str | None, at: Timestamp | int | None) -> bool:
    if refresh is not None:
        return record.query_id == refresh
    if isinstance(at, int):
        return record.version == at
    return at is None or record.data_timestamp <= at


def replay_refresh(
    bench: Bench, refresher: Refresher, table: DynamicTable, record: RefreshRecord
) -> RefreshReplay:
    """Runs a refresh again. DT-4104 where what it read is gone, DT-4109 where it is unknown."""
    past = Past(refresher.sources, table)
    assert record.frontier is not None
    assert record.version is not None
    commit = past.commit_of(record.version)
    definition = past.definition_of(commit)
    require_versions(definition, table.name)
    wrote = commit.attempt == record.query_id
    before = (commit.version - 1 if commit.version else None) if wrote else commit.version
    old = _old_frontier(past, record, commit)
    again = _Again(bench, refresher, past, definition, record, commit, before, old, record.frontier)
    return again.run()


def _old_frontier(past: Past, record: RefreshRecord, commit: PastCommit) -> Frontier | None:
    """The frontier of the dynamic table when the refresh began."""
    records = past.records()
    place = next(i for i, r in enumerate(records) if r.query_id == record.query_id)
    if place + 1 < len(records):
        return records[place + 1].frontier
    earlier = next(past.commits(commit.version - 1), None) if commit.version else None
    return earlier.frontier if earlier else None


@dataclass
class _Again:
    bench: Bench
    refresher: Refresher
    past: Past
    definition: Definition
    record: RefreshRecord
    commit: PastCommit
    before: int | None
    old: Frontier | None
    new: Frontier

    @property
    def incremental(self) -> bool:
        return (
            self.record.action in (RefreshAction.INCREMENTAL, RefreshAction.NO_DATA)
            and self.old is not None
            and self.before is not None
        )

    def run(self) -> RefreshReplay:
        snapshots, layout = self.bench.snapshots, self.bench.layout
        table = self.past.table
        what = f"refresh of {table.name}"
        secured = secure(
            snapshots,
            layout,
            HoldKind.REPLAY,
            what,
            str(self.record.data_timestamp),
            self._wanted(),
        )
        staging = layout.pins / secured.hold.id / "staging"
        try:
            with self.bench.session(self.definition.settings) as spark:
                return self._run(spark, secured.folders, staging)
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            release(snapshots.sources.catalog, layout, secured.hold)

    def _wanted(self) -> list[Wanted]:
        table, layout = self.past.table, self.bench.layout
        public = Source(
            table.name, SourceKind.DYNAMIC_TABLE, table.id, str(layout.public(table.id))
        )
        first = self.commit.version if self.before is None else self.before
        wanted = [Wanted(public, first, self.commit.version)]
        sources = {s.table_id: s for s in self.definition.sources}
        for id_, version in self.new.versions.items():
            source = sources.get(id_) or self._stage(id_)
            since = (
                self.old.versions.get(id_, version) if self.incremental and self.old else version
            )
            wanted.append(Wanted(source, min(since, version), version))
        return wanted

    def _stage(self, id_: str) -> Source:
        table, ordinal = self.past.table, int(id_.partition(":")[2])
        path = self.bench.layout.stage(table.id, ordinal)
        return Source(table.name, SourceKind.DELTA, id_, str(path))

    def _run(
        self, spark: SparkSession, folders: Mapping[str, Path], staging: Path
    ) -> RefreshReplay:
        table = self.past.table
        logs = {i: open_log(f) for i, f in folders.items()}
        columns = tuple((n, t) for n, t, _ in self.definition.columns)
        after = self._contents(spark, folders[table.id], self.commit.version, logs[table.id])
        if self.before is None:
            before = after.where("false")
        else:
            before = self._contents(spark, folders[table.id], self.before, logs[table.id])
        again = self._again(spark, before, folders, logs, staging)
        found = compare(spark, again, after, list(columns), table.name)
        delta = _delta(spark, before, again, columns)
        exact = found.difference is None and not found.tolerance
        committed = delta if exact else _delta(spark, before, after, columns)
        return RefreshReplay(
            table.name,
            self.record.query_id,
            self.record.action or RefreshAction.FULL,
            self.record.data_timestamp,
            self.old,
            self.new,
            self._read(),
            self.before,
            self.commit.version,
            before.count(),
            delta,
            committed,
            found,
        )

    def _read(self) -> dict[str, tuple[int | None, int]]:
        old = self.old.versions if self.old else {}
        found = {
            str(s.name): (old.get(s.table_id), self.new.versions[s.table_id])
            for s in self.definition.sources
            if s.table_id in self.new.versions
        }
        return dict(sorted(found.items()))

    def _contents(
        self, spark: SparkSession, folder: Path, version: int, log: TableLog
    ) -> DataFrame:
        """The public rows of a version; where its columns were different, in those of the
        definition as far as they are the same."""
        stored = log.metadata(version).columns
        shown = where_visible(stored)
        items = ", ".join(
            quote(n) if n in stored else f"CAST(NULL AS {t}) AS {quote(n)}"
            for n, t, _ in self.definition.columns
        )
        return spark.sql(f"SELECT {items} FROM {snapshot_sql(folder, version)}{shown}")

    def _again(
        self,
        spark: SparkSession,
        before: DataFrame,
        folders: Mapping[str, Path],
        logs: Mapping[str, TableLog],
        staging: Path,
    ) -> DataFrame:
        """The contents that the refresh gives now."""
        moved = elsewhere(self.definition, folders)
        id_ = self.past.table.id
        metadata = logs[id_].metadata(self.commit.version)
        if not self.incremental:
            stages = compiled_then(
                spark, self.refresher, self.past, moved, self.new, logs, metadata.columns
            )
            return self._computed(spark, before, moved, stages, folders)
        try:
            compiled = self.past.compiled(spark, self.refresher, moved, self.new, logs)
        except Refused as e:
            hint = "Verify it instead: dt.verify(…, at=…)."
            raise error(
                "DT-4109", refresh=self.record.query_id, problem=e.reason.sentence, hint=hint
            ) from e
        change = self._change(spark, compiled, folders, logs, staging)
        if change is None:
            return before
        assert self.before is not None
        stored = logs[id_].metadata(self.before).columns
        text = applied(
            spark, with_new_columns(folders[id_], self.before, stored, metadata), change, metadata
        )
        shown = where_visible(metadata.columns)
        items = ", ".join(quote(n) for n, _, _ in self.definition.columns)
        return spark.sql(f"SELECT {items} FROM ({text}){shown}")

    def _computed(
        self,
        spark: SparkSession,
        before: DataFrame,
        moved: Definition,
        stages: Compiled | None,
        folders: Mapping[str, Path],
    ) -> DataFrame:
        """All rows by the query, and in addition those that were frozen: as they were before, or
        as another table gave them."""
        frozen = frozen_at(moved, self.new.data_timestamp)
        first = self.old is None
        filled = first and moved.frozen is not None and moved.frozen.backfill is not None
        whole = frozen is None or (first and not filled)
        logs = self.refresher.sources.logs
        if stages is not None and stages.values_of_rows:
            versions = self.new.versions
            kept_values = KeptValues(stages, lambda i: snapshot_sql(folders[i], versions[i]))
            text = kept_values.text(None if whole else frozen)
        else:
            text = defining_text(logs, moved, self.new, stages, whole=whole)
        made = spark.sql(text)
        if whole:
            return made
        names = [quote(n) for n, _, _ in moved.columns]
        kept = self._backfilled(spark, moved) if filled else before
        return made.toDF(*(n for n, _, _ in moved.columns)).unionAll(
            kept.where(str(frozen)).select(*names)
        )

    def _backfilled(self, spark: SparkSession, definition: Definition) -> DataFrame:
        region = definition.frozen
        assert region is not None
        assert region.backfill is not None
        assert region.version is not None
        path = str(region.backfill.path)
        return spark.sql(
            f"SELECT * FROM {rows_at(self.refresher.sources.logs, path, region.version)}"
        )

    def _change(
        self,
        spark: SparkSession,
        compiled: Compiled,
        folders: Mapping[str, Path],
        logs: Mapping[str, TableLog],
        staging: Path,
    ) -> Change | None:
        """What the refresh's own code would commit to the public table."""
        assert self.old is not None
        stage, table = compiled.public, self.past.table
        sources = {s.table_id: s for s in self.definition.sources}
        facts = LogFacts(table.name, sources, logs, classic=not is_connect(spark))
        standing = Standing(self.before, self.old, int(self.commit.mark.get("seq", 1)))
        step = plan_stage(stage, len(compiled.stages) - 1, standing, self.new.versions, facts)
        run = StageRun(
            spark,
            table.name,
            stage,
            step,
            logs[table.id],
            logs,
            staging,
            self.refresher.tuning,
            self.refresher.small,
            _NONE_HERE,
            region=kept_region(
                self.refresher.sources,
                self.refresher.definer.builtins,
                table,
                self.definition,
                self.new.data_timestamp,
                whole=False,
            ),
            held=HeldFrames(cached=False),
        )
        return run.advance()


def compiled_then(
    spark: SparkSession,
    refresher: Refresher,
    past: Past,
    definition: Definition,
    frontier: Frontier,
    logs: Mapping[str, TableLog],
    columns: Sequence[str],
) -> Compiled | None:
    """The stages by which contents with these stored columns were kept; None for those of a FULL
    dynamic table, which are the query's own rows."""
    if not any(map(is_hidden, columns)):
        return None
    try:
        return past.compiled(spark, refresher, definition, frontier, logs)
    except Refused:
        return None


def applied(spark: SparkSession, before: str, change: Change, metadata: Metadata) -> str:
    """The contents of a backing table after a change, as a query over those before."""
    rows = as_frame(spark, change.rows, None if isinstance(change, Overwrite) else metadata)
    view = hidden("change")
    rows.createOrReplaceTempView(view)
    columns = ", ".join(quote(c) for c in metadata.columns)
    match change:
        case Append():
            return f"SELECT {columns} FROM {before} UNION ALL SELECT {columns} FROM {view}"
        case Merge():
            on = " AND ".join(f"b.{quote(k)} <=> c.{quote(k)}" for k in change.keys)
            kept = (
                f"SELECT {columns} FROM (SELECT * FROM {before}) b LEFT ANTI JOIN "
                f"(SELECT * FROM {view} WHERE {OP} <> 'I') c ON {on}"
            )
            return f"{kept} UNION ALL SELECT {columns} FROM {view} WHERE {OP} <> 'D'"
        case Overwrite():
            return f"SELECT {columns} FROM {view}"


def _delta(spark: SparkSession, before: DataFrame, after: DataFrame, columns: Columns) -> Delta:
    """What moved between two contents."""
    names = [f"c{i}" for i in range(len(columns))]
    sides = [
        f.toDF(*names).selectExpr(*names, f"{w}L AS {WEIGHT}", f"0L AS {STOP}")
        for f, w in ((after, 1), (before, -1))
    ]
    both = sides[0].unionAll(sides[1])
    moved: Moved | None = moved_of(spark, both, columns).get(0)
    if moved is None:
        return Delta(0, 0, ())
    return Delta(moved.inserted or 0, moved.deleted or 0, first_rows(both, columns))


def first_rows(both: DataFrame, columns: Columns) -> RowChanges:
    """The first rows that moved, in a fixed order, of a frame of `moved_of`."""
    from pyspark.sql import functions as f

    order = hash_order(columns)
    if order is None:
        return ()
    names = [f"c{i}" for i in range(len(columns))]
    hashes = [f.expr(h).alias(n) for h, n in zip(order, ("h1", "h2"), strict=True)]
    net = (
        both.select("*", *hashes)
        .groupBy("h1", "h2")
        .agg(*(f.first(n).alias(n) for n in names), f.sum(WEIGHT).alias("n"))
    )
    rows = net.where("n <> 0").orderBy("h1", "h2").limit(_SHOWN).select(*names, "n").collect()
    return tuple(("INSERT" if r["n"] > 0 else "DELETE", tuple(r)[:-1], abs(r["n"])) for r in rows)
