"""What a user waits for: drawn once it takes long, as one drawing, and gone at its end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from types import SimpleNamespace
from typing import Any

import pytest

from dt_jupyter.model import ActivityState, Progress
from dt_jupyter.spark import activities as module
from dt_jupyter.spark.activities import (
    Activities,
    Activity,
    activity,
    activity_step,
    add_rows,
    current_activity,
    in_background,
)
from dt_jupyter.spark.jobs import Cancelled, check_cancelled

PATIENCE = 60.0


class Screen:
    """Draws activities; a test waits for what is seen."""

    def __init__(self) -> None:
        self.begun: list[Activity] = []
        self.drawn: dict[str, ActivityState] = {}
        self.left: list[str] = []
        self.came = threading.Condition()

    def __call__(self, made: Activity) -> Screen._Drawing:
        self.begun.append(made)
        return self._Drawing(self, made)

    class _Drawing:
        def __init__(self, screen: Screen, made: Activity) -> None:
            self.screen, self.made = screen, made

        def draw(self, state: ActivityState) -> None:
            with self.screen.came:
                self.screen.drawn[state.title] = state
                self.screen.came.notify_all()

        def end(self) -> None:
            with self.screen.came:
                self.screen.left.append(self.made.text)
                self.screen.came.notify_all()

    def wait_for(self, title: str, told: Callable[[ActivityState], bool] = lambda _: True) -> None:
        with self.came:
            assert self.came.wait_for(
                lambda: title in self.drawn and told(self.drawn[title]), PATIENCE
            ), self.drawn


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    made, found = Activities(first=0.0, each=0.01), Screen()
    made.draw_by(found)
    monkeypatch.setattr(module, "ACTIVITIES", made)
    return found


def test_what_takes_long_is_drawn_and_gone_at_its_end(screen: Screen) -> None:
    with activity("UPDATE orders"):
        screen.wait_for("UPDATE orders")
        assert not screen.left
    assert screen.left == ["UPDATE orders"]


def test_what_is_quick_is_not_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    made, screen = Activities(first=3600.0), Screen()
    made.draw_by(screen)
    monkeypatch.setattr(module, "ACTIVITIES", made)
    threads = threading.active_count()
    for _ in range(20):
        with activity("SHOW TABLES"):
            pass
    assert not screen.begun
    assert threading.active_count() <= threads + 1


def test_where_nobody_draws_there_is_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Activities(first=0.0)
    monkeypatch.setattr(module, "ACTIVITIES", made)
    with activity("SELECT 1"):
        assert made._thread is None


def test_what_is_called_inside_is_a_step_of_one_drawing(screen: Screen) -> None:
    with activity("Applying the plan"):
        with activity("CREATE DYNAMIC TABLE a"), activity_step("Refreshing a"):
            screen.wait_for(
                "Applying the plan",
                lambda s: s.running_steps == ("CREATE DYNAMIC TABLE a", "Refreshing a"),
            )
        with activity("CREATE DYNAMIC TABLE b"):
            screen.wait_for("Applying the plan", lambda s: len(s.steps) == 2)
    state = screen.drawn["Applying the plan"]
    assert (state.steps[0].title, state.steps[0].ended) == ("CREATE DYNAMIC TABLE a", True)
    assert len(screen.begun) == 1
    assert list(screen.drawn) == screen.left == ["Applying the plan"]


def test_a_call_of_the_same_title_is_no_step(screen: Screen) -> None:
    with activity(lambda: "Verifying d") as outer, activity("Verifying d") as inner:
        assert inner is outer
    assert not outer.steps


def test_an_error_ends_it(screen: Screen) -> None:
    def fail() -> None:
        with activity("UPDATE orders"), activity_step("Refreshing a"):
            screen.wait_for("UPDATE orders")
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()
    assert screen.left == ["UPDATE orders"]
    assert current_activity() is None


def test_each_thread_has_its_own(screen: Screen) -> None:
    def other() -> None:
        with activity("Refreshing b"):
            screen.wait_for("Refreshing b")

    with activity("Refreshing a"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        screen.wait_for("Refreshing a")
    assert sorted(screen.left) == ["Refreshing a", "Refreshing b"]
    assert {a.text: a.in_main for a in screen.begun} == {
        "Refreshing a": True,
        "Refreshing b": False,
    }


def test_it_is_drawn_in_the_context_of_its_thread(screen: Screen) -> None:
    cell: ContextVar[str] = ContextVar("cell", default="another cell")
    seen: list[str] = []
    module.ACTIVITIES.draw_by(lambda _: seen.append(cell.get()))
    token = cell.set("this cell")
    try:
        with activity("UPDATE orders"):
            screen.wait_for("UPDATE orders")
    finally:
        cell.reset(token)
    assert seen == ["this cell"]


def test_work_in_the_background_is_not_drawn(screen: Screen) -> None:
    with in_background(), activity("Refreshing a"), activity_step("Waiting"):
        assert module.ACTIVITIES.find(current_activity().id) is None  # type: ignore[union-attr]
    with activity_step("Waiting"):
        assert current_activity() is None
    assert not module.ACTIVITIES._running


def test_a_drawer_that_fails_ends_nothing_else(screen: Screen) -> None:
    def fail(_: Activity) -> None:
        raise OSError("the front end is gone")

    end = module.ACTIVITIES.draw_by(fail)
    with activity("UPDATE a"):
        end()
        with activity("UPDATE b"):
            screen.wait_for("UPDATE a", lambda s: len(s.steps) == 1)
    assert screen.left == ["UPDATE a"]


def test_rows_without_jobs_are_counted(screen: Screen) -> None:
    add_rows(3)
    with activity("CREATE SINK s"), activity_step("Delivering orders"):
        add_rows(500)
        add_rows(700)
        screen.wait_for("CREATE SINK s", lambda s: s.progress == Progress(rows=1200))


def test_what_another_thread_runs_is_stopped_there_and_the_main_thread_by_the_keyboard() -> None:
    stopped: list[str] = []
    here = Activity("UPDATE orders", in_main=True)
    here.stop()
    check_cancelled()
    with activity("UPDATE orders") as made, made.running(None, lambda: stopped.append("jobs")):  # type: ignore[arg-type]
        made.stop()
        check_cancelled()
        assert not stopped
        made.in_main = False
        made.stop()
        with pytest.raises(Cancelled), activity_step("Waiting"):
            check_cancelled()
    assert stopped == ["jobs"]


def test_the_thread_ends_where_there_is_nothing_to_draw(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_IDLE_SECONDS", 0.01)
    for _ in range(2):
        with activity("UPDATE orders"):
            screen.wait_for("UPDATE orders")
            screen.drawn.clear()
            thread = module.ACTIVITIES._thread
        assert thread is not None
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_the_jobs_of_a_cell_are_drawn_only_where_no_call_is(screen: Screen) -> None:
    jobs: Any = SimpleNamespace(now=lambda: progress)
    progress = Progress(2, 2)
    cell = Activity("Spark jobs of this cell", in_main=True, beside=True, jobs=jobs)
    module.ACTIVITIES.begin(cell)
    with activity("UPDATE orders"):
        progress = Progress(2, 1)
        screen.wait_for("UPDATE orders")
        assert list(screen.drawn) == ["UPDATE orders"]
    screen.wait_for("Spark jobs of this cell")
    progress = Progress(2, 2)
    with screen.came:
        assert screen.came.wait_for(lambda: "Spark jobs of this cell" in screen.left, PATIENCE)
    module.ACTIVITIES.end(cell)
    assert cell.ended is not None
