"""Cells that start with a magic of ours are coloured as SQL, all others as the kernel's language.

What is looked for is the class that the editor gives to keywords: a Python cell shows it on
`return`, and only where the language is SQL does `SELECT` have it.
"""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.browser

PYTHON_CELL = "def f():\n    return SELECT"
OPTIONS = "--target-lag '5 minutes'"
Open = Callable[..., Locator]


def token(cell: Locator, word: str) -> Locator:
    """The span that the editor makes of `word`; none where the word means nothing to it."""
    return cell.locator(".cm-line span", has_text=re.compile(f"^{word}$"))


def keyword_class(python_cell: Locator) -> str:
    """The class of keywords, learnt from `return` in a Python cell (generated, so not fixed)."""
    found = token(python_cell, "return")
    expect(found).to_have_count(1)
    name = found.get_attribute("class")
    assert name
    return name


def expect_sql(cell: Locator, keyword: str) -> None:
    expect(token(cell, "SELECT")).to_have_class(keyword)


def expect_python(cell: Locator, keyword: str) -> None:
    expect(token(cell, "return")).to_have_class(keyword)
    expect(token(cell, "SELECT")).to_have_count(0)


def editor(cell: Locator) -> Locator:
    return cell.locator(".cm-content")


def test_cells_of_an_opened_notebook(
    open_cells: Open, screenshot: Callable[[], Path], console_errors: list[str]
) -> None:
    """The file names no language: the notebook learns it from the kernel after the cells are up,
    and sets every cell to Python then."""
    cells = open_cells(
        PYTHON_CELL,
        f"%%dynamic_table daily {OPTIONS}\nSELECT id, 1 AS one FROM item -- a comment",
        "%%dt\nSELECT 1",
        "%%changes item_stream --append-only\nSELECT * FROM item",
        "%dt SELECT 1\n\n%dt SELECT 2 \\\n  FROM item",
        f"%dt connect lake\n{PYTHON_CELL}",
        f"%%time\n{PYTHON_CELL}",
    )
    keyword = keyword_class(cells.nth(0))
    for sql in (1, 2, 3):
        expect_sql(cells.nth(sql), keyword)
    expect(token(cells.nth(4), "SELECT")).to_have_class([keyword, keyword])
    for python in (0, 5, 6):
        expect_python(cells.nth(python), keyword)
    assert screenshot().stat().st_size > 0
    assert console_errors == []


def test_a_cell_follows_what_is_typed(
    open_cells: Open,
    page: Page,
    screenshot: Callable[[], Path],
    console_errors: list[str],
) -> None:
    cells = open_cells(PYTHON_CELL, "")
    keyword = keyword_class(cells.nth(0))
    cell = cells.nth(1)

    editor(cell).click()
    page.keyboard.type("%%dynamic_table x\nSELECT one FROM item")
    expect_sql(cell, keyword)
    screenshot()

    page.keyboard.press("Control+Home")
    page.keyboard.type("# ")
    expect(editor(cell)).to_contain_text("# %%dynamic_table x")
    expect(token(cell, "SELECT")).to_have_count(0)
    page.keyboard.press("Backspace")
    page.keyboard.press("Backspace")
    expect_sql(cell, keyword)

    page.keyboard.press("Control+A")
    page.keyboard.type("return SELECT")
    expect_python(cell, keyword)
    assert console_errors == []


def test_a_cell_added_later(open_cells: Open, page: Page, console_errors: list[str]) -> None:
    cells = open_cells(PYTHON_CELL)
    keyword = keyword_class(cells.nth(0))

    editor(cells.nth(0)).click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    expect(cells).to_have_count(2)
    editor(cells.nth(1)).click()
    page.keyboard.type("%%dt\nSELECT 1")
    expect_sql(cells.nth(1), keyword)

    page.keyboard.press("Escape")
    page.keyboard.press("m")
    expect(cells).to_have_count(1)
    page.keyboard.press("y")
    expect(cells).to_have_count(2)
    expect_sql(cells.nth(1), keyword)
    assert console_errors == []
