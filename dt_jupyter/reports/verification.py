"""Delayed view semantics, checked: the table against the user's own text at its frontier."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.definition import (
    Compiled,
    KeptValues,
    Outputs,
    expected,
    find_lost_column,
    frozen_at,
    in_words,
    outputs_of,
    public_outputs,
)
from dt_jupyter.lake import TableLog, open_log, snapshot_sql
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    RefreshMode,
    Source,
    SourceKind,
    Timestamp,
    count_of,
    error,
    quote,
)
from dt_jupyter.refresh import Refresher, list_anew, plan_for, use_schema
from dt_jupyter.replay import Past, Snapshots, compare, compiled_then, elsewhere, require_versions
from dt_jupyter.reports.explanation_values import Verification
from dt_jupyter.sources import gone_is_named, unreadable_source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def verify(
    spark: SparkSession, refresher: Refresher, snapshots: Snapshots, table: DynamicTable
) -> Verification:
    """Compares all rows by content hash; what differs is compared value by value, floats within
    a relative tolerance of 1e-9. Where a source lost a column that the query uses, its rows are
    still compared as they were, and the note says so. DT-2101 before initialisation; where files
    are gone, DT-2115 for its own, DT-4104 or DT-2114 of a source as it was read, DT-2102 for one
    that is gone itself."""
    if table.frontier is None or table.version is None:
        raise error("DT-2101", name=table.name)
    path = str(refresher.sources.layout.public(table.id))
    gone = refresher.contents.lost(refresher.sources.logs[path])
    if gone is not None:
        raise error("DT-2115", name=table.name, problem=gone)
    there = _where_there(refresher, snapshots, table, table.frontier)
    kept = (s.path for s in there.sources if s.path and s.kind is not SourceKind.FOREIGN)
    _plan_for_all_rows(spark, refresher, [refresher.sources.logs[p] for p in kept])
    list_anew(spark, table.definition)
    use_schema(spark, table.definition)
    compiled = None
    if table.effective_mode is RefreshMode.INCREMENTAL:
        compiled = refresher.compiled(spark, table.id, table.definition, table.frontier)
    left, frozen = _live(table.definition, table.frontier, refresher.read_text(path, table.version))
    values = _values(refresher, snapshots, there, table, compiled)
    right = (
        values.text(frozen_at(there, table.frontier.data_timestamp))
        if values
        else refresher.defining_text(there, table.frontier, compiled)
    )
    query = refresher.full_text(there, table.frontier)
    other = _other_columns(spark, table.definition, left, query)
    found = _compared(spark, table, left, right, table.version, other)
    found = _with_values(spark, found, values)
    lost = find_lost_column(spark, table, refresher.sources)
    return _noted(spark, replace(found, note=str(lost)) if lost is not None else found, frozen)


def _plan_for_all_rows(spark: SparkSession, refresher: Refresher, read: Iterable[TableLog]) -> None:
    """Sessions are set for small refreshes: a sort of millions of rows in two parts of them has
    not the memory."""
    size = sum(log.size().bytes for log in read)
    plan_for(spark, heavy=size > refresher.tuning.driver_bytes)


def _values(
    refresher: Refresher,
    snapshots: Snapshots,
    there: Definition,
    table: DynamicTable,
    compiled: Compiled | None,
) -> KeptValues | None:
    """The values of rows, as the frontier of the table has them; None where it has none. `there`
    says where its sources can be read."""
    if compiled is None or not compiled.values_of_rows:
        return None
    assert table.frontier is not None
    versions, layout = table.frontier.versions, refresher.sources.layout
    folders = {s.table_id: str(s.path) for s in there.sources}
    for ordinal, stage in enumerate(compiled.stages):
        if stage in compiled.values_of_rows:
            id_, path = stage.stage.id, str(layout.stage(table.id, ordinal))
            source = Source(table.name, SourceKind.DELTA, id_, path)
            folders[id_] = str(snapshots.table(source, versions[id_]).folder)
    return KeptValues(compiled, lambda id_: snapshot_sql(folders[id_], versions[id_]))


def _with_values(
    spark: SparkSession, found: Verification, values: KeptValues | None
) -> Verification:
    """Values of rows are those of the time at which they were computed: of them is checked that
    each row has its one."""
    if values is None:
        return found
    for name, wrong in values.differences() if found.equal else ():
        if rows := spark.sql(f"SELECT count(*) FROM ({wrong})").collect()[0][0]:
            problem = f"{count_of(rows, 'row')} and the values of {name}() do not belong together"
            return replace(found, difference=problem)
    names = " and ".join(f"{n}()" for n in values.functions)
    return replace(found, note=f"The values of {names} are those of when their rows came.")


def _live(definition: Definition, frontier: Frontier, stored: str) -> tuple[str, str | None]:
    """The rows that the query gives, of those that are stored, and those that are frozen."""
    frozen = frozen_at(definition, frontier.data_timestamp)
    if frozen is None:
        return stored, None
    return f"(SELECT * FROM {stored} WHERE NOT {frozen})", f"{stored} WHERE {frozen}"


def _noted(spark: SparkSession, found: Verification, frozen: str | None) -> Verification:
    """Frozen rows are not the query's, so that they are not compared."""
    if frozen is None:
        return found
    rows = spark.sql(f"SELECT count(*) FROM {frozen}").collect()[0][0]
    told = f"{count_of(rows, 'frozen row')} not compared"
    return replace(found, note=f"{found.note}; {told}" if found.note else told)


def _where_there(
    refresher: Refresher, snapshots: Snapshots, table: DynamicTable, frontier: Frontier
) -> Definition:
    """The definition over the folders in which its sources' versions can be read."""
    versions, folders = frontier.versions, dict[str, Path]()
    for source in table.definition.sources:
        if source.kind is SourceKind.FOREIGN:
            continue
        with gone_is_named(source, table.name):
            version = versions[source.table_id]
            folders[source.table_id] = snapshots.table(source, version).folder
            newest = snapshots.log(source).version() == version
            read = [source] if newest else []
            if lost := unreadable_source(refresher.sources, table.name, read, versions):
                raise lost
    return elsewhere(table.definition, folders)


def verify_at(
    spark: SparkSession,
    refresher: Refresher,
    snapshots: Snapshots,
    table: DynamicTable,
    t: Timestamp,
    version: int,
) -> Verification:
    """A version that is retained against the defining query of its time, at its data timestamp
    `t`. DT-4104 where what either reads is gone, DT-4109 where it is unknown."""
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
    logs = {i: open_log(f) for i, f in folders.items()}
    _plan_for_all_rows(spark, refresher, logs.values())
    public = snapshots.table(own, version)
    stored = refresher.read_text(str(public.folder), version)
    left, frozen = _live(moved, frontier, stored)
    stages = compiled_then(spark, refresher, past, moved, frontier, logs, public.then.columns)
    values = _values(refresher, snapshots, moved, then, stages)
    right = (
        values.text(frozen_at(moved, t))
        if values
        else refresher.defining_text(moved, frontier, stages)
    )
    other = _other_columns(spark, moved, left, refresher.full_text(moved, frontier))
    found = _compared(spark, then, left, right, version, other)
    return _noted(spark, _with_values(spark, found, values), frozen)


def _other_columns(
    spark: SparkSession, definition: Definition, stored: str, query: str
) -> str | None:
    """How the columns of the table, or those that its definition was made over, are not those of
    its query: in name, order or type."""
    public, own = public_outputs(definition), _outputs(spark, query)
    if (found := _outputs(spark, f"SELECT * FROM {stored}")) != public:
        return f"its columns are {in_words(public)}, those that are stored {in_words(found)}"
    if own != (meant := expected(definition)):
        return f"its columns are made of {in_words(meant)}, those of its query are {in_words(own)}"
    return None


def _outputs(spark: SparkSession, query: str) -> Outputs:
    return outputs_of(spark.sql(query).schema.fields)


def _compared(
    spark: SparkSession, table: DynamicTable, left: str, right: str, version: int, other: str | None
) -> Verification:
    columns = [(n, t) for n, t, _ in table.definition.columns]
    assert table.frontier is not None
    if other:
        rows = spark.sql(f"SELECT count(*) FROM {left}").collect()[0][0]
        return Verification(
            table.name, table.frontier.data_timestamp, table.frontier, rows, other, version
        )
    found = compare(
        spark,
        spark.sql(f"SELECT * FROM {left}").select(*(quote(n) for n, _ in columns)),
        spark.sql(right),
        columns,
        table.name,
    )
    return Verification(
        table.name,
        table.frontier.data_timestamp,
        table.frontier,
        found.rows,
        found.difference,
        version,
        found.wrong,
        found.tolerance,
    )
