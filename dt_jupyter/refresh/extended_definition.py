"""A definition that has more columns since its sources have: `*` takes what is there.

A Delta table has NULL in a column for the rows that are older than it. Where such columns only pass
through a query, its stored rows are right with NULLs in the new columns, and no row is computed
again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException

from dt_jupyter.definition import Compiled, Defined, Definer
from dt_jupyter.ivm import Bag, NamedColumns, Refused, Underivable, find_null_outputs
from dt_jupyter.lake import LakeError, TableLog, Unreadable
from dt_jupyter.model import Definition, DTError, DynamicTable, Frontier, Reason, RefreshMode
from dt_jupyter.refresh.compilations import Compilations
from dt_jupyter.refresh.decision import ExtendedDefinition
from dt_jupyter.refresh.observation import Look, plan_source
from dt_jupyter.refresh.redefinition import request_again
from dt_jupyter.sources import Sources
from dt_jupyter.spark import is_connect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OTHER = "the columns of a source changed in other ways too"


@dataclass(frozen=True)
class DefinitionExtender:
    """Finds the definition that a table continues with where its sources have more columns."""

    sources: Sources
    definer: Definer
    compilations: Compilations

    def extend(
        self, spark: SparkSession, table: DynamicTable, seen: Look, evolved: Reason
    ) -> ExtendedDefinition | Reason:
        """The definition over the columns of now, or why all rows are computed again: `evolved`,
        with what prevents it where a source has more columns. Reads no rows."""
        if table.frontier is None or table.effective_mode is RefreshMode.FULL:
            return evolved
        before, now = table.frontier.versions, seen.frontier.versions
        logs = {s.table_id: self.sources.logs[s.path] for s in seen.sources if s.path}
        try:
            added = {i: _added(log, before[i], now[i]) for i, log in logs.items()}
            if not any(added.values()):
                return evolved
            return self._extended(spark, table, seen, added)
        except Underivable as e:
            return replace(evolved, sentence=f"{evolved.sentence}; the new columns are not added "
                           f"to the stored rows, since {e}")  # fmt: skip
        except (LakeError, PySparkException, DTError, Refused, KeyError):
            return evolved  # the refresh meets it again, and says what it is

    def _extended(
        self,
        spark: SparkSession,
        table: DynamicTable,
        seen: Look,
        added: dict[str, frozenset[str]],
    ) -> ExtendedDefinition:
        old, frontier = table.definition, table.frontier
        assert frontier is not None
        if old.frozen is not None:
            raise Underivable("frozen rows do not follow from the query")
        if seen.reworded is not None or seen.functions != old.functions:
            raise Underivable("a view or a function was replaced")
        before = self.compilations.compile(spark, table.id, old, frontier)
        request = request_again(table, table.mode)
        define = partial(self.definer.define, spark, request, old.settings, verify=False)
        defined = define(at=seen.frontier)
        if defined.compiled is None:
            raise Underivable("the query has no incremental form over them")
        names = _new_columns(before, defined.compiled, old, defined, added)
        definition = replace(defined.definition, added=(*old.added, *names))
        self._require_changes(spark, frontier, seen, definition)
        return ExtendedDefinition(definition, names)

    def _require_changes(
        self, spark: SparkSession, before: Frontier, seen: Look, definition: Definition
    ) -> None:
        """Underivable where a change cannot be read in the columns of now."""
        for s in definition.sources:
            assert s.path is not None
            old, new = before.versions[s.table_id], seen.frontier.versions[s.table_id]
            log = self.sources.logs[s.path]
            plan = plan_source(log, old, new, s.columns, classic=not is_connect(spark))
            if isinstance(plan, Unreadable):
                raise Underivable(f"the changes of {s.name} cannot be read: {plan.sentence}")


def _added(log: TableLog, old: int, new: int) -> frozenset[str]:
    """The columns that a source has got, in lower case, NULL in the rows that it had. Underivable
    where they, or others, came in another way: RESTORE brings columns back with their values."""
    found = set[str]()
    for commit in log.commits(old, new):
        change = commit.schema
        if change is None:
            continue
        if change.added and commit.operation == "RESTORE":
            raise Underivable("RESTORE brought them back")
        if change.renamed or change.dropped or change.new_id or change.partitioning:
            raise Underivable(_OTHER)
        found |= {c.lower() for c in change.added}
    if found and log.metadata(new).is_linked:
        raise Underivable("files of other writers may have values for them")
    return frozenset(found)


def _new_columns(
    before: Compiled,
    now: Compiled,
    old: Definition,
    defined: Defined,
    added: dict[str, frozenset[str]],
) -> tuple[str, ...]:
    """The public columns that are NULL in the stored rows. Underivable."""
    if before.values_of_rows or now.values_of_rows:
        raise Underivable("its rows have values of functions that no query gives again")
    if [s.stage for s in before.stages[:-1]] != [s.stage for s in now.stages[:-1]]:
        raise Underivable("its hidden state would differ")
    if not all(isinstance(c.public.stage.top, Bag) for c in (before, now)):
        raise Underivable("its groups would differ")
    public = [tuple(n for n, _, _ in d.columns) for d in (old, defined.definition)]
    names = find_null_outputs(
        NamedColumns(before.relation, public[0]), NamedColumns(now.relation, public[1]), added
    )
    if any("timestamp_ntz" in t for n, t, _ in defined.definition.columns if n in names):
        raise Underivable("a new column has times without a zone, which its table may not take")
    rest = [(n, t) for n, t, _ in defined.definition.columns if n not in names]
    if rest != [(n, t) for n, t, _ in old.columns]:
        raise Underivable(_OTHER)
    return names
