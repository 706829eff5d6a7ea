"""Change queries and streams: what they cost as the table, the commits and the interval grow.

`python -m bench.changes`: all times are medians, in milliseconds; what is compared is measured in
turns in one process. `plan` is the engine's part, before Spark is asked for a row.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import dt_jupyter
from dt_jupyter.engine import Engine
from dt_jupyter.lake import TableLog, may_change, plan_changes
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.streams.change_query import ChangeRows

CHANGED = 1_000
LEAST, ENOUGH_SECONDS = 3, 60.0
LONG_LOG = 10_000
FILE_ROWS = 100_000
"""Rows of a file of the tables made here."""
IDENTITIES = {
    "a declared key": "'dt.primaryKey' = 'id'",
    "row tracking": "'delta.enableRowTracking' = 'true'",
}
BY_KEY = IDENTITIES["a declared key"]


@dataclass
class Timing:
    """Runs of one thing, in milliseconds; a thing that has a plan has its part of each."""

    totals: list[float] = field(default_factory=list)
    plans: list[float] = field(default_factory=list)
    jobs: int = 0

    @property
    def total(self) -> float:
        return statistics.median(self.totals)

    @property
    def plan(self) -> float:
        return statistics.median(self.plans)


@dataclass(frozen=True)
class Interval:
    """Versions of a table, and how many rows its minimum delta has there."""

    table: str
    old: int
    new: int
    rows: int


def jobs_so_far(dt: Engine) -> int:
    """How many jobs Spark has started since it began."""
    context: Any = dt.spark.sparkContext
    return int(context._jsc.sc().dagScheduler().numTotalJobs())


def read(dt: Engine, interval: Interval) -> tuple[float, float]:
    """Milliseconds until the plan is there, and until its rows are."""
    start = time.perf_counter()
    found: ChangeRows = dt.change_rows(interval.table, interval.old, interval.new)
    planned = time.perf_counter()
    count = len(found.frame.collect())
    end = time.perf_counter()
    assert count == interval.rows, f"{count} rows of {interval}"
    return (planned - start) * 1000, (end - start) * 1000


def in_turns(
    dt: Engine, intervals: Sequence[Interval], times: int, before: Callable[[], None] | None = None
) -> list[Timing]:
    """Each interval read `times` times, one after the other, after a round that does not count;
    at least LEAST times, but no round is begun after ENOUGH_SECONDS."""
    timings = [Timing() for _ in intervals]
    begun = time.perf_counter()
    for turn in range(times + 1):
        if turn > LEAST and time.perf_counter() - begun > ENOUGH_SECONDS:
            break
        for interval, timing in zip(intervals, timings, strict=True):
            if before is not None:
                before()
            jobs = jobs_so_far(dt)
            planned, total = read(dt, interval)
            timing.jobs = jobs_so_far(dt) - jobs
            if turn:
                timing.plans.append(planned)
                timing.totals.append(total)
    return timings


def repeated(dt: Engine, work: Callable[[], object], times: int) -> Timing:
    timing = Timing()
    for turn in range(times + 1):
        jobs, start = jobs_so_far(dt), time.perf_counter()
        work()
        took = (time.perf_counter() - start) * 1000
        timing.jobs = jobs_so_far(dt) - jobs
        if turn:
            timing.totals.append(took)
    return timing


def show(title: str, names: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    print(f"\n{title}\n\n| {' | '.join(names)} |\n|{' --- |' * len(names)}")
    for row in rows:
        cells = (f"{cell:,.0f}" if isinstance(cell, float) else str(cell) for cell in row)
        print(f"| {' | '.join(cells)} |", flush=True)


def ratio(timing: Timing, least: Timing) -> str:
    return f"{timing.total / least.total:.2f}×"


# -- tables and their changes ---------------------------------------------------------------------


def make(dt: Engine, name: str, rows: int, properties: str) -> None:
    """A table of so many rows in files of FILE_ROWS."""
    files = max(1, rows // FILE_ROWS)
    dt.sql(f"CREATE TABLE {name} (id BIGINT, n INT, name STRING) TBLPROPERTIES ({properties})")
    dt.sql(f"INSERT INTO {name} {numbered(0, rows, files)}")


def numbered(first: int, count: int, files: int = 1) -> str:
    items = "id, CAST(id % 1000 AS INT) AS n, concat('row number ', id) AS name"
    return f"SELECT {items} FROM range({first}, {first + count}, 1, {files})"


def path_of(dt: Engine, table: str) -> str:
    return str(dt.context.layout.tables / table)


def version(dt: Engine, table: str) -> int:
    return dt.context.sources.logs[path_of(dt, table)].version()


def after(dt: Engine, table: str, statement: str, rows: int) -> Interval:
    """The interval of one statement."""
    old = version(dt, table)
    dt.sql(statement)
    return Interval(table, old, version(dt, table), rows)


def changed(dt: Engine, table: str, rows: int) -> dict[str, Interval]:
    """CHANGED rows inserted; updated, next to each other; updated, all over the table."""
    update = f"UPDATE {table} SET n = n + 1 WHERE"
    some = f"id < {rows} AND id % {rows // CHANGED} = 0"
    insert = f"INSERT INTO {table} {numbered(rows, CHANGED)}"
    return {
        "inserts": after(dt, table, insert, CHANGED),
        "updates of neighbours": after(dt, table, f"{update} id < {CHANGED}", 2 * CHANGED),
        "updates all over": after(dt, table, f"{update} {some}", 2 * CHANGED),
    }


# -- the tables of the report ---------------------------------------------------------------------


def by_size(dt: Engine, sizes: Sequence[int], times: int) -> None:
    """Row tracking reads whole files: the largest tables are left to the key."""
    found = []
    for label, properties in IDENTITIES.items():
        sizes = sizes if properties == BY_KEY else sizes[:2]
        made: list[dict[str, Interval]] = []
        for size in sizes:
            table = f"sized_{label.split()[-1]}_{size}"
            make(dt, table, size, properties)
            made.append(changed(dt, table, size))
        for change in made[0]:
            intervals = [m[change] for m in made]
            timings = in_turns(dt, intervals, times)
            found += [
                (label, change, f"{s:,}", t.plan, t.total, t.jobs, ratio(t, timings[0]))
                for s, t in zip(sizes, timings, strict=True)
            ]
    show(
        f"A change of {CHANGED:,} rows, by the rows of the table",
        ("ids", "change", "rows", "plan ms", "ms", "Spark jobs", "ratio"),
        found,
    )


def has_data(dt: Engine, commits: int, times: int) -> None:
    """Of streams on tables without news, with one commit, with many; on a join of two."""
    for table in ("quiet", "moved"):
        make(dt, table, FILE_ROWS, BY_KEY)
    dt.sql("CREATE VIEW both AS SELECT q.id, m.n FROM quiet q JOIN moved m ON q.id = m.id")
    dt.sql("CREATE STREAM s_quiet ON TABLE quiet; CREATE STREAM s_moved ON TABLE moved")
    dt.sql("CREATE STREAM s_many ON TABLE many_inserts AT (VERSION => 1)")
    dt.sql(f"INSERT INTO moved {numbered(FILE_ROWS, 10)}")
    dt.sql("CREATE STREAM s_both ON VIEW both")
    found = []
    for stream, what, known in (
        ("s_quiet", "table, nothing new", False),
        ("s_moved", "table, one commit", True),
        ("s_many", f"table, {commits:,} commits", True),
        ("s_both", "join, nothing new", False),
    ):
        name = dt.context.name(stream)
        assert dt.context.streams.has_data(name) is known
        alone = repeated(dt, lambda name=name: dt.context.streams.has_data(name), times)
        text = f"SELECT SYSTEM$STREAM_HAS_DATA('{stream}')"
        asked = repeated(dt, lambda text=text: dt.sql(text).collect(), times)
        found.append((what, known, f"{alone.total:.1f}", f"{asked.total:.1f}", asked.jobs))
    show(
        "SYSTEM$STREAM_HAS_DATA",
        ("stream on", "has data", "logs alone ms", "dt.sql ms", "Spark jobs"),
        found,
    )


def write_commits(dt: Engine, commits: int) -> dict[str, list[Interval]]:
    """CHANGED rows inserted and updated: by one commit, and by many that delta-rs writes."""
    each = max(1, CHANGED // commits)
    intervals = {}
    for change in ("inserts", "updates"):
        one, many = f"one_{change}", f"many_{change}"
        for table in (one, many):
            make(dt, table, FILE_ROWS, BY_KEY)
        start, total = version(dt, many), each * commits
        path = path_of(dt, many)
        for i in range(commits):
            first = i * each
            if change == "inserts":
                ids = range(FILE_ROWS + first, FILE_ROWS + first + each)
                names = pa.array([f"row number {k}" for k in ids])
                columns = [pa.array(ids), pa.array([k % 1000 for k in ids], pa.int32()), names]
                rows = pa.table(columns, names=["id", "n", "name"])
                write_deltalake(path, rows, mode="append")
            else:
                where = f"id >= {first} AND id < {first + each}"
                DeltaTable(path).update(updates={"n": "n + 1"}, predicate=where)
        statement = (
            f"INSERT INTO {one} {numbered(FILE_ROWS, total)}"
            if change == "inserts"
            else f"UPDATE {one} SET n = n + 1 WHERE id < {total}"
        )
        rows_of_delta = total if change == "inserts" else 2 * total
        single = after(dt, one, statement, rows_of_delta)
        spread = Interval(many, start, version(dt, many), rows_of_delta)
        intervals[change] = [single, spread]
    return intervals


def by_commits(dt: Engine, written: dict[str, list[Interval]], commits: int, times: int) -> None:
    """Twice: with logs that were read before, and with logs as a new process finds them."""
    found = []
    for forget, state in ((None, "known"), (dt.context.sources.logs._logs.clear, "new")):
        for change, intervals in written.items():
            timings = in_turns(dt, intervals, times, forget)
            found += [
                (change, state, f"{count:,}", t.plan, t.total, t.jobs, ratio(t, timings[0]))
                for count, t in zip((1, commits), timings, strict=True)
            ]
    show(
        f"A change of {CHANGED:,} rows, by the commits that made it",
        ("change", "log", "commits", "plan ms", "ms", "Spark jobs", "ratio"),
        found,
    )


def rows_of(log: TableLog, it: Interval) -> None:
    plan_changes(log, it.old, it.new)
    feed_table(log, it.old + 1, it.new, ["id", "n", "name"])


LOG_WORK: dict[str, Callable[[TableLog, Interval], object]] = {
    "the plan": lambda log, it: plan_changes(log, it.old, it.new),
    "whether it has data": lambda log, it: may_change(log, it.old, log.version()),
    "the plan and its rows": rows_of,
    "the rows by delta-rs": lambda log, it: pa.table(
        DeltaTable(log.path, version=it.new).load_cdf(it.old + 1, it.new).read_all()
    ),
}


def by_log(dt: Engine, written: dict[str, list[Interval]], lake: Path, times: int) -> None:
    """The parts that Spark has no part in, each by a log as a new process finds it, and by one
    that was read before: of the intervals with many commits, and of a log of LONG_LOG."""
    found: list[tuple[object, ...]] = []

    def measure(what: str, path: Path, work: Callable[[TableLog], object]) -> None:
        log = TableLog(path)
        new = repeated(dt, lambda: work(TableLog(path)), times)
        known = repeated(dt, lambda: work(log), times)
        found.append((what, f"{log.version():,}", f"{new.total:.1f}", f"{known.total:.1f}"))

    for change, (_, many) in written.items():
        for what, work in LOG_WORK.items():
            path = Path(path_of(dt, many.table))
            measure(f"{change}: {what}", path, lambda log, w=work, m=many: w(log, m))
    long = write_log(lake / "long", LONG_LOG)
    middle = TableLog(long).commit_time(LONG_LOG // 2)
    last = Interval("long", LONG_LOG - 1_000, LONG_LOG, 1_000)
    measure("a time's version", long, lambda log: log.version_at(middle))
    measure("the plan of the last 1,000", long, lambda log: plan_changes(log, last.old, last.new))
    show("Logs without Spark", ("what", "commits", "new ms", "known ms"), found)


def write_log(path: Path, commits: int) -> Path:
    """A log alone: a table of one column, and commits that each add a file that is not there."""
    folder = path / "_delta_log"
    DeltaTable.create(path, pa.schema([("id", pa.int64())]))
    for version in range(1, commits + 1):
        stats = json.dumps({"numRecords": 1, "minValues": {"id": version}})
        added = {
            "path": f"part-{version:036d}.parquet",
            "partitionValues": {},
            "size": 1_000,
            "modificationTime": 0,
            "dataChange": True,
            "stats": stats,
        }
        info = {"operation": "WRITE", "operationMetrics": {"numFiles": "1", "numOutputRows": "1"}}
        lines = json.dumps({"commitInfo": info}), json.dumps({"add": added})
        (folder / f"{version:020d}.json").write_text("\n".join(lines))
        if version % 1_000 == 0:
            DeltaTable(path).create_checkpoint()
    return path


def by_shape(dt: Engine, rows: int, times: int) -> None:
    """An interval that grows from inserts alone to the first deletion."""
    found = []
    for label, properties in IDENTITIES.items():
        table = f"shaped_{label.split()[-1]}"
        make(dt, table, rows, properties)
        start = version(dt, table)
        for i in range(10):
            dt.sql(f"INSERT INTO {table} {numbered(rows + 100 * i, 100)}")
        adds = version(dt, table)
        dt.sql(f"DELETE FROM {table} WHERE id = {rows // 2}")
        first = version(dt, table)
        dt.sql(f"DELETE FROM {table} WHERE id >= {rows + 900}")  # all rows of the last file
        steps = {
            "10 inserts": Interval(table, start, adds, 1000),
            "and a row deleted": Interval(table, start, first, 1001),
            "and a whole file": Interval(table, start, first + 1, 901),
            "that file alone": Interval(table, first, first + 1, 100),
        }
        timings = in_turns(dt, list(steps.values()), times)
        for (what, step), t in zip(steps.items(), timings, strict=True):
            shape = dt.change_rows(table, step.old, step.new).query.shape
            found.append((label, what, shape, t.plan, t.total, t.jobs, ratio(t, timings[0])))
    show(
        f"From added files to the first removed one, {rows:,} rows",
        ("ids", "interval", "shape", "plan ms", "ms", "Spark jobs", "ratio"),
        found,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.changes", description=__doc__)
    parser.add_argument("--large", action="store_true", help="also 10 million rows with a key")
    parser.add_argument("--commits", type=int, default=200, help="small commits of the third table")
    parser.add_argument("--times", type=int, default=9, help="runs of each measurement")
    args = parser.parse_args()
    sizes = (100_000, 1_000_000, 10_000_000) if args.large else (100_000, 1_000_000)
    lake = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        with dt_jupyter.connect(lake, scheduler=False, memory="4g") as dt:
            by_size(dt, sizes, args.times)
            written = write_commits(dt, args.commits)
            by_commits(dt, written, args.commits, args.times)
            by_log(dt, written, lake, args.times)
            has_data(dt, args.commits, args.times)
            by_shape(dt, sizes[1], args.times)
    finally:
        shutil.rmtree(lake, ignore_errors=True)


if __name__ == "__main__":
    main()
