"""What the commits of a statement carry: JSON in `commitInfo.userMetadata`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark import confs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_METADATA = "spark.databricks.delta.commitInfo.userMetadata"


def mark_of(text: str | None) -> Mapping[str, Any]:
    """A commit's userMetadata as JSON; what is not ours reads as empty."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


@contextmanager
def marked(spark: SparkSession, **mark: Any) -> Iterator[None]:
    """The commits of the session within the block carry the mark, in addition to what they carry
    already; text that the user put there is kept as `user`."""
    text = spark.conf.get(_METADATA, None)
    there = mark_of(text) or ({"user": text} if text else {})
    with confs(spark, {_METADATA: json.dumps({**there, **mark})}):
        yield
