"""Files on other storage than a disk: what is asked of it, by whichever library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file's name in its folder, its bytes, and when it was written, in milliseconds."""

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

    def list(self, folder: str) -> list[RemoteFile]:
        """The files of a folder, those of its folders not. FileNotFoundError."""

    def stat(self, path: str) -> RemoteFile | None:
        """None where there is no such file."""

    def fetch(self, path: str, target: Path) -> None:
        """Copies a file to this disk. FileNotFoundError."""


__all__ = ["RemoteFile", "RemoteStorage"]
