"""What the Spark jobs of a refresh are for, as the description of each job says it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

from dt_jupyter.spark.modes import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DESCRIPTION = "spark.job.description"
_local = threading.local()


class JobPurpose(StrEnum):
    """The parts of a refresh that start Spark jobs."""

    LOG = "Delta log"
    SCAN = "changes read"
    KEYS = "touched keys"
    STATE = "changed rows"
    WRITE = "write"
    UPKEEP = "compaction"


_OF_A_LOG = ("Filtering files for query", "Compute snapshot for version", "Reconstruct snapshot",
             "Listing leaf files", "checkpoint")  # fmt: skip
"""What Delta and Spark call their own jobs over a log or a folder, at the end of a description."""


@contextmanager
def described_group(description: str) -> Iterator[None]:
    """Purposes that this thread notes inside follow the description of its job group."""
    before = getattr(_local, "group", None)
    _local.group = description
    try:
        yield
    finally:
        _local.group = before


def note_purpose(spark: SparkSession, purpose: JobPurpose) -> None:
    """Jobs that this thread starts from here on, in the job group that it is in, are for this.

    Outside of a job group, and on Spark Connect, it does nothing.
    """
    group = getattr(_local, "group", None)
    if group is not None and not is_connect(spark):
        spark.sparkContext.setLocalProperty(DESCRIPTION, f"{group}: {purpose}")


def purpose_of(description: str | None) -> JobPurpose | None:
    """What a job with this description was for; None where none was noted.

    Delta puts its own words behind ours: "Delta: Refreshing t: write: Filtering files for query",
    "Refreshing t: write - MERGE operation - materialize source".
    """
    if description is None:
        return None
    if any(words in description for words in _OF_A_LOG):
        return JobPurpose.LOG
    parts = [part.partition(" - ")[0] for part in description.split(": ")]
    return next((p for p in reversed(JobPurpose) if p.value in parts), None)
