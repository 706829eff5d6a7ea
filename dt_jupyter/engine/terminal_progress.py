"""One line on a terminal that says what takes so long, and for how many seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

_FIRST_SECONDS, _EACH_SECONDS = 2.0, 1.0
_CLEARED = "\r\x1b[K"
_drawn = threading.Lock()
"""Held by the one line there is: what is called inside of a block draws none of its own."""
_waits: list[str] = []
"""What the line says in the place of its text, while there is such a wait."""


@contextmanager
def terminal_line(text: str, stream: TextIO | None = None) -> Iterator[None]:
    """`text · 12 s` on the terminal (that of stderr) while the block runs, from two seconds on;
    gone with it. Nothing where there is no terminal, as in a notebook or a pipe."""
    stream = sys.stderr if stream is None else stream
    if not _is_terminal(stream) or not _drawn.acquire(blocking=False):
        yield
        return
    ended = threading.Event()
    drawer = threading.Thread(
        target=_draw, args=(text, stream, ended), name="dt_jupyter terminal line", daemon=True
    )
    drawer.start()
    try:
        yield
    finally:
        ended.set()
        drawer.join()
        _drawn.release()


@contextmanager
def terminal_wait(text: str) -> Iterator[None]:
    """For the block, the line that is drawn says for whom it waits."""
    _waits.append(text)
    try:
        yield
    finally:
        _waits.remove(text)


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # it is closed
        return False


def _draw(text: str, stream: TextIO, ended: threading.Event) -> None:
    began, seconds, shown = time.monotonic(), _FIRST_SECONDS, False
    while not ended.wait(seconds):
        said = _waits[-1] if _waits else text
        stream.write(f"{_CLEARED}{said} · {time.monotonic() - began:.0f} s")
        stream.flush()
        seconds, shown = _EACH_SECONDS, True
    if shown:
        stream.write(_CLEARED)
        stream.flush()
