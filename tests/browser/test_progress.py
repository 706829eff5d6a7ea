"""What runs is shown below its cell with a button that stops it, and leaves nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = [pytest.mark.browser, pytest.mark.slow]
ENDLESS = """import threading
from dt_jupyter.spark import activity
with activity("UPDATE orders"):
    while True:
        threading.Event().wait(0.05)"""
IN_A_THREAD = """def work():
    with activity("Refreshing daily") as made:
        while not made.stopped:
            threading.Event().wait(0.05)
thread = threading.Thread(target=work)
thread.start()"""


def run(page: Page, cell: Locator) -> None:
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")


def test_a_button_stops_what_runs(
    open_cells: Callable[..., Locator],
    page: Page,
    screenshot: Callable[[], Path],
    console_errors: list[str],
) -> None:
    load, endless, threaded, join = open_cells(
        "%load_ext dt_jupyter", ENDLESS, IN_A_THREAD, "thread.join(60)\nthread.is_alive()"
    ).all()
    run(page, load)
    expect(load).to_contain_text("Next: %dt connect")
    run(page, endless)
    expect(endless.locator(".dtj-running")).to_contain_text("UPDATE orders")
    screenshot()
    endless.get_by_role("button", name="Stop").click()
    expect(endless).to_contain_text("KeyboardInterrupt")
    expect(endless.locator(".dtj-running")).to_have_count(0)
    run(page, threaded)
    expect(threaded.locator(".dtj-running")).to_contain_text("Refreshing daily")
    expect(page.locator("#jp-main-statusbar")).to_contain_text("| Idle")
    threaded.get_by_role("button", name="Stop").click()
    expect(threaded.locator(".dtj-running")).to_have_count(0)
    run(page, join)
    expect(join).to_contain_text("False")
    assert console_errors == []
