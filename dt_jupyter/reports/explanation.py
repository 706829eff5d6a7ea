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
    NotSupported,
    Relation,
    Small,
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
    StagePlan,
    StageRun,
    StageStatement,
    StageStep,
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


_READ_BY_SPARK = Small(rows=-1, bytes=-1)


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
            steps.append(PlanStep(title, stage.sql.initial(render)))
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
    """The tree with the rows of sources and stages as their logs tell them."""
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
        return kept_region(self.sources, self.table, self.table.definition, t, whole=whole)

    def _statements(self, step: StageStep, foretold: frozenset[str]) -> Iterator[PlanStep]:
        """The statement of a step, after those of the keys that it touches."""
        assert self.compiled is not None
        keys: list[str] = []
        run, what = self._run(step, keys), _what(self.compiled, step.ordinal)
        if step.statement is StageStatement.INITIALISE:
            yield PlanStep(f"contents of {what}", run.initial_text())
            return
        run.reading.relations.update(
            {r.source: self._change_to_come(r) for r in step.reads if r.source in foretold}
        )
        delta = run.delta()
        text = run.change_text(delta) if delta is not None else None
        few = self._of_few_rows(step)
        for n, (key, sentence) in enumerate(zip(keys, few, strict=False), 1):
            yield PlanStep(f"touched_keys_{n} of {what}", key, sentence)
        if text is not None:
            yield PlanStep(f"change of {what}", text, few[-1])

    def _of_few_rows(self, step: StageStep) -> list[str]:
        """Of each statement of a step, what becomes of it where all its rows are at hand."""
        run = self._run(step, [], imagines=True)
        try:
            delta = run.delta()
            text = run.change_text(delta) if delta is not None else None
        except NotSupported as e:
            return [few_rows_sentence(e.sentence)] * (len(run.left_out) + 1)
        last = run.reading.views.imagine("", text) if text is not None else None
        return [few_rows_sentence(left) for left in (*run.left_out, last)]

    def _run(self, step: StageStep, keys: list[str], *, imagines: bool = False) -> StageRun:
        assert self.compiled is not None
        layout, table = self.sources.layout, self.table
        stage = self.compiled.stages[step.ordinal]
        public = stage is self.compiled.public
        new = step.statement is StageStatement.INITIALISE
        own = layout.public(table.id) if public else layout.stage(table.id, step.ordinal)
        return StageRun(
            self.spark,
            table.name,
            stage,
            step,
            self.sources.logs[str(own)],
            logs_of(self.sources, table.id, table.definition, self.compiled),
            layout.staging("explain"),
            self.tuning,
            small=_READ_BY_SPARK,
            evaluator=self.evaluator if imagines else None,
            key_texts=keys,
            imagines=imagines,
            region=self._region(whole=new) if public else None,
        )

    def _change_to_come(self, read: SourceRead) -> Relation:
        """The change feed of a hidden stage, at the version to come."""
        ordinal = int(read.source.partition(":")[2])
        path = sql_path(self.sources.layout.stage(self.table.id, ordinal))
        names = ", ".join(quote(c) for c in sorted(read.columns or ()))
        weight = f"IF(_change_type IN ('insert', 'update_postimage'), 1L, -1L) AS {WEIGHT}"
        feed = f"table_changes_by_path({path}, {read.new}, {read.new})"
        return Relation(f"(SELECT {names}, {weight} FROM {feed})", "feed", "forecast", None)


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
