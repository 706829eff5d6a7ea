"""Model values to rows and back, field by field: JSON in text columns, never pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from sqlalchemy import RowMapping

from dt_jupyter.caches import text_cache
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    FrozenRegion,
    FunctionUse,
    Initialize,
    Name,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    SchedulingState,
    Source,
    SourceKind,
    TargetLag,
    ViewSource,
)


def dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))  # ASCII: half a surrogate pair is kept too


def storable(text: str | None) -> str | None:
    """Free text for a text column: a lone surrogate, which UTF-8 lacks, becomes its escape."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def from_name(name: Name) -> list[str]:
    return [name.schema, name.table]


def to_name(value: Sequence[str]) -> Name:
    return Name(value[0], value[1])


def name_in(row: RowMapping) -> Name:
    """The name of a table or view in its row."""
    return Name(row["schema_name"], row["table_name"])


def from_reason(reason: Reason | None) -> str | None:
    return None if reason is None else dump([reason.code, reason.sentence])


def to_reason(text: str | None) -> Reason | None:
    return None if text is None else Reason(*json.loads(text))


def from_frontier(frontier: Frontier | None) -> str | None:
    return None if frontier is None else dump(frontier.to_json())


def to_frontier(text: str | None) -> Frontier | None:
    return None if text is None else _frontier(text)


@text_cache("frontiers", 6, most_bytes=1 << 20)
def _frontier(text: str) -> Frontier:
    return Frontier.from_json(json.loads(text))


def from_definition(definition: Definition, root: LakeRoot) -> str:
    definition = root.stored_definition(definition)
    own: dict[str, Any] = (
        {"query_columns": list(definition.query_columns)} if definition.query_columns else {}
    )
    if definition.functions:
        own["functions"] = [[f.name, f.digest] for f in definition.functions]
    if definition.frozen is not None:
        own["frozen"] = _from_region(definition.frozen)
    if definition.parameters:
        own["parameters"] = [list(pair) for pair in definition.parameters]
    if definition.added:
        own["added"] = list(definition.added)
    return dump(
        {
            "query": definition.query,
            "settings": dict(definition.settings),
            "columns": [list(column) for column in definition.columns],
            "sources": [_from_source(s) for s in definition.sources],
            "views": [[from_name(view.name), view.text] for view in definition.views],
            "current_schema": definition.current_schema,
            **own,
        }
    )


def definition_digest(text: str) -> str:
    """A digest that distinguishes stored definitions: 16 hexadecimal digits."""
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@text_cache("definitions", 6)  # a scheduler reads all of them again and again
def to_definition(text: str, root: LakeRoot) -> Definition:
    value = json.loads(text)
    if not isinstance(value["query"], str) or not isinstance(value["current_schema"], str):
        raise TypeError("the query of the definition is not a string")
    definition = Definition(
        query=value["query"],
        settings=value["settings"],
        columns=tuple((name, kind, comment) for name, kind, comment in value["columns"]),
        sources=tuple(_to_source(s) for s in value["sources"]),
        views=tuple(ViewSource(to_name(name), view) for name, view in value["views"]),
        current_schema=value["current_schema"],
        query_columns=tuple(value.get("query_columns", ())),
        functions=tuple(FunctionUse(*f) for f in value.get("functions", ())),
        frozen=_to_region(value.get("frozen")),
        parameters=tuple((name, text) for name, text in value.get("parameters", ())),
        added=tuple(value.get("added", ())),
    )
    return root.found_definition(definition)


def _from_source(source: Source) -> list[Any]:
    name, columns = from_name(source.name), list(source.columns)
    return [name, source.kind, source.table_id, source.path, columns]


def _to_source(value: Sequence[Any]) -> Source:
    name, kind, table_id, path, columns = value
    return Source(to_name(name), SourceKind(kind), table_id, path, tuple(columns))


def _from_region(region: FrozenRegion) -> dict[str, Any]:
    backfill = None if region.backfill is None else _from_source(region.backfill)
    return {
        "where": region.where,
        "backfill": backfill,
        "version": region.version,
        "renamed": [list(pair) for pair in region.renamed],
    }


def _to_region(value: dict[str, Any] | None) -> FrozenRegion | None:
    if value is None:
        return None
    backfill = None if value["backfill"] is None else _to_source(value["backfill"])
    renamed = tuple((new, old) for new, old in value["renamed"])
    return FrozenRegion(value["where"], backfill, value["version"], renamed)


def from_table(dt: DynamicTable, root: LakeRoot) -> dict[str, Any]:
    """A row of `dynamic_table`, without the catalog's own columns."""
    return {
        "id": dt.id,
        "schema_name": dt.name.schema,
        "table_name": dt.name.table,
        "definition": from_definition(dt.definition, root),
        "target_lag_seconds": dt.target_lag.seconds,
        "warehouse": dt.warehouse,
        "mode": dt.mode,
        "effective_mode": dt.effective_mode,
        "mode_reason": from_reason(dt.mode_reason),
        "initialize": dt.initialize,
        "created": dt.created,
        "scheduling": dt.scheduling,
        "scheduling_reason": from_reason(dt.scheduling_reason),
        "scheduler_enabled": dt.scheduler_enabled,
        "sequence": dt.sequence,
        "version": dt.version,
        "data_timestamp": dt.data_timestamp,
        "frontier": from_frontier(dt.frontier),
        "error_count": dt.error_count,
        "cluster_by": dump(list(dt.cluster_by)),
        "retention_days": dt.retention_days,
        "alter_sources": dt.alter_sources,
        "comment": storable(dt.comment),
        "dropped": dt.dropped,
        "state_format": dt.state_format,
        "needs_reinit": from_reason(dt.needs_reinit),
    }


def to_table(row: RowMapping, root: LakeRoot) -> DynamicTable:
    reason = to_reason(row["mode_reason"])
    assert reason is not None  # the column is NOT NULL
    return DynamicTable(
        id=row["id"],
        name=name_in(row),
        definition=to_definition(row["definition"], root),
        target_lag=TargetLag(row["target_lag_seconds"]),
        warehouse=row["warehouse"],
        mode=RefreshMode(row["mode"]),
        effective_mode=RefreshMode(row["effective_mode"]),
        mode_reason=reason,
        initialize=Initialize(row["initialize"]),
        created=row["created"],
        scheduling=SchedulingState(row["scheduling"]),
        scheduling_reason=to_reason(row["scheduling_reason"]),
        scheduler_enabled=row["scheduler_enabled"],
        sequence=row["sequence"],
        version=row["version"],
        frontier=to_frontier(row["frontier"]),
        error_count=row["error_count"],
        cluster_by=tuple(json.loads(row["cluster_by"])),
        retention_days=row["retention_days"],
        alter_sources=row["alter_sources"],
        comment=row["comment"],
        dropped=row["dropped"],
        state_format=row["state_format"],
        needs_reinit=to_reason(row["needs_reinit"]),
    )


TABLE_FIELDS = frozenset(field.name for field in fields(DynamicTable))


def from_record(record: RefreshRecord) -> dict[str, Any]:
    """A row of `history`, without its place and its dynamic table's id."""
    return {
        "query_id": record.query_id,
        "schema_name": record.name.schema,
        "table_name": record.name.table,
        "state": record.state,
        "trigger_kind": record.trigger,
        "data_timestamp": record.data_timestamp,
        "action": record.action,
        "reason": from_reason(record.reason),
        "frontier": from_frontier(record.frontier),
        "version": record.version,
        "statistics": dump({k: v for k, v in record.statistics.to_json().items() if v}),
        "start_time": record.start,
        "end_time": record.end,
        "completion_target": record.completion_target,
        "target_lag_seconds": record.target_lag_seconds,
        "warehouse": record.warehouse,
        "changed_inputs": dump(list(record.changed_inputs)),
        "reinit_reason": record.reinit_reason,
        "error_code": record.error_code,
        "error": storable(record.error),
        "last_completed_dependency": record.last_completed_dependency,
        "graph_valid_from": record.graph_valid_from,
        "upstream": dump([earlier.query_id for earlier in record.upstream]),
    }


_WHAT = (
    "table_name", "schema_name", "query_id", "state", "trigger_kind", "data_timestamp", "action",
)  # fmt: skip


def _what(row: RowMapping) -> dict[str, Any]:
    """The fields of a refresh that say which one it was, and what it did."""
    return {
        "name": name_in(row),
        "query_id": row["query_id"],
        "state": RefreshState(row["state"]),
        "trigger": RefreshTrigger(row["trigger_kind"]),
        "data_timestamp": row["data_timestamp"],
        "action": RefreshAction(row["action"]) if row["action"] else None,
    }


MEASURED = (*_WHAT, "reason", "statistics")
"""The columns of a refresh that `to_measured` reads."""


def to_measured(row: RowMapping) -> RefreshRecord:
    """What a refresh was and what it cost."""
    return RefreshRecord(
        **_what(row),
        reason=to_reason(row["reason"]),
        statistics=RefreshStatistics.from_json(json.loads(row["statistics"])),
    )


TIMED = (*_WHAT, "start_time", "end_time", "target_lag_seconds")
"""The columns of a refresh that `to_timed` reads."""


def to_timed(row: RowMapping) -> RefreshRecord:
    """When a refresh was to run, and when it ran."""
    return RefreshRecord(
        **_what(row),
        start=row["start_time"],
        end=row["end_time"],
        target_lag_seconds=row["target_lag_seconds"],
    )


def to_record(row: RowMapping, upstream: tuple[RefreshRecord, ...] = ()) -> RefreshRecord:
    return replace(
        to_measured(row),
        frontier=to_frontier(row["frontier"]),
        version=row["version"],
        start=row["start_time"],
        end=row["end_time"],
        completion_target=row["completion_target"],
        target_lag_seconds=row["target_lag_seconds"],
        warehouse=row["warehouse"],
        changed_inputs=tuple(json.loads(row["changed_inputs"])),
        reinit_reason=row["reinit_reason"],
        error_code=row["error_code"],
        error=row["error"],
        last_completed_dependency=row["last_completed_dependency"],
        graph_valid_from=row["graph_valid_from"],
        upstream=upstream,
    )
