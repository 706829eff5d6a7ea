"""The log of a table on other storage, copied into a folder of this disk as it grows.

A commit never changes, so it is copied once. Its files are named there by where they are, as in a
shallow clone's log: Spark reads the folder as a table, of the same versions at the same times, and
fetches the rows from their place. Nothing is ever written to the table.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.absolute_names import absolute_name, absolute_vector
from dt_jupyter.lake.delta_log.actions import commit_name
from dt_jupyter.lake.delta_log.active_files import paths_of
from dt_jupyter.lake.delta_log.checkpoints import (
    checkpoint_actions,
    checkpoints,
    last_checkpoint,
    sidecars_of,
)
from dt_jupyter.lake.delta_log.table_log import TableLog, version_of
from dt_jupyter.lake.delta_log.written_checkpoint import write_checkpoint
from dt_jupyter.lake.disk import sync, write_durable
from dt_jupyter.lake.disk_lock import file_lock
from dt_jupyter.lake.errors import LogBroken, TableGone
from dt_jupyter.lake.log_replay import FILES, STATE, TableState, replay_log
from dt_jupyter.lake.paths import FETCHED, fetched_file, is_uri
from dt_jupyter.lake.storage.questions import was_asked
from dt_jupyter.lake.storage.remote_files import RemoteFile, RemoteStorage
from dt_jupyter.model import Tuning
from dt_jupyter.spark import storage_of

_LOG = "_delta_log"
COPIED_PLACE = "place.json"
_COPY = ".copy.lock"
_READERS = 8
_KEPT_TIMES = 8
"""This many times the bytes that are fetched at most are kept, of the files that were read last."""
_TRIES = 4
"""Attempts to copy a log that changes at the same time otherwise than by commits."""
_CHECKPOINT_EVERY = 50
"""Commits of the copy since its last checkpoint: Spark reads this number at most."""
_DRAFT_SECONDS = 3600.0
PUBLISHED_AT = "publishedTimestamp"
"""In a commit's info: the one time, in milliseconds, of all commits of a transaction, which no
storage lets its writers choose."""
_NAMES_FILES = (b'{"add"', b'{"remove"', b'{"cdc"')


class CopiedLog(TableLog):
    """The copy in `folder`, which is brought up to date whenever the newest version is requested;
    `place` is where the table is. Files of `most_fetched` bytes are fetched to be read here.
    Raises StorageFailed in addition to what any log raises."""

    def __init__(
        self,
        folder: Path,
        storage: RemoteStorage,
        place: str | None = None,
        *,
        most_fetched: int = Tuning.fetched_bytes,
    ) -> None:
        super().__init__(folder)
        self.place = read_copied_place(folder) if place is None else place
        self._storage, self._most_fetched = storage, most_fetched
        self._remote = f"{self.place}/{_LOG}"
        self._pulling = threading.Lock()

    def _update(self, version: int | None = None) -> None:
        """Without the lock of what has been read: a storage may take its time."""
        if version is None and not was_asked(self):
            with self._pulling:
                self._pull()

    def has_file(self, named: str) -> bool:
        return self._storage.stat(named) is not None if is_uri(named) else super().has_file(named)

    def bring(self, files: Iterable[Mapping[str, Any]]) -> None:
        """Fetches what is not here yet: a data file never changes. One that is gone is missed by
        who reads it."""
        actions = list(files)
        if sum(int(a.get("size") or 0) for a in actions) > self._most_fetched:
            return
        self._bring(name for action in actions for name in paths_of(action))

    def bring_vectors(self, files: Iterable[Mapping[str, Any]]) -> None:
        self._bring(name for action in files for name in paths_of(action)[1:])

    def _bring(self, files: Iterable[str]) -> None:
        names = dict.fromkeys(name for name in files if is_uri(name))
        missing = [n for n in names if storage_of(n) and not self._is_here(n)]
        if not missing:
            return
        folder = self.path / FETCHED
        folder.mkdir(exist_ok=True)
        with ThreadPoolExecutor(_READERS) as readers:
            list(readers.map(self._fetch, missing))
        wanted = {fetched_file(self.path, n) for n in names}
        sweep_fetched(self.path, wanted, self._most_fetched)

    def _is_here(self, named: str) -> bool:
        """And read of late."""
        try:
            found = os.stat(fetched_file(self.path, named))
            os.utime(fetched_file(self.path, named), ns=(time.time_ns(), found.st_mtime_ns))
        except FileNotFoundError:
            return False
        return True

    def _fetch(self, named: str) -> None:
        with suppress(FileNotFoundError):
            fetch_whole(self._storage, named, Path(fetched_file(self.path, named)))

    def _pull(self) -> None:
        """Copies what the table's log has since."""
        newest = self._newest_here()
        if newest < 0 or not self._continues(newest):
            newest = self._copy_all()
        came = False
        while (found := self._stat_remote(newest + 1)) is not None:
            came = self._copy_next(found, newest)
            newest = newest + 1 if came else self._copy_all()
        if came and _checkpoint(self.path / _LOG, newest):
            _drop_old_drafts(self.path / _LOG)
            _drop_old_drafts(self.path / FETCHED)

    def _copy_next(self, commit: RemoteFile, newest: int) -> bool:
        """Whether it is still there, and of the table whose newest version is here."""
        folder = self.path / _LOG
        try:
            with self._copied(folder, commit) as draft:
                if continues := self._continues(newest):
                    _put(draft, folder / commit.name)
                return continues
        except FileNotFoundError:
            return False

    def _newest_here(self) -> int:
        """The newest version of the copy, which another process may have brought up to date."""
        try:
            return self._look()
        except TableGone:
            return -1

    def _continues(self, version: int) -> bool:
        """Whether the table's log still has the commit that was copied: another table may have
        taken its place, or its folder been restored."""
        found = self._stat_remote(version)
        try:
            here = _copied_time(self.path / _LOG / commit_name(version))
        except FileNotFoundError:
            return False
        return found is not None and _is_same(found, here)

    def _stat_remote(self, version: int) -> RemoteFile | None:
        return self._storage.stat(f"{self._remote}/{commit_name(version)}")

    @cached_property
    def _base(self) -> str:
        return self._storage.uri(self.place)

    def _copy_all(self) -> int:
        """The latest version of a copy that is recreated, here or by another process."""
        listed = self._list_remote()  # before there is a folder for what may be no table
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with file_lock(self.path.with_name(f".{self.path.name}{_COPY}"), str(self.path)):
            newest = self._newest_here()
            if newest >= 0 and self._continues(newest):
                return newest
            self.path.mkdir(exist_ok=True)
            new, old = self.path / f"{_LOG}.new", self.path / f"{_LOG}.old"
            tries = 1
            while not self._copy_into(new, listed):
                if tries == _TRIES:
                    raise LogBroken("files of the log are missing", path=self.place)
                listed, tries = self._list_remote(), tries + 1
            write_copied_place(self.path / COPIED_PLACE, self.place)
            shutil.rmtree(old, ignore_errors=True)
            with self._lock:  # for a moment there is no log
                if (self.path / _LOG).exists():
                    os.rename(self.path / _LOG, old)
                os.rename(new, self.path / _LOG)
                self._forget()
            sync([self.path])
            shutil.rmtree(old, ignore_errors=True)
            _drop_old_drafts(self.path / FETCHED)
            return self._look()

    def _copy_into(self, folder: Path, listed: Mapping[str, RemoteFile]) -> bool:
        """Whether all of it is still as it was listed, and now in `folder`."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        commits = _commits_of(listed)
        oldest = newest = max(commits)
        while oldest - 1 in commits:
            oldest -= 1

        def copy(version: int) -> None:
            with self._copied(folder, commits[version]) as draft:
                _put(draft, folder / commits[version].name)

        try:
            if oldest > 0:
                self._copy_first(folder, listed, oldest)
            with ThreadPoolExecutor(_READERS) as readers:
                list(readers.map(copy, range(oldest, newest + 1)))
        except FileNotFoundError:  # cleaned up, or another table's
            return False
        _checkpoint(folder, newest)
        sync([folder])
        found = self._stat_remote(newest)
        return found is not None and _is_same(found, _time_of_copy(commits[newest]))

    def _list_remote(self) -> dict[str, RemoteFile]:
        """The files of the table's log, by name. TableGone."""
        try:
            listed = {f.name: f for f in self._storage.list(self._remote)}
        except FileNotFoundError:
            listed = {}
        if not _commits_of(listed):
            raise TableGone(f"there is no Delta table at {self.place}", path=self.place)
        return listed

    @contextmanager
    def _copied(self, folder: Path, commit: RemoteFile) -> Iterator[Path]:
        """A commit as the copy has it, in a file next to what `folder` has."""
        draft = folder / f".{commit.name}.{uuid.uuid4().hex}.tmp"
        try:
            self._storage.fetch(f"{self._remote}/{commit.name}", draft)
            text, time = draft.read_bytes(), _time_of_copy(commit)
            draft.write_bytes(b"".join(_placed_lines(text, self._base)))
            sync([draft])
            if (published := _published_at(text)) is not None:
                write_durable(_original(folder / commit.name), str(time))
                time = published * 1_000_000
            os.utime(draft, ns=(time, time))
            yield draft
        finally:
            drop_draft(draft)

    def _copy_first(self, folder: Path, listed: Iterable[str], oldest: int) -> None:
        """The oldest checkpoint from which the commits continue, as one file."""
        known = checkpoints(n for n in listed if ".checkpoint." in n)
        version = min((c for c in known if c >= oldest - 1), default=None)
        if version is None:
            sentence = f"the commit {oldest - 1} is missing"
            raise LogBroken(sentence, path=self.place, file=commit_name(oldest - 1))
        fetched = folder.with_name("checkpoint.fetched")
        shutil.rmtree(fetched, ignore_errors=True)
        fetched.mkdir()
        try:
            state = TableState()
            state.apply(version, list(self._fetched(fetched, known[version])))
        finally:
            shutil.rmtree(fetched)
        write_checkpoint(folder, state)

    def _fetched(self, folder: Path, names: Iterable[str]) -> Iterator[tuple[str, Any]]:
        for name in names:
            self._storage.fetch(f"{self._remote}/{name}", folder / name)
            for sidecar in sidecars_of(folder / name):
                target = folder / "_sidecars" / sidecar
                target.parent.mkdir(exist_ok=True)
                self._storage.fetch(f"{self._remote}/_sidecars/{sidecar}", target)
            for kind, body in checkpoint_actions(folder / name, FILES | STATE):
                yield kind, _placed(body, self._base) if kind in FILES else body


def read_copied_place(folder: Path) -> str:
    """Where the table is whose log a folder has the copy of."""
    return str(json.loads((folder / COPIED_PLACE).read_text("utf-8"))["place"])


def write_copied_place(file: Path, place: str) -> None:
    """What that reads; it is on the disk."""
    write_durable(file, json.dumps({"place": place}))


def _commits_of(listed: Mapping[str, RemoteFile]) -> dict[int, RemoteFile]:
    """By version."""
    return {v: file for name, file in listed.items() if (v := version_of(name)) is not None}


def _put(draft: Path, target: Path) -> None:
    """Whole or not at all, and only where another process has not yet."""
    with suppress(FileExistsError):
        os.link(draft, target)


def _published_at(commit: bytes) -> int | None:
    """The time of the transaction whose commit it is; None of any other."""
    first, _, _ = commit.partition(b"\n")
    if PUBLISHED_AT.encode() not in first:
        return None
    millis = json.loads(first).get("commitInfo", {}).get(PUBLISHED_AT)
    return millis if isinstance(millis, int) else None


def _original(copy: Path) -> Path:
    """What has the time of a commit's original, where that of its copy is another."""
    return copy.with_name(f".{copy.name}.original")


def _copied_time(copy: Path) -> int:
    """The time of the original, as `_time_of_copy`. FileNotFoundError."""
    here = os.stat(copy).st_mtime_ns
    with suppress(FileNotFoundError):
        return int(_original(copy).read_text("utf-8"))
    return here


def _time_of_copy(commit: RemoteFile) -> int:
    """The time of the original in nanoseconds. Logs are read to the millisecond, and object stores
    have whole seconds: the rest distinguishes it by its size from another one in its place."""
    return commit.millis * 1_000_000 + commit.size % 1_000_000


def _is_same(commit: RemoteFile, copied: int) -> bool:
    """Whether it is the one of that time of its copy. Stores with milliseconds in their listings
    have whole seconds for the file itself."""
    time = _time_of_copy(commit)
    near = commit.millis % 1000 == 0 and (time - copied) % 1_000_000 == 0
    return time == copied or (near and time // 10**9 == copied // 10**9)


def fetch_whole(storage: RemoteStorage, place: str, target: Path) -> None:
    """A file of the storage under a name of this disk, all of it or nothing. FileNotFoundError."""
    draft = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
    try:
        storage.fetch(place, draft)
        os.replace(draft, target)
    finally:
        drop_draft(draft)


def drop_draft(draft: Path) -> None:
    """With the checksum that Hadoop's writers leave next to it."""
    draft.unlink(missing_ok=True)
    draft.with_name(f".{draft.name}.crc").unlink(missing_ok=True)


def _drop_old_drafts(folder: Path) -> None:
    """What processes left that died while they fetched."""
    for draft in folder.glob(".*.tmp"):
        with suppress(FileNotFoundError):
            if time.time() - draft.stat().st_mtime > _DRAFT_SECONDS:
                draft.unlink()


def sweep_fetched(table: Path, wanted: Set[str], most_fetched: int) -> None:
    """Removes the files of a copy that were read longest ago, except for the `wanted`, where there
    are more bytes of them than some times what is fetched at once."""
    most = _KEPT_TIMES * most_fetched
    with os.scandir(table / FETCHED) as entries:
        found = [(e.stat().st_atime_ns, e.stat().st_size, e.path) for e in entries]
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= most:
            return
        if path not in wanted:
            Path(path).unlink(missing_ok=True)
            total -= size


def _placed_lines(commit: bytes, base: str) -> Iterator[bytes]:
    """The lines of a commit whose files are named by where they are; `base` is the table's URI."""
    for line in commit.splitlines():
        if line.startswith(b'{"') and not line.startswith(_NAMES_FILES):
            yield line + b"\n"
        elif line.strip():
            action = json.loads(line)
            made = {k: _placed(v, base) if k in ("add", "remove", "cdc") and v else v
                    for k, v in action.items()}  # fmt: skip
            yield json.dumps(made).encode() + b"\n"


def _placed(body: Mapping[str, Any], base: str) -> dict[str, Any]:
    made = {**body, "path": absolute_name(body["path"], base)}
    if vector := body.get("deletionVector"):
        made["deletionVector"] = absolute_vector(vector, base)
    return made


def _checkpoint(folder: Path, version: int) -> bool:
    """Writes one where Spark would read many commits; whether it did."""
    if version - max(last_checkpoint(folder, version)[0], 0) < _CHECKPOINT_EVERY:
        return False
    write_checkpoint(folder, replay_log(folder, version, FILES | STATE))
    return True


__all__ = [
    "COPIED_PLACE",
    "CopiedLog",
    "drop_draft",
    "fetch_whole",
    "read_copied_place",
    "sweep_fetched",
    "write_copied_place",
]
