"""Refresh beside Spark Declarative Pipelines, which compute a materialized view anew each time.

`python -m bench.sdp --scale 0.1`: the same Spark, the same tables, the same changes; a pipeline of
one materialized view on a Spark Connect server, the dynamic table on a classic session.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import dt_jupyter
from bench.data import MIXES, TABLES, VIEWS, change, generate, load
from dt_jupyter.engine import Engine

_READY = "ready"


class Pipeline:
    """A process with a Spark Connect server that runs pipelines over the tables of a lake."""

    def __init__(self, folder: Path, lake: Path) -> None:
        command = [sys.executable, "-m", "bench.sdp", "--serve", str(folder), str(lake)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._wait()

    def _wait(self) -> str:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(_READY):
                return line.removeprefix(_READY).strip()
        raise SystemExit(f"the pipeline's process ended with {self._process.wait()}")

    def run(self, view: str) -> float:
        """Seconds of one run of the pipeline of a view, its graph registered before."""
        assert self._process.stdin is not None
        print(view, file=self._process.stdin, flush=True)
        return float(self._wait())

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(60)


def serve(folder: Path, lake: Path) -> None:
    """The process: a view's name comes in, the seconds of its pipeline's run go out."""
    from pyspark.pipelines import spark_connect_pipeline as runs
    from pyspark.pipelines.graph_element_registry import graph_element_registration_context
    from pyspark.pipelines.spark_connect_graph_element_registry import (
        SparkConnectGraphElementRegistry,
    )
    from pyspark.sql import SparkSession

    from dt_jupyter.spark import find_java
    from dt_jupyter.spark.java import launch_environment
    from dt_jupyter.spark.session import LOCAL_CONFS

    folder.mkdir(parents=True, exist_ok=True)
    os.environ.update(launch_environment(find_java(os.environ), os.environ, folder))
    package = f"io.delta:delta-spark_4.2_2.13:{version('delta-spark')}"
    builder = SparkSession.builder.remote("local[*]").config("spark.jars.packages", package)
    confs = {
        **LOCAL_CONFS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "4g",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.sources.default": "delta",
    }
    for key, value in confs.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    for table in TABLES:
        at = next(p for p in lake.rglob(table) if (p / "_delta_log").is_dir())
        spark.sql(f"CREATE TABLE {table} USING delta LOCATION '{at}'").collect()
    storage = (folder / "storage").absolute().as_uri()
    print(_READY, flush=True)
    for line in sys.stdin:
        view = line.strip()
        graph = runs.create_dataflow_graph(spark, None, "default", {})
        registry = SparkConnectGraphElementRegistry(spark, graph)
        with graph_element_registration_context(registry):
            text = f"CREATE MATERIALIZED VIEW mv_{view} AS {VIEWS[view]}"
            registry.register_sql(text, Path("pipeline.sql"))
        start = time.perf_counter()
        for _ in runs.start_run(spark, graph, [], False, [], False, storage):
            pass
        print(_READY, time.perf_counter() - start, flush=True)
    spark.stop()


def compare(dt: Engine, pipeline: Pipeline, share: float, mix: str, salt: int) -> None:
    change(dt, share, mix, salt)
    for view in VIEWS:
        start = time.perf_counter()
        record = dt.refresh(view)
        took = time.perf_counter() - start
        if record.error is not None:
            raise SystemExit(record.error)
        anew = pipeline.run(view)
        cells = (view, f"{share:.2%}", mix, str(record.action), f"{took:.2f}", f"{anew:.2f}",
                 f"{anew / took:.1f}×")  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.sdp", description=__doc__)
    parser.add_argument("--scale", type=float, default=0.1, help="TPC-H scale factor")
    parser.add_argument("--shares", default="0.001,0.01", help="shares changed")
    parser.add_argument("--mix", choices=MIXES, default="lines")
    parser.add_argument("--data", type=Path, default=Path("artifacts/tpch"), help="generated files")
    parser.add_argument("--serve", nargs=2, type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        serve(*args.serve)
        return
    data = args.data / f"sf{args.scale:g}"
    generate(data, args.scale)
    folder = Path(tempfile.mkdtemp(prefix="dt_sdp_"))
    lake = folder / "lake"
    with dt_jupyter.connect(lake, scheduler=False, memory="4g") as dt:
        load(dt, data)
        for view, query in VIEWS.items():
            dt.sql(f"CREATE DYNAMIC TABLE {view} AS {query}")
        pipeline = Pipeline(folder / "pipelines", lake)
        print("| view | change | mix | action | refresh s | pipeline s | ratio |")
        print("| --- |" + " --- |" * 6)
        for i, share in enumerate(args.shares.split(",")):
            compare(dt, pipeline, float(share), args.mix, 7 * (i + 1))
        pipeline.close()


if __name__ == "__main__":
    main()
