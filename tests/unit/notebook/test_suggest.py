"""Completion: `|` is the cursor, and what is offered is compared by its text."""

from __future__ import annotations

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from dt_jupyter.notebook import load, unload
from dt_jupyter.notebook.suggest import Candidate, cell_of, suggest

LAGS = ("'1 minute'", "'5 minutes'", "'1 hour'", "'1 day'", "DOWNSTREAM")
COLUMNS = {"orders": ["id", "price", "day"], "daily": ["day", "total"]}


class House:
    """Two tables, one of them dynamic, two warehouses and a variable."""

    def dynamic_tables(self) -> list[Candidate]:
        return [Candidate("daily", "dynamic table")]

    def warehouses(self) -> list[Candidate]:
        return [Candidate("default", "warehouse"), Candidate("nightly", "warehouse")]

    def sinks(self) -> list[Candidate]:
        return [Candidate("app_orders", "sink"), Candidate("hook", "sink")]

    def tasks(self) -> list[Candidate]:
        return [Candidate("load", "task"), Candidate("sweep", "task")]

    def tables(self) -> list[Candidate]:
        return [
            Candidate("daily", "dynamic table"),
            Candidate("orders", "table"),
            Candidate("sales.items", "table"),
        ]

    def columns(self, table: str) -> list[Candidate]:
        return [Candidate(c, "column") for c in COLUMNS.get(table, [])]

    def variables(self) -> list[Candidate]:
        return [Candidate("low", "variable")]


def offered(text: str) -> list[str]:
    """What is offered at `|`, each as the text before the cursor would end with it."""
    before, _, after = text.partition("|")
    cell = cell_of(before + after, before)
    assert cell is not None
    fragment, found = suggest(cell, House())
    assert before.endswith(fragment)
    return [c.text for c in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("%dt hi|", ["history"]),
        ("%dt refresh d|", ["daily"]),
        ("%dt lag h|", ["hook"]),
        ("%dt history h|", []),
        ("%dt history --|", ["--out", "--help"]),
        ("%dt connect --re|", ["--remote"]),
        ("%dt --o|", ["--out"]),
        ("%%dt --o|", ["--out"]),
        ("%%dynamic_table x --ref|", ["--refresh-mode"]),
        ("%%dynamic_table x --refresh-mode |", ["auto", "full", "incremental"]),
        ("%%dynamic_table x --refresh-mode=inc|", ["incremental"]),
        ("%%dynamic_table x --warehouse n|", ["nightly"]),
        ("%%dynamic_table x --target-lag d|", ["downstream"]),
        ("%%dynamic_table x --initialize on_s|", ["on_schedule"]),
        ("%%dt\nSELECT * FROM ord|", ["orders"]),
        ("%%dt\nSELECT pri| FROM orders", ["price"]),
        ("%%dt\nSELECT o.| FROM orders o", ["id", "price", "day"]),
        ("%%dt\nSELECT d.t| FROM orders AS o JOIN daily AS d USING (day)", ["total"]),
        ("%%dynamic_table x\nSELECT orders.d| FROM orders", ["day"]),
        ("%%dynamic_table x\nSELECT d.t| FROM orders AS o, daily d", ["total"]),
        ("%%changes s\nSELECT d.t| FROM orders, daily AS d, sales.items", ["total"]),
        ("%%changes\nSELECT pri| FROM orders", ["price"]),
        ("%dt SELECT pri| FROM orders", ["price"]),
        ("%%dt\nSELECT * FROM sales.|", ["items"]),
        ("%%dt\nDROP DYNAMIC TABLE |", ["daily"]),
        ("%%dt\nALTER WAREHOUSE |", ["default", "nightly"]),
        ("%%dt\nCREATE DYNAMIC TABLE x WAREHOUSE = n|", ["nightly"]),
        ("%%dt\nCREATE DYNAMIC TABLE x REFRESH_MODE = |", ["AUTO", "FULL", "INCREMENTAL"]),
        ("%%dt\nCREATE DYNAMIC TABLE x TARGET_|", ["TARGET_LAG"]),
        ("%%dt\ncreate dynamic table x target_|", ["target_lag"]),
        ("%%dt\nSELECT * FROM orders WHERE price > :l|", ["low"]),
        ("%%dt\nSELECT 'pri|", []),
        ("%%dt\nALTER SINK |", ["app_orders", "hook"]),
        ("%%dt\nDROP SINK IF EXISTS a|", ["app_orders"]),
        ("%%dt\ndescribe sink h|", ["hook"]),
        ("%%dt\nALTER SINK hook re|", ["resume", "refresh", "reset", "retry dead letters"]),
        ("%%dt\nALTER SINK hook SET TARGET_|", ["TARGET_LAG"]),
        ("%%dt\nCREATE SINK s FROM TABLE ord|", ["orders"]),
        ("%%dt\nCREATE SINK s FROM DYNAMIC TABLE |", ["daily"]),
        ("%%dt\nCREATE SIN|", ["SINK", "SINKS"]),
        ("%%dt\nCREATE SINK s FROM TABLE orders INTO 'file:///x' KEY (id, pri|", ["price"]),
        ("%%dt\nCREATE SINK s FROM TABLE orders INTO 'file:///x' TARGET_LAG = |", list(LAGS)),
        ("%%dt\nSELECT * FROM TABLE(SINK_HISTORY(NAME => 'h|", ["hook"]),
        ("%%dt\nEXECUTE TASK l|", ["load"]),
        ("%%dt\nDROP TASK IF EXISTS |", ["load", "sweep"]),
        ("%%dt\nALTER TASK load re|", ["resume", "remove when", "remove after"]),
        ("%%dt\nALTER TASK load SET SCH|", ["SCHEDULE", "SCHEDULER"]),
        ("%%dt\nSELECT * FROM TABLE(TASK_HISTORY(NAME => 's|", ["sweep"]),
    ],
)
def test_offered(text: str, expected: list[str]) -> None:
    assert offered(text) == expected


def test_a_used_option_is_not_offered_again() -> None:
    assert "--replace" not in offered("%%dynamic_table x --replace --|")


def test_columns_come_before_keywords() -> None:
    assert offered("%%dt\nSELECT d| FROM orders")[0] == "day"


@pytest.mark.parametrize("text", ["x = 1\nimp|", "%dtx |", "print('%%dt')\nfro|", "%%time\nSEL|"])
def test_other_cells_are_left_to_python(text: str) -> None:
    before, _, after = text.partition("|")
    assert cell_of(before + after, before) is None


def test_in_ipython_ours_replace_pythons_and_only_in_our_cells() -> None:
    shell = InteractiveShell(colors="nocolor")
    shell.history_manager.enabled = False
    load(shell)
    try:
        with provisionalcompleter():
            ours = shell.Completer.completions("%%dt\nSHOW DYN", 13)
            assert [c.text for c in ours][:1] == ["DYNAMIC TABLE"]
            python = [c.text for c in shell.Completer.completions("impor", 5)]
            assert "import" in python
    finally:
        unload(shell)
