"""The demo notebook as a reader meets it: opened in JupyterLab and run from its menu."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1700)]

CHECKOUT = Path(__file__).parents[2]
DEMO = CHECKOUT / "notebooks" / "demo.ipynb"
PICTURES = CHECKOUT / "artifacts" / "browser"
RUN_MILLISECONDS = 1_500_000
PANELS = ("arrivals", "ranking", "explain", "by-sky", "lag", "history", "frontiers", "status")
TALL: ViewportSize = {"width": 1280, "height": 2400}
"""So that the longest output is in view as a whole."""
WAITING = """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
    .some(prompt => prompt.textContent.includes('*'))"""


def code_cell_ids() -> list[str]:
    cells = json.loads(DEMO.read_text("utf-8"))["cells"]
    return [cell["id"] for cell in cells if cell["cell_type"] == "code"]


def choose(page: Page, *path: str) -> None:
    """Choose from the menu bar; each name but the last opens a menu."""
    page.locator(".lm-MenuBar-item", has_text=path[0]).click()
    for name in path[1:]:
        item = page.locator(".lm-Menu-item").filter(
            has=page.get_by_text(name, exact=True).and_(page.locator(".lm-Menu-itemLabel"))
        )
        item.hover()
        item.click()


def shoot(cell: Locator, name: str) -> None:
    cell.scroll_into_view_if_needed()
    path = PICTURES / f"demo-{name}.png"
    cell.locator(".jp-Cell-outputWrapper").screenshot(path=path)
    assert path.stat().st_size > 0


@pytest.fixture
def light_again(page: Page) -> Iterator[None]:
    """The light theme is back when the test is over: JupyterLab is shared by all tests."""
    yield
    if page.locator("body[data-jp-theme-light='false']").count():
        use_theme(page, "JupyterLab Light", light=True)


def use_theme(page: Page, name: str, *, light: bool) -> None:
    choose(page, "Settings", "Theme", name)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", str(light).lower())


@pytest.mark.usefixtures("light_again")
def test_the_demo_runs_from_the_menu(
    lab: Any,
    page: Page,
    open_notebook: Callable[[str], Locator],
    console_errors: list[str],
) -> None:
    shutil.copy(DEMO, lab.root / DEMO.name)
    ids = code_cell_ids()
    cells = open_notebook(DEMO.name)
    expect(cells).to_have_count(len(ids))

    choose(page, "Run", "Run All Cells")
    last = cells.nth(len(ids) - 1).locator(".jp-InputPrompt")
    expect(last).not_to_have_text("[ ]:")
    page.wait_for_function(f"!({WAITING})()", timeout=RUN_MILLISECONDS)

    errors = page.locator(".jp-CodeCell [data-mime-type='application/vnd.jupyter.error']")
    assert errors.all_inner_texts() == []
    expect(page.locator(".jp-CodeCell [data-mime-type$='jupyter.stderr']")).to_have_count(0)
    expect(last).to_have_text(f"[{len(ids)}]:")

    by_id = {id: cells.nth(number) for number, id in enumerate(ids)}
    for drawn in ("graph", "lag"):
        expect(by_id[drawn].locator(".jp-OutputArea-output svg").first).to_be_visible()
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.set_viewport_size(TALL)
    for name in ("graph", *PANELS):
        shoot(by_id[name], f"{name}-light")
    use_theme(page, "JupyterLab Dark", light=False)
    for name in ("graph", *PANELS):
        shoot(by_id[name], f"{name}-dark")
    assert console_errors == []
