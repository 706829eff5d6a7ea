"""What could not be undone is tried again, in its order, until it is done."""

from __future__ import annotations

import pytest

from dt_jupyter.model import Leftovers, error


@pytest.fixture
def full() -> list[bool]:
    """Whether the disk is full: its last value."""
    return [True]


def test_steps_run_again_once_there_is_room(full: list[bool]) -> None:
    done: list[str] = []

    def step(name: str) -> None:
        if full[-1]:
            raise error("DT-5121", problem="no space")
        done.append(name)

    failure, left = ValueError("why it failed"), Leftovers()
    left.undo(failure, lambda: step("a"), lambda: step("b"))
    left.finish()
    assert done == []
    assert len(failure.__notes__) == 2
    full.append(False)
    left.undo(ValueError(), lambda: step("c"))
    assert done == ["c"]
    left.finish()
    left.finish()
    assert done == ["c", "a", "b"]


def test_what_can_never_be_undone_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    def fail() -> None:
        asked.append("again")
        raise error("DT-1101", name="x", hint="")

    left = Leftovers()
    left.undo(ValueError(), fail)
    left.finish()
    left.finish()
    assert len(asked) == 2
    assert "still there" in caplog.text
