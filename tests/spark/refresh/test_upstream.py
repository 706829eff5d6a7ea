"""The whole table of what may happen upstream, and what it means for tables that go on."""

from __future__ import annotations

import pytest

from dt_jupyter.engine.scheduling import EnginePort
from dt_jupyter.model import Reason
from dt_jupyter.schedule import Start
from tests.experiments import SOURCE_CHANGED
from tests.spark.engine_lab import Lab
from tests.upstream_ddl.chapters import CHAPTERS, at_each_change, half
from tests.upstream_ddl.scenes import played, without_schemas
from tests.upstream_ddl.worlds import Chapter

pytestmark = SOURCE_CHANGED
__all__ = ["without_schemas"]


@pytest.mark.nightly
def test_every_kind_of_change_upstream(quick_lab: Lab) -> None:
    problems = played(quick_lab, at_each_change(), between=True, deep=False, restart=False)
    assert not problems, "\n".join(problems)


@pytest.mark.nightly
@pytest.mark.parametrize("between", [True, False], ids=["rows", "no rows"])
@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda c: c.title)
def test_what_happens_upstream(quick_lab: Lab, chapter: Chapter, between: bool) -> None:
    cases = chapter.cases if between else half(chapter, 0)
    problems = played(quick_lab, cases, between=between, deep=True, restart=False)
    assert not problems, "\n".join(problems)


def test_a_view_that_waits_for_a_column_or_a_table_comes_back_with_it(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, v INT", "1, 10")
    lab.sql("ALTER TABLE item SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')")
    lab.table("other", "id INT", "1")
    lab.sql("CREATE VIEW seen AS SELECT id, v FROM item; CREATE VIEW over AS SELECT id FROM other")
    lab.dynamic_table("d", "SELECT id, v + 1 AS w FROM seen")
    lab.dynamic_table("e", "SELECT id FROM over")
    lab.sql("ALTER TABLE item RENAME COLUMN v TO u; ALTER TABLE other RENAME TO another")
    lab.reopen()
    assert {str(q.name) for q in lab.context.catalog.quarantine.all()} == {"seen", "over"}
    for name, code in (("d", "DT-2116"), ("e", "DT-2102")):
        assert lab.record(name).error_code == code
    lab.sql("ALTER TABLE item RENAME COLUMN u TO v; ALTER TABLE another RENAME TO other")
    lab.insert("item", "2, 20")
    lab.insert("other", "2")
    assert {lab.refresh("d"), lab.refresh("e")} <= {"INCREMENTAL", "REINITIALIZE"}
    assert lab.context.catalog.quarantine.all() == ()
    assert lab.spark.table("seen").count() == 2
    lab.verified("d", "e")


@pytest.mark.nightly
def test_a_tick_brings_a_dynamic_table_that_a_replaced_view_reads(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, v INT", "1, 10")
    lab.sql("CREATE VIEW seen AS SELECT id, v FROM item")
    lab.dynamic_table("below", "SELECT id, v + 1 AS v FROM item")
    lab.dynamic_table("d", "SELECT id, v FROM seen")
    lab.sql("CREATE OR REPLACE VIEW seen AS SELECT id, v FROM below")
    lab.insert("item", "2, 20")
    port = EnginePort(lab.context.graph)
    t = lab.context.clock.now()
    port.run(Start(lab.engine.table("d").id, t, Reason("TICK", "")))
    record = lab.engine.records("d", 1)[0]
    assert (record.error, str(record.action)) == (None, "REINITIALIZE")
    assert lab.rows("d") == [(1, 11), (2, 21)]
    (node,) = (n for n in port.state().nodes if n.name == "d")
    assert node.upstream == (lab.engine.table("below").id,), "the scheduler waits for it from now"
    lab.insert("item", "3, 30")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d", "below")


def test_what_a_definition_reads_is_described_with_its_columns(quick_lab: Lab) -> None:
    lab = quick_lab
    mapped = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"
    lab.sql(f"CREATE TABLE item (id INT, `odd name` INT, w STRING) USING delta {mapped}")
    lab.insert("item", "1, 10, 'a'")
    lab.dynamic_table("d", "SELECT `odd name` AS v, sum(id) AS s FROM item GROUP BY 1")
    lab.dynamic_table("f", "SELECT w FROM item", "REFRESH_MODE = FULL")
    reads = [r for n in "df" for r in lab.sql(f"DESCRIBE DYNAMIC TABLE {n}") if r[2] == "READS"]
    assert reads == [
        ("item", "DELTA", "READS", "id, `odd name`"),
        ("item", "DELTA", "READS", "every column"),
    ]


def test_what_was_renamed_altered_or_moved_is_so_after_a_restart(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, v INT", "1, 10")
    lab.table("other", "id INT, v INT", "2, 20")
    lab.table("place", "id INT, v INT", "3, 30")
    lab.sql("CREATE VIEW one AS SELECT id, v FROM item; CREATE VIEW two AS SELECT id, v FROM other")
    elsewhere = lab.context.layout.tables / "other"
    lab.sql(
        "ALTER VIEW one AS SELECT id, v + 1 AS v FROM item; ALTER VIEW two RENAME TO three; "
        f"ALTER TABLE place SET LOCATION '{elsewhere}'; ALTER TABLE item ADD COLUMN w INT"
    )
    lab.sql("ALTER TABLE item RENAME TO thing; CREATE VIEW item AS SELECT id, v FROM thing")
    seen = {name: lab.rows(name) for name in ("one", "three", "place", "thing", "item")}
    assert seen["one"] == [(1, 11)]
    lab.dynamic_table("d", "SELECT id, v FROM one UNION ALL SELECT id, v FROM place")
    lab.reopen()
    assert {name: lab.rows(name) for name in seen} == seen
    assert lab.names()[1] == {*seen, "other", "d"}
    lab.insert("thing", "4, 40, 400")
    assert lab.refresh("d") == "INCREMENTAL"
    lab.verified("d")
