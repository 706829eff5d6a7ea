"""Separate engines for runs of tasks: a run shares no session, no temporary view and no open
transaction with the user, or with another run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.model import Named, Securable, quote
from dt_jupyter.spark import FIXED_TEXT, is_session_closed, reset_session

if TYPE_CHECKING:
    from dt_jupyter.engine.context import Context
    from dt_jupyter.model import Task

_KEPT = 2
"""This number is kept for the next run."""


@dataclass
class TaskSessions:
    """`make` opens one on the same lake, in a separate session; each serves one run at a time."""

    make: Callable[[], Context]
    _idle: list[Context] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _closed: bool = False

    @contextmanager
    def lent(self, task: Task, run_id: str) -> Iterator[Context]:
        """One for a run of the task, with its settings and its current schema; the intent of what
        it writes has the id of the run."""
        context = self._reset(self._take(), task)
        try:
            context.spark.catalog.setCurrentDatabase(quote(task.schema))
            context.streams.new_id = lambda: run_id
            on = Securable.of(Named.TASK, task.name)
            context.state.role = context.state.login = context.access.book.owner(on)
            yield context
        finally:
            if context.transactions.current is not None:
                context.transactions.rollback()
            self._give_back(context)

    def close(self) -> None:
        """Those that are lent end with their run."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for context in idle:
            _close(context)

    def _reset(self, context: Context, task: Task) -> Context:
        """The context, or another one where its session is closed."""
        try:
            reset_session(context.spark, {**task.settings, **FIXED_TEXT})
        except PySparkException as e:
            if not is_session_closed(context.spark, e):
                self._give_back(context)
                raise
            _close(context)
            return self._reset(self.make(), task)
        return context

    def _take(self) -> Context:
        with self._lock:
            if self._idle:
                return self._idle.pop()
        return self.make()

    def _give_back(self, context: Context) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < _KEPT:
                self._idle.append(context)
                return
        _close(context)


def _close(context: Context) -> None:
    context.state.closed = True
    context.events.close()
    context.sessions.close()
    context.tasks.close()
    context.catalog.close()
