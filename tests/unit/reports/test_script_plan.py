"""A plan as text and as a table."""

from __future__ import annotations

from dt_jupyter.engine.planned_differences import is_view_of
from dt_jupyter.reports import PlannedAction as A, PlannedChange, ScriptPlan

CHANGES = (
    PlannedChange("view", "v", A.NONE),
    PlannedChange("dynamic table", "d", A.CHANGE, ("query",), "recomputed: x < y", ("e", "f")),
    PlannedChange("stream", "<s>", A.LEAVE),
)


def test_what_it_says() -> None:
    plan = ScriptPlan(CHANGES, ("CREATE OR ALTER …",), "0")
    assert str(plan) == (
        "1 step: 1 to change, 1 unchanged, 1 not in the script; nothing has been applied\n"
        "~ dynamic table d\n"
        "    query\n"
        "    rows: recomputed: x < y\n"
        "    downstream: e, f\n"
        "? stream <s>"
    )
    html = plan._repr_html_()
    assert "x &lt; y" in html
    assert "&lt;s&gt;" in html
    assert "<s>" not in html
    assert "view v" not in html
    assert plan
    assert not ScriptPlan(CHANGES[:1], (), "0")
    assert "nothing in it" in str(ScriptPlan((), (), "0"))


def test_a_view_is_known_as_it_was_written_and_as_it_is_kept() -> None:
    query = "SELECT a FROM default.t"
    assert is_view_of(query, "select  a\nFROM default.t")
    assert is_view_of(f"SELECT `a` AS `a` FROM (\n{query}\n)", query)
    assert is_view_of(f"SELECT * FROM (\n{query}\n) AS view_(`x`)", query)
    assert not is_view_of(f"SELECT b FROM (\n{query}\n)", query)
    assert not is_view_of("SELECT a FROM default.u", query)
    assert not is_view_of(f"SELECT `a` AS `a` FROM (\nSELECT x FROM ({query})\n)", query)
