"""Live views in a notebook: the widget where it can be, else the picture, and never both."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect

from dt_jupyter.dispatch import live
from tests.browser.conftest import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not live.LIVE_SCRIPT.is_file(), reason="the widget's script is not built"),
]
LOAD = "%load_ext dt_jupyter"
SHOW = """
from dt_jupyter.notebook.extension import notebook_of
from dt_jupyter.notebook.views import show_view
from dt_jupyter.widgets import show
from dt_jupyter.wire import GraphMessage, GraphNode, NodeKind
message = GraphMessage((GraphNode("orders", NodeKind.TABLE),), ())
show_view(notebook_of(get_ipython()), "graph", show(message), lambda desk: message.to_json())
"""
"""No Spark is needed: what is looked at is which of two outputs is seen."""
BEGUN = """
import asyncio
from dt_jupyter.spark import standby
await asyncio.sleep(1)  # it is begun between two cells
[begun._made.wait(60) for begun in standby._of_this_process]
"""
"""Whether a Java that was begun to be started when the extension was loaded is there."""
SOON = 30_000


def test_the_view_takes_the_place_of_the_picture(
    page: Page, open_cells: Callable[..., Locator], screenshot: Callable[[], object]
) -> None:
    cells = open_cells(LOAD, SHOW, BEGUN)
    page.locator(".jp-Notebook").click()
    run_all(page)
    cell = cells.nth(1)
    expect(cells.nth(0)).to_contain_text("Next: %dt connect FOLDER", timeout=SOON)
    expect(cell.locator(".dtjw")).to_be_visible(timeout=SOON)
    expect(cell.locator(".dtjw").get_by_text("orders").first).to_be_visible(timeout=SOON)
    expect(cell.locator(".dtj-static")).to_be_hidden()
    screenshot()
    expect(cells.nth(2)).to_contain_text("[True]", timeout=2 * SOON)


def test_without_its_kernel_the_picture_is_seen_and_no_error(
    lab: Lab,
    page: Page,
    open_cells: Callable[..., Locator],
    request: pytest.FixtureRequest,
    screenshot: Callable[[], object],
) -> None:
    cells = open_cells(f"%env DT_JUPYTER_STANDBY=0\n{LOAD}", SHOW)
    page.locator(".jp-Notebook").click()
    run_all(page)
    expect(cells.nth(1).locator(".dtjw")).to_be_visible(timeout=SOON)
    page.keyboard.press("Control+s")
    page.wait_for_timeout(1000)
    headers = {"Authorization": f"token {lab.token}"}
    for session in page.request.get(f"{lab.origin}/api/sessions", headers=headers).json():
        page.request.delete(f"{lab.origin}/api/sessions/{session['id']}", headers=headers)
    page.goto("about:blank")
    page.goto(lab.url(f"{request.node.name}.ipynb"))
    cell = page.locator(".jp-CodeCell").nth(1)
    expect(cell.locator(".dtj-static")).to_be_visible(timeout=SOON)
    page.wait_for_timeout(3000)
    expect(cell.locator(".dtj-static")).to_be_visible()
    screenshot()
    assert "model not found" not in cell.inner_text()


def run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
