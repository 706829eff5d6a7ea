"""`python -m bench.fleet --tables 1000`: a lake of many small dynamic tables (chains, fans,
diamonds, over 50 sources) with a long history: what a look of the scheduler costs, a round in which
nothing is new, the start of an engine, and the panel's graph."""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import dt_jupyter
from dt_jupyter.catalog.codec import from_record
from dt_jupyter.catalog.schema import history
from dt_jupyter.engine import Engine
from dt_jupyter.model import Clock
from dt_jupyter.schedule import Scheduler

SOURCES = 50
CHAIN = 20


def definitions(tables: int) -> Iterator[tuple[str, str]]:
    """Names and queries, each after what it reads: a fifth chains, half fans, the rest diamonds."""
    for i in range(tables // 5):
        read = f"chain_{i - 1}" if i % CHAIN else f"s{i // CHAIN % SOURCES}"
        yield f"chain_{i}", f"SELECT id, v + 1 AS v FROM {read}"
    for i in range(tables // 2):
        query = f"SELECT v % {2 + i} AS g, SUM(v) AS t FROM s{i % SOURCES} GROUP BY v % {2 + i}"
        yield f"fan_{i}", query
    for i in range((tables - tables // 5 - tables // 2) // 3):
        source = f"s{i % SOURCES}"
        yield f"left_{i}", f"SELECT id, v FROM {source} WHERE v > 3"
        yield f"right_{i}", f"SELECT id, v FROM {source} WHERE v <= 7"
        yield f"top_{i}", f"SELECT l.id, l.v, r.v AS w FROM left_{i} l JOIN right_{i} r USING (id)"


def make(dt: Engine, tables: int) -> list[str]:
    for i in range(SOURCES):
        dt.sql(f"CREATE TABLE s{i} USING delta AS SELECT id, id * {i + 3} % 11 AS v FROM range(20)")
    names = []
    for name, query in definitions(tables):
        dt.sql(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 day' AS {query}")
        names.append(name)
    return names


def fill_history(dt: Engine, rows: int) -> None:
    """So many more refreshes in the history, evenly over the tables, before those that it has."""
    catalog = dt.context.catalog
    known = [(table.id, dt.records(table.name, limit=1)[0]) for table in catalog.list()]
    each, ordinal = -(-rows // len(known)), -1
    with catalog._write() as connection:
        for dt_id, record in known:
            values = from_record(replace(record, query_id="")) | {"dt_id": dt_id}
            batch = []
            for number in range(each):
                past = record.data_timestamp.plus(-60.0 * (number + 1))
                row = {"query_id": uuid.uuid4().hex, "ordinal": ordinal, "data_timestamp": past}
                batch.append({**values, **row, "start_time": past, "end_time": past})
                ordinal -= 1
            connection.execute(history.insert(), batch)


def seconds(work: Callable[[], object], times: int = 5) -> float:
    """The median; the first time does not count."""
    taken = []
    for _ in range(times + 1):
        begin = time.perf_counter()
        work()
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken[1:])


class Wall:
    """The wall clock, so many seconds later than it is."""

    def __init__(self) -> None:
        self.later = 0.0

    def __call__(self) -> int:
        return time.time_ns() // 1000 + round(self.later * 1e6)


def look(scheduler: Scheduler) -> None:
    """What the scheduler does at each look where nothing is due."""
    scheduler._round()


def run_tick(dt: Engine, wall: Wall, scheduler: Scheduler, tables: int) -> float:
    """The seconds that a tick takes at which all are due and nothing is new."""
    wall.later += 86_400.0
    begin, before = time.perf_counter(), newest(dt)
    while dt.context.catalog.present().ordinal - before < tables:
        scheduler._round()
    return time.perf_counter() - begin


def newest(dt: Engine) -> int:
    return dt.context.catalog.present().ordinal


def make_lake(lake: str, args: argparse.Namespace) -> None:
    begin = time.perf_counter()
    with dt_jupyter.connect(lake, scheduler=False, catalog=args.catalog) as dt:
        names = make(dt, args.tables)
        print(f"{len(names)} tables made in {time.perf_counter() - begin:.0f} s", flush=True)
        fill_history(dt, args.history)


def measure(lake: str) -> None:
    """In a session that knows no name of the lake."""
    wall = Wall()
    with tempfile.TemporaryDirectory(prefix="dt_bench_") as other:
        spark = dt_jupyter.connect(str(Path(other) / "lake"), scheduler=False).spark
        spark.range(3).count()
        for told in ("of a lake that the session does not know", "again, in the same session"):
            begin = time.perf_counter()
            dt = dt_jupyter.connect(lake, spark=spark, scheduler=False, clock=Clock(wall))
            print(f"| engine's start {told} | {time.perf_counter() - begin:.2f} s |")
            if "again" not in told:
                dt.close()
        tables = dt.context.catalog.list()
        known = max(t.data_timestamp.micros for t in tables if t.data_timestamp is not None)
        wall.later = max(0.0, known / 1e6 - time.time())
        scheduler = Scheduler(dt.context.scheduling.port, dt.context.clock)
        begin = time.perf_counter()
        look(scheduler)
        print(f"| the first look of the scheduler | {time.perf_counter() - begin:.2f} s |")
        ticks = [run_tick(dt, wall, scheduler, len(tables)) for _ in range(5)]
        print(f"| a tick of all at which nothing is new | {statistics.median(ticks):.2f} s |")
        print(
            f"| a look at which nothing is due | {seconds(lambda: look(scheduler)) * 1000:.0f} ms |"
        )
        print(f"| the graph | {seconds(dt.graph) * 1000:.0f} ms |")
        print(f"| history, newest 100 | {seconds(lambda: dt.records(limit=100)) * 1000:.1f} ms |")
        dt.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.fleet", description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--history", type=int, default=200_000)
    parser.add_argument("--catalog", help="postgresql+psycopg://…; a file where it is left out")
    parser.add_argument("--lake", type=Path, help="made where it is not there, and kept")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="dt_bench_") as folder:
        lake = str(args.lake or Path(folder) / "lake")
        if not Path(lake).exists():  # by another process: this one's session is to know no names
            maker = multiprocessing.get_context("spawn").Process(
                target=make_lake, args=(lake, args)
            )
            maker.start()
            maker.join()
            if maker.exitcode:
                raise SystemExit("the lake could not be made")
        measure(lake)


if __name__ == "__main__":
    main()
