"""A lock of this machine's processes: flock, which the kernel frees when a process dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dt_jupyter.lake.errors import TableLocked

PATIENCE = 120.0
"""Seconds."""


@contextmanager
def file_lock(file: Path, locked: str, patience: float = PATIENCE) -> Iterator[None]:
    """Holds the lock of a file, which is made where it is missing. TableLocked, which says what is
    `locked`, after `patience` seconds of waiting."""
    from filelock import FileLock, Timeout

    lock = FileLock(file, timeout=patience)
    try:
        lock.acquire()
    except Timeout as e:
        told = f"{locked} was locked for {patience:g} s"
        raise TableLocked(told, path=locked, seconds=patience) from e
    try:
        yield
    finally:
        lock.release()


__all__ = ["PATIENCE", "file_lock"]
