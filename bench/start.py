"""The first hour's first minute: from `%load_ext` to the first row of a dynamic table over two
tables of one's own, each time in a new process: without the archive of Java's classes, with it,
with Spark begun by `%load_ext` ten seconds before the next cell, with the same thirty seconds
before and warmed (`DT_JUPYTER_STANDBY=spare`), and with a spare Spark of the process before.

`python -m bench.start --times 3`: medians in seconds, and the CPU seconds of Java from its start
and of Python; all ways in turns. The archive is written first, into a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.engine import order_spark
from dt_jupyter.spark import archive_of, dismiss_spare, find_java, has_spare, keep_spare

STEPS = {
    "%load_ext": ("load_ext", "dt_jupyter"),
    "%dt connect": ("dt", "connect {lake}"),
    "first table": ("dt", "CREATE TABLE item AS SELECT id, id % 5 AS k FROM range(1000)"),
    "second table": ("dt", "CREATE TABLE kind AS SELECT id AS k, 'x' AS v FROM range(5)"),
    "dynamic table": (
        "dt",
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS"
        " SELECT k, v, count(*) AS n FROM item JOIN kind USING (k) GROUP BY k, v",
    ),
    "its rows": ("dt", "SELECT * FROM d"),
}
CLOCK = """
import json, os, sys, time
from IPython.core.interactiveshell import InteractiveShell
shell, lake = InteractiveShell.instance(), sys.argv[1]
took = {}
for name, (magic, line) in json.loads(sys.argv[2]).items():
    begun = time.perf_counter()
    shell.run_line_magic(magic, line.replace("{lake}", lake))
    took[name] = time.perf_counter() - begun
    if name == "%load_ext" and sys.argv[3] != "0":
        from dt_jupyter.engine import prepare_spark
        prepare_spark()
        time.sleep(float(sys.argv[3]))
pid = shell.user_ns["spark"].sparkContext._gateway.proc.pid
with open(f"/proc/{pid}/stat") as stat:
    ticks = stat.read().rsplit(")", 1)[1].split()[11:13]
took["CPU of Java"] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
took["CPU of Python"] = time.process_time()
print("\\n" + json.dumps(took))
"""


@dataclass(frozen=True)
class Way:
    """How a process gets its Spark: `ahead` are the seconds between `%load_ext` and the next cell,
    which are nobody's, and in which a live notebook prepares Spark."""

    name: str
    archive: bool = True
    ahead: float = 0.0
    standby: str = ""
    ready: bool = False
    """That a spare waits for it."""


WAYS = (
    Way("without the archive", archive=False),
    Way("with the archive"),
    Way("begun 10 s before", ahead=10.0),
    Way("begun 30 s before, warmed", ahead=30.0, standby="spare"),
    Way("a spare", ahead=1.0, standby="spare", ready=True),
)
SPARE_SECONDS = 600.0


def measured(way: Way, archive: Path) -> dict[str, float]:
    """Seconds of each step in a new process."""
    option = f'"-XX:SharedArchiveFile={archive}"' if way.archive else "-Xshare:auto"
    with tempfile.TemporaryDirectory() as folder, environment(way, option, folder):
        if way.ready:
            wait_for_spare()
        words = [str(Path(folder) / "lake"), json.dumps(STEPS), str(way.ahead)]
        done = subprocess.run(
            [sys.executable, "-c", CLOCK, *words], capture_output=True, text=True, check=True
        )
        dismiss_spare()  # the next one, which that process has ordered
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    steps = [seconds for name, seconds in found.items() if name in STEPS]
    return {**found, "from %load_ext to the first row": sum(steps)}


@contextmanager
def environment(way: Way, option: str, folder: str) -> Iterator[None]:
    """The variables of a way; a spare of its own, apart from the user's."""
    own = {
        "SPARK_SUBMIT_OPTS": option,
        "XDG_RUNTIME_DIR": folder,
        "DT_JUPYTER_STANDBY": way.standby,
    }
    before = dict(os.environ)
    os.environ.update(own)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def wait_for_spare() -> None:
    """Until one is ready, as the process before would have ordered it."""
    keep_spare(order_spark(), 0.0)
    ends = time.monotonic() + SPARE_SECONDS
    while not has_spare(order_spark()):
        if time.monotonic() > ends:
            raise SystemExit("No spare was ready in time.")
        time.sleep(0.5)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.start", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="processes of each kind")
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        archive = archive_of(find_java(os.environ), Path(folder))
        writer = [sys.executable, "-m", "dt_jupyter.engine.load_classes", str(archive)]
        subprocess.run(writer, check=True, capture_output=True)
        measured(WAYS[0], archive)  # what the machine reads for the first time
        turns = [[measured(way, archive) for way in WAYS] for _ in range(times)]
        print(f"archive: {archive.stat().st_size >> 20} MB\n")
    print(f"| step | {' | '.join(way.name for way in WAYS)} |\n|{' --- |' * (len(WAYS) + 1)}")
    for step in turns[0][0]:
        took = (statistics.median(turn[i][step] for turn in turns) for i in range(len(WAYS)))
        print(f"| {step} | {' | '.join(f'{seconds:.1f} s' for seconds in took)} |")


if __name__ == "__main__":
    main()
