"""A private copy of a table's log, on which the statements of a transaction write.

The copy begins with one checkpoint at the table's version: the same protocol, metadata, domains
and row ids, and its files by their absolute paths. Nothing of the table itself is touched. Of a
lake on other storage the copy is there too, where Spark's workers write, and its commits are
fetched into the folder that represents it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dt_jupyter.lake.delta_log.absolute_names import absolute_name, absolute_vector, uri
from dt_jupyter.lake.delta_log.actions import FileKey, commit_name, read_actions
from dt_jupyter.lake.delta_log.log_state import Action, table_state
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.delta_log.written_checkpoint import write_checkpoint
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.storage.copied_log import fetch_whole
from dt_jupyter.lake.storage.mounts import find_mounted, list_all, remove_folder
from dt_jupyter.lake.storage.table_place import table_place

DROPPED_PROPERTIES = (
    "delta.autoOptimize.autoCompact",
    "delta.autoOptimize",
    "delta.inCommitTimestampEnablementVersion",
    "delta.inCommitTimestampEnablementTimestamp",
    "delta.universalFormat.enabledFormats",
)


@dataclass
class Staging:
    """The copy in `folder` of the table at `table`, which was at `version`.

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
        while self._has(version + 1):
            version += 1
        return version

    def _has(self, version: int) -> bool:
        """Whether the copy has that version, whose commit is then in the folder."""
        file = self.folder / "_delta_log" / commit_name(version)
        found = find_mounted(file)
        if file.exists() or found is None or found.storage.stat(found.place) is None:
            return file.exists()
        fetch_whole(found.storage, found.place, file)
        return True

    def actions(self, version: int) -> list[tuple[str, Any]]:
        """The actions of one commit of the copy, files named as the table names them."""
        self._has(version)
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
        kept = [name for name, _ in list_all(self.folder) if not _is_after(name, self.last)]
        (folder / "_delta_log").mkdir(parents=True)
        table_place(folder).copy_from(self.folder, kept)
        return replace(self, folder=folder)


def _is_after(name: str, last: int) -> bool:
    """Whether it is a file of the log, or its checksum, of a later version."""
    *folders, file = name.split("/")
    number = file.lstrip(".")[:20]
    return folders == ["_delta_log"] and not (number.isdigit() and int(number) <= last)


def stage_log(log: TableLog, version: int, folder: Path) -> Staging:
    """A copy of the table at `version`, in a folder that is not there yet.

    Raises NotSupported where another program keeps the table's commits.
    """
    state = table_state(log, version)
    if held := log.protocol(version).kept_elsewhere:
        raise NotSupported(f"{log.path} has {', '.join(held)}", path=str(log.path))
    copy = folder / "_delta_log"
    copy.mkdir(parents=True)
    adds, vectors = [], {}
    for add in state.files.values():
        made = {**add, "path": absolute(add["path"], log.path), "dataChange": False}
        vector = add.get("deletionVector")
        if vector and vector["storageType"] == "u":
            made["deletionVector"] = absolute_vector(vector, uri(log.path))
            vectors[_absolute_key(made["deletionVector"])] = vector
        adds.append(made)
    configuration = {
        k: v
        for k, v in state.metadata.get("configuration", {}).items()
        if k not in DROPPED_PROPERTIES
    }
    metadata = {**state.metadata, "configuration": configuration}
    write_checkpoint(copy, replace(state, metadata=metadata, transactions={}), adds)
    millis = log.commit_time(version).micros // 1000
    info = {
        "inCommitTimestamp": millis,
        "timestamp": millis,
        "operation": "TRANSACTION",
        "operationParameters": {},
    }
    lines = [{"commitInfo": info}, {"protocol": state.protocol}, {"metaData": metadata}]
    (copy / commit_name(version)).write_text("".join(json.dumps(line) + "\n" for line in lines))
    if (found := find_mounted(copy)) is not None:
        for file in sorted(copy.iterdir()):
            found.storage.put(file, f"{found.place}/{file.name}")
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
    remove_folder(folder)


# -- names ----------------------------------------------------------------------------------------


def absolute(path: str, table: Path) -> str:
    """A file of the log as a URI."""
    return absolute_name(path, uri(table))


def relative(path: str, table: Path) -> str:
    """A URI of a file in the table's folder, as its own log names it; any other as it is."""
    if not path.startswith("file:"):
        return path
    inside = f"{uri(table).removeprefix('file:')}/"
    plain = f"/{path.removeprefix('file:').lstrip('/')}"
    return plain.removeprefix(inside) if plain.startswith(inside) else path


def _absolute_key(vector: Action) -> str:
    path = vector["pathOrInlineDv"].removeprefix("file:").lstrip("/")
    return f"{path}@{vector.get('offset', '')}"


__all__ = [
    "DROPPED_PROPERTIES",
    "Staging",
    "absolute",
    "relative",
    "stage_log",
    "unstage",
]
