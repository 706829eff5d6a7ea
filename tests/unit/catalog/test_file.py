"""The catalog's file: opening, migrating, faults, and several processes at once."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, event

from dt_jupyter.catalog import Attempt, Catalog, Owner, running, schema
from dt_jupyter.catalog.migrations import MIGRATIONS
from dt_jupyter.catalog.owner import start_time
from dt_jupyter.catalog.sqlite import open_file
from dt_jupyter.lake import file_system_of
from dt_jupyter.model import Clock, DTError, Frontier, Reason, RefreshState, Warehouse
from tests.cases import some
from tests.experiments import CALL_FAILS, KILLED_IN_REFRESH, TWO_PROCESSES
from tests.unit.catalog_lab import (
    HERE,
    MANUAL,
    SCHEDULED,
    Lab,
    at,
    failure,
    name,
    refused,
    success,
    table,
)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return Lab(tmp_path)


def columns(path: Path) -> dict[str, list[str]]:
    connection = sqlite3.connect(path)
    names = [n for (n,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")]
    found = {n: [row[1] for row in connection.execute(f"PRAGMA table_info({n})")] for n in names}
    connection.close()
    return found


def test_migrations_make_what_the_code_expects(lab: Lab) -> None:
    expected = {t.name: [c.name for c in t.columns] for t in schema.METADATA.sorted_tables}
    assert columns(lab.path) == expected


def test_only_what_outlives_a_process_waits_for_the_disk(lab: Lab) -> None:
    lab.make("a")
    commits: list[int] = []

    def note(connection: Connection) -> None:
        commits.append(connection.exec_driver_sql("PRAGMA synchronous").scalar() or 0)

    event.listen(lab.catalog._engine.engine, "commit", note)
    attempt = lab.begin(10)
    assert lab.catalog.heartbeat(attempt)
    assert commits == [1, 1]  # NORMAL
    with lab.open(replace(HERE, uid="another")) as other:
        assert [lease.attempt for lease in other.running()] == [attempt.id]
    lab.finish(attempt)
    lab.catalog.update("id-a", comment="lasting")
    assert set(commits[2:]) == {2}  # FULL


def test_the_file_is_durable_and_shared(lab: Lab) -> None:
    with lab.catalog._engine.connect() as connection:
        pragmas = [
            connection.exec_driver_sql(f"PRAGMA {pragma}").scalar()
            for pragma in ("journal_mode", "synchronous", "busy_timeout")
        ]
    assert pragmas == ["wal", 2, 30_000]


def test_an_older_catalog_is_migrated_and_keeps_its_rows(lab: Lab) -> None:
    lab.make("a")
    lab.catalog.close()
    later = (
        *MIGRATIONS,
        ("ALTER TABLE pin ADD COLUMN why TEXT",),
        ("CREATE TABLE extra (x TEXT)",),
    )
    migrated = Catalog(lab.path, Clock(lab.wall), HERE, migrations=later)
    assert migrated.get(name("a")) == table("a")
    migrated.close()
    assert columns(lab.path)["extra"] == ["x"]
    assert "why" in columns(lab.path)["pin"]
    Catalog(lab.path, Clock(lab.wall), HERE, migrations=later).close()
    with refused("DT-5101") as problem:
        lab.open()
    assert (problem[0].facts["found"], problem[0].facts["known"]) == (len(later), len(MIGRATIONS))


def test_a_migration_that_fails_changes_nothing(lab: Lab) -> None:
    lab.make("a")
    lab.catalog.close()
    before = lab.dump()
    broken = (*MIGRATIONS, ("CREATE TABLE extra (x TEXT)", "ALTER TABLE nobody ADD COLUMN y TEXT"))
    with refused("DT-5102"):
        Catalog(lab.path, Clock(lab.wall), HERE, migrations=broken)
    assert lab.dump() == before
    assert lab.open().get(name("a")) == table("a")


def test_a_file_that_is_no_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "_dt" / "catalog.sqlite"
    path.parent.mkdir()
    path.write_bytes(b"not a database, " * 400)
    with refused("DT-5102") as problem:
        Catalog(path, Clock(), HERE)
    assert "not a database" in problem[0].sentence
    assert path.read_bytes() == b"not a database, " * 400


def test_another_programs_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "catalog.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE moz_places (id INTEGER)")
    connection.close()
    with refused("DT-5102") as problem:
        Catalog(path, Clock(), HERE)
    assert "another program" in problem[0].sentence
    assert columns(path) == {"moz_places": ["id"]}


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the lake should be")
    with refused("DT-5102"):
        Catalog(tmp_path / "lake" / "_dt" / "catalog.sqlite", Clock(), HERE)


def test_a_network_file_system_is_refused(tmp_path: Path) -> None:
    with refused("DT-5102") as problem:
        open_file(tmp_path / "c.sqlite", lambda engine: None, kind_of=lambda path: "nfs4")
    assert "nfs4" in problem[0].sentence


def test_the_file_system_is_that_of_the_longest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    shared = str(tmp_path / "my share").replace(" ", "\\040")
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nserver:/x {shared} nfs4 rw 0 0\n")
    assert file_system_of(tmp_path / "my share" / "lake", mounts) == "nfs4"
    assert file_system_of(tmp_path / "my share 2", mounts) == "ext4"
    assert file_system_of(tmp_path, tmp_path / "none") == ""


def test_a_process_is_known_by_its_pid_and_its_start() -> None:
    me = Owner.here("u")
    assert running(me)
    if start_time(os.getpid()):  # where the system tells
        assert not running(replace(me, started="0"))
    ended = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    assert not running(Owner(me.host, int(ended.stdout), "u"))


# Faults: whatever statement fails, the file is as before or as after.


def fail_statement(catalog: Catalog, nth: int) -> Callable[[], bool]:
    """The nth statement from now on fails as a full disk does; the answer says whether it came."""
    state = {"left": nth}

    def one(*_: Any) -> None:
        state["left"] -= 1
        if state["left"] == 0:
            raise sqlite3.OperationalError("database or disk is full")

    for hook in ("do_execute", "do_execute_no_params"):
        event.listen(catalog._engine, hook, one)
    return lambda: state["left"] <= 0


def _begin_and_pin(catalog: Catalog) -> None:
    catalog.begin("id-a", MANUAL, at(99), "q", 30, pins=[("t", 1)])


def _finish(catalog: Catalog) -> None:
    (lease,) = [lease for lease in catalog.running() if lease.dt_id == "id-b"]
    attempt = replace(_attempt(), id=lease.attempt, dt_id="id-b", name=name("b"))
    catalog.finish(attempt, success(attempt), frontier=Frontier(at(50)), sequence=1, version=1)


def _fail(catalog: Catalog) -> None:
    attempt = replace(_attempt(), id="running", dt_id="id-b", name=name("b"))
    catalog.fail(attempt, failure(attempt), counts=True)


def _no_data(catalog: Catalog) -> None:
    record = replace(success(_attempt()), query_id="nd", data_timestamp=at(80))
    catalog.no_data("id-a", MANUAL, at(80), record)


def _attempt() -> Attempt:
    return Attempt("q", "id-a", name("a"), MANUAL, at(50), 1, 1, at(0), 30, 0)


def _skip(catalog: Catalog) -> None:
    catalog.record_skip("id-a", at(80), RefreshState.SKIPPED, Reason("BUSY", "It ran."))


OPERATIONS: dict[str, Callable[[Catalog], object]] = {
    "create": lambda c: c.create(table("new")),
    "replace": lambda c: c.replace(table("a", id="newer")),
    "update": lambda c: c.update("id-a", warehouse="w", needs_reinit=Reason("X", "x")),
    "rename": lambda c: c.rename(name("a"), name("z")),
    "swap": lambda c: c.swap(name("a"), name("b")),
    "drop": lambda c: c.drop(name("b")),
    "undrop": lambda c: c.undrop(name("gone")),
    "purge": lambda c: c.purge("id-a"),
    "create_warehouse": lambda c: c.create_warehouse(Warehouse("w")),
    "record_view": lambda c: c.record_view(name("t"), "SELECT 1"),
    "resolve": lambda c: c.resolve(at(1), "t", lambda: 1),
    "begin": _begin_and_pin,
    "finish": _finish,
    "fail": _fail,
    "no_data": _no_data,
    "skip": _skip,
    "prune": lambda c: c.prune(at(1000)),
}


def prepared(folder: Path) -> Lab:
    lab = Lab(folder)
    lab.make("a", "b", "gone")
    lab.catalog.drop(name("gone"))
    lab.refresh(10)
    lab.refresh(20)
    lab.catalog.record_table(name("t"), "id", "/lake/t")
    lab.catalog.begin("id-b", MANUAL, at(50), "running", 1000, pins=[("t", 1)])
    return lab


@CALL_FAILS
@pytest.mark.parametrize("operation", some(8, OPERATIONS))
def test_whichever_statement_fails_nothing_is_half_done(
    tmp_path: Path, operation: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = prepared(tmp_path)
    monkeypatch.setattr(Catalog, "_log_registry", lambda *_, **__: None)  # it comes after
    run, before = OPERATIONS[operation], lab.dump()
    faults = 0
    for nth in range(1, 60):
        victim = lab.open()
        came = fail_statement(victim, nth)
        try:
            run(victim)
            problem = None
        except DTError as raised:
            problem = raised
        victim._dispose()
        if not came():
            break
        faults += 1
        assert problem is not None
        assert problem.code == "DT-5102"
        assert "disk is full" in problem.sentence
        assert lab.dump() == before, f"statement {nth} of {operation}"
    assert faults >= 2  # its BEGIN, and at least one statement
    assert lab.dump() != before  # and without a fault it did something


@CALL_FAILS
def test_a_commit_that_fails_leaves_nothing(lab: Lab) -> None:
    before = lab.dump()

    def refuse(*_: Any) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    event.listen(lab.catalog._engine, "commit", refuse)
    with pytest.raises((DTError, sqlite3.Error)):
        lab.catalog.create(table("a"))
    lab.catalog._dispose()
    assert lab.dump() == before
    assert lab.open().create(table("a")) == table("a")


def test_a_file_locked_for_too_long_is_said_to_be(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dt_jupyter.catalog.sqlite.BUSY_SECONDS", 0)
    impatient = lab.open()
    holder = sqlite3.connect(lab.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with refused("DT-5107"):
        impatient.create(table("a"))
    assert impatient.list() == ()  # readers do not wait for a writer
    holder.execute("ROLLBACK")
    holder.close()
    assert impatient.create(table("a")) == table("a")


# Processes and threads.

_KILLED = """
import os, signal, sys
from pathlib import Path
from sqlalchemy import Connection, event
from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import *
path, nth = Path(sys.argv[1]), int(sys.argv[2])
catalog = Catalog(path, Clock(), Owner.here("killed"))
t = catalog.clock.now()
attempt = catalog.begin("id-a", RefreshTrigger.SCHEDULED, t, "killed", 1000, pins=[("t", 1)])
left = nth
def one(*_):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
for hook in ("do_execute", "do_execute_no_params"):
    event.listen(catalog._engine, hook, one)
event.listen(catalog._engine, "commit", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
record = RefreshRecord(attempt.name, attempt.id, RefreshState.SUCCEEDED, attempt.trigger, t)
catalog.finish(attempt, record, frontier=Frontier(t), sequence=1, version=1)
"""

_COUNTING = """
import sys
from pathlib import Path
from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import *
path, me, goal = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
catalog, done = Catalog(path, Clock(), Owner.here(me)), 0
while done < goal:
    try:
        t = catalog.clock.now()
        catalog.clock.observe(catalog.by_id("id-a").data_timestamp or t)
        t = catalog.clock.now()
        a = catalog.begin("id-a", RefreshTrigger.MANUAL, t, f"{me}-{done}", 1000)
    except DTError as problem:
        assert problem.code in ("DT-2104", "DT-2109"), problem
        continue
    record = RefreshRecord(a.name, a.id, RefreshState.SUCCEEDED, a.trigger, t)
    catalog.finish(a, record, frontier=Frontier(t, {"t": a.sequence}), sequence=a.sequence,
                   version=a.sequence)
    done += 1
catalog.close()
"""


def script(text: str, *arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", text, *map(str, arguments)], stderr=subprocess.PIPE
    )


@KILLED_IN_REFRESH
@pytest.mark.parametrize("nth", [3, 6, 99])
def test_kill_9_within_finish_leaves_the_attempt_as_it_was(tmp_path: Path, nth: int) -> None:
    path = tmp_path / "catalog.sqlite"
    with Catalog(path, Clock(), Owner.here("test")) as catalog:
        catalog.create(table("a"))
        victim = script(_KILLED, path, nth)
        _, problems = victim.communicate(timeout=60)
        assert victim.returncode == -9, problems.decode()
        dt = catalog.by_id("id-a")
        assert dt is not None
        assert (dt.sequence, dt.frontier, dt.version) == (0, None, None)
        assert [record.state for record in catalog.history()] == ["EXECUTING"]
        assert catalog.running() == ()  # its process is gone: no need to wait for the lease
        assert catalog.reap() == ("killed",)
        assert catalog.pins() == ()
        assert catalog.begin("id-a", SCHEDULED, catalog.clock.now(), "next", 30).sequence == 1


@TWO_PROCESSES
def test_four_processes_count_exactly(tmp_path: Path) -> None:
    path, each = tmp_path / "catalog.sqlite", 15
    with Catalog(path, Clock(), Owner.here("test")) as catalog:
        catalog.create(table("a"))
        workers = [script(_COUNTING, path, f"worker-{n}", each) for n in range(4)]
        for worker in workers:
            _, problems = worker.communicate(timeout=120)
            assert worker.returncode == 0, problems.decode()
        dt = catalog.by_id("id-a")
        assert dt is not None
        assert (dt.sequence, dt.version) == (60, 60)
        history = catalog.history(name("a"))
        assert sorted(record.query_id for record in history) == sorted(
            f"worker-{n}-{k}" for n in range(4) for k in range(each)
        )
        stamps = catalog.timestamps("id-a")
        assert [catalog.version_of("id-a", stamp) for stamp in stamps] == list(range(60, 0, -1))


def test_processes_may_open_a_new_catalog_at_the_same_time(tmp_path: Path) -> None:
    opening = (
        "import sys\nfrom pathlib import Path\nfrom dt_jupyter.catalog import Catalog, Owner\n"
        "from dt_jupyter.model import Clock, Warehouse\n"
        "c = Catalog(Path(sys.argv[1]), Clock(), Owner.here(sys.argv[2]))\n"
        "c.create_warehouse(Warehouse(sys.argv[2]))\nc.close()\n"
    )
    path = tmp_path / "catalog.sqlite"
    workers = [script(opening, path, f"w{n}") for n in range(3)]
    for worker in workers:
        _, problems = worker.communicate(timeout=60)
        assert worker.returncode == 0, problems.decode()
    with Catalog(path, Clock(), HERE) as catalog:
        assert [w.name for w in catalog.warehouses()] == ["default", "w0", "w1", "w2"]


def test_threads_share_one_catalog(lab: Lab) -> None:
    lab.make(*(f"d{n}" for n in range(8)))
    problems: list[Exception] = []

    def work(n: int) -> None:
        try:
            for t in range(1, 11):
                lab.refresh(t, dt=f"d{n}")
                lab.catalog.history(name(f"d{n}"), limit=5)
        except Exception as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert problems == []
    assert [lab.dt(f"d{n}").sequence for n in range(8)] == [10] * 8
    assert len(lab.catalog.history()) == 80
