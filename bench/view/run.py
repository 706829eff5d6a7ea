"""Graphs in a real browser: pictures of them, and how long layout and dragging take.

`python bench/view/run.py FOLDER` builds the page with esbuild (of `labextension/node_modules`),
opens it in Chromium and writes pictures and `numbers.json` to FOLDER.
"""

import json
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

HERE = Path(__file__).parent
EXTENSION = HERE.parents[1] / "labextension"
FLAGS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-quic")
HTML = """<!doctype html><meta charset="utf-8">
<style>html,body{{margin:0;height:100%}}body{{--jp-layout-color1:{card};--jp-layout-color0:{page}}}
#place{{height:100%}}</style>
<body data-jp-theme-light="{light}"><div id="place"></div><script src="page.js"></script>"""


def build(folder: Path) -> None:
    esbuild = EXTENSION / "node_modules" / ".bin" / "esbuild"
    options = ["--bundle", "--minify", "--loader:.css=text", f"--outfile={folder / 'page.js'}"]
    subprocess.run([esbuild, HERE / "page.ts", *options, "--log-level=warning"], check=True)
    for name, light, card, page in (
        ("light", "true", "#fff", "#fff"),
        ("dark", "false", "#212121", "#111"),
    ):
        text = HTML.format(light=light, card=card, page=page)
        (folder / f"{name}.html").write_text(text, "utf-8")


def shoot(page: Page, path: Path) -> None:
    page.wait_for_timeout(500)
    page.screenshot(path=path)


def pictures(page: Page, folder: Path, theme: str) -> dict[str, float]:
    times = {}
    for name in ("shop", "empty", "thousand", "fan"):
        times[f"{name} shown, ms"] = page.evaluate(f"show('{name}')")
        shoot(page, folder / f"{name}-{theme}.png")
    page.evaluate("show('shop', true)")
    shoot(page, folder / f"shop-right-{theme}.png")
    page.evaluate("show('shop')")
    page.wait_for_timeout(200)
    page.locator(".dtj-node", has_text="daily_revenue").first.click()
    shoot(page, folder / f"chosen-{theme}.png")
    page.locator(".dtj-column", has_text="amount").click()
    shoot(page, folder / f"lineage-{theme}.png")
    return times


def dragging(page: Page) -> dict[str, dict[str, float]]:
    """Frames a second while 1,000 nodes are dragged, seen from afar and from near."""
    found = {}
    for name, zooms in (("far", 0), ("middle", 9), ("near", 13)):
        page.evaluate("show('thousand')")
        page.locator(".dtj-view").focus()
        for _ in range(zooms):
            page.keyboard.press("+")
        page.wait_for_timeout(800)
        times = page.evaluate("drag(150)")
        found[name] = {
            "detail": page.locator(".dtj-dag").get_attribute("data-detail"),
            "frames a second": round(1000 / statistics.fmean(times), 1),
            "median, ms": round(statistics.median(times), 1),
            "95th percentile, ms": round(sorted(times)[int(len(times) * 0.95)], 1),
        }
    return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    build(folder)
    numbers: dict[str, object] = {"page.js, bytes": (folder / "page.js").stat().st_size}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        errors: list[str] = []
        for theme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.goto((folder / f"{theme}.html").as_uri())
            numbers[theme] = pictures(page, folder, theme)
            if theme == "light":
                numbers["dragged"] = dragging(page)
        page = browser.new_page(viewport={"width": 380, "height": 720})
        page.goto((folder / "dark.html").as_uri())
        page.evaluate("show('shop')")
        shoot(page, folder / "narrow-dark.png")
        browser.close()
    numbers["errors"] = errors
    (folder / "numbers.json").write_text(json.dumps(numbers, indent=1), "utf-8")
    print(json.dumps(numbers, indent=1))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
