"""What a script shows on a terminal of what takes long."""

from __future__ import annotations

import io
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.engine import terminal_progress
from dt_jupyter.engine.terminal_progress import draw_line, line_of, show_on_terminal
from dt_jupyter.model import ActivityState, Progress
from dt_jupyter.spark import ACTIVITIES, Activity

ENDED = ActivityState("Refreshing up", 3.0, ended=True)
RUNNING = ActivityState("Waiting for the refresh of up", 1.0)
NESTED = ActivityState("Refreshing daily", 2.0, steps=(RUNNING,))


class Terminal(io.StringIO):
    def __init__(self, tty: bool = True) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return stderr(monkeypatch, Terminal())


def stderr(monkeypatch: pytest.MonkeyPatch, found: Any) -> Any:
    """In the place of the one that pytest exchanges."""
    monkeypatch.setattr(terminal_progress, "sys", SimpleNamespace(stderr=found))
    return found


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (ActivityState("Vacuuming", 2.4), "Vacuuming · 2 s"),
        (ActivityState("UPDATE orders\n  SET x = 1", 5.0), "UPDATE orders SET x = 1 · 5 s"),
        (
            ActivityState("UPDATE o", 5.0, Progress(3, 2, 8, 5, 1200, 1)),
            "UPDATE o · 2 of 3 jobs, 5 of 8 tasks, 1 row read, 1,200 rows written · 5 s",
        ),
        (
            ActivityState("CREATE SINK s", 5.0, Progress(rows=9)),
            "CREATE SINK s · 9 rows written · 5 s",
        ),
        (
            ActivityState("dt.apply", 9.0, steps=(ENDED, NESTED)),
            "dt.apply · Waiting for the refresh of up · 9 s",
        ),
        (ActivityState("dt.apply", 9.0, steps=(ENDED,)), "dt.apply · 9 s"),
    ],
)
def test_a_line_says_the_statement_its_step_and_how_far_it_is(
    state: ActivityState, line: str
) -> None:
    assert line_of(state) == line


def test_a_line_is_drawn_over_and_goes_at_its_end(terminal: Terminal) -> None:
    line = draw_line(Activity("Vacuuming"))
    assert line is not None
    line.draw(ActivityState("Vacuuming", 1.0))
    line.draw(ActivityState("Vacuuming", 2.0))
    line.end()
    assert terminal.getvalue() == "\r\x1b[KVacuuming · 1 s\r\x1b[KVacuuming · 2 s\r\x1b[K"


def test_there_is_one_line(terminal: Terminal) -> None:
    first = draw_line(Activity("Vacuuming"))
    assert first is not None
    assert draw_line(Activity("Refreshing daily")) is None
    first.end()
    again = draw_line(Activity("Refreshing daily"))
    assert again is not None
    again.end()


def test_a_pipe_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    stderr(monkeypatch, Terminal(tty=False))
    assert draw_line(Activity("Vacuuming")) is None
    closed = io.StringIO()
    closed.close()
    stderr(monkeypatch, closed)
    assert draw_line(Activity("Vacuuming")) is None
    stderr(monkeypatch, None)
    assert draw_line(Activity("Vacuuming")) is None


@pytest.fixture
def no_drawers() -> Iterator[None]:
    before = [*ACTIVITIES.drawers]
    ACTIVITIES.drawers.clear()
    yield
    ACTIVITIES.drawers[:] = before


def test_several_engines_share_the_line(no_drawers: None) -> None:
    show_on_terminal()
    show_on_terminal()
    assert ACTIVITIES.drawers == [draw_line]
