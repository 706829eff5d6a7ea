"""The catalog repaired from the log: roll forward, or reinitialise; never the other way round."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dt_jupyter.catalog import Catalog, StageRow
from dt_jupyter.lake import (
    Contents,
    LakeError,
    Recovered,
    TableGone,
    TableLog,
    is_delta,
    mark_of,
    recover,
)
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.sources import Logs, Sources

_log = logging.getLogger("dt_jupyter.refresh")


def recover_table(catalog: Catalog, log: TableLog, table: DynamicTable) -> DynamicTable:
    """The table as it is after its log was read; free where nothing was written since.

    Log ahead: the commit is valid, so the catalog follows. Log behind (restored, cut, another
    table), or rows written by something else: the next refresh reinitialises.
    """
    try:
        newest = log.version()
    except TableGone:
        return _reinitialise(catalog, table, "LOG_LOST", "the backing table no longer exists")
    if newest == table.version:
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


def recover_contents(sources: Sources, contents: Contents, table: DynamicTable) -> DynamicTable:
    """The table as it is after its files and its hidden stages were looked for: where they are
    not what refreshes left, the next one reinitialises."""
    if table.needs_reinit is not None or table.frontier is None:
        return table
    lost = lost_of_own(sources, contents, table)
    return (
        table if lost is None else _reinitialise(sources.catalog, table, lost.code, lost.sentence)
    )


def lost_of_own(sources: Sources, contents: Contents, table: DynamicTable) -> Reason | None:
    """Why a refresh cannot continue from the table's own rows or hidden state. While nothing
    happened, a `stat` for each folder and two for each log of a hidden stage."""
    logs, layout = sources.logs, sources.layout
    stages = table.frontier.versions if table.frontier is not None else {}
    for ordinal in range(sum(s.startswith("stage:") for s in stages)):
        path, version = layout.stage(table.id, ordinal), stages[f"stage:{ordinal}"]
        problem = _problem_of_stage(sources.catalog, logs, table.id, ordinal, path, version)
        if problem is not None:
            return problem
        gone = contents.lost(logs[str(path)])
        if gone is not None:
            return Reason("STATE_LOST", f"{gone} that its state is in")
    gone = contents.lost(logs[str(layout.public(table.id))])
    return None if gone is None else Reason("CONTENTS_LOST", f"{gone} that its rows are in")


def _problem_of_stage(
    catalog: Catalog, logs: Logs, dt_id: str, ordinal: int, path: Path, expected: int
) -> Reason | None:
    """Why a refresh cannot continue from a hidden stage; `expected` is the version that was
    left."""
    log = logs[str(path)]
    try:
        newest = log.version()
    except TableGone:
        return Reason("STATE_LOST", "the table of its state no longer exists")
    if newest == expected:
        return None
    if newest < expected:
        return Reason("LOG_REGRESSED", f"its state ends at version {newest}, not {expected}")
    row = stage_standing(catalog, logs, dt_id, ordinal, path, f"dt:{dt_id}:{ordinal}")
    if row is None:
        facts = f"version {newest} of its state was not written by a refresh"
        return Reason("FOREIGN_WRITE", facts)
    if (row.version or 0) < expected:
        return Reason("LOG_REGRESSED", f"its state ends at version {row.version}, not {expected}")
    return None


def _reinitialise(catalog: Catalog, table: DynamicTable, code: str, sentence: str) -> DynamicTable:
    if table.needs_reinit is not None and table.needs_reinit.code == code:
        return table
    return catalog.update(table.id, needs_reinit=Reason(code, sentence))


def _roll_forward(catalog: Catalog, table: DynamicTable, found: Recovered) -> DynamicTable:
    if found.metadata is None or found.version is None:
        return _reinitialise(
            catalog, table, "LOG_CLEANED", "the metadata of the commit no longer exists"
        )
    facts = found.metadata
    frontier = Frontier.from_json(facts["frontier"])
    catalog.clock.observe(frontier.data_timestamp)
    record = RefreshRecord(
        table.name,
        facts["attempt"],
        RefreshState.SUCCEEDED,
        RefreshTrigger(facts["trigger"]),
        frontier.data_timestamp,
        RefreshAction(facts["action"]),
        Reason("ROLLED_FORWARD", "it was committed before its process ended"),
        frontier,
        found.version,
    )
    catalog.roll_forward(
        table.id,
        record,
        frontier=frontier,
        sequence=found.sequence,
        version=found.version,
        definition=_committed_definition(catalog, table, facts),
    )
    return catalog.by_id(table.id) or table


def _committed_definition(
    catalog: Catalog, table: DynamicTable, facts: Mapping[str, Any]
) -> Definition | None:
    """The definition that the commit's rows are of; None where the log does not say it."""
    told = facts.get("table")
    if isinstance(told, dict) and told.get("definition"):
        return catalog.told_definition(told)
    named = [d for d in catalog.definitions(table.id) if d.digest == facts.get("definition")]
    return named[-1].definition if named else None


def restore_times(catalog: Catalog, log: TableLog, table: DynamicTable) -> None:
    """The versions of data timestamps that only the log knows, after the catalog was lost."""
    found: dict[Timestamp, int] = {}
    try:
        for version in range(log.oldest(), log.version() + 1):
            facts = mark_of(log.user_metadata(version))
            if "attempt" in facts and "data_ts" in facts:
                found[Timestamp.parse(facts["data_ts"])] = version
    except LakeError as problem:
        _log.warning("the past of %s cannot be read: %s", table.name, problem)
    catalog.restore_versions(table.id, found)


def stage_standing(
    catalog: Catalog, logs: Logs, dt_id: str, ordinal: int, path: Path, app_id: str
) -> StageRow | None:
    """The version of a hidden stage: its own log is the truth; the catalog knows the frontier of
    refreshes in which it did not change. None where it is not what refreshes left."""
    if not is_delta(path):
        return None
    known = next((s for s in catalog.stages(dt_id) if s.ordinal == ordinal), None)
    log = logs[str(path)]
    last = log.last_transaction(app_id)
    if last is None or (known is not None and known.sequence > last):
        return None
    if known is not None and known.sequence == last and known.version == log.version():
        return known
    found = recover(log, app_id)
    if found is None or found.foreign:
        return None
    if known is not None and known.sequence == last:
        return known
    if found.metadata is None:
        return None
    frontier = Frontier.from_json(found.metadata["frontier"])
    stage_id = f"stage:{ordinal}"
    return StageRow(dt_id, ordinal, stage_id, last, found.version, frontier, str(path))
