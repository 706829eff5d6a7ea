"""What the logs of sources and stages tell a plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.definition import Compiled
from dt_jupyter.lake import (
    ChangePlan,
    TableLog,
    fields_named,
    is_delta,
    next_sequence,
    plain_type,
    spark_schema,
)
from dt_jupyter.model import Definition, DynamicTable, Frontier, Name, Source
from dt_jupyter.refresh.observation import plan_source
from dt_jupyter.refresh.recovery import stage_standing
from dt_jupyter.refresh.stage_plan import Observation, Standing
from dt_jupyter.sources import Sources
from dt_jupyter.spark import type_text


@dataclass(frozen=True)
class LogFacts:
    """The facts of logs by id; `sources` are those of the definition, other ids hidden stages of
    `name`. `classic`: whether the session can read chosen files."""

    name: Name
    sources: Mapping[str, Source]
    logs: Mapping[str, TableLog]
    classic: bool

    def rows(self, source: str) -> int | None:
        return self.logs[source].size().rows

    def type_of(self, source: str, column: str) -> str | None:
        return column_type(self.logs[source], column)

    def change(self, source: str, columns: frozenset[str], before: int, after: int) -> ChangePlan:
        return plan_source(self.logs[source], before, after, columns, classic=self.classic)

    def added(
        self, source: str, columns: frozenset[str], before: int, after: int
    ) -> dict[str, str]:
        log = self.logs[source]
        there = {c.lower() for c in log.metadata(before).columns}
        missing = [c for c in sorted(columns) if c.lower() not in there]
        fields = spark_schema(fields_named(log.metadata(after), missing))
        return {f.name: type_text(f.dataType) for f in fields}


def column_type(log: TableLog, column: str) -> str | None:
    """A column's plain type as the newest version has it; None for none such."""
    fields = log.metadata().fields
    field = next((f for f in fields if f["name"].lower() == column.lower()), None)
    return plain_type(field) if field is not None else None


def logs_of(
    sources: Sources, dt_id: str, definition: Definition, compiled: Compiled | None
) -> dict[str, TableLog]:
    """The logs of a definition's sources and hidden stages, by id."""
    logs = {s.table_id: sources.logs[s.path] for s in definition.sources if s.path}
    for ordinal, stage in enumerate(compiled.stages[:-1] if compiled is not None else ()):
        logs[stage.stage.id] = sources.logs[str(sources.layout.stage(dt_id, ordinal))]
    return logs


def observe_stages(
    sources: Sources,
    table: DynamicTable,
    definition: Definition,
    compiled: Compiled | None,
    frontier: Frontier,
    *,
    classic: bool,
) -> Observation:
    """What the plan of a refresh to `frontier` is made of; nothing is recorded."""
    hidden = range(len(compiled.stages) - 1 if compiled is not None else 0)
    public = Standing(table.version, table.frontier, table.sequence + 1)
    by_id = {s.table_id: s for s in definition.sources}
    logs = logs_of(sources, table.id, definition, compiled)
    stages = (*(_standing(sources, table, ordinal) for ordinal in hidden), public)
    return Observation(frontier, stages, LogFacts(table.name, by_id, logs, classic))


def _standing(sources: Sources, table: DynamicTable, ordinal: int) -> Standing:
    """A hidden stage may be ahead of the public table after a crash, and goes on from where its
    own log says it is."""
    path = sources.layout.stage(table.id, ordinal)
    app_id = stage_app_id(table.id, ordinal)
    if not is_delta(path):
        return Standing()
    row = stage_standing(sources.catalog, sources.logs, table.id, ordinal, path, app_id)
    sequence = next_sequence(sources.logs[str(path)], app_id)
    return Standing(row.version, row.frontier, sequence) if row else Standing(sequence=sequence)


def stage_app_id(dt_id: str, ordinal: int) -> str:
    """The application that commits to a hidden stage."""
    return f"dt:{dt_id}:{ordinal}"
