"""The Delta log that represents the files of a source: created, and extended by a version."""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dt_jupyter.lake.change.change_plan import FILES_CHANGED
from dt_jupyter.lake.delta_log.metadata import LINKED
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.delta_log.version_checksum import write_checksum
from dt_jupyter.lake.disk import make_durable, put_commit
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.files.file_list import WHOLE_EVERY, FileList, note_of
from dt_jupyter.lake.types import allow_nulls, arrow_schema, leaves, strip_metadata

_CAME = "FILES CAME"
_OPEN = "_open"
_READERS = 8
_NTZ = "timestampNtz"


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A Parquet file of the log's folder, by its path there: a link, or copied rows."""

    path: str
    size: int
    modified: int
    rows: int
    partitions: Mapping[str, str | None]

    def added(self) -> dict[str, Any]:
        return {"add": {
            "path": self.path, "partitionValues": dict(self.partitions), "size": self.size,
            "modificationTime": self.modified // 1_000_000, "dataChange": True,
            "stats": json.dumps({"numRecords": self.rows}, separators=(",", ":")),
        }}  # fmt: skip


def storable_fields(schema: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """The columns of a Spark schema (its JSON) as a log has them; None where Delta has no form of
    one, or distinguishes two of them by case only."""
    fields: list[dict[str, Any]] = allow_nulls(strip_metadata(schema["fields"]))
    names = {f["name"].lower() for f in fields}
    try:
        arrow_schema(schema["fields"])
    except NotSupported:
        return None
    return fields if fields and len(names) == len(fields) else None


def create_list(
    folder: Path,
    fields: list[dict[str, Any]],
    partitions: Sequence[str],
    properties: Mapping[str, str],
    *,
    linked: bool,
) -> None:
    """Version 0, a list of no files, older than any data timestamp. FileExistsError where there is
    one."""
    kinds = {kind for f in fields for _, kind in leaves(f["type"], f["name"])}
    ntz = [_NTZ] if "timestamp_ntz" in kinds else []
    protocol = {
        "minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ntz,
        "writerFeatures": ["changeDataFeed", "invariants", "appendOnly", *ntz],
    }  # fmt: skip
    configuration = {
        **properties,
        LINKED: str(linked).lower(),
        "delta.enableChangeDataFeed": "true",
        "delta.enableExpiredLogCleanup": "false",
    }
    metadata = {
        "id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": list(partitions), "configuration": configuration,
        "createdTime": 0,
    }  # fmt: skip
    (folder / "_delta_log").mkdir(parents=True, exist_ok=True)
    info = _info("CREATE TABLE", note_of({}, (), whole=True, reason=""), 0)
    put_commit(folder, 0, (info, {"metaData": metadata}, {"protocol": protocol}), 0)
    make_durable(folder, (), 0)


def _info(operation: str, note: str, millis: int) -> dict[str, Any]:
    return {"commitInfo": {
        "timestamp": millis, "operation": operation, "operationParameters": {},
        "isBlindAppend": operation == _CAME, "operationMetrics": {}, "engineInfo": "dt_jupyter",
        "txnId": str(uuid.uuid4()), "userMetadata": note,
    }}  # fmt: skip


def carry_on(
    log: TableLog,
    files: FileList,
    came: FileList,
    gone: Iterable[str],
    stored: Sequence[StoredFile],
    taken: Iterable[str],
    reason: str,
    millis: int,
) -> int:
    """The next version: `files` is the list after it, `stored` what the log gets, `taken` the
    paths in its folder that it loses; with a `reason` it does not continue the one before.
    FileExistsError where another program was faster."""
    version = log.version() + 1
    whole = version % WHOLE_EVERY == 0
    note = note_of(files if whole else came, tuple(gone), whole=whole, reason=reason)
    after = log.commit_time(version - 1).micros // 1000
    millis = max(millis, after + 1)
    removes = [
        {"remove": {"path": p, "deletionTimestamp": millis, "dataChange": True}} for p in taken
    ]
    actions = [_info(FILES_CHANGED if reason else _CAME, note, millis), *removes]
    put_commit(log.path, version, (*actions, *(f.added() for f in stored)), millis)
    make_durable(log.path, (), version)
    write_checksum(log, version)
    if whole:
        _checkpoint(log.path)
    return version


def _checkpoint(folder: Path) -> None:
    from deltalake import DeltaTable

    DeltaTable(folder).create_checkpoint()


# -- what it is based on ---------------------------------------------------------------------------


def new_batch(folder: Path) -> str:
    """The name of a folder for what one version gets; `close_batch` once the version is there."""
    name = f"batch/{uuid.uuid4().hex}"
    (folder / name).mkdir(parents=True)
    (folder / name / _OPEN).touch()
    return name


def close_batch(folder: Path, name: str) -> None:
    (folder / name / _OPEN).unlink(missing_ok=True)


def sweep_batches(folder: Path, files: FileList) -> None:
    """Removes what versions got that were never there; to be called by who holds the lock."""
    for mark in folder.glob(f"batch/*/{_OPEN}"):
        name = f"batch/{mark.parent.name}"
        if any(r.stored.startswith(name) for r in files.values()):
            mark.unlink()
        else:
            shutil.rmtree(mark.parent)


def count_rows(paths: Sequence[Path]) -> list[int | None]:
    """The rows of each Parquet file, by its footer; None where it has none (yet)."""
    if len(paths) < _READERS:
        return [_rows(p) for p in paths]
    with ThreadPoolExecutor(_READERS) as readers:
        return list(readers.map(_rows, paths))


def _rows(path: Path) -> int | None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return int(pq.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return None


__all__ = [
    "StoredFile",
    "carry_on",
    "close_batch",
    "count_rows",
    "create_list",
    "new_batch",
    "storable_fields",
    "sweep_batches",
]
