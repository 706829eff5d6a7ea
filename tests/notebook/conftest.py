"""A real IPython kernel with real Spark, one for the whole run, spoken to as JupyterLab does."""

from __future__ import annotations

import os
import queue
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager, start_new_kernel

from tests.java_options import INTERPRETED

CHECKOUT = Path(__file__).parents[2]
LIMIT_SECONDS = 600.0
os.environ["SPARK_SUBMIT_OPTS"] = f"{os.environ.get('SPARK_SUBMIT_OPTS', '')} {INTERPRETED}"


@dataclass
class Reply:
    """What one cell showed: streams and text/plain in `text`, HTML, and its error if any."""

    text: str = ""
    html: str = ""
    error: str | None = None
    trace: list[str] = field(default_factory=list)

    @property
    def ok(self) -> Reply:
        assert self.error is None, "\n".join(self.trace)
        return self

    @property
    def told(self) -> str:
        """The lines of the error, without colours."""
        text = "\n".join(self.trace)
        for code in ("\x1b[31m", "\x1b[1m", "\x1b[2m", "\x1b[0m"):
            text = text.replace(code, "")
        return text


@dataclass
class Kernel:
    """A running kernel; `folder` is where it works, `lake` the lake of its engine."""

    manager: KernelManager
    client: BlockingKernelClient
    folder: Path

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def run(self, source: str, interrupt_when: Callable[[], bool] | None = None) -> Reply:
        """Runs a cell to its end; interrupts the kernel, once, when that becomes true."""
        sent = self.client.execute(source)
        reply, pressed, waited = Reply(), interrupt_when is None, 0.0
        while waited < LIMIT_SECONDS:
            try:
                message = self.client.get_iopub_msg(timeout=0.1)
            except queue.Empty:
                message, waited = None, waited + 0.1
            if not pressed and interrupt_when is not None and interrupt_when():
                self.manager.interrupt_kernel()
                pressed = True
            if message is None or message["parent_header"].get("msg_id") != sent:
                continue
            if _take(reply, message["msg_type"], message["content"]):
                assert pressed, f"the cell ended before it was interrupted: {reply}"
                return reply
        pytest.fail(f"no end of: {source}")

    def value(self, expression: str) -> str:
        """The repr of an expression."""
        return self.run(expression).ok.text

    def complete(self, text: str) -> list[str]:
        """What Tab offers at the end of the text."""
        sent = self.client.complete(text, len(text))
        while True:
            reply = self.client.get_shell_msg(timeout=LIMIT_SECONDS)
            if reply["parent_header"].get("msg_id") == sent:
                found: list[str] = reply["content"]["matches"]
                return found


def _take(reply: Reply, kind: str, content: dict[str, Any]) -> bool:
    """Adds a message to the reply; true when the cell has ended."""
    if kind == "stream":
        reply.text += content["text"]
    elif kind in ("display_data", "execute_result"):
        reply.text += content["data"].get("text/plain", "")
        reply.html += content["data"].get("text/html", "")
    elif kind == "error":
        reply.error, reply.trace = content["ename"], content["traceback"]
    return kind == "status" and content["execution_state"] == "idle"


@contextmanager
def start_kernel(folder: Path) -> Iterator[Kernel]:
    """A kernel that works in a folder, for the block."""
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), "IPYTHONDIR": str(folder / "ipython")}
    manager, client = start_new_kernel(kernel_name="python3", cwd=str(folder), env=environment)
    try:
        yield Kernel(manager, client, folder)
    finally:
        client.stop_channels()
        manager.shutdown_kernel()


@pytest.fixture(scope="session")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """A kernel in an empty folder, with the extension loaded and nothing connected."""
    with start_kernel(tmp_path_factory.mktemp("kernel")) as kernel:
        kernel.run("%load_ext dt_jupyter").ok  # noqa: B018  (fails where the extension does)
        yield kernel
