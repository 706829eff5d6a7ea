"""A declared key that is not unique fails the refresh, on both paths."""

from __future__ import annotations

import pytest

from tests.cases import some
from tests.spark.engine_lab import Lab, refused, without_check

KEYED = "TBLPROPERTIES ('dt.primaryKey' = 'id, a_b'{more})"
MAPPED = ", 'delta.columnMapping.mode' = 'name'"


@pytest.fixture
def lab(quick_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    without_check(monkeypatch)
    return quick_lab


def fails(lab: Lab, name: str, example: str) -> None:
    record = lab.record(name)
    assert (record.state, record.error_code) == ("FAILED", "DT-3108")
    assert example in (record.error or "")


@pytest.mark.nightly
@pytest.mark.parametrize("more", some(1, ["", MAPPED]))
def test_a_key_is_looked_at_with_each_change(lab: Lab, more: str) -> None:
    """With column mapping Spark reads all rows; without, this process does."""
    lab.sql(f"CREATE TABLE t (id INT, a_b STRING, v INT) {KEYED.format(more=more)}")
    lab.insert("t", "1, 'a', 1", "1, 'b', 1", "2, 'a', 1", "NULL, 'n', 1")
    lab.dynamic_table("d", "SELECT id, sum(v) AS s FROM t GROUP BY id")
    lab.dynamic_table("f", "SELECT id, v FROM t", "REFRESH_MODE = FULL")
    good = (
        "UPDATE t SET v = 2 WHERE id = 1",
        "DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (2, 'a', 3)",
        "INSERT INTO t VALUES (3, 'a', 1), (NULL, 'm', 1)",
    )
    bad = {
        "INSERT INTO t VALUES (1, 'a', 9)": "id = 1, a_b = a has 2 rows",
        "INSERT INTO t VALUES (5, 'x', 1), (5, 'x', 1)": "id = 5, a_b = x has 2 rows",
        "INSERT INTO t VALUES (5, 'x', 1); INSERT INTO t VALUES (5, 'x', 2)": "id = 5, a_b = x",
        "UPDATE t SET a_b = 'b', v = 9 WHERE id = 1 AND a_b = 'a'": "id = 1, a_b = b has 2",
        "INSERT INTO t VALUES (NULL, 'n', 9)": "id = NULL, a_b = n has 2 rows",
    }
    for statement in good:
        lab.sql(statement)
        assert (lab.refresh("d"), lab.refresh("f")) == ("INCREMENTAL", "FULL"), statement
    for statement, example in bad.items():
        version = lab.spark.sql("DESCRIBE HISTORY t LIMIT 1").first()[0]
        lab.sql(statement)
        for name in ("d", "f"):
            fails(lab, name, example)
        lab.sql(f"RESTORE TABLE t TO VERSION AS OF {version}")
        lab.sql("INSERT INTO t VALUES (4, 'z', 1); DELETE FROM t WHERE id = 4")
        lab.refresh("d"), lab.refresh("f")
    lab.verified("d", "f")


def test_a_key_that_is_none_from_the_start(lab: Lab) -> None:
    lab.sql("CREATE TABLE t (id INT, v INT) TBLPROPERTIES ('dt.primaryKey' = 'id')")
    lab.insert("t", "1, 1", "1, 2")
    for mode in ("INCREMENTAL", "FULL"):
        with refused("DT-3108") as errors:
            lab.dynamic_table("d", "SELECT v FROM t", f"REFRESH_MODE = {mode}")
        assert "The declared key id of t is not unique: id = 1 has 2 rows" in str(errors[0])
    lab.sql("DELETE FROM t WHERE v = 2")
    lab.dynamic_table("d", "SELECT v FROM t")
    assert lab.mode("d") == "INCREMENTAL"


def test_a_key_that_is_declared_later(lab: Lab) -> None:
    lab.table("t", "id INT, v INT", "1, 1", "1, 2")
    lab.dynamic_table("d", "SELECT v FROM t")
    lab.sql("ALTER TABLE t SET TBLPROPERTIES ('dt.primaryKey' = 'id')")
    fails(lab, "d", "id = 1 has 2 rows")
    lab.sql("DELETE FROM t WHERE v = 2")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.sql("ALTER TABLE t SET TBLPROPERTIES ('dt.primaryKey' = 'v')")
    assert lab.refresh("d") == "NO_DATA"
    lab.sql("INSERT INTO t VALUES (7, 1)")
    fails(lab, "d", "v = 1 has 2 rows")
    lab.sql("ALTER TABLE t UNSET TBLPROPERTIES ('dt.primaryKey')")
    assert lab.refresh("d") == "INCREMENTAL"
