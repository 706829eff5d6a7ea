"""How often other storage is asked whether the log of a table has grown."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _Asked(threading.local):
    """Of the running thread: the logs that were requested, where each is requested once, by their
    ids, which are unique while they are held."""

    logs: dict[int, object] | None = None


_asked = _Asked()


@contextmanager
def ask_once() -> Iterator[None]:
    """In the block this thread asks once for each table, however often its newest version is
    needed: a caller that reads several things sees one state of each, and pays for one question. A
    block in another one asks separately."""
    before, _asked.logs = _asked.logs, {}
    try:
        yield
    finally:
        _asked.logs = before


def ask_again() -> None:
    """What this thread asked for may have grown."""
    if _asked.logs is not None:
        _asked.logs.clear()


def was_asked(log: object) -> bool:
    """Whether a log needs no question; one that does counts as asked for from now on."""
    if _asked.logs is None:
        return False
    known = id(log) in _asked.logs
    _asked.logs[id(log)] = log
    return known


__all__ = ["ask_again", "ask_once", "was_asked"]
