"""What runs for a cell, shown in it while it runs, and replaced by what came of it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dt_jupyter.model import Happened, Progress, RefreshTrigger
from dt_jupyter.notebook.display import show_below, shown_value
from dt_jupyter.notebook.views import is_live
from dt_jupyter.notebook.waiting import BLANK, CountingLine, empty_output

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from dt_jupyter.reports import Event, Events

Show = Callable[[object], None]


@contextmanager
def progress(shell: InteractiveShell, events: Events, title: str) -> Iterator[Show]:
    """For the block, its seconds, then how far the refreshes are that somebody asked for; the
    function that is given shows what came of it in that place. Without a front end that shows it:
    nothing, and `show`."""
    if not is_live(shell):
        yield show_below
        return
    drawn = _Drawn(title)
    stop = events.listen(drawn.heard)
    try:
        yield drawn.end
    finally:
        stop()
        drawn.clear()


class _Drawn:
    """One output of the cell. Events come in a thread of theirs; after the end none is drawn."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._tables: dict[str, Progress | None] = {}
        self._lock, self._ended = threading.Lock(), False
        self._handle = empty_output()
        self._line = CountingLine(self._handle, title)

    def heard(self, event: Event) -> None:
        record = event.record
        if record is None or record.trigger is RefreshTrigger.SCHEDULED:
            return
        from dt_jupyter.widgets import Running

        with self._lock:
            if self._ended:
                return
            self._line.stop()
            ended = event.happened is Happened.ENDED
            self._tables[str(event.name)] = None if ended else event.progress or Progress()
            self._handle.update(Running(self._title, dict(self._tables)))

    def end(self, value: object) -> None:
        """What came of it, in place of the progress."""
        with self._lock:
            first, self._ended = not self._ended, True
        self._line.stop()
        if first:
            self._handle.update(shown_value(value))

    def clear(self) -> None:
        """Leaves nothing, where nothing came of it."""
        with self._lock:
            left, self._ended = not self._ended, True
        self._line.stop()
        if left:
            self._handle.update(BLANK, raw=True)
