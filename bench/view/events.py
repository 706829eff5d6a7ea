"""From what the engine does to what the panel shows, in a real JupyterLab with a real Spark.

`python -m bench.view.events`: a dynamic table is suspended and resumed, again and again, in a cell
that keeps the kernel busy; the page notes when its card has changed and a frame was drawn. The
clocks are one machine's. Prints medians and 95th percentiles.
"""

from __future__ import annotations

import json
import secrets
import shutil
import statistics
import subprocess
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import (
    CHROMIUM_FLAGS,
    Lab,
    drain_when_ready,
    free_port,
    install_extension,
    lab_command,
    lab_environment,
    stop,
    write_settings,
)

TIMES = 40
CELLS = (
    "%load_ext dt_jupyter\n%dt connect lake",
    "%%dt\nCREATE TABLE orders (id INT, item STRING);\nINSERT INTO orders VALUES (1, 'rug');\n"
    "CREATE DYNAMIC TABLE sold TARGET_LAG = '1 hour' AS "
    "SELECT item, count(*) AS n FROM orders GROUP BY item",
    "import json, time\nfrom pathlib import Path\ndone = []\n"
    f"for i in range({TIMES}):\n"
    "    begun = time.time() * 1000\n"
    "    _ = dt.sql('ALTER DYNAMIC TABLE sold ' + ('RESUME' if i % 2 else 'SUSPEND'))\n"
    "    done.append((begun, time.time() * 1000))\n"
    "    time.sleep(0.5)\n"
    "_ = Path('done.json').write_text(json.dumps(done))",
)
WATCH = """
() => {
  const node = [...document.querySelectorAll('.dtjp .dtj-node')]
    .find(n => n.getAttribute('aria-label').startsWith('sold'));
  const state = () => /suspended/i.test(node.getAttribute('aria-label'));
  window.seen = [];
  let was = state();
  new MutationObserver(() => {
    if (state() !== was) {
      was = !was;
      requestAnimationFrame(() => requestAnimationFrame(() => window.seen.push(Date.now())));
    }
  }).observe(node, { attributes: true, subtree: true, childList: true });
}
"""


def run_cell(page: Page, number: int, timeout: int) -> None:
    cell = page.locator(".jp-CodeCell").nth(number)
    cell.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")
    ended = cell.locator(".jp-InputPrompt", has_text=f"[{number + 1}]:")
    ended.wait_for(timeout=timeout)


def measured(page: Page, lab: Lab) -> tuple[list[float], list[float]]:
    """Milliseconds of each change up to the frame after the card's: from the statement's begin,
    and from its end, between which the engine has written."""
    lab.write_notebook("events.ipynb", *CELLS)
    page.goto(lab.url("events.ipynb"))
    page.locator("#jp-main-statusbar").get_by_text("| Idle").wait_for(timeout=60_000)
    page.locator('.jp-SideBar .lm-TabBar-tab[title="Dynamic Tables"]').click()
    run_cell(page, 0, 180_000)
    run_cell(page, 1, 180_000)
    page.locator(".dtjp .dtj-node[aria-label^='sold']").wait_for(timeout=30_000)
    page.evaluate(WATCH)
    run_cell(page, 2, 120_000)
    page.wait_for_timeout(2_000)
    done = json.loads((lab.root / "done.json").read_text("utf-8"))
    seen = page.evaluate("window.seen")
    if len(seen) != len(done):
        raise SystemExit(f"{len(seen)} changes were seen of {len(done)}")
    both = [(shown - a, shown - b) for (a, b), shown in zip(done, seen, strict=True)]
    return sorted(a for a, _ in both), sorted(b for _, b in both)


def main() -> None:
    home = Path(tempfile.mkdtemp(prefix="dt_events_"))
    (home / "root").mkdir()
    install_extension(home / "path")
    write_settings(home / "settings")
    token, port = secrets.token_hex(16), free_port()
    process = subprocess.Popen(
        lab_command(home, port, token),
        env=lab_environment(home),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        drain_when_ready(process)
        lab = Lab(f"http://127.0.0.1:{port}", token, home / "root")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=CHROMIUM_FLAGS
            )
            found = measured(browser.new_page(viewport={"width": 1280, "height": 800}), lab)
            browser.close()
    finally:
        stop(process)
        shutil.rmtree(home, ignore_errors=True)
    for since, times in zip(("begin", "end"), found, strict=True):
        median, most = statistics.median(times), times[int(len(times) * 0.95)]
        told = f"{len(times)} changes, since the statement's {since}:"
        print(f"{told} median {median:.0f} ms, 95th percentile {most:.0f} ms")


if __name__ == "__main__":
    main()
