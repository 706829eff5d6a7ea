"""The engines that this process has open, each found again by those who ask for the same one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from dt_jupyter.engine.api import Engine
from dt_jupyter.engine.services import known_lake
from dt_jupyter.spark import session_end

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_options: WeakKeyDictionary[Engine, Mapping[str, Any]] = WeakKeyDictionary()


def connect_once(
    lake: str | os.PathLike[str], spark: SparkSession | None = None, **options: Any
) -> Engine:
    """The engine that this process has open on the lake with these options, on `spark` where that
    is given, else a new one. One that is returned again is left open by a `with` block.
    Errors: as `Engine.connect`."""
    found = find_engine(lake, options) if isinstance(lake, str | os.PathLike) else None
    if found is not None and spark in (None, found.spark):
        found.context.state.holders = found.context.state.holders or 1
        return found
    made = Engine.connect(lake, spark=spark, **options)
    _options[made] = options
    return made


def find_engine(lake: str | os.PathLike[str], options: Mapping[str, Any]) -> Engine | None:
    """The open engine on the lake with these options, if this process has one whose Spark session
    is alive, in the role that it was opened with. DT-5103."""
    folder = known_lake(lake)
    for engine, given in tuple(_options.items()):
        same = engine.lake == folder and given == options and _is_alive(engine)
        if same and engine.context.state.role == engine.context.state.login:
            return engine
    return None


def _is_alive(engine: Engine) -> bool:
    """Whether it is open, and its Spark session too."""
    return not engine.context.state.closed and session_end(engine.spark) is None
