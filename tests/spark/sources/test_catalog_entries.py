"""When a lake is opened its names are made known to the session in one call, and are what
statements would have made of them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from dt_jupyter.model import Name
from dt_jupyter.sources import view_registry
from dt_jupyter.spark import TableEntry, ViewEntry, add_entries, list_relations
from tests.spark.engine_lab import Lab

TABLES = {
    "first": "(id INT, v INT) USING delta",
    "plain": "(id INT, v INT) USING delta",
    "parted": "(id INT, v INT) USING delta PARTITIONED BY (v)",
    "clustered": "(id INT, v INT) USING delta CLUSTER BY (id)",
    "told": "(id INT COMMENT 'which', v INT) USING delta COMMENT 'all of them'",
    "tuned": "(id INT, v INT) USING delta TBLPROPERTIES ('delta.appendOnly' = 'true', 'x' = 'y')",
    "mapped": "(`an id` INT, v INT) USING delta "
    "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "lengths": "(id INT, v VARCHAR(5), c CHAR(2)) USING delta",
    "nested": "(id INT NOT NULL, s STRUCT<a: INT, b: ARRAY<STRUCT<c: DATE>>>, m MAP<STRING, INT>) "
    "USING delta",
    "there.plain": "(id INT, v INT) USING delta",
}
DYNAMIC = {
    "dt_first": "SELECT id, v FROM plain",
    "dt_plain": "SELECT id, v FROM plain",
    "dt_sums": "SELECT v, sum(id) AS s, count(*) AS `n of` FROM plain GROUP BY v",
    "dt_types": "SELECT id, s, m, s.b AS b, CAST(id AS DECIMAL(9, 2)) AS d FROM nested",
    "dt_lengths": "SELECT id, v, c FROM lengths",
    "dt_told (id COMMENT 'which ''one''', v)": "SELECT id, v FROM told",
    "there.dt_other": "SELECT id FROM there.plain",
    "`order`": "SELECT id AS `select` FROM plain",
}


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> list[Name]:
    """What was made known in one call."""
    names: list[Name] = []

    def spy(*args: Any) -> frozenset[Name]:
        found = add_entries(*args)
        names.extend(found)
        return found

    monkeypatch.setattr(view_registry, "add_entries", spy)
    return names


def none_added(spark: Any, pattern: Name, entries: Sequence[Any]) -> frozenset[Name]:
    return frozenset()


def forget_all(lab: Lab) -> None:
    lab.engine.close()
    catalog = lab.spark._jsparkSession.sessionState().catalog()
    for name in list_relations(lab.spark):
        catalog.dropTable(identifier(lab, name), True, False)
    lab.spark.sql("DROP SCHEMA IF EXISTS there")
    lab.reopen()


def identifier(lab: Lab, name: Name) -> Any:
    jvm: Any = lab.spark._jvm
    option = jvm.scala.Option.apply(name.schema)
    return jvm.org.apache.spark.sql.catalyst.TableIdentifier(name.table, option)


def known(lab: Lab) -> dict[str, dict[str, str]]:
    """All that the session's catalog holds of each name, but the moment at which it was told."""
    catalog = lab.spark._jsparkSession.sessionState().catalog()
    found = {}
    for name in list_relations(lab.spark):
        table = catalog.getTableMetadata(identifier(lab, name))
        facts = {
            table.productElementName(i): str(table.productElement(i))
            for i in range(table.productArity())
        }
        del facts["createTime"]
        facts["schema"] = table.schema().json()
        facts["properties"] = "\n".join(sorted(facts["properties"][8:-1].split(", ")))
        found[str(name)] = facts
    return found


def fill(lab: Lab) -> None:
    lab.spark.sql("CREATE SCHEMA IF NOT EXISTS there")
    for name, columns in TABLES.items():
        folder = lab.context.layout.tables / name
        lab.sql(f"CREATE TABLE {name} {columns} LOCATION '{folder}'")
    lab.sql(f"CREATE TABLE odd (id INT) USING delta LOCATION '{lab.folder}/o %20 é+'")
    lab.sql("INSERT INTO odd VALUES (7)")
    lab.sql("INSERT INTO plain VALUES (1, 2), (3, 4)")
    lab.sql("INSERT INTO there.plain VALUES (5, 6)")
    for name, query in DYNAMIC.items():
        words = "COMMENT 'it''s told'" if "told" in name else ""
        lab.sql(f"CREATE DYNAMIC TABLE {name} TARGET_LAG = '1 hour' {words} AS {query}")
    lab.sql("CREATE VIEW by_user AS SELECT v FROM dt_plain")


def test_each_name_is_what_a_statement_makes_of_it(
    quick_lab: Lab, added: list[Name], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = quick_lab
    fill(lab)
    with monkeypatch.context() as patched:
        patched.setattr(view_registry, "add_entries", none_added)
        forget_all(lab)
        by_statements = known(lab)
    added.clear()
    forget_all(lab)
    assert known(lab) == by_statements
    left = {*by_statements} - {str(name) for name in added}
    # the first of each kind, a column of another name in the files, and what is the user's
    assert len(left & {*TABLES, "odd"}) == 1
    assert left - {*TABLES, "odd"} == {"dt_first", "dt_sums", "by_user"}
    assert lab.rows("dt_plain") == [(1, 2), (3, 4)]
    assert lab.rows("by_user") == [(2,), (4,)]
    assert lab.rows("odd") == [(7,)]
    assert lab.spark.table("there.dt_other").collect()[0][0] == 5
    lab.insert("plain", "5, 6")
    assert lab.refresh("dt_sums") == "INCREMENTAL"
    lab.verified("dt_sums", "dt_plain")


@pytest.mark.nightly
def test_an_engine_that_is_opened_again_finds_its_names_there(
    quick_lab: Lab, added: list[Name], monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = quick_lab
    fill(lab)
    forget_all(lab)
    before = known(lab)
    lab.engine.close()
    added.clear()
    lab.spark.sql("CREATE OR REPLACE VIEW dt_plain AS SELECT 1 AS other")
    lab.engine = type(lab).open(lab.spark, lab.folder).engine
    assert known(lab) == before
    assert Name("default", "parted") in added
    assert Name("default", "dt_types") in added
    assert lab.rows("dt_plain") == [(1, 2), (3, 4)]


def test_what_cannot_be_known_as_it_is_is_left_to_a_statement(
    quick_lab: Lab, added: list[Name]
) -> None:
    lab = quick_lab
    fill(lab)
    layout = lab.context.layout
    broken = layout.public(lab.engine.table("dt_types").id) / "_delta_log"
    sorted(broken.glob("*.json"))[-1].write_text('{"add')
    shutil.rmtree(layout.tables / "tuned" / "_delta_log")
    lab.dynamic_table("later", "SELECT id FROM plain", "INITIALIZE = ON_SCHEDULE")
    forget_all(lab)
    told = {q.name for q in lab.context.catalog.quarantine.all()}
    assert "dt_types" in told
    with pytest.raises(Exception, match="DT-5112"):
        lab.spark.table("dt_types").collect()
    with pytest.raises(Exception, match="DT-2101"):
        lab.spark.table("later").collect()
    assert {Name("default", n) for n in ("dt_types", "later", "tuned")}.isdisjoint(added)
    assert lab.rows("dt_plain") == [(1, 2), (3, 4)]
    lab.sql("ALTER DYNAMIC TABLE dt_types REFRESH")
    lab.verified("dt_types")


def test_a_table_that_is_dropped_later_keeps_what_undrop_needs(quick_lab: Lab) -> None:
    lab = quick_lab
    fill(lab)
    forget_all(lab)
    lab.sql("INSERT INTO parted VALUES (1, 2)")
    lab.sql("DROP TABLE parted")
    lab.sql("UNDROP TABLE parted")
    assert lab.rows("parted") == [(1, 2)]
    lab.spark.sql("DROP TABLE first")  # by Spark: the entry goes, and no file
    assert (lab.context.layout.tables / "first" / "_delta_log").is_dir()


@pytest.mark.parametrize(
    "entry",
    [
        lambda place: TableEntry(Name("default", "by_view"), place),
        lambda place: ViewEntry(Name("nowhere", "v"), [], "SELECT 1"),
        lambda place: ViewEntry(Name("default", "plain"), [], "SELECT 1"),
        lambda place: ViewEntry(Name("default", "here"), [], "SELECT 1"),
        lambda place: ViewEntry(Name("default", "not a word"), [], "SELECT 1"),
    ],
    ids=["of another kind", "no such schema", "a table's name", "a temporary view's", "refused"],
)
def test_an_entry_that_may_not_be_is_none(
    quick_lab: Lab, entry: Callable[[str], TableEntry | ViewEntry]
) -> None:
    lab = quick_lab
    lab.table("plain", "id INT", "1")
    lab.dynamic_table("dt", "SELECT id FROM plain")
    lab.spark.sql("CREATE TEMPORARY VIEW here AS SELECT 2 AS mine")
    before = known(lab)
    made: Any = [entry(str(lab.folder))]
    assert add_entries(lab.spark, Name("default", "dt"), made) == frozenset()
    assert add_entries(lab.spark, Name("default", "nothing"), made) == frozenset()
    assert known(lab) == before
    lab.spark.sql("DROP VIEW here")
