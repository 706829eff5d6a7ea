"""What a notebook shows of the engine's values: a table of rows, where a repr would be raw."""

from __future__ import annotations

import pytest
from IPython.core.interactiveshell import InteractiveShell

from dt_jupyter.model import Alert, AlertKind
from dt_jupyter.notebook.display import register_formatters, unregister
from dt_jupyter.reports import Lineage
from dt_jupyter.reports.lineage import LineageEdge
from tests.unit.catalog_lab import at, name, table
from tests.unit.widgets_lab import Reader

LATE = Alert(AlertKind.LATE, "DYNAMIC_TABLE", name("t"), "id-t", at(1), "LATE", "<b>late</b>")


@pytest.fixture(scope="module")
def shell() -> InteractiveShell:
    return InteractiveShell()


@pytest.mark.parametrize(
    ("value", "texts"),
    [
        ((LATE, LATE), {"2 alerts", "LATE", "t", "<b>late</b>"}),
        (table("t"), {"t", "AUTO → INCREMENTAL", "default"}),
        (
            Lineage(name("t"), (), (LineageEdge(name("u"), "a", name("t"), "b"),), (name("v"),)),
            {"Lineage of t", "u", "a", "b", "1 row · not understood: v"},
        ),
    ],
    ids=["alerts", "a dynamic table", "lineage"],
)
def test_a_value_is_a_table_while_the_extension_is_loaded(
    shell: InteractiveShell, value: object, texts: set[str]
) -> None:
    formatter = shell.display_formatter
    assert formatter is not None
    assert "text/html" not in formatter.format(value)[0]
    register_formatters(shell)
    html = formatter.format(value)[0]["text/html"]
    assert texts <= set(Reader(html).texts)
    said = formatter.format(value)[0]["text/plain"]
    assert all(text in said for text in texts if text != "<b>late</b>"), said
    assert "AlertKind" not in said
    assert formatter.format((1, 2))[0] == {"text/plain": "(1, 2)"}, "other tuples are as ever"
    assert "text/html" not in formatter.format((LATE, 2))[0]
    unregister(shell)
    assert "text/html" not in formatter.format(value)[0]
    assert formatter.format((1, 2))[0] == {"text/plain": "(1, 2)"}
