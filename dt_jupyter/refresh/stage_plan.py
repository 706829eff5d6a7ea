"""What a refresh is going to do, as a value: EXPLAIN prints it, a refresh executes it.

A plan is made from logs alone, before anything runs. What depends on rows that are found on the way
is in it as deferred: the versions that hidden stages will have, keys that a change touches, and the
rows of other tables that these and the change select.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from dt_jupyter.definition import Compiled, CompiledStage
from dt_jupyter.ivm import (
    End,
    Join,
    Rel,
    Sizes,
    arranged,
    differentiate,
    key_relations,
    null_before,
    walk,
    with_keys,
)
from dt_jupyter.lake import ChangePlan, Unchanged
from dt_jupyter.model import Frontier, RefreshAction
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.observation import rows_of
from dt_jupyter.refresh.semijoin_reduction import SemiJoin, semi_joins

UNKNOWN_ROWS = 10**9
"""What a table counts as whose log does not tell its rows."""


class StageStatement(StrEnum):
    """What a step runs."""

    QUERY = "QUERY"
    """The user's own text: all rows, and no state."""
    INITIALISE = "INITIALISE"
    """All rows of a stage, with its state."""
    CHANGE = "CHANGE"
    """The change of a stage's rows, from the changes of what it reads."""
    NOTHING = "NOTHING"
    """The stage's rows stay as they are."""


@dataclass(frozen=True)
class SourceRead:
    """What a step reads of one source or hidden stage, by its id.

    Its rows as of version `new`; for a change, also of `old`, and `change` says by which reader the
    rows between come. `new` is None while an earlier step still has to make that version, `columns`
    None where the user's text names them. `rows` is the log's count, where the order of a join
    stands on it; `added` are the columns, with their types, that `old` does not have.
    """

    source: str
    columns: frozenset[str] | None
    old: int | None
    new: int | None
    change: ChangePlan | None = None
    rows: int | None = None
    added: tuple[tuple[str, str], ...] = ()

    @property
    def is_changed(self) -> bool:
        return self.change is not None and not isinstance(self.change, Unchanged)

    def version_at(self, end: End) -> int:
        version = self.old if end is End.OLD else self.new
        assert version is not None
        return version


@dataclass(frozen=True)
class Deferred:
    """Rows that are known once earlier ones are: `keys` are those of the n-th relation of touched
    keys, None for the change itself; `reduced_by` what bounds the rows that are read for it."""

    keys: Rel | None
    reduced_by: tuple[SemiJoin, ...]


@dataclass(frozen=True)
class StageStep:
    """One stage's move: commit `sequence` of its table, on the rows of `version` (None: there are
    none). `delta` is ΔQ with its joins in order, None unless the statement is a CHANGE that waits
    for no earlier step."""

    ordinal: int
    stage: str
    statement: StageStatement
    reads: tuple[SourceRead, ...]
    version: int | None
    sequence: int
    delta: Rel | None = None

    @property
    def waits_for(self) -> frozenset[str]:
        """The hidden stages whose new versions are not known yet."""
        return frozenset(r.source for r in self.reads if r.new is None)

    @property
    def changes(self) -> dict[str, ChangePlan]:
        """How each source changed, by id; empty unless the statement is a change."""
        return {r.source: r.change for r in self.reads if r.change is not None}

    @property
    def deferred(self) -> tuple[Deferred, ...]:
        """What the change computes on its way, in order; its own statement last."""
        if self.delta is None:
            return ()
        found, names = [], dict[Rel, str]()
        for keys in key_relations(self.delta):
            found.append(Deferred(keys, semi_joins(with_keys(keys, names))))
            names[keys] = f"touched_keys_{len(found)}"
        return (*found, Deferred(None, semi_joins(with_keys(self.delta, names))))


@dataclass(frozen=True)
class StagePlan:
    """The steps of a refresh in order; that of the public table is last, and the commit point.
    None where nothing changed."""

    action: RefreshAction
    steps: tuple[StageStep, ...]


# -- what a plan is made of -----------------------------------------------------------------------


class StageFacts(Protocol):
    """What is known of sources and hidden stages without reading rows, by id."""

    def rows(self, source: str) -> int | None:
        """How many it has now; None where its log does not tell."""

    def type_of(self, source: str, column: str) -> str | None:
        """A column's plain type now; None for none such."""

    def change(self, source: str, columns: frozenset[str], before: int, after: int) -> ChangePlan:
        """How the rows between two versions can be read."""

    def added(
        self, source: str, columns: frozenset[str], before: int, after: int
    ) -> dict[str, str]:
        """Those of the columns that only the later version has, with their Spark types."""


@dataclass(frozen=True)
class Standing:
    """Where a stage's table stands: its version and the frontier of its rows (None: it has no rows
    to go on from), and the sequence of its next commit."""

    version: int | None = None
    frontier: Frontier | None = None
    sequence: int = 1


@dataclass(frozen=True)
class Observation:
    """Where the sources are (`frontier`) and the stages' tables stand, the public one's last."""

    frontier: Frontier
    stages: tuple[Standing, ...]
    facts: StageFacts


# -- planning -------------------------------------------------------------------------------------


def plan_stages(compiled: Compiled | None, observation: Observation, choice: Choice) -> StagePlan:
    """The plan by which a refresh does what was chosen; `compiled` is None for a FULL table."""
    if choice.action is RefreshAction.NO_DATA:
        return StagePlan(choice.action, ())
    if compiled is None or leaves_state_out(compiled, choice):
        return StagePlan(choice.action, (_query(observation, compiled),))
    versions: dict[str, int | None] = dict(observation.frontier.versions)
    steps: list[StageStep] = []
    for ordinal, stage in enumerate(compiled.stages):
        standing = observation.stages[ordinal]
        if choice.action is not RefreshAction.INCREMENTAL:
            standing = replace(standing, frontier=None)
        step = plan_stage(stage, ordinal, standing, versions, observation.facts)
        steps.append(step)
        versions[stage.stage.id] = (
            step.version if step.statement is StageStatement.NOTHING else None
        )
    return StagePlan(choice.action, tuple(steps))


def leaves_state_out(compiled: Compiled, choice: Choice) -> bool:
    """Whether all rows are computed by the query itself, which is cheaper, as they can be."""
    return not choice.keeps_state and compiled.public.stateless(1) is not None


def _query(observation: Observation, compiled: Compiled | None) -> StageStep:
    """All rows of the public table by the user's text."""
    standing = observation.stages[-1]
    versions = observation.frontier.versions
    reads = tuple(SourceRead(s, None, None, versions[s]) for s in sorted(versions))
    stage = compiled.public.stage.id if compiled is not None else ""
    ordinal = len(observation.stages) - 1
    return StageStep(
        ordinal, stage, StageStatement.QUERY, reads, standing.version, standing.sequence
    )


def plan_stage(
    stage: CompiledStage,
    ordinal: int,
    standing: Standing,
    versions: Mapping[str, int | None],
    facts: StageFacts,
) -> StageStep:
    """The step that moves a stage from where it stands to these versions of what it reads, None
    for those to come; without a frontier to start from, all of its rows."""
    old = standing.frontier.versions if standing.frontier is not None else None
    reads = tuple(
        SourceRead(s, columns, None if old is None else old[s], versions[s])
        for s, columns in stage.reads.items()
    )
    statement = StageStatement.INITIALISE if old is None else StageStatement.CHANGE
    step = StageStep(ordinal, stage.stage.id, statement, reads, standing.version, standing.sequence)
    return _add_changes(step, stage, facts)


def resolve_step(
    step: StageStep, stage: CompiledStage, versions: Mapping[str, int], facts: StageFacts
) -> StageStep:
    """A step whose earlier ones have run: these are the versions that they made."""
    if not step.waits_for:
        return step
    reads = tuple(replace(r, new=versions[r.source]) if r.new is None else r for r in step.reads)
    return _add_changes(replace(step, reads=reads), stage, facts)


def _add_changes(step: StageStep, stage: CompiledStage, facts: StageFacts) -> StageStep:
    """The step with how its sources changed; with ΔQ once all their versions are known."""
    if step.statement is not StageStatement.CHANGE:
        return step
    counted = any(isinstance(n, Join) and len(n.members) > 1 for n in walk(stage.stage.input))
    reads = tuple(_add_change(r, facts, counted) for r in step.reads)
    step = replace(step, reads=reads)
    if step.waits_for:
        return step
    delta = _derivative(stage.stage.input, reads, facts)
    statement = StageStatement.CHANGE if delta is not None else StageStatement.NOTHING
    return replace(step, delta=delta, statement=statement)


def _add_change(read: SourceRead, facts: StageFacts, counted: bool) -> SourceRead:
    if read.new is None or read.change is not None:
        return read
    assert read.old is not None
    assert read.columns is not None
    change = facts.change(read.source, read.columns, read.old, read.new)
    rows = facts.rows(read.source) if counted else None
    added = dict[str, str]()
    if not isinstance(change, Unchanged):  # else it is read at its new end alone
        added = facts.added(read.source, read.columns, read.old, read.new)
    return replace(read, change=change, rows=rows, added=tuple(added.items()))


def _derivative(rel: Rel, reads: tuple[SourceRead, ...], facts: StageFacts) -> Rel | None:
    """ΔQ, its joins in the order that is cheapest to move; None: there is no change."""
    rows = {r.source: UNKNOWN_ROWS if r.rows is None else r.rows for r in reads}
    changed = changed_rows(reads)
    sizes = Sizes(rows.__getitem__, changed, facts.type_of)
    delta = differentiate(arranged(rel, sizes), frozenset(changed))
    return delta and null_before(delta, {r.source: dict(r.added) for r in reads})


def changed_rows(reads: Iterable[SourceRead]) -> dict[str, int | None]:
    """The rows of the changes, by source, of those that have any."""
    return {r.source: rows_of(r.change) for r in reads if r.change is not None and r.is_changed}
