"""What replays and archives cost who writes meanwhile: small commits alone, and beside one that
reads with the limit of `replay_bytes_per_second` and without it.

`python -m bench.replay_beside_writers`: medians and 99th percentiles in milliseconds, in turns in
one run: commits of Spark (an INSERT of a row) and of the fast lane (a refresh of a row).
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import dt_jupyter
from bench.changes import show, version
from bench.replay import timed
from dt_jupyter.engine import Engine
from dt_jupyter.model import Tuning

_UNLIMITED = 1 << 50


@dataclass
class Reader:
    """Reads again and again in a thread, until the block ends; `rounds` says how often, `moved` how
    many bytes of rows it was given."""

    read: Callable[[], int]
    rounds: int = 0
    moved: int = 0
    failure: list[BaseException] = field(default_factory=list)

    @contextmanager
    def beside(self) -> Iterator[None]:
        done = threading.Event()

        def run() -> None:
            try:
                while not done.is_set():
                    self.moved += self.read()
                    self.rounds += 1
            except BaseException as e:
                self.failure.append(e)

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
        if self.failure:
            raise self.failure[0]


@dataclass(frozen=True)
class Writers:
    """Small commits, one after the other."""

    dt: Engine
    ids: Iterator[int] = field(default_factory=lambda: count(1))

    def make(self) -> None:
        self.dt.sql("CREATE TABLE orders (id BIGINT, n INT)")
        self.dt.sql("INSERT INTO orders VALUES (0, 0)")
        self.dt.sql(
            "CREATE DYNAMIC TABLE kept TARGET_LAG = '1 day' AS SELECT id, n + 1 AS n FROM orders"
        )

    def insert(self) -> float:
        return timed(lambda: self.dt.sql(f"INSERT INTO orders VALUES ({next(self.ids)}, 1)"))

    def refresh(self) -> float:
        return timed(lambda: self.dt.refresh("kept"))

    def times(self, commits: int) -> tuple[list[float], list[float]]:
        """Milliseconds of so many commits of Spark, and of the refreshes that follow each."""
        pairs = [(self.insert(), self.refresh()) for _ in range(commits)]
        return [a for a, _ in pairs], [b for _, b in pairs]


def replayed(dt: Engine, at: int) -> Callable[[], int]:
    """A replay of the large table, read as Arrow."""

    def read() -> int:
        with dt.replay("large", at=at) as replay:
            return sum(batch.nbytes for batch in replay.batches())

    return read


def archived(dt: Engine, at: int, folder: Path) -> Callable[[], int]:
    names = count()

    def read() -> int:
        to = folder / f"archive_{next(names)}"
        dt.archive("large", at=at, to=to)
        moved = sum(f.stat().st_size for f in to.rglob("*") if f.is_file())
        shutil.rmtree(to)
        return moved

    return read


def measure(folder: Path, rows: int, commits: int, turns: int) -> None:
    limited = Tuning()
    with dt_jupyter.connect(str(folder / "lake"), scheduler=False, tuning=limited) as dt:
        dt.sql("CREATE TABLE large (id BIGINT, n INT, name STRING)")
        dt.sql(f"INSERT INTO large SELECT id, id % 97, uuid() FROM range({rows})")
        at = version(dt, "large")
        writers = Writers(dt)
        writers.make()
        writers.times(5)
        pace, bounded = dt.context.travel.pace, float(limited.replay_bytes_per_second)
        kinds: dict[str, tuple[Callable[[], int] | None, float]] = {
            "alone": (None, bounded),
            "a replay, with the limit": (replayed(dt, at), bounded),
            "a replay, without it": (replayed(dt, at), _UNLIMITED),
            "an archive, with the limit": (archived(dt, at, folder), bounded),
            "an archive, without it": (archived(dt, at, folder), _UNLIMITED),
        }
        found: dict[str, tuple[list[float], list[float]]] = {k: ([], []) for k in kinds}
        for _ in range(turns):
            for kind, (read, limit) in kinds.items():
                pace.bytes_per_second = limit
                inserts, refreshes = _beside(read, lambda: writers.times(commits))
                found[kind][0].extend(inserts)
                found[kind][1].extend(refreshes)
        _show(found)


def _beside(
    read: Callable[[], int] | None, work: Callable[[], tuple[list[float], list[float]]]
) -> tuple[list[float], list[float]]:
    if read is None:
        return work()
    with Reader(read).beside():
        return work()


def _p99(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.99))]


def _show(found: dict[str, tuple[list[float], list[float]]]) -> None:
    for which, what in enumerate(("INSERT of a row by Spark", "refresh of a row by the fast lane")):
        alone = found["alone"][which]
        base = statistics.median(alone), _p99(alone)
        cells = []
        for kind, pair in found.items():
            now = statistics.median(pair[which]), _p99(pair[which])
            ratios = [f"{a / b:.2f}×" for a, b in zip(now, base, strict=True)]
            cells.append((kind, len(pair[which]), *(f"{x:.0f}" for x in now), *ratios))
        show(what, ("beside", "commits", "median ms", "p99 ms", "median", "p99"), cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--commits", type=int, default=25)
    parser.add_argument("--turns", type=int, default=4)
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        measure(folder, asked.rows, asked.commits, asked.turns)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
