"""`python -m bench.steady --scale 1`: the queries of TPC-H refreshed round after round in one
process: the first round, the second, and the median from the fifth on, beside a recompute of each
round; wall time, and CPU by what it was spent on; rows read against rows changed. What a process
that has just begun pays is measured by `bench.cold`. With `--path spark` nothing is computed in the
process, as where nothing fits into it, and a table tells what the Spark jobs were for."""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dt_jupyter
from bench.data import MIXES, change, generate, load
from bench.meters import Meters, Reading, read_memory
from bench.spark_work import PARTS, JobCounter, SparkWork, Split, total
from bench.tpch import queries as tpch
from dt_jupyter.engine import Engine
from dt_jupyter.model import SPARK_ONLY, RefreshRecord, Tuning
from dt_jupyter.spark import local_session
from tests.spark.standalone import StandaloneCluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MEMORY = "6g"
STEADY = 5
"""Rounds are steady from this one on, counted from one."""
MODES = {"process": "AUTO", "spark": "INCREMENTAL"}
"""The refresh mode of the tables of each path."""


@dataclass(frozen=True)
class Run:
    """One query in one round: the refresh, its record, what its Spark jobs did, and a CTAS of the
    same query."""

    refresh: Reading
    record: RefreshRecord
    work: Split
    recompute: Reading


def middle(readings: Sequence[Reading]) -> Reading:
    """The median of each meter."""
    return Reading(*(statistics.median(m) for m in zip(*map(astuple, readings), strict=True)))


def run_round(dt: Engine, meters: Meters, queries: dict[str, str]) -> dict[str, Run]:
    """All queries once, each refreshed and computed anew. SystemExit where a refresh fails."""
    found, jobs = {}, JobCounter(dt.spark)
    for name, query in queries.items():
        records: list[RefreshRecord] = []
        jobs.skip()
        refresh = meters.measure(lambda n=name, r=records: r.append(dt.refresh(n)))
        if records[0].error is not None:
            raise SystemExit(f"{name}: {records[0].error}")
        work = jobs.take()
        again = f"CREATE OR REPLACE TABLE recomputed USING delta AS {query}"
        found[name] = Run(
            refresh, records[0], work, meters.measure(lambda t=again: dt.spark.sql(t))
        )
    return found


# -- tables ----------------------------------------------------------------------------------------


def ratio(runs: Sequence[Run], meter: str) -> float:
    """What a recompute costs over what a refresh costs, by medians."""
    again, refresh = (
        statistics.median(getattr(getattr(r, side), meter) for r in runs)
        for side in ("recompute", "refresh")
    )
    return float(again / refresh)


def ratio_row(name: str, rounds: Sequence[Run]) -> str:
    cells = [f"{ratio(part, m):.1f}×" for part in parts(rounds) for m in ("wall", "cpu")]
    actions = "/".join(dict.fromkeys(str(r.record.action) for r in rounds))
    return f"| {name} | {actions} | {' | '.join(cells)} |"


def parts(rounds: Sequence[Run]) -> tuple[Sequence[Run], ...]:
    """The first round, the second, and those that are steady; the last where there are fewer."""
    last = rounds[-1:]
    return rounds[:1], rounds[1:2] or last, rounds[STEADY - 1 :] or last


def split_row(name: str, runs: Sequence[Run]) -> str:
    """Where the CPU of a steady refresh goes; what the JVM does besides is in none of the parts."""
    spent = middle([r.refresh for r in runs])
    record = runs[-1].record.statistics
    amplification = record.rows_read / max(1, record.changed_rows)
    seconds = (spent.wall, spent.cpu, spent.python, spent.rules, spent.jit, spent.gc, spent.tasks)
    cells = (*(f"{s:.2f}" for s in seconds), f"{spent.classes:.0f}", record.spark_jobs,
             f"{record.changed_rows:,}", f"{record.rows_read:,}",
             f"{amplification:.0f}")  # fmt: skip
    return f"| {name} | {' | '.join(map(str, cells))} |"


def work_row(name: str, runs: Sequence[Run]) -> str:
    """What Spark did in the middle one of some refreshes by jobs: all of it, and jobs and seconds
    of each part."""
    run = sorted(runs, key=lambda r: total(r.work).jobs)[len(runs) // 2]
    done, ratios = total(run.work), [ratio(runs, m) for m in ("wall", "cpu")]
    megabytes = [f"{b / 1e6:.1f}" for b in (done.shuffled, done.read, done.written)]
    counts = [f"{n:,.0f}" for n in (done.jobs, done.stages, done.tasks)]
    cells = [f"{r:.2f}×" for r in ratios]
    cells += [f"{run.refresh.wall:.2f}", f"{run.refresh.rules:.2f}", *counts]
    split = [run.work.get(part, SparkWork()) for part in PARTS]
    shown = [f"{w.jobs:.0f}, {w.seconds:.2f}" if w.jobs else "" for w in split]
    return f"| {' | '.join([name, *cells, *megabytes, *shown])} |"


def report_work(found: dict[str, list[Run]]) -> None:
    """The table of what Spark did in the steady rounds, or the last of fewer."""
    of_parts = [f"{part}: jobs, s" for part in PARTS]
    print(header("query", "wall", "CPU", "refresh s", "rules s", "jobs", "stages", "tasks",
                 "MB shuffled", "MB read", "MB written", *of_parts))  # fmt: skip
    for name, rounds in found.items():
        print(work_row(name, parts(rounds)[2]))
    sys.stdout.flush()


def header(*columns: str) -> str:
    return f"\n| {' | '.join(columns)} |\n|{' --- |' * len(columns)}"


def report(found: dict[str, list[Run]]) -> None:
    print(header("query", "action", "first: wall", "cpu", "second: wall", "cpu", "steady: wall",
                 "cpu"))  # fmt: skip
    for name, rounds in found.items():
        print(ratio_row(name, rounds))
    for at, label in enumerate(("first", "second", "steady")):
        for meter in ("wall", "cpu"):
            ratios = [ratio(parts(rounds)[at], meter) for rounds in found.values()]
            mean = statistics.geometric_mean(ratios)
            print(f"{label}, {meter}: geometric mean {mean:.2f}×, least {min(ratios):.2f}×")
    print(header("query", "wall s", "CPU s", "Python", "rules", "JIT", "GC", "tasks", "classes",
                 "jobs", "rows changed", "rows read", "read / changed"))  # fmt: skip
    for name, rounds in found.items():
        print(split_row(name, parts(rounds)[2]))
    sys.stdout.flush()


# -- the command -----------------------------------------------------------------------------------


def tell_memory(dt: Engine, when: str) -> None:
    """Of the driver's two processes, with what is kept for the next refresh."""
    python, heap = read_memory(dt.spark)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"memory {when}: Python {python:.0f} MB (most {most:.0f}), heap {heap:.0f} MB", flush=True
    )


def create(dt: Engine, queries: dict[str, str], path: str) -> None:
    mode = MODES[path]
    for name, query in queries.items():
        dt.sql(f"CREATE OR REPLACE DYNAMIC TABLE {name} REFRESH_MODE = {mode} AS {query}")
    tell_memory(dt, "after creation")


def measure(
    dt: Engine, queries: dict[str, str], mix: str, share: float, rounds: range, path: str
) -> None:
    """Refreshes the queries' tables after a change in each round. SystemExit
    where one does not hold what its query gives at the end."""
    meters = Meters(dt.spark)
    found: dict[str, list[Run]] = {name: [] for name in queries}
    for number in rounds:
        change(dt, share, mix, 7 * (number + 1))
        for name, run in run_round(dt, meters, queries).items():
            found[name].append(run)
            took = f"{run.refresh.wall:.2f} s beside {run.recompute.wall:.2f} s"
            print(f"round {number + 1}: {name} {took}", file=sys.stderr, flush=True)
        tell_memory(dt, f"after round {number + 1}")
    print(f"\n## {mix}, {share:.2%}, {len(rounds)} rounds")
    report(found)
    if path == "spark":
        report_work(found)
    for name in queries:
        checked = dt.verify(name)
        if not checked:
            raise SystemExit(f"{name}: {checked}")


@contextmanager
def spark_of(workers: int | None, memory: str) -> Iterator[SparkSession | None]:
    """A session whose tasks run in workers of a cluster; None: as an engine makes its own."""
    if workers is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="dt_bench_cluster_") as folder:
        cluster = StandaloneCluster(Path(folder) / "cluster", workers=workers)
        ours = {
            "spark.executor.extraJavaOptions": "-XX:+UseSerialGC",
            "spark.sql.sources.default": "delta",
        }
        try:
            session = local_session(
                Path(folder),
                app_name="bench",
                cores=2,
                memory=memory,
                confs={**cluster.confs, **ours},
            )
            yield session
            session.stop()
        finally:
            cluster.end()


def _shares(text: str) -> list[float]:
    """Shares of the orders; a ValueError is an error of the command line."""
    return [float(share) for share in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.steady", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="TPC-H scale factor")
    parser.add_argument("--share", type=_shares, default="0.001", help="changed: 0.001,0.01")
    parser.add_argument("--mixes", default="insert,mixed,recent", help=", ".join(MIXES))
    parser.add_argument("--queries", help="q1,q5,…; all where it is left out")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--evaluated-rows",
        type=int,
        default=Tuning().evaluated_rows,
        help="statements over fewer are evaluated without Spark; 1: none is",
    )
    parser.add_argument(
        "--cache-bytes",
        type=int,
        default=Tuning().cache_bytes,
        help="of columns that are kept for the next refresh; so many more for a larger scale",
    )
    parser.add_argument(
        "--vectors", action="store_true", help="sources with deletion vectors, which change faster"
    )
    parser.add_argument(
        "--workers", type=int, help="on a standalone cluster of so many of a core and 1 GB each"
    )
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    parser.add_argument(
        "--path",
        choices=tuple(MODES),
        default="process",
        help="spark: nothing is computed in the process, and every table is incremental",
    )
    parser.add_argument("--memory", default=MEMORY, help="of the driver's JVM")
    args = parser.parse_args()
    mixes = args.mixes.split(",")
    if len(mixes) > 1:  # each in a process of its own, as young as the others
        for mix in mixes:
            command = [sys.executable, "-m", "bench.steady", *sys.argv[1:], "--mixes", mix]
            subprocess.run(command, check=True)
        return
    texts = tpch(args.scale)
    queries = {q: texts[q] for q in args.queries.split(",")} if args.queries else texts
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    lake = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        in_process = Tuning(evaluated_rows=args.evaluated_rows, cache_bytes=args.cache_bytes)
        tuning = in_process if args.path == "process" else SPARK_ONLY
        with (
            spark_of(args.workers, args.memory) as spark,
            dt_jupyter.connect(
                lake, spark=spark, scheduler=False, memory=args.memory, tuning=tuning
            ) as dt,
        ):
            load(dt, data, vectors=args.vectors)
            create(dt, queries, args.path)
            for at, share in enumerate(args.share):
                rounds = range(at * args.rounds, (at + 1) * args.rounds)
                measure(dt, queries, mixes[0], share, rounds, args.path)
    finally:
        shutil.rmtree(lake, ignore_errors=True)


if __name__ == "__main__":
    main()
