"""A stack that holds what is nested as deep as `guard` allows."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

_STACK = 256 * 1024 * 1024
_DEPTH = 20_000
_deep = threading.Lock()
T = TypeVar("T")


def deep(fn: Callable[[], T]) -> T:
    """Runs `fn` with a stack that holds the nesting which `guard` allows."""
    outcome: list[T] = []
    failure: list[BaseException] = []

    def run() -> None:
        try:
            outcome.append(fn())
        except BaseException as e:
            failure.append(e)

    with _deep:
        size, limit = threading.stack_size(_STACK), sys.getrecursionlimit()
        sys.setrecursionlimit(max(limit, _DEPTH))
        try:
            thread = threading.Thread(target=run, name="dt-bind")
            thread.start()
        finally:
            threading.stack_size(size)
        thread.join()
        sys.setrecursionlimit(limit)
    if failure:
        raise failure[0]
    return outcome[0]
