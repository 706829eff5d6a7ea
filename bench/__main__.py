"""`python -m bench --scale 1`: views over TPC-H, or its 22 queries (`--suite tpch`), refreshed and
recomputed in turns in one process."""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import dt_jupyter
from bench.data import MIXES, VIEWS, change, generate, load
from bench.tpch import queries as tpch
from dt_jupyter.engine import Engine
from dt_jupyter.model import RefreshRecord

MOVED = "_moved"
"""Behind the name of a view: its twin that may not be computed anew."""


def timed(work: Callable[[], object]) -> float:
    """Seconds that the work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@dataclass(frozen=True)
class Cell:
    """One query after one change: seconds anew, as AUTO chose, and moved (`None`: not measured)."""

    action: str
    anew: float
    auto: float
    moved: float | None

    @property
    def right(self) -> bool:
        """Whether AUTO chose the way that took less time here: of a full refresh, what it took;
        where the table was moved, what its query takes anew."""
        if self.action == "INCREMENTAL":
            return self.auto <= self.anew
        return self.moved is None or self.auto <= self.moved

    @property
    def best(self) -> float:
        """The seconds of the better way."""
        other = self.anew if self.action == "INCREMENTAL" else self.moved
        return self.auto if other is None else min(self.auto, other)


def recompute(dt: Engine, query: str) -> float:
    """A CTAS of the query, into a table that it replaces."""
    text = f"CREATE OR REPLACE TABLE recomputed USING delta AS {query}"
    return timed(lambda: dt.spark.sql(text))


def refreshed(dt: Engine, view: str) -> tuple[float, RefreshRecord]:
    records: list[RefreshRecord] = []
    took = timed(lambda: records.append(dt.refresh(view)))
    if records[0].error is not None:
        raise SystemExit(records[0].error)
    return took, records[0]


def table_of(
    dt: Engine,
    queries: dict[str, str],
    shares: list[float],
    mixes: list[str],
    *,
    both: bool,
    rounds: int,
) -> None:
    """Each share is changed `rounds` times, and all queries computed and refreshed after each: a
    cell is the median of its rounds, its other columns those of the last."""
    print(
        "| view | change | mix | action | refresh s | moved s | recompute s | ratio | rows read "
        "| rows + | rows − | MB written | Spark jobs | writer |"
    )
    print("| --- |" + " --- |" * 13)
    salt = 0
    summaries = []
    for mix in mixes:
        for share in shares:
            found: dict[str, list[tuple[Cell, RefreshRecord]]] = {v: [] for v in queries}
            for _ in range(rounds):
                salt += 7
                change(dt, share, mix, salt)
                for view, query in queries.items():
                    again = recompute(dt, query)
                    took, record = refreshed(dt, view)
                    moved = refreshed(dt, view + MOVED)[0] if both else None
                    found[view].append((Cell(str(record.action), again, took, moved), record))
                    if len(found[view]) == rounds:
                        print_row(view, f"{share:.2%} | {mix}", middle(found[view]), record)
            cells = [middle(runs) for runs in found.values()]
            summaries.append(f"{share:.2%} {mix}: {summary(cells)}")
    print("\n" + "\n".join(summaries), flush=True)


def middle(runs: list[tuple[Cell, RefreshRecord]]) -> Cell:
    """The medians of some rounds; the action is that of the last."""
    moved = [c.moved for c, _ in runs if c.moved is not None]
    return Cell(
        runs[-1][0].action,
        statistics.median(c.anew for c, _ in runs),
        statistics.median(c.auto for c, _ in runs),
        statistics.median(moved) if moved else None,
    )


def print_row(view: str, change_made: str, cell: Cell, record: RefreshRecord) -> None:
    s = record.statistics
    row = (
        view, change_made, cell.action, f"{cell.auto:.2f}",
        "" if cell.moved is None else f"{cell.moved:.2f}", f"{cell.anew:.2f}",
        f"{cell.anew / cell.auto:.1f}×", f"{s.rows_read:,}", f"{s.inserted_rows:,}",
        f"{s.deleted_rows:,}", f"{s.bytes_written / 1e6:.1f}", s.spark_jobs, s.writer,
    )  # fmt: skip
    print(f"| {' | '.join(map(str, row))} |", flush=True)


def summary(cells: list[Cell]) -> str:
    """How many were faster than anew, the geometric mean of the ratios, the slowest."""
    ratios = [c.anew / c.auto for c in cells]
    moved = sum(c.action == "INCREMENTAL" for c in cells)
    lost = sum(c.auto for c in cells) / sum(c.best for c in cells) - 1
    return (
        f"{sum(r > 1 for r in ratios)} of {len(cells)} faster than anew, geometric mean "
        f"{statistics.geometric_mean(ratios):.1f}×, least {min(ratios):.2f}×; {moved} incremental, "
        f"{sum(c.right for c in cells)} by the faster way, {lost:.1%} of time lost against it"
    )


def no_data(dt: Engine, view: str, times: int) -> None:
    """Engine time of a refresh that has nothing to do, and the Spark jobs that it starts."""
    refreshed(dt, view)
    runs = [refreshed(dt, view) for _ in range(times)]
    jobs = sum(r.statistics.spark_jobs for _, r in runs)
    actions = {str(r.action) for _, r in runs}
    middle = statistics.median(t for t, _ in runs) * 1000
    print(
        f"\nNO_DATA ({', '.join(sorted(actions))}): median {middle:.1f} ms, {jobs} Spark jobs "
        f"in {times} refreshes"
    )


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
    parser.add_argument("--shares", default="0.0001,0.001,0.01,0.1", help="shares changed")
    parser.add_argument("--mixes", help="which of: " + ", ".join(MIXES))
    parser.add_argument("--suite", choices=("views", "tpch"), default="views")
    parser.add_argument("--views", help="which of the suite's; all where it is left out")
    parser.add_argument(
        "--both", action="store_true", help="each also with REFRESH_MODE = INCREMENTAL"
    )
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    parser.add_argument("--rounds", type=int, default=1, help="changes of each kind and share")
    parser.add_argument("--times", type=int, default=11, help="runs of the small measurements")
    args = parser.parse_args()
    suite = VIEWS if args.suite == "views" else tpch(args.scale)
    views = args.views.split(",") if args.views else list(suite)
    queries = {v: suite[v] for v in views}
    mixes = args.mixes or ("line_inserts,lines" if args.suite == "views" else "mixed")
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    lake = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        with dt_jupyter.connect(lake, scheduler=False, memory="6g") as dt:
            load(dt, data)
            rows = dt.spark.table("lineitem").count()
            print(f"TPC-H scale {args.scale:g}: {rows:,} rows of lineitem\n")
            for view, query in queries.items():
                made = f"CREATE DYNAMIC TABLE {view} AS {query}"
                took = timed(lambda text=made: dt.sql(text))
                print(f"created {view} in {took:.1f} s ({dt.table(view).effective_mode})")
                if args.both:
                    option = "REFRESH_MODE = INCREMENTAL"
                    dt.sql(f"CREATE DYNAMIC TABLE {view}{MOVED} {option} AS {query}")
            memory("after creation")
            print()
            shares = [float(s) for s in args.shares.split(",")]
            table_of(dt, queries, shares, mixes.split(","), both=args.both, rounds=args.rounds)
            no_data(dt, views[0], args.times)
            fixed_cost(dt, args.times)
            for view in views:
                print(dt.verify(view))
            memory("at the end")
    finally:
        shutil.rmtree(lake, ignore_errors=True)


if __name__ == "__main__":
    main()
