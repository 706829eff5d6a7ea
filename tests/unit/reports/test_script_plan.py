"""A plan as text and as a table."""

from __future__ import annotations

from dt_jupyter.engine.planned_differences import is_view_of
from dt_jupyter.reports import (
    AppliedChange,
    AppliedPlan,
    PlannedAction as A,
    PlannedChange,
    ScriptPlan,
)

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


def test_what_differs_is_shown_and_what_it_costs() -> None:
    change = PlannedChange(
        "dynamic table", "d", A.CHANGE, ("query",), "kept", ("e",),
        ("  SELECT", "- a < 1", "+ a < 2"), ("+ w int",), ("stream s: stale",),
    )  # fmt: skip
    assert (
        str(change)
        == repr(change)
        == (
            "~ dynamic table d\n    query\n        SELECT\n      - a < 1\n      + a < 2\n"
            "    columns: + w int\n    rows: kept\n    stream s: stale\n    downstream: e"
        )
    )
    for html in (change._repr_html_(), ScriptPlan((change,), (), "0")._repr_html_()):
        for said in ("+ a &lt; 2</span>", "columns: + w int", "stream s: stale"):
            assert said in html
        assert "--jp-success-color1" in html
        assert "--jp-error-color1" in html
    assert str(PlannedChange("stream", "s", A.NONE)) == "stream s is unchanged"
    assert [bool(PlannedChange("", "", a)) for a in A] == [a not in (A.NONE, A.LEAVE) for a in A]


def test_what_was_applied_is_said_by_object() -> None:
    done = AppliedPlan((AppliedChange(CHANGES[1], ("altered <1>", "INCREMENTAL")),))
    assert (
        str(done)
        == repr(done)
        == ("Applied: 1 changed\n~ dynamic table d\n    altered <1>\n    INCREMENTAL")
    )
    assert "altered &lt;1&gt;<br>INCREMENTAL" in done._repr_html_()
    assert done
    assert not AppliedPlan(())
    assert str(AppliedPlan(())) == "Applied: nothing to do"


def test_a_view_is_known_as_it_was_written_and_as_it_is_kept() -> None:
    query = "SELECT a FROM default.t"
    assert is_view_of(query, "select  a\nFROM default.t")
    assert is_view_of(f"SELECT `a` AS `a` FROM (\n{query}\n)", query)
    assert is_view_of(f"SELECT * FROM (\n{query}\n) AS view_(`x`)", query)
    assert not is_view_of(f"SELECT b FROM (\n{query}\n)", query)
    assert not is_view_of("SELECT a FROM default.u", query)
    assert not is_view_of(f"SELECT `a` AS `a` FROM (\nSELECT x FROM ({query})\n)", query)
