"""A schema's tables, views, dynamic tables and streams cloned as one unit."""

from __future__ import annotations

import pytest

from dt_jupyter.engine import clone_schema as cloning
from dt_jupyter.model import Name
from tests.spark.engine_lab import Lab, refused

DYNAMIC = ("sums", "top", "joined")


def actions(lab: Lab, schema: str) -> dict[str, str]:
    return {name: lab.refresh(f"{schema}.{name}") for name in DYNAMIC}


@pytest.fixture
def shop(quick_lab: Lab) -> Lab:
    """Schema a: a table, a view on it, and dynamic tables on both, on each other and on a table
    outside, by names with and without the schema; b.src has moved on since."""
    lab = quick_lab
    lab.table("dim", "g INT, label STRING", "1, 'one'", "2, 'two'")
    lab.sql(
        "CREATE SCHEMA a; CREATE TABLE a.src (g INT, v INT); CREATE TABLE a.other (g INT);"
        "INSERT INTO a.src VALUES (1, 1), (1, 1), (2, 5), (NULL, 2);"
        "CREATE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 1;"
        "CREATE DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS "
        "  SELECT g, sum(v) AS s, count(*) AS n FROM a.src GROUP BY g;"
        "USE a; CREATE DYNAMIC TABLE top TARGET_LAG = '1 hour' AS "
        "  SELECT g, s FROM sums WHERE s > 1;"
        "CREATE DYNAMIC TABLE joined TARGET_LAG = '1 hour' AS "
        "  SELECT b.g, b.v, d.label FROM big b JOIN default.dim d ON b.g = d.g;"
        "CREATE STREAM changes ON TABLE src; USE default"
    )
    lab.sql("DELETE FROM a.src WHERE v = 2; INSERT INTO a.src VALUES (2, 7)")
    assert actions(lab, "a") == dict.fromkeys(DYNAMIC, "INCREMENTAL")
    return lab


def close(lab: Lab) -> None:
    for schema in ("a", "b", "c"):
        lab.spark.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")


@pytest.mark.nightly
def test_a_schema_is_cloned_with_what_reads_within_it(shop: Lab) -> None:
    lab = shop
    lab.sql("CREATE SCHEMA b CLONE a")
    for name in (*DYNAMIC, "src", "big"):
        assert lab.rows(f"b.{name}") == lab.rows(f"a.{name}")
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "NO_DATA")
    assert lab.engine.table("b.top").upstream == (Name("b", "sums"),)
    assert "b.src" in lab.engine.table("b.sums").definition.query
    lab.sql("INSERT INTO a.src VALUES (9, 9)")  # not read by b
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "NO_DATA")
    lab.sql("DELETE FROM b.src WHERE g = 1; INSERT INTO b.src VALUES (2, 1), (3, 3)")
    lab.insert("dim", "3, 'three'")
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "INCREMENTAL")
    assert len(lab.sql("SELECT * FROM b.changes")) == 4
    # a stands behind its tables now: the clone holds both states, and follows by the change
    lab.sql("CREATE SCHEMA c CLONE a")
    assert actions(lab, "c") == dict.fromkeys(DYNAMIC, "INCREMENTAL")
    lab.verified(*(f"{s}.{n}" for s in "bc" for n in DYNAMIC))
    lab.reopen()
    lab.sql("INSERT INTO b.src VALUES (5, 5)")
    assert lab.refresh("b.top") == "INCREMENTAL"
    lab.verified("b.top")
    close(lab)


@pytest.mark.nightly
def test_a_schema_that_cannot_be_cloned_leaves_nothing(
    shop: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = shop
    files, names = lab.files(), lab.names()[0]

    def nothing_is_left() -> bool:
        known = {r[0] for r in lab.spark.sql("SHOW DATABASES").collect()}
        folder = lab.context.layout.tables / "b.db"
        return (
            (lab.files(), lab.names()[0]) == (files, names)
            and "b" not in known
            and not (folder.exists() and any(folder.iterdir()))
        )

    def fail(*given: object) -> None:
        raise OSError(28, "no space left on device")

    for step in ("_view", "_stream", "_moved_contents"):
        with monkeypatch.context() as patched:
            patched.setattr(cloning.SchemaCloner, step, fail)
            with pytest.raises(Exception, match="no space"):
                lab.sql("CREATE SCHEMA b CLONE a")
        assert nothing_is_left(), step
    with refused("DT-1136"):
        lab.sql("CREATE SCHEMA b CLONE nowhere")
    with refused("DT-1105"):
        lab.sql("CREATE SCHEMA default CLONE a")
    lab.sql("CREATE SCHEMA IF NOT EXISTS default CLONE a")
    lab.sql("CREATE DYNAMIC TABLE a.named AS SELECT a.src.g FROM a.src")
    with refused("DT-1135") as found:
        lab.sql("CREATE SCHEMA b CLONE a")
    assert "a.src.g" in str(found[0])
    lab.sql("DROP DYNAMIC TABLE a.named; CREATE TABLE a.csv (g INT) USING csv")
    with refused("DT-1135") as found:
        lab.sql("CREATE SCHEMA b CLONE a")
    assert "a.csv" in str(found[0])
    assert "b" not in {r[0] for r in lab.spark.sql("SHOW DATABASES").collect()}
    close(lab)
