"""What a front end is shown of a statement while it runs, and what is left of it at the end."""

from __future__ import annotations

import pytest

from tests.notebook.conftest import Kernel
from tests.notebook.test_views import FrontEnd

ENDLESS = (
    "SELECT count(*) AS n FROM range(1000000) a CROSS JOIN range(1000000) b "
    "WHERE hash(a.id, b.id) = 7"
)
CASES = {
    "line magic": (f"%dt CREATE TABLE never AS {ENDLESS}", "CREATE TABLE never AS SELECT"),
    "query": (f"%%dt\n{ENDLESS}", "SELECT count(*) AS n"),
    "table": (f"%%dynamic_table never\n{ENDLESS}", "Creating never"),
    "python": (f"dt.sql('''CREATE TABLE never AS {ENDLESS}''')", "CREATE TABLE never AS SELECT"),
    "nested": ("dt.apply(plan)", "Applying the plan"),
    "plain Spark": (f"spark.sql('''{ENDLESS}''').collect()", "Spark jobs of this cell"),
}


class Watcher(FrontEnd):
    """Runs a cell as JupyterLab does, and interrupts it once a Spark job of it is shown."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.manager = kernel.manager

    def watch(self, source: str) -> tuple[list[list[str]], str]:
        """What each output that is drawn again showed, one after the other, and the error."""
        content = {"code": source, "silent": False, "store_history": True, "stop_on_error": True}
        sent = self._send("execute_request", content, {"cellId": "a"})
        drawn: dict[str, list[str]] = {}
        error, pressed = "", False
        while True:
            message = self._next()
            kind, of = message["msg_type"], message["content"]
            if kind in ("display_data", "update_display_data"):
                text = of["data"]["text/plain"]
                drawn.setdefault(of.get("transient", {}).get("display_id", ""), []).append(text)
                if "job" in text and not pressed:
                    pressed = True
                    self.manager.interrupt_kernel()
            if message["parent_header"].get("msg_id") != sent:
                continue
            error = "".join(of["traceback"]) if kind == "error" else error
            if kind == "status" and of["execution_state"] == "idle":
                return [*drawn.values()], error


@pytest.fixture(scope="module")
def watcher(kernel: Kernel) -> Watcher:
    kernel.run("%dt connect lake").ok  # noqa: B018
    script = f"CREATE DYNAMIC TABLE never TARGET_LAG = '1 day' AS {ENDLESS}"
    kernel.run(f"plan = dt.plan('''{script}''')").ok  # noqa: B018
    return Watcher(kernel)


@pytest.mark.parametrize("case", CASES)
def test_one_output_shows_it_and_is_empty_at_the_end(watcher: Watcher, case: str) -> None:
    source, title = CASES[case]
    drawn, error = watcher.watch(source)
    assert "Interrupted" in error
    (texts,) = drawn
    assert texts[-1] == ""
    assert all(text.startswith(title) for text in texts[:-1]), texts
    assert any(" job" in text for text in texts)


def test_nothing_is_left_half_done(watcher: Watcher, kernel: Kernel) -> None:
    assert kernel.value("[n for n in dt.graph().nodes if n.name.table == 'never']") == "[]"
    assert kernel.value("spark.catalog.tableExists('never')") == "False"


def test_a_front_end_that_names_no_cell_is_shown_nothing(kernel: Kernel, watcher: Watcher) -> None:
    """As under nbclient and papermill: outputs are what the statements gave."""
    kernel.run("from dt_jupyter.spark import ACTIVITIES; ACTIVITIES._first = 0.0").ok  # noqa: B018
    try:
        reply = kernel.run("%dt CREATE TABLE unshown AS SELECT id FROM range(10)").ok
    finally:
        kernel.run("ACTIVITIES._first = 1.0").ok  # noqa: B018
    assert reply.text == "CREATE TABLE unshown: 10 rows\n"
    assert reply.html == ""
