"""Version 0 of a plain backing table, written here: Spark takes longer for it than for the rows."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.storage.mounts import open_log
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.lake.types import allow_nulls, arrow_schema, leaves, strip_metadata

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_ON = ("delta.enableChangeDataFeed", "delta.enableDeletionVectors")
_KNOWN = frozenset(
    (
        *_ON,
        "delta.checkpointInterval",
        "delta.enableExpiredLogCleanup",
        "delta.logRetentionDuration",
        "delta.deletedFileRetentionDuration",
        "delta.dataSkippingStatsColumns",
    )
)
_PROTOCOL = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors"],
    "writerFeatures": ["deletionVectors", "changeDataFeed", "invariants", "appendOnly"],
}
"""What Spark gives a table with the properties `_ON` and no other feature."""


def plain_fields(schema: StructType, properties: Mapping[str, str]) -> list[dict[str, Any]] | None:
    """The columns as the log has them, if the protocol of a table of these columns and properties
    is known here, NULL is allowed in every part of them, and nothing else is said of one; None:
    its creation is Spark's."""
    delta = {k for k in properties if k.startswith("delta.")}
    if delta - _KNOWN or any(properties.get(k) != "true" for k in _ON):
        return None
    fields = list(schema.jsonValue()["fields"])
    try:
        arrow_schema(fields)
    except NotSupported:
        return None
    kinds = {kind for f in fields for _, kind in leaves(f["type"], f["name"])}
    is_open = fields == strip_metadata(allow_nulls(fields))
    return fields if is_open and "timestamp_ntz" not in kinds else None


def write_first(path: Path, fields: list[dict[str, Any]], properties: Mapping[str, str]) -> None:
    """The commit that makes the table, durable. FileExistsError where there is one."""
    now = int(time.time() * 1000)
    actions = (
        {"commitInfo": {
            "timestamp": now, "operation": "CREATE TABLE",
            "operationParameters": {"partitionBy": "[]", "properties": json.dumps(properties)},
            "isolationLevel": "Serializable", "isBlindAppend": True, "operationMetrics": {},
            "engineInfo": "dt_jupyter", "txnId": str(uuid.uuid4()),
        }},
        {"metaData": {
            "id": str(uuid.uuid4()), "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}),
            "partitionColumns": [], "configuration": dict(properties), "createdTime": now,
        }},
        {"protocol": _PROTOCOL},
    )  # fmt: skip
    place = table_place(path)
    place.put_commit(0, actions)
    place.settle((), 0)
    log = open_log(path)
    log.version()
    place.add_checksum(log, 0)
