"""Where a table's files are put by a writer without Spark: in its folder, or at the place that this
represents. A commit names only what has been put."""

from __future__ import annotations

import json
import logging
import os
import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import unquote

from dt_jupyter.lake import disk
from dt_jupyter.lake.delta_log.absolute_names import (
    absolute_name,
    relative_name,
    relative_vector,
)
from dt_jupyter.lake.delta_log.actions import commit_name
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.delta_log.version_checksum import checksum_name, checksum_text, write_checksum
from dt_jupyter.lake.delta_log.written_checkpoint import write_checkpoint
from dt_jupyter.lake.errors import LakeError
from dt_jupyter.lake.log_replay import FILES, STATE, replay_log
from dt_jupyter.lake.paths import fetched_file
from dt_jupyter.lake.storage.copied_log import PUBLISHED_AT, fetch_whole, sweep_fetched
from dt_jupyter.lake.storage.mounts import Mounted, find_mounted, find_place
from dt_jupyter.lake.storage.questions import ask_again
from dt_jupyter.lake.storage.written_rows import LEFT_SECONDS

_log = logging.getLogger("dt_jupyter.lake")
_LOG = "_delta_log"
_MOVERS = 8


class TablePlace(Protocol):
    """Names are relative to the table."""

    def names(self) -> frozenset[str]:
        """The files of data that are there, so that those which an attempt left can be recognized;
        of other storage none are listed: a vacuum deletes them."""

    def put(self, names: Iterable[str]) -> None:
        """Files that were written in the table's folder of this disk are where its readers look
        for them, and stay there."""

    def put_commit(
        self, version: int, actions: Iterable[Mapping[str, Any]], millis: int | None = None
    ) -> None:
        """Whole or not at all; `millis`: as of that time, to the engine at least. FileExistsError
        where there is one."""

    def take_from(self, folder: Path, names: Iterable[str]) -> None:
        """Files of a folder on the same disk or storage are the table's own, under their names
        there; what is there already stays. FileNotFoundError."""

    def settle(self, names: Iterable[str], version: int) -> None:
        """A commit that another writer made, and its files, stay there."""

    def add_checksum(self, log: TableLog, version: int) -> None:
        """Next to a commit that was just made. What fails here is logged."""

    def add_checkpoint(self, log: TableLog, version: int) -> None:
        """Of the newest version. What fails here is logged: the commits are valid."""

    def copy_from(self, table: Path, names: Sequence[str]) -> None:
        """Files of another table of the lake, or of a disk, under their names there; as links
        where there are such."""

    def own_names(self, body: dict[str, Any]) -> dict[str, Any]:
        """What an action says of a file, which is named as the log itself has it."""

    def list(self) -> Iterator[tuple[str, int, float]]:
        """The files of the table's data, as `paths_of` names them: bytes, and seconds of the
        time when each was written."""

    def delete(self, names: Iterable[str]) -> None:
        """Files as `list`, or `names`, names them; one that is gone is as good."""


def table_place(path: Path) -> TablePlace:
    found = find_place(path)
    return DiskPlace(path) if found is None else RemotePlace(path, found)


class DiskPlace:
    """The table's folder is where its files are."""

    def __init__(self, table: Path) -> None:
        self._table = table

    def names(self) -> frozenset[str]:
        return disk.data_files(self._table)

    def put(self, names: Iterable[str]) -> None:
        files = [self._table / name for name in names]
        disk.sync([*files, *dict.fromkeys(file.parent for file in files)])

    def put_commit(
        self, version: int, actions: Iterable[Mapping[str, Any]], millis: int | None = None
    ) -> None:
        (self._table / _LOG).mkdir(parents=True, exist_ok=True)
        disk.put_commit(self._table, version, actions, millis)

    def take_from(self, folder: Path, names: Iterable[str]) -> None:
        """The folder has them still; as copies where another disk, or storage, holds the table."""
        of = find_place(folder)
        for name in names:
            if of is None:
                disk.bring_file(folder / name, self._table / name)
            elif not (self._table / name).exists():
                (self._table / name).parent.mkdir(parents=True, exist_ok=True)
                fetch_whole(of.storage, f"{of.place}/{name}", self._table / name)

    def settle(self, names: Iterable[str], version: int) -> None:
        disk.make_durable(self._table, names, version)

    def add_checksum(self, log: TableLog, version: int) -> None:
        write_checksum(log, version)

    def add_checkpoint(self, log: TableLog, version: int) -> None:
        from deltalake import DeltaTable
        from deltalake.exceptions import DeltaError

        try:
            DeltaTable(log.path).create_checkpoint()
        except (DeltaError, OSError) as e:
            _log.warning("version %d of %s has no checkpoint: %s", version, log.path, e)

    def copy_from(self, table: Path, names: Sequence[str]) -> None:
        disk.link_files(table, self._table, names)

    def own_names(self, body: dict[str, Any]) -> dict[str, Any]:
        return body

    def list(self) -> Iterator[tuple[str, int, float]]:
        return disk.list_files(self._table)

    def delete(self, names: Iterable[str]) -> None:
        disk.remove_files(self._table, names)


class RemotePlace:
    """The folder has a copy of the log, and of files that were read or written here."""

    def __init__(self, table: Path, of: Mounted) -> None:
        self._table, self._storage, self._place = table, of.storage, of.place
        self._most_fetched = of.most_fetched

    @cached_property
    def _base(self) -> str:
        """The table's URI, by which the copy of its log names its files."""
        return self._storage.uri(self._place)

    def names(self) -> frozenset[str]:
        return frozenset()

    def put(self, names: Iterable[str]) -> None:
        put: set[str] = set()
        for name in names:
            file = self._table / name
            self._storage.put(file, f"{self._place}/{name}")
            kept = fetched_file(self._table, unquote(absolute_name(name, self._base)))
            Path(kept).parent.mkdir(exist_ok=True)
            os.replace(file, kept)
            put.add(kept)
        if put:
            sweep_fetched(self._table, put, self._most_fetched)
            self._sweep_left()

    def _sweep_left(self) -> None:
        """What an attempt wrote here, and was killed before it put it."""
        before = time.time() - LEFT_SECONDS
        for name in disk.data_files(self._table):
            with suppress(FileNotFoundError):
                if os.stat(file := self._table / name).st_mtime < before:
                    file.unlink()

    def put_commit(
        self, version: int, actions: Iterable[Mapping[str, Any]], millis: int | None = None
    ) -> None:
        """The time is in the commit: its file has that of the storage."""
        made = [self._as_there(action) for action in actions]
        if millis is not None:
            made[0]["commitInfo"] = {**made[0]["commitInfo"], PUBLISHED_AT: millis}
        lines = map(json.dumps, made)
        name = f"{self._place}/{_LOG}/{commit_name(version)}"
        self._storage.put_commit(name, "".join(f"{line}\n" for line in lines))

    def take_from(self, folder: Path, names: Iterable[str]) -> None:
        """The folder has them no more where it is on the same storage."""
        of = find_place(folder)

        def take(name: str) -> None:
            target = f"{self._place}/{name}"
            if self._storage.stat(target) is not None:
                return
            if of is None:
                self._storage.put(folder / name, target)
            else:
                source = f"{of.place}/{name}"
                if _host(source) != _host(target):
                    draft = f"{self._place}/.{uuid.uuid4().hex}.tmp"
                    self._storage.copy(source, draft)
                    source = draft
                with suppress(FileExistsError):
                    self._storage.move(source, target)

        with ThreadPoolExecutor(_MOVERS) as movers:
            list(movers.map(take, names))

    def _as_there(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """With the files by their names in the table, as the log itself has them."""
        return {
            kind: self.own_names(body) if kind in ("add", "remove", "cdc") and body else body
            for kind, body in action.items()
        }

    def own_names(self, body: dict[str, Any]) -> dict[str, Any]:
        made = {**body, "path": relative_name(body["path"], self._base)}
        if vector := body.get("deletionVector"):
            made["deletionVector"] = relative_vector(vector, self._base)
        return made

    def settle(self, names: Iterable[str], version: int) -> None:
        """What the storage has acknowledged is durable."""

    def add_checksum(self, log: TableLog, version: int) -> None:
        try:
            if (text := checksum_text(log, version)) is not None:
                self._put_text(checksum_name(version), text)
        except (LakeError, OSError, ValueError, KeyError) as e:
            _log.warning("version %d of %s has no checksum: %s", version, self._place, e)

    def add_checkpoint(self, log: TableLog, version: int) -> None:
        folder = self._table / f".{version}.{uuid.uuid4().hex}.checkpoint"
        try:
            ask_again()
            log.version()  # which the copy may not have yet
            state = replay_log(self._table / _LOG, version, FILES | STATE)
            files = [self.own_names(body) for body in state.files.values()]
            folder.mkdir()
            name = write_checkpoint(folder, state, files)
            for written in (name, "_last_checkpoint"):
                self._storage.put(folder / written, f"{self._place}/{_LOG}/{written}")
        except (LakeError, OSError, ValueError) as e:
            _log.warning("version %d of %s has no checkpoint: %s", version, self._place, e)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _put_text(self, name: str, text: str) -> None:
        draft = self._table / f".{name}.{uuid.uuid4().hex}.tmp"
        try:
            draft.write_text(text, "utf-8")
            self._storage.put(draft, f"{self._place}/{_LOG}/{name}")
        finally:
            draft.unlink(missing_ok=True)

    def copy_from(self, table: Path, names: Sequence[str]) -> None:
        of = find_mounted(table)
        for name in names:
            if of is None:
                self._storage.put(table / name, f"{self._place}/{name}")
            else:
                self._storage.copy(f"{of.place}/{name}", f"{self._place}/{name}")

    def list(self) -> Iterator[tuple[str, int, float]]:
        base = unquote(self._base)
        for file in self._storage.list_all(self._place):
            if disk.is_data(file.name):
                yield f"{base}/{file.name}", file.size, file.millis / 1000

    def delete(self, names: Iterable[str]) -> None:
        base = unquote(self._base)
        for name in names:
            self._storage.delete(f"{self._place}/{relative_name(name, base)}")


def _host(place: str) -> str:
    """The storage that a place is on, with its authority."""
    scheme, _, rest = place.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"


__all__ = ["TablePlace", "table_place"]
