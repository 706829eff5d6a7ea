"""The Spark that an engine starts where there is none. It can be begun before the engine is
imported, which takes seconds too."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TypedDict

from dt_jupyter.model import DEFAULT_WAREHOUSE
from dt_jupyter.spark import SHARE, Pool, SpareOrder, order_session, prepare_session

MEMORY = "2g"
"""Of the Java heap of a session of ours."""
SESSION_CONFS: Mapping[str, str] = {
    # In a session of ours a plain CREATE TABLE, and saveAsTable, make Delta tables.
    "spark.sql.sources.default": "delta",
    # One dynamic table has a handful of generated classes: none is compiled twice.
    "spark.sql.codegen.cache.maxEntries": "2000",
}


class _Own(TypedDict):
    cores: int
    confs: Mapping[str, str]
    pools: Sequence[Pool]


OWN: _Own = {
    "cores": os.cpu_count() or 2,
    "confs": SESSION_CONFS,
    "pools": (Pool(DEFAULT_WAREHOUSE, SHARE),),
}


def prepare_spark() -> None:
    """What `start_session` will start is begun in the background, unless this process has Spark."""
    prepare_session(memory=MEMORY, **OWN)


def order_spark() -> SpareOrder | None:
    """What a spare for `start_session` is ordered with, if the environment asks for one."""
    return order_session(memory=MEMORY, **OWN)
