"""`python -m bench --scale 1`: TPC-H views, refreshed and recomputed in turns in one process."""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dt_jupyter
from bench.data import VIEWS, change, generate, load
from dt_jupyter.engine import Engine
from dt_jupyter.model import RefreshRecord


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def recompute(dt: Engine, view: str) -> float:
    """A CTAS of the view's query, into a table that is dropped again."""
    text = f"CREATE OR REPLACE TABLE recomputed USING delta AS {VIEWS[view]}"
    return timed(lambda: dt.spark.sql(text))


def refreshed(dt: Engine, view: str) -> tuple[float, RefreshRecord]:
    records: list[RefreshRecord] = []
    took = timed(lambda: records.append(dt.refresh(view)))
    if records[0].error is not None:
        raise SystemExit(records[0].error)
    return took, records[0]


def table_of(dt: Engine, views: list[str], shares: list[float], mixes: list[str]) -> None:
    print("| view | change | mix | action | refresh s | recompute s | ratio | rows read "
          "| rows + | rows − | MB written | Spark jobs | writer |")  # fmt: skip
    print("| --- |" + " --- |" * 12)
    salt = 0
    for mix in mixes:
        for share in shares:
            salt += 7
            change(dt, share, mix, salt)
            for view in views:
                again = recompute(dt, view)
                took, record = refreshed(dt, view)
                s = record.statistics
                cells = (
                    view, f"{share:.2%}", mix, record.action, f"{took:.2f}", f"{again:.2f}",
                    f"{again / took:.1f}×", f"{s.rows_read:,}", f"{s.inserted_rows:,}",
                    f"{s.deleted_rows:,}", f"{s.bytes_written / 1e6:.1f}", s.spark_jobs, s.writer,
                )  # fmt: skip
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


def no_data(dt: Engine, view: str, times: int) -> None:
    """Engine time of a refresh that has nothing to do, and the Spark jobs that it starts."""
    refreshed(dt, view)
    runs = [refreshed(dt, view) for _ in range(times)]
    jobs = sum(r.statistics.spark_jobs for _, r in runs)
    actions = {str(r.action) for _, r in runs}
    middle = statistics.median(t for t, _ in runs) * 1000
    print(f"\nNO_DATA ({', '.join(sorted(actions))}): median {middle:.1f} ms, {jobs} Spark jobs "
          f"in {times} refreshes")  # fmt: skip


def fixed_cost(dt: Engine, times: int) -> None:
    """The smallest incremental refresh against a bare append of ten rows to a Delta table."""
    dt.sql("CREATE TABLE small (k INT, v INT); CREATE TABLE bare (k INT, v INT)")
    dt.sql("INSERT INTO small SELECT id % 5, id FROM range(1000)")
    dt.sql("CREATE DYNAMIC TABLE small_filter AS SELECT * FROM small WHERE v >= 0")
    dt.sql("CREATE DYNAMIC TABLE small_sums AS SELECT k, SUM(v) AS s FROM small GROUP BY k")
    appends, found = [], {"small_filter": [], "small_sums": []}
    for i in range(times):
        ten = f"SELECT id % 5, id + {i} FROM range(10)"
        appends.append(timed(lambda ten=ten: dt.spark.sql(f"INSERT INTO bare {ten}")))
        dt.sql(f"INSERT INTO small {ten}")
        for view, runs in found.items():
            runs.append(refreshed(dt, view)[0])
    bare = statistics.median(appends[1:])
    for view, runs in found.items():
        middle = statistics.median(runs[1:])
        ratio = f"{middle / bare:.1f}× a bare append of ten rows ({bare:.2f} s)"
        print(f"smallest refresh, {view}: median {middle:.2f} s = {ratio}")


def memory(label: str) -> None:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"Python's peak memory {label}: {peak:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument(
        "--shares", default="0.0001,0.001,0.01,0.1", help="shares of lineitem changed"
    )
    parser.add_argument("--mixes", default="insert,mixed", help="insert, mixed or both")
    parser.add_argument("--views", default=",".join(VIEWS), help="which of: " + ", ".join(VIEWS))
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    parser.add_argument("--times", type=int, default=11, help="runs of the small measurements")
    args = parser.parse_args()
    views = args.views.split(",")
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    lake = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        with dt_jupyter.connect(lake, scheduler=False, memory="6g") as dt:
            load(dt, data)
            rows = dt.spark.table("lineitem").count()
            print(f"TPC-H scale {args.scale:g}: {rows:,} rows of lineitem\n")
            for view in views:
                took = timed(lambda v=view: dt.sql(f"CREATE DYNAMIC TABLE {v} AS {VIEWS[v]}"))
                print(f"created {view} in {took:.1f} s ({dt.table(view).effective_mode})")
            memory("after creation")
            print()
            shares = [float(s) for s in args.shares.split(",")]
            table_of(dt, views, shares, args.mixes.split(","))
            no_data(dt, views[0], args.times)
            fixed_cost(dt, args.times)
            for view in views:
                print(dt.verify(view))
            memory("at the end")
    finally:
        shutil.rmtree(lake, ignore_errors=True)


if __name__ == "__main__":
    main()
