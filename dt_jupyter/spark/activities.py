"""What a user waits for, while it runs, for the views that draw it.

The outermost call of a thread is an activity; what is called inside it is a step of it, also in
the threads that `run_cancellable` makes. An activity draws nothing itself: one thread for all of
them hands those that take longer than a second to the drawers.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from dt_jupyter.model import ActivityState, Progress

if TYPE_CHECKING:
    from dt_jupyter.spark.progress import JobProgress

_log = logging.getLogger("dt_jupyter.activities")
FIRST_SECONDS, EACH_SECONDS = 1.0, 0.5
_IDLE_SECONDS = 10.0
"""After which the thread ends, until it is needed again."""
_SETTLED_SECONDS = 1.0
"""After the end, until Spark has reported all jobs."""
_MOST_STEPS = 20
"""The newest steps that an activity remembers."""
Title = str | Callable[[], str]


class Drawing(Protocol):
    """One activity as it is seen in one place; `end` leaves nothing of it."""

    def draw(self, state: ActivityState) -> None: ...

    def end(self) -> None: ...


@dataclass(eq=False, slots=True)
class Activity:
    """A call, or a step of one. `title` is requested when it is drawn. One that runs `beside`
    others is drawn only while jobs of it run and no other activity of the main thread does."""

    title: Title
    root: Activity | None = None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    in_main: bool = False
    beside: bool = False
    steps: deque[Activity] = field(default_factory=lambda: deque(maxlen=_MOST_STEPS))
    jobs: JobProgress | None = None
    rows: int = 0
    ended: float | None = None
    stopped: bool = False
    _began: float = field(default_factory=time.monotonic)
    _stops: list[Callable[[], None]] = field(default_factory=list)
    _final: Progress | None = None

    def state(self) -> ActivityState:
        """Its present state."""
        steps = tuple(step.state() for step in tuple(self.steps))
        seconds = time.monotonic() - self._began
        ended = self.ended is not None
        return ActivityState(self.text, seconds, self._progress(steps), steps, ended)

    @property
    def text(self) -> str:
        """Its title; one that is a function is called once."""
        if not isinstance(self.title, str):
            self.title = self.title()
        return self.title

    def _progress(self, steps: tuple[ActivityState, ...]) -> Progress:
        """The progress of its jobs, with those of its steps, else the sum of theirs; and the
        rows that are written without jobs."""
        if self._final is not None:
            return self._final
        settled = self.ended is not None and self.ended + _SETTLED_SECONDS < time.monotonic()
        if self.jobs is None:
            own = Progress(rows=self.rows)
            found = Progress.sum_of([own, *(step.progress for step in steps)])
        else:
            found = Progress.sum_of([self.jobs.now(), Progress(rows=self._all_rows())])
        self._final = found if settled else None
        return found

    def _all_rows(self) -> int:
        return self.rows + sum(step._all_rows() for step in tuple(self.steps))

    def stop(self) -> None:
        """Cancels its work, where that is not on the main thread: there the keyboard, and the
        kernel's interrupt, do so."""
        if not self.in_main:
            self.stopped = True
            for stop in tuple(self._stops):
                stop()

    @contextmanager
    def running(self, jobs: JobProgress, stop: Callable[[], None]) -> Iterator[None]:
        """For the block it has these jobs, and `stop` ends them."""
        stops = (self.root or self)._stops
        self.jobs = jobs
        stops.append(stop)
        try:
            yield
        finally:
            stops.remove(stop)


Drawer = Callable[[Activity], Drawing | None]
"""Begins the drawing of an activity, in the context of the thread that began it; None where it is
not to be seen."""
_current: ContextVar[Activity | None] = ContextVar("dt_jupyter_activity", default=None)


@contextmanager
def activity(title: Title) -> Iterator[Activity]:
    """The block is an activity, or a step of the one that it is in."""
    outer = _current.get()
    if outer is not None:
        title = title if isinstance(title, str) else title()
        if outer.text == title:
            yield outer
            return
    made = Activity(title, outer and (outer.root or outer))
    token = _current.set(made)
    if outer is None:
        made.in_main = threading.current_thread() is threading.main_thread()
        ACTIVITIES.begin(made)
    else:
        outer.steps.append(made)
    try:
        yield made
    finally:
        made.ended = time.monotonic()
        _current.reset(token)
        if outer is None:
            ACTIVITIES.end(made)


@contextmanager
def activity_step(title: Title) -> Iterator[None]:
    """The block is a step of the activity that it is in; of none where it is in none."""
    if _current.get() is None:
        yield
        return
    with activity(title):
        yield


def add_rows(count: int) -> None:
    """The step that this thread is in has written `count` more rows, without Spark's jobs."""
    part = _current.get()
    if part is not None:
        part.rows += count


@contextmanager
def in_background() -> Iterator[None]:
    """What is called in the block is not an activity: no user waits for it."""
    token = _current.set(Activity("background"))
    try:
        yield
    finally:
        _current.reset(token)


def current_activity() -> Activity | None:
    """The innermost activity or step that this thread is in."""
    return _current.get()


@dataclass(eq=False, slots=True)
class _Watched:
    """An activity, the context of its thread, and its drawings once it is drawn."""

    activity: Activity
    context: Context
    due: float
    drawings: list[Drawing] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)
    seen: bool = False

    def draw(self, state: ActivityState | None) -> None:
        """In its present state; None: nothing of it is seen now."""
        for drawing in self.drawings or ():
            if state is not None:
                self.context.run(drawing.draw, state)
            elif self.seen:
                drawing.end()
        self.seen = state is not None


class Activities:
    """Those that run in this process; `drawers` show them."""

    def __init__(self, first: float = FIRST_SECONDS, each: float = EACH_SECONDS) -> None:
        self.drawers: list[Drawer] = []
        self._first, self._each = first, each
        self._running: dict[Activity, _Watched] = {}
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def draw_by(self, drawer: Drawer) -> Callable[[], None]:
        """From now on it draws too; call the result to end that."""
        self.drawers.append(drawer)
        return lambda: self.drawers.remove(drawer) if drawer in self.drawers else None

    def find(self, id: str) -> Activity | None:
        """The one that runs under an id."""
        return next((one for one in tuple(self._running) if one.id == id), None)

    def begin(self, made: Activity) -> None:
        """It is drawn if it is not over in a second. Wakes no thread: a statement of some
        milliseconds takes no longer for it."""
        if not self.drawers:
            return
        watched = _Watched(made, copy_context(), time.monotonic() + self._first)
        with self._lock:
            self._running[made] = watched
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="dt_jupyter activities", daemon=True
                )
                self._thread.start()

    def end(self, made: Activity) -> None:
        """It is over; its drawings are gone when this returns."""
        made.ended = time.monotonic()
        with self._lock:
            watched = self._running.pop(made, None)
        if watched is not None:
            with watched.lock:
                for drawing in watched.drawings or ():
                    drawing.end()

    def _run(self) -> None:
        until = time.monotonic() + _IDLE_SECONDS
        while True:
            now = time.monotonic()
            with self._lock:
                running = [*self._running.values()]
                if not running and now > until:
                    self._thread = None
                    return
            until = now + _IDLE_SECONDS if running else until
            for watched in running:
                if watched.due <= now:
                    self._draw(watched)
                    watched.due = time.monotonic() + self._each
            due = min((watched.due for watched in running), default=now + self._each / 2)
            time.sleep(max(due - time.monotonic(), 0.0))

    def _draw(self, watched: _Watched) -> None:
        """A front end, or a session of Spark, that is gone does not end those of the others."""
        made, inside = watched.activity, watched.context
        try:
            with watched.lock:
                if watched.drawings is None and made.ended is None:
                    watched.drawings = inside.run(self._begin_drawings, made)
            if not watched.drawings:
                return
            state = made.state()
            seen = not made.beside or self._is_alone(state.progress)
            with watched.lock:
                if made.ended is None:
                    watched.draw(state if seen else None)
        except Exception:
            _log.debug("an activity could not be drawn", exc_info=True)

    def _is_alone(self, progress: Progress) -> bool:
        calls = (one for one in tuple(self._running) if one.in_main and not one.beside)
        return progress.jobs > progress.jobs_done and next(calls, None) is None

    def _begin_drawings(self, made: Activity) -> list[Drawing]:
        found = (drawer(made) for drawer in tuple(self.drawers))
        return [drawing for drawing in found if drawing is not None]


ACTIVITIES = Activities()
"""Of this process."""
