"""The rows of a new definition made of those that a table has, where they follow from them.

Nothing of the sources is read, so the new rows have the frontier of the old ones. They are
committed at the next logical time after it, at which no source can have another version.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.catalog import Attempt
from dt_jupyter.definition import Compiled, CompiledStage, Defined, read_condition
from dt_jupyter.failures import as_error
from dt_jupyter.ivm import (
    Derivation,
    KeyColumns,
    Refused,
    Underivable,
    containing,
    derivation,
)
from dt_jupyter.lake import LakeError, Overwrite, sql_table
from dt_jupyter.model import (
    Definition,
    DTError,
    DynamicTable,
    Frontier,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    SourceKind,
    Timestamp,
    error,
    quote,
)
from dt_jupyter.model.hidden import COUNT, STORED_ID
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.execute import FORMAT, STATE_FORMAT, prepare
from dt_jupyter.refresh.protocol import Refresher
from dt_jupyter.refresh.stage_commit import CommitOrigin, Target, commit_stage, refresh_statistics
from dt_jupyter.spark import run_cancellable, type_text
from dt_jupyter.sql import GroupSql, TextQuery

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_EXACT = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz",
          "string", "binary")  # fmt: skip


@dataclass(frozen=True)
class KeptContents:
    """The new definition's rows are the old one's."""


@dataclass(frozen=True)
class Derivable:
    """The new definition's rows follow from the old one's by the text of `query`, in the columns
    of the same table."""

    query: str
    old: Compiled
    new: Compiled


ContentsVerdict = KeptContents | Derivable | Reason
"""Whether a table's rows are kept if its definition changes; else the reason to recompute them."""


def judge_contents(
    refresher: Refresher, spark: SparkSession, table: DynamicTable, defined: Defined
) -> ContentsVerdict:
    """Whether the rows of `table` are kept under a new definition; reads no rows."""
    problem = _standing_problem(refresher, table, defined)
    if problem is not None:
        return _anew(problem)
    if defined.mode is RefreshMode.FULL:
        if not _is_same_text(table.definition, defined.definition):
            return _anew("it has no incremental form")
        kept = _keeps_region(refresher, spark, table.definition, defined.definition)
        return KeptContents() if kept else _REGION
    assert table.frontier is not None
    if not _keeps_region(refresher, spark, table.definition, defined.definition):
        return _REGION
    try:
        old = refresher.compiled(spark, table.id, table.definition, table.frontier)
        new = refresher.definer.compile(spark, defined.definition, table.frontier)
        frozen = defined.definition.frozen is not None
        return _derivable(refresher, spark, table, old, new, frozen=frozen)
    except (Refused, LakeError, PySparkException, DTError) as e:
        return _anew(f"it cannot be read over the sources of then ({type(e).__name__})")
    except Underivable as e:
        return _anew(str(e))


def _anew(why: str) -> Reason:
    return Reason("DEFINITION_CHANGED", f"CREATE OR ALTER changed the definition, and {why}")


_REGION = Reason(
    "FROZEN_REGION_CHANGED",
    "the frozen region has changed, and the rows outside of it are computed again",
)


def _standing_problem(refresher: Refresher, table: DynamicTable, defined: Defined) -> str | None:
    """Why a refresh cannot continue from the rows, whatever the definitions are."""
    old, new, frontier = table.definition, defined.definition, table.frontier
    if frontier is None or table.needs_reinit is not None:
        return "its rows are to be computed anyway"
    if defined.mode is not table.effective_mode:
        return f"it is {defined.mode} now"
    if old.settings != new.settings:
        return "the session's settings have changed"
    digests = {f.name: f.digest for f in old.functions}
    if any(digests.get(f.name, f.digest) != f.digest for f in new.functions):
        return "a function that it calls was replaced"
    ids = [{s.table_id for s in d.sources} for d in (old, new)]
    if ids[0] != ids[1]:
        return "it reads other tables"
    if frontier.stateless:
        return "the last refresh did not keep its state"
    log = refresher.sources.logs[str(refresher.sources.layout.public(table.id))]
    return None if log.properties().get(FORMAT) == STATE_FORMAT else "another release wrote it"


def _is_same_text(old: Definition, new: Definition) -> bool:
    """Whether only comments on columns, or the frozen region, differ."""
    plain = [
        replace(d, columns=tuple((n, t, None) for n, t, _ in d.columns), frozen=None)
        for d in (old, new)
    ]
    return plain[0] == plain[1]


def _keeps_region(
    refresher: Refresher, spark: SparkSession, old: Definition, new: Definition
) -> bool:
    """Whether all rows that were frozen still are: what is not was not maintained since."""
    if old.frozen is None or new.frozen is None:
        return old.frozen is None
    if old.frozen.where == new.frozen.where:
        return True
    builtins = refresher.definer.builtins
    try:
        before = read_condition(spark, old.frozen.where, old.columns, builtins)
        after = read_condition(spark, new.frozen.where, new.columns, builtins)
    except Refused:
        return False  # as for another region
    inside = containing(before, after)
    return inside is not None and bool(spark.sql(f"SELECT {inside}").collect()[0][0])


def _derivable(
    refresher: Refresher,
    spark: SparkSession,
    table: DynamicTable,
    old: Compiled,
    new: Compiled,
    *,
    frozen: bool,
) -> ContentsVerdict:
    if old.stages == new.stages:
        return KeptContents()
    if old.values_of_rows or new.values_of_rows:
        raise Underivable("its rows have values of functions that no query gives again")
    if table.definition.frozen is not None or frozen:
        raise Underivable("its frozen rows do not follow from the query")
    if [s.stage for s in old.stages[:-1]] != [s.stage for s in new.stages[:-1]]:
        raise Underivable("its hidden state would differ")
    if set(old.public.stage.sources) != set(new.public.stage.sources):
        raise Underivable("its groups would count other rows")
    found = derivation(
        old.relation, new.relation, old.public.stage, new.public.stage, _keys(old.public)
    )
    path = refresher.sources.layout.public(table.id)
    rows = f"SELECT * FROM {sql_table(path)} VERSION AS OF {table.version}"
    if refresher.sources.catalog.warehouse(table.warehouse).suspended:
        raise Underivable("its warehouse is suspended")
    query = _query(found, new.public, rows)
    fields = [(f.name, f.dataType) for f in spark.sql(query).schema]
    if fields != [(f.name, f.dataType) for f in new.public.schema]:
        raise Underivable("a column would have another type")
    return Derivable(query, old, new)


def _keys(stage: CompiledStage) -> KeyColumns:
    if not isinstance(stage.sql, GroupSql):
        return KeyColumns()
    names = stage.sql.keys if not stage.sql.scalar else ()
    types = {f.name: type_text(f.dataType) for f in stage.schema}
    exact = (n for n in names if types[n] in _EXACT or types[n].startswith("decimal"))
    return KeyColumns(names, frozenset(exact))


def _query(found: Derivation, stage: CompiledStage, rows: str) -> str:
    items = [f"{e.sql(quote)} AS {quote(n)}" for n, e in found.columns]
    kept = (COUNT,) if isinstance(stage.sql, GroupSql) else STORED_ID
    where = " AND ".join(f"({e.sql(quote)})" for e in found.where)
    text = f"SELECT {', '.join([*items, *kept])}\nFROM (\n{rows}\n)" + (
        f"\nWHERE {where}" if where else ""
    )
    return stage.sql.derived(TextQuery(text)).sql


# -- committed -------------------------------------------------------------------------------------


def derive_contents(
    refresher: Refresher, table: DynamicTable, defined: Defined, found: Derivable
) -> RefreshRecord:
    """Commits the derived rows, as a refresh does; the definition is the new one with them. An
    error that it meets is recorded, and raised."""
    catalog, t = refresher.sources.catalog, _next(table)
    attempt = catalog.begin(
        table.id, RefreshTrigger.CREATION, t, uuid.uuid4().hex, refresher.tuning.lease_seconds,
        after=table.sequence,
    )  # fmt: skip
    choice = Choice(RefreshAction.INCREMENTAL, _REASON)
    record = RefreshRecord(
        table.name, attempt.id, RefreshState.EXECUTING, attempt.trigger, t, choice.action, _REASON
    )
    try:
        frontier = _pinned(refresher, table, t)
        version, statistics = _commit(refresher, table, defined, found, attempt, choice, frontier)
        done = replace(
            record,
            state=RefreshState.SUCCEEDED,
            frontier=frontier,
            version=version,
            statistics=statistics,
        )
        return catalog.finish(
            attempt,
            done,
            frontier=frontier,
            sequence=attempt.sequence,
            version=version,
            definition=defined.definition,
        )
    except BaseException as e:
        told = as_error(e, table.name) if isinstance(e, Exception) else _cut_off(table)
        failed = replace(record, state=RefreshState.FAILED, error_code=told.code, error=str(told))
        catalog.fail(attempt, failed, counts=False)
        raise


def _cut_off(table: DynamicTable) -> DTError:
    return error("DT-2106", name=table.name)


_REASON = Reason("DERIVED", "the rows of the new definition follow from those that it had")


def _next(table: DynamicTable) -> Timestamp:
    assert table.data_timestamp is not None
    return Timestamp(table.data_timestamp.micros, table.data_timestamp.logical + 1)


def _pinned(refresher: Refresher, table: DynamicTable, t: Timestamp) -> Frontier:
    """The frontier at the next time: the same versions, published to all."""
    assert table.frontier is not None
    versions: Mapping[str, int] = table.frontier.versions
    for source in table.definition.sources:
        if source.kind is SourceKind.DELTA:
            version = versions[source.table_id]
            refresher.sources.catalog.resolve(t, source.table_id, partial(int, version))
    return replace(table.frontier, data_timestamp=t)


def _commit(
    refresher: Refresher,
    table: DynamicTable,
    defined: Defined,
    found: Derivable,
    attempt: Attempt,
    choice: Choice,
    frontier: Frontier,
) -> tuple[int, RefreshStatistics]:
    sources, group = refresher.sources, f"{table.id}:{attempt.id}"
    target = Target(
        sources.layout.public(table.id), f"dt:{table.id}", attempt.sequence, table.version,
        table.cluster_by,
    )  # fmt: skip
    stages = {s: v for s, v in frontier.versions.items() if s.startswith("stage:")}
    origin = CommitOrigin(attempt, choice, defined.definition, frontier, stages)

    def run(spark: SparkSession) -> tuple[int, RefreshStatistics]:
        rows: DataFrame = spark.sql(found.query)
        new_schema = prepare(spark, target.path, found.new.public.schema, table, target.cluster_by)
        done = commit_stage(spark, sources, target, origin, Overwrite(rows, new_schema))
        return done.version, refresh_statistics(spark, group, [done])

    with refresher.sessions.lease(table.warehouse, table.definition.settings) as spark:
        return run_cancellable(spark, group, f"derive {table.name}", lambda: run(spark))
