"""What can be wrong with a Delta table, as typed exceptions; the refresh engine words them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar


class LakeError(Exception):
    """A fact about a table: `code` in upper snake case, a sentence, and `facts` to word it with."""

    code: ClassVar[str] = "LAKE_ERROR"

    def __init__(self, sentence: str, **facts: Any) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.facts = facts

    def __str__(self) -> str:
        return f"[{self.code}] {self.sentence}"


class NameTaken(LakeError):
    """The session knows another table by that name."""

    code = "NAME_TAKEN"


class TableGone(LakeError):
    """There is no Delta table at the path (any more). Facts: path."""

    code = "TABLE_GONE"


class VersionGone(LakeError):
    """The log does not reach the version. Facts: path, version, oldest, newest."""

    code = "VERSION_GONE"


class LogBroken(LakeError):
    """The log cannot be read: a hole, an empty or a truncated commit. Facts: path, file."""

    code = "LOG_BROKEN"


class TableLocked(LakeError):
    """Another writer held the table's lock for longer than was waited. Facts: path, seconds."""

    code = "TABLE_LOCKED"


class ConcurrentWrite(LakeError):
    """Another writer has committed the version first. Facts: path, version."""

    code = "CONCURRENT_WRITE"


class NotSupported(LakeError):
    """The table or the path is of a kind that this package does not handle. Facts: path."""

    code = "NOT_SUPPORTED"


class StorageFailed(LakeError):
    """Storage other than a disk of this machine did not answer, or refused. Facts: path."""

    code = "STORAGE_FAILED"


@contextmanager
def read_by_delta_rs() -> Iterator[None]:
    """A file that delta-rs cannot read, where it raises a bare Exception, is NotSupported."""
    try:
        yield
    except Exception as e:
        if type(e) is not Exception:
            raise
        raise NotSupported(f"delta-rs does not read it: {e}") from e
