"""A table's Delta log, read without Spark and in milliseconds."""

from __future__ import annotations

import os
import threading
from array import array
from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dt_jupyter.lake.change.feed_cache import KeptRows
from dt_jupyter.lake.delta_log.actions import (
    CommitFacts,
    FileAction,
    NetFiles,
    changes_data,
    commit_name,
    read_actions,
    user_metadata,
)
from dt_jupyter.lake.delta_log.active_files import file_at, paths_of
from dt_jupyter.lake.delta_log.checkpoints import checkpoints
from dt_jupyter.lake.delta_log.commits import Read, ReadCommit, Remembered, in_commit_time
from dt_jupyter.lake.delta_log.metadata import Metadata, Protocol
from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.delta_log.table_size import NO_FILES, TableSize, carry_size, size_of
from dt_jupyter.lake.errors import LogBroken, TableGone, VersionGone
from dt_jupyter.lake.log_replay import (
    STATE,
    LogState,
    TableState,
    advance_state,
    checkpoint_state,
)
from dt_jupyter.lake.paths import TablePath, local, require_openable
from dt_jupyter.model import Timestamp

_NEAR = 256
"""A state is advanced by up to this number of commits, rather than read from a checkpoint."""
_PAST = 16
"""This number of ranges of older versions, each with one metadata, is remembered."""
_ICT = "delta.enableInCommitTimestamps"
_ICT_SINCE = "delta.inCommitTimestampEnablementVersion"


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Files whose data was added and removed over a range of commits, as the log's own actions less
    their statistics."""

    added: tuple[Mapping[str, Any], ...]
    removed: tuple[Mapping[str, Any], ...]


def has_log(path: TablePath) -> bool:
    """Whether a Delta log with at least one commit or checkpoint is in a folder of this disk."""
    try:
        names = os.listdir(local(path) / "_delta_log")
    except (FileNotFoundError, NotADirectoryError):
        return False
    return any(version_of(n) is not None or ".checkpoint" in n for n in names)


def version_of(name: str) -> int | None:
    """The version of a commit file's name."""
    number, dot, rest = name.partition(".")
    named = dot + rest == ".json" and len(number) == 20 and number.isdigit()
    return int(number) if named else None


class TableLog:
    """The log at `path`. Keeps what it has read between calls; safe to share among threads.

    Every method raises TableGone where there is no table, VersionGone for a version that the log
    does not reach, LogBroken for a log that cannot be right.
    """

    def __init__(self, path: TablePath) -> None:
        self.path: Path = local(path)
        self._dir = self.path / "_delta_log"
        self._prefix = str(self._dir) + os.sep
        self._lock = threading.RLock()
        self.kept = KeptRows()
        self._forget()

    def _forget(self) -> None:
        self._oldest = self._newest = -1
        self._seal: tuple[int, int, int] | None = None
        self._times: array[int] = array("q")
        self._times_from = 0
        self._state: LogState | None = None
        self._size: tuple[int, TableSize] | None = None
        self._past: deque[tuple[int, int, Metadata]] = deque(maxlen=_PAST)
        self.remembered = Remembered()
        self.kept = self.kept.renew()

    # -- versions -------------------------------------------------------------------------------

    def version(self) -> int:
        """The newest version. Two `stat` calls when nothing happened; a log that was replaced by
        another one is noticed."""
        self._update()
        return self._look()

    def _update(self, version: int | None = None) -> None:
        """Called before the newest version is read (None): a folder of this disk has it."""

    def _look(self) -> int:
        """The newest version of those in the folder."""
        with self._lock:
            if self._seal is None or self._stat(self._newest) != self._seal:
                self._list()
            while (seal := self._stat(self._newest + 1)) is not None:
                self._newest, self._seal = self._newest + 1, seal
            return self._newest

    def oldest(self) -> int:
        """The oldest version whose commit can still be read."""
        with self._lock:
            self._look()
            while self._stat(self._oldest) is None:
                self._list()
            return self._oldest

    def _file(self, version: int) -> str:
        return self._prefix + commit_name(version)

    def _stat(self, version: int) -> tuple[int, int, int] | None:
        try:
            s = os.stat(self._file(version))
        except (FileNotFoundError, NotADirectoryError):
            return None
        if s.st_size == 0:
            raise self._broken(f"the commit {version} is empty", version)
        return s.st_ino, s.st_mtime_ns, s.st_size

    def _list(self) -> None:
        """Start over from the folder's listing."""
        self._forget()
        try:
            names = os.listdir(self._dir)
        except (FileNotFoundError, NotADirectoryError) as e:
            raise TableGone(f"there is no Delta table at {self.path}", path=str(self.path)) from e
        versions = {v for n in names if (v := version_of(n)) is not None}
        if not versions:
            raise TableGone(f"there is no Delta table at {self.path}", path=str(self.path))
        self._newest = self._oldest = max(versions)
        while self._oldest - 1 in versions:
            self._oldest -= 1
        known = checkpoints(n for n in names if ".checkpoint." in n)
        if self._oldest > 0 and not any(c >= self._oldest - 1 for c in known):
            raise self._broken(f"the commit {self._oldest - 1} is missing", self._oldest - 1)
        self._seal = self._stat(self._newest)

    def _broken(self, sentence: str, version: int) -> LogBroken:
        return LogBroken(sentence, path=str(self.path), file=commit_name(version))

    def _gone(self, version: int) -> VersionGone:
        oldest, newest = self._oldest, self._newest
        return VersionGone(
            f"version {version} of {self.path} is not in the log ({oldest} to {newest})",
            path=str(self.path),
            version=version,
            oldest=oldest,
            newest=newest,
        )

    # -- state ----------------------------------------------------------------------------------

    def metadata(self, version: int | None = None) -> Metadata:
        self._update(version)
        with self._lock:
            newest = self._look()
            if version is None or version == newest:
                return self._state_at(newest).metadata
            own = [(s.since, s.version, s.metadata) for s in (self._state,) if s and s.found]
            for since, upto, metadata in (*own, *self._past):
                if since <= version <= upto:
                    return metadata
            state = self._state_at(version)
            self._past.append((state.since, version, state.metadata))
            return state.metadata

    def protocol(self, version: int | None = None) -> Protocol:
        return self._state_at(version).protocol

    def raw_state(self, version: int | None = None) -> TableState:
        """The actions in force besides the files; not to be changed."""
        return self._state_at(version).raw

    def table_id(self, version: int | None = None) -> str:
        """`metaData.id`: another one is another table."""
        return self.metadata(version).id

    def properties(self) -> Mapping[str, str]:
        return self.metadata().configuration

    def schema_json(self) -> str:
        return self.metadata().schema_string

    def clustering(self) -> tuple[tuple[str, ...], ...]:
        """The columns that the table is clustered by, as paths of their names in the files."""
        return self._state_at(None).clustering

    def last_transaction(self, app_id: str, version: int | None = None) -> int | None:
        """The last sequence that the application committed up to the version; None: none."""
        return self._state_at(version).transactions.get(app_id)

    def _state_at(self, version: int | None) -> LogState:
        self._update(version)
        with self._lock:
            newest = self._look()
            if version is None or version == newest:
                known = self._state
                self._state = self._advance(known or self._restart(newest), newest)
                return self._state
            if not 0 <= version <= newest:
                raise self._gone(version)
            known = self._state
            near = known is not None and 0 <= version - known.version <= _NEAR
            return self._advance(known if near and known else self._restart(version), version)

    def _restart(self, version: int) -> LogState:
        """The state at the last checkpoint up to `version`, or before the first commit."""
        raw = checkpoint_state(self._dir, version, STATE)
        if raw.version < 0 and self.oldest() > 0:
            raise self._gone(version)
        return LogState.of(raw)

    def _advance(self, state: LogState, version: int) -> LogState:
        if state.version == version:
            return state
        try:
            return LogState.of(advance_state(state.raw.copy(), self._dir, version, STATE), state)
        except VersionGone as e:
            raise self._gone(e.facts["version"]) from e

    # -- times ----------------------------------------------------------------------------------

    def commit_time(self, version: int) -> Timestamp:
        """When Delta says that the version was committed (milliseconds): the in-commit timestamp
        where the table has them, else the file's modification time, made to rise."""
        with self._lock:
            since = self._in_commit_since()
            if since is not None and version >= since:
                return self._in_commit_time(version)
            return self._file_time(version)

    def version_at(self, t: Timestamp) -> int | None:
        """The newest version committed at or before `t`; None if the table is younger.

        Raises VersionGone where the table may have had one, but the log does not reach back.
        """
        self._update()
        with self._lock:
            newest, oldest = self._look(), self.oldest()
            since = self._in_commit_since()
            if since is not None and since <= newest:
                first = max(since, oldest)
                if self._in_commit_time(first) <= t:
                    return self._search(t, first, newest)
                newest = first - 1
            times = self._file_times()
            found = bisect_right(times, t.micros // 1000, hi=newest - self._times_from + 1)
            if found:
                return self._times_from + found - 1
            if oldest > 0:
                raise self._gone(oldest - 1)
            return None

    def _search(self, t: Timestamp, low: int, high: int) -> int:
        """The last of [low, high] with in-commit time ≤ t, given that low has."""
        while low < high:
            middle = (low + high + 1) // 2
            if self._in_commit_time(middle) <= t:
                low = middle
            else:
                high = middle - 1
        return low

    def _in_commit_since(self) -> int | None:
        properties = self.metadata(self._look()).configuration
        if properties.get(_ICT, "").lower() != "true":
            return None
        return int(properties.get(_ICT_SINCE, 0))

    def _in_commit_time(self, version: int) -> Timestamp:
        return self._in_commit(version, in_commit_time(self._info(version)))

    def _in_commit(self, version: int, time: Timestamp | None) -> Timestamp:
        if time is None:
            raise self._broken(f"the commit {version} has no in-commit timestamp", version)
        return time

    def _info(self, version: int) -> Mapping[str, Any]:
        """The commitInfo; reads that one action alone."""
        try:
            found = read_actions(self._file(version), frozenset(["commitInfo"]))
            return next((info for _, info in found), {})
        except FileNotFoundError as e:
            raise self._gone(version) from e

    def _file_time(self, version: int) -> Timestamp:
        if version >= self._times_from + len(self._times):
            self._file_times()
        index = version - self._times_from
        if not 0 <= index < len(self._times):
            raise self._gone(version)
        return Timestamp(self._times[index] * 1000)

    def _file_times(self) -> array[int]:
        """Modification times in ms of the commits from `_times_from` on, each later than the one
        before, as Delta's history manager has it."""
        newest = self._look()
        if not self._times:
            self._times_from = self._oldest
        for v in range(self._times_from + len(self._times), newest + 1):
            seal = self._stat(v)
            if seal is None:
                raise self._gone(v)
            millis = seal[1] // 1_000_000
            self._times.append(max(millis, self._times[-1] + 1) if self._times else millis)
        return self._times

    # -- commits --------------------------------------------------------------------------------

    def commits(self, after: int, upto: int) -> tuple[CommitFacts, ...]:
        """The commits of (after, upto], oldest first."""
        with self._lock:
            return tuple(c.facts for _, c in self._known(after + 1, upto))

    def files(self, first: int, last: int) -> tuple[tuple[int, tuple[FileAction, ...]], ...]:
        """By version, the files whose data the commits first … last brought and took, those of the
        change feed among them; of commits without any nothing."""
        with self._lock:
            found = ((v, self._files_of(v, c)) for v, c in self._known(first, last))
            return tuple((v, files) for v, files in found if files)

    def _known(self, first: int, last: int) -> Iterator[tuple[int, ReadCommit]]:
        """The commits first … last; each that is not remembered is read once."""
        if last > self._look() or first < 0:
            raise self._gone(last)
        if first > last:
            return
        if self._stat(first) is None:  # what is cleaned up is gone, remembered or not
            self.oldest()
            raise self._gone(first)
        since = self._in_commit_since()
        before: Metadata | None = None
        for v in range(first, last + 1):
            commit = self.remembered.get(v)
            if commit is None:
                if before is None and v > 0:
                    before = self.metadata(v - 1)
                commit = self._read(v, since, before)
                self.remembered.keep(v, commit)
            before = commit.facts.metadata
            yield v, commit

    def _read(self, version: int, since: int | None, before: Metadata | None) -> ReadCommit:
        try:
            read = Read(self._file(version))
        except FileNotFoundError as e:
            raise self._gone(version) from e
        if since is not None and version >= since:
            time = self._in_commit(version, read.in_commit_time)
        else:
            time = self._file_time(version)
        return read.commit(version, time, before)

    def _files_of(self, version: int, commit: ReadCommit) -> tuple[FileAction, ...]:
        try:
            return Read(self._file(version)).files if commit.files is None else commit.files
        except FileNotFoundError as e:
            raise self._gone(version) from e

    def file_changes(self, first: int, last: int) -> FileChanges:
        """The files whose data the commits first … last added and removed. What was added and
        removed again within the range is left out; OPTIMIZE (dataChange = false) counts for
        nothing."""
        net = NetFiles()
        for _, files in self.files(first, last):
            for kind, body in files:
                if kind != "cdc":
                    net.take(kind, body)
        return FileChanges(tuple(net.came.values()), tuple(net.went.values()))

    def new_files(self, first: int, last: int) -> tuple[Mapping[str, Any], ...]:
        """The files whose data the commits first … last wrote, each as it was first added; one
        that only got another deletion vector is not new."""
        found: dict[str, Mapping[str, Any]] = {}
        for _, files in self.files(first, last):
            old = {b["path"] for k, b in files if k == "remove"}
            for kind, body in files:
                if kind == "add" and body["path"] not in old:
                    found.setdefault(body["path"], body)
        return tuple(found.values())

    def transactions_of(self, version: int) -> dict[str, int]:
        """The sequences that the commit itself carries, by application."""
        try:
            found = read_actions(self._file(version), frozenset(("txn",)))
            return {b["appId"]: int(b["version"]) for _, b in found}
        except FileNotFoundError as e:
            raise self._gone(version) from e

    def operation(self, version: int) -> str:
        """What the commit's writer calls it."""
        known = self.remembered.get(version)
        found = self._info(version).get("operation", "") if known is None else known.facts.operation
        return str(found)

    def rows_written(self, version: int) -> int | None:
        """How many rows a commit of rows wrote, as its writer says; None where it does not."""
        told = str((self._info(version).get("operationMetrics") or {}).get("numOutputRows"))
        return int(told) if told.isdigit() else None

    def user_metadata(self, version: int) -> str | None:
        """What the commit's writer said of it."""
        return user_metadata(self._info(version))

    def changes_data(self, version: int) -> bool:
        """Whether the commit adds or removes rows."""
        known = self.remembered.get(version)
        if known is not None:
            return known.facts.data_change
        try:
            return changes_data(self._file(version))
        except FileNotFoundError as e:
            raise self._gone(version) from e

    def has_file(self, named: str) -> bool:
        """Whether a file is there that the log names, as `paths_of` has it."""
        return file_at(self.path, named).exists()

    def bring(self, files: Iterable[Mapping[str, Any]]) -> None:
        """Sees to it that files which actions name are on this disk, if they are few; there are
        none elsewhere."""

    def bring_vectors(self, files: Iterable[Mapping[str, Any]]) -> None:
        """As `bring` the files of their deletion vectors alone, of any number."""

    def files_written(self, version: int) -> tuple[str, ...]:
        """Paths, relative to the table, of the files that the commit brought: of rows, of changes
        and of deletion vectors."""
        try:
            found = read_actions(self._file(version), frozenset(("add", "cdc")))
            return tuple(dict.fromkeys(path for _, b in found for path in paths_of(b)))
        except FileNotFoundError as e:
            raise self._gone(version) from e

    # -- size -----------------------------------------------------------------------------------

    def size(self, version: int | None = None) -> TableSize:
        """Of a snapshot, by default the newest; its files are listed (delta-rs) where the commits
        since the last one that was requested do not say. NotSupported for a table that is a
        different one to delta-rs, whether it lists it now or later."""
        require_openable(self.path)
        self._update(version)
        with self._lock:
            newest = self._look()
            asked = newest if version is None else version
            if self._size is None or self._size[0] != asked:
                carried = self._carried_size(asked)
                self._size = asked, carried or size_of(TableSnapshot(self.path, asked).files())
            return self._size[1]

    def _carried_size(self, version: int) -> TableSize | None:
        known, size = self._size or (-1, NO_FILES)
        if known > version:
            known, size = -1, NO_FILES
        if known + 1 < self._oldest:
            return None
        try:
            return carry_size(self._dir, size, known + 1, version)
        except FileNotFoundError as e:
            raise self._gone(version) from e
