"""A schema that plain Spark drops: what the lake has of it is said, and comes back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.spark.engine_lab import Lab, refused


@pytest.fixture
def lab(quick_lab: Lab) -> Iterator[Lab]:
    yield quick_lab
    quick_lab.spark.sql("DROP SCHEMA IF EXISTS sa CASCADE")


@pytest.mark.nightly
def test_a_schema_dropped_with_plain_spark(lab: Lab) -> None:
    lab.sql("CREATE SCHEMA sa; CREATE TABLE sa.item (id INT); INSERT INTO sa.item VALUES (1)")
    lab.table("kept", "id INT", "5")
    lab.sql("CREATE VIEW sa.w AS SELECT id FROM default.kept")
    lab.dynamic_table("sa.d", "SELECT id FROM sa.item")
    lab.dynamic_table("sa.k", "SELECT id FROM default.kept")
    lab.dynamic_table("e", "SELECT id FROM sa.k")
    lab.spark.sql("DROP SCHEMA sa CASCADE")
    for name, kind in (("d", "Dynamic table"), ("w", "View"), ("item", "Table")):
        with refused("DT-4114") as errors:
            lab.sql(f"SELECT * FROM sa.{name}")
        assert f"{kind} sa.{name}" in str(errors[0])
        assert "UNDROP SCHEMA sa" in str(errors[0])
    assert sum("DT-4114" in str(p) for p in lab.engine.status()["problems"]) == 4
    assert {str(n.name) for n in lab.engine.graph().nodes} >= {"sa.d", "sa.k", "e"}
    assert lab.record("sa.d").error_code == "DT-2102"
    lab.insert("kept", "6")
    assert lab.refresh("e") == "INCREMENTAL"
    (said,) = lab.sql("UNDROP SCHEMA sa")
    assert "d, k, w restored" in str(said)
    assert "item" in str(said), "Spark deleted its files"
    assert [lab.rows(f"sa.{n}") for n in ("d", "k", "w")] == [[(1,)], [(5,), (6,)], [(5,), (6,)]]
    with refused("DT-1118"):
        lab.sql("UNDROP SCHEMA sa")
    assert not any("DT-4114" in str(p) for p in lab.engine.status()["problems"])
    lab.insert("kept", "7")
    assert lab.refresh("e") == "INCREMENTAL"
    lab.verified("e", "sa.k")


def test_a_name_dropped_with_plain_spark(lab: Lab) -> None:
    lab.table("item", "id INT", "1")
    lab.dynamic_table("d", "SELECT id FROM item")
    lab.spark.sql("DROP VIEW d")
    with refused("DT-4114"):
        lab.sql("SELECT * FROM d")
    with refused("DT-1101"):
        lab.sql("SELECT * FROM nowhere")
    lab.sql("UNDROP SCHEMA default")
    assert lab.rows("d") == [(1,)]
