"""The demo notebook as a reader meets it: opened in JupyterLab, run from its menu and saved.

One run serves what the browser shows and what the saved notebook holds.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from tests.notebook.executed import ROOT, NotebookTests, Shows, code_cells, html_of, notebook_at

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.timeout(1700)]

DEMO = ROOT / "notebooks" / "demo.ipynb"
PICTURES = ROOT / "artifacts" / "browser"
RUN_MILLISECONDS = 1_500_000
PANELS = ("arrivals", "ranking", "explain", "by-sky", "lag", "history", "frontiers", "status")
DRAWN = ("graph", "lag")
TALL: ViewportSize = {"width": 1280, "height": 2400}
"""So that the longest output is in view as a whole."""
WAITING = """() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')]
    .some(prompt => prompt.textContent.includes('*'))"""

CARD = r"AUTO → INCREMENTAL(.|\n)*target lag:"
SHOWS: Shows = {
    "connect": (r"Connected: .*flights-lake, 0 dynamic tables.*scheduler running",),
    "data": ("flight_id", "2013-01-01"),
    "base": (),
    "tables": (r"CREATE TABLE airlines", r"CREATE TABLE flight_events", "5 rows"),
    "arrivals": (CARD, "DOWNSTREAM", "upstream: .*flight_events, airlines, airports"),
    "delays-by-hour": (CARD, "DOWNSTREAM", "mean_delay double"),
    "delays-in-weather": (CARD, "DOWNSTREAM", r"upstream: .*delays_by_hour, weather"),
    "ranking": (CARD, "upstream: .*delays_by_hour"),
    "modes": ("arrivals: INCREMENTAL", "airline_ranking: INCREMENTAL"),
    "pick": (r"Flight \d+ was \d+ minutes late; flight \d+ never arrived",),
    "correct": (r"UPDATE flight_events.*1 row", r"DELETE flight_events.*1 row"),
    "explain": (r"next refresh: INCREMENTAL", r"SELECT"),
    "refresh": (r"delays_in_weather +INCREMENTAL +SUCCEEDED +MANUAL",),
    "cost": (r"arrivals of 32\d,\d{3} rows: INCREMENTAL, 1 rows in, 2 out",),
    "no-data": (r"delays_in_weather +NO_DATA +SUCCEEDED +MANUAL",),
    "by-maker": (CARD, "1 minute", "BOEING"),
    "by-sky": (CARD, "24 seconds", r"\b(fair|fog|rain|wind)\b"),
    "room": (r"a lag of (12|24|48) seconds it is",),
    "graph": ("6 dynamic tables, 5 tables", r"delays_by_sky .*INCREMENTAL"),
    "land": (r"25 December: \w+ in", r"31 December: \w+ in", r"01 January: \w+ in"),
    "lag": (r"Lag of delays_by_sky: target", r"INCREMENTAL", r"NO_DATA"),
    "lag-claim": (r"\d\d peaks, from .* s; the target is \d\d s",),
    "history": (r"INCREMENTAL +SUCCEEDED +SCHEDULED", r"NO_DATA +SUCCEEDED +SCHEDULED"),
    "history-claim": (r"\d × INCREMENTAL, reading [\d,]+ rows", r"\d × NO_DATA, reading and"),
    "snapshot": (r"have \d+ data timestamps in common",),
    "frontiers": (r"delays_by_sky .*delays_in_weather +DYNAMIC_TABLE",),
    "refresh-ranking": (r"airline_ranking +INCREMENTAL +SUCCEEDED +MANUAL",),
    "verify": (
        r"arrivals equals its query at .* all 327,346 rows compared, no difference",
        r"delays_by_sky equals its query at .* all 12 rows compared, no difference",
        r"airline_ranking equals its query at .* all 16 rows compared, no difference",
    ),
    "pandas": (r"rows about 327,346 arrivals: the same from both",),
    "answer": ("percent_late", "12 rows"),
    "suspend": ("suspended",),
    "resume": ("resumed",),
    "close": (),
    "again": (r"Connected: .*flights-lake, 6 dynamic tables.*scheduler running",),
    "status": ("scheduler +running", "problems +none"),
}


@dataclass(frozen=True)
class Run:
    """The notebook in its page, after a run; `saved` is its file."""

    page: Page
    cells: Locator
    console_errors: list[str]
    saved: Path

    def cell(self, id: str) -> Locator:
        return self.cells.nth(list(SHOWS).index(id))


@pytest.fixture(scope="module")
def demo(
    lab: Any,
    new_page: Callable[[list[str]], AbstractContextManager[Page]],
    open_in: Callable[[Page, str], Locator],
) -> Iterator[Run]:
    """All cells run from the menu, whatever they show, and the notebook saved."""
    shutil.copy(DEMO, lab.root / DEMO.name)
    errors: list[str] = []
    with new_page(errors) as page:
        cells = open_in(page, DEMO.name)
        expect(cells).to_have_count(len(SHOWS))
        choose(page, "Run", "Run All Cells")
        expect(cells.last.locator(".jp-InputPrompt")).not_to_have_text("[ ]:")
        page.wait_for_function(f"!({WAITING})()", timeout=RUN_MILLISECONDS)
        choose(page, "File", "Save Notebook")
        expect(page.locator(".jp-mod-dirty")).to_have_count(0)
        yield Run(page, cells, errors, lab.root / DEMO.name)


@pytest.fixture(scope="module")
def executed(demo: Run) -> dict[str, Any]:
    return code_cells(notebook_at(demo.saved))


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
def light_again(demo: Run) -> Iterator[None]:
    """The light theme is back when the test is over: JupyterLab is shared by all tests."""
    yield
    if demo.page.locator("body[data-jp-theme-light='false']").count():
        use_theme(demo.page, "JupyterLab Light", light=True)


def use_theme(page: Page, name: str, *, light: bool) -> None:
    choose(page, "Settings", "Theme", name)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", str(light).lower())


def test_the_demo_runs_from_the_menu(demo: Run) -> None:
    shown = demo.page.locator(".jp-CodeCell [data-mime-type='application/vnd.jupyter.error']")
    assert shown.all_inner_texts() == []
    expect(demo.page.locator(".jp-CodeCell [data-mime-type$='jupyter.stderr']")).to_have_count(0)
    expect(demo.cells.last.locator(".jp-InputPrompt")).to_have_text(f"[{len(SHOWS)}]:")


@pytest.mark.usefixtures("light_again")
def test_its_pictures_in_both_themes(demo: Run) -> None:
    for drawn in DRAWN:
        expect(demo.cell(drawn).locator(".dtjw")).to_be_visible()
        expect(demo.cell(drawn).locator(".dtj-static")).to_be_hidden()
    PICTURES.mkdir(parents=True, exist_ok=True)
    demo.page.set_viewport_size(TALL)
    for name in ("graph", *PANELS):
        shoot(demo.cell(name), f"{name}-light")
    use_theme(demo.page, "JupyterLab Dark", light=False)
    for name in ("graph", *PANELS):
        shoot(demo.cell(name), f"{name}-dark")
    assert demo.console_errors == []


class TestSaved(NotebookTests):
    """The notebook as it was saved."""

    path = DEMO
    shows = SHOWS
    tables = ("arrivals", "ranking", "history", "frontiers", "status")

    @pytest.mark.parametrize("drawn", DRAWN)
    def test_drawn_cell(self, executed: dict[str, Any], drawn: str) -> None:
        html = html_of(executed[drawn])
        assert html.count("<svg") >= 1
        assert "delays_by_sky" in html

    def test_the_explanation_holds_the_statements(self, executed: dict[str, Any]) -> None:
        html = html_of(executed["explain"])
        assert "<details" in html
        assert "SELECT" in html
