"""A schema that is dropped with all that it holds, and brought back with it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dt_jupyter.engine import dropped_schemas
from tests.spark.engine_lab import Lab, refused


@pytest.fixture
def shop(quick_lab: Lab) -> Iterator[Lab]:
    lab = quick_lab
    folder = lab.context.layout.tables / "a.db" / "src"
    lab.sql(
        f"CREATE SCHEMA a; CREATE TABLE a.src (g INT, v INT) USING delta LOCATION '{folder}';"
        "INSERT INTO a.src VALUES (1, 1), (2, 5);"
        "CREATE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 1;"
        "CREATE VIEW a.bigger AS SELECT g FROM a.big WHERE v > 2;"
        "CREATE DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS"
        "  SELECT g, sum(v) AS s FROM a.src GROUP BY g;"
        "CREATE STREAM a.changes ON TABLE a.src;"
        "CREATE DYNAMIC TABLE outside TARGET_LAG = '1 hour' AS SELECT g, s FROM a.sums;"
        "INSERT INTO a.src VALUES (3, 3)"
    )
    yield lab
    lab.spark.sql("DROP SCHEMA IF EXISTS a CASCADE")


def test_all_that_a_schema_held_is_back(shop: Lab) -> None:
    lab = shop
    lab.sql("DROP SCHEMA a CASCADE")
    assert "a" not in {r[0] for r in lab.spark.sql("SHOW DATABASES").collect()}
    record = lab.record("outside")
    assert (record.error_code, "a.sums" in str(record.error)) == ("DT-2102", True)
    lab.reopen()
    lab.sql("UNDROP SCHEMA a")
    assert lab.rows("a.bigger") == [(2,), (3,)]
    assert lab.rows("a.sums") == [(1, 1), (2, 5)]
    assert len(lab.sql("SELECT * FROM a.changes")) == 1  # where it stood
    lab.sql("INSERT INTO a.src VALUES (1, 4)")
    assert lab.refresh("outside") == "INCREMENTAL"
    assert lab.engine.records("a.sums")[0].action == "INCREMENTAL"
    lab.verified("outside", "a.sums")
    with refused("DT-1118"):
        lab.sql("UNDROP SCHEMA a")
    lab.reopen()
    assert lab.rows("a.bigger") == [(1,), (2,), (3,)]
    lab.sql("DROP SCHEMA a CASCADE; CREATE SCHEMA a; DROP SCHEMA a CASCADE; UNDROP SCHEMA a")
    assert lab.spark.sql("SHOW TABLES IN a").count() == 0  # the last one of that name
    lab.spark.sql("DROP SCHEMA a CASCADE")
    lab.sql("UNDROP SCHEMA a")
    lab.verified("a.sums")
    with refused("DT-1118") as found:
        lab.sql("UNDROP SCHEMA nowhere")
    assert "no schema of that name" in str(found[0])
    lab.sql("DROP SCHEMA a CASCADE")


@pytest.mark.nightly
def test_one_that_cannot_be_dropped_or_restored_stays_as_it_is(
    shop: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = shop
    with pytest.raises(Exception, match=r"SCHEMA_NOT_EMPTY|not empty"):
        lab.sql("DROP SCHEMA a")

    def fail(*given: object) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(dropped_schemas, "write_durable", fail)
        with pytest.raises(Exception, match="no space"):
            lab.sql("DROP SCHEMA a CASCADE")
    assert lab.rows("a.src") == [(1, 1), (2, 5), (3, 3)]
    assert lab.refresh("a.sums") == "INCREMENTAL"
    lab.sql("DROP SCHEMA a CASCADE")
    with monkeypatch.context() as patched:
        patched.setattr(dropped_schemas, "_stream", fail)
        with pytest.raises(Exception, match="no space"):
            lab.sql("UNDROP SCHEMA a")
    assert "a" not in {r[0] for r in lab.spark.sql("SHOW DATABASES").collect()}
    (lab.context.layout.dropped_schemas / "x.json").write_text("{")
    lab.sql("UNDROP SCHEMA a")
    lab.verified("a.sums")
    lab.sql("DROP SCHEMA a CASCADE")
