"""Delta logs written by hand, and small tables by delta-rs: no JVM."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from dt_jupyter.lake import TableLog


def column(
    name: str, type_: Any = "long", id_: int | None = None, **metadata: Any
) -> dict[str, Any]:
    mapping = {} if id_ is None else {"delta.columnMapping.id": id_}
    return {"name": name, "type": type_, "nullable": True, "metadata": {**mapping, **metadata}}


def metadata(
    *columns: Mapping[str, Any],
    id_: str = "table-1",
    partitions: Sequence[str] = (),
    **properties: str,
) -> dict[str, Any]:
    schema = {"type": "struct", "fields": list(columns or [column("id")])}
    configuration = {f"delta.{k}": v for k, v in properties.items()}
    return {
        "metaData": {
            "id": id_,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps(schema),
            "partitionColumns": list(partitions),
            "configuration": configuration,
        }
    }


def info(operation: str = "WRITE", **more: Any) -> dict[str, Any]:
    return {"commitInfo": {"operation": operation, **more}}


def add(
    path: str, rows: int | None = 1, size: int = 10, *, change: bool = True, dv: int = 0
) -> Any:
    return {"add": _file(path, rows, size, change, dv)}


def remove(
    path: str, rows: int | None = 1, size: int = 10, *, change: bool = True, dv: int = 0
) -> Any:
    return {"remove": _file(path, rows, size, change, dv)}


def _file(path: str, rows: int | None, size: int, change: bool, dv: int) -> dict[str, Any]:
    body: dict[str, Any] = {"path": path, "partitionValues": {}, "size": size}
    body |= {"dataChange": change, "modificationTime": 0}
    if rows is not None:
        body["stats"] = json.dumps({"numRecords": rows})
    if dv:
        body["deletionVector"] = {
            "storageType": "u",
            "pathOrInlineDv": f"v{dv}",
            "offset": 1,
            "cardinality": dv,
        }
    return body


def txn(app: str, version: int) -> dict[str, Any]:
    return {"txn": {"appId": app, "version": version}}


PROTOCOL = {"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}


class Written:
    """A log at `path` that grows commit by commit; `millis` sets a commit's file time."""

    def __init__(self, path: Path, *first: Any, millis: int | None = 1_000) -> None:
        self.path = path
        self.dir = path / "_delta_log"
        self.dir.mkdir(parents=True)
        self.next = 0
        self.commit(info("CREATE TABLE"), *(first or (metadata(),)), PROTOCOL, millis=millis)
        self.log = TableLog(path)

    def file(self, version: int) -> Path:
        return self.dir / f"{version:020d}.json"

    def commit(self, *actions: Any, millis: int | None = None) -> int:
        version, self.next = self.next, self.next + 1
        self.file(version).write_text(
            "\n".join(json.dumps(a, separators=(",", ":")) for a in actions)
        )
        if millis is not None:
            os.utime(self.file(version), ns=(millis * 1_000_000, millis * 1_000_000))
        return version


SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.float64()),
        ("at", pa.timestamp("us", "UTC")),
    ]
)
PROPERTIES = {
    "delta.enableChangeDataFeed": "true",
    "delta.enableExpiredLogCleanup": "false",
    "delta.dataSkippingStatsColumns": "id,name,at",
}


def small_table(path: Path, schema: pa.Schema = SCHEMA, **more: str) -> TableLog:
    """An empty table that both writers may write."""
    configuration = {**PROPERTIES, **{f"delta.{k}": v for k, v in more.items()}}
    DeltaTable.create(str(path), Schema.from_arrow(schema), configuration=configuration)
    return TableLog(path)


def rows(*ids: int | None, op: str | None = None, name: str = "n") -> pa.Table:
    """Rows of `SCHEMA` with these ids; `op` gives each its `__dt_op`."""
    table = pa.table(
        {
            "id": list(ids),
            "name": [f"{name}{i}" for i in ids],
            "price": [0.5] * len(ids),
            "at": [0] * len(ids),
        }
    ).cast(SCHEMA)
    return table if op is None else table.append_column("__dt_op", pa.array(list(op), pa.string()))


def read(path: Path) -> list[tuple[Any, Any]]:
    """(id, name) of the newest snapshot, sorted."""
    table = DeltaTable(str(path)).to_pyarrow_table(columns=["id", "name"]).to_pylist()
    return sorted(((r["id"], r["name"]) for r in table), key=str)
