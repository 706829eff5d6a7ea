"""`python -m bench.elsewhere`: a small refresh of one dynamic table in a lake on this disk, and in
one on HDFS, a NameNode and a DataNode of this machine, in turns; and what the storage is asked."""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import dt_jupyter
from dt_jupyter.engine import Engine
from dt_jupyter.lake import HadoopStorage
from dt_jupyter.spark import local_session
from tests.sinks.servers import PostgresServer
from tests.spark.hdfs_server import HdfsServer

ASKED = ("stat", "list", "fetch", "put", "put_commit")
DELAY = "spark.hadoop.dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
QUERY = "SELECT k, count(*) AS n, sum(id) AS s FROM {} GROUP BY k"


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """The questions to the storage, by kind, while the block runs."""
    calls: Counter[str] = Counter()

    def counting(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(self: HadoopStorage, *args: Any) -> Any:
            calls[name] += 1
            return method(self, *args)

        return call

    before = {name: getattr(HadoopStorage, name) for name in ASKED}
    for name, method in before.items():
        setattr(HadoopStorage, name, counting(name, method))
    yield calls
    for name, method in before.items():
        setattr(HadoopStorage, name, method)


def make(dt: Engine, name: str, place: str, rows: int) -> None:
    dt.sql(f"""
        CREATE TABLE {name} USING delta LOCATION '{place}/{name}'
            AS SELECT id, id % 1000 AS k FROM range({rows});
        CREATE DYNAMIC TABLE of_{name} TARGET_LAG = '1 day' REFRESH_MODE = INCREMENTAL
            AS {QUERY.format(name)}
    """)


def refresh(dt: Engine, name: str, number: int) -> float:
    """Seconds, of one after ten rows have come."""
    dt.sql(f"INSERT INTO {name} SELECT -id, id % 7 FROM range({number * 10}, {number * 10 + 10})")
    begin = time.perf_counter()
    record = dt.refresh(f"of_{name}")
    assert str(record.action) == "INCREMENTAL", record
    return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.elsewhere", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--delay", help="milliseconds that HDFS's client waits for a block")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        os.environ["XDG_CACHE_HOME"] = str(folder / "home")
        catalog, hdfs = PostgresServer(), HdfsServer()
        stack.callback(catalog.end)
        stack.callback(hdfs.end)
        confs = {DELAY: asked.delay} if asked.delay else {}
        spark = local_session(folder / "warehouse", cores=2, memory="2g", confs=confs)
        stack.callback(spark.stop)
        lakes = {"disk": f"{folder}/lake", "hdfs": f"{hdfs.url}/lake"}
        engines = {
            kind: dt_jupyter.connect(lake, spark=spark, scheduler=False, catalog=catalog.url)
            for kind, lake in lakes.items()
        }
        for kind, dt in engines.items():
            stack.callback(dt.close)
            make(dt, kind, f"{lakes[kind]}/tables", asked.rows)
        taken: dict[str, list[float]] = {kind: [] for kind in lakes}
        told: dict[str, Counter[str]] = {}
        for number in range(asked.rounds):
            for kind, dt in engines.items():
                with counted() as told[kind]:
                    taken[kind].append(refresh(dt, kind, number))
        medians = {kind: statistics.median(t[3:]) for kind, t in taken.items()}
        for kind, median in medians.items():
            print(f"{kind}: {median * 1000:.0f} ms, of {asked.rounds - 3} refreshes")
        print(f"hdfs / disk: {medians['hdfs'] / medians['disk']:.1f}")
        print("questions of one refresh on hdfs:", dict(told["hdfs"]))


if __name__ == "__main__":
    main()
