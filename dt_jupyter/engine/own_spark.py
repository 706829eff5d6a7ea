"""The Spark that an engine starts where there is none. It can be begun before the engine is
imported, which takes seconds too."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TypedDict

from dt_jupyter.model import DEFAULT_WAREHOUSE
from dt_jupyter.spark import SHARE, Pool, SpareOrder, active_session, order_session, prepare_session

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


_LIBRARIES = ("duckdb", "deltalake")
"""Of a first refresh. PySpark puts Spark's JARs first on the path of modules, some 35 archives, and
an import that asks for an installed version reads them all: of duckdb it takes 0.04 s before a
session is there, and 0.6 s after."""


def import_libraries() -> None:
    """Imports what a first refresh needs, where no session has put JARs on the path yet."""
    if active_session() is None:
        _import()


def import_in_background() -> None:
    """The same in a thread, where a session was there first."""
    if not all(name in sys.modules for name in _LIBRARIES):
        threading.Thread(target=_import, name="import of libraries", daemon=True).start()


def _import() -> None:
    for name in _LIBRARIES:
        import_module(name)


def prepare_spark() -> None:
    """What `start_session` will start is begun in the background, unless this process has Spark."""
    prepare_session(memory=MEMORY, **OWN)
    import_libraries()


def order_spark() -> SpareOrder | None:
    """What a spare for `start_session` is ordered with, if the environment asks for one."""
    return order_session(memory=MEMORY, **OWN)
