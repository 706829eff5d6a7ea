"""A catalog that is deleted, replaced or older than its lake: noticed, and made what it was."""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from filelock import FileLock

from dt_jupyter.catalog import Catalog, HeldTable, HoldKind, Owner
from dt_jupyter.catalog.registry_log import RegistryLog
from dt_jupyter.catalog.registry_rows import KINDS, picture
from dt_jupyter.model import (
    DTError,
    FunctionKind,
    Named,
    Reason,
    Right,
    SchedulingState,
    Securable,
    Sink,
    Stream,
    TargetLag,
    Task,
    Timestamp,
    UserFunction,
    Warehouse,
)
from tests.cases import some
from tests.experiments import CATALOG_LOST, CLOCK
from tests.unit.catalog_lab import Lab, at, definition, name, refused, table

OTHER = Owner("host-a", 200, "uid-other", "1")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    fill(made.catalog)
    return made


def stream(stream_name: str) -> Stream:
    return Stream(
        f"id-{stream_name}",
        name(stream_name),
        name("t"),
        "TABLE",
        {"table-t": 1},
        at(1),
        at(0),
        append_only=True,
        number=3,
        comment="ö",
    )


def fill(catalog: Catalog) -> None:
    """One of each thing that is registered, with what ALTER, RENAME and DROP made of them."""
    catalog.create_warehouse(Warehouse("w", max_concurrency=7))
    catalog.record_table(name("o"), "id-o", "/outside/o")
    catalog.record_table(name("in"), "id-in", str(catalog.path.parent.parent / "tables/in"))
    catalog.record_view(name("v"), "SELECT 1")
    catalog.create_stream(stream("s"))
    catalog.create_sink(Sink("id-k", name("k"), name("t"), "TABLE", "file:///k", at(0), ("a",)))
    catalog.create_task(Task("id-j", name("j"), "DELETE FROM t", "default", at(0), at(0)))
    catalog.put_function(UserFunction("f", FunctionKind.PYTHON, "int", True, "f = lambda x: x"))
    held = HeldTable("table-t", "t", "/outside/t", 1, 2)
    catalog.hold("h", HoldKind.PIN, "t", "version 1", [held], name="kept", expires=at(9e6))
    catalog.create_role("reader")
    catalog.grant("reader", [Right.SELECT], Securable.of(Named.TABLE, name("t")), "admin")
    catalog.hold("r", HoldKind.REPLAY, "t", "version 1", [held])
    catalog.create(table("a"))
    catalog.create(table("b", comment="ö 🚆", definition=definition("SELECT b FROM t", "a")))
    catalog.create(table("gone"))
    catalog.drop(name("gone"))
    catalog.rename(name("b"), name("ä b"))
    catalog.update("id-a", target_lag=TargetLag(5.0), scheduling=SchedulingState.SUSPENDED)
    catalog.alter_warehouse("w", suspended=True)


def registered(catalog: Catalog) -> dict[tuple[str, str], dict[str, object]]:
    with catalog._read() as connection:
        return {k: dict(v) for k, v in picture(connection).rows.items()}


def files(path: Path) -> list[Path]:
    return [p for p in path.parent.iterdir() if p.name.startswith(path.name)]


def remove(path: Path) -> None:
    for file in files(path):
        file.unlink()


@CATALOG_LOST
def test_a_deleted_catalog_is_rebuilt(lab: Lab) -> None:
    before = registered(lab.catalog)
    assert {kind for kind, _ in before} == set(KINDS)
    lab.catalog.close()
    remove(lab.path)
    found = lab.open()
    assert registered(found) == before
    told = str(found.rebuilt)
    assert "was missing" in told
    assert "dynamic tables a, gone, ä b; " in told
    assert "streams s" in told
    assert found.get(name("ä b")) == table(
        "b", name=name("ä b"), comment="ö 🚆", definition=definition("SELECT b FROM t", "a")
    )
    assert found.undrop(name("gone")).id == "id-gone"
    assert [row.trigger for row in found.graph_history()][-2:] == ["REBUILD"] * 2
    assert [d.definition for d in found.definitions("id-a")] == [definition()]
    found.close()
    again = lab.open()
    assert again.rebuilt is None
    assert again.get(name("gone")) is not None


@CATALOG_LOST
def test_a_catalog_that_lost_its_write_ahead_log_is_rebuilt(lab: Lab) -> None:
    before = registered(lab.catalog)
    assert any(p.name.endswith("-wal") for p in files(lab.path))
    there = lab.path.parent.with_name("copy") / "_dt"
    there.mkdir(parents=True)
    for file in (lab.path, lab.path.with_name("registry.jsonl")):
        shutil.copy(file, there)  # as after a crash, and a clean-up that knew no -wal
    copy = Lab.__new__(Lab)
    copy.__dict__.update(lab.__dict__, path=there / lab.path.name)
    found = copy.open()
    inside = str(lab.path.parent.parent), str(there.parent)
    assert {
        k: {c: v.replace(*inside) if isinstance(v, str) else v for c, v in row.items()}
        for k, row in before.items()
    } == registered(found)
    assert found.rebuilt is not None


@CATALOG_LOST
def test_an_older_backup_is_noticed_and_what_came_since_is_back(lab: Lab) -> None:
    lab.refresh(10)
    lab.catalog.close()
    shutil.copy(lab.path, lab.path.with_name("backup"))
    catalog = lab.open()
    catalog.create(table("new"))
    catalog.drop(name("ä b"))
    catalog.rename(name("a"), name("a2"))
    catalog.drop_stream(name("s"))
    catalog.drop_hold("h")
    before = registered(catalog)
    standing = catalog.require(name("a2"))
    catalog.close()
    remove(lab.path)
    shutil.copy(lab.path.with_name("backup"), lab.path)
    found = lab.open()
    assert registered(found) == before
    assert found.rebuilt is not None
    assert found.rebuilt.older
    assert found.require(name("a2")) == standing  # its frontier is what the backup knew
    assert len(found.history()) == 1
    changed = {"dynamic_table": ["a2", "new", "ä b"], "stream": ["s"], "hold": ["kept"]}
    assert {k: sorted(n) for k, n in found.rebuilt.changed.items()} == changed


def test_a_backup_that_lacks_nothing_is_left_as_it_is(lab: Lab) -> None:
    lab.catalog.close()
    shutil.copy(lab.path, lab.path.with_name("backup"))
    lab.catalog = lab.open()
    lab.refresh(10)
    lab.catalog.close()
    os.replace(lab.path.with_name("backup"), lab.path)
    assert lab.open().rebuilt is None


def test_a_catalog_deleted_while_open_is_put_back_by_whoever_comes_first(lab: Lab) -> None:
    other = lab.open(OTHER)
    lab.refresh(10)
    before, kept = registered(lab.catalog), lab.catalog.history()
    remove(lab.path)
    assert registered(other) == before
    assert other.history() == kept
    other.create(table("new"))
    assert lab.catalog.get(name("new")) == table("new")
    assert lab.catalog.history() == kept
    lab.refresh(20)
    assert len(other.history()) == 2
    assert lab.open().rebuilt is None
    check = sqlite3.connect(lab.path).execute("PRAGMA integrity_check").fetchall()
    assert check == [("ok",)]


@pytest.mark.parametrize("which", ["", "-wal", "-shm"])
def test_a_file_of_the_catalog_deleted_while_open(lab: Lab, which: str) -> None:
    lab.refresh(10)
    before, kept = registered(lab.catalog), lab.catalog.history()
    Path(f"{lab.path}{which}").unlink()
    assert registered(lab.catalog) == before
    lab.refresh(20)
    assert lab.catalog.history()[1:] == kept
    found = lab.open(OTHER)
    assert found.rebuilt is None
    assert len(found.history()) == 2


def test_a_backup_beside_the_log_of_a_crash_is_refused(lab: Lab) -> None:
    """What the write-ahead log has is pages: over another file's they make no catalog."""
    lab.catalog.close()
    shutil.copy(lab.path, lab.path.with_name("backup"))
    catalog = lab.open()
    for i in range(40):
        catalog.create(table(f"n{i}", comment="x" * 2000))
    with catalog._engine.connect() as connection:
        connection.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    catalog.drop(name("n7"))
    before = registered(catalog)
    there = lab.path.parent.with_name("crashed")
    shutil.copytree(lab.path.parent, there)
    lab.path = there / lab.path.name
    with lab.path.open("wb") as file:  # in place, as cp does it
        file.write(lab.path.with_name("backup").read_bytes())
    with refused("DT-5102") as problem:
        lab.open()
    assert "Move it away" in problem[0].hint
    remove(lab.path)
    found = registered(lab.open())
    assert found.keys() == before.keys()
    assert {k: r.get("comment") for k, r in found.items()} == {
        k: r.get("comment") for k, r in before.items()
    }


def test_a_catalog_replaced_while_open_by_an_older_one(lab: Lab) -> None:
    lab.catalog.close()
    shutil.copy(lab.path, lab.path.with_name("backup"))
    lab.catalog = lab.open()
    lab.catalog.create(table("new"))
    before = registered(lab.catalog)
    os.replace(lab.path.with_name("backup"), lab.path)
    assert registered(lab.catalog) == before
    assert lab.catalog.rebuilt is not None
    lab.catalog.create(table("newer"))
    assert lab.open().get(name("newer")) == table("newer")


def test_a_deleted_catalog_that_another_process_made_anew_is_joined(lab: Lab) -> None:
    lab.refresh(10)
    before = registered(lab.catalog)
    remove(lab.path)
    other = lab.open(OTHER)
    assert other.rebuilt is not None
    assert registered(lab.catalog) == registered(other) == before
    lab.catalog.drop(name("a"))
    assert other.get(name("a")) is None


def test_a_lake_that_was_deleted_while_open_is_not_made_again(lab: Lab) -> None:
    shutil.rmtree(lab.path.parent)
    with refused("DT-5113"):
        lab.catalog.list()
    lab.catalog.close()
    assert not lab.path.parent.exists()


WORKER = """
import sys
from pathlib import Path
from dt_jupyter.catalog import Catalog, Owner
from dt_jupyter.model import Clock, Warehouse
path, me = Path(sys.argv[1]), sys.argv[2]
catalog = Catalog(path, Clock(), Owner.here(me))
print("open", flush=True)
for i in range(40):
    catalog.create_warehouse(Warehouse(f"w_{me}_{i}"))
    catalog.warehouses()
"""


def wait_for_each(lab: Lab, workers: list[subprocess.Popen[bytes]]) -> None:
    """Until every process that lives has written twice more: it has noticed what was deleted.

    A file deleted again before all have seen that it is another one is beyond the promise.
    """

    def written(me: str) -> int:
        return sum(w.name.startswith(f"w_{me}_") for w in lab.catalog.warehouses())

    before = {me: written(me) for me in "ab"}
    for me, worker in zip("ab", workers, strict=True):
        while written(me) < before[me] + 2 and worker.poll() is None:
            pass


@CATALOG_LOST
def test_processes_lose_nothing_while_the_catalog_is_deleted_again_and_again(lab: Lab) -> None:
    workers = [
        subprocess.Popen([sys.executable, "-c", WORKER, lab.path, me], stdout=subprocess.PIPE)
        for me in "ab"
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"open\n"
    for which in ("", "-wal", "", "-shm", "", ""):
        if any(worker.poll() is None for worker in workers):
            wait_for_each(lab, workers)
            with FileLock(f"{lab.path}.lock"):  # not while one of them is opening it
                remove(Path(f"{lab.path}{which}"))
    for worker in workers:
        worker.wait()
    assert [worker.returncode for worker in workers] == [0, 0]
    for worker in workers:
        worker.communicate()
    names = {w.name for w in lab.catalog.warehouses()}
    assert names >= {f"w_{me}_{i}" for me in "ab" for i in range(40)}
    remove(lab.path)
    lab.catalog._dispose()
    assert {w.name for w in lab.open().warehouses()} == names


def test_what_watches_the_catalog_goes_on_with_the_one_put_back(lab: Lab) -> None:
    pulse, other = lab.catalog.pulse(), lab.open(OTHER)
    remove(lab.path)
    other.create(table("new"))
    lab.catalog.list()
    assert pulse.beats()
    assert not pulse.beats()
    other.create(table("newer"))
    assert pulse.beats()
    pulse.close()


def test_a_registry_log_that_is_lost_or_torn_is_made_whole(lab: Lab) -> None:
    log = lab.path.with_name("registry.jsonl")
    before = registered(lab.catalog)
    lab.catalog.close()
    log.unlink()
    lab.open().close()
    with log.open("ab") as file:
        file.write(b'{"stamp": 99, "kind": "stre')
    found = lab.open()
    found.create(table("new"))
    found.close()
    remove(lab.path)
    found = lab.open()
    assert registered(found).keys() == before.keys() | {("dynamic_table", '["id-new"]')}


def test_a_registry_log_that_cannot_be_written_is_behind_and_catches_up(
    lab: Lab, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(RegistryLog, "append", full)
        lab.catalog.create(table("one"))
    assert "is behind" in caplog.text
    lab.catalog.create(table("two"))
    assert RegistryLog(lab.path.with_name("registry.jsonl")).read() is not None
    lab.catalog.close()
    remove(lab.path)
    assert lab.open().get(name("one")) == table("one")


def test_a_grown_registry_log_is_written_anew(lab: Lab) -> None:
    log = lab.path.with_name("registry.jsonl")
    other = lab.open(OTHER)
    for i in range(300):
        lab.catalog.update("id-a", comment=str(i))
    lines = len(log.read_text().splitlines())
    lab.open().close()
    assert len(log.read_text().splitlines()) < lines / 10
    other.update("id-a", comment="after")
    lab.catalog.update("id-a", target_lag=TargetLag(9.0))
    before = registered(lab.catalog)
    remove(lab.path)
    assert registered(lab.open()) == before


def test_leases_of_the_original_do_not_hold_a_copy(lab: Lab) -> None:
    lab.begin(10)
    with refused("DT-2104"):
        lab.begin(20)
    lab.catalog._dispose()
    there = lab.path.parent.with_name("copy") / "_dt"
    shutil.copytree(lab.path.parent, there)
    original, lab.path = lab.path, there / lab.path.name
    lab.catalog = lab.open()
    assert lab.catalog.running() == ()
    lab.begin(20)
    lab.path = original
    assert len(lab.open().running()) == 1


# Whatever was done, and whenever a backup was made and put in place, what is registered is there.

CHANGES: tuple[Callable[[Catalog, random.Random, int], object], ...] = (
    lambda c, r, n: c.create(table(f"t{n}")),
    lambda c, r, n: c.drop(r.choice(c.list()).name),
    lambda c, r, n: c.undrop(r.choice([t for t in c.list(include_dropped=True) if t.dropped]).name),
    lambda c, r, n: c.rename(r.choice(c.list()).name, name(f"r{n}")),
    lambda c, r, n: c.swap(r.choice(c.list()).name, r.choice(c.list()).name),
    lambda c, r, n: c.replace(table(f"x{n}", name=r.choice(c.list()).name)),
    lambda c, r, n: c.update(r.choice(c.list()).id, needs_reinit=Reason("X", f"x {n}")),
    lambda c, r, n: c.update(r.choice(c.list()).id, definition=definition(f"SELECT {n}")),
    lambda c, r, n: c.purge(r.choice(c.list()).id),
    lambda c, r, n: c.create_stream(stream(f"s{n}")),
    lambda c, r, n: c.drop_stream(r.choice(c.streams()).name),
    lambda c, r, n: c.record_table(name(f"b{n % 3}"), f"id {n}", f"/outside/{n}"),
    lambda c, r, n: c.record_view(name(f"b{n % 3}"), f"SELECT {n}"),
    lambda c, r, n: c.forget(name(f"b{n % 3}")),
    lambda c, r, n: c.create_warehouse(Warehouse(f"w{n}")),
    lambda c, r, n: c.alter_warehouse("w", weight=n % 9 + 1),
    lambda c, r, n: c.grant("public", [Right.SELECT], on(n % 5), "admin"),
    lambda c, r, n: c.rights_renamed(on(n % 5), on(r.randrange(5))),
    lambda c, r, n: c.rights_swapped(on(n % 5), on(r.randrange(5))),
    lambda c, r, n: c.rights_dropped(on(r.randrange(5)), f"id {n % 3}"),
    lambda c, r, n: c.rights_restored(on(r.randrange(5)), f"id {n % 3}"),
)


def on(number: int) -> Securable:
    return Securable.of(Named.TABLE, name(f"b{number}"))


def test_a_grant_is_rebuilt_where_it_was_last(lab: Lab) -> None:
    for number in range(3):
        lab.catalog.grant("public", [Right.SELECT], on(number), "admin")
    lab.catalog.rights_renamed(on(0), on(7))
    lab.catalog.rights_dropped(on(1), "an id")
    lab.catalog.close()
    remove(lab.path)
    lab.catalog = lab.open()
    assert {str(g.on) for g in lab.catalog.rights().grants} == {"b2", "b7", "t"}
    lab.catalog.rights_restored(on(1), "another id")
    assert str(on(1)) not in {str(g.on) for g in lab.catalog.rights().grants}
    lab.catalog.rights_restored(on(1), "an id")
    assert str(on(1)) in {str(g.on) for g in lab.catalog.rights().grants}


@CATALOG_LOST
@pytest.mark.parametrize("seed", some(2, range(6)))
def test_any_history_and_any_backup(lab: Lab, seed: int) -> None:
    chance, backup = random.Random(seed), lab.path.with_name("backup")
    lab.catalog.close()
    shutil.copy(lab.path, backup)
    for part in range(3):
        lab.catalog = lab.open()
        for n in range(12):
            lab.wall.forward(1)
            with suppress(IndexError, DTError):  # there was nothing to choose
                chance.choice(CHANGES)(lab.catalog, chance, part * 100 + n)
        before = registered(lab.catalog)
        what = chance.choice(["delete", "older", "open", "backup"])
        if what == "open":
            remove(lab.path)
            assert registered(lab.catalog) == before
        lab.catalog.close()
        if what in ("delete", "older"):
            remove(lab.path)
        if what == "older":
            shutil.copy(backup, lab.path)
        if what == "backup":
            shutil.copy(lab.path, backup)
        lab.catalog = lab.open()
        assert registered(lab.catalog) == before
        lab.catalog.close()


@CLOCK
def test_times_do_not_go_back(lab: Lab) -> None:
    lab.wall.forward(100)
    lab.catalog.create(table("new", created=at(100)))
    lab.catalog.close()
    remove(lab.path)
    lab.wall.forward(-100)
    assert lab.open().clock.now() > Timestamp(at(100).micros)
