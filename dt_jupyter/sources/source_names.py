"""The names in a query and what they refer to: Delta tables, dynamic tables, views."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.catalog import Catalog
from dt_jupyter.lake import (
    CopiedLog,
    ListReader,
    TableGone,
    TableLog,
    hadoop_path,
    is_delta,
    open_log,
    register,
)
from dt_jupyter.model import (
    Definition,
    DTError,
    DynamicTable,
    Name,
    Named,
    Source,
    SourceKind,
    Span,
    ViewSource,
    count_of,
    did_you_mean,
    error,
    is_word,
    quote,
)
from dt_jupyter.sources.copied_tables import CopiedTables
from dt_jupyter.sources.file_tables import (
    FileTable,
    of_path,
    of_relation,
    record_table,
)
from dt_jupyter.sources.folders import Layout
from dt_jupyter.sources.follow_files import FileSource
from dt_jupyter.sources.publications import Publications
from dt_jupyter.spark import (
    FILE_FORMATS,
    CatalogRelation,
    RelationKind,
    is_connect,
    listed,
    lookup,
    qualify_text,
    storage_of,
)
from dt_jupyter.sql import require_one_query, resolve_identifiers, table_places

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DEPTH = 50
_ONE_QUERY = "Write one query: SELECT …, WITH …, VALUES … or FROM …."
OWN_SCHEMA = "__dt"
"""Of names of readers that are not dynamic tables."""
UNKNOWN = Name("unknown", "sources")
"""What a query reads that is not known by name: it has no versions."""


class Logs:
    """One log reader for each table folder, kept for the life of the engine."""

    def __init__(self, copies: CopiedTables) -> None:
        self.copies = copies
        self._logs: dict[str, TableLog] = {}
        self._lists: dict[str, ListReader] = {}
        self._lock = threading.Lock()

    def __getitem__(self, path: str) -> TableLog:
        with self._lock:
            known = self._logs.get(path)
            if known is None:
                copied = self.copies.open(path) if self.copies.holds(path) else None
                known = self._logs[path] = copied or open_log(path)
            return known

    def keep(self, path: str, log: TableLog) -> TableLog:
        """The reader of a folder: this one, where there was none."""
        with self._lock:
            return self._logs.setdefault(path, log)

    def lists(self, path: str) -> ListReader:
        """Of the recorded list of files whose log is there."""
        log = self[path]
        with self._lock:
            return self._lists.setdefault(path, ListReader(log))


def _no_table(name: Name, path: str) -> DTError:
    return error("DT-1101", name=name, hint=f"There is no Delta table at {path}.")


def name_of(parts: tuple[str, ...], schema: str) -> Name:
    """A table's name from its parts as written; the catalog's part is dropped. DT-1101 for what
    can be no name, as two backquotes with nothing between."""
    if not all(parts) or "\0" in "".join(parts):
        hint = "A name has at least one character, and no NUL."
        raise error("DT-1101", name=".".join(map(quote, parts)), hint=hint)
    return Name(parts[-2] if len(parts) > 1 else schema, parts[-1])


@contextmanager
def _at(query: str, span: Span | None) -> Iterator[None]:
    """An error about a name is placed where the query has it."""
    try:
        yield
    except DTError as e:
        if span is None or e.query is not None:
            raise
        raise e.at(query, span) from e


def _reads_stream(of: Name, stream: Name, source: Name) -> DTError:
    if of.schema != OWN_SCHEMA:
        return error("DT-1123", name=of, stream=stream, source=source)
    hint = f"Read {source}, its source, instead: only queries read a stream."
    return error("DT-1109", name=stream, kind="stream", expected="table or view", hint=hint)


@dataclass
class Found:
    """What the names of one query came to, each once."""

    sources: dict[Name, Source] = field(default_factory=dict)
    views: dict[Name, ViewSource] = field(default_factory=dict)


@dataclass(frozen=True)
class Sources:
    """Finds what a name means, in the catalog of dynamic tables first, then in Spark's; to a
    refresh, which runs in a separate session, the `temporary` views of the user's do not exist.
    What is defined new `infers` the columns of files by their path as they are now."""

    spark: SparkSession
    catalog: Catalog
    layout: Layout
    logs: Logs
    temporary: bool = True
    infers: bool = False
    look_up: Callable[..., CatalogRelation | None] = lookup
    known_bases: dict[tuple[Name, bool], Source | ViewSource] | None = field(
        default=None, compare=False
    )

    @property
    def inferring(self) -> Sources:
        """The same for what is defined new."""
        return replace(self, infers=True)

    @property
    def lasting(self) -> Sources:
        """The same without temporary views."""
        return replace(self, temporary=False)

    @property
    def asking_once(self) -> Sources:
        """The same, which asks Spark's catalog once for each name, and finds a table or a view of
        it once."""
        return replace(self, look_up=cache(self.look_up), known_bases={})

    @cached_property
    def publications(self) -> Publications:
        """What a reader of several tables at one time waits for."""
        return Publications(self.catalog)

    def of_query(self, query: str, schema: str, of: Name, *, placed: bool = False) -> Found:
        """All sources and views of a query, views looked through. `placed`: what is wrong with a
        name is raised with its place, as the text is a user's.

        Raises DT-1001 for a text that is not one query, which would be run where it is analysed,
        DT-1101 for an unknown name, DT-1106 for `of` itself, DT-1110 for a temporary view.
        """
        require_one_query(query, _ONE_QUERY)
        found = Found()
        self._collect(query, schema, of, found, 0, placed)
        return found

    def _collect(
        self, query: str, schema: str, of: Name, found: Found, depth: int, placed: bool
    ) -> None:
        for parts, start, end, _ in table_places(query):
            name = name_of(parts, schema)
            if name in found.sources or name in found.views:
                continue
            if name == of:
                raise error("DT-1106", name=of, path=f"{of} → {of}")
            with _at(query, Span(start, end) if placed else None):
                source = self.source(name, of, parts[-1])
            if isinstance(source, Source):
                found.sources[name] = source
                continue
            if depth > _DEPTH:
                raise error("DT-1004", what="deeply nested", size="more", limit=f"{_DEPTH} views")
            found.views[name] = source
            self._collect(source.text, schema, of, found, depth + 1, False)

    def source(
        self,
        name: Name,
        of: Name,
        written: str | None = None,
        *,
        tables: Mapping[Name, DynamicTable] | None = None,
    ) -> Source | ViewSource:
        """What `name` is; DT-1101 if it is nothing, DT-1123 if it is a stream; for another
        reader than a dynamic table it is DT-1109. `tables`: the dynamic tables of that name,
        where they were read already."""
        if name.schema == "delta":
            path = qualify_text(self.spark, written or name.table)
            return self._delta(name, path if storage_of(path) else str(hadoop_path(path)))
        table = self.catalog.get(name) if tables is None else tables.get(name)
        if table is not None:
            return Source(
                name, SourceKind.DYNAMIC_TABLE, table.id, str(self.layout.public(table.id))
            )
        if self.known_bases and (name, self.temporary) in self.known_bases:
            return self.known_bases[name, self.temporary]
        relation = self.look_up(self.spark, name, temporary=self.temporary) or self._learnt(name)
        if relation is None and (stream := self.catalog.find_stream(name)) is not None:
            raise _reads_stream(of, name, stream.source)
        if relation is None and name.schema in FILE_FORMATS:
            return self._path(name, written or name.table, of)
        if relation is None and (waiting := self._waiting_view(name)) is not None:
            return waiting
        if relation is None:
            raise self.quarantined(str(name)) or error(
                "DT-1101", name=name, hint=did_you_mean(str(name), self.known())
            )
        if relation.kind is RelationKind.TEMPORARY_VIEW:
            raise error("DT-1110", name=of, view=name)
        if relation.kind is RelationKind.VIEW:
            text = resolve_identifiers(relation.text or "", strict=False)
            return self._keep(ViewSource(name, text))
        if relation.provider == "delta" and relation.location:
            return self._keep(self._delta(name, self._own(name, relation.location)))
        found = Source(name, SourceKind.FOREIGN, str(name), relation.location)
        return self._listed(found, of_relation(name, relation, self._zone), of)

    def _keep(self, found: Source | ViewSource) -> Source | ViewSource:
        """What is known from now on, where each name is requested once."""
        if self.known_bases is not None:
            self.known_bases[found.name, self.temporary] = found
        return found

    def _learnt(self, name: Name) -> CatalogRelation | None:
        """A table that another process has made, or has given another name, since this session
        learnt the names of the lake."""
        if self.quarantined(str(name)) is not None:
            return None
        path = next((t.path for t in self.catalog.tables() if t.name == name), None)
        if path is None or not (is_word(name.schema) and is_word(name.table) and is_delta(path)):
            return None
        register(self.spark, name, self.copies.place_of(path))
        return lookup(self.spark, name)

    def _waiting_view(self, name: Name) -> ViewSource | None:
        """To a refresh a view that the session cannot know, since what it reads is gone, is what
        it was: the refresh then finds what is gone."""
        if self.temporary or self.catalog.quarantine.find(name, Named.VIEW) is None:
            return None
        return next((view for view in self.catalog.views() if view.name == name), None)

    @property
    def _zone(self) -> str:
        return str(self.spark.conf.get("spark.sql.session.timeZone"))

    def _path(self, name: Name, written: str, of: Name) -> Source:
        found = Source(name, SourceKind.FOREIGN, str(name), written)
        if self.infers:
            return found
        return self._kept(name, of) or self._listed(found, self._of_path(name, written), of)

    def _kept(self, name: Name, of: Name) -> Source | None:
        """The list that a dynamic table reads already, whatever other lists there are of its
        path."""
        table = self.catalog.get(of)
        for source in table.definition.sources if table is not None else ():
            if source.name == name and source.path and self.file_source(source) is not None:
                return self._recorded(name, Path(source.path)) if is_delta(source.path) else None
        return None

    def _of_path(self, name: Name, written: str) -> FileTable | None:
        path = qualify_text(self.spark, written)
        return of_path(name, path, self._zone, connect=is_connect(self.spark))

    def _listed(self, source: Source, table: FileTable | None, of: Name) -> Source:
        """The log of the recorded list, to a dynamic table; other readers have no versions of
        files."""
        folder = table.found(self.layout.files) if table and of.schema != OWN_SCHEMA else None
        return source if folder is None else self._recorded(source.name, folder)

    def _recorded(self, name: Name, folder: Path) -> Source:
        path = self.catalog.root.canonical(str(folder))
        log = self.logs[path]
        return Source(name, SourceKind.DELTA, log.table_id(), path, log.metadata().columns)

    def record_files(self, source: Source) -> Source:
        """A source that is files with a list that is recorded from now on; any other as it is, and
        so are all in a lake on other storage: a list is of one disk."""
        if source.kind is not SourceKind.FOREIGN or source.path is None or self.layout.place:
            return source
        relation = lookup(self.spark, source.name, temporary=False)
        if relation is not None:
            table = of_relation(source.name, relation, self._zone)
        else:
            table = self._of_path(source.name, source.path)
        folder = record_table(self.spark, self.layout.files, table) if table else None
        return source if folder is None else self._recorded(source.name, folder)

    def with_lists(self, found: Found) -> Found:
        """The same, where a list is kept of the files of each source that has such."""
        return Found({n: self.record_files(s) for n, s in found.sources.items()}, found.views)

    def file_source(self, source: Source) -> FileSource | None:
        """The files behind a source; None where it is a table with its own log."""
        if source.kind is not SourceKind.DELTA or source.path is None:
            return None
        if not self.is_file_list(source.path):
            return None
        log = self.logs[source.path]
        table = FileTable.of_log(log.properties())
        if table is None:
            return None
        return FileSource(source.name, table, log, self.logs.lists(source.path), self.spark)

    @property
    def copies(self) -> CopiedTables:
        return self.logs.copies

    def folder_of(self, location: str) -> str | None:
        """The folder whose log describes the table at a location: its own, or that of a copy; None
        where there is no such table, or the engine does not reach its storage."""
        if storage_of(location) is None:
            return location if is_delta(location) else None
        found = self.copies.find(location)
        try:
            return self._keep_copy(found)[0] if found is not None else None
        except TableGone:
            return None

    def _keep_copy(self, log: CopiedLog) -> tuple[str, TableLog, int]:
        """The folder of a copy, its reader, and the newest version. TableGone."""
        path = self.catalog.root.canonical(str(log.path))
        known = self.logs.keep(path, log)
        return path, known, known.version()

    def is_file_list(self, path: str) -> bool:
        """Whether the log at a path represents files."""
        return Path(path).parent == self.layout.files

    def describe_source(self, path: str | None) -> str | None:
        """What the log at a path represents: `2 files of /data/inbox`, `DELTA at hdfs://…/t`; None
        of a table's own."""
        if path is not None and self.copies.holds(path):
            return f"{SourceKind.DELTA.value} at {self.copies.place_of(path)}"
        if path is None or not self.is_file_list(path) or not is_delta(path):
            return None
        table = FileTable.of_log(self.logs[path].properties())
        if table is None:
            return None
        count = len(self.logs.lists(path).at(self.logs[path].version()))
        return f"{count_of(count, 'file')} of {table.location}"

    def _own(self, name: Name, path: str) -> str:
        """Where the table is that the session knows at `path`: in this lake, if the session's
        is the same table in another copy of the lake."""
        own = str(self.layout.table(name))
        if self.catalog.root.holds(path) or not is_delta(own) or not is_delta(path):
            return path
        return own if self.logs[own].table_id() == self.logs[path].table_id() else path

    def _delta(self, name: Name, path: str) -> Source:
        if storage_of(path):
            return self._copied(name, path)
        path = self.catalog.root.canonical(path)
        if not is_delta(path):
            raise _no_table(name, path)
        log = self.logs[path]
        return Source(name, SourceKind.DELTA, log.table_id(), path, log.metadata().columns)

    def _copied(self, name: Name, place: str) -> Source:
        """A table on other storage, by the copy of its log; a source without versions where the
        engine has no such, or another program keeps its commits."""
        found = self.copies.find(place)
        if found is None:
            return Source(name, SourceKind.FOREIGN, str(name), None)
        try:
            path, log, version = self._keep_copy(found)
        except TableGone as e:
            raise _no_table(name, place) from e
        metadata = log.metadata(version)
        if log.protocol(version).kept_elsewhere:
            return Source(name, SourceKind.FOREIGN, str(name), None)
        return Source(name, SourceKind.DELTA, metadata.id, path, metadata.columns)

    def quarantined(self, name: str) -> DTError | None:
        """DT-5112 of what can be read by name, and is not known, since it is in quarantine."""
        kinds = (Named.TABLE, Named.VIEW, Named.DYNAMIC_TABLE, Named.STREAM)
        found = self.catalog.quarantine.find(name.removeprefix("default."), *kinds)
        return found.error if found is not None else None

    def known(self) -> list[str]:
        """The names that a user may have meant."""
        return [str(d.name) for d in self.catalog.list()] + sorted(listed(self.spark))

    def cycle(self, of: Name, found: Found) -> str | None:
        """The path by which a definition would read itself through other dynamic tables."""
        stack = [(s.name, f"{of} → {s.name}") for s in found.sources.values()]
        seen: set[Name] = set()
        while stack:
            name, path = stack.pop()
            if name == of:
                return path
            table = self.catalog.get(name) if name not in seen else None
            seen.add(name)
            stack += [(u, f"{path} → {u}") for u in table.upstream] if table else []
        return None

    def upstream(self, definition: Definition) -> tuple[DynamicTable, ...]:
        """The dynamic tables that a definition reads, those that took another's name, or a
        table's, included.

        One that is gone is left out: the refresh that reads it says so, and is recorded.
        """
        found = self.catalog.get_all({s.name for s in definition.sources})
        return tuple(found[s.name] for s in definition.sources if s.name in found)
