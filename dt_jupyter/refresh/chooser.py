"""What a choice of an action is made by: definitions that mean something else, costs, formats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.definition import (
    Definer,
    Outputs,
    changed_meaning,
    changed_outputs,
    expected,
    outputs_of,
    too_wide,
)
from dt_jupyter.failures import as_error
from dt_jupyter.functions import calls_only_sql
from dt_jupyter.ivm import Bag, Size, monotone, total_size
from dt_jupyter.lake import Added, Feed, Unchanged
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Frontier,
    Name,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
    SourceKind,
    Tuning,
)
from dt_jupyter.refresh.compilations import Compilations
from dt_jupyter.refresh.cost import STATE_REBUILT, Work, cheaper_whole, keeps_state, with_costs
from dt_jupyter.refresh.decision import Choice, ExtendedDefinition, choose
from dt_jupyter.refresh.execute import FORMAT, STATE_FORMAT
from dt_jupyter.refresh.extended_definition import DefinitionExtender
from dt_jupyter.refresh.observation import Look, rows_of, source_sizes
from dt_jupyter.refresh.query_session import list_anew, use_schema
from dt_jupyter.sources import Sources, reads_the_clock, text_at
from dt_jupyter.spark import RefreshSessions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_MANY = 5
"""Fewer changed sources than this never make a change too wide to be followed."""


@dataclass(frozen=True)
class Chooser:
    """Chooses the action of a refresh by what it found."""

    sources: Sources
    definer: Definer
    sessions: RefreshSessions
    compilations: Compilations
    tuning: Tuning

    @property
    def extender(self) -> DefinitionExtender:
        """Finds the definitions of tables whose sources have more columns."""
        return DefinitionExtender(self.sources, self.definer, self.compilations)

    def choose(self, table: DynamicTable, seen: Look, *, full: bool = False) -> Choice:
        """The action of a refresh that found this; nothing is recorded. `full`: a user asks
        for all rows to be recomputed, which a table whose rows may be wrong does anyway."""
        invalid, extended = seen.invalid, None
        if invalid is None and seen.evolved and table.frontier is not None:
            evolution = self._evolution(table, seen)
            if isinstance(evolution, ExtendedDefinition):
                extended = evolution
            else:
                invalid = evolution and (seen.reworded or evolution)
        if invalid is None and table.frontier is not None and self._is_of_another_format(table):
            invalid = Reason("STATE_FORMAT", "another release of dt_jupyter has written it")
        choice = choose(table, seen.plans, seen.names, invalid, extended)
        if full and invalid is None and table.frontier is not None:
            reason = Reason("FULL_REQUESTED", "a full refresh was requested")
            return replace(choice, action=RefreshAction.FULL, reason=reason)
        if choice.action is RefreshAction.NO_DATA and _clock_moved(table, seen):
            reason = Reason("CLOCK_MOVED", "the query uses the current time, which has changed")
            return replace(choice, action=RefreshAction.FULL, reason=reason)
        if choice.action is not RefreshAction.INCREMENTAL:
            return choice
        if table.mode is RefreshMode.AUTO and self._may_compute_all(table):
            work = self._work(table, seen)
            history = self._history(table, work)
            if anew := work and cheaper_whole(work, history, self.tuning):
                keeps = keeps_state(history)
                return replace(choice, action=RefreshAction.FULL, reason=anew, keeps_state=keeps)
            choice = replace(choice, reason=with_costs(choice.reason, work, history))
        if table.frontier is not None and table.frontier.stateless:
            reason = Reason(STATE_REBUILT, "the last refresh did not keep its state")
            return replace(choice, action=RefreshAction.REINITIALIZE, reason=reason)
        if wide := self._too_wide(table, seen, choice):
            return replace(choice, action=RefreshAction.REINITIALIZE, reason=wide)
        return choice

    def _history(self, table: DynamicTable, work: Work | None) -> list[RefreshRecord]:
        """What a cost is judged by; none of a small table, whatever its refreshes have cost."""
        if work is None or work.rows < self.tuning.small_table_rows:
            return []
        return self.sources.catalog.measured(table.id)

    def _may_compute_all(self, table: DynamicTable) -> bool:
        """Whether a cost may decide it: the cost of the user's functions is unknown."""
        return calls_only_sql(self.sources.catalog, table.definition.functions)

    def _too_wide(self, table: DynamicTable, seen: Look, choice: Choice) -> Reason | None:
        """Why the sources that changed are too many to be followed; None where they are not."""
        if len(choice.changed) < _MANY:
            return None
        compiled = self.compilations.last(table.id)
        if compiled is None:
            with self.sessions.lease(table.warehouse, table.definition.settings) as spark:
                compiled = self.compilations.compile(
                    spark, table.id, table.definition, seen.frontier
                )
        return too_wide(tuple(s.stage for s in compiled.stages), choice.changed)

    def _is_of_another_format(self, table: DynamicTable) -> bool:
        log = self.sources.logs[str(self.sources.layout.public(table.id))]
        return bool(log.properties().get(FORMAT) != STATE_FORMAT)

    def _work(self, table: DynamicTable, seen: Look) -> Work | None:
        """The size of the change, from the logs alone; None where they do not show it."""
        size = self.size(seen)
        if size.rows is None or size.changed is None:
            return None
        known = self.compilations.last(table.id)
        simple = known is not None and all(
            isinstance(s.stage.top, Bag) and monotone(s.stage.input) for s in known.stages
        )
        append = simple and all(isinstance(p, Added | Unchanged) for p in seen.plans.values())
        large = any((rows_of(p) or 0) > self.tuning.read_rows for p in seen.plans.values())
        return Work(int(size.changed), int(size.rows), append, self._searched(seen), large)

    def _searched(self, seen: Look) -> int:
        """The rows that Spark reads to find the changed ones: for each commit those of all files
        in which it deleted some, where the change is not read in this process."""
        rows = 0.0
        for source in seen.sources:
            plan = seen.plans.get(source.table_id)
            if not isinstance(plan, Feed) or source.path is None:
                continue
            size = self.sources.logs[source.path].size()
            if size.rows and size.bytes and (plan.rows or 0) > self.tuning.read_rows:
                rows += size.rows * plan.marked_bytes / size.bytes
        return int(rows)

    def size(self, seen: Look) -> Size:
        """Of all sources together, as EXPLAIN shows those of each."""
        return total_size(source_sizes(self.sources.logs, seen).values())

    def _evolution(self, table: DynamicTable, seen: Look) -> Reason | ExtendedDefinition | None:
        """Why the text means something else over the columns that its sources have now; the
        definition to continue with where those are more, and the stored rows are right."""
        assert table.frontier is not None
        old = table.definition
        now = replace(old, sources=seen.sources, views=seen.views, functions=seen.functions)
        with self.sessions.lease(table.warehouse, old.settings) as spark:
            list_anew(spark, old)
            use_schema(spark, old)
            outputs = self._outputs(spark, table.name, now, seen.frontier)
            moved = changed_outputs(expected(old), outputs)
            if any(s.kind is SourceKind.FOREIGN for s in seen.sources):
                return moved
            moved = moved or self._moved_meaning(spark, table.frontier, old, now, seen)
            return moved and self.extender.extend(spark, table, seen, moved)

    def _moved_meaning(
        self, spark: SparkSession, before: Frontier, old: Definition, now: Definition, seen: Look
    ) -> Reason | None:
        """The same of a text whose columns have the names, types and places that they had."""
        meant = self.definer.relation(spark, old, before)
        return changed_meaning(meant, self.definer.relation(spark, now, seen.frontier))

    def _outputs(
        self, spark: SparkSession, name: Name, definition: Definition, frontier: Frontier
    ) -> Outputs:
        try:
            return outputs_of(
                spark.sql(text_at(self.sources.logs, definition, frontier)).schema.fields
            )
        except PySparkException as e:
            raise as_error(e, name) from e


def _clock_moved(table: DynamicTable, seen: Look) -> bool:
    """Whether a FULL table has other rows at the new data timestamp, though no source changed;
    incremental ones do not ask for the time."""
    if table.frontier is None or table.effective_mode is not RefreshMode.FULL:
        return False
    return reads_the_clock(
        table.definition, table.frontier.data_timestamp, seen.frontier.data_timestamp
    )
