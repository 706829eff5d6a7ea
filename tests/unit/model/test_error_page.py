"""The page of each code: one text for a cell, a terminal, a panel and the documentation."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dt_jupyter.cli import main
from dt_jupyter.dispatch import error_message
from dt_jupyter.model import CATALOGUE, ERRORS_PAGE, FAMILIES, error, error_page
from dt_jupyter.widgets import error_html
from dt_jupyter.wire import ErrorMessage

DOCUMENTED = (Path(__file__).parents[3] / "docs" / ERRORS_PAGE).read_text("utf-8")


@pytest.mark.parametrize("code", CATALOGUE)
def test_each_code_has_a_page_and_an_anchor_that_it_names(code: str) -> None:
    page = error_page(code)
    assert page is not None
    assert page.startswith(f"{code}: {FAMILIES[code[3]]}, SQLSTATE ")
    assert CATALOGUE[code].message in page
    (anchor,) = re.findall(rf"{re.escape(ERRORS_PAGE)}#(\S+)", page)
    assert DOCUMENTED.count(f'<a id="{anchor}"></a>') == 1


def test_an_error_of_spark_has_none() -> None:
    assert error_page("UNRESOLVED_COLUMN") is None
    assert ErrorMessage("UNRESOLVED_COLUMN", "?").page is None


def test_a_cell_and_a_panel_have_it_one_click_away() -> None:
    message = error_message(error("DT-1101", name="t", hint=""))
    assert message.to_json()["page"] == error_page("DT-1101")
    html = error_html(message)
    assert html.index("About DT-1101") < html.index("SQLSTATE 42P01")


def test_a_terminal_names_what_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "DT-1101"]) == 0
    assert capsys.readouterr().out == f"{error_page('DT-1101')}\n"
    assert main(["help", "DT-9999"]) == 1
    told = capsys.readouterr().err
    assert told.endswith("About DT-1003: python -m dt_jupyter help DT-1003\n")
