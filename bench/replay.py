"""Time travel: what resolving a time, opening a snapshot and walking over many versions cost.

`python -m bench.replay`: medians in milliseconds; what is compared is measured in turns in one
process.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import dt_jupyter
from bench.changes import jobs_so_far, make, path_of, show, version
from dt_jupyter.engine import Engine
from dt_jupyter.model import Timestamp
from dt_jupyter.replay.snapshots import whole
from dt_jupyter.sources.points import Moment

_BY_KEY = "'dt.primaryKey' = 'id', 'delta.enableChangeDataFeed' = 'true'"


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def in_turns(works: Sequence[Callable[[], object]], times: int) -> list[float]:
    """The median of each, after a round that does not count."""
    found: list[list[float]] = [[] for _ in works]
    for turn in range(times + 1):
        for work, one in zip(works, found, strict=True):
            took = timed(work)
            if turn:
                one.append(took)
    return [statistics.median(one) for one in found]


# -- resolving a time -----------------------------------------------------------------------------


def long_log(dt: Engine, commits: int) -> str:
    """A table of so many commits, a millisecond apart, with a checkpoint near its end."""
    dt.sql("CREATE TABLE long_log (id BIGINT, n INT, name STRING)")
    folder = Path(path_of(dt, "long_log")) / "_delta_log"
    for v in range(1, commits):
        info = {"timestamp": v, "operation": "WRITE", "operationParameters": {}}
        (folder / f"{v:020d}.json").write_text(json.dumps({"commitInfo": info}) + "\n")
        if v in (commits // 2, commits - 10):
            DeltaTable(folder.parent, version=v).create_checkpoint()
    return "long_log"


def resolving(dt: Engine, commits: int, times: int) -> None:
    table = long_log(dt, commits)
    log = dt.context.sources.logs[path_of(dt, table)]
    low, high = log.commit_time(0), log.commit_time(commits - 1)
    while dt.context.clock.now() <= high:  # its times lie after that of its creation, just now
        time.sleep(0.1)
    rng = random.Random(7)
    name, snapshots = dt.context.name(table), dt.context.travel.snapshots
    bases = snapshots.bases(whole(name), name.schema)

    def at() -> Moment:
        return Moment(Timestamp(rng.randint(low.micros, high.micros)))

    jobs = jobs_so_far(dt)
    found = [
        ("the version", *in_turns([lambda: snapshots.versions(bases, table, at())], times)),
        (
            "the snapshot",
            *in_turns([lambda: snapshots.of(whole(name), name.schema, table, at())], times),
        ),
    ]
    rows = [(what, f"{ms:.2f}", jobs_so_far(dt) - jobs) for what, ms in found]
    show(f"A random time on a table of {commits:,} commits", ("what", "ms", "Spark jobs"), rows)


# -- opening a snapshot ---------------------------------------------------------------------------


def opening(dt: Engine, rows: int, times: int) -> None:
    make(dt, "opened", rows, _BY_KEY)
    for i in range(20):
        dt.sql(f"INSERT INTO opened VALUES ({rows + i}, {i}, 'later')")
    path, past = path_of(dt, "opened"), version(dt, "opened") - 10
    name = dt.context.name("opened")

    def plain() -> None:
        dt.spark.sql(f"SELECT SUM(n) FROM delta.`{path}` VERSION AS OF {past}").collect()

    def ours() -> None:
        dt.sql(f"SELECT SUM(n) FROM opened AT (VERSION => {past})").collect()

    def replayed() -> None:
        with dt.replay(name, at=past) as replay:
            replay.frame().selectExpr("SUM(n)").collect()

    found = in_turns([plain, ours, replayed], times)
    labels = ("VERSION AS OF", "SELECT … AT", "dt.replay, pinned")
    cells = [(label, ms, f"{ms / found[0]:.2f}×") for label, ms in zip(labels, found, strict=True)]
    show(f"One snapshot of {rows:,} rows, summed", ("how", "ms", "ratio"), cells)


# -- walking --------------------------------------------------------------------------------------


def grown(dt: Engine, table: str, rows: int, versions: int) -> int:
    """So many versions more, of ten rows each; the first of them."""
    make(dt, table, rows, _BY_KEY)
    first, path = version(dt, table), path_of(dt, table)
    schema = pa.schema([("id", pa.int64()), ("n", pa.int32()), ("name", pa.string())])
    for v in range(versions):
        ids = range(rows + 10 * v, rows + 10 * v + 10)
        more = pa.table({"id": ids, "n": [v] * 10, "name": ["later"] * 10}, schema)
        write_deltalake(path, more, mode="append")
    return first


def walking(dt: Engine, sizes: Sequence[int], versions: int) -> None:
    found = []
    for size in sizes:
        table = f"walked_{size}"
        first = grown(dt, table, size, versions)
        jobs = jobs_so_far(dt)
        with dt.replay(table, at=first, to=first + versions) as replay:
            whole_ms = timed(lambda r=replay: r[0])  # type: ignore[misc]
            walk_ms = timed(lambda r=replay: list(r))  # type: ignore[misc]
            assert replay[-1].row_count == size + 10 * versions
        found.append(
            (
                f"{size:,}",
                versions,
                whole_ms,
                walk_ms,
                f"{walk_ms / versions:.2f}",
                jobs_so_far(dt) - jobs,
            )
        )
    show(
        "A walk with digests, by the rows of the table",
        ("rows", "versions", "first snapshot ms", "the walk ms", "ms a version", "Spark jobs"),
        found,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--commits", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--versions", type=int, default=1_000)
    parser.add_argument("--times", type=int, default=9)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        with dt_jupyter.connect(folder, scheduler=False) as dt:
            resolving(dt, asked.commits, max(asked.times, 50))
            opening(dt, asked.rows, asked.times)
            walking(dt, (asked.rows // 100, asked.rows), asked.versions)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
