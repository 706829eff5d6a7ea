"""Files on other storage than a disk: the operations that it needs, by any library."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file's name in the folder that was requested, its bytes, and when it was written, in
    milliseconds."""

    name: str
    size: int
    millis: int


class RemoteStorage(Protocol):
    """Paths are texts as Hadoop reads them: with a scheme, in which `%20` is three characters.

    Each method raises StorageFailed where the storage does not answer, or refuses.
    """

    def qualify(self, path: str) -> str:
        """The one spelling of a path: with the authority that is meant, without a slash behind."""

    def uri(self, path: str) -> str:
        """A path as a Delta log names it: `%20` for a blank."""

    def list(self, folder: str) -> Sequence[RemoteFile]:
        """The files of a folder, those of its folders not. FileNotFoundError."""

    def list_all(self, folder: str) -> Sequence[RemoteFile]:
        """The files of a folder and of those in it, by their paths from there; none where there is
        no folder."""

    def list_folders(self, folder: str) -> Sequence[RemoteFile]:
        """The folders in a folder; none where there is none."""

    def stat(self, path: str) -> RemoteFile | None:
        """None where there is no such file, or folder."""

    def fetch(self, path: str, target: Path) -> None:
        """Copies a file to this disk. FileNotFoundError."""

    def fetch_end(self, path: str, start: int, target: Path) -> None:
        """Copies a file to this disk from byte `start` on; what is before it takes no room there,
        and is read as zeros. FileNotFoundError."""

    def put(self, source: Path, path: str) -> None:
        """Copies a file of this disk there: readers find it whole, or what was there before."""

    def put_commit(self, path: str, text: str) -> None:
        """A file of a Delta log, whole or not at all, by what keeps the session's own writers of
        that log separate. FileExistsError where there is one."""

    def keeps_apart(self, folder: str) -> bool:
        """Whether of two `put_commit` of one name, on any machines, one is refused."""

    def copy(self, source: str, target: str) -> None:
        """A copy of a file on the storage. FileNotFoundError."""

    def make_folder(self, folder: str) -> None:
        """With those that it is in."""

    def move(self, source: str, target: str) -> None:
        """A folder, or a file, to a name that is free, in a folder that is made where it is
        missing. FileNotFoundError, FileExistsError."""

    def delete(self, path: str) -> None:
        """A file, or a folder with all that is in it; nothing where there is none."""


__all__ = ["RemoteFile", "RemoteStorage"]
