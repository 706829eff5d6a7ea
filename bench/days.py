"""`python -m bench.days --refreshes 500`: a notebook that is open for days. Six dynamic tables
over two sources are refreshed again and again in one process; every fifty refreshes the memory of
Python and the JVM's heap after a collection; at the end, in turns: the first Spark read after a
refresh and after Spark's own commit, each beside the next one."""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import dt_jupyter
from bench.many import make_sources, refresh
from bench.meters import read_memory
from dt_jupyter.engine import Engine

TABLES = {
    "filtered": "SELECT id, k, v FROM events WHERE k % 7 = 0",
    "summed": "SELECT k, SUM(v) AS s, COUNT(*) AS c FROM events GROUP BY k",
    "alike": "SELECT DISTINCT k % 11 AS g, v % 10 AS w FROM events",
    "highest": "SELECT d.name, MAX(e.v) AS m FROM events e JOIN kinds d ON e.k = d.k "
    "GROUP BY d.name",
    "joined": "SELECT e.id, d.name FROM events e JOIN kinds d ON e.k = d.k WHERE e.v % 3 = 1",
    "ranked": "SELECT id, k, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC, id) AS n "
    "FROM events",
}
EVERY = 50


def make(dt: Engine, rows: int) -> None:
    make_sources(dt, rows)
    dt.sql("CREATE TABLE plain USING delta AS SELECT * FROM events")
    for name, query in TABLES.items():
        dt.sql(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 day' AS {query}")


def change(dt: Engine, table: str, number: int, rows: int) -> None:
    """Ten rows more; at each third change some others are other rows, at each ninth some go."""
    dt.sql(f"INSERT INTO {table} SELECT id + {rows + 10 * number}, id % 1000, id FROM range(10)")
    if number % 3 == 0:
        dt.sql(f"UPDATE {table} SET v = v + 1 WHERE id % 9973 = {number}")
    if number % 9 == 0:
        dt.sql(f"DELETE FROM {table} WHERE id % 9967 = {number}")


def timed(work: Callable[[], object]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return 1e3 * (time.perf_counter() - start)


def count(dt: Engine, table: str) -> float:
    return timed(lambda: dt.spark.table(table).count())


def read_times(dt: Engine, number: int, rows: int, times: int) -> dict[str, float]:
    """Medians in milliseconds of reads after commits, in turns."""
    found: dict[str, list[float]] = {}
    for at in range(times):
        ten = f"SELECT id + {rows + 10 * (number + at)}, 7, id FROM range(10)"
        dt.sql(f"INSERT INTO plain {ten}")
        once = {"after Spark's commit": count(dt, "plain"), "again": count(dt, "plain")}
        dt.sql(f"INSERT INTO events {ten}")
        refresh(dt, "filtered")
        once["after a refresh"] = count(dt, "filtered")
        once["again, after that"] = count(dt, "filtered")
        for what, took in once.items():
            found.setdefault(what, []).append(took)
    return {what: statistics.median(took) for what, took in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.days", description=__doc__)
    parser.add_argument("--refreshes", type=int, default=500)
    parser.add_argument("--rows", type=int, default=200_000, help="rows of the source")
    parser.add_argument("--times", type=int, default=9, help="turns of the reads")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lake = Path(folder) / "lake"
        with dt_jupyter.connect(str(lake), scheduler=False, memory="2g") as dt:
            make(dt, args.rows)
            done, changes, took = 0, 0, list[float]()
            print("| refreshes | Python, MB | heap, MB | a refresh, ms |")
            print("| --- | --- | --- | --- |")
            while done < args.refreshes:
                changes += 1
                change(dt, "events", changes, args.rows)
                for name in TABLES:
                    took.append(timed(lambda n=name: refresh(dt, n)))
                    done += 1
                    if done % EVERY == 0:
                        python, heap = read_memory(dt.spark)
                        middle = statistics.median(took)
                        print(f"| {done} | {python:.0f} | {heap:.0f} | {middle:.0f} |", flush=True)
                        took.clear()
            print("\n| a read by Spark | ms |\n| --- | --- |")
            for what, ms in read_times(dt, changes + 1, args.rows, args.times).items():
                print(f"| {what} | {ms:.0f} |")


if __name__ == "__main__":
    main()
