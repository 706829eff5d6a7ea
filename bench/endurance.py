"""`python -m bench.endurance --refreshes 10000`: what stays in memory of one process that refreshes
a table of 40 columns again and again, one row changed each time."""

from __future__ import annotations

import argparse
import gc
import tempfile
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

import dt_jupyter
from bench.meters import MEGABYTE
from dt_jupyter.engine import Engine

ROWS = 200
COLUMNS = 40
WARM_UP = 0.2
"""The first of the refreshes fill the caches: growth is counted after this part of them."""
_FEED = {"delta.enableChangeDataFeed": "true"}


@dataclass(frozen=True)
class Sample:
    """After so many refreshes: megabytes of the process, of Arrow's and of the engine's caches, and
    thousands of Python's objects."""

    refreshes: int
    process: float
    arrow: float
    caches: float
    objects: float

    @property
    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.refreshes:,}", f"{self.process:.0f}", f"{self.arrow:.1f}",
            f"{self.caches:.1f}", f"{self.objects:.0f}",
        )  # fmt: skip


def make(dt: Engine, source: Path) -> None:
    """The source, and a dynamic table of all of its columns."""
    columns = {f"c{n}": pa.array([n * i for i in range(ROWS)], pa.int64()) for n in range(COLUMNS)}
    write_deltalake(source, pa.table({"id": range(ROWS), **columns}), configuration=_FEED)
    dt.sql(f"CREATE TABLE wide USING delta LOCATION '{source}'")
    dt.sql("CREATE DYNAMIC TABLE copied AS SELECT * FROM wide WHERE c1 >= 0")


def sample(dt: Engine, refreshes: int) -> Sample:
    gc.collect()
    return Sample(
        refreshes,
        psutil.Process().memory_info().rss / MEGABYTE,
        pa.total_allocated_bytes() / MEGABYTE,
        dt.context.refresher.small.columns.memory.bytes / MEGABYTE,
        len(gc.get_objects()) / 1_000,
    )


def run(dt: Engine, source: Path, count: int, every: int) -> Iterator[Sample]:
    """Samples as the refreshes go. SystemExit where one is not incremental."""
    for done in range(1, count + 1):
        changed = {"c1": str(done), f"c{done % COLUMNS}": str(done)}
        DeltaTable(source).update(changed, predicate=f"id = {done % ROWS}")
        record = dt.refresh("copied")
        if record.action != "INCREMENTAL":
            raise SystemExit(f"refresh {done}: {record}")
        if done % every == 0:
            yield sample(dt, done)


def growth(samples: list[Sample]) -> float:
    """Megabytes of the process that 1,000 refreshes add, by the least squares after the first."""
    late = [s for s in samples if s.refreshes > WARM_UP * samples[-1].refreshes]
    x = [s.refreshes / 1_000 for s in late]
    y = [s.process for s in late]
    middle_x, middle_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - middle_x) ** 2 for a in x) or 1.0
    return sum((a - middle_x) * (b - middle_y) for a, b in zip(x, y, strict=True)) / spread


def count_objects() -> Counter[str]:
    """Python's objects by type."""
    gc.collect()
    return Counter(f"{type(o).__module__}.{type(o).__qualname__}" for o in gc.get_objects())


def print_growth(before: tracemalloc.Snapshot, objects: Counter[str]) -> None:
    """The places and types that hold more than then."""
    for line in tracemalloc.take_snapshot().compare_to(before, "lineno")[:25]:
        print(line)
    for name, more in (count_objects() - objects).most_common(15):
        print(f"{more:+,} {name}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.endurance", description=__doc__)
    parser.add_argument("--refreshes", type=int, default=10_000)
    parser.add_argument("--every", type=int, default=1_000, help="refreshes between two samples")
    parser.add_argument("--trace", action="store_true", help="which places hold more at the end")
    args = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="dt_bench_") as folder,
        dt_jupyter.connect(Path(folder) / "lake", scheduler=False) as dt,
    ):
        source = Path(folder) / "wide"
        make(dt, source)
        print("| refreshes | process MB | Arrow MB | caches MB | objects, thousands |")
        print("|" + " --- |" * 5, flush=True)
        samples = []
        for found in run(dt, source, args.refreshes, args.every):
            samples.append(found)
            print(f"| {' | '.join(found.cells)} |", flush=True)
            if args.trace and len(samples) == 1:
                tracemalloc.start()
                before, objects = tracemalloc.take_snapshot(), count_objects()
        print(f"growth: {growth(samples):+.2f} MB for 1,000 refreshes")
        print(dt.status()["kept_by_kind"])
        if args.trace:
            print_growth(before, objects)


if __name__ == "__main__":
    main()
