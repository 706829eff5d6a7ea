"""One line on a terminal that says what takes so long, how far it is, and for how many seconds."""

from __future__ import annotations

import sys
import threading
from typing import TextIO

from dt_jupyter.model import ActivityState, progress_words, shorten
from dt_jupyter.spark import ACTIVITIES, Activity

_CLEARED = "\r\x1b[K"
_drawn = threading.Lock()
"""Held by the one line there is: of several activities the first that is drawn has it."""


class TerminalLine:
    """`text · 12 s` on a terminal; gone at its end."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def draw(self, state: ActivityState) -> None:
        self._write(f"{_CLEARED}{line_of(state)}")

    def end(self) -> None:
        self._write(_CLEARED)
        _drawn.release()

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def line_of(state: ActivityState) -> str:
    """What runs, the step that it is in, how far it is, and for how many seconds."""
    words = progress_words(state.progress)
    parts = [shorten(state.title), *state.running_steps[-1:], words]
    return " · ".join([*filter(None, parts), f"{state.seconds:.0f} s"])


def draw_line(_: Activity) -> TerminalLine | None:
    """On the terminal of stderr; None where there is none, as in a notebook or a pipe, or where
    another activity has the line."""
    stream = sys.stderr
    if not _is_terminal(stream) or not _drawn.acquire(blocking=False):
        return None
    return TerminalLine(stream)


def show_on_terminal() -> None:
    """Activities of this process have a line from now on."""
    if draw_line not in ACTIVITIES.drawers:
        ACTIVITIES.draw_by(draw_line)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False
