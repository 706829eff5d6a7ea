"""A private copy of a table's log, on which the statements of a transaction write.

The copy begins with one checkpoint at the table's version: the same protocol, metadata, domains
and row ids, and its files by their absolute paths. Nothing of the table itself is touched.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from dt_jupyter.lake.delta_log.actions import FileKey, commit_name, read_actions
from dt_jupyter.lake.delta_log.active_files import vector_file
from dt_jupyter.lake.delta_log.log_state import Action, TableState, table_state
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported

if TYPE_CHECKING:
    import pyarrow as pa

DROPPED_PROPERTIES = (
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.universalFormat.enabledFormats",
)
KEPT_ELSEWHERE = ("catalogManaged", "catalogOwned-preview", "coordinatedCommits-preview")
"""The features of tables whose commits another program keeps."""
_UNQUOTED = "/!$&'()*+,;=:@~"


@dataclass
class Staging:
    """The copy in `folder` of the table at `table`, which stood at `version`.

    `last` is the last version of the copy that counts; `vectors` are the table's own deletion
    vectors by what the copy calls them; `files` the table's live files.
    """

    table: Path
    version: int
    folder: Path
    last: int
    vectors: Mapping[str, Action]
    files: frozenset[FileKey]
    metadata: Metadata
    row_ids: int | None

    @property
    def changed(self) -> bool:
        """Whether a statement wrote anything."""
        return self.last > self.version

    def newest(self) -> int:
        """The newest version of the copy, counted or not."""
        version = self.last
        while (self.folder / "_delta_log" / commit_name(version + 1)).exists():
            version += 1
        return version

    def actions(self, version: int) -> list[tuple[str, Any]]:
        """The actions of one commit of the copy, files named as the table names them."""
        found = read_actions(self.folder / "_delta_log" / commit_name(version))
        return [(kind, self._named(body)) for kind, body in found]

    def _named(self, body: dict[str, Any]) -> dict[str, Any]:
        if "path" in body:
            body["path"] = relative(body["path"], self.table)
        vector = body.get("deletionVector")
        if vector and vector["storageType"] == "p":
            own = self.vectors.get(_absolute_key(vector))
            if own is not None:
                body["deletionVector"] = dict(own)
        return body

    def rewound(self, folder: Path) -> Staging:
        """The same copy in another folder, without what came after `last`: no reader there knows
        of it."""
        log = folder / "_delta_log"
        for path in self.folder.rglob("*"):
            if path.is_file() and not _after(path, self.folder / "_delta_log", self.last):
                there = folder / path.relative_to(self.folder)
                there.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, there)
        assert log.is_dir()
        return replace(self, folder=folder)


def _after(path: Path, log: Path, last: int) -> bool:
    """Whether it is a file of the log, or its checksum, of a later version."""
    number = path.name.lstrip(".")[:20]
    if path.parent != log:
        return False
    return not number.isdigit() or int(number) > last


def stage_log(log: TableLog, version: int, folder: Path) -> Staging:
    """A copy of the table at `version`, in a folder that is not there yet.

    Raises NotSupported where another program keeps the table's commits.
    """
    state = table_state(log, version)
    held = log.protocol(version).features.intersection(KEPT_ELSEWHERE)
    if held:
        raise NotSupported(f"{log.path} has {', '.join(sorted(held))}", path=str(log.path))
    copy = folder / "_delta_log"
    copy.mkdir(parents=True)
    adds, vectors = [], {}
    for add in state.files.values():
        made = {**add, "path": absolute(add["path"], log.path), "dataChange": False}
        vector = add.get("deletionVector")
        if vector and vector["storageType"] == "u":
            made["deletionVector"] = _at_its_path(vector, log.path)
            vectors[_absolute_key(made["deletionVector"])] = vector
        adds.append(made)
    configuration = {
        k: v
        for k, v in state.metadata.get("configuration", {}).items()
        if k not in DROPPED_PROPERTIES
    }
    metadata = {**state.metadata, "configuration": configuration}
    _write_checkpoint(copy, version, state, metadata, adds)
    millis = log.commit_time(version).micros // 1000
    info = {
        "inCommitTimestamp": millis,
        "timestamp": millis,
        "operation": "TRANSACTION",
        "operationParameters": {},
    }
    lines = [{"commitInfo": info}, {"protocol": state.protocol}, {"metaData": metadata}]
    (copy / commit_name(version)).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Staging(
        log.path,
        version,
        folder,
        version,
        vectors,
        frozenset(state.files),
        Metadata.of(state.metadata),
        state.row_ids,
    )


def unstage(folder: Path) -> None:
    """Remove what was staged; once is enough."""
    shutil.rmtree(folder, ignore_errors=True)


# -- names ----------------------------------------------------------------------------------------


def absolute(path: str, table: Path) -> str:
    """A file of the log as a URI of its own; paths in a log are encoded."""
    return path if ":/" in path else f"{uri(table)}/{path}"


def uri(path: Path) -> str:
    """As Hadoop writes a local path, which Delta compares as text: with one slash."""
    return f"file:{quote(str(path), safe=_UNQUOTED)}"


def relative(path: str, table: Path) -> str:
    """A URI of a file in the table's folder, as its own log names it; any other as it is."""
    if not path.startswith("file:"):
        return path
    inside = f"{uri(table).removeprefix('file:')}/"
    plain = f"/{path.removeprefix('file:').lstrip('/')}"
    return plain.removeprefix(inside) if plain.startswith(inside) else path


def _at_its_path(vector: Action, table: Path) -> dict[str, Any]:
    path = uri(table / vector_file(vector))
    return {**vector, "storageType": "p", "pathOrInlineDv": path}


def _absolute_key(vector: Action) -> str:
    path = vector["pathOrInlineDv"].removeprefix("file:").lstrip("/")
    return f"{path}@{vector.get('offset', '')}"


# -- the checkpoint --------------------------------------------------------------------------------


def _write_checkpoint(
    folder: Path, version: int, state: TableState, metadata: Action, adds: list[dict[str, Any]]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = _checkpoint_schema()
    rows: list[dict[str, Any]] = [{"protocol": state.protocol}, {"metaData": metadata}]
    rows += [{"domainMetadata": d} for d in state.domains.values()]
    rows += [{"add": a} for a in adds]
    name = f"{version:020d}.checkpoint.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / name)
    told = {"version": version, "size": len(rows)}
    (folder / "_last_checkpoint").write_text(json.dumps(told))


def _checkpoint_schema() -> pa.Schema:
    import pyarrow as pa

    text, long, flag = pa.string(), pa.int64(), pa.bool_()
    pairs, names = pa.map_(text, text), pa.list_(text)
    vector = pa.struct(
        {
            "storageType": text,
            "pathOrInlineDv": text,
            "offset": pa.int32(),
            "sizeInBytes": pa.int32(),
            "cardinality": long,
            "maxRowIndex": long,
        }
    )
    return pa.schema({
        "protocol": pa.struct({
            "minReaderVersion": pa.int32(), "minWriterVersion": pa.int32(),
            "readerFeatures": names, "writerFeatures": names,
        }),
        "metaData": pa.struct({
            "id": text, "name": text, "description": text,
            "format": pa.struct({"provider": text, "options": pairs}), "schemaString": text,
            "partitionColumns": names, "configuration": pairs, "createdTime": long,
        }),
        "domainMetadata": pa.struct({"domain": text, "configuration": text, "removed": flag}),
        "add": pa.struct({
            "path": text, "partitionValues": pairs, "size": long, "modificationTime": long,
            "dataChange": flag, "stats": text, "tags": pairs, "deletionVector": vector,
            "baseRowId": long, "defaultRowCommitVersion": long, "clusteringProvider": text,
        }),
    })  # fmt: skip


__all__ = [
    "DROPPED_PROPERTIES",
    "KEPT_ELSEWHERE",
    "Staging",
    "absolute",
    "relative",
    "stage_log",
    "unstage",
]
