"""EXPLAIN: how a definition is kept, and the very statements that its next refresh runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dt_jupyter.engine.tree import PlanNode, Size, tree
from dt_jupyter.engine.views import Explanation, PlanStep
from dt_jupyter.lake import ChangePlan, Feed, Relation, Small, Unchanged, is_delta, plan_changes
from dt_jupyter.lake.paths import sql_string
from dt_jupyter.model import (
    DynamicTable,
    Frontier,
    Name,
    RefreshAction,
    RefreshMode,
    Timestamp,
    quote,
)
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh.apply import StageRun
from dt_jupyter.refresh.compiled import Compiled, CompiledStage
from dt_jupyter.refresh.define import Defined
from dt_jupyter.refresh.look import Look
from dt_jupyter.refresh.run import Refresher
from dt_jupyter.sql.render import Renderer

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
        name, defined.mode, defined.reason, defined.definition.columns,
        tuple((str(s.name), s.kind.value) for s in defined.definition.sources), tuple(steps),
        hint=defined.hint, checked=defined.checked, tree=drawn,
    )  # fmt: skip


def explain_table(
    spark: SparkSession, refresher: Refresher, table: DynamicTable, t: Timestamp
) -> Explanation:
    """EXPLAIN DYNAMIC TABLE: the action of a refresh to `t`, its reason, and its statements."""
    seen, choice = refresher.explain_choice(table, t)
    base = Explanation(
        table.name, table.effective_mode, table.mode_reason, table.definition.columns,
        tuple((str(s.name), s.kind.value) for s in table.definition.sources), (),
        choice.action, choice.reason,
    )  # fmt: skip
    definition = refresher.definition_for(spark, table, seen, choice)
    nothing = choice.action is RefreshAction.NO_DATA
    if table.effective_mode is RefreshMode.FULL:
        if nothing:
            return base
        text = refresher.full_text(definition, seen.frontier)
        return replace(base, steps=(PlanStep("contents", text),))
    compiled = refresher.compiled(spark, table.id, definition, seen.frontier)
    drawn = replace(base, tree=_tree(refresher, table, compiled, seen))
    if nothing:
        return drawn
    again = choice.action is not RefreshAction.INCREMENTAL
    forecast = _Forecast(
        spark, refresher, replace(table, definition=definition), compiled, again, choice.keeps_state
    )
    return replace(drawn, steps=forecast.steps(seen.frontier))


def _tree(
    refresher: Refresher, table: DynamicTable, compiled: Compiled, seen: Look
) -> tuple[PlanNode, ...]:
    """The tree with the rows of sources and stages as their logs tell them."""
    layout, logs = refresher.sources.layout, refresher.sources.logs
    sizes: dict[str, Size] = {}
    for source in seen.sources:
        if source.path is not None:
            changed = getattr(seen.plans.get(source.table_id), "rows", None)
            sizes[source.table_id] = Size(logs[source.path].size().rows, changed)
    last = len(compiled.stages) - 1
    for i, stage in enumerate(compiled.stages):
        path = layout.public(table.id) if i == last else layout.stage(table.id, i)
        if is_delta(path):
            sizes[stage.stage.id] = Size(logs[str(path)].size().rows)
    names = {s.table_id: str(s.name) for s in seen.sources}
    names |= {s.stage.id: f"hidden stage {i}" for i, s in enumerate(compiled.stages)}
    return tree(tuple(s.stage for s in compiled.stages), names, sizes)


def _what(compiled: Compiled, ordinal: int) -> str:
    return "the table" if ordinal == len(compiled.stages) - 1 else f"hidden stage {ordinal}"


@dataclass(frozen=True)
class _Forecast:
    """The statements of a refresh that is not run. A hidden stage that changes will have its next
    version when the stages above read it: their statements name it."""

    spark: SparkSession
    refresher: Refresher
    table: DynamicTable
    compiled: Compiled
    again: bool
    keeps_state: bool

    def steps(self, frontier: Frontier) -> tuple[PlanStep, ...]:
        if not self.keeps_state and self.compiled.public.stateless(1) is not None:
            alone = self.refresher.defining_text(self.table.definition, frontier, self.compiled)
            return (PlanStep("contents of the table", alone),)
        versions = dict(frontier.versions)
        steps: list[PlanStep] = []
        for i, stage in enumerate(self.compiled.stages):
            keys: list[str] = []
            text = self._statement(i, stage, Frontier(frontier.data_timestamp, versions), keys)
            if i < len(self.compiled.stages) - 1:
                version = self._version(i) or 0
                versions[stage.stage.id] = version + 1 if text else version
            what = _what(self.compiled, i)
            for n, key in enumerate(keys, 1):
                steps.append(PlanStep(f"touched_keys_{n} of {what}", key))
            if text:
                title = "contents of" if self.again else "change of"
                steps.append(PlanStep(f"{title} {what}", text))
        return tuple(steps)

    def _statement(
        self, ordinal: int, stage: CompiledStage, new: Frontier, keys: list[str]
    ) -> str | None:
        """The statement of a stage's change; those of its touched keys go into `keys`."""
        run = self._run(ordinal, stage, new, keys)
        if self.again:
            return run.initial_text()
        run.reading.relations.update(self._stage_changes(ordinal, stage, new))
        delta = run.delta()
        return run.change_text(delta) if delta is not None else None

    def _run(
        self, ordinal: int, stage: CompiledStage, new: Frontier, keys: list[str]
    ) -> StageRun:  # fmt: skip
        layout, logs = self.refresher.sources.layout, self.refresher.sources.logs
        public = stage is self.compiled.public
        own = layout.public(self.table.id) if public else layout.stage(self.table.id, ordinal)
        known = {s.table_id: logs[s.path] for s in self.table.definition.sources if s.path}
        for i, earlier in enumerate(self.compiled.stages[:ordinal]):
            known[earlier.stage.id] = logs[str(layout.stage(self.table.id, i))]
        plans: dict[str, ChangePlan] = {}
        if not self.again:
            plans = {s: self._plan(s, columns, new) for s, columns in stage.reads.items()}
        return StageRun(
            self.spark, self.table.name, stage, own, logs[str(own)], self._version(ordinal),
            self.table.frontier, new, known, plans, self.table.sequence + 1,
            layout.staging("explain"), _READ_BY_SPARK, key_texts=keys,
        )  # fmt: skip

    def _plan(self, source: str, columns: frozenset[str], new: Frontier) -> ChangePlan:
        assert self.table.frontier is not None
        before, after = self.table.frontier.versions[source], new.versions[source]
        if before == after:
            return Unchanged()
        found = next((s for s in self.table.definition.sources if s.table_id == source), None)
        if found is None or found.path is None:
            return Feed(after, after, None, 0, 0)
        return plan_changes(self.refresher.sources.logs[found.path], before, after, columns)

    def _stage_changes(
        self, ordinal: int, stage: CompiledStage, new: Frontier
    ) -> dict[str, Relation]:
        """The change feeds of the hidden stages below, at the versions to come."""
        found = {}
        for i, earlier in enumerate(self.compiled.stages[:ordinal]):
            columns = stage.reads.get(earlier.stage.id)
            if columns is None:
                continue
            version = new.versions[earlier.stage.id]
            path = sql_string(str(self.refresher.sources.layout.stage(self.table.id, i)))
            names = ", ".join(quote(c) for c in sorted(columns))
            weight = f"IF(_change_type IN ('insert', 'update_postimage'), 1L, -1L) AS {WEIGHT}"
            feed = f"table_changes_by_path({path}, {version}, {version})"
            sql = f"(SELECT {names}, {weight} FROM {feed})"
            found[earlier.stage.id] = Relation(sql, "feed", "forecast", None)
        return found

    def _version(self, ordinal: int) -> int | None:
        if ordinal == len(self.compiled.stages) - 1:
            return self.table.version
        rows = self.refresher.sources.catalog.stages(self.table.id)
        return next((r.version for r in rows if r.ordinal == ordinal), None)
