"""CREATE SCHEMA … CLONE: the tables, views, dynamic tables and streams of a schema as one unit.

What reads within the schema reads the clones; what it reads outside stays. Each table is cloned at
the versions that the dynamic tables have read, and at the latest: where nothing has changed since,
their first refresh is NO_DATA, and else it is the change.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dt_jupyter.definition import DefinitionRequest
from dt_jupyter.engine.clone import CloneContents, Cloner
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.engine.unmade_tables import making
from dt_jupyter.lake import Cloned, clone_table, register
from dt_jupyter.model import (
    Definition,
    DTError,
    DynamicTable,
    Name,
    Named,
    Reason,
    RefreshMode,
    Source,
    Stream,
    ViewSource,
    count_of,
    error,
    name_taken,
    plain,
    quote,
)
from dt_jupyter.replay import vacuum_lock
from dt_jupyter.sources import Layout, Moment, Sources, name_of
from dt_jupyter.spark import RelationKind, lookup
from dt_jupyter.sql import (
    CreateAction,
    columns_by_schema,
    move_schema,
    relations_in,
    statement_values as S,
)
from dt_jupyter.streams import Points, StatementRecord, Streams


@dataclass(frozen=True)
class SchemaContents:
    """What a schema holds: base tables each with the version that is newest in the clone, views,
    dynamic tables with what their clones take over, streams."""

    tables: Mapping[Name, tuple[Source, int]]
    views: Mapping[Name, ViewSource]
    dynamic: Mapping[Name, tuple[DynamicTable, CloneContents | None]]
    streams: Sequence[Stream]

    def versions(self, table_id: str) -> frozenset[int]:
        """Those of a table that the dynamic tables have read."""
        found = (c.frontier.versions.get(table_id) for _, c in self.dynamic.values() if c)
        return frozenset(v for v in found if v is not None)

    def in_order(self) -> Iterator[Name]:
        """Views and dynamic tables, each after those that it reads."""
        reads = {n: _reads_of_view(v) for n, v in self.views.items()}
        reads |= {n: _reads_of_table(t, c) for n, (t, c) in self.dynamic.items()}
        waiting = list(reads)
        while waiting:
            ready = next((n for n in waiting if not reads[n] & set(waiting) - {n}), waiting[0])
            waiting.remove(ready)
            yield ready


def _reads_of_view(view: ViewSource) -> frozenset[Name]:
    return frozenset(name_of(parts, view.name.schema) for parts, _ in relations_in(view.text))


def _reads_of_table(table: DynamicTable, contents: CloneContents | None) -> frozenset[Name]:
    definition = contents.definition if contents else table.definition
    return frozenset(s.name for s in definition.sources) | {v.name for v in definition.views}


@dataclass
class SchemaCloner:
    """Clones one schema."""

    cloner: Cloner
    streams: Streams
    known_tables: Callable[[], Mapping[Name, str]]
    points: Points
    made: dict[str, Cloned] = field(default_factory=dict)

    @property
    def sources(self) -> Sources:
        return self.cloner.creator.sources

    @property
    def layout(self) -> Layout:
        return self.sources.layout

    def clone(self, statement: S.CloneSchema, at: Moment | None) -> str:
        """All or nothing; what was done. DT-1105, DT-1135, DT-1136, DT-41xx."""
        spark, old, new = self.sources.spark, statement.source, statement.name
        if not spark.catalog.databaseExists(quote(old)):
            raise error("DT-1136", name=old, hint="See SHOW SCHEMAS.")
        if spark.catalog.databaseExists(quote(new)):
            if statement.action is CreateAction.IF_NOT_EXISTS:
                return f"{new} already exists, nothing done."
            raise name_taken(Named.SCHEMA, new)
        text = f"CREATE SCHEMA {plain(new)} CLONE {plain(old)}"
        with self.cloner.creator.log.begin(text) as record:
            with vacuum_lock(self.layout):
                contents = self._contents(old, at)
                self._make(contents, new, record)
            for stream in contents.streams:
                self._stream(stream, old, new, record)
        return _said(old, new, contents, self._left(old))

    # -- what there is ----------------------------------------------------------------------------

    def _contents(self, schema: str, at: Moment | None) -> SchemaContents:
        catalog, cloner = self.sources.catalog, self.cloner
        dynamic = {}
        for table in catalog.list():
            if table.name.schema == schema:
                standing = cloner.refresher.standing(table)
                dynamic[table.name] = (standing, cloner.contents(standing, at))
        tables, views = dict[Name, tuple[Source, int]](), dict[Name, ViewSource]()
        for name in self._relations(schema):
            relation = lookup(self.sources.spark, name) if name not in dynamic else None
            if relation is None:
                continue
            if relation.kind is RelationKind.VIEW:
                views[name] = ViewSource(name, relation.text or "")
            else:
                tables[name] = self._table(name, schema, at)
        streams = [s for s in catalog.streams() if s.name.schema == schema]
        return SchemaContents(tables, views, dynamic, streams)

    def _relations(self, schema: str) -> list[Name]:
        rows = self.sources.spark.sql(f"SHOW TABLES IN {quote(schema)}").collect()
        return [Name(schema, r["tableName"]) for r in rows if not r["isTemporary"]]

    def _table(self, name: Name, schema: str, at: Moment | None) -> tuple[Source, int]:
        found = self.sources.source(name, name)
        if not isinstance(found, Source) or found.path is None or found.kind != "DELTA":
            problem = f"{name} is not a Delta table"
            raise error("DT-1135", name=schema, problem=problem, hint="Convert it, or drop it.")
        if self.sources.copies.holds(found.path):
            problem = f"{name} is on other storage, and a clone is made of hard links"
            raise error("DT-1135", name=schema, problem=problem, hint="Read it by its path.")
        if at is None:
            return found, self.sources.logs[found.path].version()
        return found, self.cloner.snapshots.versions([found], str(name), at)[found.table_id]

    def _left(self, schema: str) -> list[str]:
        """What acts on its own: a clone of it would act twice."""
        catalog = self.sources.catalog
        names = [s.name for s in catalog.sinks()] + [t.name for t in catalog.tasks()]
        return [str(name) for name in names if name.schema == schema]

    # -- what is made -----------------------------------------------------------------------------

    def _make(self, contents: SchemaContents, new: str, record: StatementRecord) -> None:
        record.will(StepKind.SCHEMA_MADE, schema=new)
        self.sources.spark.sql(f"CREATE DATABASE {quote(new)}")
        self.cloner.creator.publisher.part_folder(new)
        for name, (source, version) in contents.tables.items():
            versions = {version, *contents.versions(source.table_id)}
            self._clone_table(source, versions, Name(new, name.table), record)
        for name in contents.in_order():
            if name in contents.views:
                self._view(contents.views[name], new, record)
            else:
                self._dynamic_table(contents, name, new, record)

    def _clone_table(
        self, source: Source, versions: set[int], there: Name, record: StatementRecord
    ) -> None:
        assert source.path is not None
        folder, snapshots = self.layout.free(there), self.cloner.snapshots
        table_id, name = str(uuid.uuid4()), [there.schema, there.table]
        record.will(StepKind.TABLE_MADE, name=name, path=str(folder), table_id=table_id)
        try:
            made = clone_table(self.sources.logs[source.path], versions, folder, table_id=table_id)
        except FileNotFoundError as e:
            raise snapshots.past_retention(source, max(versions)) from e
        register(self.sources.spark, there, folder)
        self.sources.catalog.record_table(there, table_id, str(folder))
        self.made[source.table_id] = made

    def _view(self, view: ViewSource, new: str, record: StatementRecord) -> None:
        there = Name(new, view.name.table)
        text = _moved(view.text, view.name, new)
        record.will(StepKind.VIEW_MADE, name=[there.schema, there.table])
        self.sources.spark.sql(f"CREATE VIEW {there.sql} AS {text}")
        found = lookup(self.sources.spark, there)
        self.sources.catalog.record_view(there, found.text if found and found.text else text)

    def _dynamic_table(
        self, contents: SchemaContents, name: Name, new: str, record: StatementRecord
    ) -> None:
        original, taken = contents.dynamic[name]
        creator, catalog, there = self.cloner.creator, self.sources.catalog, Name(new, name.table)
        old = taken.definition if taken else original.definition
        definition = self._definition(original, old, there)
        if taken is not None:
            taken = self._moved_contents(contents, original, taken, definition)
        made = replace(self.cloner.row(original, there, taken, {}), definition=definition)
        if self._is_replaced(old, taken):
            made = replace(made, needs_reinit=Reason("SOURCE_REPLACED", "a source was replaced"))
        step = making(made, None)
        record.will(step.kind, **step.facts)
        catalog.create(made)
        if taken is not None:
            self.made[original.id] = replace(
                self.cloner.take_over(made, original, taken)[1], table_id=made.id
            )
        creator.publisher.publish(catalog.require(there))

    def _definition(self, original: DynamicTable, old: Definition, there: Name) -> Definition:
        """As it is analysed over the clones, which must come to the same columns and mode."""
        query = _moved(old.query, original.name, there.schema)
        schema = there.schema if old.current_schema == original.name.schema else old.current_schema
        full = original.effective_mode is RefreshMode.FULL
        mode = RefreshMode.FULL if full else original.mode
        request = DefinitionRequest(there, query, mode, old.listed, schema, old.frozen)
        creator = self.cloner.creator
        try:
            with creator.sessions.lease(original.warehouse, old.settings) as spark:
                spark.sql(f"USE {quote(schema)}")
                defined = creator.definer.define(spark, request, old.settings, verify=False)
        except DTError as e:
            raise _refused(original.name, f"its query fails there ({e.sentence})") from e
        if (defined.mode, defined.definition.columns) != (original.effective_mode, old.columns):
            raise _refused(original.name, "its query has other columns or another mode there")
        return defined.definition

    def _moved_contents(
        self,
        contents: SchemaContents,
        original: DynamicTable,
        taken: CloneContents,
        definition: Definition,
    ) -> CloneContents:
        moved: dict[str, tuple[str, int]] = {}
        for source in taken.definition.sources:
            made, version = self.made.get(source.table_id), taken.frontier.versions
            if made is not None and source.table_id in version:
                moved[source.table_id] = (made.table_id, made.versions[version[source.table_id]])
        earlier = contents.versions(original.id) - {taken.version}
        return replace(taken, definition=definition, sources=moved, earlier=earlier)

    def _is_replaced(self, old: Definition, taken: CloneContents | None) -> bool:
        """Whether a source is another table than the one that the rows are of."""
        if taken is None:
            return False
        known = taken.frontier_of_clone.versions
        return any(s.table_id not in known for s in taken.definition.sources if s.kind != "FOREIGN")

    def _stream(self, stream: Stream, old: str, new: str, record: StatementRecord) -> None:
        source = stream.source
        there = Name(new, source.table) if source.schema == old else source
        made = S.CreateStream(
            Name(new, stream.name.table),
            S.StreamSource(stream.kind.replace("_", " ")),
            there,
            append_only=stream.append_only,
            show_initial_rows=stream.initial,
            comment=stream.comment,
            extension_days=stream.extension_days,
        )
        stream_id = uuid.uuid4().hex
        record.will(StepKind.STREAM_MADE, id=stream_id)
        self.streams.create(made, self.points, stream_id)


def _moved(text: str, name: Name, new: str) -> str:
    """DT-1135 where a column is named by its schema too."""
    column = columns_by_schema(text, name.schema)
    if column is not None:
        raise _refused(name, f"its query names the column {column} by its schema")
    return move_schema(text, name.schema, new)


def _refused(name: Name, problem: str) -> DTError:
    hint = "Change or drop it first; CREATE DYNAMIC TABLE … CLONE clones one alone."
    return error("DT-1135", name=name.schema, problem=f"{name}: {problem}", hint=hint)


def _said(old: str, new: str, contents: SchemaContents, acting: list[str]) -> str:
    parts = (
        count_of(len(contents.tables), "table"),
        count_of(len(contents.views), "view"),
        count_of(len(contents.dynamic), "dynamic table"),
        count_of(len(contents.streams), "stream"),
    )
    left = f" Not cloned: {', '.join(acting)}." if acting else ""
    return f"Schema {new} cloned from {old}: {', '.join(parts)}.{left}"


__all__ = ["SchemaCloner"]
