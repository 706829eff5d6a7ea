"""The files of a snapshot as the log's own actions, and which of them are still on the disk."""

from __future__ import annotations

import base64
import os
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import RLock
from typing import Any
from urllib.parse import unquote

from dt_jupyter.lake.delta_log.actions import commit_name
from dt_jupyter.lake.delta_log.checkpoints import last_checkpoint
from dt_jupyter.lake.errors import VersionGone
from dt_jupyter.lake.log_replay import FILES, Action, TableState, advance_state, checkpoint_state
from dt_jupyter.lake.paths import TablePath, data_file, local

_KEPT = 4
ACTION_BYTES = 1_200
_PLACE_BYTES = 180
"""What an action takes in memory, and its place in the state of a version."""
_Z85 = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_TO_B85 = bytes.maketrans(_Z85, _B85)
_TO_Z85 = bytes.maketrans(_B85, _Z85)
_ID = 20  # characters of an encoded UUID

_Seal = tuple[int, int, int]


class LiveFiles:
    """The files of a table at its versions; keeps the last few, and continues from the nearest.
    What a checkpoint has of their values takes much memory: it is there with `statistics` alone."""

    def __init__(self, path: TablePath, *, statistics: bool = False) -> None:
        self.path: Path = local(path)
        self._statistics = statistics
        self._dir = self.path / "_delta_log"
        self._known: OrderedDict[tuple[_Seal, int], tuple[TableState, list[Action]]] = OrderedDict()
        self._lock = RLock()

    @property
    def bytes(self) -> int:
        """About the memory of what is kept: versions share the actions of the files that they have
        in common."""
        with self._lock:
            most, every = 0, 0
            for state, _ in self._known.values():
                most, every = max(most, len(state.files)), every + len(state.files)
            return ACTION_BYTES * most + _PLACE_BYTES * every

    def at(self, version: int) -> Sequence[Action]:
        """The adds in force at a version, in the order in which its rows are replayed: oldest file
        first, then by path. VersionGone where the log does not reach it."""
        with self._lock:
            seal = self._seal(version)
            if (seal, version) not in self._known:
                made = self._made(seal, version)
                self._known[seal, version] = made, sorted(made.files.values(), key=_age)
                while len(self._known) > _KEPT:
                    self._known.popitem(last=False)
            self._known.move_to_end((seal, version))
            return self._known[seal, version][1]

    def _seal(self, version: int) -> _Seal:
        """Distinguishes a log from another one that took its place, and may have its inodes."""
        try:
            found = os.stat(self._dir / commit_name(version))
            return found.st_ino, found.st_mtime_ns, found.st_size
        except FileNotFoundError as e:
            raise self._gone(version) from e

    def _made(self, seal: _Seal, version: int) -> TableState:
        start, _ = last_checkpoint(self._dir, version)
        earlier = [
            (v, s) for s, v in self._known if start <= v < version and s == self._seal_if_there(v)
        ]
        if earlier:
            known, of = max(earlier)
            state = self._known[of, known][0].copy()
        else:
            state = checkpoint_state(self._dir, version, FILES, statistics=self._statistics)
        return advance_state(state, self._dir, version, FILES)

    def _seal_if_there(self, version: int) -> _Seal | None:
        try:
            return self._seal(version)
        except VersionGone:
            return None

    def _gone(self, version: int) -> VersionGone:
        return VersionGone(
            f"version {version} of {self.path} is not in the log",
            path=str(self.path),
            version=version,
        )


def _age(action: Action) -> tuple[int, str]:
    return int(action.get("modificationTime") or 0), action["path"]


def paths_of(action: Action) -> tuple[str, ...]:
    """The files of an add, remove or cdc action, relative to the table or absolute:
    its data, and its deletion vector where that is a separate file."""
    vector = action.get("deletionVector")
    data = unquote(action["path"])
    if not vector or vector.get("storageType", "u") == "i":
        return (data,)
    return data, vector_file(vector)


def vector_file(vector: Mapping[str, Any]) -> str:
    """Where a deletion vector is (Delta protocol, deletion vector descriptors)."""
    text = str(vector["pathOrInlineDv"])
    if vector.get("storageType", "u") == "p":
        return unquote(text)
    prefix, encoded = text[:-_ID], text[-_ID:]
    id_ = uuid.UUID(bytes=decode_z85(encoded))
    return f"{prefix}/deletion_vector_{id_}.bin" if prefix else f"deletion_vector_{id_}.bin"


def vector_name(file: str) -> str:
    """How a descriptor names a file of vectors in its table: the other way round."""
    folder, _, name = file.rpartition("/")
    id_ = uuid.UUID(name.removeprefix("deletion_vector_").removesuffix(".bin"))
    return folder + encode_z85(id_.bytes)


def decode_z85(text: str) -> bytes:
    return base64.b85decode(text.encode().translate(_TO_B85))


def encode_z85(data: bytes) -> str:
    """Of a multiple of four bytes."""
    return base64.b85encode(data).translate(_TO_Z85).decode()


def file_at(table: Path, named: str) -> Path:
    """The file that `paths_of` names."""
    return Path(data_file(table, named))
