"""`python -m bench.creation --scale 0.3`: creating dynamic tables beside a CTAS of the same query,
in turns in one process: the queries of TPC-H, and a join of a star of twelve tables of few rows."""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import dt_jupyter
from bench.data import generate, load
from bench.meters import Meters, Reading
from bench.tpch import queries as tpch
from dt_jupyter.engine import Engine
from dt_jupyter.model import Tuning

POINTS = 12
"""Tables of the star, its middle among them."""
FACTOR = 1.2
ALLOWED = 1.0
"""A creation is to take this factor of its CTAS, and so many seconds more, at most."""


@dataclass(frozen=True)
class Made:
    """One query made once: as a table, and as a dynamic table, in how many Spark jobs."""

    ctas: Reading
    creation: Reading
    action: str
    jobs: int


def make(dt: Engine, meters: Meters, name: str, query: str) -> Made:
    """Both made and dropped."""
    ctas = meters.measure(lambda: dt.spark.sql(f"CREATE TABLE made USING delta AS {query}"))
    creation = meters.measure(lambda: dt.sql(f"CREATE DYNAMIC TABLE {name} AS {query}"))
    (record,) = dt.records(name)
    dt.sql(f"DROP DYNAMIC TABLE {name}; DROP TABLE made")
    return Made(ctas, creation, str(record.action), record.statistics.spark_jobs)


def create_star(dt: Engine) -> str:
    """A table of few rows for each point; the query that joins them all."""
    points = range(1, POINTS)
    keys = ", ".join(f"id % {n + 1} AS k{n}" for n in points)
    dt.sql(f"CREATE TABLE middle AS SELECT id, {keys}, id * 2 AS amount FROM range(100)")
    for n in points:
        dt.sql(f"CREATE TABLE point{n} AS SELECT id, concat('p', id) AS name FROM range({n + 1})")
    joins = " ".join(f"JOIN point{n} p{n} ON m.k{n} = p{n}.id" for n in points)
    names = ", ".join(f"p{n}.name AS name{n}" for n in points)
    return f"SELECT m.id, m.amount, {names} FROM middle m {joins}"


def middle(readings: Sequence[Reading]) -> Reading:
    return Reading(*(statistics.median(m) for m in zip(*map(astuple, readings), strict=True)))


def report(found: Mapping[str, Sequence[Made]]) -> None:
    columns = ("query", "CTAS: wall s", "CPU s", "creation: wall s", "CPU s", "wall", "CPU",
               "rules s", "JIT s", "tasks s", "CTAS tasks s", "jobs", "within")  # fmt: skip
    print(f"\n| {' | '.join(columns)} |\n|{' --- |' * len(columns)}")
    walls, cpus = [], []
    for name, rounds in found.items():
        ctas, creation = middle([m.ctas for m in rounds]), middle([m.creation for m in rounds])
        walls.append(creation.wall / ctas.wall)
        cpus.append(creation.cpu / ctas.cpu)
        cells = [f"{s:.2f}" for s in (ctas.wall, ctas.cpu, creation.wall, creation.cpu)]
        cells += [f"{walls[-1]:.2f}×", f"{cpus[-1]:.2f}×"]
        cells += [f"{s:.2f}" for s in (creation.rules, creation.jit, creation.tasks, ctas.tasks)]
        within = "yes" if creation.wall <= FACTOR * ctas.wall + ALLOWED else "no"
        print(f"| {name} | {' | '.join(cells)} | {rounds[-1].jobs} | {within} |")
    for meter, ratios in (("wall", walls), ("CPU", cpus)):
        mean = statistics.geometric_mean(ratios)
        print(f"{meter}: geometric mean {mean:.2f}×, most {max(ratios):.2f}×")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.creation", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.3, help="TPC-H scale factor")
    parser.add_argument("--queries", help="q1,q5,star,…; all where it is left out")
    parser.add_argument("--rounds", type=int, default=3, help="counted after one that is not")
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    args = parser.parse_args()
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    lake = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        with dt_jupyter.connect(lake, scheduler=False, memory="6g", tuning=Tuning()) as dt:
            load(dt, data)
            texts = {**tpch(args.scale), "star": create_star(dt)}
            queries = {q: texts[q] for q in args.queries.split(",")} if args.queries else texts
            meters = Meters(dt.spark)
            found: dict[str, list[Made]] = {name: [] for name in queries}
            for number in range(args.rounds + 1):
                for name, query in queries.items():
                    made = make(dt, meters, f"{name}_{number}", query)
                    if number:
                        found[name].append(made)
            report(found)
    finally:
        shutil.rmtree(lake, ignore_errors=True)


if __name__ == "__main__":
    main()
