"""`python -m bench.cold --scale 1`: the first and the second refresh of each query of TPC-H in a
process of its own that has just begun, beside a recompute there. With `--before` an earlier
process has refreshed each of them once: decoded columns are on the disk."""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import dt_jupyter
from bench.data import MIXES, change, generate, load
from bench.meters import Meters, Reading
from bench.tpch import queries as tpch
from dt_jupyter import Tuning
from dt_jupyter.engine import Engine


def make(lake: Path, data: Path, queries: dict[str, str]) -> None:
    """The tables and the dynamic tables."""
    with dt_jupyter.connect(lake, scheduler=False, memory="6g") as dt:
        load(dt, data)
        for name, query in queries.items():
            dt.sql(f"CREATE DYNAMIC TABLE {name} AS {query}")


def change_once(lake: Path, share: float, mix: str, salt: int) -> None:
    with dt_jupyter.connect(lake, scheduler=False, memory="6g") as dt:
        change(dt, share, mix, salt)


def refresh_all(lake: Path, names: Iterable[str], tuning: Tuning, args: argparse.Namespace) -> None:
    """In this process: a refresh of each query, and then another change."""
    with dt_jupyter.connect(lake, scheduler=False, memory="6g", tuning=tuning) as dt:
        for name in names:
            refresh(dt, name)
        change(dt, args.share, args.mix, args.salt)
        dt.context.refresher.disk.flush()


def refresh(dt: Engine, name: str) -> None:
    record = dt.refresh(name)
    if record.error is not None:
        raise SystemExit(f"{name}: {record.error}")


def refresh_twice(
    lake: Path, name: str, query: str, tuning: Tuning, args: argparse.Namespace
) -> None:
    """In this process: a refresh, another change, a second refresh, a recompute. Prints a row.
    SystemExit where a refresh fails."""
    with dt_jupyter.connect(lake, scheduler=False, memory="6g", tuning=tuning) as dt:
        meters = Meters(dt.spark)
        first = meters.measure(lambda: refresh(dt, name))
        change(dt, args.share, args.mix, args.salt)
        second = meters.measure(lambda: refresh(dt, name))
        text = f"CREATE OR REPLACE TABLE recomputed USING delta AS {query}"
        again = meters.measure(lambda: dt.spark.sql(text))
        print_row(name, first, second, again)


def print_row(name: str, first: Reading, second: Reading, again: Reading) -> None:
    cells = (
        f"{first.wall:.1f}", f"{second.wall:.1f}", f"{again.wall:.1f}",
        f"{again.wall / first.wall:.2f}", f"{again.wall / second.wall:.2f}",
        f"{second.jit:.1f}", f"{second.classes:.0f}",
        f"{first.cpu:.2f}", f"{second.cpu:.2f}", f"{again.cpu:.2f}",
    )  # fmt: skip
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def run_all(args: argparse.Namespace, queries: dict[str, str]) -> None:
    """Each step in a process of its own; then the geometric means of both ratios."""
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    print("| query | first s | second s | recompute s | first × | second × | JIT s | classes "
          "| first CPU s | second CPU s | recompute CPU s |")  # fmt: skip
    print("|" + " --- |" * 11, flush=True)
    with tempfile.TemporaryDirectory(prefix="dt_bench_") as lake:
        run_step(args, lake, "make")
        run_step(args, lake, "change", salt=7)
        if args.before:
            run_step(args, lake, "refresh", salt=8)
        rows = [run_step(args, lake, q, salt=7 * at) for at, q in enumerate(queries, start=2)]
    for at, label in ((4, "first"), (5, "second")):
        ratios = [float(row.split(" | ")[at]) for row in rows]
        mean = statistics.geometric_mean(ratios)
        print(f"{label}: geometric mean {mean:.2f}×, least {min(ratios):.2f}×", flush=True)


def run_step(args: argparse.Namespace, lake: str, step: str, salt: int = 0) -> str:
    """The step's output, which is printed too."""
    told = [f"--scale={args.scale}", f"--share={args.share}", f"--mix={args.mix}",
            f"--data={args.data}", f"--queries={args.queries or ''}",
            f"--disk-cache-bytes={args.disk_cache_bytes}"]  # fmt: skip
    command = [sys.executable, "-m", "bench.cold", *told, "--lake", lake, "--step", step]
    done = subprocess.run(
        [*command, f"--salt={salt}"], check=True, stdout=subprocess.PIPE, text=True
    )
    print(done.stdout, end="", flush=True)
    return done.stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.cold", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument("--share", type=float, default=0.001, help="share of the orders changed")
    parser.add_argument("--mix", default="mixed", help="one of: " + ", ".join(MIXES))
    parser.add_argument("--queries", help="q1,q5,…; all where it is left out")
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    parser.add_argument("--before", action="store_true", help="after refreshes by a process before")
    parser.add_argument("--disk-cache-bytes", type=int, default=Tuning().disk_cache_bytes)
    parser.add_argument("--lake", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    parser.add_argument("--salt", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    texts, tuning = tpch(args.scale), Tuning(disk_cache_bytes=args.disk_cache_bytes)
    queries = {q: texts[q] for q in args.queries.split(",")} if args.queries else texts
    match args.step:
        case None:
            run_all(args, queries)
        case "make":
            make(args.lake, args.data / f"sf{args.scale:g}", queries)
        case "change":
            change_once(args.lake, args.share, args.mix, args.salt)
        case "refresh":
            refresh_all(args.lake, queries, tuning, args)
        case name:
            refresh_twice(args.lake, name, queries[name], tuning, args)


if __name__ == "__main__":
    main()
