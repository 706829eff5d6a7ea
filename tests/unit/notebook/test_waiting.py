"""The line that counts the seconds of what takes long."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from dt_jupyter.notebook import waiting
from dt_jupyter.notebook.magics import read_steps
from dt_jupyter.notebook.waiting import CountingLine


class Output:
    """What a front end would show, draw by draw."""

    def __init__(self) -> None:
        self.drawn: list[dict[str, str]] = []
        self.came = threading.Condition()

    def update(self, obj: Any, *, raw: bool = False) -> None:
        assert raw
        with self.came:
            self.drawn.append(obj)
            self.came.notify_all()

    def wait_for(self, count: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: len(self.drawn) >= count, 60)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_FIRST_SECONDS", 0.01)
    monkeypatch.setattr(waiting, "_EACH_SECONDS", 0.01)


def test_it_says_what_goes_on_and_then_what_is_next() -> None:
    output = Output()
    line = CountingLine(output, "Starting <Spark>")
    output.wait_for(2)
    assert output.drawn[0] == {
        "text/plain": "Starting <Spark> · 0 s",
        "text/html": "<div>Starting &lt;Spark&gt; · 0 s</div>",
    }
    line.say("Opening lake")
    output.wait_for(len(output.drawn) + 2)
    line.stop()
    assert output.drawn[-1]["text/plain"] == "Opening lake · 0 s"


def test_nothing_is_drawn_after_its_end() -> None:
    output = Output()
    line = CountingLine(output, "Starting")
    output.wait_for(1)
    line.stop()
    count = len(output.drawn)
    assert not threading.Event().wait(0.1)
    assert len(output.drawn) == count


def test_what_is_quick_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "_FIRST_SECONDS", 3600)
    output = Output()
    CountingLine(output, "Starting").stop()
    assert not output.drawn


def test_a_walk_says_how_far_it_is() -> None:
    said: list[str] = []
    steps: Any = ["first", "second"]
    assert list(read_steps(steps, said.append)) == steps
    assert said == ["snapshot 1 of 2", "snapshot 2 of 2"]
