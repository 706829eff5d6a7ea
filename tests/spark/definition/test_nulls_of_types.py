"""Every type that Delta stores, with NULL in each place that may have one, used and not used."""

from __future__ import annotations

import pytest

from tests.spark.engine_lab import Lab, refused

VALUES = {
    "BOOLEAN": "true",
    "TINYINT": "1",
    "SMALLINT": "2",
    "BIGINT": "3",
    "FLOAT": "1.5",
    "DOUBLE": "2.5",
    "DECIMAL(38,10)": "3.5",
    "STRING": "'a'",
    "VARCHAR(3)": "'b'",
    "CHAR(3)": "'ccc'",
    "BINARY": "X'01'",
    "DATE": "DATE'2020-02-28'",
    "TIMESTAMP": "TIMESTAMP'2020-02-28 12:00:00'",
    "TIMESTAMP_NTZ": "TIMESTAMP_NTZ'2020-02-28 12:00:00'",
    "VARIANT": """parse_json('{"a": 1}')""",
}
NESTED = "STRUCT<x: {t}, y: STRUCT<z: {t}>, a: ARRAY<{t}>, m: MAP<STRING, {t}>>"
NESTED_VALUE = (
    "named_struct('x', {v}, 'y', NULL, 'a', array({v}, NULL), 'm', map('k', {v}, 'n', NULL))"
)


PLAIN = {f"p{i}": (t, f"CAST({v} AS {t})") for i, (t, v) in enumerate(VALUES.items())}
PARTS = {"n14": (NESTED.format(t="VARIANT"), NESTED_VALUE.format(v=PLAIN["p14"][1]))}
COLUMNS = {**PLAIN, **PARTS}
DDL = ", ".join(f"{c} {kind}" for c, (kind, _) in COLUMNS.items())
FULL_ROW = ", ".join(v for _, v in COLUMNS.values())
NULL_ROW = ", ".join("NULL" for _ in COLUMNS)
ALL = "SELECT * FROM every"
PROVED = "SELECT * EXCEPT (p14, n14) FROM every"
"""Without VARIANT, whose values do not compare."""
FULL = {"empty": ALL, "whole": ALL}
MOVED = {
    "proved": PROVED,
    "unused": "SELECT id FROM every",
    "grouped": "SELECT id % 3 AS g, count(p14) AS n, min(id) AS s FROM every GROUP BY 1",
    "parts": "SELECT id, to_json(p14) AS p, to_json(n14) AS n FROM every",
}


@pytest.mark.nightly
def test_nulls_come_change_and_go(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(f"CREATE TABLE every (id INT, {DDL}) USING delta")
    lab.dynamic_table("empty", ALL)
    lab.sql(f"INSERT INTO every VALUES (1, {NULL_ROW})")
    lab.dynamic_table("unused", MOVED["unused"])
    lab.sql(f"INSERT INTO every SELECT 2, {FULL_ROW} UNION ALL SELECT 3, {FULL_ROW}")
    lab.dynamic_table("whole", ALL)
    for name in ("proved", "grouped", "parts"):
        lab.dynamic_table(name, MOVED[name])
    for name in MOVED:
        assert lab.mode(name) == "INCREMENTAL", lab.why(name)
    assert {lab.why(name) for name in FULL} == {"TYPE"}
    lab.sql("CREATE STREAM seen ON TABLE every")
    lab.sql(f"INSERT INTO every SELECT 4, {FULL_ROW} UNION ALL SELECT 5, {NULL_ROW}")
    values = ", ".join(f"{c} = {value}" for c, (_, value) in COLUMNS.items())
    nulls = ", ".join(f"{c} = NULL" for c in COLUMNS)
    lab.sql(f"UPDATE every SET {values} WHERE id = 1; UPDATE every SET {nulls} WHERE id = 3")
    lab.sql("DELETE FROM every WHERE id = 2")
    for name in (*FULL, *MOVED):
        assert lab.refresh(name) == ("FULL" if name in FULL else "INCREMENTAL"), name
    lab.verified(*MOVED)
    for name in FULL:
        shown = "to_json(struct(* EXCEPT (p10, n14))), hex(p10), to_json(n14)"
        assert sorted(lab.sql(f"SELECT {shown} FROM {name}")) == sorted(
            lab.sql(f"SELECT {shown} FROM every")
        )
    asked = "SELECT * FROM parts CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1)"
    assert {r[0] for r in lab.sql(asked)} >= {4, 5}
    for relation in ("seen", "whole CHANGES (INFORMATION => DEFAULT) AT (VERSION => 1)"):
        with refused("DT-3102"):
            lab.sql(f"SELECT * FROM {relation}")
    rows = {r["id"]: r for r in lab.engine.replay("whole").to_arrow().to_pylist()}
    assert rows[5]["p14"] is None
    assert rows[4]["n14"]["a"][1] is None
    assert rows[4]["p14"] == rows[1]["p14"]
