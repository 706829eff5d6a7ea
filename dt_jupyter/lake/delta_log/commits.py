"""What is remembered of a log's commits: their facts, and the files that each brought and took."""

from __future__ import annotations

import heapq
import threading
from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.lake.delta_log.actions import CommitFacts, FactsBuilder, FileAction, read_actions
from dt_jupyter.lake.delta_log.metadata import Metadata, schema_change
from dt_jupyter.lake.errors import LogBroken
from dt_jupyter.model import Timestamp

MOST_REMEMBERED = 8 << 20
"""Of one log: the commits of some thousands of small changes."""
_MOST_FILES = 100
"""Of a commit of more, the files are read again by those who ask."""
_COMMIT, _METRIC, _FILE = 900, 60, 500
"""Bytes of Python's objects, as measured, without the texts in them."""


@dataclass(frozen=True, slots=True)
class ReadCommit:
    """The facts, and the files whose data came or went: adds, removes and files of the change
    feed, in the order of the log; None where they are too many to be kept."""

    facts: CommitFacts
    files: tuple[FileAction, ...] | None

    @property
    def bytes(self) -> int:
        """What it takes to remember it, roughly."""
        facts = self.facts
        texts = len(facts.user_metadata or "") + sum(map(len, facts.transactions))
        files = sum(_FILE + len(body["path"]) for _, body in self.files or ())
        return _COMMIT + _METRIC * len(facts.metrics) + texts + files


class Read:
    """A commit file, read once: its actions added up, but not yet when it was."""

    def __init__(self, file: str) -> None:
        self._found = FactsBuilder()
        for kind, body in read_actions(file):
            self._found.take(kind, body)

    @property
    def metadata(self) -> Metadata | None:
        """Its own, if it wrote them."""
        return self._found.metadata

    @property
    def in_commit_time(self) -> Timestamp | None:
        return in_commit_time(self._found.info)

    @property
    def files(self) -> tuple[FileAction, ...]:
        return tuple(self._found.files)

    def commit(self, version: int, time: Timestamp, before: Metadata | None) -> ReadCommit:
        """`before` is the metadata that it found; the first commit finds its own."""
        own = self._found.metadata
        metadata = own or before
        if metadata is None:
            raise LogBroken("the first commit has no metadata", version=version)
        schema = None if own is None or before is None else schema_change(before, own)
        facts = self._found.facts(version, time, metadata, schema)
        return ReadCommit(facts, self.files if len(self._found.files) <= _MOST_FILES else None)


def in_commit_time(info: Mapping[str, object]) -> Timestamp | None:
    """The time that a commitInfo holds (it has milliseconds)."""
    millis = info.get("inCommitTimestamp")
    return None if millis is None else Timestamp(int(str(millis)) * 1000)


class Remembered:
    """Commits by version, up to a number of bytes. The newest versions stay: a reader that goes
    through more than fits, from old to new and again, finds those the second time."""

    def __init__(self, most: int = MOST_REMEMBERED) -> None:
        self.bytes = 0
        self._most = most
        self._known: dict[int, ReadCommit] = {}
        self._oldest_first: list[int] = []
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._known)

    def get(self, version: int) -> ReadCommit | None:
        return self._known.get(version)

    def keep(self, version: int, commit: ReadCommit) -> None:
        """Remember a commit that is not known yet, if need be in place of older ones."""
        with self._lock:
            self._known[version] = commit
            heapq.heappush(self._oldest_first, version)
            self.bytes += commit.bytes
            while self.bytes > self._most:
                self.bytes -= self._known.pop(heapq.heappop(self._oldest_first)).bytes

    def clear(self) -> None:
        """Forgets all: memory is needed for others."""
        with self._lock:
            self.bytes, self._known, self._oldest_first = 0, {}, []
