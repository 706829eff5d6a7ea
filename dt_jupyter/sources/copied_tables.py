"""Delta tables on other storage than a disk, known to the engine by copies of their logs."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake import CopiedLog, RemoteStorage, read_copied_place
from dt_jupyter.model import Tuning


@dataclass(frozen=True)
class CopiedTables:
    """The copies in `folder`, one for each place; without a `storage` there are none."""

    folder: Path
    storage: RemoteStorage | None
    most_fetched: int = Tuning.fetched_bytes

    def holds(self, path: str | Path) -> bool:
        """Whether a folder is the copy of a log."""
        return Path(path).parent == self.folder

    def place_of(self, path: str) -> str:
        """Where the table lies whose log is copied there; any other path as it is."""
        return read_copied_place(Path(path)) if self.holds(path) else path

    def open(self, path: str) -> CopiedLog | None:
        """The log of a copy that there is, or was; None where no storage is reached."""
        return self._log(Path(path)) if self.storage is not None else None

    def find(self, place: str) -> CopiedLog | None:
        """The log of the table at a place, copied if it was not yet; None where no storage is
        reached. Raises TableGone, StorageFailed."""
        if self.storage is None:
            return None
        place = self.storage.qualify(place)
        digest = hashlib.sha256(place.encode()).hexdigest()[:20]
        return self._log(self.folder / digest, place)

    def _log(self, folder: Path, place: str | None = None) -> CopiedLog:
        assert self.storage is not None
        return CopiedLog(folder, self.storage, place, most_fetched=self.most_fetched)


__all__ = ["CopiedTables"]
