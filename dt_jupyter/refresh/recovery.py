"""The catalog repaired from the log: roll forward, or reinitialise; never the other way round."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dt_jupyter.catalog import Catalog, StageRow
from dt_jupyter.lake import Recovered, TableLog, is_delta, recover
from dt_jupyter.model import (
    DynamicTable,
    Frontier,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
)
from dt_jupyter.refresh.sources import Logs


def recover_table(catalog: Catalog, log: TableLog, table: DynamicTable) -> DynamicTable:
    """The table as it stands after its log was asked; free where nothing was written since.

    Log ahead: the commit stands, so the catalog follows. Log behind (restored, cut, another
    table), or rows written by something else: the next refresh reinitialises.
    """
    if not is_delta(log.path):
        return _reinitialise(catalog, table, "LOG_LOST", "the backing table is gone")
    if log.version() == table.version:
        return table
    found = recover(log.path, f"dt:{table.id}")
    sequence = found.sequence if found else 0
    if found is not None and sequence > table.sequence:
        return _roll_forward(catalog, table, found)
    if sequence < table.sequence:
        facts = f"the log ends at sequence {sequence}, not {table.sequence}"
        return _reinitialise(catalog, table, "LOG_REGRESSED", facts)
    if found is not None and found.foreign and table.needs_reinit is None:
        facts = f"version {found.foreign[0]} was not written by a refresh"
        return _reinitialise(catalog, table, "FOREIGN_WRITE", facts)
    return table


def _reinitialise(catalog: Catalog, table: DynamicTable, code: str, sentence: str) -> DynamicTable:
    if table.needs_reinit is not None and table.needs_reinit.code == code:
        return table
    return catalog.update(table.id, needs_reinit=Reason(code, sentence))


def _roll_forward(catalog: Catalog, table: DynamicTable, found: Recovered) -> DynamicTable:
    if found.metadata is None or found.version is None:
        return _reinitialise(catalog, table, "LOG_CLEANED", "the commit's metadata is gone")
    facts: Any = found.metadata
    frontier = Frontier.from_json(facts["frontier"])
    record = RefreshRecord(
        table.name, facts["attempt"], RefreshState.SUCCEEDED, RefreshTrigger(facts["trigger"]),
        frontier.data_timestamp, RefreshAction(facts["action"]),
        Reason("ROLLED_FORWARD", "the commit stood in the log, the record was lost"),
        frontier, found.version,
    )  # fmt: skip
    catalog.roll_forward(
        table.id, record, frontier=frontier, sequence=found.sequence, version=found.version
    )
    return catalog.by_id(table.id) or table


def stage_standing(
    catalog: Catalog, logs: Logs, dt_id: str, ordinal: int, path: Path, app_id: str
) -> StageRow | None:
    """Where a hidden stage stands: its own log is the truth; the catalog knows the frontier of
    refreshes in which it did not change."""
    if not is_delta(path):
        return None
    known = next((s for s in catalog.stages(dt_id) if s.ordinal == ordinal), None)
    log = logs[str(path)]
    last = log.last_transaction(app_id)
    if last is None:
        return None
    if known is not None and known.sequence == last:
        return known
    found = recover(path, app_id)
    if found is None or found.metadata is None or found.foreign:
        return None
    frontier = Frontier.from_json(found.metadata["frontier"])
    stage_id = f"stage:{ordinal}"
    return StageRow(dt_id, ordinal, stage_id, last, found.version, frontier, str(path))
