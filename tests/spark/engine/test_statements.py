"""Statements through the engine: all or nothing, names, explaining, reconnecting."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dt_jupyter.definition.define as define
import dt_jupyter.definition.validate.creation_check as guard
from dt_jupyter.engine import Engine
from tests.cases import some
from tests.spark.engine_lab import Lab, refused, without_check

pytestmark = pytest.mark.compiled


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    without_check(monkeypatch)
    return


@pytest.fixture
def shop(lab: Lab) -> Lab:
    lab.table("item", "id INT, name STRING, v INT", "1, 'rug', 1", "2, 'car', 2")
    lab.table("price", "id INT, v INT", "1, 10")
    return lab


def test_a_name_that_is_taken_is_refused(shop: Lab) -> None:
    shop.dynamic_table("d", "SELECT id FROM item")
    for name in ("d", "item"):
        with refused("DT-1105"):
            shop.sql(f"CREATE DYNAMIC TABLE {name} AS SELECT 1 AS x FROM item")
    shop.sql("CREATE DYNAMIC TABLE IF NOT EXISTS d AS SELECT v FROM item")
    assert shop.rows("d") == [(1,), (2,)]


def test_a_cycle_is_refused(shop: Lab) -> None:
    shop.dynamic_table("a", "SELECT id FROM item")
    shop.dynamic_table("b", "SELECT id FROM a")
    shop.sql("CREATE VIEW through AS SELECT id FROM b")
    for source in ("a", "b", "through"):
        with refused("DT-1106"):
            shop.sql(f"CREATE OR REPLACE DYNAMIC TABLE a AS SELECT id FROM {source}")
    assert shop.rows("a") == [(1,), (2,)]
    shop.insert("item", "3, 'x', 3")
    assert shop.refresh("b") == "INCREMENTAL"


@pytest.mark.parametrize(
    "query",
    some(2, ["SELECT id / 0 AS x FROM item", "SELECT nope FROM item", "SELECT id, id FROM item"]),
)
def test_a_replacement_that_fails_keeps_the_old(shop: Lab, query: str) -> None:
    from dt_jupyter.model import DTError

    made = shop.dynamic_table("d", "SELECT id FROM item WHERE v > 0")
    shop.dynamic_table("above", "SELECT count(*) AS n, id FROM d GROUP BY id")
    before = shop.names()
    with pytest.raises(DTError):
        shop.sql(f"CREATE OR REPLACE DYNAMIC TABLE d AS {query}")
    assert shop.names() == before
    assert shop.engine.table("d").id == made.id
    assert shop.rows("d") == [(1,), (2,)]
    shop.insert("item", "3, 'x', 3")
    assert shop.refresh("above") == "INCREMENTAL"
    shop.verified("d", "above")


def test_a_dynamic_table_is_read_only(shop: Lab) -> None:
    shop.dynamic_table("d", "SELECT id FROM item")
    for statement in (
        "INSERT INTO d VALUES (5)",
        "DELETE FROM d",
        "DROP TABLE d",
        "DROP VIEW d",
        "UPDATE d SET id = 1",
        "ALTER TABLE d ADD COLUMN x INT",
        "TRUNCATE TABLE d",
    ):
        with refused("DT-1109"):
            shop.sql(statement)
    assert shop.rows("d") == [(1,), (2,)]
    with refused("DT-1109"):
        shop.engine.refresh("item")


def test_reading_before_the_first_refresh_is_an_error(shop: Lab) -> None:
    shop.dynamic_table("d", "SELECT id FROM item", "INITIALIZE = ON_SCHEDULE")
    for query in ("SELECT * FROM d", "SELECT count(*) FROM d"):
        with pytest.raises(Exception, match="DT-2101"):
            shop.spark.sql(query).collect()
    with refused("DT-2101"):
        shop.engine.verify("d")
    assert shop.refresh("d") == "REINITIALIZE"
    assert shop.rows("d") == [(1,), (2,)]


@pytest.mark.nightly
def test_odd_names_come_through(lab: Lab) -> None:
    lab.sql(
        "CREATE TABLE `order` (`a b` INT, `c.d` STRING, `select` INT, `q``t` STRING, "
        "`ünï` INT, `Case` INT)"
        " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    )
    lab.sql("INSERT INTO `order` VALUES (1, 'x', 2, 'y', 3, 4), (1, 'x', 2, 'y', 3, 4)")
    lab.dynamic_table(
        "`select`",
        "SELECT `a b`, `c.d`, `select` AS `from`, `q``t`, `ünï`, `Case` FROM `order`",
    )
    lab.dynamic_table(
        "`group`",
        "SELECT `c.d` AS `c.d`, sum(`a b`) AS `sum of`, max(`ünï`) AS `max``d` "
        "FROM `order` GROUP BY `c.d`",
    )
    assert lab.mode("`select`") == lab.mode("`group`") == "INCREMENTAL"
    lab.sql("INSERT INTO `order` VALUES (5, 'z', 2, 'y', 3, 4)")
    lab.sql("DELETE FROM `order` WHERE `c.d` = 'x'")
    # Delta itself cannot UPDATE a table with a backtick in a column's name and a change feed.
    lab.sql("INSERT INTO `order` VALUES (7, 'z', 2, NULL, 3, 4)")
    for name in ("`select`", "`group`"):
        assert lab.refresh(name) == "INCREMENTAL"
        lab.verified(name)
    assert lab.spark.table("`select`").columns == ["a b", "c.d", "from", "q`t", "ünï", "Case"]


def test_explaining_a_creation_creates_nothing(shop: Lab) -> None:
    before = shop.names()
    lines = shop.sql(
        "EXPLAIN CREATE DYNAMIC TABLE d AS SELECT name, count(*) AS n FROM item GROUP BY name"
    )
    text = "\n".join(line for (line,) in lines)
    assert "INCREMENTAL" in text
    lines = shop.sql("EXPLAIN CREATE DYNAMIC TABLE d AS SELECT hll_sketch_agg(id) AS n FROM item")
    assert "AGGREGATE: " in "\n".join(line for (line,) in lines)
    assert shop.names() == before


@pytest.mark.parametrize(
    "query",
    some(
        1,
        [
            "SELECT n, count(*) AS c FROM (SELECT name, count(*) AS n FROM item GROUP BY name) "
            "GROUP BY n",
            "SELECT i.id, p.v FROM item i JOIN price p ON i.id = p.id",
            "SELECT name, count(*) AS n, max(v) AS m FROM item GROUP BY name",
        ],
    ),
)
def test_an_explained_change_is_a_statement_that_spark_runs(shop: Lab, query: str) -> None:
    shop.dynamic_table("d", query)
    assert shop.engine.explain("d").action == "NO_DATA"
    shop.insert("item", "3, 'rug', 3")
    before = shop.files()
    explanation = shop.engine.explain("d")
    assert explanation.action == "INCREMENTAL"
    assert explanation.steps
    assert all(step.text in str(explanation) for step in explanation.steps)
    # One over a hidden stage names the version that the one before it will make.
    first = next(s for s in explanation.steps if s.title.startswith("change of"))
    shop.spark.sql(first.text).collect()
    assert shop.files() == before
    assert shop.refresh("d") == "INCREMENTAL"


def test_rows_that_may_multiply_are_few_in_the_check(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(define, "check", guard.check)
    lab.table("seed", "k INT", "1", "2")
    rows = "(SELECT explode(sequence(1, 300)) AS e FROM seed)"
    says = "  Validated: incremental equals full on"
    told = {}
    for more in ("", f"CROSS JOIN {rows} y"):
        query = f"SELECT count(*) AS n FROM {rows} x {more}"
        lines = map("".join, lab.sql(f"EXPLAIN CREATE DYNAMIC TABLE d AS {query}"))
        told[more] = next(x for x in lines if x.startswith(says))
    one, product = told.values()
    assert one == f"{says} {lab.tuning.check_rows + 2} test rows."
    assert product == f"{says} 5 test rows."


def test_a_view_whose_table_is_gone_keeps_nobody_out(shop: Lab) -> None:
    shop.sql("CREATE VIEW zz AS SELECT id FROM item; CREATE VIEW aa AS SELECT id FROM zz")
    shop.sql("CREATE VIEW bb AS SELECT id FROM price; DROP TABLE price")
    shop.dynamic_table("d", "SELECT id FROM aa")
    shop.reopen()
    assert shop.rows("aa") == [(1,), (2,)]
    assert shop.refresh("d") == "NO_DATA"
    shop.sql("UNDROP TABLE price")
    shop.reopen()
    assert shop.rows("bb") == [(1,)]


def test_all_is_there_again_after_reconnecting(shop: Lab) -> None:
    shop.sql("CREATE VIEW rugs AS SELECT id, name FROM item WHERE name = 'rug'")
    shop.dynamic_table(
        "d", "SELECT name, count(*) AS n FROM rugs GROUP BY name HAVING count(*) > 0"
    )
    shop.dynamic_table("above", "SELECT n FROM d")
    shop.dynamic_table("later", "SELECT id FROM item", "INITIALIZE = ON_SCHEDULE")
    stood = shop.engine.table("above")
    shop.reopen()
    assert shop.engine.table("above") == stood
    assert shop.rows("above") == [(1,)]
    assert shop.rows("item") == [(1, "rug", 1), (2, "car", 2)]
    with pytest.raises(Exception, match="DT-2101"):
        shop.spark.table("later").collect()
    assert shop.refresh("above") == "NO_DATA"
    shop.insert("item", "3, 'rug', 3")
    assert shop.refresh("above") == "INCREMENTAL"
    shop.verified("d", "above")
    assert shop.rows("above") == [(2,)]


_OTHER_PROCESS = """
import sys
import dt_jupyter.definition.validate.creation_check as guard
from dt_jupyter.engine import Engine
from dt_jupyter.engine import Engine
from dt_jupyter.engine import Engine
from tests.spark.engine_lab import Lab

engine = Engine.connect(sys.argv[1], scheduler=False, memory="1g")
print(sorted(tuple(r) for r in engine.spark.table("d").collect()))
engine.sql("INSERT INTO item VALUES (9, 'rug')")
record = engine.refresh("d")
rows = sorted(tuple(r) for r in engine.spark.table("d").collect())
print(record.action, engine.verify("d").equal, rows)
engine.close()
engine.spark.stop()
"""


@pytest.mark.slow
@pytest.mark.nightly
def test_another_process_goes_on_with_the_lake(lab: Lab) -> None:
    lab.table("item", "id INT, name STRING", "1, 'rug'")
    lab.dynamic_table("d", "SELECT name, count(*) AS n FROM item GROUP BY name")
    lab.engine.close()
    run = subprocess.run(
        [sys.executable, "-c", _OTHER_PROCESS, str(lab.folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stderr[-2000:]
    first, second = run.stdout.strip().splitlines()[-2:]
    assert first == "[('rug', 1)]"
    assert second == "INCREMENTAL True [('rug', 2)]"
    lab.reopen()
    assert lab.rows("d") == [("rug", 2)]


def test_dropping_and_undropping_a_dynamic_table(shop: Lab) -> None:
    shop.dynamic_table("d", "SELECT id FROM item")
    shop.sql("DROP DYNAMIC TABLE d")
    with refused("DT-1101"):
        shop.engine.refresh("d")
    assert "d" not in shop.names()[1]
    shop.sql("UNDROP DYNAMIC TABLE d")
    shop.insert("item", "3, 'x', 3")
    assert shop.refresh("d") == "INCREMENTAL"
    shop.verified("d")


def test_renaming_and_swapping(shop: Lab) -> None:
    shop.dynamic_table("a", "SELECT id FROM item")
    shop.dynamic_table("b", "SELECT name FROM item")
    shop.sql("ALTER DYNAMIC TABLE a RENAME TO c")
    assert shop.rows("c") == [(1,), (2,)]
    with refused("DT-1101"):
        shop.engine.refresh("a")
    shop.sql("ALTER DYNAMIC TABLE c SWAP WITH b")
    assert shop.rows("b") == [(1,), (2,)]
    assert shop.rows("c") == [("car",), ("rug",)]
    shop.insert("item", "3, 'x', 3")
    assert shop.refresh("b") == shop.refresh("c") == "INCREMENTAL"
    shop.verified("b", "c")


def test_connecting_again_in_one_session_keeps_the_rows_of_every_schema(quick_lab: Lab) -> None:
    """A table that Spark manages is never dropped to be known again: its files would go too."""
    lab = quick_lab
    lab.sql("CREATE TABLE plain (id INT) USING delta; INSERT INTO plain VALUES (1)")
    lab.sql("CREATE SCHEMA other; CREATE TABLE other.item (id INT) USING delta")
    lab.sql("INSERT INTO other.item VALUES (1), (2)")
    lab.dynamic_table("d", "SELECT count(*) AS n FROM other.item")
    try:
        for schema in ("default", "other"):
            lab.spark.sql(f"USE {schema}")
            lab.engine.close()
            lab.engine = Engine.connect(lab.folder, spark=lab.spark, scheduler=False)
            lab.spark.sql("USE default")
            assert lab.sql("SELECT * FROM plain") == [(1,)]
            assert lab.sql("SELECT count(*) FROM other.item") == [(2,)]
            lab.verified("d")
    finally:
        lab.spark.sql("USE default")
        lab.spark.sql("DROP SCHEMA other CASCADE")


def test_another_lakes_table_of_the_same_name_is_told_and_kept(
    quick_lab: Lab, tmp_path: Path
) -> None:
    quick_lab.sql("CREATE TABLE item (id INT) USING delta; INSERT INTO item VALUES (1)")
    with Engine.connect(tmp_path / "second", spark=quick_lab.spark, scheduler=False) as second:
        quick_lab.spark.sql("ALTER TABLE item RENAME TO first_item")
        second.sql(
            "CREATE TABLE item (id INT) USING delta LOCATION "
            f"'{second.lake / 'tables' / 'item'}'; INSERT INTO item VALUES (7)"
        )
        quick_lab.spark.sql("DROP TABLE item")
        quick_lab.spark.sql("ALTER TABLE first_item RENAME TO item")
    with (
        pytest.warns(UserWarning, match="item is another table than in the lake"),
        Engine.connect(tmp_path / "second", spark=quick_lab.spark, scheduler=False),
    ):
        assert quick_lab.sql("SELECT * FROM item") == [(1,)]
