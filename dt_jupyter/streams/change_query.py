"""The changes of tables, dynamic tables, views and queries, as DataFrames."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.definition import (
    CallableFunctions,
    QueryMeaning,
    QueryText,
    empty_relation,
    of_registered,
    read_meaning,
)
from dt_jupyter.failures import as_error, is_syntax_error, syntax_error
from dt_jupyter.functions import expanded, scalar_names
from dt_jupyter.ivm import Refused, Rel, scans
from dt_jupyter.lake import LakeError, TableLog, VersionGone, plan_changes, stored_schema
from dt_jupyter.model import (
    FIRST,
    DTError,
    Name,
    Source,
    SourceKind,
    Stream,
    StreamMeaning,
    Timestamp,
    count_of,
    error,
)
from dt_jupyter.model.hidden import WEIGHT, public_rows, unique_view
from dt_jupyter.replay import whole
from dt_jupyter.sources import (
    OLDEST,
    OWN_SCHEMA,
    By,
    Found,
    Identity,
    Moment,
    Resolver,
    Sources,
    identity,
    name_of,
    no_versions,
    pinned,
    require_key,
)
from dt_jupyter.spark import HELD, analyse_now, confs, is_connect, run_cancellable
from dt_jupyter.streams.change_reader import (
    ChangeQuery,
    append_query,
    change_query,
    initial_query,
)
from dt_jupyter.streams.sides import Side
from dt_jupyter.streams.stream_meaning import MeaningReader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

MOST_COMMITS = 500
"""A redo log of more is not read at once."""

NO_OFFSET = "an offset counts back from now: a negative number of seconds"

_OF = Name(OWN_SCHEMA, "changes")
_Start = Moment | Mapping[str, int]
"""Where an interval starts or ends: a point, or the version of each base table by its id."""
_Make = Callable[
    ["SparkSession", Rel, Sequence[str], Callable[[Rel], dict[str, str]], Mapping[str, Side]],
    ChangeQuery,
]


@dataclass(frozen=True)
class Interval:
    """A base table from one version, which is not part of it, to another; `ids` say what the ids
    of its rows are made of."""

    name: str
    start: int
    end: int
    ids: Identity


@dataclass(frozen=True)
class ChangeRows:
    """The rows of a change query, its plan, the version of each base table, by its id, that the
    interval ends at, and the interval of each of them."""

    frame: DataFrame
    query: ChangeQuery
    ends: Mapping[str, int]
    intervals: tuple[Interval, ...] = ()


@dataclass(frozen=True)
class Changes:
    """Reads changes in the session `spark`; `builtins` are Spark's functions."""

    spark: SparkSession
    sources: Sources
    builtins: frozenset[str]
    now: Callable[[], Timestamp]

    def of(
        self,
        query: str,
        schema: str,
        name: str,
        *,
        at: _Start = OLDEST,
        end: _Start | None = None,
        append_only: bool = False,
        initial: bool = False,
        stream: Stream | None = None,
    ) -> ChangeRows:
        """The changes of a query between two points, called `name` in errors; with `initial` all
        its rows at the end, as inserts. Those of a `stream` are of the query that it began with.

        Raises DT-1101, DT-3101 to DT-3106, DT-3108, DT-4101 and DT-4102.
        """
        make = initial_query if initial else append_query if append_only else change_query
        try:
            return self._of(query, schema, name, at, end, make, stream)
        except Refused as e:
            if (syntax := self._find_syntax_error(query)) is not None:
                raise syntax from e
            raise error(
                "DT-3102",
                name=name,
                reason=e.reason.code,
                sentence=f"{e.reason.sentence}.",
                hint=e.hint,
            ) from e

    def _find_syntax_error(self, query: str) -> DTError | None:
        """What Spark's parser says of a query that ours refuses; None where Spark can read it."""
        try:
            self.spark.sql(f"EXPLAIN {query}")
        except PySparkException as e:
            return syntax_error(e, query) if is_syntax_error(e) else None
        return None

    def between(
        self,
        query: str,
        schema: str,
        name: str,
        at: Moment | None,
        end: Moment | None,
        *,
        append_only: bool,
    ) -> ChangeRows:
        """As `of`, from the oldest version or a point on, until now or a point, as work that the
        keyboard interrupts."""
        start = OLDEST if at is None else at
        return run_cancellable(
            self.spark,
            f"changes:{uuid.uuid4().hex}",
            f"Reading the changes of {name}",
            lambda: self.of(query, schema, name, at=start, end=end, append_only=append_only),
        )

    def _of(
        self,
        query: str,
        schema: str,
        name: str,
        at: _Start,
        end: _Start | None,
        make: _Make,
        stream: Stream | None,
    ) -> ChangeRows:
        found, versions, schemas = self._resolved(query, schema, name, at, end)
        names = self._names(query, schema, found, schemas)
        if stream is not None:
            self._require_same_meaning(stream, found, schemas, names)
        meant = self._meaning(query, schema, found, schemas)
        sides = self._sides(meant.relation, found, versions, schemas)
        with confs(self.spark, HELD):
            return self._read(make(self.spark, meant.relation, names, meant.types, sides), sides)

    def _meaning(
        self, query: str, schema: str, found: Found, schemas: Mapping[str, StructType]
    ) -> QueryMeaning:
        catalog = self.sources.catalog
        views = {n: expanded(catalog, v.text) for n, v in found.views.items()}
        functions = CallableFunctions(self.builtins, scalar_names(frozenset(), catalog))
        try:
            declared = tuple(catalog.functions())
            text = QueryText(expanded(catalog, query), schema, found.sources, views, declared)
            return read_meaning(self.spark, text, functions, schemas)
        except Refused as e:
            raise of_registered(e, catalog) from None

    def _read(self, made: ChangeQuery, sides: Mapping[str, Side]) -> ChangeRows:
        try:
            ends = {table: side.new for table, side in sides.items()}
            told = tuple(Interval(s.name, s.old, s.new, s.identity) for s in sides.values())
            return ChangeRows(analyse_now(self.spark.sql(made.text)), made, ends, told)
        finally:
            for view in made.views:
                self.spark.catalog.dropTempView(view)

    def redo(self, source: Name, *, at: _Start = OLDEST, end: Moment | None = None) -> ChangeRows:
        """Every change of a table or dynamic table in the order of its commits, each with
        `_commit_version` and `_commit_timestamp`: nothing between two commits cancels.

        Raises as `of` does; DT-3107 for a view, DT-1004 for more than MOST_COMMITS.
        """
        query, name = whole(source), str(source)
        found = self.sources.of_query(query, source.schema, _OF)
        if found.views:
            hint = "Ask for DEFAULT, or for the changes of its tables."
            raise error("DT-3107", what="INFORMATION => REDO", where="on a view", hint=hint)
        versions = self._versions(found, name, at, end)
        ((table, (old, new)),) = versions.items()
        (base,) = found.sources.values()
        assert base.path is not None
        log = self.sources.logs[base.path]
        commits = [c for c in log.commits(old, new) if c.data_change] if old < new else []
        if len(commits) > MOST_COMMITS:
            raise error(
                "DT-1004", what="long", size=count_of(len(commits), "commit"), limit=MOST_COMMITS
            )
        steps = [
            (
                c,
                self.of(
                    query,
                    source.schema,
                    name,
                    at={table: c.version - 1},
                    end=Moment(version=c.version),
                ),
            )
            for c in commits
        ]
        nothing = self.of(query, source.schema, name, at={table: new}, end=Moment(version=new))
        frame = nothing.frame.selectExpr("*", "0L AS _commit_version", _micros(0))
        for commit, step in steps:
            rows = step.frame.selectExpr(
                "*", f"{commit.version}L AS _commit_version", _micros(commit.time.micros)
            )
            frame = frame.unionByName(rows, allowMissingColumns=True)
        self._require_key(name, frame, [nothing, *(step for _, step in steps)])
        ordered = frame.orderBy("_commit_version", "`$ROW_ID`", "`$ACTION`")
        told = tuple(replace(i, start=old) for i in nothing.intervals)
        return ChangeRows(ordered, nothing.query, {table: new}, told)

    def _require_key(self, name: str, frame: DataFrame, steps: Sequence[ChangeRows]) -> None:
        """DT-3108 where a declared key came twice, or went twice, over the steps of a redo log."""
        found = {i.ids for step in steps for i in step.intervals}
        ids = found.pop()
        if found or ids.by is not By.KEY:
            return
        weighted = frame.selectExpr("*", f"IF(`$ACTION` = 'INSERT', 1L, -1L) AS {WEIGHT}")
        view = unique_view("redo")
        weighted.createOrReplaceTempView(view)
        try:
            require_key(self.spark, view, name, ids, (), "_commit_version")
        finally:
            self.spark.catalog.dropTempView(view)

    def frontier(self, query: str, schema: str, name: str, at: Moment) -> dict[str, int]:
        """The version of each base table of a query at a point, by its id."""
        found = self.sources.of_query(query, schema, _OF)
        return {t: old for t, (old, _) in self._versions(found, name, at, at).items()}

    # -- meanings ---------------------------------------------------------------------------------

    def meaning(self, source: Name) -> StreamMeaning:
        """What a source means now."""
        query, schema = whole(source), source.schema
        found = self.sources.of_query(query, schema, _OF)
        schemas = {s.table_id: self._schema(s, None) for s in found.sources.values()}
        names = self._names(query, schema, found, schemas)
        return self._meanings.read(source, found, schemas, names)

    @property
    def _meanings(self) -> MeaningReader:
        return MeaningReader(self.spark, self.sources.catalog, self.builtins)

    def _require_same_meaning(
        self,
        stream: Stream,
        found: Found,
        schemas: Mapping[str, StructType],
        names: Sequence[str],
    ) -> None:
        """DT-3103 where the source of a stream became another query."""
        if stream.meaning is None:
            return
        means = self._meanings.read(stream.source, found, schemas, names)
        problem = self._meanings.find_change(stream.meaning, means, schemas)
        if problem is not None:
            raise error("DT-3103", name=stream.source, problem=problem)

    def find_problem(self, stream: Stream) -> str | None:
        """Why the changes of the view of a stream cannot be read from its offset, as far as
        texts, logs and schemas show; None also for a stream on a table. No Spark job."""
        query, schema, name = whole(stream.source), stream.source.schema, str(stream.name)
        try:
            found, versions, schemas = self._resolved(query, schema, name, stream.frontier, None)
            if not found.views or self._is_as_it_was(stream, found, versions, schemas):
                return None
            names = self._names(query, schema, found, schemas)
            self._require_same_meaning(stream, found, schemas, names)
            relation = self._meaning(query, schema, found, schemas).relation
            if stream.initial:
                return None
            for side in self._sides(relation, found, versions, schemas).values():
                side.require_readable()
        except DTError as e:
            return str(e.facts["problem"]) if e.code == "DT-3103" else e.sentence
        except Refused as e:
            return e.reason.sentence
        except LakeError as e:
            return e.sentence
        except PySparkException as e:
            return as_error(e, stream.source).sentence
        return None

    def _is_as_it_was(
        self,
        stream: Stream,
        found: Found,
        versions: Mapping[str, tuple[int, int]],
        schemas: Mapping[str, StructType],
    ) -> bool:
        """Whether texts and columns are those that the stream began with, which takes no Spark."""
        known = stream.meaning
        if known is None:
            return False
        means = self._meanings.read(stream.source, found, schemas, known.columns)
        return means == known and all(
            self._schema(s, versions[s.table_id][0]) == schemas[s.table_id]
            for s in found.sources.values()
        )

    def base_tables(self, query: str, schema: str) -> tuple[Source, ...]:
        """The tables that a query reads in the end, views looked through."""
        return tuple(self.sources.of_query(query, schema, _OF).sources.values())

    def _resolved(
        self, query: str, schema: str, name: str, at: _Start, end: _Start | None
    ) -> tuple[Found, dict[str, tuple[int, int]], dict[str, StructType]]:
        """What a query reads: its sources and views, both ends, and the schemas at the new one."""
        found = self.sources.of_query(query, schema, _OF)
        versions = self._versions(found, name, at, end)
        schemas = {
            s.table_id: self._schema(s, versions[s.table_id][1]) for s in found.sources.values()
        }
        return found, versions, schemas

    def _versions(
        self, found: Found, name: str, at: _Start, end: _Start | None
    ) -> dict[str, tuple[int, int]]:
        """Both ends of the interval for each source; DT-3103 for one that a frontier lacks, since
        the table was replaced."""
        now = self.now()
        self.sources.publications.await_end()
        resolver = Resolver(self.sources.catalog, now)
        bases: list[tuple[Source, TableLog]] = []
        for source in found.sources.values():
            if source.kind is SourceKind.FOREIGN or source.path is None:
                raise no_versions(source.name)
            known = [p for p in (at, end) if p is not None and not isinstance(p, Moment)]
            if any(source.table_id not in versions for versions in known):
                raise error("DT-3103", name=name, problem=f"{source.name} was replaced")
            bases.append((source, self.sources.logs[source.path]))
        old = resolver.versions(bases, name, at) if isinstance(at, Moment) else at
        last = end or Moment(now, present=True)
        new = resolver.versions(bases, name, last) if isinstance(last, Moment) else last
        versions = {s.table_id: (old[s.table_id], new[s.table_id]) for s, _ in bases}
        if any(start > stop for start, stop in versions.values()):
            raise error("DT-3101", name=name, start=at, end=end or now)
        return versions

    def _schema(self, source: Source, version: int | None) -> StructType:
        assert source.path is not None
        return stored_schema(self.sources.logs[source.path].metadata(version))

    def _names(
        self, query: str, schema: str, found: Found, schemas: dict[str, StructType]
    ) -> tuple[str, ...]:
        """The columns of the user's own text, which Spark analyses over empty tables."""

        def empty(source: Source) -> str:
            return empty_relation(schemas[source.table_id])

        return tuple(self.spark.sql(self._placed(query, schema, found, schemas, empty)).columns)

    def _placed(
        self,
        query: str,
        schema: str,
        found: Found,
        schemas: dict[str, StructType],
        place: Callable[[Source], str],
    ) -> str:
        """The user's own text with the visible rows of `place` for each table."""

        def relation(parts: tuple[str, ...]) -> str:
            source = found.sources[name_of(parts, schema)]
            columns = schemas[source.table_id].names
            return public_rows(place(source), columns)

        def view(parts: tuple[str, ...]) -> str | None:
            known = found.views.get(name_of(parts, schema))
            return known.text if known else None

        return pinned(query, relation, view)

    def _sides(
        self,
        rel: Rel,
        found: Found,
        versions: dict[str, tuple[int, int]],
        schemas: dict[str, StructType],
    ) -> dict[str, Side]:
        prefix = unique_view("change")
        read: dict[str, set[str]] = {}
        for scan in scans(rel):
            read.setdefault(scan.source, set()).update(n for _, n in scan.reads)
        sides: dict[str, Side] = {}
        for source in found.sources.values():
            assert source.path is not None
            log: TableLog = self.sources.logs[source.path]
            old, new = versions[source.table_id]
            types = {f.name: f.dataType.simpleString() for f in schemas[source.table_id].fields}
            try:
                ids = identity(log, old, new, types, source.table_id)
            except VersionGone as e:
                raise error("DT-3103", name=source.name, problem=e.sentence) from e
            columns = read.get(source.table_id, set()) | set(ids.names)
            classic = not is_connect(self.spark)
            plan = plan_changes(log, old, new, columns, file_diff=classic, evolving=True)
            sides[source.table_id] = Side(
                source.table_id,
                str(source.name),
                log,
                old,
                new,
                plan,
                ids,
                types,
                f"{prefix}_{len(sides)}",
            )
        return sides


def _micros(time: int) -> str:
    return f"TIMESTAMP_MICROS({time}L) AS _commit_timestamp"


def moment(
    value: datetime | str | int | timedelta | Timestamp,
    timestamp: Callable[[datetime | str | Timestamp], Timestamp],
    now: Timestamp,
) -> Moment:
    """A point as Python has it: a time, a version (int), or a distance back from now (timedelta,
    which is not positive: else DT-1003)."""
    match value:
        case int():
            return Moment(version=value)
        case timedelta():
            if value > timedelta(0):
                hint = "Give timedelta(minutes=-5) for five minutes ago."
                raise error("DT-1003", option="OFFSET", value=value, problem=NO_OFFSET, hint=hint)
            return Moment(max(now.plus(value.total_seconds()), FIRST), present=not value)
        case "now":
            return Moment(now, present=True)
        case _:
            return Moment(timestamp(value))
