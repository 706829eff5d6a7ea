"""A lock by name among all who may open a catalog: for storage that keeps no writers apart."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dt_jupyter.catalog.database import CatalogDatabase
from dt_jupyter.lake import TableLocked
from tests.unit.catalog_lab import Lab

HOLDER = """
import sys, time
from pathlib import Path
from dt_jupyter.catalog import CatalogPlace, find_database
database = find_database(Path(sys.argv[1]), sys.argv[2] or None)
if sys.argv[3]:
    database._mark = CatalogPlace(sys.argv[3])
with database.hold_lock("t", 60):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def database(tmp_path: Path, database: str) -> CatalogDatabase:
    lab = Lab(tmp_path)
    return lab.catalog._database


def test_one_at_a_time_has_a_name(database: CatalogDatabase) -> None:
    inside, free = threading.Event(), threading.Event()

    def hold() -> None:
        with database.hold_lock("t", 10):
            inside.set()
            free.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    inside.wait(30)
    with database.hold_lock("another", 0.2):
        pass
    with pytest.raises(TableLocked, match="t was locked"), database.hold_lock("t", 0.2):
        pass
    free.set()
    with database.hold_lock("t", 30):
        pass
    holder.join()


def test_what_fails_inside_frees_it(database: CatalogDatabase) -> None:
    with pytest.raises(ZeroDivisionError), database.hold_lock("t", 1):
        raise ZeroDivisionError
    with database.hold_lock("t", 0.2):
        pass


def test_a_process_that_is_killed_holds_nothing(database: CatalogDatabase, tmp_path: Path) -> None:
    url = str(Lab.server.url) if Lab.server is not None else ""
    mark = getattr(database, "_mark", None)
    told = [str(tmp_path / "_dt" / "catalog.sqlite"), url, mark.id if mark is not None else ""]
    command = [sys.executable, "-c", HOLDER, *told]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TableLocked), database.hold_lock("t", 0.2):
            pass
        holder.kill()
    with database.hold_lock("t", 30):
        pass
