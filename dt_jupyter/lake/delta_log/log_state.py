"""The whole state of a Delta table at a version, as raw actions: what a copy of its log needs."""

from __future__ import annotations

from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.log_replay import (
    FILES,
    ROW_TRACKING,
    STATE,
    Action,
    TableState,
    high_water_mark,
    replay_log,
    row_id_domain,
)


def table_state(log: TableLog, version: int) -> TableState:
    """The state at a version, the statistics of its files included.

    Raises VersionGone and LogBroken as the log does.
    """
    log.protocol(version)  # raises where the log does not reach the version
    return replay_log(log.path / "_delta_log", version, FILES | STATE)


__all__ = [
    "ROW_TRACKING",
    "Action",
    "TableState",
    "high_water_mark",
    "row_id_domain",
    "table_state",
]
