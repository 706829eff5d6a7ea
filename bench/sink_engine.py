"""Sinks of a whole engine: how soon a refresh is in the store, and a first load of many rows.

    python -m bench.sink_engine latency [--rounds N]
    python -m bench.sink_engine load [--rows N] [--url URL]

`latency`: from the commit of a dynamic table to that of SQLite, 100 changed rows. `load`: CREATE
SINK on a table of that many rows and five columns in a process of its own, with its memory.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import statistics
import sys
import tempfile
import time
from pathlib import Path

from dt_jupyter.engine import Engine

CHANGED = 100


def latency(folder: Path, rounds: int) -> None:
    """The first rounds warm Spark up. A look at the source by the clock would take up to 15 s."""
    store = folder / "app.db"
    with Engine.connect(folder / "lake", scheduler=True, memory="1g") as engine:
        engine.sql("CREATE TABLE moves AS SELECT id, id % 5000 AS k FROM range(50000)")
        engine.sql(
            "CREATE DYNAMIC TABLE sums TARGET_LAG = '1 hour' AS "
            "SELECT k, count(*) AS n, sum(id) AS total FROM moves GROUP BY k"
        )
        engine.create_sink("s", "sums", f"sqlite://{store}", key=["k"], target_lag="1 minute")
        reader = sqlite3.connect(store)
        found, inside = [], []
        for i in range(rounds):
            engine.sql(f"INSERT INTO moves SELECT {i} + id, id FROM range({CHANGED})")
            time.sleep(1.0)  # the sink's worker has looked at that, and found nothing
            expected = 50_000 + (i + 1) * CHANGED
            refreshed = engine.refresh("sums")
            committed = log_time(engine, "sums")
            while reader.execute("SELECT sum(n) FROM sums").fetchone()[0] < expected:
                time.sleep(0.002)
            found.append(time.time() - committed)
            assert refreshed.error is None, refreshed.error
        done = engine.context.catalog.deliveries(limit=rounds)
        inside = [d.end.since(d.start) for d in done if d.end is not None]
    warm = found[len(found) // 2 :]
    print(
        f"latency      {statistics.median(warm):6.3f} s from commit to commit (most {max(warm):.3f}"
        f"; of it the delivery {statistics.median(inside[: len(warm)]):.3f}), {CHANGED} rows"
    )


def log_time(engine: Engine, name: str) -> float:
    """When the newest commit of a dynamic table was there."""
    log = engine.context.layout.public(engine.table(name).id) / "_delta_log"
    return max(log.glob("*.json")).stat().st_mtime


def load(folder: Path, rows: int, url: str) -> None:
    with Engine.connect(folder / "lake", scheduler=False, memory="1g") as engine:
        engine.sql(
            "CREATE TABLE big AS SELECT id, concat('name ', id) AS name, "
            "CAST(id / 100 AS DECIMAL(12, 2)) AS amount, timestamp_seconds(id) AS seen, "
            f"rand(1) AS score FROM range({rows})"
        )
        before, started = peak_of_python(), time.monotonic()
        print(engine.create_sink("s", "big", url or f"sqlite://{folder}/app.db", key=["id"]))
        took = time.monotonic() - started
        heap, whole = peaks_of_java(engine)
        (done,) = engine.context.catalog.deliveries(limit=1)
    assert done.counts.stored == rows
    print(
        f"load         {rows:,} rows in {took:.0f} s, {done.counts.transactions} transactions; at "
        f"most {peak_of_python():.0f} MB of Python (before {before:.0f}), {heap:.0f} MB of Java's "
        f"heap ({whole:.0f} MB resident)"
    )


def peak_of_python() -> float:
    """MB of this process that were in memory at once."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def peaks_of_java(engine: Engine) -> tuple[float, float]:
    """MB of the heap that were used at once, and of the whole process in memory."""
    jvm = engine.spark._jvm  # type: ignore[attr-defined]
    factory = jvm.java.lang.management.ManagementFactory
    pools = [p for p in factory.getMemoryPoolMXBeans() if str(p.getType().name()) == "HEAP"]
    heap = sum(p.getPeakUsage().getUsed() for p in pools) / 2**20
    status = Path(f"/proc/{jvm.java.lang.ProcessHandle.current().pid()}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmHWM"))
    return heap, int(resident.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["latency", "load"])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--url", default="")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if chosen.kind == "latency":
            latency(Path(name), chosen.rounds)
        else:
            load(Path(name), chosen.rows, chosen.url)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
