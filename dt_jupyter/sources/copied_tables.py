"""Delta tables on other storage than a disk, known to the engine by copies of their logs."""

from __future__ import annotations

import hashlib
import os
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from dt_jupyter.lake import (
    COPIED_PLACE,
    CopiedLog,
    Lock,
    RemoteStorage,
    know_place,
    read_copied_place,
)
from dt_jupyter.model import Tuning
from dt_jupyter.spark import read_at


@dataclass(frozen=True)
class CopiedTables:
    """The copies in `folder`, one for each place; without a `storage` there are none.

    In the home of a lake on other storage Spark reads the tables where they are, since its workers
    have no copies; the table of each copy is stored at `shared_at` in the lake, for homes that
    have not copied it. The `lock` separates writers where the storage does not.
    """

    folder: Path
    storage: RemoteStorage | None
    most_fetched: int = Tuning.fetched_bytes
    shared_at: str | None = None
    lock: Lock | None = None
    _shared: set[str] = field(default_factory=set)

    def holds(self, path: str | Path) -> bool:
        """Whether a folder is the copy of a log."""
        return Path(path).parent == self.folder

    def place_of(self, path: str) -> str:
        """Where the table is whose log is copied there; any other path as it is."""
        return self._place(Path(path)) if self.holds(path) else path

    def open(self, path: str) -> CopiedLog | None:
        """The log of a copy that there is, or was; None where no storage is reached."""
        return self._log(Path(path), self._place(Path(path))) if self.storage is not None else None

    def find(self, place: str) -> CopiedLog | None:
        """The log of the table at a place, copied if it was not yet; None where no storage is
        reached. Raises TableGone, StorageFailed."""
        if self.storage is None:
            return None
        place = self.storage.qualify(place)
        digest = hashlib.sha256(place.encode()).hexdigest()[:20]
        log = self._log(self.folder / digest, place)
        if self.shared_at is not None and digest not in self._shared:
            log.version()  # TableGone, before others learn of it
            self._share(self.storage, self.folder / digest, f"{self.shared_at}/{digest}")
        return log

    def _share(self, storage: RemoteStorage, folder: Path, told: str) -> None:
        if storage.stat(told) is None:
            storage.put(folder / COPIED_PLACE, told)
        self._shared.add(folder.name)

    def _place(self, folder: Path) -> str:
        """FileNotFoundError where it is unknown."""
        try:
            return read_copied_place(folder)
        except FileNotFoundError:
            if self.storage is None or self.shared_at is None:
                raise
        folder.mkdir(parents=True, exist_ok=True)
        draft = folder / f".{uuid.uuid4().hex}.tmp"
        self.storage.fetch(f"{self.shared_at}/{folder.name}", draft)
        os.replace(draft, folder / COPIED_PLACE)
        return read_copied_place(folder)

    def _log(self, folder: Path, place: str) -> CopiedLog:
        assert self.storage is not None
        if self.shared_at is not None:
            read_at(folder, place)
        lock = None if self.storage.keeps_apart(place) else self.lock
        know_place(folder, self.storage, place, self.most_fetched, lock)
        return CopiedLog(folder, self.storage, place, most_fetched=self.most_fetched)


__all__ = ["CopiedTables"]
