"""The outbox of a webhook: staged transactions, the outcomes of their requests, and a fence.

Files of a task are `<sink>-<range>-<transaction>.jsonl`, a request a line, with a marker `.sent`
next to it, and `<sink>-<range>.fence`. The marker stays when the transaction is sent, until the
next one is: where both are gone the outbox has lost rows.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from dt_jupyter.model import error, system_error
from dt_jupyter.sinks.binding import HashRange, Task


class RequestOutcome(StrEnum):
    """What the marker says of a piece."""

    TAKEN = "."
    REFUSED = "x"
    DIVIDED = "/"


class RequestPart(NamedTuple):
    """Rows `first` to `last`, exclusive, of a request."""

    number: int
    first: int
    last: int

    @property
    def single(self) -> bool:
        return self.last - self.first <= 1

    def halves(self) -> tuple[RequestPart, RequestPart]:
        middle = (self.first + self.last) // 2
        return self._replace(last=middle), self._replace(first=middle)


class StagedFile:
    """A transaction in the outbox. A kill at any point leaves its marker right or short, and what
    it is short of is sent again under the same key."""

    def __init__(self, path: Path) -> None:
        self.path, self.marker = path, path.with_suffix(".sent")

    def requests(self) -> Iterator[dict[str, Any]]:
        with self.path.open(encoding="utf-8") as lines:
            yield from map(json.loads, lines)

    def outcomes(self) -> dict[RequestPart, RequestOutcome]:
        """A line may be twice, where a process that was fenced was still sending."""
        if not self.marker.exists():
            return {}
        lines = self.marker.read_text().split("\n")[:-1]
        found = (line.split() for line in lines)
        return {
            RequestPart(int(n), int(a), int(b)): RequestOutcome(what) for n, a, b, what in found
        }

    def note(self, piece: RequestPart, outcome: RequestOutcome) -> None:
        """Durable where pieces get other keys by it."""
        with disk_errors(), self.marker.open("a+b", buffering=0) as file:
            torn = file.seek(0, os.SEEK_END) and _last_byte(file.fileno()) != b"\n"
            prefix = "\n" if torn else ""
            file.write(f"{prefix}{piece.number} {piece.first} {piece.last} {outcome}\n".encode())
            if outcome is not RequestOutcome.TAKEN:
                os.fsync(file.fileno())

    def finish(self) -> None:
        with disk_errors():
            self.marker.touch()
            self.path.unlink(missing_ok=True)


class Outbox:
    """The part of a folder that is of one task."""

    def __init__(self, folder: Path, task: Task) -> None:
        self._folder, self._task, self._nonce = folder, task, uuid.uuid4().hex

    def open(self, sealed: Sequence[str]) -> None:
        """Fences who has the task, or one that overlaps it, and removes what such a process had
        staged and never committed; `sealed` are the transactions that were. DT-6110."""
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
        except OSError as e:
            problem = e.strerror or "?"
            raise error("DT-6110", store=f"The folder {self._folder}", problem=problem) from e
        with disk_errors():
            self.fence()
            for path, name in self._files(".jsonl"):
                if name not in sealed:
                    path.unlink(missing_ok=True)
            self.forget_sent(sealed)

    def fence(self) -> None:
        for path, _ in self._files(".fence"):
            path.unlink(missing_ok=True)
        self._fence.write_text(self._nonce)

    def require_mine(self) -> None:
        """DT-6122 where another process has opened the task."""
        try:
            nonce = self._fence.read_text()
        except FileNotFoundError:
            nonce = ""
        if nonce != self._nonce:
            raise error("DT-6122", task=self._task)

    def stage(self, requests: Sequence[dict[str, Any]]) -> str:
        """Durable under a name that no other transaction has."""
        name = f"{self._task.sink}-{self._task.range}-{uuid.uuid4().hex}"
        head = {"sink": self._task.sink, "transaction": name}
        lines = (json.dumps({**head, "part": n, **body}) for n, body in enumerate(requests))
        with disk_errors(), self.staged(name).path.open("x", encoding="utf-8") as file:
            file.writelines(line + "\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        return name

    def staged(self, name: str) -> StagedFile:
        return StagedFile(self._folder / f"{name}.jsonl")

    def forget_sent(self, kept: Sequence[str]) -> None:
        """The markers of transactions that no checkpoint names any more. One of a wider range may
        be in the checkpoint of another part of it."""
        for path, name in self._files(".sent"):
            if name not in kept and self._range_of(name) in self._task.range:
                path.unlink(missing_ok=True)

    def clear(self) -> None:
        """Nothing of the task is sent any more, by any process."""
        for suffix in (".fence", ".jsonl", ".sent"):
            for path, _ in self._files(suffix):
                path.unlink(missing_ok=True)

    @property
    def _fence(self) -> Path:
        return self._folder / f"{self._task.sink}-{self._task.range}.fence"

    def _files(self, suffix: str) -> Iterator[tuple[Path, str]]:
        """Of the sink, in ranges that overlap the task's."""
        for path in self._folder.glob(f"*{suffix}"):
            name = path.name.removesuffix(suffix)
            mine = name.startswith(f"{self._task.sink}-")
            if mine and self._range_of(name).overlaps(self._task.range):
                yield path, name

    def _range_of(self, name: str) -> HashRange:
        return HashRange.parse_first(name.removeprefix(f"{self._task.sink}-"))


@contextmanager
def disk_errors() -> Iterator[None]:
    """DT-6112 where the folder cannot be written."""
    try:
        yield
    except OSError as e:
        raise system_error(e) or error(
            "DT-6112", store="The outbox", problem=e.strerror or e, hint=""
        ) from e


def _last_byte(file: int) -> bytes:
    return os.pread(file, 1, os.lseek(file, 0, os.SEEK_END) - 1)
