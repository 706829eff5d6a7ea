"""The panel's comms with a real kernel: asked and told while cells run, and cleaned up."""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from dt_jupyter.wire.schema import WIRE_VERSION
from tests.notebook.conftest import Kernel

SOON = 40.0
THREADS = "sorted({t.name for t in __import__('threading').enumerate() if t.name[:3] == 'dt-'})"


class Panel:
    """Speaks with the kernel as JupyterLab does: comms of its own, requests to a subshell."""

    def __init__(self, kernel: Kernel) -> None:
        self.client = kernel.client
        self.kernel = kernel
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.comms: dict[str, str] = {}
        self.subshell = self._subshell()
        self.gate = kernel.folder / "gate"
        self._id = 0

    def _subshell(self) -> str | None:
        message = self.client.session.msg("create_subshell_request", {})
        self.client.control_channel.send(message)
        reply = self.client.get_control_msg(timeout=SOON)
        found: str | None = reply["content"].get("subshell_id")
        return found

    def _send(self, kind: str, content: dict[str, Any], subshell: str | None = None) -> None:
        message = self.client.session.msg(kind, content)
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(message)

    def open(self, role: str, version: int = WIRE_VERSION) -> str:
        comm = uuid.uuid4().hex
        self.comms[comm] = role
        data = {"role": role, "version": version}
        self._send("comm_open", {"comm_id": comm, "target_name": "dt_jupyter", "data": data})
        return comm

    def asking(self) -> str:
        """A comm that is ready to be asked on: what a subshell hears before that is lost."""
        comm = self.open("ask")
        self.heard(comm, "hello")
        return comm

    def send(self, comm: str, data: Any) -> None:
        self._send("comm_msg", {"comm_id": comm, "data": data}, self.subshell)

    def ask(self, comm: str, ask: str, **fields: Any) -> int:
        self._id += 1
        self.send(comm, {"id": self._id, "ask": ask, **fields})
        return self._id

    def close(self) -> None:
        for comm in self.comms:
            self._send("comm_close", {"comm_id": comm, "data": {}})
        self.comms = {}

    def until(self, found: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
        """The next message of a comm, or of a cell's state, that is looked for; all that came are
        in `told`."""
        deadline = time.monotonic() + SOON
        while time.monotonic() < deadline:
            try:
                message = self.client.get_iopub_msg(timeout=0.2)
            except queue.Empty:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "comm_msg" and content["comm_id"] in self.comms:
                item = (content["comm_id"], content["data"])
            elif kind == "status":
                parent = message["parent_header"].get("msg_id", "")
                item = (parent, {"state": content["execution_state"]})
            else:
                continue
            self.told.append(item)
            if found(*item):
                return item[1]
        pytest.fail(f"it did not come; there came {self.told}")

    def busy(self) -> str:
        """A cell that runs until `ended`."""
        self.gate.unlink(missing_ok=True)
        cell: str = self.client.execute(
            f"import time, pathlib\nwhile not pathlib.Path({str(self.gate)!r}).exists():\n"
            "    time.sleep(0.02)"
        )
        self.until(lambda of, data: of == cell and data.get("state") == "busy")
        return cell

    def ended(self, cell: str) -> None:
        """Lets the cell end, which has not until now."""
        assert (cell, {"state": "idle"}) not in self.told
        self.gate.touch()
        self.done(cell)

    def done(self, cell: str) -> None:
        self.until(lambda of, data: of == cell and data.get("state") == "idle")

    def reply(self, number: int) -> dict[str, Any]:
        came = [data for _, data in self.told if data.get("id") == number]
        found = came[0] if came else self.until(lambda _, data: data.get("id") == number)
        message: dict[str, Any] = found["message"]
        return message

    def heard(self, comm: str, kind: str) -> dict[str, Any]:
        def wanted(of: str, data: dict[str, Any]) -> bool:
            return of == comm and "id" not in data and data["message"]["type"] == kind

        message: dict[str, Any] = self.until(wanted)["message"]
        return message


@pytest.fixture
def panel(kernel: Kernel) -> Iterator[Panel]:
    made = Panel(kernel)
    yield made
    made.gate.touch()
    made.close()


@pytest.fixture(scope="module", autouse=True)
def watched(kernel: Kernel) -> None:
    made = kernel.run(
        "%%dt\nCREATE TABLE IF NOT EXISTS seen (id INT);\n"
        "CREATE DYNAMIC TABLE IF NOT EXISTS watched TARGET_LAG = '1 day' AS SELECT id FROM seen"
    )
    assert made.ok


def test_requests_are_answered_before_the_cell_that_runs_has_ended(panel: Panel) -> None:
    ask = panel.asking()
    cell = panel.busy()
    quick = panel.ask(ask, "graph")
    slow = panel.ask(ask, "detail", name="watched")
    assert panel.reply(quick)["type"] == "graph"
    assert panel.reply(slow)["type"] == "detail"
    # The answer of a thread has not sent the next request to the main shell.
    last = panel.ask(ask, "lag", name="watched")
    assert panel.reply(last)["type"] == "lag"
    panel.ended(cell)


def test_events_are_heard_while_a_cell_runs(panel: Panel) -> None:
    listen = panel.open("listen")
    hello = panel.heard(listen, "hello")
    ask = panel.asking()
    assert hello["lake"] == str(panel.kernel.lake.resolve())
    panel.kernel.run("%dt INSERT INTO seen VALUES (1)").ok  # noqa: B018
    cell = panel.busy()
    assert panel.reply(panel.ask(ask, "refresh", name="watched"))["type"] == "done"
    happened = []
    while happened[-1:] != ["ended"]:  # a busy machine may tell of progress between
        happened.append(panel.heard(listen, "event")["happened"])
    assert happened[0] == "started"
    suspend = panel.ask(ask, "suspend", name="watched")
    assert panel.heard(listen, "event")["happened"] == "changed"
    assert panel.reply(suspend)["type"] == "done"
    panel.ended(cell)


def test_a_panel_of_another_release_gets_a_hello_and_no_more(panel: Panel) -> None:
    for role in ("ask", "listen", "sing"):
        comm = panel.open(role, WIRE_VERSION + 1)
        assert panel.heard(comm, "hello")["version"] == WIRE_VERSION
    panel.ask(comm, "graph")
    good = panel.asking()
    panel.reply(panel.ask(good, "hello"))
    assert not [data for of, data in panel.told if of == comm and "id" in data]


def test_what_is_no_request_is_an_error(panel: Panel) -> None:
    comm = panel.asking()
    for value in ([1, 2], "graph", {"id": 0, "ask": "dance"}, {"ask": "graph"}, None):
        panel.send(comm, value)
        panel.told.clear()
        error = panel.reply(0)
        assert (error["type"], error["code"]) == ("error", "DT-5110")


def test_nothing_stays_when_the_panel_goes(panel: Panel) -> None:
    panel.heard(panel.open("listen"), "hello")
    ask = panel.asking()
    opened = panel.reply(panel.ask(ask, "replay", name="seen"))
    assert opened["type"] == "replay"
    assert "dt-events" in panel.kernel.value(THREADS)
    assert panel.kernel.value("len(dt.pins())") == "1"
    panel.close()
    assert "dt-events" not in panel.kernel.value(f"(__import__('time').sleep(0.3), {THREADS})[1]")
    assert panel.kernel.value("len(dt.pins())") == "0"


def test_the_panel_hears_of_an_engine_that_is_closed_and_opened(panel: Panel) -> None:
    listen = panel.open("listen")
    assert panel.heard(listen, "hello")["lake"] is not None
    closed = panel.client.execute("dt.close()")
    assert panel.heard(listen, "hello")["lake"] is None
    panel.done(closed)
    opened = panel.client.execute("%dt connect")
    begun = panel.heard(listen, "hello")
    assert (begun["lake"], begun["starting"]) == (None, True)
    ready = panel.heard(listen, "hello")
    assert ready["lake"] is not None
    assert not ready["starting"]
    panel.done(opened)


def test_a_panel_that_was_there_first_is_told(kernel: Kernel) -> None:
    panel = Panel(kernel)
    kernel.client.execute("%reload_ext dt_jupyter")
    deadline = time.monotonic() + SOON
    while time.monotonic() < deadline:
        message = kernel.client.get_iopub_msg(timeout=SOON)
        if message["msg_type"] == "comm_open":
            assert message["content"]["target_name"] == "dt_jupyter_hello"
            assert message["content"]["data"] == {"version": WIRE_VERSION}
            break
    else:
        pytest.fail("no hello")
    assert kernel.run("%dt connect").ok
    assert kernel.value("dt.status()['scheduler']") == "'running'"
    panel.close()
