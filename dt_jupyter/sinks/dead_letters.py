"""Rows that a receiver refused: a journal in a folder, to be sent again or replaced by newer rows.

`dead_letters.jsonl` is only appended to, under a lock: a line for each row that is refused, and one
for each that is settled. It is removed when no letter is open. Letters of a key are in the order of
their changes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from dt_jupyter.model import error, system_error

JOURNAL = "dead_letters.jsonl"
_LOCK = "dead_letters.lock"
_LOCK_SECONDS = 30.0


@dataclass(frozen=True)
class DeadLetter:
    """A request, of one row once it is in the journal, under the key that it is sent with.

    `status` and `reason` are the receiver's; of one that only waits behind an older letter of the
    same row they are 0 and empty.
    """

    sink: str
    key: str
    body: dict[str, Any]
    status: int = 0
    reason: str = ""

    @property
    def deletes(self) -> bool:
        return "deleted" in self.body

    def row_keys(self, columns: Sequence[str]) -> set[str]:
        """A text for each row's key, which only rows of that key share."""
        rows = self.body["deleted" if self.deletes else "rows"]
        return {json.dumps([row[name] for name in columns]) for row in rows}


class DeadLetters:
    """The letters of one sink in a folder that several sinks and processes may share."""

    def __init__(self, folder: Path, sink: str, *, seconds: float = _LOCK_SECONDS) -> None:
        self._folder, self._sink, self._seconds = folder, sink, seconds
        self._journal = folder / JOURNAL
        self._letters: dict[str, DeadLetter] = {}
        self._at = (0, 0)

    @property
    def none(self) -> bool:
        """Whether the folder has no letter of any sink, without a lock."""
        return not self._journal.exists()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Other processes and threads neither add nor settle letters during it. DT-6110 where one
        of them keeps the lock."""
        try:
            with FileLock(self._folder / _LOCK, timeout=self._seconds):
                yield
        except Timeout as e:
            problem = "another process has its dead letters; one that was stopped keeps them until "
            problem += "it continues or ends"
            store = f"The outbox {self._folder}"
            raise error("DT-6110", store=store, problem=problem) from e

    def standing(self) -> list[DeadLetter]:
        """Those that are not settled, oldest first."""
        return [each for each in self._read().values() if each.sink == self._sink]

    def count(self) -> int:
        return len(self.standing())

    def add(self, letter: DeadLetter) -> None:
        """Durable when it returns; a letter that is there already is not added twice."""
        if letter.key not in self._read():
            self._append({"refused": vars(letter)})

    def settle(self, letters: Sequence[DeadLetter], how: str) -> None:
        """They are not sent any more: they were sent, or newer rows replace them."""
        if not letters:
            return
        for letter in letters:
            self._append({"settled": letter.key, "how": how})
        if not self._read():
            self._journal.unlink(missing_ok=True)

    def _read(self) -> dict[str, DeadLetter]:
        """By key, of all sinks. Reads what was appended since the last call; what a kill left of
        the last line is not a letter."""
        try:
            file = self._journal.open("rb")
        except FileNotFoundError:
            self._letters, self._at = {}, (0, 0)
            return self._letters
        with file:
            number = os.fstat(file.fileno()).st_ino
            if number != self._at[0] or os.fstat(file.fileno()).st_size < self._at[1]:
                self._letters, self._at = {}, (number, 0)
            file.seek(self._at[1])
            whole, end, _ = file.read().rpartition(b"\n")
            self._at = (number, self._at[1] + len(whole) + len(end))
        for line in whole.splitlines():
            self._fold(json.loads(line))
        return self._letters

    def _fold(self, entry: dict[str, Any]) -> None:
        if "refused" in entry:
            letter = DeadLetter(**entry["refused"])
            self._letters[letter.key] = letter
        else:
            self._letters.pop(entry["settled"], None)

    def _append(self, entry: dict[str, Any]) -> None:
        try:
            with self._journal.open("a+b") as file:
                _cut_torn_line(file)
                file.write(json.dumps(entry).encode() + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as e:
            raise system_error(e) or error(
                "DT-6112", store="The outbox", problem=e.strerror or e, hint=""
            ) from e


def _cut_torn_line(file: BinaryIO) -> None:
    """What a kill left of the last line; its letter is added again."""
    if end := file.seek(0, os.SEEK_END):
        file.seek(end - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            file.truncate(file.read().rfind(b"\n") + 1)
