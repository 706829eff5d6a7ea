"""Creating, altering, cloning and dropping dynamic tables: all or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from dt_jupyter.definition import (
    DEFAULT_DAYS,
    Defined,
    Definer,
    DefinitionRequest,
    apply_options,
    require_clusterable,
)
from dt_jupyter.engine.created import (
    TAKEN_IN_PYTHON,
    Announce,
    Created,
    options_of,
    say_nothing,
    schema_words,
    standing_definition,
)
from dt_jupyter.engine.definition_changes import (
    describe_definition,
    describe_options,
    describe_replacement,
    find_differences,
    rows_words,
    standing_notes,
    with_unsaid,
)
from dt_jupyter.engine.dependents import find_dependents
from dt_jupyter.engine.frozen_regions import (
    Regions,
    renamed_columns,
    require_keepable,
    with_region,
)
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.rights.spark_rights import SparkRights
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.engine.unmade_tables import making
from dt_jupyter.engine.upstream_refresh import Graph, failure_of
from dt_jupyter.lake import enable_feed, is_delta
from dt_jupyter.model import (
    Clock,
    DTError,
    DynamicTable,
    FrozenRegion,
    Initialize,
    Name,
    Named,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    SourceKind,
    StatementStep,
    Timestamp,
    name_taken,
)
from dt_jupyter.refresh import (
    ContentsVerdict,
    Derivable,
    KeptContents,
    derive_contents,
    judge_contents,
    recover_table,
    use_schema,
)
from dt_jupyter.reports import PlannedChange
from dt_jupyter.sources import Publisher, Sources, require_free
from dt_jupyter.spark import RefreshSessions, check_cancelled, meaning, type_text
from dt_jupyter.sql import CreateAction, CreateDynamicTable
from dt_jupyter.streams import RETENTION_DAYS, StatementLog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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

    @property
    def _schema(self) -> str:
        return self.spark.catalog.currentDatabase().lower()

    def define(
        self, statement: CreateDynamicTable, schema: str | None = None, *, verify: bool = True
    ) -> Defined:
        """The definition of a statement, analysed and, with `verify`, checked on rows; creates
        nothing. Bare names are those of `schema`, or of the session's. DT-52xx for what the
        session's role may not run: by Spark's plan of the query, as far as the text is understood,
        and by what the definition came to read."""
        schema = schema or self._schema
        self.sources.catalog.warehouse(statement.warehouse)
        self._require_read(statement.query, schema)
        if statement.backfill is not None:
            self.access.require_read(statement.backfill)
        settings = meaning(self.spark)
        request = DefinitionRequest(
            statement.name,
            statement.query,
            statement.refresh_mode,
            statement.columns,
            schema,
            self.regions.asked(statement),
            statement.parameters,
        )
        with self.sessions.lease(statement.warehouse, settings) as spark:
            spark.sql(f"USE `{request.schema}`")
            self.require_plan(spark, statement.query)
            self._require_condition(spark, request.frozen)
            try:
                defined = self.definer.define(spark, request, settings, verify=verify)
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

    def _require_read(self, query: str, schema: str) -> None:
        self.access.require_query(query, schema)

    def create(self, statement: CreateDynamicTable, announce: Announce = say_nothing) -> Created:
        """CREATE [OR REPLACE|OR ALTER] DYNAMIC TABLE: registers, initialises, publishes.

        A failure leaves everything as it was, the replaced table included. `announce` hears what
        changes of a table that is there.
        """
        catalog = self.sources.catalog
        existing = self.existing(statement.name, statement.action)
        if existing is not None and statement.action is CreateAction.IF_NOT_EXISTS:
            return Created(existing, None, None, f"{statement.name} already exists, nothing done.")
        if existing is not None and statement.action is not CreateAction.REPLACE:
            return self._alter(existing, with_unsaid(existing, statement), announce)
        defined = self.define(statement)
        check_cancelled()
        change = None
        if existing is not None:
            change = self.compare(existing, statement, defined)
            announce(change)
        notes = self._alter_sources(statement, defined)
        table, schema = self._row(statement, defined), self.publisher.new_schema(statement.name)
        making_it = making(table, existing, schema)
        with self.log.begin(f"CREATE DYNAMIC TABLE {table.name}", making_it):
            self.register(table, existing)
            check_cancelled()
            record = self._initialise(table)
            _require_success(record, "creation")
        made = "replaced" if existing else "created"
        return Created(
            catalog.require(statement.name),
            defined,
            record,
            f"Dynamic table {statement.name} {made}{schema_words(schema)}.",
            notes,
            change,
        )

    def compare(
        self,
        existing: DynamicTable,
        statement: CreateDynamicTable,
        defined: Defined | None,
        schema: str | None = None,
        verdict: ContentsVerdict | None = None,
    ) -> PlannedChange:
        """What a statement would change of a table that is there, by its definition: None where
        its text is the table's. `verdict` says whether the rows are kept, if that is known."""
        differs = find_differences(existing, statement, schema or self._schema)
        same = defined is None or defined.definition.columns == existing.definition.columns
        replaces = statement.action is CreateAction.REPLACE
        if defined is None or (same and not differs.definition and not replaces):
            return describe_options(existing, differs.options)
        new = defined.definition
        below = find_dependents(self.sources.catalog, {existing.name}, self.access.sees)
        if replaces:
            return describe_replacement(existing, new, differs.all, below)
        rows = rows_words(verdict or self._judge(existing, defined))
        return describe_definition(existing, new, differs.all, below, rows)

    def existing(self, name: Name, action: CreateAction) -> DynamicTable | None:
        """The dynamic table that has the name of one to be created. DT-1105 where it is in the
        way, or something else is."""
        existing = self.sources.catalog.get(name)
        if existing is not None and action is CreateAction.CREATE:
            raise name_taken(Named.DYNAMIC_TABLE, name)
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
        _require_success(record, "creation")
        return record

    def _initialise(self, table: DynamicTable) -> RefreshRecord | None:
        if table.initialize is Initialize.ON_SCHEDULE:
            return None
        return self.graph.initialise(table)

    def _alter(
        self, existing: DynamicTable, statement: CreateDynamicTable, announce: Announce
    ) -> Created:
        """CREATE OR ALTER: options change in place; another query gives the rows that the table
        has, others that are derived from them, or computes them."""
        differs = find_differences(existing, statement, self._schema)
        if not differs.definition and self._gives_columns(existing, statement.query):
            return self._set_options(existing, statement, announce)
        if statement.action is CreateAction.UNCHANGED:
            raise name_taken(Named.DYNAMIC_TABLE, existing.name, TAKEN_IN_PYTHON)
        defined = self.define(statement)
        same_columns = existing.definition.columns == defined.definition.columns
        if not differs.definition and same_columns:
            return self._set_options(existing, statement, announce)
        defined = self._renamed(existing, defined)
        verdict = self._judge(existing, defined)
        change = self.compare(existing, statement, defined, verdict=verdict)
        announce(change)
        check_cancelled()
        notes = self._alter_sources(statement, defined)
        row = self._row(statement, defined)
        made = self._redefine(existing, row, defined, verdict, options_of(row))
        return replace(made, notes=(*notes, *made.notes), change=change)

    def _set_options(
        self, existing: DynamicTable, statement: CreateDynamicTable, announce: Announce
    ) -> Created:
        change = self.compare(existing, statement, None)
        if not change:
            announce(change)
            notes = tuple(standing_notes(existing, meaning(self.spark)))
            status = f"Dynamic table {existing.name} is unchanged."
            return Created(existing, None, None, status, notes, change)
        if statement.action is CreateAction.UNCHANGED:
            raise name_taken(Named.DYNAMIC_TABLE, existing.name, TAKEN_IN_PYTHON)
        self.sources.catalog.warehouse(statement.warehouse)
        require_clusterable(existing.definition, statement.cluster_by)
        announce(change)
        defined = standing_definition(existing)
        notes = self._alter_sources(statement, defined)
        table = self.set_options(existing, options_of(self._row(statement, defined)))
        status = f"Dynamic table {existing.name} altered."
        return Created(table, defined, None, status, notes, change)

    def _gives_columns(self, table: DynamicTable, query: str) -> bool:
        """Whether a query with the text of the table's still gives its columns: `*` follows the
        sources; False where only defining it shows that."""
        definition = table.definition
        with self.sessions.lease(table.warehouse, definition.settings) as spark:
            use_schema(spark, definition)
            try:
                fields = spark.sql(query).schema.fields
            except PySparkException:
                return False
        names = definition.query_columns or tuple(n for n, _, _ in definition.columns)
        known = zip(names, (t for _, t, _ in definition.columns), strict=True)
        return [(f.name, type_text(f.dataType)) for f in fields] == list(known)

    def _redefine(
        self,
        existing: DynamicTable,
        row: DynamicTable,
        defined: Defined,
        verdict: ContentsVerdict,
        common: Mapping[str, object],
    ) -> Created:
        """The definition and the modes of `row` for the table, with its rows kept, derived or
        computed; again where a refresh is in its way, or has moved the rows since they were
        judged."""
        catalog, name = self.sources.catalog, existing.name
        modes = ("definition", "mode", "effective_mode", "mode_reason")
        changes = {**{field: getattr(row, field) for field in modes}, **common}

        def attempt() -> Created:
            now = catalog.by_id(existing.id) or catalog.require(name)
            judged = verdict if now == existing else self._judge(now, defined)
            with self.log.begin(f"ALTER DYNAMIC TABLE {name}", self._altering(now, changes)):
                record, said = self._change_rows(now, row, defined, changes, judged)
                table = catalog.require(now.name)
                self._finish_alter(now, table)
            return Created(table, defined, record, f"Dynamic table {name} altered{said}.")

        return self.graph.repeat(attempt)

    def _change_rows(
        self,
        existing: DynamicTable,
        row: DynamicTable,
        defined: Defined,
        changes: Mapping[str, object],
        verdict: ContentsVerdict,
    ) -> tuple[RefreshRecord | None, str]:
        """The refresh that it took, and whether the rows were kept."""
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
        _require_success(record, "change")
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

    def set_options(self, table: DynamicTable, options: Mapping[str, object]) -> DynamicTable:
        """ALTER … SET and UNSET: in the catalog, and in the tables behind it."""
        facts = self._altering(table, options).facts
        before, after = facts["before"], facts["after"]
        changed = [column for column in after if before[column] != after[column]]
        sides = {"before": before, "after": after}
        sides = {side: {c: columns[c] for c in changed} for side, columns in sides.items()}
        altering = StatementStep(StepKind.DYNAMIC_TABLE_ALTERED, {**facts, **sides})
        with self.log.begin(f"ALTER DYNAMIC TABLE {table.name}", altering):
            altered = self.sources.catalog.update(table.id, **options)
            self.apply_options(table, altered)
        return altered

    def freeze(self, table: DynamicTable, where: str | None) -> Created:
        """ALTER … SET or UNSET FROZEN WHERE: rows that were frozen and are not any more are
        recomputed. DT-1139, DT-1140."""
        definition = with_region(table, where)
        defined = replace(standing_definition(table), definition=definition)
        with self.sessions.lease(table.warehouse, definition.settings) as spark:
            self._require_condition(spark, definition.frozen)
            self.definer.require_region(spark, table.name, definition)
            if table.effective_mode is RefreshMode.INCREMENTAL and table.frontier is not None:
                require_keepable(self.definer, spark, table, definition)
        verdict = self._judge(table, defined)
        return self._redefine(table, replace(table, definition=definition), defined, verdict, {})

    def _renamed(self, existing: DynamicTable, defined: Defined) -> Defined:
        """With the columns that the statement renames, by which frozen rows are found."""
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
        """Whether the rows are kept under another definition."""
        table = self._standing(existing)
        with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
            return judge_contents(self.graph.refresher, spark, table, defined)

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


def _require_success(record: RefreshRecord | None, work: str) -> None:
    """The failure of a refresh as one of the statement's `work`, which is undone."""
    if record is None or record.state is RefreshState.SUCCEEDED:
        return
    failure = failure_of(record)
    raise failure.but(work=work) if failure.code == "DT-2105" else failure
