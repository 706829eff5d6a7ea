"""Columns whose names need column mapping, in tables that get other columns."""

from __future__ import annotations

import pytest

from dt_jupyter.lake import open_log
from tests.cases import some
from tests.spark.engine_lab import Lab, without_check

ODD = "a b, (c)=d;`e"
QUOTED = "`" + ODD.replace("`", "``") + "`"


@pytest.fixture
def lab(quick_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Lab:
    without_check(monkeypatch)
    mapped = (
        "TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableTypeWidening' = true)"
    )
    quick_lab.sql(f"CREATE TABLE t (k INT, p INT, {QUOTED} INT) USING delta {mapped}")
    quick_lab.insert("t", "1, 10, 100", "1, 20, 200", "2, 30, 300")
    return quick_lab


def alter(lab: Lab, name: str, query: str, options: str = "") -> None:
    lab.sql(f"CREATE OR ALTER DYNAMIC TABLE {name} TARGET_LAG = '1 hour' {options} AS {query}")


def goes_on(lab: Lab, name: str, query: str, mode: str) -> None:
    """The table has the columns and rows of its query now, and after one more change."""
    lab.sql("INSERT INTO t VALUES (1, 5, 50), (3, 6, 60)")
    assert lab.refresh(name) == mode
    kept, wanted = lab.spark.table(name), lab.spark.sql(query)
    assert kept.dtypes == wanted.dtypes
    assert sorted(map(tuple, kept.collect())) == sorted(map(tuple, wanted.collect()))
    assert has_feed(lab, name)


def has_feed(lab: Lab, name: str) -> bool:
    return open_log(lab.context.layout.public(lab.engine.table(name).id)).metadata().feed


DEFINITIONS = [
    "SELECT k, sum(p) FROM t GROUP BY k",
    "SELECT k, sum(p), count(p) FROM t GROUP BY k",
    f"SELECT k, max({QUOTED}), count(p) AS `count(p)` FROM t GROUP BY k",
    "SELECT k, CAST(sum(p) AS DECIMAL(20,2)) AS `sum(p)` FROM t GROUP BY k",
    f"SELECT * EXCEPT (p), p AS `P q` FROM t WHERE {QUOTED} > 50",
    "SELECT k, named_struct('a b', p) AS s FROM t",
    "SELECT k, p FROM t",
]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("mode", "queries"),
    some(
        1, [("INCREMENTAL", DEFINITIONS[2:5]), ("INCREMENTAL", DEFINITIONS), ("FULL", DEFINITIONS)]
    ),
)
def test_a_definition_gets_other_columns(lab: Lab, mode: str, queries: list[str]) -> None:
    for query in queries:
        alter(lab, "d", query, f"REFRESH_MODE = {mode}")
        goes_on(lab, "d", query, mode)


@pytest.mark.nightly
def test_a_source_gets_other_columns_and_readers_go_on(lab: Lab) -> None:
    texts = {"star": "SELECT * FROM t", "sums": "SELECT k, sum(p) FROM t GROUP BY k"}
    for name, text in texts.items():
        lab.dynamic_table(name, text)
        lab.dynamic_table(f"above_{name}", f"SELECT * FROM {name}")
    lab.dynamic_table("keys", "SELECT k FROM star")
    for change in (
        "ALTER COLUMN p TYPE BIGINT",
        f"RENAME COLUMN {QUOTED} TO `e f`",
        "ADD COLUMN `x (y)` INT",
        "DROP COLUMN `e f`",
    ):
        lab.sql("CREATE OR REPLACE STREAM s ON DYNAMIC TABLE sums")
        lab.sql(f"ALTER TABLE t {change}; INSERT INTO t (k, p) VALUES (4, 7)")
        action = "INCREMENTAL" if change.startswith("ADD") else "REINITIALIZE"
        assert lab.refresh("above_star") == action, change
        assert lab.refresh("above_sums") == "INCREMENTAL", change
        assert lab.refresh("keys") == "INCREMENTAL", change
        for name, text in texts.items():
            assert lab.spark.table(name).dtypes == lab.spark.sql(text).dtypes
            assert has_feed(lab, name)
        lab.verified("star", "above_star", "sums", "above_sums", "keys")
        assert lab.sql("SELECT k, `$ACTION` FROM s WHERE k = 4 AND `$ACTION` = 'INSERT'")


@pytest.mark.nightly
def test_names_are_kept_by_copies_and_returns(lab: Lab) -> None:
    query = "SELECT k, sum(p) FROM t GROUP BY k"
    lab.dynamic_table("d", query)
    lab.sql("CREATE DYNAMIC TABLE c CLONE d; DROP DYNAMIC TABLE d; UNDROP DYNAMIC TABLE d")
    for name in ("c", "d"):
        wanted = "SELECT k, max(p) FROM t GROUP BY k"
        alter(lab, name, wanted)
        goes_on(lab, name, wanted, "INCREMENTAL")
    alter(lab, "c", query)
    lab.sql("ALTER DYNAMIC TABLE c SWAP WITH d")
    goes_on(lab, "d", query, "INCREMENTAL")
    assert lab.engine.refresh("d", full=True).action == "REINITIALIZE"
    lab.verified("d")
