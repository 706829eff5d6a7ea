"""Decoded columns as files in a folder of this user: an Arrow IPC file each, which is mapped into
memory, and a trailer by which complete files with the right name are recognized."""

from __future__ import annotations

import json
import os
import shutil
import struct
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import xxhash

from dt_jupyter.lake.file_systems import REMOTE_KINDS, file_system_of
from dt_jupyter.lake.read.key_index import KeyIndex
from dt_jupyter.lake.read.table_files import DataFileKey

if TYPE_CHECKING:
    import pyarrow as pa

ColumnKey: TypeAlias = tuple[DataFileKey, int, str, str]
"""A file's row group, the column as it is stored, and the type that it is read in, or INDEX."""
INDEX = "index"
CachedValues: TypeAlias = "pa.Array | KeyIndex"

_FORMAT = 1
"""Another number where a release decodes or packs values in another way."""
_TRAILER = struct.Struct("<QI16s8s")
"""Bytes of the IPC file, bytes of the key, digest of all before it, and the magic."""
_MAGIC = b"DTCOLUMN"
_SUFFIX = ".arrow"
_FREE_SHARE = 0.1
"""The share of the disk's free bytes, and those that are taken already, that may be taken."""
_DRAFT_SECONDS = 3600
"""An older draft is of a process that ended."""
_BASE_SECONDS = 30 * 24 * 3600
"""Which version of a table was read last is forgotten after so long."""


class DamagedFile(Exception):
    """A file is not what was written under its name."""


@dataclass(frozen=True)
class ColumnFolder:
    """Files of columns by their keys, those of a data file in one folder. Processes
    share it; each may remove any file at any time. All methods raise OSError."""

    path: Path

    def create(self) -> None:
        """For this user alone."""
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.require_own()
        self.path.chmod(0o700)

    def require_own(self) -> None:
        """PermissionError where the folder is another user's; OSError where it is another
        machine's, which may take the pages of a mapped file away."""
        if (kind := file_system_of(self.path)) in REMOTE_KINDS:
            raise OSError(f"it is on {kind}; XDG_CACHE_HOME may name a folder of this machine")
        with suppress(FileNotFoundError):
            if hasattr(os, "getuid") and self.path.stat().st_uid != os.getuid():
                raise PermissionError(f"{self.path} belongs to another user")

    def file_of(self, key: ColumnKey) -> Path:
        name = xxhash.xxh3_128_hexdigest(_key_text(key)) + _SUFFIX
        return self._folder_of(key[0][0]) / name

    def store(self, key: ColumnKey, values: CachedValues) -> int:
        """Writes a file, whole under its name or not at all; its bytes. Two processes that write
        the same one write the same."""
        file = self.file_of(key)
        file.parent.mkdir(mode=0o700, exist_ok=True)
        draft = file.with_name(f"{uuid.uuid4().hex}.tmp")
        body, text = _to_ipc(values), _key_text(key)
        digest = xxhash.xxh3_128(body)
        digest.update(text)
        try:
            with draft.open("xb") as out:
                out.write(body)
                out.write(text)
                out.write(_TRAILER.pack(body.size, len(text), digest.digest(), _MAGIC))
                size = out.tell()
            draft.replace(file)
        finally:
            draft.unlink(missing_ok=True)
        return size

    def load(self, key: ColumnKey) -> CachedValues:
        """The values of a key, in mapped memory. FileNotFoundError where there are none;
        DamagedFile, and the file is removed, where it is half a file, another key's or changed."""
        import pyarrow as pa

        file = self.file_of(key)
        try:
            values = _from_ipc(_checked(pa.memory_map(str(file)).read_buffer(), _key_text(key)))
        except (DamagedFile, pa.ArrowException) as e:
            file.unlink(missing_ok=True)
            raise DamagedFile(f"{file}: {e}") from e
        with suppress(FileNotFoundError):
            os.utime(file)  # used last
        return values

    def has(self, data_file: str) -> bool:
        """Whether there is a column of a data file, of whatever time and size."""
        return self._folder_of(data_file).is_dir()

    def store_base(self, table: str, version: int) -> None:
        """Writes down which version of a table is read by its columns here."""
        self.path.mkdir(mode=0o700, exist_ok=True)
        draft = self.path / f"{uuid.uuid4().hex}.tmp"
        draft.write_text(str(version))
        draft.replace(self._base_file(table))

    def base_of(self, table: str) -> int | None:
        """The version that was written down last; no more than a hint."""
        with suppress(OSError, ValueError):
            return int(self._base_file(table).read_text())
        return None

    def forget(self, data_file: str) -> None:
        """Removes the columns of a data file."""
        shutil.rmtree(self._folder_of(data_file), ignore_errors=True)

    def sweep(self) -> None:
        """Removes the columns of data files that are gone, and bases that are old."""
        for base in self.path.glob("*.base"):
            with suppress(FileNotFoundError):
                if time.time() - base.stat().st_mtime > _BASE_SECONDS:
                    base.unlink()
        for folder in self._folders():
            files = sorted(folder.glob(f"*{_SUFFIX}"))
            if not files or not _has_source(files[0]):
                shutil.rmtree(folder, ignore_errors=True)

    def make_room(self, most_bytes: int, needed: int) -> int:
        """Removes what was used least recently, until a file of `needed` bytes is within
        `most_bytes` of all files, and leaves the disk enough; the bytes that may be written."""
        files = sorted(self._files())
        taken = sum(size for _, size, _ in files)
        free = shutil.disk_usage(self.path).free
        most = min(most_bytes, int(_FREE_SHARE * (free + taken)))
        for _, size, file in files if needed <= most else ():
            if taken + needed <= most:
                break
            Path(file).unlink(missing_ok=True)
            taken -= size
        return most - taken

    def bytes(self) -> int:
        """Those of all files."""
        return sum(size for _, size, _ in self._files())

    def _files(self) -> Iterator[tuple[int, int, str]]:
        """When each was used last, its bytes and its path; old drafts are removed."""
        for folder in self._folders():
            with suppress(FileNotFoundError), os.scandir(folder) as found:
                for entry in found:
                    told = entry.stat()
                    if entry.name.endswith(_SUFFIX):
                        yield told.st_mtime_ns, told.st_size, entry.path
                    elif time.time() - told.st_mtime > _DRAFT_SECONDS:
                        Path(entry.path).unlink(missing_ok=True)

    def _folders(self) -> list[Path]:
        with suppress(FileNotFoundError):
            return [f for f in self.path.iterdir() if f.is_dir()]
        return []

    def _base_file(self, table: str) -> Path:
        return self.path / f"{xxhash.xxh3_64_hexdigest(table.encode())}.base"

    def _folder_of(self, data_file: str) -> Path:
        return self.path / xxhash.xxh3_64_hexdigest(data_file.encode())


def _key_text(key: ColumnKey) -> bytes:
    file, *rest = key
    return json.dumps([_FORMAT, *file, *rest]).encode()


def _to_ipc(values: CachedValues) -> pa.Buffer:
    import pyarrow as pa

    columns = {"column": values}
    if isinstance(values, KeyIndex):
        columns = {"values": pa.array(values.values)}
        if values.places is not None:
            columns["places"] = pa.array(values.places)
    batch = pa.RecordBatch.from_pydict(columns)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as out:
        out.write_batch(batch)
    return sink.getvalue()


def _from_ipc(body: pa.Buffer) -> CachedValues:
    import pyarrow as pa

    batch = pa.ipc.open_file(pa.BufferReader(body)).get_batch(0)
    if "column" in batch.schema.names:
        return batch.column("column")
    places = batch.column("places").to_numpy() if "places" in batch.schema.names else None
    return KeyIndex(batch.column("values").to_numpy(), places, batch.nbytes)


def _checked(whole: pa.Buffer, text: bytes) -> pa.Buffer:
    """The IPC file in a file of the key `text`. DamagedFile."""
    if whole.size < _TRAILER.size:
        raise DamagedFile("it has no trailer")
    length, key_length, digest, magic = _TRAILER.unpack(whole.slice(whole.size - _TRAILER.size))
    if magic != _MAGIC or length + key_length + _TRAILER.size != whole.size:
        raise DamagedFile("it has no trailer of its length")
    if whole.slice(length, key_length).to_pybytes() != text:
        raise DamagedFile("it is of another key")
    if xxhash.xxh3_128_digest(whole.slice(0, length + key_length)) != digest:
        raise DamagedFile("its bytes are not those that were written")
    return whole.slice(0, length)


def _has_source(file: Path) -> bool:
    """Whether the data file of a column is there, as it was."""
    with suppress(OSError, ValueError, struct.error):
        with file.open("rb") as opened:
            opened.seek(-_TRAILER.size, os.SEEK_END)
            length, key_length, _, _ = _TRAILER.unpack(opened.read())
            opened.seek(length)
            _, path, inode, modified, size, *_ = json.loads(opened.read(key_length))
        found = os.stat(path)
        return (found.st_ino, found.st_mtime_ns, found.st_size) == (inode, modified, size)
    return False
