"""A disk that is full, or is so after some bytes more: catalog, tables and hidden state lie on it.

Each refresh and each statement succeeds, or says that the disk is full; once there is room again
the next refresh is right by changes alone.
"""

from __future__ import annotations

import errno
import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from dt_jupyter.catalog import Catalog, CatalogWarning
from dt_jupyter.model import DTError, error
from tests.cases import nightly
from tests.experiments import DISK_FULL
from tests.faults.engine_worker import failure_code
from tests.faults.test_refresh_faults import QUERY
from tests.spark.engine_lab import Lab, quick, without_check

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [DISK_FULL, pytest.mark.slow]
SEED = int(os.environ.get("DT_JUPYTER_SEED", "0"))
MEGABYTE = 1 << 20
CONSUME = "INSERT INTO taken SELECT id FROM s"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    asked = ["mount", "-t", "tmpfs", "-o", f"size={16 * MEGABYTE}", "none", str(folder)]
    if subprocess.run(asked, check=False, capture_output=True).returncode:
        pytest.skip("who runs this may mount nothing")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.fixture
def shop(spark: SparkSession, disk: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    without_check(monkeypatch)
    with quick(spark, monkeypatch):
        made = Lab.open(spark, disk / "lake")
        made.table("item", "id INT, k STRING", "1, 'a'", "2, 'a'", "3, 'b'")
        made.dynamic_table("d", QUERY)
        made.table("taken", "id INT")
        made.sql("CREATE STREAM s ON TABLE item")
        yield made
        made.close()


def fill(disk: Path, left: int) -> Path:
    """A file that leaves so many bytes of the disk free."""
    filler = disk / "filler"
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize
    with filler.open("wb") as file:
        for _ in range(max(0, free - left) // 4096):
            file.write(b"0" * 4096)
    return filler


def refresh(shop: Lab) -> str | None:
    """The code of why it failed."""
    try:
        return failure_code(shop.record("d"))
    except DTError as e:
        return e.code


@pytest.mark.timeout(600)
@pytest.mark.parametrize("rounds", [4, nightly(40)])
def test_nothing_is_lost(
    shop: Lab, disk: Path, rounds: int, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(SEED)
    told: list[str | None] = []
    for number in range(rounds):
        shop.insert("item", f"{10 + number}, '{chance.choice('abc')}'")
        left = 0 if number == 0 else chance.choice((1, 4, 16, 64)) * chance.randrange(4096)
        filler = fill(disk, left)
        refused, consumed = refresh(shop), refusal(shop, CONSUME)
        assert {refused, consumed} <= {None, "DT-5121"}
        told += [refused, consumed]
        filler.unlink()
        begun = time.monotonic()
        record = shop.record("d")
        assert record.error is None, record.error
        record_property("recovery", round(time.monotonic() - begun, 3))
        assert record.action in ("INCREMENTAL", "NO_DATA"), record.reason
        shop.verified("d")
        assert refusal(shop, CONSUME) is None
        assert shop.rows("taken") == [(10 + n,) for n in range(number + 1)]
    record_property("cases", 2 * rounds)
    record_property("told", told)
    assert "DT-5121" in told
    shop.reopen()
    assert shop.refresh("d") == "NO_DATA"
    shop.serializable()


STATEMENTS = [
    "CREATE TABLE more USING delta LOCATION 'file:{tables}/more' AS SELECT id FROM item",
    "CREATE DYNAMIC TABLE e TARGET_LAG = '1 hour' AS SELECT id, k FROM item WHERE id > 1",
    "CREATE OR REPLACE DYNAMIC TABLE e TARGET_LAG = '1 day' AS SELECT k FROM item",
    "ALTER DYNAMIC TABLE d SET TARGET_LAG = '2 hours'",
    "ALTER DYNAMIC TABLE d SUSPEND",
    "ALTER DYNAMIC TABLE d RESUME",
    "CREATE STREAM t ON TABLE item",
    "CREATE TASK load SCHEDULE = '1 hour' AS INSERT INTO taken SELECT id FROM t",
    "EXECUTE TASK load",
    "CREATE SINK out FROM TABLE item INTO 'sqlite://{folder}/out.db' KEY (id)",
    "ALTER SINK out REFRESH",
    "DROP SINK out",
    "CREATE WAREHOUSE small",
    "DROP TASK load",
    "DROP STREAM t",
    "ALTER DYNAMIC TABLE e RENAME TO f",
    "DROP DYNAMIC TABLE f",
    "UNDROP DYNAMIC TABLE f",
    "CREATE DYNAMIC TABLE g CLONE f",
]
"""Each is possible after those before it."""


@pytest.mark.nightly
@pytest.mark.timeout(600)
@pytest.mark.parametrize("left", [0, 8192, 40_000, 100_000])
def test_a_statement_is_refused_and_works_when_there_is_room(
    shop: Lab, disk: Path, tmp_path: Path, left: int, record_property: Callable[[str, object], None]
) -> None:
    told, tables = [], shop.context.layout.tables
    for number, text in enumerate(STATEMENTS):
        statement = text.format(folder=tmp_path, tables=tables)
        shop.insert("item", f"{100 + number}, 'c'")
        filler = fill(disk, left)
        told.append(refusal(shop, statement))
        filler.unlink()
        again = refusal(shop, statement)
        assert told[-1] in (None, "DT-5121"), statement
        if told[-1] is not None:
            assert again is None, statement
        else:
            assert again != "DT-5121", statement  # it has happened before
    record_property("cases", len(STATEMENTS))
    assert shop.refresh("d") == "INCREMENTAL"
    assert shop.refresh("f") in ("INCREMENTAL", "FULL")
    shop.verified("d", "f", "g")
    shop.reopen()
    assert shop.rows("more"), "which is known to later sessions"
    assert "DT-5121" in told or left


@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_a_schema_is_cloned_whole_or_not_at_all(shop: Lab, disk: Path) -> None:
    """However few bytes are left; what is cloned is as it was."""
    tables, clone = shop.context.layout.tables, "CREATE SCHEMA c CLONE a"
    shop.sql(
        f"CREATE SCHEMA a; CREATE TABLE a.src (g INT, v INT) USING delta LOCATION '{tables}/a/src';"
        "INSERT INTO a.src VALUES (1, 1), (2, 5); CREATE VIEW a.big AS SELECT g FROM a.src;"
        "CREATE DYNAMIC TABLE a.sums AS SELECT g, sum(v) AS s FROM a.src GROUP BY g;"
        "CREATE DYNAMIC TABLE a.top AS SELECT g FROM a.sums WHERE s > 1;"
        "CREATE STREAM a.changes ON TABLE a.src"
    )
    told = []
    for number, left in enumerate((0, 4096, 16_384, 40_000, 70_000, 100_000, 150_000, 250_000)):
        filler = fill(disk, left)
        told.append(refusal(shop, clone))
        filler.unlink()
        assert told[-1] in (None, "DT-5121"), left
        if number % 2:
            shop.engine.close()
            for schema in "ac":
                shop.spark.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")
            shop.reopen()
        shop.sql("SELECT 1")
        assert shop.left() == []
        made = shop.spark.catalog.databaseExists("c")
        assert made is (told[-1] is None), left
        shop.verified("a.sums", "a.top", *(("c.sums", "c.top") if made else ()))
        assert made == bool([t for t in shop.context.catalog.list() if t.name.schema == "c"])
        assert shop.rows("a.src") == [(1, 1), (2, 5)]
        if made:
            assert shop.rows("c.top") == shop.rows("a.top")
            shop.sql("DROP SCHEMA c CASCADE")
    assert "DT-5121" in told
    assert refusal(shop, clone) is None
    shop.insert("c.src", "2, 1")
    record = shop.record("c.sums")
    assert record.action == "INCREMENTAL", record.reason
    shop.verified("c.sums", "a.sums")
    shop.sql("DROP SCHEMA c CASCADE; DROP SCHEMA a CASCADE")


def refusal(shop: Lab, statement: str) -> str | None:
    """The code of why it failed."""
    try:
        shop.sql(statement)
    except DTError as e:
        return e.code
    return None


def test_what_came_after_is_not_forgotten(quick_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A view that was dropped while the catalog took nothing, and is there again."""
    lab = quick_lab
    lab.sql("CREATE TABLE item AS SELECT 1 AS id; CREATE VIEW seen AS SELECT id FROM item")

    def fail(*_: object) -> None:
        raise error("DT-5121", problem="no space")

    with monkeypatch.context() as full:
        full.setattr(Catalog, "forget", fail)
        with pytest.warns(CatalogWarning, match="seen is as the statement left it"):
            lab.sql("DROP VIEW seen")
        lab.sql("CREATE VIEW seen AS SELECT id + 1 AS id FROM item")
    lab.sql("INSERT INTO item VALUES (2)")
    (known,) = lab.context.catalog.views()
    assert (known.name.table, "id + 1" in known.text) == ("seen", True)


ENDS = [
    ("INSERT INTO taken SELECT id FROM s", "finish_intent", 2),
    ("CREATE TABLE made AS SELECT id FROM s", "finish_intent", 2),
    ("INSERT INTO taken SELECT raise_error('no') FROM s", "abort_intent", 0),
    ("BEGIN; INSERT INTO taken SELECT id FROM s; COMMIT", "finish_intent", 2),
    ("BEGIN; INSERT INTO taken SELECT id FROM s; COMMIT", "prepare_intent", 0),
    ("BEGIN; INSERT INTO taken SELECT id FROM s; ROLLBACK", "abort_intent", 0),
]
"""What consumes the stream, what of the catalog fails then, and how many rows are taken all the
same."""


@pytest.mark.parametrize(
    ("script", "method", "taken"), [*ENDS[:3], *(nightly(*end) for end in ENDS[3:])]
)
def test_a_catalog_that_takes_no_more_at_the_end_of_a_consumption(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch, script: str, method: str, taken: int
) -> None:
    """The next statement finds out what came of it, in the same session."""
    lab = quick_lab
    lab.table("item", "id INT")
    lab.table("taken", "id INT")
    lab.sql("CREATE STREAM s ON TABLE item")
    lab.insert("item", "1", "2")

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Catalog, method, fail)
        with pytest.raises((DTError, PySparkException)):
            lab.sql(script)
    table = "made" if "made" in script else "taken"
    lab.insert("item", "3")
    lab.sql("INSERT INTO taken SELECT id FROM s")
    left = [(n + 1,) for n in range(3) if n >= taken or table == "taken"]
    assert lab.rows("taken") == left
    assert table == "taken" or lab.rows("made") == [(1,), (2,)]
    assert not lab.context.catalog.intents()
    lab.serializable()
