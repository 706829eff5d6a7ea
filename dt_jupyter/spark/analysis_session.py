"""All of a session that decides how Spark analyses a text."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from typing import TYPE_CHECKING

from dt_jupyter.spark.compiled_java import java_source, session_calls
from dt_jupyter.spark.local_analyser import read_settings, server_version
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.session_confs import read_confs
from dt_jupyter.spark.sessions import MEANING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_WRITERS = ("PlanDocument", "SubqueryJoins")
_SQL = "spark.sql."
_WITHOUT_MEANING = tuple(
    f"{_SQL}{name}"
    for name in (
        "adaptive.", "catalog.", "codegen.", "defaultCatalog", "files.", "shuffle.",
        "sources.parallel", "ui.", "warehouse.dir",
    )
)  # fmt: skip
"""Where data is and how it is computed."""


def describe_session(spark: SparkSession) -> dict[str, object]:
    """Spark's release, the confs of SQL that are set or that change a meaning, and a digest of our
    Java that writes plans. Equal for two sessions that make the same plan of a text over the same
    views and functions."""
    settings = {k: v for k, v in _confs(spark).items() if not k.startswith(_WITHOUT_MEANING)}
    return {"spark": server_version(spark), "settings": settings, "writers": _digest_writers()}


def _confs(spark: SparkSession) -> dict[str, str]:
    if is_connect(spark):
        return read_settings(spark)
    calls = session_calls(spark)
    found: dict[str, str] = json.loads(calls.settings(spark._jsparkSession.sessionState()))
    return {k: v for k, v in found.items() if k.startswith(_SQL)} | read_confs(spark, MEANING)


@cache
def _digest_writers() -> str:
    return hashlib.sha256("".join(map(java_source, _WRITERS)).encode()).hexdigest()
