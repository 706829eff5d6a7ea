"""One writer at a time to a table, across the processes of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dt_jupyter.lake.errors import TableLocked

PATIENCE = 120.0


def lock_file(table: Path) -> Path:
    """The file beside the table whose lock its writers hold."""
    return table.with_name(f".{table.name}.lock")


@contextmanager
def table_lock(table: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the table's lock (flock: freed by the kernel when the process dies).

    Raises TableLocked after `patience` seconds of waiting.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(lock_file(table), timeout=patience)
    try:
        lock.acquire()
    except Timeout as e:
        raise TableLocked(
            f"{table} was locked for {patience:g} s", path=str(table), seconds=patience
        ) from e
    try:
        yield
    finally:
        lock.release()
