"""One writer at a time to a table, across the processes that may write it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dt_jupyter.lake.disk_lock import PATIENCE, file_lock
from dt_jupyter.lake.storage.mounts import find_mounted, find_place


def lock_file(table: Path) -> Path:
    """The file next to the table whose lock its writers hold."""
    return table.with_name(f".{table.name}.lock")


@contextmanager
def table_lock(table: Path, patience: float = PATIENCE) -> Iterator[None]:
    """Hold the table's lock, among the processes of this machine, and beyond it where the table
    is on storage that does not itself let one of two writers win.

    Raises TableLocked after `patience` seconds of waiting.
    """
    if find_mounted(table) is not None:  # a home has what was needed so far
        table.parent.mkdir(parents=True, exist_ok=True)
    with file_lock(lock_file(table), str(table), patience), storage_lock(table, patience):
        yield


@contextmanager
def storage_lock(table: Path, patience: float = PATIENCE) -> Iterator[None]:
    """As `table_lock`, where it is on storage that does not itself let one of two writers win;
    nothing where it does, as Delta's writers do on a disk."""
    found = find_place(table)
    if found is None or found.lock is None:
        yield
    else:
        with found.lock(found.place, patience):
            yield
