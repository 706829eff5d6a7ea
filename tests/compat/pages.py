"""What is tried in a browser: JupyterLab with the installed package, and a page without a kernel.

    python pages.py lab BROWSER PYTHON FOLDER      BROWSER: chromium or firefox
    python pages.py page BROWSER MODULES FOLDER

`lab` starts the JupyterLab of PYTHON, runs a notebook, and looks at its live view and at the panel.
`page` opens `story.html` of FOLDER; MODULES is a `node_modules` with the widget manager for pages,
anywidget and requirejs, which stand for the servers that such a page loads them from. Both leave
pictures in FOLDER. Run with Playwright and the checkout on the path.
"""

from __future__ import annotations

import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Playwright, Route, expect, sync_playwright

from tests.browser.conftest import (
    CHROMIUM_FLAGS,
    Lab,
    drain_when_ready,
    free_port,
    lab_command,
    lab_environment,
    stop,
    write_settings,
)
from tests.compat.story import CELLS

SPARK_MILLISECONDS = 240_000
SOON = 60_000
SHOWN = ("load", "connect", "tables", "dynamic table", "graph", "lag", "replay")
LIVE = {"graph": "totals", "lag": "target", "replay": "street"}
"""By kind of view: what it shows; `street` is a value of a row, which the kernel was asked for."""
LOADED = re.compile(r"/(?P<package>(?:@[^/@]+/)?[^/@]+)@[^/]*/(?P<file>dist/.+)$")
"""The address from which a page loads a package."""


def try_lab(browser: Browser, python: Path, folder: Path) -> None:
    with running_lab(python, folder / "jupyter") as lab:
        lab.write_notebook("story.ipynb", *(CELLS[name][0] for name in SHOWN))
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(lab.url("story.ipynb"))
        page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=SOON)
        run_all(page)
        cells = page.locator(".jp-CodeCell")
        prompt = cells.nth(len(SHOWN) - 1).locator(".jp-InputPrompt")
        expect(prompt).to_have_text(re.compile(r"\[\d+\]"), timeout=SPARK_MILLISECONDS)
        failed = page.locator("[data-mime-type='application/vnd.jupyter.error']")
        expect(failed).to_have_count(0)
        look_at_widgets(page, folder)
        look_at_panel(page, folder)
        assert not errors, errors


def look_at_widgets(page: Page, folder: Path) -> None:
    for kind, shown in LIVE.items():
        cell = page.locator(".jp-CodeCell").nth(SHOWN.index(kind))
        view = cell.locator(f".dtjw-{kind}")
        view.scroll_into_view_if_needed(timeout=SOON)
        expect(view).to_contain_text(shown, timeout=SOON)
        expect(cell.locator(".dtj-static")).to_be_hidden()
        view.screenshot(path=folder / f"widget-{kind}.png")


def look_at_panel(page: Page, folder: Path) -> None:
    page.locator(".lm-TabBar-tab[title='Dynamic Tables']").click()
    for name in ("orders", "items", "totals"):
        node = page.locator(f".dtjp .dtj-node[aria-label^='{name},']")
        expect(node).to_be_visible(timeout=SOON)
    page.screenshot(path=folder / "panel.png")


def run_all(page: Page) -> None:
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()


@contextmanager
def running_lab(python: Path, home: Path) -> Iterator[Lab]:
    """The JupyterLab of that Python, with the extension that is installed there."""
    (home / "root").mkdir(parents=True)
    write_settings(home / "settings")
    port, token = free_port(), secrets.token_hex(16)
    environment = {**lab_environment(home), "PYTHONPATH": "", "JUPYTER_PREFER_ENV_PATH": "1"}
    process = subprocess.Popen(
        [str(python), *lab_command(home, port, token)[1:]],
        env=environment,
        cwd=home,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        drain_when_ready(process)
        yield Lab(f"http://127.0.0.1:{port}", token, home / "root")
    finally:
        stop(process)


def try_page(browser: Browser, modules: Path, folder: Path) -> None:
    page = browser.new_page(viewport={"width": 1000, "height": 1000})
    page.route(re.compile("^https?:"), lambda route: serve(route, modules))
    page.goto((folder / "story.html").as_uri())
    for kind in LIVE:
        view = page.locator(f".dtjw-{kind}")
        expect(view).to_be_visible(timeout=SOON)
        view.scroll_into_view_if_needed()
        view.screenshot(path=folder / f"page-{kind}.png")
    page.screenshot(path=folder / "page.png", full_page=True)


def serve(route: Route, modules: Path) -> None:
    """A file of a package, from the folder of packages; nothing else is loaded."""
    match = LOADED.search(route.request.url)
    file = modules / match["package"] / match["file"] if match else None
    if "require.min.js" in route.request.url:
        file = modules / "requirejs" / "require.js"
    found = next((f for f in (file, Path(f"{file}.js")) if f is not None and f.is_file()), None)
    if found is None:
        route.abort()
    else:
        route.fulfill(path=found, content_type="text/javascript")


def launched(playwright: Playwright, name: str) -> Browser:
    """The system's browser. Firefox is driven by WebDriver BiDi, which it speaks as it is."""
    if name == "firefox":
        program = shutil.which("firefox-esr") or shutil.which("firefox")
        return playwright.firefox.launch(channel="moz-firefox", executable_path=program)
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    return playwright.chromium.launch(executable_path=program, args=CHROMIUM_FLAGS)


def main(what: str, name: str, given: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = launched(playwright, name)
        try:
            (try_lab if what == "lab" else try_page)(browser, Path(given), folder)
        finally:
            browser.close()
        print(f"{name} {browser.version}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], Path(sys.argv[4]).resolve())
