"""Each type that a column of a source may have: delivered as Spark reads it, or refused by name."""

from __future__ import annotations

import json

import pytest

from tests.spark.engine_lab import refused
from tests.spark.sinks.shop import Shop

COLUMNS = {
    "c": ("CHAR(5)", "'ab'"),
    "v": ("VARCHAR(5)", "'ab'"),
    "s": ("STRUCT<c: CHAR(3), v: VARCHAR(3)>", "named_struct('c', 'x', 'v', 'y')"),
    "a": ("ARRAY<VARCHAR(3)>", "array('z', NULL)"),
    "m": ("MAP<STRING, VARCHAR(3)>", "map('k', 'w')"),
    "t": ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ'2026-03-29 02:30:00.123456'"),
    "d": ("DECIMAL(38, 0)", "99999999999999999999999999999999999999"),
    "z": ("DOUBLE", "-0.0D"),
}


def test_a_column_of_any_type_is_what_spark_reads(shop: Shop) -> None:
    """The first rows, a few changes read in this process, and all rows that Spark reads."""
    typed = ", ".join(f"{name} {type_}" for name, (type_, _) in COLUMNS.items())
    given = {name: value for name, (_, value) in COLUMNS.items() if value}
    insert = f"INSERT INTO typed (id, {', '.join(given)}) SELECT {{}}, {', '.join(given.values())}"
    shop.sql(f"CREATE TABLE typed (id INT, {typed}) USING DELTA; {insert.format(1)}")
    shop.create(source="TABLE typed")
    shop.sql(f"{insert.format(2)}; UPDATE typed SET c = 'q', v = 'q' WHERE id = 1")
    assert shop.deliver()[0] == "INCREMENTAL"
    expected = shop.sql(
        "SELECT id, c, v, to_json(s, map('ignoreNullFields', 'false')), "
        "CAST(t AS STRING), CAST(d AS STRING) FROM typed ORDER BY id"
    )
    names = ["id", *COLUMNS]
    rows = [dict(zip(names, row, strict=True)) for row in shop.stored("typed")]
    found = [
        (r["id"], r["c"], r["v"], json.dumps(json.loads(r["s"]), separators=(",", ":")),
         r["t"].replace("T", " "), r["d"])
        for r in rows
    ]  # fmt: skip
    assert found == expected
    assert [(r["a"], r["m"]) for r in rows] == [('["z", null]', '[["k", "w"]]')] * 2
    assert [repr(r["z"]) for r in rows] == ["-0.0"] * 2


@pytest.mark.parametrize(
    ("type_", "value", "code", "word"),
    [
        ("VARIANT", "parse_json('1')", "DT-6132", "Column x of type variant"),
        ("STRUCT<v: VARIANT>", "named_struct('v', parse_json('1'))", "DT-6132", "Column x of type"),
    ],
)
def test_a_type_that_no_store_has_is_refused_by_the_columns_name(
    shop: Shop, type_: str, value: str, code: str, word: str
) -> None:
    shop.sql(f"CREATE TABLE odd (id INT, x {type_}) USING DELTA; INSERT INTO odd SELECT 1, {value}")
    with refused(code) as found:
        shop.create(source="TABLE odd")
    assert word in found[0].sentence
    assert not shop.file.exists()
