"""Creating, altering, cloning and dropping dynamic tables: all or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from dt_jupyter.definition import (
    DEFAULT_DAYS,
    Defined,
    Definer,
    DefinitionRequest,
    apply_options,
    require_clusterable,
)
from dt_jupyter.engine.frozen_regions import (
    Regions,
    renamed_columns,
    require_keepable,
    with_region,
)
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.spark_rights import SparkRights
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.engine.upstream_refresh import Graph, failure_of
from dt_jupyter.ivm import Refused
from dt_jupyter.lake import enable_feed, is_delta, remove_folder
from dt_jupyter.model import (
    Clock,
    DTError,
    DynamicTable,
    FrozenRegion,
    Initialize,
    Name,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    SourceKind,
    StatementStep,
    Timestamp,
    error,
    run_all,
)
from dt_jupyter.refresh import (
    ContentsVerdict,
    Derivable,
    KeptContents,
    derive_contents,
    judge_contents,
    recover_table,
)
from dt_jupyter.sources import Publisher, Sources, require_free
from dt_jupyter.spark import RefreshSessions, check_cancelled, meaning
from dt_jupyter.sql import CreateAction, CreateDynamicTable
from dt_jupyter.streams import RETENTION_DAYS, StatementLog

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
    rights: SparkRights
    log: StatementLog

    @property
    def access(self) -> Access:
        return self.rights.access

    @property
    def regions(self) -> Regions:
        return Regions(self.sources, self.graph.refresher)

    def define(self, statement: CreateDynamicTable) -> Defined:
        """The definition of a statement, analysed and checked; creates nothing. DT-52xx for what
        the session's role may not run: by Spark's plan of the query, as far as the text is
        understood, and by what the definition came to read."""
        self.sources.catalog.warehouse(statement.warehouse)
        self._require_read(statement.query)
        if statement.backfill is not None:
            self.access.require_read(statement.backfill)
        settings = meaning(self.spark)
        request = DefinitionRequest(
            statement.name,
            statement.query,
            statement.refresh_mode,
            statement.columns,
            self.spark.catalog.currentDatabase().lower(),
            self.regions.asked(statement),
        )
        with self.sessions.lease(statement.warehouse, settings) as spark:
            spark.sql(f"USE `{request.schema}`")
            self.require_plan(spark, statement.query)
            self._require_condition(spark, request.frozen)
            try:
                defined = self.definer.define(spark, request, settings)
                require_clusterable(defined.definition, statement.cluster_by)
                self.regions.require_fitting(statement.name, defined.definition)
            except DTError as e:
                raise e if e.query is not None else e.at(statement.query, None) from e
        self.access.require_definition(defined.definition)
        return defined

    def require_plan(self, spark: SparkSession, query: str) -> None:
        """DT-52xx for a query whose plan is not open to the session's role."""
        if self.access.guarded:
            self.rights.judge(spark, query)

    def _require_condition(self, spark: SparkSession, frozen: FrozenRegion | None) -> None:
        """As `require_plan`, of a condition: its columns need not be known for that."""
        if frozen is not None:
            self.require_plan(spark, f"SELECT 1 WHERE (\n{frozen.where}\n)")

    def _require_read(self, query: str) -> None:
        with suppress(Refused):  # only Spark reads it: its definition is looked at
            self.access.require_query(query, self.spark.catalog.currentDatabase().lower())

    def create(self, statement: CreateDynamicTable) -> Created:
        """CREATE [OR REPLACE|OR ALTER] DYNAMIC TABLE: registers, initialises, publishes.

        A failure leaves everything as it was, the replaced table included.
        """
        catalog = self.sources.catalog
        existing = self.existing(statement.name, statement.action)
        if existing is not None and statement.action is CreateAction.IF_NOT_EXISTS:
            return Created(existing, None, None, f"{statement.name} already exists, nothing done.")
        defined = self.define(statement)
        if existing is not None and statement.action is CreateAction.ALTER:
            return self._alter(existing, statement, defined)
        check_cancelled()
        notes = self._alter_sources(statement, defined)
        table = self._row(statement, defined)
        with self.log.begin(f"CREATE DYNAMIC TABLE {table.name}", making(table, existing)):
            self.register(table, existing)
            check_cancelled()
            record = self._initialise(table)
            _require_success(record)
        made = "replaced" if existing else "created"
        return Created(
            catalog.require(statement.name),
            defined,
            record,
            f"Dynamic table {statement.name} {made}.",
            notes,
        )

    def existing(self, name: Name, action: CreateAction) -> DynamicTable | None:
        """The dynamic table that bears the name of one to be made. DT-1105 where it is in the
        way, or something else is."""
        existing = self.sources.catalog.get(name)
        if existing is not None and action is CreateAction.CREATE:
            raise error("DT-1105", kind="Dynamic table", name=name)
        if existing is None:
            require_free(self.sources.catalog, self.spark, name, temporary=False)
        return existing

    def register(self, table: DynamicTable, existing: DynamicTable | None) -> None:
        """In the catalog, in the place of the one that it replaces, and known by name."""
        if existing is not None:
            self.sources.catalog.replace(table)
        else:
            self.sources.catalog.create(table)
        self.publisher.publish(table)

    def compute(self, table: DynamicTable, t: Timestamp) -> RefreshRecord:
        """Its first rows, at a data timestamp."""
        record = self.graph.refresh_at(table, t, RefreshTrigger.CREATION)
        _require_success(record)
        return record

    def _initialise(self, table: DynamicTable) -> RefreshRecord | None:
        if table.initialize is Initialize.ON_SCHEDULE:
            return None
        return self.graph.initialise(table)

    def _alter(
        self, existing: DynamicTable, statement: CreateDynamicTable, defined: Defined
    ) -> Created:
        """CREATE OR ALTER: options change in place; another query reinitialises the table."""
        row = self._row(statement, defined)
        changed = _is_other(existing, row)
        notes = self._alter_sources(statement, defined)
        common = {
            "target_lag": row.target_lag,
            "warehouse": row.warehouse,
            "comment": row.comment,
            "cluster_by": row.cluster_by,
            "retention_days": row.retention_days,
            "scheduler_enabled": row.scheduler_enabled,
            "alter_sources": row.alter_sources,
        }
        if not changed:
            table = self.sources.catalog.update(existing.id, **common)
            self.apply_options(existing, table)
            return Created(table, defined, None, f"Dynamic table {statement.name} altered.", notes)
        defined = self._renamed(existing, defined)
        row = replace(row, definition=defined.definition)
        return self._redefine(existing, row, defined, common, notes)

    def _redefine(
        self,
        existing: DynamicTable,
        row: DynamicTable,
        defined: Defined,
        common: Mapping[str, object],
        notes: tuple[str, ...] = (),
    ) -> Created:
        """The definition and the modes of `row` for the table, with its rows kept, derived or
        computed; again where a refresh is in its way, or has moved the rows since they were
        judged."""
        catalog, name = self.sources.catalog, existing.name
        work = partial(self._redefine_once, row=row, defined=defined, common=common, notes=notes)
        return self.graph.repeat(lambda: work(catalog.by_id(existing.id) or catalog.require(name)))

    def _redefine_once(
        self,
        existing: DynamicTable,
        row: DynamicTable,
        defined: Defined,
        common: Mapping[str, object],
        notes: tuple[str, ...],
    ) -> Created:
        verdict = self._judge(existing, defined)
        modes: dict[str, object] = {
            "definition": row.definition,
            "mode": row.mode,
            "effective_mode": row.effective_mode,
            "mode_reason": row.mode_reason,
        }
        changes = {**modes, **common}
        altering = self._altering(existing, changes)
        with self.log.begin(f"ALTER DYNAMIC TABLE {existing.name}", altering):
            record, said = self._change_rows(existing, row, defined, changes, verdict)
            table = self.sources.catalog.require(existing.name)
            self._finish_alter(existing, table)
        return Created(
            table, defined, record, f"Dynamic table {existing.name} altered{said}.", notes
        )

    def _change_rows(
        self,
        existing: DynamicTable,
        row: DynamicTable,
        defined: Defined,
        changes: Mapping[str, object],
        verdict: ContentsVerdict,
    ) -> tuple[RefreshRecord | None, str]:
        """The refresh that it took, and what became of the rows."""
        catalog = self.sources.catalog
        if isinstance(verdict, KeptContents):
            catalog.update(existing.id, **changes)
            return None, "; its rows are kept"
        if isinstance(verdict, Derivable):
            standing = replace(self._standing(existing), cluster_by=row.cluster_by)
            derive_contents(self.graph.refresher, standing, defined, verdict)
            self.publisher.publish(catalog.require(existing.name))
            table = catalog.update(existing.id, **changes)
        else:
            table = catalog.update(existing.id, **changes, needs_reinit=verdict)
        record = None
        if existing.frontier is not None or table.initialize is Initialize.ON_CREATE:
            record = self.graph.refresh(table, RefreshTrigger.CREATION)
        _require_success(record)
        derived = isinstance(verdict, Derivable)
        return record, "; its rows were derived from those that it had" if derived else ""

    def _altering(self, existing: DynamicTable, changes: Mapping[str, Any]) -> StatementStep:
        columns = self.sources.catalog.altered_columns
        before, after = columns(existing), columns(replace(existing, **changes))
        del after["needs_reinit"]
        facts = {"id": existing.id, "sequence": existing.sequence}
        return StatementStep(
            StepKind.DYNAMIC_TABLE_ALTERED, {**facts, "before": before, "after": after}
        )

    def freeze(self, table: DynamicTable, where: str | None) -> Created:
        """ALTER … SET or UNSET FROZEN WHERE: rows that were frozen and are not any more are
        computed anew. DT-1139, DT-1140."""
        definition = with_region(table, where)
        defined = Defined(definition, None, table.effective_mode, table.mode_reason)
        with self.sessions.lease(table.warehouse, definition.settings) as spark:
            self._require_condition(spark, definition.frozen)
            self.definer.require_region(spark, table.name, definition)
            if table.effective_mode is RefreshMode.INCREMENTAL and table.frontier is not None:
                require_keepable(self.definer, spark, table, definition)
        return self._redefine(table, replace(table, definition=definition), defined, {})

    def _renamed(self, existing: DynamicTable, defined: Defined) -> Defined:
        """With the columns that the statement names anew, by which frozen rows are found."""
        new, frontier = defined.definition, existing.frontier
        if new.frozen is None or frontier is None:
            return defined
        with self.sessions.lease(existing.warehouse, new.settings) as spark:
            rels = [self.definer.relation(spark, d, frontier) for d in (existing.definition, new)]
        columns = [tuple(n for n, _, _ in d.columns) for d in (existing.definition, new)]
        pairs = renamed_columns(rels[0], rels[1], columns[0], columns[1])
        region = replace(new.frozen, renamed=pairs)
        return replace(defined, definition=replace(new, frozen=region))

    def _standing(self, table: DynamicTable) -> DynamicTable:
        return self.graph.refresher.standing(table)

    def _judge(self, existing: DynamicTable, defined: Defined) -> ContentsVerdict:
        """What becomes of the rows under another definition."""
        table = self._standing(existing)
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            return judge_contents(self.graph.refresher, spark, table, defined)

    def judge(self, statement: CreateDynamicTable) -> ContentsVerdict:
        """What CREATE OR ALTER would do with the rows of the table; nothing is changed."""
        return self._judge(self.sources.catalog.require(statement.name), self.define(statement))

    def _finish_alter(self, before: DynamicTable, after: DynamicTable) -> None:
        self.apply_options(before, after)
        self.publisher.publish(after)

    def apply_options(self, before: DynamicTable, after: DynamicTable) -> None:
        """The tables behind it are as its options say; their past is kept no shorter than a stream
        or a sink on it needs."""
        days: float | None = None
        if before.retention_days != after.retention_days:
            days = after.retention_days or DEFAULT_DAYS
            days = max(days, *self._followed_days(after), 0)
        with self.sessions.lease(after.warehouse) as spark:
            apply_options(spark, self.sources, after, days)

    def _followed_days(self, table: DynamicTable) -> Iterator[int]:
        """For how long each stream and sink on it needs its past."""
        catalog = self.sources.catalog
        yield from (s.extension_days for s in catalog.streams() if table.id in s.frontier)
        yield from (RETENTION_DAYS for s in catalog.sinks() if s.source == table.name)

    def _row(self, statement: CreateDynamicTable, defined: Defined) -> DynamicTable:
        return DynamicTable(
            uuid.uuid4().hex,
            statement.name,
            defined.definition,
            statement.target_lag,
            statement.warehouse,
            statement.refresh_mode,
            defined.mode,
            defined.reason,
            statement.initialize,
            self.clock.now(),
            SchedulingState.ACTIVE,
            scheduler_enabled=statement.scheduler,
            cluster_by=statement.cluster_by,
            retention_days=statement.retention_days,
            alter_sources=statement.alter_sources,
            comment=statement.comment,
        )

    def _alter_sources(self, statement: CreateDynamicTable, defined: Defined) -> tuple[str, ...]:
        """The change feed turned on at the user's tables, where that is wanted and needed."""
        if defined.mode is not RefreshMode.INCREMENTAL or not statement.alter_sources:
            return ()
        notes = []
        for source in defined.definition.sources:
            if source.kind is SourceKind.DELTA and source.path is not None:
                if not self.sources.logs[source.path].metadata().feed:
                    with self.sessions.lease(statement.warehouse) as spark:
                        enable_feed(spark, self.sources.copies.place_of(source.path))
                    notes.append(
                        f"Turned the change data feed of {source.name} on "
                        "(ALTER_SOURCES = FALSE leaves sources as they are)."
                    )
                self._remember(source.name, source.table_id, source.path)
        return tuple(notes)

    def _remember(self, name: Name, table_id: str, path: str) -> None:
        if name.schema != "delta" and not self.sources.is_file_list(path):
            self.sources.catalog.record_table(name, table_id, path)

    def unalter(self, facts: Mapping[str, Any]) -> None:
        """The definition and the options that a table had; where rows of the new definition are
        committed, those that it was to have."""
        table = self._recovered(facts["id"])
        if table is None:
            return
        side = "before" if table.sequence == facts["sequence"] else "after"
        self._finish_alter(table, self.sources.catalog.reinstate(table.id, facts[side]))

    def _recovered(self, dt_id: str) -> DynamicTable | None:
        """The table with what its log has of refreshes whose process is gone; None where it is
        dropped."""
        catalog, path = self.sources.catalog, str(self.sources.layout.public(dt_id))
        table = catalog.by_id(dt_id)
        if table is None or table.dropped is not None:
            return None
        if is_delta(path):
            recover_table(catalog, self.sources.logs[path], table)
        return catalog.by_id(dt_id)

    def unmake(self, facts: Mapping[str, Any]) -> None:
        """A table that could not be made leaves no trace, and what it replaced is back."""
        dt_id, name = facts["id"], Name(*facts["name"])
        run_all(
            (
                lambda: self._forget(dt_id),
                lambda: self._bring_back(name, facts["replaced"]),
                lambda: self._publish_again(name),
                lambda: remove_folder(self.sources.layout.folder(dt_id)),
            )
        )

    def _forget(self, dt_id: str) -> None:
        catalog = self.sources.catalog
        row = catalog.by_id(dt_id)
        if row is not None and row.dropped is None:
            catalog.drop(row.name)
        catalog.purge(dt_id)

    def _bring_back(self, name: Name, replaced: str | None) -> None:
        catalog = self.sources.catalog
        row = catalog.by_id(replaced) if replaced is not None else None
        if row is not None and row.dropped is not None and catalog.get(name) is None:
            catalog.undrop(name)

    def _publish_again(self, name: Name) -> None:
        """The view of what bears the name now."""
        table = self.sources.catalog.get(name)
        if table is not None:
            self.publisher.publish(table)
        else:
            self.publisher.unpublish(name)


def making(table: DynamicTable, replaced: DynamicTable | None) -> StatementStep:
    """The step that makes a dynamic table, in the place of the one that it replaces."""
    name = [table.name.schema, table.name.table]
    return StatementStep(
        StepKind.DYNAMIC_TABLE_MADE,
        {"id": table.id, "name": name, "replaced": replaced and replaced.id},
    )


def _is_other(existing: DynamicTable, row: DynamicTable) -> bool:
    """Whether another definition was asked for."""
    old, new = (
        (d.query, d.columns, d.frozen.where if d.frozen else None)
        for d in (existing.definition, row.definition)
    )
    return (old, existing.mode) != (new, row.mode)


def _require_success(record: RefreshRecord | None) -> None:
    if record is not None and record.state is not RefreshState.SUCCEEDED:
        raise failure_of(record)
