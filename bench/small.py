"""What a refresh costs whose change is small: of time, CPU, statements and durable writes.

    python -m bench.small [KIND …] [--times N] [--columns N]

`no_data`: nothing is new. `one_row`: one row is, of a filter and of sums. `chain`: from the commit
of a row to that of SQLite, through three dynamic tables, without anybody's refresh. `width`: twenty
changed rows of a table of so many columns, by `SELECT *` and as sums.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import dt_jupyter
from dt_jupyter.engine import Engine


@dataclass(frozen=True)
class Spent:
    """Milliseconds of one piece of work, by the clock and of this process's CPU."""

    wall: float
    cpu: float


def spent(work: Callable[[], object]) -> Spent:
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return Spent(1e3 * (time.perf_counter() - wall), 1e3 * (time.process_time() - cpu))


def refresh(dt: Engine, name: str, action: str) -> None:
    record = dt.refresh(name)
    if record.error is not None or str(record.action) != action:
        raise SystemExit(f"{name}: {record.action} {record.error or record.reason}")


@contextmanager
def opened(scheduler: bool = False) -> Iterator[tuple[Engine, Path]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with dt_jupyter.connect(folder / "lake", scheduler=scheduler, memory="2g") as dt:
            yield dt, folder


def print_medians(what: str, runs: list[Spent]) -> None:
    warm = runs[len(runs) // 3 :]
    wall, cpu = (statistics.median(getattr(r, of) for r in warm) for of in ("wall", "cpu"))
    print(f"| {what} | {wall:.1f} | {cpu:.1f} | {len(warm)} |", flush=True)


def no_data(times: int) -> None:
    with opened() as (dt, _):
        dt.sql("CREATE TABLE events AS SELECT id, id % 100 AS k FROM range(1000)")
        dt.sql("CREATE DYNAMIC TABLE sums TARGET_LAG = '1 day' AS "
               "SELECT k, sum(id) AS s FROM events GROUP BY k")  # fmt: skip
        runs = [spent(partial(refresh, dt, "sums", "NO_DATA")) for _ in range(10 * times)]
    print_medians("NO_DATA", runs)


def one_row(times: int) -> None:
    queries = {
        "filter": "SELECT id, k FROM events WHERE k > 1",
        "sums": "SELECT k, sum(id) AS s FROM events GROUP BY k",
    }
    with opened() as (dt, _):
        dt.sql("CREATE TABLE events AS SELECT id, id % 100 AS k FROM range(100000)")
        for name, query in queries.items():
            dt.sql(f"CREATE DYNAMIC TABLE {name}_of TARGET_LAG = '1 day' AS {query}")
        runs: dict[str, list[Spent]] = {name: [] for name in queries}
        for i in range(times):
            dt.sql(f"INSERT INTO events VALUES ({1_000_000 + i}, {2 + i % 90})")
            for name, taken in runs.items():
                taken.append(spent(partial(refresh, dt, f"{name}_of", "INCREMENTAL")))
    for name, taken in runs.items():
        print_medians(f"one row, {name}", taken)


def commit_time(log: Path) -> float:
    """When the newest commit of a table was there."""
    return max(log.glob("*.json")).stat().st_mtime


def make_chain(dt: Engine, store: Path, lag: str) -> None:
    dt.sql("CREATE TABLE moves AS SELECT id, id % 500 AS k FROM range(5000)")
    dt.sql("CREATE DYNAMIC TABLE kept TARGET_LAG = DOWNSTREAM AS "
           "SELECT id, k FROM moves WHERE id >= 0")  # fmt: skip
    dt.sql("CREATE DYNAMIC TABLE sums TARGET_LAG = DOWNSTREAM AS "
           "SELECT k, count(*) AS n, sum(id) AS total FROM kept GROUP BY k")  # fmt: skip
    dt.sql(f"CREATE DYNAMIC TABLE large TARGET_LAG = '{lag}' AS "
           "SELECT k, n, total FROM sums WHERE n > 0")  # fmt: skip
    dt.create_sink("s", "large", f"sqlite://{store}", key=["k"], target_lag=lag)


def chain(times: int, lag: str) -> None:
    with opened(scheduler=True) as (dt, folder):
        store = folder / "app.db"
        make_chain(dt, store, lag)
        reader, log = sqlite3.connect(store), folder / "lake/tables/moves/_delta_log"
        found: list[float] = []
        for i in range(times):
            time.sleep(0.3 + 0.7 * (i * 0.37 % 1))  # at any time between two ticks
            dt.spark.sql(f"INSERT INTO moves VALUES ({10_000 + i}, {i % 500})")
            committed = commit_time(log)
            while reader.execute("SELECT sum(n) FROM large").fetchone()[0] < 5001 + i:
                time.sleep(0.002)
            found.append(time.time() - committed)
    warm = sorted(found[len(found) // 3 :])
    p95 = warm[int(0.95 * (len(warm) - 1))]
    print(
        f"chain: {statistics.median(warm) * 1e3:.0f} ms from commit to commit, p95 "
        f"{p95 * 1e3:.0f} ms, of {len(warm)} rows"
    )


def width(times: int, columns: int) -> None:
    values = ", ".join(f"id + {i} AS c{i}" for i in range(columns - 1))
    sums = ", ".join(f"sum(c{i}) AS s{i}" for i in range(columns // 4))
    with opened() as (dt, _):
        print_medians("create the source", [spent(partial(
            dt.sql, f"CREATE TABLE wide AS SELECT id, {values} FROM range(200)"))])  # fmt: skip
        for name, query in {
            "star": "SELECT * FROM wide",
            "sums": f"SELECT id % 10 AS g, {sums} FROM wide GROUP BY id % 10",
        }.items():
            text = f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 day' AS {query}"
            print_medians(f"create {name}", [spent(partial(dt.sql, text))])
        runs: dict[str, list[Spent]] = {"star": [], "sums": []}
        for i in range(times):
            dt.sql(f"UPDATE wide SET c0 = c0 + 1 WHERE id BETWEEN {i * 20} AND {i * 20 + 19}")
            for name, taken in runs.items():
                taken.append(spent(partial(refresh, dt, name, "INCREMENTAL")))
                print(f"  {name} {taken[-1].wall:.0f} ms, CPU {taken[-1].cpu:.0f} ms", flush=True)
    for name, taken in runs.items():
        print_medians(f"20 rows of {columns:,} columns, {name}", taken)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.small", description=__doc__)
    kinds = ("no_data", "one_row", "chain", "width")
    parser.add_argument("kinds", nargs="*", choices=[*kinds, []], default=[])
    parser.add_argument("--times", type=int, default=0)
    parser.add_argument("--columns", type=int, default=2000)
    parser.add_argument("--lag", default="1 second", help="the target lag of the chain's end")
    args = parser.parse_args()
    wanted = args.kinds or kinds
    if "chain" in wanted:
        chain(args.times or 30, args.lag)
    print("| | ms | CPU of this process, ms | of |\n| --- | --- | --- | --- |")
    if "no_data" in wanted:
        no_data(args.times or 30)
    if "one_row" in wanted:
        one_row(args.times or 40)
    if "width" in wanted:
        width(args.times or 5, args.columns)


if __name__ == "__main__":
    main()
