"""Notebooks that came from somebody else, opened in JupyterLab: all that was shown can be read."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing

import nbformat
import pytest
from nbformat.sign import NotebookNotary
from nbformat.v4 import new_code_cell, new_notebook, new_output
from playwright.sync_api import Locator, Page, expect

from dt_jupyter.notebook.views import Static
from dt_jupyter.widgets import Panel, Picture, show
from tests.browser.conftest import PYTHON, Lab
from tests.unit.widgets_lab import GALLERY

pytestmark = pytest.mark.browser
WIDGET = {
    "application/vnd.jupyter.widget-view+json": {
        "version_major": 2,
        "version_minor": 0,
        "model_id": "0" * 32,
    },
    "text/html": "",
    "text/plain": "A live view (graph)",
}
"""What a live view leaves in a file."""


def test_an_untrusted_notebook_can_be_read(
    lab: Lab, page: Page, console_errors: list[str], screenshot: Callable[[], object]
) -> None:
    shown = [show(message) for message in GALLERY.values()]
    write(lab, "untrusted.ipynb", *([as_output(one)] for one in shown))
    cells = opened(lab, page, "untrusted.ipynb", f"0 of {len(shown)}")
    outputs = dict(zip(GALLERY, cells.all(), strict=True))
    expect(page.locator(".jp-RenderedHTML style, .jp-RenderedHTML svg")).to_have_count(0)
    for drawn in ("graph", "lag"):
        image = outputs[drawn].locator("img")
        image.scroll_into_view_if_needed()
        expect(image).to_be_visible()
        assert image.evaluate("async i => { await i.decode(); return i.naturalWidth }") > 400
        folded = outputs[drawn].locator("pre")
        expect(folded).to_be_hidden()
        outputs[drawn].locator("summary").click()
        expect(folded).to_be_visible()
        outputs[drawn].locator("summary").click()
    assert outputs["result"].locator("tr").all_inner_texts() == [
        "id\nbigint\n\tname\nstring",
        "1\trug",
        "23\tNULL",
        "4\tNULL",
    ]
    card = outputs["card"].inner_text()
    assert "delays AUTO → FULL" in card
    assert "id bigint, name string" in card
    assert "DT-1102 Column dep_dely does not exist." in outputs["error"].inner_text()
    screenshot()
    assert console_errors == []


def test_a_signed_notebook_is_shown_as_it_was_made(
    lab: Lab, page: Page, console_errors: list[str], screenshot: Callable[[], object]
) -> None:
    write(lab, "signed.ipynb", *([as_output(show(message))] for message in GALLERY.values()))
    notary = NotebookNotary(data_dir=str(lab.root.parent / "data"))
    with closing(notary.store):
        notary.sign(nbformat.read(lab.root / "signed.ipynb", as_version=4))
    cells = opened(lab, page, "signed.ipynb", f"{len(GALLERY)} of {len(GALLERY)}")
    outputs = dict(zip(GALLERY, cells.all(), strict=True))
    for drawn in ("graph", "lag"):
        expect(outputs[drawn].locator("svg.dtj")).to_be_visible()
        expect(outputs[drawn].locator("img")).to_be_hidden()
    expect(page.locator(".dtj-plain:visible")).to_have_count(0)
    screenshot()
    assert console_errors == []


def test_where_a_live_view_was_its_picture_is_seen_and_nothing_else(
    lab: Lab, page: Page, screenshot: Callable[[], object]
) -> None:
    picture = Static(show(GALLERY["graph"]))
    write(lab, "live.ipynb", [as_output(picture), new_output("display_data", WIDGET)])
    (cell,) = opened(lab, page, "live.ipynb", "0 of 1").all()
    expect(cell.locator("img")).to_be_visible()
    screenshot()
    assert cell.locator(".jp-OutputArea").inner_text().strip() == "As text"


def test_rows_are_sorted_filtered_and_walked_without_trust_and_without_a_kernel(
    lab: Lab, page: Page, console_errors: list[str], screenshot: Callable[[], object]
) -> None:
    write(lab, "rows.ipynb", [as_output(show(GALLERY["result"]))])
    (cell,) = opened(lab, page, "rows.ipynb", "0 of 1").all()
    heading, first = cell.locator("th").first, cell.locator("tbody td").first
    heading.focus()
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    page.keyboard.press("Enter")
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(first).to_have_text("23")
    page.keyboard.press("ArrowDown")
    expect(first).to_be_focused()
    cell.get_by_label("Filter rows").fill("rug")
    expect(cell.locator("tbody tr")).to_have_count(1)
    screenshot()
    expect(cells_of(page)).to_have_count(1)  # no key was one of the notebook's
    assert console_errors == []


def cells_of(page: Page) -> Locator:
    return page.locator(".jp-CodeCell")


def as_output(shown: Picture | Panel | Static) -> nbformat.NotebookNode:
    return new_output("display_data", shown._repr_mimebundle_())


def write(lab: Lab, path: str, *outputs: list[nbformat.NotebookNode]) -> None:
    """A notebook that ran elsewhere: it has outputs, and no signature of this JupyterLab."""
    cells = [
        new_code_cell("dt.graph()", outputs=each, execution_count=number)
        for number, each in enumerate(outputs, 1)
    ]
    nbformat.write(new_notebook(cells=cells, metadata=PYTHON), lab.root / path)


def opened(lab: Lab, page: Page, path: str, trust: str) -> Locator:
    """The code cells of a notebook, all of them drawn; `trust` is how many JupyterLab trusts."""
    page.set_viewport_size({"width": 1280, "height": 4000})
    page.goto(lab.url(path))
    cells = cells_of(page)
    expect(cells.locator(".jp-OutputArea-output").first).to_be_visible(timeout=60_000)
    title = re.compile(rf"trusted: {trust} code cells")
    expect(page.locator(".jp-StatusItem-trust")).to_have_attribute("title", title)
    expect(cells).to_have_count(int(trust.rpartition(" ")[2]))
    return cells
