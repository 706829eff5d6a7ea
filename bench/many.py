"""`python -m bench.many --tables 50`: many dynamic tables over one source, refreshed after one
change of it, one by one and several at a time, beside as many refreshes of which each has a change
of its own; the same process, in turns. Shapes: filters, groups, distinct rows, joins with a small
table."""

from __future__ import annotations

import argparse
import statistics
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import dt_jupyter
from bench.meters import Meters, Reading
from dt_jupyter.engine import Engine

SHAPES = (
    "SELECT id, k, v FROM events WHERE k % {n} = 0",
    "SELECT k % {n} AS g, SUM(v) AS s, COUNT(*) AS c FROM events GROUP BY k % {n}",
    "SELECT DISTINCT k % {n} AS g, v % 10 AS w FROM events",
    "SELECT d.name, MAX(e.v) AS m FROM events e JOIN kinds d ON e.k = d.k WHERE e.v % {n} <> 0 "
    "GROUP BY d.name",
    "SELECT e.id, d.name FROM events e JOIN kinds d ON e.k = d.k WHERE e.v % {n} = 1",
)


def make_sources(dt: Engine, rows: int) -> None:
    """`events`, and `kinds` that its rows are of."""
    events = f"SELECT id, id % 1000 AS k, id * 7919 % 10007 AS v FROM range({rows})"
    dt.sql(f"CREATE TABLE events USING delta AS {events}")
    dt.sql("CREATE TABLE kinds USING delta AS SELECT id AS k, concat('kind ', id % 50) AS name "
           "FROM range(1000)")  # fmt: skip


def make(dt: Engine, tables: int, rows: int) -> list[str]:
    """The source, the small table and the dynamic tables; their names."""
    make_sources(dt, rows)
    names = []
    for i in range(tables):
        names.append(f"many_{i}")
        query = SHAPES[i % len(SHAPES)].format(n=7 + i)
        dt.sql(f"CREATE DYNAMIC TABLE {names[-1]} TARGET_LAG = '1 day' AS {query}")
    return names


def change(dt: Engine, salt: int, rows: int, share: float) -> None:
    """An update, a delete and an insert of rows of the source: three commits."""
    every = max(int(1 / share), 1) * 3
    dt.sql(f"UPDATE events SET v = v + 1 WHERE id % {every} = {salt % every}")
    dt.sql(f"DELETE FROM events WHERE id % {every} = {(salt + 1) % every}")
    dt.sql(f"INSERT INTO events SELECT id + {rows * (salt + 1)}, id % 1000, id FROM "
           f"range({max(int(rows * share / 3), 1)})")  # fmt: skip


def refresh(dt: Engine, name: str) -> None:
    record = dt.refresh(name)
    if record.error is not None or str(record.action) != "INCREMENTAL":
        raise SystemExit(f"{name}: {record.action} {record.error or record.reason}")


def measure(meters: Meters, dt: Engine, name: str) -> Reading:
    return meters.measure(partial(refresh, dt, name))


def refresh_all(dt: Engine, names: list[str], workers: int) -> None:
    """So many at a time."""
    with ThreadPoolExecutor(workers) as threads:
        list(threads.map(partial(refresh, dt), names))


def add(readings: list[Reading]) -> tuple[float, float]:
    return sum(r.wall for r in readings), sum(r.cpu for r in readings)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.many", description=__doc__)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the source")
    parser.add_argument("--share", type=float, default=0.001, help="share of them changed")
    parser.add_argument("--rounds", type=int, default=4, help="the first warms up")
    parser.add_argument("--workers", type=int, default=2, help="refreshes at a time")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        with dt_jupyter.connect(str(lake), scheduler=False, memory="6g") as dt:
            names = make(dt, args.tables, args.rows)
            meters = Meters(dt.spark)
            together: list[tuple[float, float]] = []
            at_once: list[tuple[float, float]] = []
            apart: list[tuple[float, float]] = []
            salt = 0
            for _ in range(args.rounds):
                salt += 2
                change(dt, salt, args.rows, args.share)
                together.append(add([measure(meters, dt, n) for n in names]))
                salt += 2
                change(dt, salt, args.rows, args.share)
                several = meters.measure(partial(refresh_all, dt, names, args.workers))
                at_once.append((several.wall, several.cpu))
                single = []
                for name in names[:: max(args.tables // 10, 1)]:
                    salt += 2
                    change(dt, salt, args.rows, args.share)
                    single.append(measure(meters, dt, name))
                    for other in names:  # so that one change waits for each of them
                        if other != name:
                            refresh(dt, other)
                scale = args.tables / len(single)
                wall, cpu = add(single)
                apart.append((wall * scale, cpu * scale))
    print(f"| round | together, s | CPU | {args.workers} at a time, s | CPU | apart, s | CPU |")
    rounds = list(zip(together, at_once, apart, strict=True))
    for i, (one, at_a_time, many) in enumerate(rounds):
        cells = (*one, *at_a_time, *many)
        print(f"| {i} | {' | '.join(f'{c:.2f}' for c in cells)} |")
    for at, label in enumerate(("one by one", f"{args.workers} at a time")):
        ratio = statistics.median(r[at][0] / r[2][0] for r in rounds[1:])
        print(f"{label}, of apart, median after the first round: {ratio:.2f}")


if __name__ == "__main__":
    main()
