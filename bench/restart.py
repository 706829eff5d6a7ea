"""`python -m bench.restart`: a lake with the 22 queries of TPC-H is opened and all are compiled, in
new processes that take turns: with the stored plans, and without. Seconds of a clock and of the CPU
(of Java and Python), and how often Spark was asked for an analysis."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import dt_jupyter
from bench.data import generate, load
from bench.meters import Meters
from bench.tpch import queries
from dt_jupyter.catalog import schema
from dt_jupyter.definition import SparkAnswers
from dt_jupyter.engine import Engine
from dt_jupyter.model import RefreshMode

_MODES = ("without", "with")


def make(lake: Path, data: Path, scale: float) -> None:
    """The tables, and a dynamic table for each query."""
    with dt_jupyter.connect(lake, scheduler=False) as dt:
        load(dt, data)
        for name, text in queries(scale).items():
            dt.sql(f"CREATE DYNAMIC TABLE {name} AS {text}")


def count_questions() -> list[str]:
    """A list that grows by each question that Spark is asked from now on."""
    asked, keep = list[str](), SparkAnswers._keep

    def keeping(answers: SparkAnswers, question: str, answer: str) -> str:
        asked.append(question)
        return keep(answers, question, answer)

    SparkAnswers._keep = keeping  # type: ignore[method-assign]
    return asked


def compile_all(dt: Engine) -> int:
    """Compiles each incremental table as its first refresh does; how many there are."""
    refresher, count = dt.context.refresher, 0
    for table in dt.context.catalog.list():
        if table.effective_mode is RefreshMode.FULL or table.frontier is None:
            continue
        with refresher.sessions.lease(table.warehouse, table.definition.settings) as spark:
            refresher.compiled(spark, table.id, table.definition, table.frontier)
        count += 1
    return count


def restart(lake: Path, mode: str) -> None:
    """In this process; prints what was measured as JSON."""
    began = time.perf_counter()
    with dt_jupyter.connect(lake, scheduler=False) as dt:
        opened = time.perf_counter() - began
        if mode == "without":
            with dt.context.catalog._write() as connection:
                connection.execute(schema.stored_plan.delete())
        asked = count_questions()
        reading = Meters(dt.spark).measure(lambda: compile_all(dt))
        facts = {"opened": opened, "wall": reading.wall, "cpu": reading.cpu, "asked": len(asked)}
        print(json.dumps(facts))


def run_step(*arguments: object) -> str:
    command = [sys.executable, "-m", "bench.restart", *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def run_all(args: argparse.Namespace) -> None:
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    found: dict[str, list[dict[str, Any]]] = {mode: [] for mode in _MODES}
    with tempfile.TemporaryDirectory(prefix="dt_bench_") as lake:
        common = (f"--lake={lake}", f"--scale={args.scale}", f"--data={args.data}")
        run_step(*common, "--step=make")
        for _ in range(args.times):
            for mode in _MODES:
                line = run_step(*common, f"--step={mode}").strip().splitlines()[-1]
                found[mode].append(json.loads(line))
    print("| stored plans | open s | compile s | compile CPU s | questions to Spark |")
    print("|" + " --- |" * 5)
    for mode, runs in found.items():
        middle = {k: statistics.median(run[k] for run in runs) for k in runs[0]}
        cells = (f"{middle[k]:.2f}" for k in ("opened", "wall", "cpu"))
        print(f"| {mode} | {' | '.join(cells)} | {middle['asked']:.0f} |")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.restart", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.01, help="TPC-H scale factor")
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    parser.add_argument("--lake", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--step", help=argparse.SUPPRESS)
    args = parser.parse_args()
    match args.step:
        case None:
            run_all(args)
        case "make":
            make(args.lake, args.data / f"sf{args.scale:g}", args.scale)
        case mode:
            restart(args.lake, mode)


if __name__ == "__main__":
    main()
