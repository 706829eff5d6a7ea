"""What keeps out a writer that may still run though no caller waits for it any more.

A write that carries the next sequence of an application fails, or does nothing, once another
commit has that sequence. So a process that gives up such a write takes its sequence first, by a
commit without rows that it writes itself, without a session.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.lake.txn.publish import IN_COMMIT_TIMES
from dt_jupyter.lake.write.locks import storage_lock
from dt_jupyter.spark import confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_APP_ID = "spark.databricks.delta.write.txnAppId"
_SEQUENCE = "spark.databricks.delta.write.txnVersion"


def next_sequence(log: TableLog, app_id: str, version: int | None = None) -> int:
    """The sequence that the application's next commit after the version (the newest) carries."""
    last = log.last_transaction(app_id, version)
    return 1 if last is None else last + 1


@contextmanager
def sequenced(spark: SparkSession, app_id: str, sequence: int) -> Iterator[None]:
    """The one commit of the session within the block carries the application's sequence."""
    with confs(spark, {_APP_ID: app_id, _SEQUENCE: str(sequence)}):
        yield


def fence(log: TableLog, app_id: str, version: int) -> bool:
    """Takes the application's next sequence as the table's `version`; False where that is taken:
    the writer may have been faster."""
    millis = time.time_ns() // 1_000_000
    info = {
        "timestamp": millis,
        "operation": "FENCE",
        "operationParameters": {},
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {},
        "readVersion": version - 1,
        "engineInfo": "dt_jupyter",
        "txnId": str(uuid.uuid4()),
    }
    if log.properties().get(IN_COMMIT_TIMES, "").lower() == "true":
        before = log.commit_time(version - 1).micros // 1000
        info = {"inCommitTimestamp": max(millis, before + 1), **info}
    sequence = next_sequence(log, app_id)
    taken = {"appId": app_id, "version": sequence, "lastUpdated": millis}
    place = table_place(log.path)
    try:
        with storage_lock(log.path):
            place.put_commit(version, [{"commitInfo": info}, {"txn": taken}])
    except FileExistsError:  # another commit was faster
        return False
    place.settle((), version)
    return True


__all__ = ["fence", "next_sequence", "sequenced"]
