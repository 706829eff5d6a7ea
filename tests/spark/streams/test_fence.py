"""A statement that is given up while it runs writes nothing any more: it is stepped through its
phases beside another engine that takes its process for gone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.lake.write.failpoints import hooked
from tests.cases import some
from tests.experiments import STOPPED
from tests.spark.engine_lab import Lab, refused

pytestmark = STOPPED
TAKES = {
    "insert": "INSERT INTO total SELECT n FROM s WHERE held(n)",
    "overwrite": "INSERT OVERWRITE total SELECT n FROM total UNION ALL SELECT n FROM s "
    "WHERE held(n)",
    "merge": "MERGE INTO total t USING (SELECT n FROM s WHERE held(n)) c ON t.n = 0 "
    "WHEN MATCHED THEN UPDATE SET n = t.n + c.n",
    "update": "UPDATE total SET n = n + (SELECT sum(n) FROM s WHERE held(n))",
    "delete": "DELETE FROM total WHERE n IN (SELECT n - 5 FROM s WHERE held(n))",
    "create table": "CREATE TABLE made AS SELECT n FROM s WHERE held(n)",
}
"""Each can be held while it runs."""


def wait_for(there: Callable[[], bool]) -> None:
    for _ in range(1200):
        if there():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come")


@contextmanager
def beside(act: Callable[[], None]) -> Iterator[None]:
    """Runs `act` in a thread of its own; what it raises is raised at the end."""
    with ThreadPoolExecutor(1) as pool:
        acting = pool.submit(act)
        yield
        acting.result()


@pytest.fixture
def till(quick_lab: Lab, tmp_path: Path) -> Lab:
    """A stream that holds 5, a table that holds 0, and the function `held`, which waits while the
    file `hold` is there, having made the file `holds`."""
    lab = quick_lab
    hold, holds = str(tmp_path / "hold"), str(tmp_path / "holds")

    def held(n: int) -> bool:
        import os
        import time

        if os.path.exists(hold):
            open(holds, "w").close()
        while os.path.exists(hold):
            time.sleep(0.05)
        return n is not None

    lab.spark.udf.register("held", held, "boolean")
    lab.sql("CREATE TABLE events (n INT) TBLPROPERTIES ('dt.primaryKey' = 'n')")
    lab.sql("CREATE TABLE total AS SELECT 0 AS n; CREATE STREAM s ON TABLE events")
    lab.insert("events", "5")
    return lab


@pytest.fixture
def survivor(till: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Another engine on the lake, to which all other processes are gone."""
    other = Engine.connect(till.folder, spark=till.spark, scheduler=False)
    monkeypatch.setattr(other.context.catalog, "_alive", lambda owner: False)
    yield other
    other.close()


def untouched(lab: Lab) -> None:
    """Nothing was written, the stream stands where it stood, and nothing is left over."""
    assert lab.rows("total") == [(0,)]
    assert not (lab.context.layout.tables / "made").exists()
    assert lab.sql("SELECT n FROM s") == [(5,)]
    assert not lab.context.catalog.intents()


def taken_once(lab: Lab) -> None:
    lab.sql("INSERT INTO total SELECT n FROM s")
    assert lab.rows("total") == [(0,), (5,)]
    assert lab.sql("SELECT n FROM s") == []


@pytest.mark.parametrize("way", some(2, TAKES))
def test_one_that_is_given_up_before_it_writes(till: Lab, survivor: Engine, way: str) -> None:
    with hooked("intent_recorded", survivor.context.streams.recover), refused("DT-3210"):
        till.sql(TAKES[way])
    untouched(till)
    taken_once(till)


@pytest.mark.parametrize("way", some(2, TAKES))
def test_one_that_is_given_up_while_it_writes(
    till: Lab, survivor: Engine, tmp_path: Path, way: str
) -> None:
    hold, holds = tmp_path / "hold", tmp_path / "holds"

    def give_up() -> None:
        wait_for(holds.exists)
        survivor.context.streams.recover()
        hold.unlink()

    hold.touch()
    with beside(give_up), refused("DT-3210"):
        till.sql(TAKES[way])
    untouched(till)
    taken_once(till)


def test_one_that_was_faster_is_not_given_up(till: Lab, survivor: Engine) -> None:
    """Its commit is there: whoever comes next moves the stream."""
    with hooked("intent_written", survivor.context.streams.recover):
        till.sql(TAKES["insert"])
    assert till.rows("total") == [(0,), (5,)]
    assert till.sql("SELECT n FROM s") == []


def test_a_table_that_is_there_already_takes_nothing(till: Lab) -> None:
    till.sql("CREATE TABLE IF NOT EXISTS total AS SELECT n FROM s")
    untouched(till)
    with refused("DT-1105"):
        till.sql("CREATE TABLE total AS SELECT n FROM s")
    untouched(till)
    till.sql("CREATE OR REPLACE TABLE total AS SELECT n FROM s")
    assert till.rows("total") == [(5,)]
    assert till.sql("SELECT n FROM s") == []


def test_a_table_made_from_a_stream_is_like_any_other(till: Lab) -> None:
    till.sql(
        "CREATE SCHEMA IF NOT EXISTS fenced; CREATE TABLE fenced.made USING delta "
        "TBLPROPERTIES ('dt.primaryKey' = 'n') COMMENT 'what was sold' AS SELECT n FROM s"
    )
    assert till.sql("SELECT n FROM s") == []
    till.reopen()
    assert till.sql("SELECT n FROM fenced.made") == [(5,)]
    told = {r[0]: r[1] for r in till.sql("DESCRIBE TABLE EXTENDED fenced.made")}
    assert told["Location"].endswith("/tables/fenced.db/made")
    assert "dt.primaryKey=n" in told["Table Properties"]
    assert told["Comment"] == "what was sold"
    till.sql("DROP TABLE fenced.made; DROP SCHEMA fenced")
