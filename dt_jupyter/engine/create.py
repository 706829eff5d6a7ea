"""Creating, altering, cloning and dropping dynamic tables: all or nothing."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dt_jupyter.engine.graph import Graph
from dt_jupyter.engine.publish import Publisher
from dt_jupyter.lake import enable_feed, is_delta
from dt_jupyter.model import (
    Clock,
    DTError,
    DynamicTable,
    Initialize,
    Name,
    Reason,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    SourceKind,
    error,
)
from dt_jupyter.refresh.define import Defined, Definer, Request
from dt_jupyter.refresh.sources import Sources
from dt_jupyter.spark import RefreshSessions, meaning
from dt_jupyter.spark.relations import RelationKind, lookup
from dt_jupyter.sql.statements import CreateAction, CreateDynamicTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class Created:
    """What CREATE did: the table as it is now, how it was defined, its first refresh (None with
    ON_SCHEDULE), whether it is new, and what was changed at its sources."""

    table: DynamicTable
    defined: Defined | None
    record: RefreshRecord | None
    status: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Creator:
    """Runs the statements that make and change dynamic tables."""

    spark: SparkSession
    sources: Sources
    definer: Definer
    sessions: RefreshSessions
    graph: Graph
    publisher: Publisher
    clock: Clock

    def define(self, statement: CreateDynamicTable) -> Defined:
        """The definition of a statement, analysed and checked; creates nothing."""
        self.sources.catalog.warehouse(statement.warehouse)
        settings = meaning(self.spark)
        request = Request(
            statement.name, statement.query, statement.refresh_mode, statement.columns,
            self.spark.catalog.currentDatabase().lower(),
        )  # fmt: skip
        with self.sessions.lease(statement.warehouse, settings) as spark:
            spark.sql(f"USE `{request.schema}`")
            try:
                return self.definer.define(spark, request, settings)
            except DTError as e:
                raise e if e.query is not None else e.at(statement.query, None) from e

    def create(self, statement: CreateDynamicTable) -> Created:
        """CREATE [OR REPLACE|OR ALTER] DYNAMIC TABLE: registers, initialises, publishes.

        A failure leaves everything as it was, the replaced table included.
        """
        catalog = self.sources.catalog
        existing = catalog.get(statement.name)
        if existing is not None and statement.action is CreateAction.IF_NOT_EXISTS:
            return Created(existing, None, None, f"{statement.name} exists already, nothing done.")
        if existing is not None and statement.action is CreateAction.CREATE:
            raise error("DT-1105", kind="Dynamic table", name=statement.name)
        if existing is None:
            self._refuse_other(statement.name)
        defined = self.define(statement)
        if existing is not None and statement.action is CreateAction.ALTER:
            return self._alter(existing, statement, defined)
        notes = self._alter_sources(statement, defined)
        table = self._row(statement, defined)
        if existing is not None:
            catalog.replace(table)
        else:
            catalog.create(table)
        try:
            self.publisher.publish(table)
            record = self._initialise(table)
        except BaseException:
            self._undo(table, existing)
            raise
        if record is not None and record.state is not RefreshState.SUCCEEDED:
            self._undo(table, existing)
            raise _failure(record)
        made = "replaced" if existing else "created"
        return Created(catalog.require(statement.name), defined, record,
                       f"Dynamic table {statement.name} {made}.", notes)  # fmt: skip

    def clone(self, name: Name, source: Name) -> Created:
        """CREATE DYNAMIC TABLE n CLONE m: the same definition, at the same data timestamp."""
        catalog = self.sources.catalog
        if catalog.get(name) is not None:
            raise error("DT-1105", kind="Dynamic table", name=name)
        self._refuse_other(name)
        original = catalog.require(source)
        table = replace(
            original, id=uuid.uuid4().hex, name=name, created=self.clock.now(), sequence=0,
            version=None, frontier=None, error_count=0, needs_reinit=None,
        )  # fmt: skip
        catalog.create(table)
        try:
            self.publisher.publish(table)
            t = original.data_timestamp
            record = self.graph.refresh_at(table, t, RefreshTrigger.CREATION) if t else None
        except BaseException:
            self._undo(table, None)
            raise
        if record is not None and record.state is not RefreshState.SUCCEEDED:
            self._undo(table, None)
            raise _failure(record)
        return Created(catalog.require(name), None, record, f"Dynamic table {name} cloned.")

    def _initialise(self, table: DynamicTable) -> RefreshRecord | None:
        if table.initialize is Initialize.ON_SCHEDULE:
            return None
        return self.graph.initialise(table)

    def _alter(
        self, existing: DynamicTable, statement: CreateDynamicTable, defined: Defined
    ) -> Created:
        """CREATE OR ALTER: options change in place; another query reinitialises the table."""
        row = self._row(statement, defined)
        changed = (existing.definition.query, existing.definition.columns, existing.mode) != (
            row.definition.query, row.definition.columns, row.mode
        )  # fmt: skip
        notes = self._alter_sources(statement, defined)
        common = {
            "target_lag": row.target_lag, "warehouse": row.warehouse, "comment": row.comment,
            "cluster_by": row.cluster_by, "retention_days": row.retention_days,
            "scheduler_enabled": row.scheduler_enabled, "alter_sources": row.alter_sources,
        }  # fmt: skip
        if not changed:
            table = self.sources.catalog.update(existing.id, **common)
            return Created(table, defined, None, f"Dynamic table {statement.name} altered.", notes)
        reason = Reason("DEFINITION_CHANGED", "CREATE OR ALTER changed the definition")
        table = self.sources.catalog.update(
            existing.id, definition=row.definition, mode=row.mode,
            effective_mode=row.effective_mode, mode_reason=row.mode_reason, needs_reinit=reason,
            **common,
        )  # fmt: skip
        record = None
        if existing.frontier is not None or table.initialize is Initialize.ON_CREATE:
            record = self.graph.refresh(table.id, RefreshTrigger.CREATION)
            if record.state is not RefreshState.SUCCEEDED:
                self.sources.catalog.update(
                    existing.id, definition=existing.definition, mode=existing.mode,
                    effective_mode=existing.effective_mode, mode_reason=existing.mode_reason,
                    needs_reinit=existing.needs_reinit, target_lag=existing.target_lag,
                    warehouse=existing.warehouse, comment=existing.comment,
                )  # fmt: skip
                raise _failure(record)
        return Created(self.sources.catalog.require(statement.name), defined, record,
                       f"Dynamic table {statement.name} altered.", notes)  # fmt: skip

    def _row(self, statement: CreateDynamicTable, defined: Defined) -> DynamicTable:
        return DynamicTable(
            uuid.uuid4().hex, statement.name, defined.definition, statement.target_lag,
            statement.warehouse, statement.refresh_mode, defined.mode, defined.reason,
            statement.initialize, self.clock.now(), SchedulingState.ACTIVE,
            scheduler_enabled=statement.scheduler, cluster_by=statement.cluster_by,
            retention_days=statement.retention_days, alter_sources=statement.alter_sources,
            comment=statement.comment,
        )  # fmt: skip

    def _refuse_other(self, name: Name) -> None:
        """A table or view of Spark's has the name already."""
        relation = lookup(self.spark, name)
        if relation is not None and relation.kind is not RelationKind.TEMPORARY_VIEW:
            raise error("DT-1105", kind=relation.kind.value.capitalize(), name=name)

    def _alter_sources(self, statement: CreateDynamicTable, defined: Defined) -> tuple[str, ...]:
        """The change feed turned on at the user's tables, where that is wanted and needed."""
        if defined.mode is not RefreshMode.INCREMENTAL or not statement.alter_sources:
            return ()
        notes = []
        for source in defined.definition.sources:
            if source.kind is SourceKind.DELTA and source.path is not None:
                if not self.sources.logs[source.path].metadata().feed:
                    with self.sessions.lease(statement.warehouse) as spark:
                        enable_feed(spark, source.path)
                    notes.append(
                        f"Turned the change data feed of {source.name} on "
                        "(ALTER_SOURCES = FALSE leaves sources as they are)."
                    )
                self._remember(source.name, source.table_id, source.path)
        return tuple(notes)

    def _remember(self, name: Name, table_id: str, path: str) -> None:
        if name.schema != "delta":
            self.sources.catalog.record_table(name, table_id, path)

    def _undo(self, table: DynamicTable, replaced: DynamicTable | None) -> None:
        """A table that could not be made leaves no trace, and what it replaced is back."""
        catalog = self.sources.catalog
        self.publisher.unpublish(table.name)
        if catalog.get(table.name) is not None:
            catalog.drop(table.name)
        catalog.purge(table.id)
        folder = self.sources.layout.folder(table.id)
        if is_delta(self.sources.layout.public(table.id)) or folder.exists():
            shutil.rmtree(folder, ignore_errors=True)
        if replaced is not None:
            back = catalog.undrop(replaced.name)
            self.publisher.publish(back)


def _failure(record: RefreshRecord) -> DTError:
    """The error of a failed refresh, from its record."""
    code = record.error_code or "DT-2105"
    text = (record.error or "").removeprefix(f"[{code}] ")
    problem = text.partition(" failed: ")[2] or text
    return DTError("DT-2105", {"name": record.name, "problem": problem, "hint": ""})
