"""One statement after the other: ours by the engine, everything else by Spark."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException, PySparkException

from dt_jupyter.engine.change_plans import ChangePlans, explains
from dt_jupyter.engine.create import Created, Creator
from dt_jupyter.engine.graph import failure_of
from dt_jupyter.engine.lake_tables import LakeTables
from dt_jupyter.engine.naming import require_names
from dt_jupyter.engine.parameters import Args, bind_parameters, binding, values_in
from dt_jupyter.engine.rename import TableNames
from dt_jupyter.engine.streams import CONSUMERS
from dt_jupyter.engine.tables import CatalogTables
from dt_jupyter.engine.taken import holder, require_free
from dt_jupyter.engine.timed import in_place
from dt_jupyter.failures import catalogued, environment_error, first_line
from dt_jupyter.lake import marked
from dt_jupyter.model import (
    DTError,
    DynamicTable,
    Name,
    Named,
    Reason,
    RefreshTrigger,
    SchedulingState,
    Span,
    TargetLag,
    Warehouse,
    did_you_mean,
    error,
)
from dt_jupyter.model.hidden import hidden
from dt_jupyter.refresh.define import placed
from dt_jupyter.refresh.failures import out_of_reach
from dt_jupyter.refresh.table_options import require_clusterable
from dt_jupyter.spark.conflicts import conflict_error
from dt_jupyter.spark.confs import confs
from dt_jupyter.spark.relations import lookup
from dt_jupyter.sql import statements as S
from dt_jupyter.sql.functions import replace_spans
from dt_jupyter.sql.item_names import unnamed_items
from dt_jupyter.sql.literals import literal
from dt_jupyter.sql.local_rows import without_job
from dt_jupyter.sql.subquery_dml import as_merge
from dt_jupyter.sql.timed import find_last_query_id, quote_change_columns

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.core import Engine

_FEED_DEFAULT = "spark.databricks.delta.properties.defaults.enableChangeDataFeed"
_WRITES = frozenset({
    S.SparkKind.INSERT, S.SparkKind.UPDATE, S.SparkKind.DELETE, S.SparkKind.MERGE,
    S.SparkKind.TRUNCATE, S.SparkKind.RESTORE, S.SparkKind.ALTER_TABLE, S.SparkKind.ALTER_VIEW,
    S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW, S.SparkKind.CREATE_TABLE,
    S.SparkKind.CREATE_VIEW,
})  # fmt: skip
_CREATES = frozenset({S.SparkKind.CREATE_TABLE, S.SparkKind.CREATE_VIEW})
_CHOOSING = frozenset({S.SparkKind.DELETE, S.SparkKind.UPDATE})
_BY_USER = Reason("USER_SUSPENDED", "ALTER DYNAMIC TABLE … SUSPEND was run.")
_MARKED = CONSUMERS | {S.SparkKind.TRUNCATE, S.SparkKind.RESTORE}
"""What writes rows: its commit carries the id of its statement."""


@dataclass(frozen=True)
class Executor:
    """Runs statements. `last_created` of `run` is what a magic shows a card of."""

    engine: Engine
    creator: Creator
    names: TableNames
    tables: CatalogTables
    lake_tables: LakeTables

    def run(self, statement: S.Statement, script: str, args: Args) -> DataFrame | Created:
        """The statement's result: rows, or what was created."""
        self.engine.transactions.require_allowed(statement)
        require_names(statement, script)
        match statement:
            case S.Begin() | S.Commit() | S.Rollback():
                return self._transaction(statement)
            case S.CreateDynamicTable():
                return self._placed(statement, script, args)
            case S.CloneDynamicTable():
                if statement.at is not None:
                    raise error("DT-1005", statement="CLONE … AT", hint="Clone the table as it is.")
                return self.creator.clone(statement.name, statement.source)
            case S.AlterDynamicTable():
                return self._alter(statement)
            case S.DropDynamicTable() | S.UndropDynamicTable() | S.UndropTable():
                return self._drop(statement)
            case S.DescribeDynamicTable():
                return self.tables.describe(statement.name)
            case S.ShowDynamicTables():
                return self.tables.dynamic_tables(statement.like)
            case S.ExplainDynamicTable():
                text = str(self.engine.explain(statement.subject))
                return self.tables.frame([(line,) for line in text.splitlines()], "plan string")
            case S.CreateWarehouse() | S.AlterWarehouse() | S.DropWarehouse() | S.ShowWarehouses():
                return self._warehouse(statement)
            case S.CreateStream() | S.DropStream() | S.DescribeStream() | S.ShowStreams():
                return self._stream(statement, args)
            case S.SparkStatement():
                return self._spark(statement, script, args)
        raise error("DT-1005", statement=type(statement).__name__, hint="")

    def _placed(self, statement: S.CreateDynamicTable, script: str, args: Args) -> Created:
        """Errors of the query are placed in the script."""
        from dataclasses import replace

        bound = replace(statement, query=bind_parameters(statement.query, args))
        try:
            return self.creator.create(bound)
        except DTError as e:
            if e.query is not None and e.span is not None and bound.query == statement.query:
                start = statement.query_offset
                raise e.at(script, Span(start + e.span.start, start + e.span.end)) from e
            raise

    # -- dynamic tables ---------------------------------------------------------------------------

    def _alter(self, statement: S.AlterDynamicTable) -> DataFrame:
        catalog = self.engine.catalog
        if statement.if_exists and catalog.get(statement.name) is None:
            return self.tables.status(f"{statement.name} does not exist, nothing done.")
        table = self.require(statement.name)
        match statement.change:
            case S.Suspend():
                catalog.update(
                    table.id, scheduling=SchedulingState.SUSPENDED, scheduling_reason=_BY_USER
                )
                done = "suspended"
            case S.Resume():
                catalog.update(
                    table.id,
                    scheduling=SchedulingState.ACTIVE,
                    scheduling_reason=None,
                    error_count=0,
                )
                done = "resumed"
            case S.Refresh():
                return self._refresh(table)
            case S.RenameTo(new_name):
                require_free(catalog, self.engine.spark, new_name)
                self.names.rename(table.name, new_name)
                done = f"renamed to {new_name}"
            case S.SwapWith(other):
                self.require(other)
                self.names.swap(table.name, other)
                done = f"swapped with {other}"
            case S.SetOptions() as options:
                require_clusterable(table.definition, options.cluster_by or ())
                self.creator.apply_options(table, catalog.update(table.id, **self._set(options)))
                done = "altered"
            case S.UnsetOptions(names):
                self.creator.apply_options(table, catalog.update(table.id, **_defaults(names)))
                done = "altered"
        self.engine.nudge()
        return self.tables.status(f"Dynamic table {statement.name} {done}.")

    def require(self, name: Name) -> DynamicTable:
        """The dynamic table of that name; DT-1109 where it is something else, DT-1101 nothing."""
        catalog = self.engine.catalog
        if catalog.get(name) is None:
            relation = lookup(self.engine.spark, name)
            if relation is not None:
                hint = "Use the statement for that kind."
                raise error("DT-1109", name=name, kind=relation.kind.value,
                            expected="dynamic table", hint=hint)  # fmt: skip
        return catalog.require(name)

    def _refresh(self, table: DynamicTable) -> DataFrame:
        record = self.engine.graph_of.refresh(table.id, RefreshTrigger.MANUAL)
        if record.error_code is not None:
            raise failure_of(record)
        s = record.statistics
        row = (str(record.name), str(record.action), str(record.reason),
               record.data_timestamp.datetime, s.inserted_rows, s.deleted_rows)  # fmt: skip
        schema = (
            "name string, action string, reason string, data_timestamp timestamp, "
            "inserted_rows bigint, deleted_rows bigint"
        )
        return self.tables.frame([row], schema)

    def _set(self, options: S.SetOptions) -> dict[str, Any]:
        if options.warehouse is not None:
            self.engine.catalog.warehouse(options.warehouse)
        names = {
            "target_lag": options.target_lag, "warehouse": options.warehouse,
            "scheduler_enabled": options.scheduler, "cluster_by": options.cluster_by,
            "retention_days": options.retention_days, "alter_sources": options.alter_sources,
            "comment": options.comment,
        }  # fmt: skip
        return {k: v for k, v in names.items() if v is not None}

    def _drop(
        self, statement: S.DropDynamicTable | S.UndropDynamicTable | S.UndropTable
    ) -> DataFrame:
        catalog = self.engine.catalog
        name = statement.name
        if isinstance(statement, S.UndropTable):
            self.lake_tables.undrop(name)
            self.engine.nudge()
            return self.tables.status(f"Table {name} restored.")
        if isinstance(statement, S.UndropDynamicTable):
            if holder(catalog, self.engine.spark, name) is not None:
                raise error(
                    "DT-1118", name=name, problem="the name is taken", hint="Rename the other."
                )
            self.names.undrop(name)
            return self.tables.status(f"Dynamic table {name} restored.")
        if catalog.drop_broken(name):
            self.names.unpublish(name)
            return self.tables.status(f"Dynamic table {name} is out of quarantine, and dropped.")
        if statement.if_exists and catalog.get(name) is None:
            return self.tables.status(f"{name} does not exist, nothing done.")
        table = self.require(name)
        self.engine.refresher.cancel(table.id)
        catalog.drop(name)
        self.names.unpublish(name)
        return self.tables.status(f"Dynamic table {name} dropped; UNDROP brings it back.")

    # -- warehouses -------------------------------------------------------------------------------

    def _warehouse(self, statement: S.Statement) -> DataFrame:
        catalog = self.engine.catalog
        match statement:
            case S.ShowWarehouses(like=like):
                return self.tables.warehouses(like)
            case S.DropWarehouse(name=name, if_exists=if_exists):
                known = {w.name for w in catalog.warehouses()}
                stuck = catalog.quarantine.find(name, Named.WAREHOUSE)
                if if_exists and name not in known and stuck is None:
                    return self.tables.status(f"{name} does not exist, nothing done.")
                catalog.drop_warehouse(name)
                return self.tables.status(f"Warehouse {name} dropped.")
            case S.CreateWarehouse(name=name):
                return self._create_warehouse(statement)
            case S.AlterWarehouse(name=name, change=change):
                catalog.warehouse(name)
                if isinstance(change, S.SetWarehouse):
                    w = catalog.alter_warehouse(
                        name, max_concurrency=change.max_concurrency, weight=change.weight
                    )
                    self.engine.declare(w)
                else:
                    catalog.alter_warehouse(name, suspended=isinstance(change, S.Suspend))
                self.engine.nudge()
                return self.tables.status(f"Warehouse {name} altered.")
        raise error("DT-1005", statement=type(statement).__name__, hint="")

    def _create_warehouse(self, statement: S.CreateWarehouse) -> DataFrame:
        catalog = self.engine.catalog
        made = Warehouse(statement.name, statement.max_concurrency, statement.weight)
        exists = statement.name in {w.name for w in catalog.warehouses()}
        if exists and statement.action is S.CreateAction.REPLACE:
            made = catalog.alter_warehouse(
                made.name, max_concurrency=made.max_concurrency, weight=made.weight, suspended=False
            )
        else:
            quiet = statement.action is S.CreateAction.IF_NOT_EXISTS
            made = catalog.create_warehouse(made, if_not_exists=quiet)
        self.engine.declare(made)
        return self.tables.status(f"Warehouse {statement.name} ready.")

    # -- Spark's own ------------------------------------------------------------------------------

    def _spark(self, statement: S.SparkStatement, script: str, args: Args) -> DataFrame:
        for target in statement.targets:
            if statement.kind in _WRITES and self.engine.catalog.get(target) is not None:
                hint = "It is read-only: change its sources, or its definition."
                raise error(
                    "DT-1109", name=target, kind="dynamic table", expected="table", hint=hint
                )
        self._require_free(statement)
        if statement.kind is S.SparkKind.DROP_TABLE and statement.target is not None:
            name = statement.target
            if self.lake_tables.drop(name):
                return self.tables.status(f"Table {name} dropped; UNDROP TABLE brings it back.")
        if said := self.lake_tables.drop_broken(statement):
            return self.tables.status(said)
        self._refuse_quarantined(statement)
        try:
            with confs(self.engine.spark, {_FEED_DEFAULT: "true"}), self._marked(statement):
                frame = self._placed_in(statement, script, args)
        except DTError:
            raise
        except Exception as e:
            raise self._failure(e, statement, script) from e
        self.lake_tables.remember(statement)
        if statement.kind is S.SparkKind.DROP_SCHEMA and statement.target_parts:
            self._forget_schema(statement.target_parts[-1])
        if statement.kind is not S.SparkKind.QUERY:
            self.engine.nudge()
        return frame

    def _forget_schema(self, schema: str) -> None:
        """What a schema held that is gone goes with it: dynamic tables can be brought back by
        UNDROP, streams and remembered names cannot."""
        engine, catalog, gone = self.engine, self.engine.catalog, schema.lower()
        if engine.spark.catalog.databaseExists(gone):
            return
        for table in catalog.list():
            if table.name.schema == gone:
                engine.refresher.cancel(table.id)
                catalog.drop(table.name)
        for stream in catalog.streams():
            if stream.name.schema == gone:
                catalog.drop_stream(stream.name)
        for name in [t.name for t in catalog.tables()] + [v.name for v in catalog.views()]:
            if name.schema == gone:
                catalog.forget(name)

    def _require_free(self, statement: S.SparkStatement) -> None:
        """DT-1105 where a table or view would take a name that Spark does not know to be taken."""
        catalog, taken = self.engine.catalog, statement.new_name
        made = statement.kind in _CREATES
        for name in (taken, statement.target if made and not statement.temporary else None):
            if name is not None and catalog.find_stream(name) is not None:
                raise error("DT-1105", kind="Stream", name=name)
        if taken is not None and catalog.get(taken) is not None:
            raise error("DT-1105", kind="Dynamic table", name=taken)

    def _refuse_quarantined(self, statement: S.SparkStatement) -> None:
        """DT-5112 for a table or view to be made in the place of one in quarantine."""
        if statement.kind not in _CREATES or statement.temporary or statement.target is None:
            return
        found = self.engine.catalog.quarantine.find(statement.target)
        if found is not None and found.kind in (Named.TABLE, Named.DYNAMIC_TABLE):
            raise found.error

    @contextmanager
    def _marked(self, statement: S.SparkStatement) -> Iterator[None]:
        """An id in the commits of what writes rows, alone: it marks those of the whole session."""
        if statement.kind not in _MARKED:
            yield
            return
        with self.engine.streams.lock:
            made = uuid.uuid4().hex
            with marked(self.engine.spark, statement=made):
                yield
            self.engine.statement_done(made)

    def _placed_in(self, statement: S.SparkStatement, script: str, args: Args) -> DataFrame:
        """The statement with relations of other times and streams as views of what they hold."""
        engine, schema = self.engine, self.engine.schema()
        points = engine.points(lambda value: self.run_spark(value, args))
        streams = engine.streams.found_in(statement, schema)

        def run(replaced: list[tuple[Span, str]]) -> DataFrame:
            text = self._with_ours(statement, replaced)
            merge = as_merge(text) if statement.kind in _CHOOSING else None
            if merge is not None:
                return self.run_spark(merge, args).select("num_affected_rows")
            return self.run_spark(text, args)

        plans, past = ChangePlans(), engine.travel.past(engine.change_queries)
        with in_place(statement, script, past, schema, points, plans.add) as timed:
            if explains(statement.text):
                with engine.streams.in_place(
                    streams, script, lambda s: plans.add_stream(s, engine.streams.rows(s))
                ) as (replaced, _):
                    plan = "\n".join(str(line) for (line,) in run([*timed, *replaced]).collect())
                return self.tables.frame([(plans.before(plan),)], "plan string")
            if engine.transactions.current is not None:
                return engine.transactions.run(
                    statement, streams, script, schema, lambda own: run([*timed, *own])
                )
            if not streams:
                return engine.travel.labelled(run(timed), statement, schema, past.reads)
            if statement.kind is S.SparkKind.CREATE_VIEW:
                hint = "Consume it into a table."
                made = error("DT-3107", what="A stream", where="in a view", hint=hint)
                raise made.at(script, streams[0].span)
            if statement.kind in CONSUMERS:
                return engine.streams.consume(
                    statement, streams, script, schema, lambda own: run([*timed, *own])
                )
            with engine.streams.in_place(streams, script) as (replaced, _):
                found = run([*timed, *replaced])
                return engine.travel.labelled(found, statement, schema, past.reads)

    def _transaction(self, statement: S.Statement) -> DataFrame:
        transactions = self.engine.transactions
        match statement:
            case S.Begin():
                transactions.begin()
                return self.tables.status("Transaction begun.")
            case S.Commit():
                tables = len(transactions.commit())
                self.engine.nudge()
                return self.tables.status(f"Transaction committed, {tables} tables written.")
        transactions.rollback()
        return self.tables.status("Transaction rolled back.")

    def _stream(self, statement: S.Statement, args: Args) -> DataFrame:
        engine = self.engine
        match statement:
            case S.CreateStream():
                points = engine.points(lambda value: self.run_spark(value, args))
                return self.tables.status("\n".join(engine.streams.create(statement, points)))
            case S.DropStream(name=name, if_exists=if_exists):
                if if_exists and not engine.catalog.has_stream(name):
                    return self.tables.status(f"{name} does not exist, nothing done.")
                engine.streams.recover()
                engine.catalog.drop_stream(name)
                return self.tables.status(f"Stream {name} dropped.")
            case S.DescribeStream(name=name):
                return self.tables.streams([engine.catalog.stream(name)], engine.streams)
            case S.ShowStreams(like=like):
                return self.tables.all_streams(like, engine.streams)
        raise error("DT-1005", statement=type(statement).__name__, hint="")

    def run_spark(self, text: str, args: Args) -> DataFrame:
        """Spark's result of a text with its parameters, and LAST_QUERY_ID() in it as its value."""
        last = self.engine.last_query_id
        known = literal(last) if last else "CAST(NULL AS STRING)"
        text = replace_spans(text, [(span, known) for span in find_last_query_id(text)])
        bound = values_in(text, args)
        with binding(self.engine.spark, bound):
            return self.engine.spark.sql(text, args=bound or None)

    def _with_ours(self, statement: S.SparkStatement, timed: Sequence[tuple[Span, str]]) -> str:
        """The text with our table functions and relations of other times as views of what they
        give."""
        replaced = list(timed)
        for i, call in enumerate(statement.functions):
            view = hidden(f"function_{i}")
            self._function(call.name, dict(call.args)).createOrReplaceTempView(view)
            replaced.append((call.span, view))
        for has in statement.has_data:
            known = self.engine.streams.has_data(self.engine.name(has.stream))
            replaced.append((has.span, str(known).upper()))
        start = statement.offset
        own = [(Span(s.start - start, s.end - start), v) for s, v in replaced]
        named = self._named(statement, own)
        if not own and not named:
            return statement.text
        text = replace_spans(statement.text, [*own, *named])
        if len(statement.has_data) == len(replaced) == 1:
            text = without_job(text)
        return quote_change_columns(text) if timed else text

    @staticmethod
    def _named(
        statement: S.SparkStatement, replaced: Sequence[tuple[Span, str]]
    ) -> list[tuple[Span, str]]:
        """Names for the columns of a result that our functions compute, but for those in a text
        that is replaced as a whole."""
        if statement.kind is not S.SparkKind.QUERY:
            return []
        return [
            (place, name) for place, name in unnamed_items(statement.text)
            if not any(span.start < place.start < span.end for span, _ in replaced)
        ]  # fmt: skip

    def _function(self, name: str, args: Mapping[str, str]) -> DataFrame:
        if name == "DYNAMIC_TABLES":
            return self.tables.dynamic_tables()
        if name == "DYNAMIC_TABLE_GRAPH_HISTORY":
            return self.tables.graph_history()
        chosen = {k.upper(): v for k, v in args.items()}.get("NAME")
        return self.tables.history(self.engine.name(chosen.strip("'\"")) if chosen else None)

    def _failure(self, e: Exception, statement: S.SparkStatement, script: str) -> DTError:
        """What it is, at its place in the script; else at the whole statement."""
        kind = statement.kind.value.replace("_", " ")
        if environment_error(e) is None and conflict_error(e, kind) is None:
            if isinstance(e, AnalysisException):
                return self._spark_error(e, statement, script)
            if isinstance(e, PySparkException) and out_of_reach(e, statement.text):
                return self._spark_error(e, statement, script)
        made = catalogued(e, kind, script, statement.offset)
        end = statement.offset + len(statement.text)
        return made if made.span else made.at(script, Span(statement.offset, end))

    def _spark_error(
        self, e: PySparkException, statement: S.SparkStatement, script: str
    ) -> DTError:
        """What Spark says, in a line, at its place in the script."""
        condition = e.getCondition() or ""
        if (past := out_of_reach(e, statement.text)) is not None:
            made = placed(e, statement.text, past.code, **past.facts)
        elif condition.startswith("TABLE_OR_VIEW_NOT_FOUND"):
            known = self.engine.sources.known()
            name = (e.getMessageParameters() or {}).get("relationName", "?").replace("`", "")
            found = self.engine.sources.quarantined(name)
            made = found or placed(
                e, statement.text, "DT-1101", name=name, hint=did_you_mean(name, known)
            )
        elif condition == "PARSE_SYNTAX_ERROR":
            made = placed(e, statement.text, "DT-1001", problem=first_line(e), hint="")
        else:
            made = placed(e, statement.text, "DT-1112", problem=first_line(e), hint="")
        span = made.span
        if span is None:
            return made.at(script, Span(statement.offset, statement.offset + len(statement.text)))
        return made.at(script, Span(statement.offset + span.start, statement.offset + span.end))


def _defaults(names: frozenset[str]) -> dict[str, Any]:
    known: dict[str, tuple[str, Any]] = {
        "COMMENT": ("comment", None), "CLUSTER BY": ("cluster_by", ()),
        "DATA_RETENTION_TIME_IN_DAYS": ("retention_days", None),
        "TARGET_LAG": ("target_lag", TargetLag(None)), "WAREHOUSE": ("warehouse", "default"),
        "SCHEDULER": ("scheduler_enabled", True), "ALTER_SOURCES": ("alter_sources", True),
    }  # fmt: skip
    return dict(known[n] for n in names)
