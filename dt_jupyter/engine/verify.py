"""Delayed view semantics, checked: the table against the user's own text at its frontier."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from dt_jupyter.engine.views import Verification
from dt_jupyter.lake import TableLog
from dt_jupyter.model import DynamicTable, RefreshMode, Source, SourceKind, Timestamp, error, quote
from dt_jupyter.refresh.run import Refresher, list_anew
from dt_jupyter.replay.compare import compare
from dt_jupyter.replay.past import Past, elsewhere, require_versions
from dt_jupyter.replay.refreshes import compiled_then
from dt_jupyter.replay.snapshots import Snapshots

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def verify(spark: SparkSession, refresher: Refresher, table: DynamicTable) -> Verification:
    """Compares all rows by content hash; what differs is compared value by value, floats within
    a relative tolerance of 1e-9. DT-2101 before initialisation."""
    if table.frontier is None or table.version is None:
        raise error("DT-2101", name=table.name)
    path = str(refresher.sources.layout.public(table.id))
    list_anew(spark, table.definition)
    compiled = None
    if table.effective_mode is RefreshMode.INCREMENTAL:
        compiled = refresher.compiled(spark, table.id, table.definition)
    left = refresher.read_text(path, table.version)
    right = refresher.defining_text(table.definition, table.frontier, compiled)
    return _compared(spark, table, left, right, table.version)


def verify_at(
    spark: SparkSession, refresher: Refresher, snapshots: Snapshots, table: DynamicTable,
    t: Timestamp, version: int,
) -> Verification:  # fmt: skip
    """A version that is retained against the defining query of its time, at its data timestamp
    `t`. DT-4104 where what either reads is gone, DT-4109 where it cannot be told."""
    past = Past(refresher.sources, table)
    frontier = past.frontier_at(t, version)
    definition = past.definition_of(past.commit_of(version))
    require_versions(definition, table.name)
    path = str(refresher.sources.layout.public(table.id))
    own = Source(table.name, SourceKind.DYNAMIC_TABLE, table.id, path)
    folders = {
        s.table_id: snapshots.table(s, frontier.versions[s.table_id]).folder
        for s in definition.sources
    }
    moved = elsewhere(definition, folders)
    then = replace(table, definition=moved, frontier=frontier, version=version)
    logs = {i: TableLog(f) for i, f in folders.items()}
    public = snapshots.table(own, version)
    left = refresher.read_text(str(public.folder), version)
    stages = compiled_then(spark, refresher, past, moved, frontier, logs, public.then.columns)
    right = refresher.defining_text(moved, frontier, stages)
    return _compared(spark, then, left, right, version)


def _compared(
    spark: SparkSession, table: DynamicTable, left: str, right: str, version: int
) -> Verification:
    columns = [(n, t) for n, t, _ in table.definition.columns]
    assert table.frontier is not None
    found = compare(
        spark, spark.sql(f"SELECT * FROM {left}").select(*(quote(n) for n, _ in columns)),
        spark.sql(right), columns, table.name,
    )  # fmt: skip
    return Verification(
        table.name, table.frontier.data_timestamp, table.frontier, found.rows, found.difference,
        version, found.wrong, found.tolerance,
    )  # fmt: skip
