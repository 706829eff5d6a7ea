"""A lake whose catalog is in PostgreSQL: the whole engine on it, several processes, and a server
that is restarted in the middle of what it does."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.catalog import Owner
from dt_jupyter.engine import Engine
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import RefreshTrigger
from tests.cases import some
from tests.experiments import AWAY, KILLED_IN_REFRESH, STOPPED, TWO_PROCESSES
from tests.faults.engine_worker import rounds
from tests.faults.test_refresh_faults import QUERY, ROOT, commits, worker
from tests.spark.engine_lab import Lab, refused, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.sinks.servers import PostgresServer


@pytest.fixture
def shop(
    quick_spark: SparkSession,
    lake_dir: Path,
    postgres: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Lab]:
    """A table, a dynamic table of two stages over it, and rows that are not in it yet."""
    without_check(monkeypatch)
    monkeypatch.setattr(Lab, "catalog_url", postgres.url)
    lab = Lab.open(quick_spark, lake_dir)
    lab.table("item", "id INT, k STRING", "1, 'a'", "2, 'a'", "3, 'b'")
    lab.dynamic_table("d", QUERY)
    lab.insert("item", "4, 'b'", "5, 'c'")
    yield lab
    lab.close()


def as_machine(lab: Lab, host: str) -> None:
    """The lab's engine is of another machine from now on."""
    catalog = lab.context.catalog
    catalog.owner = replace(catalog.owner, host=host)


def actions(lab: Lab) -> list[str]:
    """Of the refreshes of `d`, newest first."""
    catalog = lab.context.catalog
    return [str(record.action) for record in catalog.history(lab.engine.table("d").name)]


# -- one engine ------------------------------------------------------------------------------------


def test_who_opens_the_lake_need_not_say_where_its_catalog_is(shop: Lab) -> None:
    assert shop.refresh("d") == "INCREMENTAL"
    shop.sql("CREATE OR REPLACE TABLE item (id INT, k STRING); INSERT INTO item VALUES (9, 'z')")
    assert shop.refresh("d") == "REINITIALIZE"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Lab, "catalog_url", None)
        shop.reopen()
    assert actions(shop) == ["REINITIALIZE", "INCREMENTAL", "REINITIALIZE"]
    assert not (shop.folder / "_dt" / "catalog.sqlite").exists()
    assert shop.engine.status()["catalog"].startswith("postgresql+psycopg://postgres@127.0.0.1")


# -- several ---------------------------------------------------------------------------------------


@TWO_PROCESSES
@pytest.mark.nightly
def test_two_machines_refresh_one_table_and_each_round_counts_once(shop: Lab) -> None:
    shop.refresh("d")
    other = worker(shop, "d", "6", "item")
    assert other.stdout is not None
    assert other.stdin is not None
    assert other.stdout.readline() == "ready\n"
    as_machine(shop, "elsewhere")
    other.stdin.write("\n")
    other.stdin.flush()
    mine = rounds(shop.engine, "d", 6, "item", 5000)
    theirs, errors = other.communicate(timeout=300)
    assert other.returncode == 0, errors[-2000:]
    assert len(theirs.split()) == len(mine) == 6
    assert shop.record("d").error is None
    table = shop.engine.table("d")
    assert commits(shop) == list(range(1, table.sequence + 1))
    shop.verified("d")
    shop.serializable()


@KILLED_IN_REFRESH
def test_a_process_that_is_killed_in_a_refresh_is_taken_over_from(shop: Lab) -> None:
    shop.engine.close()
    process = worker(shop, "d", "1", failpoint="after_write:2")
    _, errors = process.communicate("\n", timeout=300)
    assert process.returncode == -signal.SIGKILL, errors[-2000:]
    shop.reopen()
    assert shop.engine.table("d").version == shop.version("d")
    shop.verified("d")
    assert shop.record("d").error is None
    assert shop.rows("d") == [(1, 1, 5), (2, 2, 10)]
    shop.serializable()


@STOPPED
def test_a_lease_of_another_machine_holds_until_it_expires(shop: Lab) -> None:
    """Whether its process is there cannot be seen from here."""
    catalog, table = shop.context.catalog, shop.engine.table("d")
    gone = Owner("elsewhere", 1, "uid-gone", "1")
    own, catalog.owner = catalog.owner, gone
    at = shop.context.clock.now()
    catalog.begin(table.id, RefreshTrigger.MANUAL, at, "q-gone", ttl=3600)
    catalog.owner = own
    with refused("DT-2104") as caught:
        shop.engine.refresh("d", wait=0)
    assert "elsewhere" in str(caught[0])


# -- the server ------------------------------------------------------------------------------------


@AWAY
@pytest.mark.parametrize("point", some(1, ["after_write", "before_write", "after_fsync"]))
def test_a_server_that_is_restarted_in_a_refresh_loses_nothing(
    shop: Lab, postgres: PostgresServer, point: str
) -> None:
    times = list[int]()

    def restart_once() -> None:
        if not times:
            times.append(1)
            postgres.restart()

    with hooked(point, restart_once):
        record = shop.record("d")
    assert times
    assert record.error is None, record.error
    shop.verified("d")
    assert shop.rows("d") == [(1, 1, 5), (2, 2, 10)]
    table = shop.engine.table("d")
    assert commits(shop) == list(range(1, table.sequence + 1))
    assert table.version == shop.version("d")


@AWAY
def test_a_server_that_is_away_in_a_refresh_is_told_and_the_next_goes_on(
    shop: Lab, postgres: PostgresServer
) -> None:
    with hooked("after_write", postgres.stop):
        try:
            told = str(shop.record("d").error)
        except Exception as e:
            told = str(e)
    assert "DT-5102" in told
    postgres.start()
    assert shop.record("d").error is None
    shop.verified("d")
    assert shop.rows("d") == [(1, 1, 5), (2, 2, 10)]
    table = shop.engine.table("d")
    assert commits(shop) == list(range(1, table.sequence + 1))


# -- from a file -----------------------------------------------------------------------------------


def test_a_lake_moves_to_a_server_with_its_history(
    quick_lab: Lab, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    quick_lab.table("item", "id INT", "1")
    quick_lab.dynamic_table("d", "SELECT count(*) AS n FROM item")
    quick_lab.insert("item", "2")
    quick_lab.refresh("d")
    held = Engine.connect(quick_lab.folder, spark=quick_lab.spark, scheduler=False)
    monkeypatch.setattr(Lab, "catalog_url", postgres.url)
    quick_lab.reopen()
    assert actions(quick_lab) == ["INCREMENTAL", "REINITIALIZE"]
    assert quick_lab.refresh("d") == "NO_DATA"
    with refused("DT-5113"):
        held.refresh("d")
    held.context.state.closed = True


@pytest.mark.nightly
def test_the_command_line_takes_the_address(shop: Lab, postgres: PostgresServer) -> None:
    shop.engine.close()
    command = [sys.executable, "-m", "dt_jupyter", "--catalog", postgres.url, str(shop.folder)]
    done = subprocess.run(
        [*command, "history"], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "INITIALIZE" in done.stdout
    wrong = subprocess.run(
        [*command[:3], "--catalog", "mysql://h/d", str(shop.folder), "status"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert wrong.returncode == 1
    assert "DT-5115" in wrong.stderr
    shop.reopen()
