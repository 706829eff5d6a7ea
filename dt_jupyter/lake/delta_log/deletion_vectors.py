"""Deletion vectors: which rows of a data file are gone, by their places in it.

Source: Delta's protocol, "Deletion Vectors" and "Deletion Vector Format".
"""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.active_files import decode_z85, encode_z85, file_at, vector_file
from dt_jupyter.lake.errors import LogBroken, NotSupported
from dt_jupyter.model import count_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Places = NDArray[np.int64]

_FORMAT = b"\x01"
_MAGIC = struct.pack("<i", 1681511377)
"""Of a portable array of Roaring bitmaps, the one kind that Delta writes."""
_LENGTH = struct.Struct(">i")
_CHECKSUM = struct.Struct(">I")


def read_places(table: Path, vector: Mapping[str, Any]) -> Places:
    """The places, rising from 0, of the rows that a descriptor of the log says are gone. Raises
    OSError, LogBroken for a file that is not what was written, NotSupported for a format that
    is newer."""
    import numpy as np
    from pyroaring import BitMap64

    data = _read(table, vector)
    if data[:4] != _MAGIC:
        raise NotSupported("a deletion vector of another format", path=str(table))
    try:
        places = BitMap64.deserialize(data[4:]).to_array()
    except ValueError as e:
        raise _broken(table, vector, str(e)) from e
    found = np.frombuffer(places, np.uint64).astype(np.int64)
    if len(found) != int(vector["cardinality"]):
        raise _broken(table, vector, f"it holds {count_of(len(found), 'row')}")
    return found


def _read(table: Path, vector: Mapping[str, Any]) -> bytes:
    size = int(vector["sizeInBytes"])
    if vector["storageType"] == "i":
        return decode_z85(vector["pathOrInlineDv"])[:size]
    with open(file_at(table, vector_file(vector)), "rb") as file:
        file.seek(int(vector.get("offset", 1)))
        read = file.read(_LENGTH.size + size + _CHECKSUM.size)
    if len(read) < _LENGTH.size + size + _CHECKSUM.size:
        raise _broken(table, vector, "its file is too short")
    data = read[_LENGTH.size : -_CHECKSUM.size]
    if _LENGTH.unpack_from(read)[0] != size:
        raise _broken(table, vector, "it has another length")
    if _CHECKSUM.unpack_from(read, len(read) - _CHECKSUM.size)[0] != zlib.crc32(data):
        raise _broken(table, vector, "its checksum is wrong")
    return data


def _broken(table: Path, vector: Mapping[str, Any], problem: str) -> LogBroken:
    name = vector["pathOrInlineDv"][:40]
    return LogBroken(f"the deletion vector {name} cannot be right: {problem}", path=str(table))


def write_places(table: Path, vectors: Sequence[Places]) -> list[dict[str, Any]]:
    """Puts vectors into one new file of a table; the log's descriptor of each."""
    from pyroaring import BitMap64

    name = uuid.uuid4()
    text, written, found = encode_z85(name.bytes), bytearray(_FORMAT), []
    for places in vectors:
        data = _MAGIC + BitMap64(places.tolist()).serialize()
        found.append({
            "storageType": "u", "pathOrInlineDv": text, "offset": len(written),
            "sizeInBytes": len(data), "cardinality": len(places),
        })  # fmt: skip
        written += _LENGTH.pack(len(data)) + data + _CHECKSUM.pack(zlib.crc32(data))
    (table / f"deletion_vector_{name}.bin").write_bytes(written)
    return found
