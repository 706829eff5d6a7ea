"""Sums of decimals that have more digits than the state of a group."""

from __future__ import annotations

import pytest

from tests.cases import some
from tests.spark.engine_lab import Lab, without_check

NINES = "9" * 38
SMALL = "'a', 0, 1.5"
LARGE = f"'a', {NINES}, 999999999999999.000000000000000001"
ROWS = (
    f"'b', {NINES}, 123456789012345.123456789012345678",
    f"'b', -{NINES}, -123456789012345.123456789012345678",
    "'c', 7, 0.000000000000000001",
    "'c', NULL, NULL",
    "'d', NULL, NULL",
)
CALLS = "sum(v) AS s, try_avg(v) AS a, sum(f) AS t, avg(f) AS u, count(v) AS n"
TEXTS = {
    "grouped": f"SELECT g, {CALLS} FROM t GROUP BY g",
    "single": "SELECT sum(f) AS t, avg(f) AS u FROM t WHERE g <> 'b' OR f > 0",
    "tried": "SELECT g, try_sum(v) AS s, try_sum(f) AS t, try_avg(v) AS a FROM t GROUP BY g",
    "different": "SELECT g, sum(DISTINCT v) AS s, sum(DISTINCT f) AS t FROM t GROUP BY g",
    "rolled": "SELECT g, sum(f) AS t, avg(f) AS u FROM t GROUP BY ROLLUP (g)",
    "over": "SELECT g, f, sum(f) OVER (PARTITION BY g) AS t FROM t",
    "having": "SELECT g, sum(f) + 1 AS t FROM t GROUP BY g HAVING sum(v) > 5 OR g = 'c'",
}
CHANGES = (
    f"INSERT INTO t VALUES ({SMALL})",
    f"INSERT INTO t VALUES ({LARGE})",
    "INSERT INTO t VALUES ('c', 12, 3.25), ('b', -8, 0.5), ('b', 4, NULL)",
    "UPDATE t SET f = f - 1, v = v - 1 WHERE g = 'a'",
    f"DELETE FROM t WHERE v >= {NINES} - 1 AND g = 'a'",
    "DELETE FROM t WHERE g = 'c'",
)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("ansi", "names"),
    some(
        1, [("true", ("grouped", "tried", "over")), ("true", tuple(TEXTS)), ("false", tuple(TEXTS))]
    ),
)
def test_sums_are_those_of_spark(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch, ansi: str, names: tuple[str, ...]
) -> None:
    lab, texts = quick_lab, {name: TEXTS[name] for name in names}
    without_check(monkeypatch)
    lab.sql(f"SET spark.sql.ansi.enabled = {ansi}")
    lab.table("t", "g STRING, v DECIMAL(38,0), f DECIMAL(38,18)", *ROWS)
    for name, text in texts.items():
        lab.dynamic_table(name, text)
        assert lab.mode(name) == "INCREMENTAL", (name, lab.why(name))
    for change in CHANGES:
        lab.sql(change)
        for name, text in texts.items():
            assert lab.refresh(name) in ("INCREMENTAL", "NO_DATA"), (name, change)
            assert lab.rows(name) == sorted(lab.sql(text), key=repr), (name, change)
    # More than Spark's own sum has: where that fails so does the refresh, and goes on after it.
    lab.sql(f"INSERT INTO t VALUES ('e', {NINES}, 0), ('e', {NINES}, 0)")
    assert lab.refresh("tried") == "INCREMENTAL"
    assert ("e", None) in [r[:2] for r in lab.rows("tried")]
    record = lab.record("grouped")
    if ansi == "false":
        assert (record.error, record.action) == (None, "INCREMENTAL")
        assert lab.rows("grouped") == sorted(lab.sql(TEXTS["grouped"]), key=repr)
    else:
        assert "NUMERIC_VALUE_OUT_OF_RANGE" in str(record.error) or "ARITHMETIC" in str(
            record.error
        )
        assert "REFRESH_MODE" not in str(record.error)
    lab.sql("DELETE FROM t WHERE g = 'e'; INSERT INTO t VALUES ('e', 1, 1)")
    assert lab.refresh("grouped") == "INCREMENTAL"
    lab.verified("grouped")
    if ansi == "false":
        lab.sql("SET spark.sql.ansi.enabled = true")
