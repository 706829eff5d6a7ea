"""The plan of a refresh, made of facts alone: no Spark, no rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pyspark.sql.types import StructType

from dt_jupyter.definition.compile import Compiled, CompiledStage
from dt_jupyter.ivm import Join, compile_stages, differentiate, scans, walk
from dt_jupyter.lake import Added, ChangePlan, Feed, FileDiff, Unchanged, Unreadable
from dt_jupyter.model import Frontier, Name, Reason, RefreshAction, Source, SourceKind, Timestamp
from dt_jupyter.refresh.decision import Choice
from dt_jupyter.refresh.stage_facts import LogFacts
from dt_jupyter.refresh.stage_plan import (
    Observation,
    StagePlan,
    StageStatement,
    StageStep,
    Standing,
    plan_stages,
    resolve_step,
)
from dt_jupyter.sql.emit.state_sql import stage_sql
from tests.recorded_plans import RecordedPlans
from tests.unit.delta_logs import Written, add, column, info, metadata, remove

PLANS = RecordedPlans.of(__file__)
TABLES = {"p": "id INT, k INT, v INT", "q": "id INT, k INT, v INT", "dim": "k INT, name INT"}
NOW = Timestamp.parse("2026-01-01T00:00:00Z")
QUERY, INITIALISE = StageStatement.QUERY, StageStatement.INITIALISE
CHANGE, NOTHING = StageStatement.CHANGE, StageStatement.NOTHING
NESTED = "SELECT n, count(*) AS c FROM (SELECT k, count(*) AS n FROM p GROUP BY k) GROUP BY n"


@dataclass(frozen=True)
class Told:
    """Facts as a dictionary tells them; a change of what is not in it is a feed of two rows."""

    counts: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, ChangePlan] = field(default_factory=dict)

    def rows(self, source: str) -> int | None:
        return self.counts.get(source)

    def type_of(self, source: str, column: str) -> str | None:
        return "int"

    def change(self, source: str, columns: frozenset[str], before: int, after: int) -> ChangePlan:
        feed = Feed(before + 1, after, 2, 10, 1)
        return Unchanged() if before == after else self.changed.get(source, feed)

    def added(
        self, source: str, columns: frozenset[str], before: int, after: int
    ) -> dict[str, str]:
        return {}


def compiled(query: str) -> Compiled:
    rel = PLANS.relation(query, TABLES)
    names = tuple(f"c{i}" for i in range(len(rel.columns)))
    made = compile_stages(rel, names, lambda r: dict.fromkeys(r.columns, "int"))
    stages = []
    for stage in made:
        types = tuple("int" for _ in names if stage is made[-1])
        stages.append(CompiledStage(stage, stage_sql(stage, types), StructType([])))
    return Compiled(tuple(stages), rel, False)


def frontier(**versions: int) -> Frontier:
    return Frontier(NOW, {k.replace("stage", "stage:"): v for k, v in versions.items()})


def choice(action: RefreshAction, *, keeps_state: bool = True) -> Choice:
    return Choice(action, Reason("TEST", "it is asked for"), keeps_state=keeps_state)


INCREMENTAL = choice(RefreshAction.INCREMENTAL)


def planned(
    query: str,
    new: Frontier,
    *stages: Standing,
    facts: Told | None = None,
    by: Choice = INCREMENTAL,
) -> StagePlan:
    return plan_stages(compiled(query), Observation(new, stages, facts or Told()), by)


def statements(plan: StagePlan) -> list[StageStatement]:
    return [s.statement for s in plan.steps]


# -- which statement ------------------------------------------------------------------------------


def test_nothing_new_is_no_step() -> None:
    plan = planned("SELECT id FROM p", frontier(p=3), by=choice(RefreshAction.NO_DATA))
    assert plan == StagePlan(RefreshAction.NO_DATA, ())


def test_a_full_table_is_its_query_at_the_versions_of_its_sources() -> None:
    observed = Observation(frontier(q=4, p=3), (Standing(7, frontier(p=1, q=1), 8),), Told())
    (step,) = plan_stages(None, observed, choice(RefreshAction.FULL)).steps
    assert (step.statement, step.version, step.sequence) == (QUERY, 7, 8)
    assert [(r.source, r.old, r.new, r.change) for r in step.reads] == [
        ("p", None, 3, None),
        ("q", None, 4, None),
    ]


@pytest.mark.parametrize("action", [RefreshAction.REINITIALIZE, RefreshAction.FULL])
def test_everything_anew_starts_from_no_frontier(action: RefreshAction) -> None:
    standing = Standing(4, frontier(p=2), 5), Standing(6, frontier(p=2, stage0=4), 7)
    plan = planned(NESTED, frontier(p=3), *standing, by=choice(action))
    assert statements(plan) == [INITIALISE, INITIALISE]
    assert [(r.old, r.new, r.change) for s in plan.steps for r in s.reads] == [
        (None, 3, None),
        (None, None, None),
    ]
    assert [(s.version, s.sequence) for s in plan.steps] == [(4, 5), (6, 7)]


@pytest.mark.parametrize(
    ("query", "statement"),
    [
        ("SELECT k, sum(v) AS s FROM p GROUP BY k", QUERY),
        ("SELECT id FROM p", QUERY),
        ("SELECT max(v) AS m FROM p GROUP BY k", INITIALISE),
    ],
)
def test_what_is_cheaper_anew_leaves_its_state_out_where_its_rows_show_their_keys(
    query: str, statement: StageStatement
) -> None:
    by = choice(RefreshAction.FULL, keeps_state=False)
    (step,) = planned(query, frontier(p=3), Standing(1, frontier(p=1), 2), by=by).steps
    assert (step.statement, step.delta) == (statement, None)


def test_a_stage_without_rows_to_go_on_from_is_initialised_alone() -> None:
    plan = planned(NESTED, frontier(p=3), Standing(), Standing(6, frontier(p=2, stage0=4), 7))
    assert statements(plan) == [INITIALISE, CHANGE]
    assert plan.steps[1].waits_for == {"stage:0"}


# -- a change -------------------------------------------------------------------------------------


def test_a_change_is_the_derivative_for_the_sources_that_changed() -> None:
    query = "SELECT p.id, q.v FROM p JOIN q ON p.k = q.k"
    standing = Standing(1, frontier(p=1, q=5), 2)
    (step,) = planned(query, frontier(p=3, q=5), standing).steps
    assert step.statement is CHANGE
    assert step.changes == {"p": Feed(2, 3, 2, 10, 1), "q": Unchanged()}
    assert step.delta == differentiate(compiled(query).public.stage.input, frozenset({"p"}))


def test_a_source_that_moved_without_a_change_makes_no_statement() -> None:
    facts = Told(changed={"p": Unchanged()})
    (step,) = planned(
        "SELECT id FROM p", frontier(p=3), Standing(1, frontier(p=1), 2), facts=facts
    ).steps
    assert (step.statement, step.delta, step.deferred) == (NOTHING, None, ())


def test_the_order_of_a_join_stands_on_the_counts_in_the_plan() -> None:
    query = "SELECT p.id, q.v, dim.name FROM p JOIN q ON p.k = q.k JOIN dim ON q.k = dim.k"
    old, new = frontier(p=1, q=1, dim=1), frontier(p=2, q=1, dim=1)
    orders = set()
    for counts in ({"p": 10, "q": 10**6, "dim": 5}, {"p": 10, "q": 5, "dim": 10**6}):
        (step,) = planned(query, new, Standing(1, old, 2), facts=Told(counts)).steps
        assert {r.source: r.rows for r in step.reads} == counts
        assert step.delta is not None
        join = next(n for n in walk(step.delta) if isinstance(n, Join))
        orders.add(tuple(s.source for m in join.members for s in scans(m)))
    assert len(orders) == 2


def test_rows_are_not_counted_for_what_joins_nothing() -> None:
    (step,) = planned(
        "SELECT k, sum(v) AS s FROM p GROUP BY k",
        frontier(p=3),
        Standing(1, frontier(p=1), 2),
        facts=Told({"p": 9}),
    ).steps
    assert [r.rows for r in step.reads] == [None]


def test_plans_of_the_same_facts_are_equal_and_of_others_are_not() -> None:
    query, standing = "SELECT DISTINCT p.k FROM p JOIN q USING (k)", Standing(1, frontier(p=1, q=1))
    plan = planned(query, frontier(p=2, q=1), standing)
    assert plan == planned(query, frontier(p=2, q=1), standing)
    appended = Told(changed={"p": Added(2, 2, 1, 1, 1, True)})
    for other in (
        planned(query, frontier(p=3, q=1), standing),
        planned(query, frontier(p=2, q=2), standing),
        planned(query, frontier(p=2, q=1), replace(standing, version=2)),
        planned(query, frontier(p=2, q=1), standing, facts=appended),
        planned(query, frontier(p=2, q=1), standing, facts=Told({"q": 5})),
    ):
        assert plan != other


# -- what waits -----------------------------------------------------------------------------------


def nested(old: Mapping[str, int], standing: int, new: int) -> StagePlan:
    """The plan of nested aggregates whose hidden stage stands at a version, over p up to `new`."""
    hidden = Standing(standing, frontier(p=2), 5)
    return planned(NESTED, frontier(p=new), hidden, Standing(6, frontier(p=2, **old), 7))


def test_a_stage_above_a_hidden_one_that_changes_waits_for_its_version() -> None:
    plan = nested({"stage0": 4}, 4, 3)
    below, above = plan.steps
    assert (below.waits_for, above.waits_for) == (frozenset(), {"stage:0"})
    assert (above.statement, above.delta, above.changes) == (CHANGE, None, {})
    assert above.reads[0].old == 4


@pytest.mark.parametrize(("made", "statement"), [(5, CHANGE), (4, NOTHING)])
def test_a_step_is_resolved_by_the_version_that_was_made(
    made: int, statement: StageStatement
) -> None:
    above = nested({"stage0": 4}, 4, 3).steps[1]
    step = resolve_step(above, compiled(NESTED).stages[1], {"stage:0": made}, Told())
    assert (step.statement, step.waits_for) == (statement, frozenset())
    assert (step.delta is not None) == (statement is CHANGE)
    assert replace(step, reads=(), statement=CHANGE, delta=None) == replace(above, reads=())
    assert resolve_step(step, compiled(NESTED).stages[1], {}, Told()) == step


def test_a_hidden_stage_that_stays_is_waited_for_by_none() -> None:
    below, above = nested({"stage0": 4}, 4, 2).steps
    assert (below.statement, above.statement) == (NOTHING, NOTHING)


def test_a_hidden_stage_that_is_ahead_since_a_crash_is_caught_up_with() -> None:
    below, above = nested({"stage0": 3}, 4, 2).steps
    assert (below.statement, above.statement, above.waits_for) == (NOTHING, CHANGE, frozenset())
    assert above.changes == {"stage:0": Feed(4, 4, 2, 10, 1)}


def changed(query: str) -> StageStep:
    (step,) = planned(
        query, frontier(p=3, q=3, dim=3), Standing(1, frontier(p=1, q=1, dim=3), 2)
    ).steps
    return step


def test_touched_keys_are_deferred_and_bound_what_is_read_for_them() -> None:
    step = changed("SELECT id, rank() OVER (PARTITION BY k ORDER BY v) AS r FROM p")
    keys, change = step.deferred
    assert keys.keys is not None
    assert change.keys is None
    assert {(j.source, j.column, j.by) for j in change.reduced_by} == {
        ("p", "k", (("touched_keys_1", change.reduced_by[0].by[0][1]),))
    }


def test_a_join_is_reduced_by_the_rows_of_its_change() -> None:
    (change,) = changed("SELECT p.id, dim.name FROM p JOIN dim ON p.k = dim.k").deferred
    told = {(j.source, j.column, j.by) for j in change.reduced_by}
    assert ("dim", "k", (("p", "k"),)) in told


# -- facts of logs --------------------------------------------------------------------------------


def test_logs_tell_changes_of_the_columns_that_are_read(tmp_path: Path) -> None:
    name = Name("default", "d")
    source = Written(
        tmp_path / "p", metadata(column("id"), column("k"), enableChangeDataFeed="true")
    )
    source.commit(info(), add("a", rows=3))
    source.commit(metadata(column("id"), column("k", "string"), enableChangeDataFeed="true"))
    known = {"p": Source(name, SourceKind.DELTA, "p", str(tmp_path / "p"), ("id", "k"))}
    facts = LogFacts(name, known, {"p": source.log, "stage:0": source.log}, classic=True)
    for id_ in ("p", "stage:0"):
        assert facts.change(id_, frozenset({"id"}), 0, 2) == Added(1, 1, 3, 10, 1, feed=True)
        refused = facts.change(id_, frozenset({"k"}), 0, 2)
        assert isinstance(refused, Unreadable)
        assert refused.code == "COLUMN_CHANGED"
    assert (facts.type_of("p", "ID"), facts.type_of("p", "none")) == ("long", None)


def test_sources_that_keep_no_feed_are_read_by_files_on_classic_spark_alone(tmp_path: Path) -> None:
    source = Written(tmp_path / "p", metadata())
    source.commit(info(), add("a"), remove("b"))
    found = [
        LogFacts(Name("default", "d"), {}, {"p": source.log}, classic=classic).change(
            "p", frozenset({"id"}), 0, 1
        )
        for classic in (True, False)
    ]
    assert [type(f) for f in found] == [FileDiff, Unreadable]
