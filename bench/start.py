"""The first hour's first minute: from `%load_ext` to the first row of a dynamic table over two
tables of one's own, each time in a new process: with the archive of Java's classes and without, and
with Spark begun by `%load_ext` ten seconds before the next cell.

`python -m bench.start --times 3`: medians in seconds, and the CPU seconds of Java; all three in
turns. The archive is written first, into a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from dt_jupyter.spark import archive_of, find_java

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
    if name == "%load_ext" and sys.argv[3] == "ahead":
        from dt_jupyter.engine import prepare_spark
        prepare_spark()
        time.sleep(10)
pid = shell.user_ns["spark"].sparkContext._gateway.proc.pid
with open(f"/proc/{pid}/stat") as stat:
    ticks = stat.read().rsplit(")", 1)[1].split()[11:13]
took["CPU of Java"] = sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")
print("\\n" + json.dumps(took))
"""


def measured(archive: Path | None, *, ahead: bool = False) -> dict[str, float]:
    """Seconds of each step in a new process; `ahead` begins Spark as a live notebook does, and the
    seconds until the next cell are nobody's."""
    option = f'"-XX:SharedArchiveFile={archive}"' if archive else "-Xshare:auto"
    with tempfile.TemporaryDirectory() as folder:
        words = [str(Path(folder) / "lake"), json.dumps(STEPS), "ahead" if ahead else ""]
        done = subprocess.run(
            [sys.executable, "-c", CLOCK, *words],
            env={**os.environ, "SPARK_SUBMIT_OPTS": option},
            capture_output=True,
            text=True,
            check=True,
        )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    steps = [seconds for name, seconds in found.items() if name in STEPS]
    return {**found, "from %load_ext to the first row": sum(steps)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.start", description=__doc__)
    parser.add_argument("--times", type=int, default=3, help="processes of each kind")
    times = parser.parse_args().times
    with tempfile.TemporaryDirectory() as folder:
        archive = archive_of(find_java(os.environ), Path(folder))
        writer = [sys.executable, "-m", "dt_jupyter.engine.load_classes", str(archive)]
        subprocess.run(writer, check=True, capture_output=True)
        measured(None)  # what the machine reads for the first time
        turns = [
            (measured(None), measured(archive), measured(archive, ahead=True)) for _ in range(times)
        ]
        print(f"archive: {archive.stat().st_size >> 20} MB\n")
    print("| step | without | with the archive | and begun before |\n| --- | --- | --- | --- |")
    for step in turns[0][0]:
        took = (statistics.median(turn[i][step] for turn in turns) for i in range(3))
        print(f"| {step} | {' | '.join(f'{seconds:.1f} s' for seconds in took)} |")


if __name__ == "__main__":
    main()
