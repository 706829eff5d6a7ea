"""Replays: an interval of a table, view or dynamic table, walked snapshot by snapshot."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any

from dt_jupyter.catalog import HoldKind
from dt_jupyter.failures import LARGEST_INT, coded, within
from dt_jupyter.lake import LiveFiles, commit_name, open_log, read_actions
from dt_jupyter.model import Name, Source, Timestamp, error
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.replay.archive_files import naming_archive
from dt_jupyter.replay.digest import Columns, hash_order, told
from dt_jupyter.replay.hold_files import Secured, Wanted, release, secure
from dt_jupyter.replay.pace import Pace
from dt_jupyter.replay.row_diff import Marked, Marker
from dt_jupyter.replay.snapshot_rows import query_batches, table_batches, table_parts
from dt_jupyter.replay.snapshots import Snapshot, Snapshots, TableAt
from dt_jupyter.replay.stops import Stop, stops_between
from dt_jupyter.replay.walk_stats import Measured, Reader
from dt_jupyter.sources import OLDEST, Layout, Moment
from dt_jupyter.spark import Pool, RefreshSessions, collect_arrow, declare_pool, is_connect, meaning
from dt_jupyter.sql import SchemaMode

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

POOL = "__replay"
_COMMITS_TOLD = 20
_GIVES_WAY_SECONDS = 0.05
_COMMIT = frozenset(["commitInfo"])
_SHORT_TASKS = {"spark.sql.files.maxPartitionBytes": str(16 << 20)}
"""A core is given back to refreshes after little work."""


@dataclass(frozen=True)
class Bench:
    """What replays work with. `refreshing` says whether a refresh runs, to which they give way
    between their jobs, each time for at most `patience` seconds; `closed`, whether their engine is
    closed; `pace`, how fast they read."""

    spark: SparkSession
    snapshots: Snapshots
    sessions: RefreshSessions
    layout: Layout
    refreshing: Callable[[], bool]
    closed: Callable[[], bool]
    pace: Pace
    patience: float = 1.0

    @contextmanager
    def session(self, settings: Mapping[str, str] | None = None) -> Iterator[SparkSession]:
        """A session in the pool of replays, with the settings of a definition, else the user's."""
        self._give_way()
        declare_pool(self.spark, Pool(POOL))
        chosen = settings if settings is not None else meaning(self.spark)
        with self.sessions.lease(POOL, {**chosen, **_SHORT_TASKS}) as spark:
            yield spark

    def _give_way(self) -> None:
        until = time.monotonic() + self.patience
        while self.refreshing() and time.monotonic() < until:
            time.sleep(_GIVES_WAY_SECONDS)


@coded("step.")
@dataclass(frozen=True)
class Step:
    """A snapshot of a walk.

    `time` is when it became current (of a dynamic table its data timestamp), `versions` the
    version of each table by name. `row_count` and `digest` are of its rows in the replay's
    schema; equal digests mean equal rows and schema. `inserted` and `deleted` count what moved
    since the step before, by content (None at the first step, and where the schema changed with
    the rows); `schema_change` says what did in words. `commits` are Delta's commitInfo of what
    made it, newest first: who, what and how much.
    """

    number: int
    time: Timestamp
    versions: Mapping[str, int]
    row_count: int
    digest: str | None
    inserted: int | None
    deleted: int | None
    schema_change: str
    columns: Columns
    commits: tuple[Mapping[str, Any], ...] = field(repr=False)
    _replay: Replay = field(repr=False, compare=False)

    @property
    def version(self) -> int | None:
        """Of the one table that is replayed; None of a query."""
        return next(iter(self.versions.values())) if len(self.versions) == 1 else None

    @property
    def operation(self) -> str:
        """What made it, as Delta calls it; "" at a step without a commit."""
        return str(self.commits[0].get("operation", "")) if self.commits else ""

    def frame(self) -> DataFrame:
        """Its rows, as a DataFrame of the user's session, which Spark reads as fast as any other:
        `batches()` and `to_arrow()` keep to `Tuning.replay_bytes_per_second`."""
        return self._replay.frame(self.number)

    def batches(self, start: int = 0) -> Iterator[pa.RecordBatch]:
        """Its rows from the row `start` on as Arrow, in the same order every time."""
        return self._replay.batches(self.number, start)

    def changes(self) -> DataFrame:
        """What moved since the step before, by content: its columns, `$ACTION` and `$COUNT`."""
        return self._replay.changes(self.number)


@coded("replay.")
class Replay:
    """A pinned walk over the snapshots of a name: iterate over it, or index it.

    Steps are found when they are requested, and kept, so that a walk that was interrupted continues
    where it was. A context manager; closed, it releases what it held, and raises DT-4108.
    """

    def __init__(
        self,
        bench: Bench,
        name: Name,
        snapshot: Snapshot,
        stops: tuple[Stop, ...],
        mode: SchemaMode,
        secured: Secured,
    ) -> None:
        self.name, self.schema_mode, self.stops = name, mode, stops
        self._bench, self._snapshot, self._secured = bench, snapshot, secured
        self._logs = {i: open_log(f) for i, f in secured.folders.items()}
        self._reader = Reader(stops, self.snapshot, self._logs, mode, self._parts)
        self._live = LiveFiles(next(iter(secured.folders.values())))
        self._found: list[Measured] = []
        self._lock = threading.RLock()
        self._closed = False

    # -- what it is -------------------------------------------------------------------------------

    @property
    def protected(self) -> bool:
        """Whether VACUUM from outside of the engine does not reach what it reads either."""
        return self._secured.copied

    @property
    def hold(self) -> str:
        """The id of what it holds, as `dt.pins()` shows it."""
        return self._secured.hold.id

    def __len__(self) -> int:
        return len(self.stops)

    def __getitem__(self, number: int) -> Step:
        """A step; the ones before it are found first, which costs what changed in them.
        DT-1003 for no step."""
        return self._step(self._index(number))

    def __iter__(self) -> Iterator[Step]:
        return (self._step(i) for i in range(len(self.stops)))

    @cached_property
    def only(self) -> Step:
        """The step of a replay of one snapshot, else the last one."""
        return self[-1]

    # -- finding ----------------------------------------------------------------------------------

    def _step(self, number: int) -> Step:
        with self._lock:
            while len(self._found) <= number:
                self._require_open()
                self._renew()
                with self._bench.session() as spark:
                    before = self._found[-1] if self._found else None
                    self._found += self._reader.measure(spark, len(self._found), before)
            found = self._found[number]
            before = self._found[number - 1] if number else None
        stop = self.stops[number]
        names = {i: str(t.source.name) for i, t in self._snapshot.tables.items()}
        return Step(
            number,
            stop.time,
            {names[i]: v for i, v in stop.versions.items()},
            found.bag.rows,
            found.bag.digest(found.columns),
            found.moved.inserted if found.moved else None,
            found.moved.deleted if found.moved else None,
            self._schema_change(number, found.columns, before.columns) if before else "",
            found.columns,
            self._commits(number),
            self,
        )

    def _schema_change(self, number: int, columns: Columns, before: Columns) -> str:
        same = None
        if self.schema_mode is SchemaMode.SNAPSHOT_TIME:
            same = self.snapshot(number).same_columns(self.snapshot(number - 1))
        return told(columns, before, same)

    def snapshot(self, number: int) -> Snapshot:
        """The snapshot of a stop, over the folders that were secured."""
        versions = self.stops[number].versions
        tables = {
            i: TableAt(
                t.source,
                versions[i],
                self._secured.folders[i],
                self._logs[i].metadata(versions[i]),
                t.now,
            )
            for i, t in self._snapshot.tables.items()
        }
        return replace(self._snapshot, tables=tables)

    def _commits(self, number: int) -> tuple[Mapping[str, Any], ...]:
        found = []
        for id_, version in self.stops[number].versions.items():
            before = self.stops[number - 1].versions[id_] if number else version - 1
            log = self._logs[id_]
            for v in range(version, max(before, version - _COMMITS_TOLD), -1):
                file = log.path / "_delta_log" / commit_name(v)
                infos = [b for _, b in read_actions(file, _COMMIT)]
                found += [{"version": v, **info} for info in infos[:1]]
        return tuple(found)

    # -- rows -------------------------------------------------------------------------------------

    def frame(self, number: int = -1) -> DataFrame:
        """The rows of a step, as a DataFrame of the user's session."""
        self._require_open()
        return self._reader.frame(self._bench.spark, self._index(number))

    def batches(self, number: int = -1, start: int = 0) -> Iterator[pa.RecordBatch]:
        """The rows of a step from the row `start` on as Arrow, in the same order every time."""
        within("start", start, 0, LARGEST_INT)
        left = start
        for batch in self._all_batches(self._index(number)):
            if left >= batch.num_rows:
                left -= batch.num_rows
                continue
            yield batch.slice(left)
            left = 0

    def to_arrow(self, number: int = -1) -> pa.Table:
        """All rows of a step as one Arrow table."""
        import pyarrow as pa

        found = list(self.batches(number))
        return pa.Table.from_batches(found) if found else collect_arrow(self.frame(number).limit(0))

    def _all_batches(self, number: int) -> Iterator[pa.RecordBatch]:
        self._require_open()
        snapshot = self.snapshot(number)
        table = snapshot.only
        folder = self._bench.layout.pins / self.hold / f"rows_{uuid.uuid4().hex[:12]}"
        with self._bench.session() as spark:
            if table is not None and not is_connect(spark):
                files, mode = self._live.at(table.version), self.schema_mode
                rows = table_batches(spark, table, files, mode, folder, self._await_turn)
            else:
                columns = self._reader.columns(spark, number)
                frame = self._reader.frame(spark, number)
                rows = query_batches(frame, columns, folder, self._await_turn)
            for batch in rows:
                self._require_open()
                yield batch

    def _await_turn(self, size: int) -> None:
        """Returns when `size` bytes may be read. DT-4108 where the replay was closed."""
        self._bench.pace.await_turn(size)
        self._require_open()

    def _parts(self, spark: SparkSession, number: int) -> Iterator[DataFrame]:
        """The rows of a step, those of a table part by part, each when its turn has come."""
        table = self.snapshot(number).only
        if table is None or is_connect(spark):
            yield self._reader.frame(spark, number)
            return
        files = self._live.at(table.version)
        yield from table_parts(spark, table, files, self.schema_mode, self._await_turn)

    def changes(self, number: int) -> DataFrame:
        """What moved at a step since the one before, by content. DT-1003 at the first."""
        self._require_open()
        number = self._index(number)
        spark = self._bench.spark
        columns = self._reader.columns(spark, number)
        order = hash_order(columns)
        if not number or columns != self._reader.columns(spark, number - 1) or order is None:
            problem = "its columns differ from the step before" if number else "it is the first"
            raise error(
                "DT-1003",
                option="step",
                value=number,
                problem=problem,
                hint="Read both steps by frame().",
            )
        from pyspark.sql import functions as f

        names = [f"c{i}" for i in range(len(columns))]
        hashes = [f.expr(h).alias(n) for h, n in zip(order, ("h1", "h2"), strict=True)]
        rows = self._reader.difference(spark, number).select("*", *hashes)
        net = rows.groupBy("h1", "h2").agg(
            *(f.first(n).alias(n) for n in names), f.sum(WEIGHT).alias("n")
        )
        action = f.expr("CASE WHEN n > 0 THEN 'INSERT' ELSE 'DELETE' END")
        shown = net.where("n <> 0").select(*names, action, f.abs("n"))
        return shown.toDF(*(n for n, _ in columns), "$ACTION", "$COUNT")

    def _index(self, number: int) -> int:
        """The number of a step, counted from the end where it is negative. DT-1003 for none."""
        try:
            return range(len(self.stops))[number]
        except IndexError:
            hint = f"The last one is {len(self.stops) - 1}."
            raise error(
                "DT-1003", option="step", value=number, problem="it does not exist", hint=hint
            ) from None

    def marked(self, number: int, against: int | None = None, *, limit: int) -> Marked:
        """The rows of a step, and what moved since the one before; with `against` what moved since
        that step alone. At most `limit` rows, as texts. DT-1003 for no step, or no way to
        compare."""
        self._require_open()
        for step in (number, 0 if against is None else against):
            if not 0 <= step < len(self.stops):
                raise error(
                    "DT-1003",
                    option="step",
                    value=step,
                    problem="it does not exist",
                    hint=f"The last one is {len(self.stops) - 1}.",
                )
        within("limit", limit, 0, LARGEST_INT)
        with self._bench.session() as spark:
            marker = Marker(self._reader, spark)
            if against is None:
                return marker.rows(number, limit, number - 1 if number else None)
            return marker.difference(number, against, limit)

    def moved_since_first(self, limit: int) -> Marked:
        """The rows of the last step, and what moved since the first. At most `limit`, as texts."""
        self._require_open()
        last = len(self.stops) - 1
        with self._bench.session() as spark:
            return Marker(self._reader, spark).rows(last, limit, 0 if last else None)

    # -- closing ----------------------------------------------------------------------------------

    def close(self) -> None:
        """Releases what it held; steps that were found stay."""
        with self._lock:
            if self._ended:
                return
            self._closed = True
        release(self._bench.snapshots.sources.catalog, self._bench.layout, self._secured.hold)

    @property
    def _ended(self) -> bool:
        """An engine releases all that its replays held."""
        return self._closed or self._bench.closed()

    def _require_open(self) -> None:
        if self._ended:
            raise error("DT-4108", hint=f"Open it again: dt.replay('{self.name}', …).")

    def _renew(self) -> None:
        if not self._bench.snapshots.sources.catalog.renew_hold(self.hold):
            self.close()
            self._require_open()

    def __enter__(self) -> Replay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        first, last = self.stops[0], self.stops[-1]
        span = f"{first.time}" if len(self.stops) == 1 else f"{first.time} to {last.time}"
        state = "closed" if self._ended else "pinned"
        return f"<replay of {self.name} at {span}: {len(self.stops)} snapshots, {state}>"


def open_replay(
    bench: Bench,
    name: Name,
    query: str,
    at: Moment,
    to: Moment | None = None,
    *,
    every: float | None = None,
    mode: SchemaMode = SchemaMode.SNAPSHOT_TIME,
) -> Replay:
    """Resolves and pins the snapshots of a query from `at` to `to` (None: `at` alone).

    Raises DT-1101, DT-3101, DT-3106, DT-4101 to DT-4105.
    """
    snapshots = bench.snapshots
    bases = snapshots.bases(query, name.schema)
    if not bases:
        problem, hint = "it reads no table", "Replay what reads tables."
        raise error("DT-3106", name=name, problem=problem, hint=hint)
    end_at = to if to is not None else at
    stepped = every is not None
    with naming_archive(snapshots, name, end_at):
        last = _stop(snapshots, bases, name, end_at, stepped=stepped)
    with naming_archive(snapshots, name, at):
        first = last if to is None else _stop(snapshots, bases, name, at, stepped=stepped)
    stops = stops_between(snapshots, bases, first, last, every)
    wanted = [
        Wanted(
            s,
            min(p.versions[s.table_id] for p in stops),
            max(p.versions[s.table_id] for p in stops),
        )
        for s in bases
    ]
    point = str(at) if to is None else f"{at} to {to}"
    with naming_archive(snapshots, name, at):
        secured = secure(snapshots, bench.layout, HoldKind.REPLAY, str(name), point, wanted)
    try:
        snapshot = snapshots.at_versions(
            query, name.schema, str(name), last.versions, secured.folders
        )
        made = Replay(bench, name, snapshot, stops, mode, secured)
        snapshot.sql(mode)
        return made
    except BaseException:
        release(snapshots.sources.catalog, bench.layout, secured.hold)
        raise


def _stop(
    snapshots: Snapshots, bases: tuple[Source, ...], name: Name, at: Moment, *, stepped: bool
) -> Stop:
    """The version of each table at a point; the oldest is the oldest that is whole. Its time is
    the snapshot's own: a commit's, or a data timestamp; of several tables, and where the walk is
    `stepped` by time, the one that was requested."""
    versions = snapshots.versions(bases, str(name), at)
    if at is OLDEST:
        oldest = {s.table_id: snapshots.oldest_retained(s) for s in bases}
        found = {i: max(v, versions[i]) for i, (_, v) in oldest.items()}
        return Stop(max(t for t, _ in oldest.values()), found)
    reads = [snapshots.read_at(s, versions[s.table_id], at.time) for s in bases]
    asked = at.time if (stepped or len(reads) > 1) and not at.before else None
    return Stop(asked or max(r.since for r in reads), versions)
