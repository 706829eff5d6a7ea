"""EXPLAIN: how a definition is kept, and the very statements that its next refresh runs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dt_jupyter.definition import Compiled, Defined, defining_text
from dt_jupyter.evaluation import Evaluator
from dt_jupyter.ivm import PlanNode, Size, tree
from dt_jupyter.lake import (
    ChangePlan,
    Feed,
    count_shown_rows,
    is_delta,
    sql_path,
)
from dt_jupyter.model import (
    DynamicTable,
    Frontier,
    Name,
    Source,
    Timestamp,
    Tuning,
    quote,
)
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh import (
    KeptRegion,
    Look,
    Refresher,
    SourceRead,
    StageFacts,
    StageForecast,
    StagePlan,
    StageStatement,
    StageStep,
    StageTexts,
    kept_region,
    logs_of,
    resolve_step,
    source_sizes,
)
from dt_jupyter.reports.explanation_values import Explanation, PlanStep, few_rows_sentence
from dt_jupyter.sources import Sources
from dt_jupyter.sql import Renderer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def explain_defined(name: Name, defined: Defined) -> Explanation:
    """EXPLAIN CREATE DYNAMIC TABLE: everything that CREATE would decide, and nothing made."""
    steps: list[PlanStep] = []
    drawn: tuple[PlanNode, ...] = ()
    names = {s.table_id: s.name.sql for s in defined.definition.sources}
    if defined.compiled is not None:
        shown = {s.table_id: str(s.name) for s in defined.definition.sources}
        drawn = tree(tuple(s.stage for s in defined.compiled.stages), shown, {})
        for i, stage in enumerate(defined.compiled.stages):
            render = Renderer(lambda scan: names.get(scan.source, scan.source))
            title = f"initial contents of {_what(defined.compiled, i)}"
            steps.append(PlanStep(title, stage.sql.initial(render).sql))
    return Explanation(
        name,
        defined.mode,
        defined.reason,
        defined.definition.columns,
        tuple((str(s.name), s.kind.value) for s in defined.definition.sources),
        tuple(steps),
        hint=defined.hint,
        checked=defined.checked,
        tree=drawn,
    )


def explain_table(
    spark: SparkSession, refresher: Refresher, table: DynamicTable, t: Timestamp
) -> Explanation:
    """EXPLAIN DYNAMIC TABLE: the plan of a refresh to `t`, its reason, and its statements."""
    planned, seen, choice = refresher.explain_choice(table, t)
    planned, definition = refresher.definition_for(spark, planned, seen, choice)
    compiled, observation, plan = refresher.plan(spark, planned, definition, seen, choice)
    found = Explanation(
        table.name,
        table.effective_mode,
        table.mode_reason,
        table.definition.columns,
        tuple((str(s.name), _kind(refresher.sources, s)) for s in table.definition.sources),
        (),
        choice.action,
        choice.reason,
        plan=plan,
    )
    if compiled is not None:
        found = replace(found, tree=_tree(refresher, table, compiled, seen))
    shown = _PlanPrinter(
        spark,
        refresher.sources,
        refresher.definer.builtins,
        replace(table, definition=definition),
        seen.frontier,
        compiled,
        observation.facts,
        refresher.tuning,
        refresher.evaluator,
    )
    return replace(found, steps=tuple(shown.steps(plan)))


def _tree(
    refresher: Refresher, table: DynamicTable, compiled: Compiled, seen: Look
) -> tuple[PlanNode, ...]:
    """The tree with the rows of sources and stages from their logs."""
    layout, logs = refresher.sources.layout, refresher.sources.logs
    columns = refresher.small.columns
    sizes = source_sizes(logs, seen, columns)
    last = len(compiled.stages) - 1
    for i, stage in enumerate(compiled.stages):
        path = layout.public(table.id) if i == last else layout.stage(table.id, i)
        if is_delta(path):
            sizes[stage.stage.id] = Size(count_shown_rows(logs[str(path)], columns))
    names = {s.table_id: str(s.name) for s in seen.sources}
    names |= {s.stage.id: f"hidden stage {i}" for i, s in enumerate(compiled.stages)}
    return tree(tuple(s.stage for s in compiled.stages), names, sizes)


def _kind(sources: Sources, source: Source) -> str:
    """What a source is; of files, which and how many its newest list has."""
    return sources.describe_source(source.path) or source.kind.value


def _what(compiled: Compiled, ordinal: int) -> str:
    return "the table" if ordinal == len(compiled.stages) - 1 else f"hidden stage {ordinal}"


@dataclass(frozen=True)
class _PlanPrinter:
    """The statements of a plan that is not executed. What an earlier step has yet to make is named
    by the version that it would have, and all rows are read by Spark."""

    spark: SparkSession
    sources: Sources
    builtins: frozenset[str]
    table: DynamicTable
    frontier: Frontier
    compiled: Compiled | None
    facts: StageFacts
    tuning: Tuning
    evaluator: Evaluator

    def steps(self, plan: StagePlan) -> Iterator[PlanStep]:
        versions = dict(self.frontier.versions)
        for step in plan.steps:
            if step.statement is StageStatement.QUERY or self.compiled is None:
                yield self._query()
                continue
            foretold = _ForecastFacts(self.facts, step.waits_for)
            stage = self.compiled.stages[step.ordinal]
            settled = resolve_step(step, stage, versions, foretold)
            version = settled.version or 0
            made = settled.statement is not StageStatement.NOTHING
            versions[settled.stage] = version + 1 if made else version
            yield from self._statements(settled, step.waits_for) if made else ()

    def _query(self) -> PlanStep:
        definition, region = self.table.definition, self._region(whole=True)
        kept = region.rows if region is not None else None
        text = defining_text(
            self.sources.logs, definition, self.frontier, self.compiled, whole=kept is None
        )
        both = text if kept is None else f"{text}\nUNION ALL\n{kept}"
        return PlanStep("contents" if self.compiled is None else "contents of the table", both)

    def _region(self, *, whole: bool) -> KeptRegion | None:
        t = self.frontier.data_timestamp
        definition = self.table.definition
        return kept_region(self.sources, self.builtins, self.table, definition, t, whole=whole)

    def _statements(self, step: StageStep, foretold: frozenset[str]) -> Iterator[PlanStep]:
        """The statement of a step, after those of the keys that it touches."""
        forecast, what = self._forecast(step, foretold), self._what(step)
        if step.statement is StageStatement.INITIALISE:
            yield PlanStep(f"contents of {what}", forecast.initial())
            return
        for found in forecast.change():
            title = f"{found.keys} of {what}" if found.keys else f"change of {what}"
            yield PlanStep(title, found.text, few_rows_sentence(found.decision))

    def _what(self, step: StageStep) -> str:
        assert self.compiled is not None
        return _what(self.compiled, step.ordinal)

    def _forecast(self, step: StageStep, foretold: frozenset[str]) -> StageForecast:
        assert self.compiled is not None
        layout, table = self.sources.layout, self.table
        stage = self.compiled.stages[step.ordinal]
        public = stage is self.compiled.public
        new = step.statement is StageStatement.INITIALISE
        own = layout.public(table.id) if public else layout.stage(table.id, step.ordinal)
        return StageForecast(
            self.spark,
            StageTexts(self.spark, stage, step, self._region(whole=new) if public else None),
            self.sources.logs[str(own)],
            logs_of(self.sources, table.id, table.definition, self.compiled),
            self.evaluator,
            self.tuning,
            {r.source: self._change_to_come(r) for r in step.reads if r.source in foretold},
        )

    def _change_to_come(self, read: SourceRead) -> str:
        """The change feed of a hidden stage, at the version to come."""
        ordinal = int(read.source.partition(":")[2])
        path = sql_path(self.sources.layout.stage(self.table.id, ordinal))
        names = ", ".join(quote(c) for c in sorted(read.columns or ()))
        weight = f"IF(_change_type IN ('insert', 'update_postimage'), 1L, -1L) AS {WEIGHT}"
        feed = f"table_changes_by_path({path}, {read.new}, {read.new})"
        return f"(SELECT {names}, {weight} FROM {feed})"


@dataclass(frozen=True)
class _ForecastFacts:
    """StageFacts where some hidden stages have moved by one version, which is not there yet."""

    facts: StageFacts
    moved: frozenset[str]

    def rows(self, source: str) -> int | None:
        return self.facts.rows(source)

    def type_of(self, source: str, column: str) -> str | None:
        return self.facts.type_of(source, column)

    def change(self, source: str, columns: frozenset[str], before: int, after: int) -> ChangePlan:
        if source in self.moved and before != after:
            return Feed(after, after, None, 0, 0)
        return self.facts.change(source, columns, before, after)

    def added(
        self, source: str, columns: frozenset[str], before: int, after: int
    ) -> dict[str, str]:
        return {} if source in self.moved else self.facts.added(source, columns, before, after)
