"""`python -m bench.faults`: every experiment with faults that the tests know, how many cases of it
were tried, what failed, and how long after a fault the next refresh had succeeded.

`--nightly` tries all cases, `--rounds` goes through some of them so often, and `--lake hdfs` kills
and stops processes on a lake on HDFS with its catalog in PostgreSQL. `--reports` runs nothing: it
tells what pytest wrote into such files, as `dev.py test` leaves them in `.venv/reports`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
KILLS = "tests/faults/test_many_kills.py"
EVERYTHING = ("tests/faults", "tests/spark", "tests/unit", "tests/nightly")


@dataclass
class Experiment:
    """What came of its tests; `recovery` in seconds."""

    cases: int = 0
    failed: list[str] = field(default_factory=list)
    recovery: list[float] = field(default_factory=list)

    def percentile(self, share: int) -> str:
        """Of the recovery times, in milliseconds."""
        if len(self.recovery) < 2:
            return "".join(f"{seconds * 1000:.0f}" for seconds in self.recovery)
        cuts = statistics.quantiles(self.recovery, n=100, method="inclusive")
        return f"{cuts[share - 1] * 1000:.0f}"


def run_tests(report: Path, files: Sequence[str], *, nightly: bool, rounds: int, lake: str) -> int:
    """Runs the tests that are of an experiment; pytest's exit status."""
    told = {"DT_TEST_LAKE": "hdfs", "DT_TEST_CATALOG": "postgresql"} if lake == "hdfs" else {}
    options = ["-q", "-m", "faults" if nightly else "faults and not nightly"]
    options += ["--numprocesses=2", "--dist=loadfile", f"--junitxml={report}"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=ROOT,
        env={**os.environ, "DT_JUPYTER_ROUNDS": str(rounds), **told},
        check=False,
    )
    return done.returncode


def read_experiments(cases: Iterable[ElementTree.Element]) -> dict[str, Experiment]:
    """By their names; what was skipped is not counted."""
    found: dict[str, Experiment] = {}
    for case in cases:
        told = [(p.get("name"), p.get("value", "")) for p in case.iter("property")]
        names = [value for name, value in told if name == "experiment"]
        if not names or case.find("skipped") is not None:
            continue
        experiment = found.setdefault(names[0], Experiment())
        experiment.cases += next((int(value) for name, value in told if name == "cases"), 1)
        experiment.recovery += [float(value) for name, value in told if name == "recovery"]
        if case.find("failure") is not None or case.find("error") is not None:
            experiment.failed.append(case.get("name", "?"))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.faults", description=__doc__)
    parser.add_argument("files", nargs="*", help="of tests; all where none is named")
    parser.add_argument("--nightly", action="store_true")
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--lake", choices=("disk", "hdfs"), default="disk")
    parser.add_argument("--reports", nargs="+", type=Path, metavar="XML")
    asked = parser.parse_args()
    if asked.reports:
        found = read_experiments(cases_of(asked.reports))
        print_experiments(found)
        return int(any(told.failed for told in found.values()))
    files = asked.files or (EVERYTHING if asked.lake == "disk" else (KILLS,))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "faults.xml"
        status = run_tests(
            report, files, nightly=asked.nightly, rounds=asked.rounds, lake=asked.lake
        )
        print_experiments(read_experiments(cases_of([report])))
    return status


def cases_of(reports: Iterable[Path]) -> Iterator[ElementTree.Element]:
    for report in reports:
        yield from ElementTree.parse(report).iter("testcase")


def print_experiments(found: Mapping[str, Experiment]) -> None:
    """A table in Markdown, and the tests that failed."""
    print("| experiment | cases | violations | recovery p50, ms | p99 |")
    print("| --- | --- | --- | --- | --- |")
    for name, told in sorted(found.items()):
        numbers = (told.cases, len(told.failed), told.percentile(50), told.percentile(99))
        print(f"| {name} | {' | '.join(map(str, numbers))} |")
    for name, told in found.items():
        for test in told.failed:
            print(f"failed: {name}: {test}")


if __name__ == "__main__":
    raise SystemExit(main())
