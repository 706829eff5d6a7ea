"""What a script shows on a terminal of what takes long."""

from __future__ import annotations

import io
import threading

import pytest

from dt_jupyter.engine import terminal_progress as module
from dt_jupyter.engine.terminal_progress import terminal_line


class Terminal(io.StringIO):
    """Text that is written, and a condition for who waits for more of it."""

    def __init__(self, tty: bool = True) -> None:
        super().__init__()
        self.tty, self.came = tty, threading.Condition()

    def isatty(self) -> bool:
        return self.tty

    def flush(self) -> None:
        with self.came:
            self.came.notify_all()

    def wait_for(self, text: str) -> None:
        with self.came:
            assert self.came.wait_for(lambda: text in self.getvalue(), 60)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(module, "_EACH_SECONDS", 0.01)


def test_what_takes_long_is_said_and_goes_at_its_end() -> None:
    shown = Terminal()
    with terminal_line("Refreshing daily", shown):
        shown.wait_for("\r\x1b[KRefreshing daily · 0 s")
    assert shown.getvalue().endswith("\r\x1b[K")


def test_what_is_called_inside_has_no_line_of_its_own() -> None:
    shown = Terminal()
    with terminal_line("Running SQL", shown):
        with terminal_line("Refreshing daily", shown):
            shown.wait_for("Running SQL")
        assert "Refreshing" not in shown.getvalue()
    with terminal_line("Refreshing daily", shown):
        shown.wait_for("Refreshing daily")


def test_a_pipe_and_what_is_short_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe, quick = Terminal(tty=False), Terminal()
    with terminal_line("Refreshing daily", pipe):
        assert not threading.Event().wait(0.05)
    monkeypatch.setattr(module, "_FIRST_SECONDS", 60)
    with terminal_line("Refreshing daily", quick):
        pass
    assert pipe.getvalue() == quick.getvalue() == ""


def test_a_block_that_fails_leaves_no_line() -> None:
    shown = Terminal()

    def fail() -> None:
        with terminal_line("Running SQL", shown):
            shown.wait_for("Running SQL")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert shown.getvalue().endswith("\r\x1b[K")
