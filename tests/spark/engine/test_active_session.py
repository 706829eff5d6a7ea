"""Whatever the engine does, whoever asks PySpark for the active session is given their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from pyspark.sql import SparkSession

from dt_jupyter.engine import Engine
from tests.spark.engine_lab import Lab
from tests.spark.kinds_of_spark import KIND

pytestmark = pytest.mark.skipif(KIND != "local", reason="with Connect each session is asked for")
SHOP = """
CREATE TABLE item (id INT, k STRING) TBLPROPERTIES ('dt.primaryKey' = 'id');
INSERT INTO item VALUES (1, 'a'), (2, 'b');
CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT k, count(*) AS n FROM item GROUP BY k;
CREATE DYNAMIC TABLE texts TARGET_LAG = '1 hour' AS
SELECT id, to_json(named_struct('k', k)) AS t FROM item JOIN d USING (k);
CREATE STREAM s ON TABLE item;
CREATE TABLE taken (id INT)
"""
SCRIPTS = [
    "INSERT INTO item VALUES (3, 'a'); ALTER DYNAMIC TABLE d REFRESH",
    "UPDATE item SET k = 'c' WHERE id = 1; ALTER DYNAMIC TABLE d REFRESH",
    "INSERT INTO taken SELECT id FROM s",
    "BEGIN; INSERT INTO taken SELECT id FROM s; DELETE FROM item WHERE id = 2; COMMIT",
    "SELECT * FROM d AT(OFFSET => 0)",
    "SELECT * FROM item CHANGES(INFORMATION => DEFAULT) AT(VERSION => 0)",
    "CREATE DYNAMIC TABLE e CLONE d",
    "SHOW DYNAMIC TABLES",
    "SELECT name FROM TABLE(information_schema.dynamic_tables())",
]


def twice(x: int) -> int:
    return 2 * x


def active(lab: Lab) -> list[object]:
    """What PySpark, and Java in this thread, take for the active session."""
    java = lab.spark._jvm.SparkSession.getActiveSession().get()  # type: ignore[union-attr]
    return [SparkSession.getActiveSession(), java.sessionUUID()]


@pytest.fixture
def own(lab: Lab) -> Iterator[list[object]]:
    """The active session of whoever ran a cell: `lab.spark`."""
    lab.spark.createDataFrame([], "x INT")
    found = active(lab)
    assert found[0] is lab.spark
    yield found
    assert active(lab) == found


def test_statements_leave_the_active_session(lab: Lab, own: list[object]) -> None:
    lab.sql(SHOP)
    assert active(lab) == own
    for script in SCRIPTS:
        lab.sql(script)
        assert active(lab) == own, script
    actions = [record.action for record in lab.engine.records("d")]
    assert actions.count("INCREMENTAL") == 2


def test_the_api_leaves_the_active_session(lab: Lab, own: list[object]) -> None:
    lab.sql(SHOP)
    engine = lab.engine
    calls: dict[str, Callable[[], object]] = {
        "verify": lambda: engine.verify("d"),
        "refresh": lambda: lab.refresh("texts"),
        "replay": lambda: engine.replay("d").close(),
        "change_rows": lambda: engine.change_rows("item", 0),
        "explain": lambda: engine.explain("d"),
        "register_udf": lambda: engine.register_udf("twice", twice, "int"),
        "plan": lambda: engine.plan(engine.export()),
    }
    for name, call in calls.items():
        lab.spark.sql("INSERT INTO item SELECT 1 + max(id), 'a' FROM item")
        call()
        assert active(lab) == own, name


def test_an_engine_opened_after_another_has_the_same_session(lab: Lab) -> None:
    """Which takes the active session where none is named."""
    lab.sql(SHOP)
    lab.sql(SCRIPTS[1])
    lab.spark.sql("INSERT INTO item VALUES (4, 'd')")
    assert lab.refresh("texts") == "INCREMENTAL"
    lab.engine.close()
    with Engine.connect(lab.folder, scheduler=False) as again:
        assert again.spark is lab.spark
        assert [tuple(r) for r in again.sql("SELECT count(*) FROM d").collect()] == [(3,)]
