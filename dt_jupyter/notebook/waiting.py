"""One line below a cell that says what takes so long, and for how many seconds."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any, Protocol

from dt_jupyter.notebook.views import is_live

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

BLANK = {"text/plain": "", "text/html": ""}
_FIRST_SECONDS, _EACH_SECONDS = 0.5, 1.0


class Handle(Protocol):
    """IPython's handle of an output that can be drawn again."""

    def update(self, obj: Any, *, raw: bool = False) -> None: ...


def empty_output() -> Handle:
    """An output below the cell that runs, with nothing in it yet."""
    from IPython.display import display

    handle: Handle = display(BLANK, raw=True, display_id=True)  # type: ignore[no-untyped-call]
    return handle


class CountingLine:
    """`text · 12 s` in an output, from half a second on, drawn by a thread until `stop`."""

    def __init__(self, handle: Handle, text: str) -> None:
        self._handle = handle
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self.say(text)
        threading.Thread(target=self._count, name="dt_jupyter waiting line", daemon=True).start()

    def say(self, text: str) -> None:
        """What goes on from now on; its seconds are counted anew."""
        self._said = text, time.monotonic()

    def stop(self) -> None:
        """Draws no more; what it drew is for the caller to replace."""
        with self._lock:
            self._stopped.set()

    def _count(self) -> None:
        seconds = _FIRST_SECONDS
        while not self._stopped.wait(seconds):
            text, since = self._said
            line = f"{text} · {time.monotonic() - since:.0f} s"
            with self._lock:
                if not self._stopped.is_set():
                    shown = {"text/plain": line, "text/html": f"<div>{escape(line)}</div>"}
                    self._handle.update(shown, raw=True)
            seconds = _EACH_SECONDS


@contextmanager
def waiting(shell: InteractiveShell, text: str) -> Iterator[Callable[[str], None]]:
    """A line for the block, which goes with it; the function says what goes on next. Nothing
    without a front end that shows it."""
    if not is_live(shell):
        yield lambda text: None
        return
    handle = empty_output()
    line = CountingLine(handle, text)
    try:
        yield line.say
    finally:
        line.stop()
        handle.update(BLANK, raw=True)
