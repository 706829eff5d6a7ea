"""The public face of dynamic tables in Spark's catalog: a view on the backing table."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

from dt_jupyter.catalog import Quarantine
from dt_jupyter.failures import first_line
from dt_jupyter.lake import (
    PLAIN_FEATURES,
    LakeError,
    NameTaken,
    is_delta,
    list_folders,
    register,
    require_whole,
    sql_path,
    sql_string,
    sql_table,
    table_entry,
)
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Name,
    Named,
    ViewSource,
    error,
    is_word,
    quote,
)
from dt_jupyter.model.hidden import where_visible
from dt_jupyter.sources.file_statements import creation_statements
from dt_jupyter.sources.follow_files import FileSource
from dt_jupyter.sources.lakes_of_session import LakeNames
from dt_jupyter.sources.mend_table import is_to_mend, is_unreadable
from dt_jupyter.sources.source_names import Sources
from dt_jupyter.spark import (
    FILE_FORMATS,
    TableEntry,
    ViewEntry,
    add_entries,
    keeps_own_names,
    lookup,
    path_of_text,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DT = Named.DYNAMIC_TABLE


@dataclass(frozen=True)
class Publisher:
    """Keeps the names of the lake known to a session: views of dynamic tables, tables, views."""

    spark: SparkSession
    sources: Sources

    @property
    def quarantine(self) -> Quarantine:
        """What cannot be known by name, or not be read."""
        return self.sources.catalog.quarantine

    def publish(self, table: DynamicTable) -> None:
        """The view by which any Spark code reads the table; it raises DT-2101 until there is
        something to read, DT-5112 where that cannot be read. Of a name that Spark refuses there
        is none."""
        if not _is_known_to_spark(table.name):
            hint = (
                "Its rows are kept: ALTER DYNAMIC TABLE … RENAME TO a name of letters, digits, _."
            )
            self.quarantine.put(_DT, table.name, "Spark does not allow a view of that name", hint)
            return
        self.quarantine.lift(_DT, table.name)
        self._create_schema(table.name.schema)
        columns = ", ".join(
            quote(n) + (f" COMMENT {sql_string(c)}" if c else "")
            for n, _, c in table.definition.columns
        )
        comment = f" COMMENT {sql_string(table.comment)}" if table.comment else ""
        text = self._text(table)
        self.spark.sql(f"CREATE OR REPLACE VIEW {table.name.sql} ({columns}){comment} AS {text}")

    def _create_schema(self, schema: str) -> None:
        self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(schema)}")

    def new_schema(self, name: Name) -> str | None:
        """The schema that publishing a name makes; None where it is there."""
        there = self.spark.catalog.databaseExists(quote(name.schema))
        return None if there or not _is_known_to_spark(name) else name.schema

    def drop_empty_schema(self, schema: str) -> None:
        """One that was made for a table that is not there after all."""
        if not self.spark.catalog.databaseExists(quote(schema)):
            return
        if self.spark.sql(f"SHOW TABLES IN {quote(schema)}").isEmpty():
            self.spark.sql(f"DROP DATABASE {quote(schema)}")

    def _view_entry(self, table: DynamicTable) -> ViewEntry | None:
        """The view of a table that can be read, whose columns are as its log has them; None where
        Spark has more to say of it."""
        if table.frontier is None or table.needs_reinit or not _is_known_to_spark(table.name):
            return None
        try:
            stored = self.sources.logs[str(self.sources.layout.public(table.id))].metadata()
            text = self._contents(table)
        except (LakeError, OSError):
            return None
        fields = {field["name"]: field for field in stored.fields}
        listed = table.definition.columns
        if not all(name in fields and _is_plain_column(fields[name]) for name, _, _ in listed):
            return None
        columns = [
            {**fields[name], "metadata": {"comment": comment} if comment else {}}
            for name, _, comment in listed
        ]
        return ViewEntry(table.name, columns, text, table.comment or None)

    def _text(self, table: DynamicTable) -> str:
        if table.frontier is None:
            return _raising(table, error("DT-2101", name=table.name))
        if table.needs_reinit is not None and is_to_mend(table):
            told = self._unreadable(table, table.needs_reinit.sentence)
            if is_unreadable(table):
                return told
        try:
            return self._contents(table)
        except (LakeError, OSError) as e:
            return self._unreadable(table, e)

    def _unreadable(self, table: DynamicTable, problem: object) -> str:
        hint = f"ALTER DYNAMIC TABLE {table.name} REFRESH recreates it."
        return _raising(table, self.quarantine.put(_DT, table.name, problem, hint).error)

    def _contents(self, table: DynamicTable) -> str:
        path = self.sources.layout.public(table.id)
        stored = self.sources.logs[str(path)].metadata().columns
        names = ", ".join(quote(n) for n, _, _ in table.definition.columns)
        return f"SELECT {names} FROM {sql_table(path)}{where_visible(stored)}"

    def unpublish(self, name: Name) -> None:
        if _is_known_to_spark(name):
            self.spark.sql(f"DROP VIEW IF EXISTS {name.sql}")
        self.quarantine.lift(_DT, name)

    def unmake_view(self, name: Name) -> None:
        """A user's view that was made is gone, and is awaited no more."""
        if _is_known_to_spark(name):
            self.spark.sql(f"DROP VIEW IF EXISTS {name.sql}")
        self.quarantine.lift(Named.VIEW, name)

    def restore(self) -> None:
        """Everything of the lake known by name again, as before the session ended; what cannot be
        is in quarantine."""
        self._restore_tables(self.known_tables())
        self._restore_files()
        self._restore_dynamic_tables(self.sources.catalog.list())
        self._restore_views()
        for schema in {t.name.schema for t in self.sources.catalog.tables()}:
            self.part_folder(schema)

    def restore_schemas(self, schemas: Collection[str]) -> None:
        """As `restore`, all that these schemas hold; they are there, if they hold nothing."""
        for schema in schemas:
            self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(schema)}")
            self.part_folder(schema)
        catalog = self.sources.catalog
        tables = self.known_tables()
        self._restore_tables({n: p for n, p in tables.items() if n.schema in schemas})
        self._restore_dynamic_tables(t for t in catalog.list() if t.name.schema in schemas)
        self.restore_views(v for v in catalog.views() if v.name.schema in schemas)

    def part_folder(self, schema: str) -> None:
        """The folder of a schema is its own: Spark makes tables there, and deletes it with the
        schema, and the tables of a schema that had the name before stay in their places."""
        if schema == "default" or not self.spark.catalog.databaseExists(quote(schema)):
            return
        rows = self.spark.sql(f"DESCRIBE DATABASE {quote(schema)}").collect()
        location = next(r[1] for r in rows if r[0] == "Location")
        tables, folder = self.sources.catalog.tables(), Path(path_of_text(location))
        number = 1
        while any(t.name.schema != schema and folder in Path(t.path).parents for t in tables):
            number += 1
            folder = self.sources.layout.tables / f"{schema}.{number}.db"
        if number > 1:
            place = sql_path(folder)
            self.spark.sql(f"ALTER DATABASE {quote(schema)} SET LOCATION {place}")

    def _restore_tables(self, tables: Mapping[Name, str]) -> None:
        self._restore_alike(
            Named.TABLE,
            {n: f"Repair {path}, or DROP TABLE {n}." for n, path in tables.items()},
            lambda name: self._register(name, tables[name]),
            lambda name: self._table_entry(name, tables[name]),
        )

    def _restore_alike(
        self,
        kind: Named,
        hints: Mapping[Name, str],
        restore: Callable[[Name], None],
        describe: Callable[[Name], TableEntry | ViewEntry | None],
    ) -> None:
        """Each by `restore`; in a session that keeps its own names only the first of those that can
        be described, which is the pattern by which the others are made known in one call."""
        entries = []
        if keeps_own_names(self.spark):
            entries = [e for name in hints if (e := describe(name)) is not None]
        done = frozenset[Name]()
        for name, hint in hints.items():
            if name in done:
                continue
            with self._restoring(kind, name, hint):
                restore(name)
            if entries and name == entries[0].name:
                for schema in {entry.name.schema for entry in entries[1:]} - {name.schema}:
                    self._create_schema(schema)
                done = add_entries(self.spark, name, entries[1:])
                for each in done:
                    self.quarantine.lift(kind, each)

    def _table_entry(self, name: Name, path: str) -> TableEntry | None:
        """None for a table about which Spark knows more than that it exists."""
        if self.sources.copies.holds(path) or not _is_known_to_spark(name):
            return None
        log = self.sources.logs[path]
        try:
            require_whole(log)
            plain = log.protocol().features <= PLAIN_FEATURES
        except (LakeError, OSError):
            return None
        return table_entry(name, path) if plain else None

    def _restore_dynamic_tables(self, tables: Iterable[DynamicTable]) -> None:
        known = {table.name: table for table in tables}
        self._restore_alike(
            _DT,
            {name: f"DROP DYNAMIC TABLE {name} removes it." for name in known},
            lambda name: self.publish(known[name]),
            lambda name: self._view_entry(known[name]),
        )

    def _restore_files(self) -> None:
        """The tables of other formats that dynamic tables read: a session's catalog is gone with
        it, and their files are not."""
        for files in self._file_sources():
            hint = f"CREATE TABLE {files.name} again."
            with self._restoring(Named.TABLE, files.name, hint):
                self._create_over(files)

    def _file_sources(self) -> Iterator[FileSource]:
        for table in self.sources.catalog.list():
            for source in table.definition.sources:
                files = self.sources.file_source(source)
                if files is not None and source.name.schema not in FILE_FORMATS:
                    yield files

    def _create_over(self, files: FileSource) -> None:
        if lookup(self.spark, files.name) is None and files.place.exists():
            self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(files.name.schema)}")
            for statement in creation_statements(files):
                self.spark.sql(statement)

    def _register(self, name: Name, path: str) -> None:
        if not _is_known_to_spark(name):
            raise LakeError("Spark does not allow a table of that name")
        copies = self.sources.copies
        if not copies.holds(path):
            require_whole(self.sources.logs[path])
        try:
            register(self.spark, name, copies.place_of(path))
        except NameTaken:
            told = f"In this session {name} is another table than in the lake. Drop its name"
            warnings.warn(f"{told}, or open the lake in a separate session.", stacklevel=2)
        self.quarantine.lift(Named.TABLE, name)

    @contextmanager
    def _restoring(self, kind: Named, name: Name, hint: str) -> Iterator[None]:
        """Whatever is wrong with one object, a lake opens: a warning is given, and the next one is
        restored."""
        try:
            yield
        except Exception as e:
            problem = first_line(e) if isinstance(e, PySparkException) else e
            self.quarantine.put(kind, name, problem, f"{hint} Then open the lake again.")

    def _restore_views(self) -> None:
        """Restore user views in dependency order; those with missing tables wait for the next time
        and do not prevent the lake from opening."""
        self.restore_views(self.sources.catalog.views())

    def retry_views(self) -> None:
        """The views that wait for what they read, as `restore` left them; nothing where none
        waits."""
        waiting = {q.name for q in self.quarantine.all() if q.kind == Named.VIEW and not q.row}
        if waiting:
            views = self.sources.catalog.views()
            self.restore_views(view for view in views if str(view.name) in waiting)

    def restore_views(self, views: Iterable[ViewSource]) -> list[ViewSource]:
        """These views, each after those that it reads, in the order in which they were made; the
        others are in quarantine."""
        waiting, made = list(views), list[ViewSource]()
        while waiting:
            problems = {v.name: (v, p) for v in waiting if (p := self._problem_of(v)) is not None}
            made += [v for v in waiting if v.name not in problems]
            if len(problems) == len(waiting):
                for view, problem in problems.values():
                    hint = (
                        "Create what it reads, and the next refresh or opening the lake brings "
                        f"it back; or DROP VIEW {view.name}."
                    )
                    self.quarantine.put(Named.VIEW, view.name, problem, hint)
                break
            waiting = [view for view, _ in problems.values()]
        return made

    def _problem_of(self, view: ViewSource) -> str | None:
        """Why Spark does not take the view; None: it is there."""
        if not _is_known_to_spark(view.name):
            return "Spark does not allow a view of that name"
        try:
            self.spark.sql(f"CREATE DATABASE IF NOT EXISTS {quote(view.name.schema)}")
            self.spark.sql(f"CREATE OR REPLACE VIEW {view.name.sql} AS {view.text}")
        except (PySparkException, Py4JJavaError) as e:
            return first_line(e)
        self.quarantine.lift(Named.VIEW, view.name)
        return None

    def lake_names(self) -> LakeNames:
        """What the lake's catalog knows; nothing where the lake is gone."""
        if not self.sources.layout.own.is_dir():
            return LakeNames((), {})
        catalog = self.sources.catalog
        views = [t.name for t in catalog.list()] + [v.name for v in catalog.views()]
        files = {f.name: str(f.place) for f in self._file_sources()}
        place_of = self.sources.copies.place_of
        tables = files | {t.name: place_of(t.path) for t in catalog.tables()}
        return LakeNames(views, tables, [f.name for f in catalog.functions()])

    def known_tables(self) -> dict[Name, str]:
        """The tables that the catalog remembers, by the names that they have now, and others in
        the lake's folder by the folders' names."""
        canonical = self.sources.catalog.root.canonical
        found = {t.name: t.path for t in self.sources.catalog.tables()}
        named = {canonical(path) for path in found.values()}
        for name, folder in self._folders():
            recorded = found.get(name)
            if canonical(folder) not in named and (recorded is None or not is_delta(recorded)):
                found[name] = folder
        return found

    def _folders(self) -> Iterator[tuple[Name, str]]:
        root = self.sources.layout.tables
        for folder in sorted(f for f, _ in list_folders(root)):
            if folder.name.endswith(".db"):
                schema = folder.name.partition(".")[0]
                found = (f for f, _ in list_folders(folder) if is_delta(f))
                yield from ((Name(schema, f.name.partition(".")[0]), str(f)) for f in found)
            elif is_delta(folder):
                yield Name("default", folder.name), str(folder)


def _is_known_to_spark(name: Name) -> bool:
    """Whether Spark can know something by that name: what it refuses cannot even be dropped."""
    return is_word(name.schema) and is_word(name.table)


def _raising(table: DynamicTable, problem: DTError) -> str:
    """No rows, and an error for a query of them."""
    message = sql_string(str(problem))
    items = ", ".join(f"CAST(NULL AS {t}) AS {quote(n)}" for n, t, _ in table.definition.columns)
    return f"SELECT {items} WHERE assert_true(rand() > 2, {message}) IS NOT NULL"


def _is_plain_column(field: object) -> bool:
    """Whether a column of a log's schema, and each one in it, has nothing but a type."""
    if isinstance(field, Mapping):
        return not field.get("metadata") and all(map(_is_plain_column, field.values()))
    return not isinstance(field, list) or all(map(_is_plain_column, field))
