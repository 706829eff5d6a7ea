"""Every live view as a picture: light and dark, in a narrow and a wide place, with a kernel and
without. They are looked at; what a test can say is that nothing is cut and nothing is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Page, Route, expect

from dt_jupyter.dispatch import live
from dt_jupyter.widgets import ChangeTable
from dt_jupyter.wire import Column, ResultMessage
from tests.browser.view_messages import DETAIL, VIEWS, WIDE, answers

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(not live.LIVE_SCRIPT.is_file(), reason="the widget's script is not built"),
]
PICTURES = Path(__file__).parents[2] / "artifacts" / "browser" / "views"
PAGE = Path(__file__).with_name("view_page.html")
ORIGIN = "http://127.0.0.1:9"
"""No server: the page and the script are given by the test."""
WIDTHS = (360, 800, 1600)
CUT = """() => {
  const {scrollWidth, clientWidth} = document.documentElement;
  return scrollWidth - clientWidth;
}"""
"""By how many pixels the page is wider than its window."""


BESIDE = """cell => {
  const region = cell.closest('.dtj-scroll').getBoundingClientRect();
  const row = cell.closest('tr');
  const mark = ([...row.querySelectorAll('.dtj-kept')].at(-1) ?? row.firstElementChild)
    .getBoundingClientRect();
  const {left, right} = cell.getBoundingClientRect();
  return Math.min(left - mark.right, region.right - right);
}"""
"""How far a cell is from the columns that stay, and from the edge: ≥ 0 where it is seen."""
KEPT = """region => {
  region.scrollLeft = region.scrollWidth;
  const {left} = region.getBoundingClientRect();
  return [...region.querySelectorAll('tbody tr')].map(row =>
    [...row.querySelectorAll('.dtj-kept')].map(cell => cell.getBoundingClientRect().left - left));
}"""
"""Scrolls to the end, and says how far from the left edge the columns that stay are, by row."""


@dataclass(frozen=True)
class Views:
    """A page that shows one view at a time."""

    page: Page
    errors: list[str]

    def show(self, kind: str, *, theme: str = "light", width: int = 800, live: bool = True) -> None:
        self.page.set_viewport_size({"width": width, "height": 900})
        told = [kind, VIEWS[kind].to_json(), answers() if live else None, theme]
        self.page.evaluate("told => window.show(...told)", told)
        self.page.wait_for_timeout(60)

    def shoot(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


@pytest.fixture(scope="module")
def views(new_page: Callable[[list[str]], AbstractContextManager[Page]]) -> Iterator[Views]:
    errors: list[str] = []

    def answer(route: Route) -> None:
        script = route.request.url.endswith(".js")
        path = live.LIVE_SCRIPT if script else PAGE
        kind = "text/javascript" if script else "text/html"
        route.fulfill(body=path.read_text("utf-8"), content_type=kind)

    with new_page(errors) as page:
        page.route(f"{ORIGIN}/**", answer)
        page.goto(f"{ORIGIN}/view.html")
        page.wait_for_function("window.ready")
        yield Views(page, errors)


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_fits_its_place(views: Views, kind: str) -> None:
    for theme in ("light", "dark"):
        for width in WIDTHS:
            views.show(kind, theme=theme, width=width)
            views.shoot(f"{kind}-{theme}-{width}")
            assert views.page.evaluate(CUT) <= 0, width
    views.show(kind, live=False)
    views.shoot(f"{kind}-no-kernel")
    assert views.errors == []


def test_a_profile_is_read_when_asked_for(views: Views) -> None:
    for theme, width in (("light", 360), ("dark", 800)):
        views.show("detail", theme=theme, width=width)
        views.page.get_by_role("button", name="Read sample rows and columns").click()
        expect(views.page.locator(".dtj-contents table")).to_have_count(2)
        views.shoot(f"profile-{theme}-{width}")
        assert views.page.evaluate(CUT) <= 0


def test_the_changed_column_of_a_replay_is_in_view(views: Views) -> None:
    views.show("replay", width=360)
    moved = views.page.locator("td.dtj-moved")
    expect(moved).to_have_count(2)
    assert moved.first.evaluate(BESIDE) >= 0


def test_the_changed_column_of_changes_is_in_view(views: Views) -> None:
    views.page.set_viewport_size({"width": 500, "height": 600})
    names = [Column(f"measure_{i}", "int") for i in range(WIDE)]
    hidden = [Column(n, "string") for n in ("$ACTION", "$ISUPDATE", "$ROW_ID")]
    rows = tuple(
        (*("7" if i < WIDE - 2 else str(half) for i in range(WIDE)), action, "true", "a1")
        for half, action in enumerate(("DELETE", "INSERT"))
    )
    shown = ChangeTable(ResultMessage((*names, *hidden), rows, title="Net changes"))
    views.page.evaluate("html => document.querySelector('main').innerHTML = html", shown.html)
    assert views.page.locator("td.dtj-changed").first.evaluate(BESIDE) >= 0
    views.shoot("changes-light-500")


def test_the_key_of_changes_stays_in_view(views: Views) -> None:
    views.page.set_viewport_size({"width": 500, "height": 600})
    names = [Column("carrier", "string"), Column("month", "int")]
    names += [Column(f"measure_{i}", "double") for i in range(WIDE)]
    hidden = [Column(n, "string") for n in ("$ACTION", "$ISUPDATE", "$ROW_ID")]
    rows = tuple(
        (name, month, *("0.123456789" for _ in range(WIDE)), action, "false", f"{name}{month}")
        for action in ("INSERT", "DELETE")
        for name in ("United Air Lines Incorporated", "AA")
        for month in ("12", "2")
    )
    shown = ChangeTable(ResultMessage((*names, *hidden), rows, title="Net changes of delays"))
    for theme in ("light", "dark"):
        views.show("catalogue", theme=theme, width=500)
        views.page.evaluate("html => document.querySelector('main').innerHTML = html", shown.html)
        left = views.page.locator(".dtj-scroll").evaluate(KEPT)
        assert len(left) == 8
        assert all(row[0] >= 0 and row == sorted(row) and row[-1] < 300 for row in left), left
        assert all(len(row) == 3 for row in left), "the action and both columns of the key"
        views.shoot(f"changes-kept-{theme}")


def test_the_graph_is_saved_as_a_picture(views: Views, tmp_path: Path) -> None:
    views.show("graph", width=1600)
    saver = views.page.get_by_label("Save the graph as a picture")
    for kind, start in (("SVG", b"<svg"), ("PNG", b"\x89PNG\r\n")):
        with views.page.expect_download() as told:
            saver.select_option(kind)
        file = tmp_path / told.value.suggested_filename
        told.value.save_as(file)
        assert file.name == f"dynamic-tables.{kind.lower()}"
        assert file.read_bytes().startswith(start)
        (PICTURES / f"saved-{file.name}").write_bytes(file.read_bytes())
    svg = (tmp_path / "dynamic-tables.svg").read_text("utf-8")
    names = {text for e in ElementTree.fromstring(svg).iter() if (text := e.text)}
    assert {"flights", "by_hour", "alerts"} <= names


def test_the_rows_of_a_replay_are_downloaded(views: Views) -> None:
    views.show("replay")
    for kind in ("CSV", "JSON"):
        with views.page.expect_download() as told:
            views.page.get_by_role("button", name=f"Download the rows shown as {kind}").click()
        text = Path(told.value.path()).read_text("utf-8")
        assert told.value.suggested_filename.endswith(kind.lower())
        assert ("measure_0" in text, "before" in text) == (True, True)


def test_sql_is_copied(views: Views) -> None:
    views.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=ORIGIN)
    views.show("detail")
    views.page.get_by_text("Definition", exact=True).click()
    views.page.get_by_role("button", name="Copy the definition").click()
    assert copied(views) == DETAIL.query
    views.show("graph", width=1600)
    views.page.locator(".dtj-node[aria-label^='by_hour,']").click(button="right")
    views.page.get_by_role("menuitem", name="Copy SELECT").click()
    expect(views.page.locator(".dtj-told")).to_contain_text("copied.")
    assert "SELECT * FROM by_hour" in copied(views)


def copied(views: Views) -> str:
    text: str = views.page.evaluate("navigator.clipboard.readText()")
    return text


def test_no_view_wrote_an_error_to_the_console(views: Views) -> None:
    assert views.errors == []
