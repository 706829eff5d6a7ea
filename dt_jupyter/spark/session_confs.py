"""Confs of a session that hold for a block."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.compiled_java import session_calls
from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


HELD = {
    "spark.databricks.delta.vacuum.enforceTimeTravelWithinDeletedFileRetentionDuration": "false"
}
"""Delta refuses what is older than a table's retention though its files be there. What is held has
to be read for as long as it is held: files that are gone are found out by looking."""

WHOLE_ROWS = {"spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false"}
"""A Python UDF that reads a file's columns hangs for ever (SPARK-58241, in 4.2.0)."""

SUBSTITUTES = "spark.sql.variable.substitute"
FIXED_TEXT = {SUBSTITUTES: "false"}
"""A stored text has the values of its variables since it was created."""


def read_confs(spark: SparkSession, names: Iterable[str]) -> dict[str, str]:
    """The values of those of these confs that are set or known, in one call."""
    session: Any = spark
    if is_connect(spark):
        import pyspark.sql.connect.proto as proto

        asked = proto.ConfigRequest.GetOption(keys=names)
        answer = session.client.config(proto.ConfigRequest.Operation(get_option=asked))
        return {name: value for name, value in answer.pairs if value is not None}
    state = session._jsparkSession.sessionState()
    told: dict[str, str] = json.loads(session_calls(session).confs(state, json.dumps([*names])))
    return told


@contextmanager
def confs(spark: SparkSession, values: Mapping[str, str]) -> Iterator[None]:
    """Set session confs for the block; they are as they were afterwards."""
    before = {k: spark.conf.get(k, None) for k in values}
    for k, v in values.items():
        spark.conf.set(k, v)
    try:
        yield
    finally:
        for k, old in before.items():
            if old is None:
                spark.conf.unset(k)
            else:
                spark.conf.set(k, old)
