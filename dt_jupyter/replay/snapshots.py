"""Snapshots: what a name or a query reads at a point in time, resolved once, and its text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.ivm import Refused
from dt_jupyter.lake import (
    LiveFiles,
    Metadata,
    TableGone,
    TableLog,
    VersionGone,
    is_delta,
    mark_of,
    open_log,
    paths_of,
    snapshot_sql,
)
from dt_jupyter.model import (
    DTError,
    Name,
    ReadAt,
    Source,
    SourceKind,
    Timestamp,
    ViewSource,
    count_of,
    error,
)
from dt_jupyter.model.hidden import public_rows
from dt_jupyter.replay.schema_modes import Projected, as_it_was, as_now, same_columns, select_list
from dt_jupyter.sources import (
    OWN_SCHEMA,
    Found,
    Moment,
    Resolver,
    Sources,
    name_of,
    no_versions,
    pinned,
    whole_micro,
)
from dt_jupyter.spark import HELD, analyse_now, confs
from dt_jupyter.sql import SchemaMode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOBODY = Name(OWN_SCHEMA, "snapshot")


def whole(name: Name) -> str:
    """The query of all that a table, view or dynamic table holds."""
    return f"SELECT * FROM {name.sql}"


@dataclass(frozen=True)
class TableAt:
    """A table as it is read: a version, in the table's own folder or in a copy that was pinned."""

    source: Source
    version: int
    folder: Path
    then: Metadata
    now: Metadata

    def columns(self, mode: SchemaMode) -> tuple[Projected, ...]:
        """Its public columns. DT-4105 where a value of then has no form now."""
        if mode is SchemaMode.CURRENT:
            return as_now(self.then, self.now, self.source.name)
        return as_it_was(self.then)

    def sql(self, mode: SchemaMode) -> str:
        """A parenthesised SELECT of its public rows."""
        return rows_sql(self, snapshot_sql(self.folder, self.version), mode)


def rows_sql(table: TableAt, relation: str, mode: SchemaMode) -> str:
    """The public rows of a relation that has the columns of the table then."""
    return public_rows(relation, table.then.columns, select_list(table.columns(mode)))


@dataclass(frozen=True)
class Snapshot:
    """A query at a point: every table that it reads, views looked through, by id.

    `data_time` is the time at which its rows are those of the query: a dynamic table's data
    timestamp, else the time that was requested, or that of the newest commit among its tables.
    """

    subject: str
    query: str
    schema: str
    tables: Mapping[str, TableAt]
    sources: Mapping[Name, Source]
    views: Mapping[Name, ViewSource]
    reads: tuple[ReadAt, ...]
    data_time: Timestamp

    @property
    def versions(self) -> dict[str, int]:
        return {id_: t.version for id_, t in self.tables.items()}

    @property
    def only(self) -> TableAt | None:
        """The one table that it is all of; None for a view or another query."""
        if len(self.sources) != 1 or self.views or self.query != whole(next(iter(self.sources))):
            return None
        return next(iter(self.tables.values()))

    def same_columns(self, earlier: Snapshot) -> dict[str, str] | None:
        """The columns of a table that it had in an earlier snapshot, old name to new; None for
        another query, whose columns have the names that it gives them."""
        old, new = earlier.only, self.only
        return same_columns(old.then, new.then) if old is not None and new is not None else None

    def sql(self, mode: SchemaMode = SchemaMode.SNAPSHOT_TIME) -> str:
        """The query with each table replaced by its rows then; DT-1001 where one cannot be."""

        def relation(parts: tuple[str, ...]) -> str:
            return self.tables[self.sources[name_of(parts, self.schema)].table_id].sql(mode)

        def view(parts: tuple[str, ...]) -> str | None:
            known = self.views.get(name_of(parts, self.schema))
            return known.text if known else None

        try:
            return pinned(self.query, relation, view)
        except Refused as e:
            raise error("DT-1001", problem=e.reason.sentence, hint=e.hint) from e


@dataclass(frozen=True)
class Snapshots:
    """Resolves snapshots in the session `spark`."""

    spark: SparkSession
    sources: Sources
    now: Callable[[], Timestamp]
    _live: dict[str, LiveFiles] = field(default_factory=dict)

    def of(self, query: str, schema: str, name: str, at: Moment) -> Snapshot:
        """A query at a point, called `name` in errors.

        Raises DT-1101, DT-3106, DT-4101 to DT-4104.
        """
        found = self.sources.of_query(query, schema, NOBODY)
        bases = self.bases(query, schema, found)
        versions = self.versions(bases, name, at)
        tables = {s.table_id: self.table(s, versions[s.table_id]) for s in bases}
        asked = at.time if at.time is not None and not at.before else None
        reads = tuple(self.read_at(s, versions[s.table_id], asked) for s in bases)
        return Snapshot(
            name,
            query,
            schema,
            tables,
            dict(found.sources),
            dict(found.views),
            reads,
            data_time(reads, asked) or self.now(),
        )

    def at_versions(
        self,
        query: str,
        schema: str,
        name: str,
        versions: Mapping[str, int],
        folders: Mapping[str, Path],
    ) -> Snapshot:
        """A query over given versions of its tables, by id, read in these folders."""
        found = self.sources.of_query(query, schema, NOBODY)
        tables, reads = {}, []
        for source in self.bases(query, schema, found):
            id_ = source.table_id
            log = open_log(folders[id_])
            now = self.log(source).metadata()
            tables[id_] = TableAt(
                source, versions[id_], folders[id_], log.metadata(versions[id_]), now
            )
            reads.append(self.read_at(source, versions[id_]))
        return Snapshot(
            name,
            query,
            schema,
            tables,
            dict(found.sources),
            dict(found.views),
            tuple(reads),
            data_time(tuple(reads), None) or self.now(),
        )

    def bases(self, query: str, schema: str, found: Found | None = None) -> tuple[Source, ...]:
        """The tables that a query reads in the end, each once; DT-3106 for one without versions."""
        found = found or self.sources.of_query(query, schema, NOBODY)
        sources = found.sources.values()
        bases = {s.table_id: s for s in sources}
        for source in bases.values():
            self.log(source)
        return tuple(bases.values())

    def versions(self, bases: Sequence[Source], name: str, at: Moment) -> dict[str, int]:
        """The version of each table at a point, by id. DT-4101 to DT-4103."""
        resolver = Resolver(self.sources.catalog, self.now())
        self.sources.publications.await_end()
        return resolver.versions([(s, self.log(s)) for s in bases], name, at)

    def log(self, source: Source) -> TableLog:
        """The log of a Delta table; DT-3106 for what is none."""
        if source.kind is SourceKind.FOREIGN or source.path is None:
            raise no_versions(source.name)
        return self.sources.logs[source.path]

    def table(self, source: Source, version: int) -> TableAt:
        """A version of a table, all of whose files are there: in its folder, or in a copy.
        DT-4104 where they are gone."""
        log = self.log(source)
        folder = self._whole(source, log, version)
        return TableAt(source, version, folder, log.metadata(version), log.metadata())

    def frame(self, snapshot: Snapshot, mode: SchemaMode = SchemaMode.SNAPSHOT_TIME) -> DataFrame:
        with confs(self.spark, HELD):
            return analyse_now(self.spark.sql(snapshot.sql(mode)))

    def read_at(self, source: Source, version: int, asked: Timestamp | None = None) -> ReadAt:
        """When the rows of a version are those of the table; of a dynamic table its newest data
        timestamp that was requested, or that it has."""
        log = self.log(source)
        if source.kind is SourceKind.DYNAMIC_TABLE:
            t = self._data_timestamp(source, log, version, asked)
            return ReadAt(str(source.name), source.kind, version, t, None, source.table_id)
        until = log.commit_time(version + 1) if version < log.version() else None
        since = log.commit_time(version)
        return ReadAt(str(source.name), source.kind, version, since, until, source.table_id)

    def _data_timestamp(
        self, source: Source, log: TableLog, version: int, asked: Timestamp | None
    ) -> Timestamp:
        catalog = self.sources.catalog
        newest = catalog.newest_at(source.table_id, whole_micro(asked)) if asked else None
        if newest is not None and newest[1] == version:
            return newest[0]
        known = catalog.time_of(source.table_id, version)
        if known is not None:
            return known
        told = mark_of(log.user_metadata(version)).get("data_ts")
        return Timestamp.parse(told) if told else log.commit_time(version)

    def live(self, path: str | Path) -> LiveFiles:
        """The files of a table at its versions."""
        return self._live.setdefault(str(path), LiveFiles(path))

    def gone(self, log: TableLog, version: int) -> list[str]:
        """The files of a version that are not there any more. Those of the newest version are
        not looked for: no VACUUM takes them."""
        newest = log.version()
        if version == newest:
            return []
        live = self.live(log.path)
        kept = {p for a in live.at(newest) for p in paths_of(a)}
        named = {p for a in live.at(version) for p in paths_of(a)} - kept
        return sorted(p for p in named if not log.has_file(p))

    def _whole(self, source: Source, log: TableLog, version: int) -> Path:
        try:
            gone = self.gone(log, version)
        except VersionGone:
            gone = ["its log"]
        if not gone:
            return log.path
        for copy in self.other_copies(source.table_id, version, version):
            return copy.path
        raise self.past_retention(source, version)

    def other_copies(self, table_id: str, first: int, last: int) -> Iterator[TableLog]:
        """The copies that pins and replays made of these versions."""
        for hold in self.sources.catalog.holds():
            for table in hold.tables:
                covers = table.covers(table_id, first) and table.covers(table_id, last)
                if covers and table.copy is not None and is_delta(table.copy):
                    yield TableLog(table.copy)

    def past_retention(self, source: Source, version: int) -> DTError:
        """DT-4104 for a version whose files are gone, with the oldest that is whole."""
        log = self.log(source)
        try:
            gone = count_of(len(self.gone(log, version)), "file")
        except VersionGone:
            gone = "all files"
        except TableGone:
            return error("DT-1101", name=source.name, hint="Its folder does not exist.")
        oldest = self.oldest_whole(log, max(version, log.oldest()))
        return error(
            "DT-4104",
            name=source.name,
            version=version,
            gone=gone,
            oldest=f"version {oldest} of {log.commit_time(oldest).words}",
        )

    def oldest_retained(self, source: Source) -> tuple[Timestamp, int]:
        """The oldest version that can be read, and its time; of a dynamic table the oldest that
        was refreshed, at its first data timestamp."""
        log = self.log(source)
        oldest = self.oldest_whole(log)
        if source.kind is SourceKind.DYNAMIC_TABLE:
            for t, version in self.sources.catalog.versions(source.table_id):
                if version >= oldest:
                    return t, version
        return log.commit_time(oldest), oldest

    def oldest_whole(self, log: TableLog, low: int | None = None) -> int:
        """The boundary of retention: from there on every version can be read. A later version
        keeps what an earlier one keeps of what there is now, so it is found by halving."""
        low, high = log.oldest() if low is None else low, log.version()
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self.gone(log, middle) else (low, middle)
        return high


def data_time(reads: tuple[ReadAt, ...], asked: Timestamp | None) -> Timestamp | None:
    """The time whose state the rows show: of a dynamic table alone its data timestamp."""
    if len(reads) == 1 and reads[0].kind is SourceKind.DYNAMIC_TABLE:
        return reads[0].since
    return asked or max((r.since for r in reads), default=None)
