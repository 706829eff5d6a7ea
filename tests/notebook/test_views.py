"""Live views below a cell, asked over their own comms as a notebook's front end does."""

from __future__ import annotations

import queue
import time
from typing import Any

import pytest

from tests.notebook.conftest import Kernel

SOON = 60.0
PINS = "len(dt.pins())"


class FrontEnd:
    """Runs cells that it names, and speaks with the widgets below them."""

    def __init__(self, kernel: Kernel) -> None:
        self.client = kernel.client
        self._id = 0

    def run(self, cell: str, source: str) -> list[tuple[str, dict[str, Any]]]:
        """The comm and the state of each live view that the cell shows."""
        content = {"code": source, "silent": False, "store_history": True, "stop_on_error": True}
        sent = self._send("execute_request", content, {"cellId": cell})
        opened = []
        while True:
            message = self._next()
            kind, of = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != sent:
                continue
            assert kind != "error", of
            if kind == "comm_open" and "kind" in of["data"].get("state", {}):
                opened.append((of["comm_id"], of["data"]["state"]))
            if kind == "status" and of["execution_state"] == "idle":
                return opened

    def ask(self, comm: str, ask: str, **fields: Any) -> dict[str, Any]:
        self._id += 1
        request = {"id": self._id, "ask": ask, **fields}
        self._send("comm_msg", {"comm_id": comm, "data": {"method": "custom", "content": request}})
        while True:
            message = self._next()
            of = message["content"]
            if message["msg_type"] == "comm_msg" and of["comm_id"] == comm:
                told: dict[str, Any] = of["data"].get("content", {})
                if told.get("id") == self._id:
                    answer: dict[str, Any] = told["message"]
                    return answer

    def rows(self, view: tuple[str, dict[str, Any]], step: int) -> list[list[str]]:
        comm, state = view
        answer = self.ask(comm, "rows", replay=state["message"]["replay"], step=step)
        assert answer["type"] == "rows", answer
        marked = zip(answer["rows"], answer["marks"], strict=True)
        return [row for row, mark in marked if mark != "deleted"]

    def closed(self, view: tuple[str, dict[str, Any]]) -> str:
        comm, state = view
        answer = self.ask(comm, "rows", replay=state["message"]["replay"], step=0)
        assert answer["code"] == "DT-4108"
        return f"{answer['sentence']} {answer['hint']}"

    def _send(self, kind: str, content: dict[str, Any], metadata: Any = None) -> str:
        message = self.client.session.msg(kind, content, metadata=metadata)
        self.client.shell_channel.send(message)
        sent: str = message["header"]["msg_id"]
        return sent

    def _next(self) -> dict[str, Any]:
        deadline = time.monotonic() + SOON
        while time.monotonic() < deadline:
            try:
                found: dict[str, Any] = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            return found
        pytest.fail("nothing more was heard")


@pytest.fixture
def page(kernel: Kernel) -> FrontEnd:
    made = (
        "CREATE TABLE IF NOT EXISTS walked (id INT);"
        "INSERT OVERWRITE walked VALUES (1), (2); DELETE FROM walked WHERE id = 1"
    )
    kernel.run(f"%%dt\n{made}").ok  # noqa: B018
    return FrontEnd(kernel)


def test_a_replay_in_a_cell_has_rows_at_each_step(kernel: Kernel, page: FrontEnd) -> None:
    before = int(kernel.value(PINS))
    last = "dt.sql('DESCRIBE HISTORY walked').count() - 1"
    newest = int(kernel.value(last))
    (first,) = page.run("a", f"%replay walked --at {newest - 1} --to now -o steps")
    assert page.rows(first, 0) == [["1"], ["2"]]
    assert page.rows(first, 1) == [["2"]]
    kernel.run("import gc\ngc.collect()").ok  # noqa: B018
    assert page.rows(first, 0) == [["1"], ["2"]]
    (other,) = page.run("b", "%replay walked --at 0 --to now")
    assert page.rows(other, 0) == []
    assert page.rows(first, 1) == [["2"]]
    assert kernel.value(PINS) == str(before + 2)
    assert page.rows(first, 0) == [["1"], ["2"]]
    (again,) = page.run("a", f"%replay walked --at {newest - 1} --to now")
    assert kernel.value(PINS) == str(before + 2)  # the first run's is closed
    assert page.rows(again, 1) == [["2"]]
    assert kernel.value("[r['STEP'] for r in steps.collect()]") == "[0, 1]"


def test_a_replay_of_an_engine_that_was_closed_says_what_to_do(
    kernel: Kernel, page: FrontEnd
) -> None:
    (view,) = page.run("c", "%replay walked --to now")
    kernel.run("dt.close()").ok  # noqa: B018
    kernel.run("%dt connect").ok  # noqa: B018
    assert page.closed(view) == "This replay is closed. Run the cell again."
    (view,) = page.run("c", "%replay walked --at 0 --to now")
    assert page.rows(view, 0) == []


def test_a_replay_of_a_cells_own_making_is_told_in_a_line(kernel: Kernel, page: FrontEnd) -> None:
    told = kernel.run("kept = dt.replay('walked', 0, 1)\nkept").ok.text
    assert told.startswith("<replay of walked at ")
    assert "2 snapshots, pinned" in told
    kernel.run("dt.close()").ok  # noqa: B018
    assert "DT-4108: This replay is closed." in kernel.run("kept.frame(0).count()").told
    assert "DT-4108: This replay is closed." in kernel.run("kept[0]").told
    assert kernel.value("kept").endswith("2 snapshots, closed>")
    kernel.run("kept.close()").ok  # noqa: B018
    kernel.run("%dt connect").ok  # noqa: B018
