"""What a script would change is told before, and applied only where the lake is still the same."""

from __future__ import annotations

from typing import Any

import pytest

from tests.spark.engine_lab import Lab, refused

SCRIPT = """
CREATE WAREHOUSE heavy MAX_CONCURRENCY_LEVEL = 3;
CREATE VIEW big AS SELECT id, g, v FROM src WHERE v > 0;
CREATE DYNAMIC TABLE base TARGET_LAG = '1 hour' AS SELECT id, g, v FROM big;
CREATE DYNAMIC TABLE sums TARGET_LAG = '1 hour' AS SELECT g, sum(v) AS s FROM base GROUP BY g;
CREATE DYNAMIC TABLE lone TARGET_LAG = '1 hour' AS SELECT id FROM src -- said at the end
;
CREATE STREAM news ON DYNAMIC TABLE base;
CREATE TASK clean WAREHOUSE = heavy SCHEDULE = '1 day' AS DELETE FROM src WHERE v < 0;
ALTER TASK clean RESUME
"""


def told(plan: Any) -> dict[str, tuple[str, str]]:
    return {c.name: (c.action.value, c.rows.partition(":")[0]) for c in plan.changes}


@pytest.mark.nightly
def test_a_plan_tells_what_applying_it_does(quick_lab: Lab) -> None:
    lab, engine = quick_lab, quick_lab.engine
    lab.table("src", "id INT, g INT, v INT", "1, 1, 1", "2, 1, 5", "3, 2, 0")
    first = engine.plan(SCRIPT)
    assert {c.action for c in first.changes if c.differs != ("resumed",)} == {"add"}
    assert lab.context.catalog.list() == ()
    applied = engine.apply(first)
    assert [d.change.name for d in applied.done] == [c.name for c in first.changed]
    assert lab.rows("sums") == [(1, 6)]
    assert not engine.plan(SCRIPT)
    lab.sql("CREATE SCHEMA other")
    lab.dynamic_table("other.far", "SELECT id FROM default.src")
    assert not engine.plan(engine.export())
    assert engine.plan(engine.export()).steps == (), "USE alone changes nothing"
    more = engine.export().replace("SELECT id FROM default.src", "SELECT id, v FROM default.src")
    use, create = engine.plan(more).steps
    assert (use, "DYNAMIC TABLE" in create) == ("USE default", True)
    lab.sql("DROP DYNAMIC TABLE other.far; DROP SCHEMA other")
    assert {a for a, _ in told(engine.plan(engine.export())).values()} == {"unchanged"}

    changed = (
        SCRIPT.replace("g, sum(v) AS s", "sum(v) AS total, g")
        .replace("'1 hour' AS SELECT id FROM src", "'2 hours' AS SELECT id FROM src")
        .replace("SELECT id, g, v FROM big", "SELECT DISTINCT id, g, v FROM big")
        .replace("MAX_CONCURRENCY_LEVEL = 3", "MAX_CONCURRENCY_LEVEL = 4")
        .replace("CREATE STREAM news ON DYNAMIC TABLE base;", "")
        .replace("'1 day'", "'2 days'")
        + ";CREATE DYNAMIC TABLE more AS SELECT max(s) AS s FROM (SELECT v AS s FROM base)"
    )
    versions = {t: lab.version(t) for t in ("base", "sums", "lone")}
    plan = engine.plan(changed)
    assert told(plan) == {
        "heavy": ("change", ""), "big": ("unchanged", ""),
        "base": ("change", "recomputed"), "sums": ("change", "derived from those that it has"),
        "lone": ("change", "kept"), "more": ("add", "computed"), "news": ("leave", ""),
        "clean": ("change", ""),
    }  # fmt: skip
    text, html = str(plan), plan._repr_html_()
    assert "downstream: sums" in text
    assert "TARGET_LAG 1 hour → 2 hours" in text
    assert html.count("<tr>") == 1 + len([c for c in plan.changes if c.name != "big"])
    assert {t: lab.version(t) for t in versions} == versions, "a plan has done something"

    lab.sql("ALTER DYNAMIC TABLE lone SET COMMENT = 'moved'")
    with refused("DT-1138"):
        engine.apply(plan)
    assert {t: lab.version(t) for t in versions} == versions
    lab.insert("src", "4, 2, 2")
    assert lab.refresh("lone") == "INCREMENTAL"  # rows are no definitions
    plan = engine.plan(changed, remove=True)
    engine.apply(plan)
    assert lab.rows("sums") == [(2, 2), (6, 1)]
    reasons = {n: {r.reason.code for r in engine.records(n)} for n in ("base", "sums", "lone")}
    assert "DEFINITION_CHANGED" in reasons["base"]
    assert "DERIVED" in reasons["sums"]
    assert not reasons["lone"] & {"DEFINITION_CHANGED", "DERIVED"}
    assert lab.context.catalog.streams() == ()
    (task,) = lab.context.catalog.tasks()
    assert (str(task.schedule), task.started) == ("2 days", True)
    lab.verified("base", "sums", "lone", "more")
    assert not engine.plan(changed, remove=True)

    plan = engine.plan("CREATE VIEW big AS SELECT id, g, v FROM src WHERE v > 1", remove=True)
    assert told(plan)["base"] == ("remove", "")
    assert next(c for c in plan.changes if c.name == "big").affects == ("base", "more", "sums")
    for statement in ("SELECT 1", "DROP DYNAMIC TABLE base", "INSERT INTO src VALUES (1, 1, 1)"):
        with refused("DT-1137"):
            engine.plan(statement)


@pytest.mark.nightly
def test_functions_are_told_as_tables_are(quick_lab: Lab) -> None:
    lab, engine = quick_lab, quick_lab.engine
    lab.table("src", "v INT", "1", "2")
    lab.sql("CREATE FUNCTION twice(x INT) RETURNS INT RETURN x * 2")
    engine.register_udf("more", more, returns="int", immutable=True)
    lab.dynamic_table("d", "SELECT v, twice(v) AS t, more(v) AS m FROM src")
    script = engine.export()
    assert {a for a, _ in told(engine.plan(script)).values()} == {"unchanged"}
    changed = engine.plan(script.replace("x * 2", "x * 3").replace("x + 1", "x + 2"))
    found = {c.name: c for c in changed.changed}
    assert {n: (c.action.value, c.affects) for n, c in found.items()} == {
        "twice": ("change", ("d",)), "more": ("change", ("d",)),
    }  # fmt: skip
    with refused("DT-1153"):
        engine.apply(changed)
    engine.apply(engine.plan(script.replace("x * 2", "x * 3")))
    assert lab.refresh("d") == "REINITIALIZE"
    assert lab.rows("d") == [(1, 3, 2), (2, 6, 3)]
    lab.sql("DROP DYNAMIC TABLE d")
    rest = engine.plan("CREATE ROLE r", remove=True)
    assert told(rest)["twice"] == ("remove", "")
    assert told(rest)["more"] == ("leave", "")
    engine.apply(rest)
    assert [f.name for f in lab.context.catalog.functions()] == ["more"]


def more(x: int) -> int:
    return x + 1


def test_a_plan_of_which_a_definition_fails_changes_nothing(quick_lab: Lab) -> None:
    lab, engine = quick_lab, quick_lab.engine
    lab.table("src", "id INT, g INT, v INT", "1, 1, 1", "2, 1, 5")
    lab.sql(
        "CREATE VIEW big AS SELECT id, g, v FROM src WHERE v > 0;"
        "CREATE DYNAMIC TABLE base TARGET_LAG = '1 hour' AS SELECT id, g, v FROM big;"
        "CREATE DYNAMIC TABLE sums TARGET_LAG = '1 hour' AS SELECT g, sum(v) AS s FROM base "
        "GROUP BY g; CREATE WAREHOUSE old WEIGHT = 2"
    )
    before, known = engine.export(), lab.names()
    plan = engine.plan(
        "CREATE WAREHOUSE heavy; CREATE WAREHOUSE old WEIGHT = 3; CREATE ROLE reader;"
        "CREATE VIEW big AS SELECT id, g, v FROM src WHERE v > 1;"
        "CREATE VIEW other AS SELECT id FROM src;"
        "CREATE DYNAMIC TABLE base TARGET_LAG = '1 hour' AS SELECT id, g, v FROM big;"
        "CREATE DYNAMIC TABLE sums TARGET_LAG = '2 hours' AS SELECT g, max(v) AS s FROM base "
        "GROUP BY g; CREATE DYNAMIC TABLE more AS SELECT s FROM sums;"
        "CREATE STREAM news ON DYNAMIC TABLE base;"
        "CREATE DYNAMIC TABLE zeros AS SELECT s, 1 / (s - s) AS z FROM more"
    )
    with refused("DT-2105"):
        engine.apply(plan)
    assert engine.export() == before
    assert lab.names() == known
    assert lab.left() == []
    assert lab.rows("sums") == [(1, 5)], "the rows that it had come to"
    assert lab.refresh("sums") == "REINITIALIZE"
    assert lab.rows("sums") == [(1, 6)]
    assert lab.refresh("sums") == "NO_DATA"
    lab.verified("base", "sums")
