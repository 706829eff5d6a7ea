"""A checkpoint of a whole state: what a copy of a log begins with."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.log_replay import TableState

if TYPE_CHECKING:
    import pyarrow as pa


def write_checkpoint(
    folder: Path, state: TableState, files: Iterable[Mapping[str, Any]] | None = None
) -> str:
    """The classic checkpoint of a state in a log's folder, whole or not at all, and the file that
    shows it to Spark; `files` are the adds where they differ from the state's. Its name. Delta
    protocol, "Checkpoints"."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows: list[dict[str, Any]] = [{"protocol": state.protocol}, {"metaData": state.metadata}]
    rows += [{"domainMetadata": d} for d in state.domains.values()]
    rows += [{"txn": {"appId": a, "version": v}} for a, v in state.transactions.items()]
    rows += [{"add": a} for a in (state.files.values() if files is None else files)]
    name = f"{state.version:020d}.checkpoint.parquet"
    draft = folder / f".{name}.tmp"
    pq.write_table(pa.Table.from_pylist(rows, _schema()), draft)
    os.replace(draft, folder / name)
    told = {"version": state.version, "size": len(rows)}
    draft.write_text(json.dumps(told), "utf-8")
    os.replace(draft, folder / "_last_checkpoint")
    return name


def _schema() -> pa.Schema:
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
        "txn": pa.struct({"appId": text, "version": long, "lastUpdated": long}),
        "add": pa.struct({
            "path": text, "partitionValues": pairs, "size": long, "modificationTime": long,
            "dataChange": flag, "stats": text, "tags": pairs, "deletionVector": vector,
            "baseRowId": long, "defaultRowCommitVersion": long, "clusteringProvider": text,
        }),
    })  # fmt: skip


__all__ = ["write_checkpoint"]
