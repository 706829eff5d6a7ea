"""What replays and archives cost who writes meanwhile: small commits alone, and beside one that
reads with the limit of `replay_bytes_per_second` and without it.

`python -m bench.replay_beside_writers`: medians and 90th percentiles in milliseconds, in turns in
one run: commits of Spark (an INSERT of a row) and of the fast lane (a refresh of a row); and how
fast was read meanwhile. `--limits 16 64` tries limits in megabytes a second.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import dt_jupyter
from bench.changes import show, version
from bench.replay import timed
from dt_jupyter.engine import Engine
from dt_jupyter.model import DEFAULTS

_UNLIMITED = 1 << 50
_FILE_ROWS = 200_000
"""Some 10 MB."""


Given = Callable[[int], bool]
"""Is told of so many bytes, and says whether more are wanted."""
Read = Callable[[Given], None]


@dataclass
class Reader:
    """Reads again and again in a thread until the block ends, which begins with its first rows;
    `moved` says how many bytes of rows it was given, in so many `seconds`."""

    read: Read
    moved: int = 0
    seconds: float = 0.0
    failure: list[BaseException] = field(default_factory=list)

    @contextmanager
    def beside(self) -> Iterator[None]:
        done, begun = threading.Event(), threading.Event()

        def given(size: int) -> bool:
            """So many bytes; whether more are wanted."""
            self.moved += size
            begun.set()
            return not done.is_set()

        def run() -> None:
            try:
                while not done.is_set():
                    self.read(given)
            except BaseException as e:
                self.failure.append(e)
                begun.set()

        start = time.perf_counter()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        begun.wait()
        try:
            yield
        finally:
            done.set()
            thread.join()
            self.seconds += time.perf_counter() - start
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


def replayed(dt: Engine, at: int) -> Read:
    """A replay of the large table, read as Arrow."""

    def read(given: Given) -> None:
        with dt.replay("large", at=at) as replay:
            for batch in replay.batches():
                if not given(batch.nbytes):
                    return

    return read


def archived(dt: Engine, at: int, folder: Path) -> Read:
    names = count()

    def read(given: Given) -> None:
        to = folder / f"archive_{next(names)}"
        given(0)
        dt.archive("large", at=at, to=to)
        given(sum(f.stat().st_size for f in to.rglob("*") if f.is_file()))
        shutil.rmtree(to)

    return read


def measure(folder: Path, rows: int, commits: int, turns: int, limits: list[int]) -> None:
    with dt_jupyter.connect(str(folder / "lake"), scheduler=False) as dt:
        dt.sql("CREATE TABLE large (id BIGINT, n INT, name STRING)")
        spread = f"/*+ REPARTITION({max(1, rows // _FILE_ROWS)}) */"
        dt.sql(f"INSERT INTO large SELECT {spread} id, id % 97, uuid() FROM range({rows})")
        at = version(dt, "large")
        writers = Writers(dt)
        writers.make()
        writers.times(5)
        pace = dt.context.travel.pace
        rates = [(f"{n} MB/s", float(n << 20)) for n in limits] + [("no limit", float(_UNLIMITED))]
        kinds: dict[str, tuple[Reader | None, float]] = {"alone": (None, _UNLIMITED)}
        for told, rate in rates:
            kinds[f"a replay, {told}"] = Reader(replayed(dt, at)), rate
        for told, rate in rates:
            kinds[f"an archive, {told}"] = Reader(archived(dt, at, folder)), rate
        found: dict[str, tuple[list[float], list[float]]] = {k: ([], []) for k in kinds}
        for turn in range(turns):
            print(f"turn {turn + 1} of {turns}", file=sys.stderr, flush=True)
            for kind, (reader, rate) in kinds.items():
                pace.bytes_per_second = rate
                with nullcontext() if reader is None else reader.beside():
                    inserts, refreshes = writers.times(commits)
                found[kind][0].extend(inserts)
                found[kind][1].extend(refreshes)
        _show(found, {k: reader for k, (reader, _) in kinds.items() if reader is not None})


def _p90(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.9))]


def _show(found: dict[str, tuple[list[float], list[float]]], readers: dict[str, Reader]) -> None:
    for which, what in enumerate(("INSERT of a row by Spark", "refresh of a row by the fast lane")):
        alone = found["alone"][which]
        base = statistics.median(alone), _p90(alone)
        cells = []
        for kind, pair in found.items():
            now = statistics.median(pair[which]), _p90(pair[which])
            ratios = [f"{a / b:.2f}×" for a, b in zip(now, base, strict=True)]
            reader = readers.get(kind)
            read = f"{reader.moved / reader.seconds / (1 << 20):.0f}" if reader else ""
            cells.append((kind, len(pair[which]), *(f"{x:.0f}" for x in now), *ratios, read))
        names = ("beside", "commits", "median ms", "p90 ms", "median", "p90", "MB/s read")
        show(what, names, cells)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--commits", type=int, default=5)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--limits", type=int, nargs="+", help="megabytes a second")
    asked = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dt_bench_"))
    try:
        limits = asked.limits or [DEFAULTS.replay_bytes_per_second >> 20]
        measure(folder, asked.rows, asked.commits, asked.turns, limits)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
