"""ALTER SCHEMA … RENAME TO and SWAP WITH: what a schema holds goes along, as one unit."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import Name
from tests.spark.engine_lab import Lab, refused

DYNAMIC = ("sums", "top", "joined")
SCHEMAS = ("a", "b", "c")


def actions(lab: Lab, schema: str) -> dict[str, str]:
    return {name: lab.refresh(f"{schema}.{name}") for name in DYNAMIC}


def schemas(lab: Lab) -> set[str]:
    return {r[0] for r in lab.spark.sql("SHOW DATABASES").collect()}


@pytest.fixture
def shop(quick_lab: Lab) -> Iterator[Lab]:
    """Schema a: a table, views, dynamic tables on both and on a table outside, by names with and
    without the schema, a stream, a task, a pin, grants, and what was dropped; d reads a.sums."""
    lab = quick_lab
    lab.table("dim", "g INT, label STRING", "1, 'one'", "2, 'two'")
    folder = lab.context.layout.tables / "a.db"
    lab.sql(
        f"CREATE SCHEMA a LOCATION '{folder}'; CREATE TABLE a.src (g INT, v INT);"
        "CREATE TABLE a.gone (id INT); INSERT INTO a.gone VALUES (7);"
        "INSERT INTO a.src VALUES (1, 1), (1, 1), (2, 5), (NULL, 2);"
        "CREATE VIEW a.big AS SELECT g, v FROM a.src WHERE v > 1;"
        "CREATE VIEW a.bigger AS SELECT g FROM a.big WHERE v > 2;"
        "CREATE DYNAMIC TABLE a.sums TARGET_LAG = '1 hour' AS "
        "  SELECT g, sum(v) AS s, count(*) AS n FROM a.src GROUP BY g;"
        "USE a; CREATE DYNAMIC TABLE top TARGET_LAG = '1 hour' AS "
        "  SELECT g, s FROM sums WHERE s > 1;"
        "CREATE DYNAMIC TABLE joined TARGET_LAG = '1 hour' AS "
        "  SELECT b.g, b.v, d.label FROM big b JOIN default.dim d ON b.g = d.g;"
        "CREATE DYNAMIC TABLE old TARGET_LAG = '1 hour' AS SELECT g FROM src;"
        "DROP DYNAMIC TABLE old; CREATE STREAM changes ON TABLE src; USE default;"
        "CREATE TABLE a.log (g INT, v INT);"
        "CREATE TASK a.t SCHEDULE = '60 minutes' WHEN SYSTEM$STREAM_HAS_DATA('a.changes')"
        "  AS INSERT INTO a.log SELECT g, v FROM a.changes;"
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 hour' AS SELECT g, s FROM a.sums;"
        "CREATE ROLE r; GRANT SELECT ON TABLE a.src TO ROLE r; GRANT SELECT ON SCHEMA a TO ROLE r;"
        "DROP TABLE a.gone; INSERT INTO a.src VALUES (2, 7)"
    )
    lab.engine.pin("kept", "a.sums")
    actions(lab, "a")
    yield lab
    for schema in SCHEMAS:
        lab.spark.sql(f"DROP DATABASE IF EXISTS {schema} CASCADE")


def no_space() -> None:
    raise OSError(28, "no space left on device")


def grants(lab: Lab) -> set[str]:
    return {str(g.on) for g in lab.context.access.book.grants}


def nothing_is_renamed_that_cannot_be(lab: Lab) -> None:
    for statement, code in (
        ("ALTER SCHEMA default RENAME TO b", "DT-1151"),
        ("ALTER SCHEMA a SWAP WITH default", "DT-1151"),
        ("ALTER SCHEMA nowhere RENAME TO b", "DT-1136"),
        ("ALTER SCHEMA a RENAME TO default", "DT-1105"),
        ("ALTER SCHEMA a RENAME TO `x y`", "DT-1119"),
        ("BEGIN; ALTER SCHEMA a RENAME TO b", "DT-3207"),
    ):
        with refused(code):
            lab.sql(statement)
        lab.context.transactions.rollback() if code == "DT-3207" else None
    lab.sql("CREATE DYNAMIC TABLE a.named AS SELECT a.src.g FROM a.src")
    with refused("DT-1150") as found:
        lab.sql("ALTER SCHEMA a RENAME TO b")
    assert "a.src.g" in str(found[0])
    lab.sql("DROP DYNAMIC TABLE a.named; CREATE ROLE plain; USE ROLE plain")
    with refused("DT-5201"):
        lab.sql("ALTER SCHEMA a RENAME TO b")
    lab.sql("USE ROLE admin")
    with (
        hooked("schemas_checked", no_space),
        pytest.raises(Exception, match="no space"),
    ):
        lab.sql("ALTER SCHEMA a RENAME TO b")
    assert actions(lab, "a") == dict.fromkeys(DYNAMIC, "NO_DATA")
    assert "b" not in schemas(lab)


def test_all_that_a_schema_holds_has_its_new_name(shop: Lab) -> None:
    lab = shop
    nothing_is_renamed_that_cannot_be(lab)
    lab.sql("ALTER SCHEMA a RENAME TO b")
    assert ("a" in schemas(lab), "b" in schemas(lab)) == (False, True)
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "NO_DATA")
    assert "b.src" in lab.engine.table("b.sums").definition.query
    assert lab.engine.table("b.top").upstream == (Name("b", "sums"),)
    assert lab.record("d").error_code == "DT-2102"  # its text names a.sums
    assert grants(lab) >= {"b.src", "b"}
    assert not grants(lab) & {"a.src", "a"}
    assert [h.subject for h in lab.context.catalog.holds()] == ["b.sums"]
    assert lab.rows("b.bigger") == [(2,), (2,)]
    assert len(lab.sql("SELECT * FROM b.changes")) == 1
    lab.sql("EXECUTE TASK b.t")
    task = lab.context.catalog.task(Name("b", "t"))
    assert (task.body, task.condition) == (
        "INSERT INTO b.log SELECT g, v FROM b.changes",
        "SYSTEM$STREAM_HAS_DATA('b.changes')",
    )
    lab.reopen()
    lab.sql("UNDROP TABLE b.gone; UNDROP DYNAMIC TABLE b.old; INSERT INTO b.src VALUES (1, 9)")
    assert lab.rows("b.gone") == [(7,)]
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "INCREMENTAL")
    assert lab.refresh("b.old") == "INCREMENTAL"
    lab.verified(*(f"b.{n}" for n in DYNAMIC))
    assert len(lab.sql("SELECT * FROM b.sums AT (OFFSET => -0)")) == 3
    # the name is free, and another schema of it has nothing to do with this one
    lab.sql("CREATE SCHEMA a; CREATE TABLE a.src (x STRING); DROP SCHEMA a CASCADE")
    assert len(lab.rows("b.src")) == 6
    lab.sql("ALTER SCHEMA b RENAME TO a")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")


@pytest.mark.nightly
def test_two_schemas_swap_all_that_they_hold(shop: Lab) -> None:
    lab = shop
    lab.sql("CREATE SCHEMA b CLONE a; INSERT INTO b.src VALUES (5, 50); USE b")
    actions(lab, "b")
    lab.sql("CREATE TABLE b.files (g INT, v STRING) USING csv OPTIONS (header 'true')")
    lab.sql("INSERT INTO b.files VALUES (1, 'x'); USE default")
    for times in range(3):
        lab.sql("ALTER SCHEMA a SWAP WITH b")
        mine, other = "ab" if times % 2 else "ba"
        assert {s: (5, 50) in lab.rows(f"{s}.src") for s in "ab"} == {mine: False, other: True}
        assert lab.rows(f"{other}.files") == [(1, "x")]
        for schema in "ab":
            assert actions(lab, schema) == dict.fromkeys(DYNAMIC, "NO_DATA")
            lab.verified(*(f"{schema}.{n}" for n in DYNAMIC))
    assert lab.refresh("d") == "REINITIALIZE"  # as where its source was swapped alone
    lab.verified("d")
    lab.sql("DROP TABLE a.files")
    lab.reopen()
    lab.sql("DROP SCHEMA b CASCADE")  # of which Spark deletes the folder
    assert actions(lab, "a") == dict.fromkeys(DYNAMIC, "NO_DATA")
    lab.sql("CREATE SCHEMA b CLONE a; INSERT INTO a.src VALUES (8, 8); UNDROP TABLE b.gone")
    assert actions(lab, "a") == dict.fromkeys(DYNAMIC, "INCREMENTAL")
    lab.verified("a.sums", "b.sums")


@pytest.mark.nightly
@pytest.mark.parametrize("point", ["schemas_renamed", "label_moved", "schemas_known"])
def test_a_session_that_never_learnt_the_new_names_has_them_when_it_opens(
    shop: Lab, point: str
) -> None:
    lab = shop
    with hooked(point, no_space), pytest.raises(Exception, match="no space"):
        lab.sql("ALTER SCHEMA a RENAME TO b")
    lab.reopen()
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "NO_DATA")
    lab.sql("UNDROP TABLE b.gone; INSERT INTO b.src VALUES (3, 3)")
    assert actions(lab, "b") == dict.fromkeys(DYNAMIC, "INCREMENTAL")
    lab.verified(*(f"b.{n}" for n in DYNAMIC))
