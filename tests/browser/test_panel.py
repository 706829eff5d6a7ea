"""The panel of dynamic tables beside a notebook, as a user meets it: one kernel, one tiny lake.

The tests of `TestPanel` are one walk in their order: each begins where the one before ended.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]

PICTURES = Path(__file__).parents[2] / "artifacts" / "browser"
SPARK_MILLISECONDS = 120_000
"""For what starts Spark or waits for a job."""
HOSTILE = "<img src=x onerror=window.hacked=1>"
HOSTILE_COLUMN = '"><script>hack</script>'

CONNECT = "%dt connect panel-lake"
TABLES = f"""%%dt
CREATE TABLE orders (id INT, item STRING, amount INT) USING delta;
INSERT INTO orders VALUES (1, 'rug', 10), (2, 'car', 20), (3, '{HOSTILE}', 30);
CREATE DYNAMIC TABLE totals TARGET_LAG = '1 hour' AS
  SELECT item, count(*) AS orders, sum(amount) AS amount FROM orders GROUP BY item;
CREATE DYNAMIC TABLE marked TARGET_LAG = '1 hour' REFRESH_MODE = FULL AS
  SELECT id, item AS `{HOSTILE_COLUMN}` FROM orders;
CREATE DYNAMIC TABLE large TARGET_LAG = '1 hour' REFRESH_MODE = FULL AS
  SELECT * FROM totals WHERE amount > 15;
CREATE STREAM orders_stream ON TABLE orders;
ALTER TABLE orders ADD COLUMN note STRING;
INSERT INTO orders VALUES (4, 'rug', 40, 'new'), (5, 'car', 50, NULL)"""
REFRESH = "_ = dt.start_refresh('totals')"
BUSY = """import pathlib, time
while not pathlib.Path('go-on').exists():
    time.sleep(0.05)"""
BROKEN = f"""%%dt
CREATE DYNAMIC TABLE broken TARGET_LAG = '1 hour' INITIALIZE = ON_SCHEDULE AS
  SELECT id, CAST(raise_error('{HOSTILE}') AS STRING) AS fault FROM orders"""
FAIL = "_ = dt.start_refresh('broken')"
REPLAY = "%replay orders --at 0 --to now"
LAG = "%dt lag totals"
CELLS = [CONNECT, TABLES, REFRESH, BUSY, BROKEN, FAIL, REPLAY, LAG]

TABS = ("Graph", "Catalogue", "Details", "Frontiers", "Streams", "Health", "Replay")

SEEN = """([name, attribute]) => {
  const seen = window.seen = [];
  const look = () => {
    const node = [...document.querySelectorAll('.dtjp .dtj-node')]
      .find(found => found.getAttribute('aria-label')?.startsWith(`${name},`));
    const value = node?.getAttribute(attribute) ?? null;
    if (value !== seen.at(-1)?.[0]) seen.push([value, Date.now()]);
  };
  look();
  window.looking?.disconnect();
  window.looking = new MutationObserver(look);
  window.looking.observe(document.querySelector('.dtjp'),
    {attributes: true, childList: true, subtree: true});
}"""
"""Writes down each value that an attribute of a node takes, however short it has it."""


BELOW = """figures => figures.map(figure =>
  figure.querySelector('dd').getBoundingClientRect().top
  - figure.querySelector('dt').getBoundingClientRect().bottom)"""
"""By how much each figure stands below its label, in pixels."""


SMALLEST = """panel => {
  const world = panel.querySelector('.dtj-world');
  const scale = new DOMMatrix(getComputedStyle(world).transform).a;
  const texts = [...panel.querySelectorAll('.dtj-node *')].filter(part => part.checkVisibility()
    && [...part.childNodes].some(child => child.nodeType === 3 && child.data.trim()));
  return Math.min(...texts.map(text => parseFloat(getComputedStyle(text).fontSize) * scale));
}"""
"""The size of the smallest text on a card, in pixels of the screen."""

OUTSIDE = """panel => {
  const view = panel.querySelector('.dtj-dag .dtj-view').getBoundingClientRect();
  return [...panel.querySelectorAll('.dtj-node')].map(node => node.getBoundingClientRect())
    .filter(box => box.left < view.left || box.right > view.right).length;
}"""
"""How many cards are cut at the left or the right."""

ROOM = """input => {
  const {font, paddingLeft, paddingRight} = getComputedStyle(input);
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = font;
  return input.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight)
    - pen.measureText(input.placeholder).width;
}"""
"""How much room a placeholder leaves, in pixels."""


MODEL_IS_GONE = "widget model not found"
"""What ipywidgets writes for a saved widget whose kernel was restarted."""


@dataclass(frozen=True)
class Panel:
    """A notebook and the panel beside it."""

    page: Page
    cells: Locator
    root: Path
    errors: list[str] = field(default_factory=list)

    @property
    def all(self) -> Locator:
        return self.page.locator(".dtjp")

    def node(self, name: str) -> Locator:
        return self.all.locator(f".dtj-node[aria-label^='{name},']")

    def button(self, name: str | re.Pattern[str]) -> Locator:
        return self.all.get_by_role("button", name=name)

    def tab(self, name: str) -> Locator:
        self.all.get_by_role("tab", name=name, exact=True).click()
        return self.all.get_by_role("tabpanel", name=name, exact=True)

    def open(self) -> None:
        self.page.locator(".lm-TabBar-tab[title='Dynamic Tables']").click()
        expect(self.all).to_be_visible()

    def start(self, source: str) -> Locator:
        """Runs the cell, and gives its prompt."""
        cell = self.cells.nth(CELLS.index(source))
        cell.locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        return cell.locator(".jp-InputPrompt")

    def run(self, source: str) -> None:
        """Runs the cell, which ends well."""
        prompt = self.start(source)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=SPARK_MILLISECONDS)
        cell = self.cells.nth(CELLS.index(source))
        expect(cell.locator("[data-mime-type='application/vnd.jupyter.error']")).to_have_count(0)

    def view(self, source: str, kind: str) -> Locator:
        """The live view below the cell."""
        return self.cells.nth(CELLS.index(source)).locator(f".dtjw-{kind}")

    def choose(self, name: str) -> None:
        """Chooses the table in the graph."""
        self.tab("Graph")
        self.button(re.compile("All in view")).click()
        self.node(name).click()
        expect(self.all.locator(".dtjp-chosen")).to_contain_text(name)

    def watch(self, name: str, attribute: str) -> None:
        self.page.evaluate(SEEN, [name, attribute])

    def seen(self, last: str) -> list[str]:
        """The values that were seen, once it has moved to `last`."""
        self.page.wait_for_function(
            "last => window.seen.length > 1 && window.seen.at(-1)[0] === last",
            arg=last,
            timeout=SPARK_MILLISECONDS,
        )
        return [value for value, _ in self.page.evaluate("window.seen")]

    def shoot(self, name: str) -> None:
        PICTURES.mkdir(parents=True, exist_ok=True)
        path = PICTURES / f"panel-{name}.png"
        self.page.screenshot(path=path)
        assert path.stat().st_size > 0


@pytest.fixture(scope="module")
def panel(
    lab: Any,
    new_page: Callable[[list[str]], AbstractContextManager[Page]],
    open_in: Callable[[Page, str], Locator],
) -> Iterator[Panel]:
    """A notebook that has run nothing, the panel open."""
    folder = lab.root / "panel"
    folder.mkdir()
    lab.write_notebook("panel/panel.ipynb", *CELLS)
    lab.write_notebook("panel/other.ipynb", "x = 1")
    errors: list[str] = []
    with new_page(errors) as page:
        cells = open_in(page, "panel/panel.ipynb")
        opened = Panel(page, cells, folder, errors)
        opened.open()
        yield opened


def choose(page: Page, *path: str) -> None:
    """Choose from the menu bar; each name but the last opens a menu."""
    page.locator(".lm-MenuBar-item", has_text=path[0]).click()
    for name in path[1:]:
        item = page.locator(".lm-Menu-item").filter(
            has=page.get_by_text(name, exact=True).and_(page.locator(".lm-Menu-itemLabel"))
        )
        item.hover()
        item.click()


def use_theme(page: Page, name: str, *, light: bool) -> None:
    choose(page, "Settings", "Theme", name)
    expect(page.locator("body")).to_have_attribute("data-jp-theme-light", str(light).lower())


@pytest.fixture
def light_again(panel: Panel) -> Iterator[None]:
    """The light theme is back when the test is over: JupyterLab is shared by all tests."""
    yield
    if panel.page.locator("body[data-jp-theme-light='false']").count():
        use_theme(panel.page, "JupyterLab Light", light=True)


class TestPanel:
    def test_without_the_extension_it_offers_to_load_it(self, panel: Panel) -> None:
        expect(panel.all).to_contain_text("dt_jupyter is not loaded")
        panel.shoot("not-loaded")
        panel.button("Run in this kernel").click()
        expect(panel.all).to_contain_text("No lake is open")
        panel.shoot("not-connected")

    def test_it_shows_the_lake_of_the_notebook(self, panel: Panel) -> None:
        prompt = panel.start(CONNECT)
        expect(panel.all).to_contain_text("Spark is starting", timeout=SPARK_MILLISECONDS)
        expect(panel.button("Run in this kernel")).to_have_count(0)
        panel.shoot("starting")
        expect(panel.all).to_contain_text("panel-lake", timeout=SPARK_MILLISECONDS)
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=SPARK_MILLISECONDS)
        panel.run(TABLES)
        for name in ("orders", "totals", "marked", "large"):
            expect(panel.node(name)).to_have_count(1)
        expect(panel.node("totals")).to_have_attribute("data-state", "SUCCEEDED")
        panel.shoot("graph")

    def test_the_graph_is_read_at_the_width_that_the_panel_has(self, panel: Panel) -> None:
        box = panel.all.bounding_box()
        assert box is not None
        assert box["width"] <= 362
        assert panel.all.evaluate(SMALLEST) >= 11
        assert panel.all.evaluate(OUTSIDE) == 0
        assert panel.all.locator(".dtj-search input").evaluate(ROOM) >= 0

    def test_the_menu_of_a_table(self, panel: Panel) -> None:
        node = panel.node("large")
        node.click(button="right")
        menu = panel.all.get_by_role("menu")
        expect(menu.get_by_role("menuitem", name="Refresh now")).to_be_focused()
        panel.shoot("menu")
        panel.page.keyboard.press("Escape")
        expect(menu).to_have_count(0)
        expect(node).to_be_focused()
        panel.page.keyboard.press("m")
        menu.get_by_role("menuitem", name="Go to its cell").click()
        tables = panel.cells.nth(CELLS.index(TABLES))
        expect(tables).to_have_class(re.compile("jp-mod-active"))
        node.get_by_role("button", name="Actions").click()
        menu.get_by_role("menuitem", name="Target lag").click()
        panel.all.get_by_label("How much").fill("2")
        panel.button("Set").click()
        told = "Target lag of large: 2 hours."
        expect(panel.all.locator(".dtj-told")).to_contain_text(told, timeout=SPARK_MILLISECONDS)

    def test_what_a_node_is_asked_and_its_definition_edited(self, panel: Panel) -> None:
        keyboard, answer = panel.page.keyboard, panel.all.locator(".dtj-menu-answer")
        panel.node("totals").focus()
        keyboard.press("r")
        expect(answer).to_contain_text("large dynamic table")
        keyboard.press("Escape")
        keyboard.press("v")
        equal = "totals equals its query"
        expect(answer).to_contain_text(equal, timeout=SPARK_MILLISECONDS)
        panel.shoot("verified")
        keyboard.press("Escape")
        keyboard.press("e")
        made = panel.page.locator(".jp-Notebook:visible .jp-CodeCell.jp-mod-active")
        expect(made).to_contain_text("CREATE OR ALTER DYNAMIC TABLE totals")
        made.locator(".cm-content").click()
        keyboard.press("Control+End")
        keyboard.type(" HAVING sum(amout) > 1")
        expect(made.locator(".dtje-problem")).to_have_text("amout", timeout=SPARK_MILLISECONDS)
        panel.shoot("underlined")
        keyboard.press("Escape")
        keyboard.press("d")
        keyboard.press("d")
        expect(panel.cells).to_have_count(len(CELLS))

    def test_the_health_of_the_tables_and_the_graph_as_a_file(self, panel: Panel) -> None:
        health = panel.tab("Health")
        expect(health.get_by_role("listitem")).to_have_count(3)
        expect(health).to_contain_text("written in")
        panel.shoot("health")
        health.get_by_role("button", name="totals").click()
        details = panel.all.get_by_role("tabpanel", name="Details", exact=True)
        expect(details).to_contain_text("cost")
        panel.tab("Graph")
        with panel.page.expect_download() as saved:
            panel.button("Save the graph and its state as an HTML file").click()
        page = panel.page.context.new_page()
        page.goto(f"file://{saved.value.path()}")
        page.close()

    def test_a_full_refresh_and_the_contents_of_a_table(self, panel: Panel) -> None:
        panel.choose("marked")
        details = panel.tab("Details")
        details.get_by_role("button", name="Read sample rows and columns").click()
        tables = details.locator(".dtj-contents table")
        expect(tables).to_have_count(2, timeout=SPARK_MILLISECONDS)
        expect(details.locator(".dtj-contents")).to_contain_text("rows in version")
        details.get_by_role("button", name="Full refresh").click()
        expect(details).to_contain_text("marked refreshed: FULL", timeout=SPARK_MILLISECONDS)
        panel.shoot("contents")

    def test_the_definitions_become_a_cell(self, panel: Panel) -> None:
        panel.tab("Graph")
        panel.button("Export definitions to a cell").click()
        made = panel.page.locator(".jp-Notebook:visible .jp-CodeCell.jp-mod-active")
        expect(made).to_contain_text("CREATE DYNAMIC TABLE IF NOT EXISTS")
        panel.shoot("export")
        made.locator(".cm-content").click()
        panel.page.keyboard.press("Escape")
        panel.page.keyboard.press("d")
        panel.page.keyboard.press("d")
        expect(panel.cells).to_have_count(len(CELLS))

    def test_a_table_moves_while_it_is_refreshed(self, panel: Panel) -> None:
        panel.watch("totals", "data-state")
        panel.run(REFRESH)
        assert panel.seen("SUCCEEDED") == ["SUCCEEDED", "EXECUTING", "SUCCEEDED"]

    def test_it_is_live_while_a_cell_runs(self, panel: Panel) -> None:
        prompt = panel.start(BUSY)
        expect(prompt).to_have_text("[*]:")
        expect(panel.tab("Catalogue")).to_contain_text("orders_stream")
        panel.shoot("catalogue")
        expect(panel.tab("Streams")).to_contain_text("orders_stream")
        panel.shoot("streams")
        expect(panel.tab("Frontiers")).to_contain_text("totals")
        panel.shoot("frontiers")
        panel.tab("Graph")
        expect(prompt).to_have_text("[*]:")
        (panel.root / "go-on").touch()
        expect(prompt).not_to_have_text("[*]:")

    def test_suspend_and_resume(self, panel: Panel) -> None:
        panel.choose("totals")
        details = panel.tab("Details")
        expect(details).to_contain_text("INCREMENTAL")
        expect(details).to_contain_text("Lag")
        panel.shoot("details")
        details.get_by_role("button", name="Suspend").click()
        details.get_by_role("group", name="Suspend?").get_by_role("button", name="Suspend").click()
        expect(details).to_contain_text("suspended.", timeout=SPARK_MILLISECONDS)
        panel.shoot("suspended")
        panel.tab("Graph")
        expect(panel.node("totals")).to_have_attribute("data-suspended", "true")
        panel.tab("Details").get_by_role("button", name="Resume").click()
        expect(details).to_contain_text("resumed.", timeout=SPARK_MILLISECONDS)
        panel.tab("Graph")
        expect(panel.node("totals")).not_to_have_attribute("data-suspended", "true")

    def test_replay_by_the_slider_in_both_schemas(self, panel: Panel) -> None:
        panel.choose("orders")
        replay = panel.tab("Replay")
        replay.get_by_role("button", name="Replay orders").click()
        rows = replay.locator("table tbody tr")
        expect(rows).to_have_count(5, timeout=SPARK_MILLISECONDS)
        panel.shoot("replay")
        slider = replay.get_by_role("slider")
        box = slider.bounding_box()
        assert box is not None
        panel.page.mouse.move(box["x"] + box["width"] - 2, box["y"] + box["height"] / 2)
        panel.page.mouse.down()
        panel.page.mouse.move(box["x"] + 2, box["y"] + box["height"] / 2, steps=8)
        panel.page.mouse.up()
        expect(rows).to_have_count(0, timeout=SPARK_MILLISECONDS)  # as it was created
        slider.press("ArrowRight")
        expect(rows).to_have_count(3, timeout=SPARK_MILLISECONDS)
        expect(replay.get_by_role("columnheader", name="note")).to_have_count(0)
        schema = replay.get_by_role("radiogroup", name="Schema")
        schema.get_by_role("radio").nth(1).check(force=True)
        expect(replay.get_by_role("columnheader", name="note")).to_have_count(
            1, timeout=SPARK_MILLISECONDS
        )
        panel.shoot("replay-current-schema")

    def test_a_replay_in_a_cell_shows_the_rows_of_each_step(self, panel: Panel) -> None:
        for _ in range(2):
            panel.run(REPLAY)
            replay = panel.view(REPLAY, "replay")
            rows = replay.locator("table tbody tr")
            expect(rows).to_have_count(5, timeout=SPARK_MILLISECONDS)
        slider = replay.get_by_role("slider")
        slider.press("Home")
        expect(rows).to_have_count(0, timeout=SPARK_MILLISECONDS)
        slider.press("ArrowRight")
        expect(rows).to_have_count(3, timeout=SPARK_MILLISECONDS)
        panel.shoot("replay-cell")
        for place in (replay, panel.tab("Replay")):
            spacing = place.get_by_role("radiogroup", name="Space the snapshots by")
            expect(spacing.locator("input:checked")).to_have_count(1)

    def test_each_figure_of_the_lag_stands_below_its_label(self, panel: Panel) -> None:
        panel.run(LAG)
        saw = panel.view(LAG, "lag")
        expect(saw.locator(".dtj-figure dd").first).to_be_visible(timeout=SPARK_MILLISECONDS)
        below = saw.locator(".dtj-figure").evaluate_all(BELOW)
        assert len(below) > 1
        assert min(below) >= -1
        panel.shoot("lag-cell")

    def test_the_graph_as_a_tab(self, panel: Panel) -> None:
        panel.button("Open the graph as a tab").click()
        wide = panel.page.locator(".dtjp-wide")
        expect(wide.locator(".dtj-node[aria-label^='totals,']")).to_be_visible()
        wide.get_by_role("button", name=re.compile("All in view")).click()
        wide.locator(".dtj-node[aria-label^='large,']").click()
        expect(wide.locator(".dtjp-wide-detail")).to_contain_text("large")
        expect(panel.all.locator(".dtjp-chosen")).to_contain_text("large")
        panel.shoot("tab")
        panel.page.set_viewport_size({"width": 1900, "height": 800})
        wide.get_by_role("button", name=re.compile("All in view")).click()
        panel.shoot("tab-wide")
        panel.page.set_viewport_size({"width": 1280, "height": 800})
        panel.page.locator(".lm-TabBar-tab[data-type='document-title']").click()
        tab = panel.page.locator(".lm-TabBar-tab[title^='Dynamic tables of']")
        for name in ("renamed.ipynb", "panel.ipynb"):
            choose(panel.page, "File", "Rename Notebook…")
            box = panel.page.locator(".jp-Dialog input")
            box.fill(name)
            box.press("Enter")
            expect(tab).to_have_attribute("title", f"Dynamic tables of panel/{name}")
        tab.click()
        expect(wide.locator(".dtj-node[aria-label^='large,']")).to_be_visible()
        panel.page.locator(
            ".lm-DockPanel-tabBar .lm-TabBar-tab[title^='Dynamic tables of']"
        ).locator(".lm-TabBar-tabCloseIcon").click()
        expect(wide).to_have_count(0)

    def test_hostile_texts_are_texts(self, panel: Panel) -> None:
        panel.tab("Graph")
        panel.run(BROKEN)
        expect(panel.node("broken")).to_have_count(1)
        panel.run(FAIL)
        expect(panel.node("broken")).to_have_attribute(
            "data-state", "FAILED", timeout=SPARK_MILLISECONDS
        )
        strip = panel.all.get_by_role("region", name="Alerts")
        expect(strip).to_contain_text("The refresh of broken failed")
        toast = panel.page.locator(".Toastify__toast", has_text="The refresh of broken failed")
        expect(toast).to_have_count(0)  # the panel that is seen has it
        panel.shoot("alert")
        strip.get_by_role("button", name="broken").press("Enter")
        expect(panel.all.locator(".dtjp-chosen")).to_contain_text("broken")
        expect(panel.all.get_by_role("tab", name="Details")).to_have_attribute(
            "aria-selected", "true"
        )
        panel.tab("Graph")
        panel.button(re.compile("^1 failed")).click()
        expect(panel.node("broken")).to_be_in_viewport()
        panel.shoot("badge")
        panel.button("Clear the search").click()
        expect(panel.all.locator(".dtj-dim")).to_have_count(0)
        panel.choose("broken")
        expect(panel.tab("Details")).to_contain_text(HOSTILE)
        panel.shoot("failed")
        panel.choose("marked")
        expect(panel.tab("Details")).to_contain_text(HOSTILE_COLUMN)
        for tab in TABS:
            panel.tab(tab)
            expect(panel.all.locator("script, img, [onerror]")).to_have_count(0)
        assert panel.page.evaluate("window.hacked") is None

    def test_a_page_that_comes_later_shows_the_alert_and_does_not_tell_it(
        self,
        panel: Panel,
        new_page: Callable[[list[str]], AbstractContextManager[Page]],
        open_in: Callable[[Page, str], Locator],
    ) -> None:
        with new_page([]) as page:
            later = Panel(page, open_in(page, "panel/panel.ipynb"), panel.root)
            later.open()
            strip = later.all.get_by_role("region", name="Alerts")
            expect(strip).to_contain_text("The refresh of broken failed", timeout=60_000)
            expect(page.locator(".Toastify__toast", has_text="broken")).to_have_count(0)
            strip.get_by_role("button", name="Hide this alert").press("Enter")
            expect(strip).to_have_count(0)

    @pytest.mark.usefixtures("light_again")
    def test_in_the_dark(self, panel: Panel) -> None:
        use_theme(panel.page, "JupyterLab Dark", light=False)
        panel.choose("totals")
        for tab in TABS:
            panel.tab(tab)
            panel.shoot(f"{tab.lower()}-dark")

    def test_another_notebook_and_back(self, panel: Panel) -> None:
        panel.tab("Catalogue")
        panel.choose("large")
        panel.page.locator(".jp-DirListing-item", has_text="other.ipynb").dblclick()
        expect(panel.all).to_contain_text("other.ipynb")
        expect(panel.all).to_contain_text("dt_jupyter is not loaded")
        panel.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="panel.ipynb").click()
        expect(panel.all.locator(".dtjp-chosen")).to_contain_text("large")
        expect(panel.all.get_by_role("tab", name="Graph")).to_have_attribute(
            "aria-selected", "true"
        )

    def test_a_restart_of_the_kernel(self, panel: Panel) -> None:
        choose(panel.page, "Kernel", "Restart Kernel…")
        panel.page.get_by_role("button", name="Confirm Kernel Restart").click()
        expect(panel.all).to_contain_text("dt_jupyter is not loaded", timeout=60_000)
        expect(panel.view(LAG, "lag")).to_contain_text("Not live: run the cell again.")
        panel.button("Insert as a cell").click()
        inserted = panel.page.locator(".jp-Notebook:visible .jp-CodeCell.jp-mod-active")
        expect(inserted).to_contain_text("%load_ext dt_jupyter")
        panel.button("Run in this kernel").click()
        expect(panel.all).to_contain_text("No lake is open")

    def test_the_lake_that_was_open_is_offered(self, panel: Panel) -> None:
        recent = panel.all.get_by_role("region", name="Recent lakes")
        lake = recent.get_by_role("button", name="panel-lake")
        expect(lake).to_be_in_viewport(ratio=1)
        inside, panel_box = lake.bounding_box(), panel.all.bounding_box()
        assert inside is not None
        assert panel_box is not None
        assert inside["x"] >= panel_box["x"]
        assert inside["width"] <= panel_box["width"]
        panel.shoot("recent")

    def test_a_reload_of_the_page(self, panel: Panel) -> None:
        """The kernel knows the extension: it is found without a word from the user. Of the views
        that were saved the restarted kernel knows none: their pictures are seen."""
        choose(panel.page, "File", "Save Notebook")
        own = panel.page.locator(".lm-DockPanel-tabBar .lm-TabBar-tab", has_text="panel.ipynb")
        expect(own).not_to_have_class(re.compile("jp-mod-dirty"))
        assert panel.errors == []
        panel.page.reload()
        expect(panel.all).to_contain_text("No lake is open", timeout=60_000)
        shown = panel.cells.nth(CELLS.index(LAG))
        # JupyterLab draws what is out of sight when it has nothing else to do.
        shown.scroll_into_view_if_needed()
        expect(shown.locator(".dtj-static")).to_be_visible(timeout=60_000)
        expect(shown.get_by_text("model not found")).to_be_hidden()

    def test_a_kernel_that_was_shut_down_can_be_started(self, panel: Panel) -> None:
        choose(panel.page, "Kernel", "Shut Down Kernel")
        expect(panel.all).to_contain_text("No kernel", timeout=60_000)
        panel.shoot("no-kernel")
        panel.button("Start").click()
        expect(panel.all).to_contain_text("dt_jupyter is not loaded", timeout=60_000)

    def test_the_console_is_free_of_errors(self, panel: Panel) -> None:
        """But for those of the saved views, which come as each is drawn after the reload."""
        assert [error for error in panel.errors if MODEL_IS_GONE not in error] == []
