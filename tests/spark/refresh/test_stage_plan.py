"""The plan that EXPLAIN shows for the next refresh is the one that the refresh then executes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.refresh.execute import Stages
from dt_jupyter.refresh.stage_plan import StagePlan, StageStatement, StageStep
from dt_jupyter.refresh.stage_run import StageRun
from dt_jupyter.reports.explanation_values import Explanation
from tests.cases import some
from tests.spark.engine_lab import Lab

QUERIES = {
    "filter": "SELECT id, v + 1 AS w FROM p WHERE v > 0",
    "join": "SELECT p.id, q.v, dim.name FROM p JOIN q ON p.id = q.id JOIN dim ON p.k = dim.k",
    "aggregate": "SELECT k, count(*) AS n, sum(v) AS s, max(v) AS m FROM p GROUP BY k",
    "window": "SELECT id, rank() OVER (PARTITION BY k ORDER BY v, id) AS r FROM p",
    "distinct": "SELECT DISTINCT k FROM p",
    "union_all": "SELECT id, v FROM p UNION ALL SELECT id, v FROM q",
    "nested": "SELECT n, count(*) AS c FROM (SELECT k, count(*) AS n FROM p GROUP BY k) GROUP BY n",
    "outer": "SELECT p.id, q.v FROM p FULL OUTER JOIN q ON p.k = q.k AND p.id = q.id",
    "semi": "SELECT id FROM p WHERE EXISTS (SELECT 1 FROM q WHERE q.k = p.k)",
    "top": "SELECT id, v FROM p ORDER BY v DESC, id LIMIT 2",
}
CHANGES = (
    "INSERT INTO p VALUES (7, 'a', 5), (8, 'c', 6)",
    "UPDATE q SET v = v + 1 WHERE id < 3; DELETE FROM p WHERE id = 2",
)


class Executed:
    """The plan of the last refresh, the steps that it ran, and of those that were a stage's."""

    plan: StagePlan | None = None

    def __init__(self) -> None:
        self.steps: list[StageStep] = []

    def forget(self) -> None:
        self.plan, self.steps = None, []


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Executed:
    found = Executed()
    run, advance, initialise = Stages.run, StageRun.advance, StageRun.initialise

    def of_plan(self: Stages) -> Any:
        found.forget()
        found.plan = self.plan
        return run(self)

    def of_change(self: StageRun) -> Any:
        found.steps.append(self.step)
        return advance(self)

    def of_all(self: StageRun, new_schema: bool) -> Any:
        found.steps.append(self.step)
        return initialise(self, new_schema)

    monkeypatch.setattr(Stages, "run", of_plan)
    monkeypatch.setattr(StageRun, "advance", of_change)
    monkeypatch.setattr(StageRun, "initialise", of_all)
    return found


@pytest.fixture
def shop(quick_lab: Lab) -> Lab:
    columns = "id INT, k STRING, v INT"
    quick_lab.table("p", columns, "1, 'a', 1", "2, 'a', 2", "3, 'b', 3")
    quick_lab.table("q", columns, "1, 'a', 1", "3, 'b', 4")
    quick_lab.table("dim", "k STRING, name STRING", "'a', 'Alpha'", "'b', 'Beta'")
    return quick_lab


def refreshed(lab: Lab, name: str, executed: Executed) -> tuple[Explanation, str]:
    """What was explained of a refresh, and the action that it took: it did as was shown."""
    executed.forget()
    explained = lab.engine.explain(name)
    action = lab.refresh(name)
    assert (explained.action, explained.plan and explained.plan.action) == (action, action)
    if action == "NO_DATA":
        assert (explained.plan and explained.plan.steps, executed.plan) == ((), None)
        return explained, action
    assert explained.plan == executed.plan
    assert list(map(as_planned, executed.steps)) == [
        as_planned(s) for s in of_stages(executed) if s.stage in {r.stage for r in executed.steps}
    ]
    left = [s for s in of_stages(executed) if s.stage not in {r.stage for r in executed.steps}]
    assert all(s.statement is StageStatement.NOTHING or s.waits_for for s in left)
    return explained, action


def of_stages(executed: Executed) -> list[StageStep]:
    assert executed.plan is not None
    return [s for s in executed.plan.steps if s.statement is not StageStatement.QUERY]


def as_planned(step: StageStep) -> StageStep:
    """Without what only the steps before it tell, where it reads a hidden stage."""
    if not any(r.source.startswith("stage:") for r in step.reads):
        return step
    reads = tuple(
        replace(r, new=None, change=None, rows=None) if r.source.startswith("stage:") else r
        for r in step.reads
    )
    return replace(step, reads=reads, delta=None)


def test_a_refresh_executes_the_plan_that_was_explained(shop: Lab, executed: Executed) -> None:
    for name, query in QUERIES.items():
        shop.dynamic_table(f"d_{name}", query)
        assert shop.mode(f"d_{name}") == "INCREMENTAL"
    for change in CHANGES:
        shop.sql(change)
        for name in QUERIES:
            explained, action = refreshed(shop, f"d_{name}", executed)
            assert action == "INCREMENTAL"
            assert_shown(explained)
    shop.sql("OPTIMIZE p")
    assert {refreshed(shop, f"d_{name}", executed)[1] for name in ("join", "nested")} == {"NO_DATA"}
    shop.verified(*(f"d_{name}" for name in QUERIES))


def test_what_is_selected_on_the_way_is_no_other_plan(shop: Lab, executed: Executed) -> None:
    """No table is taken for a small one, so that what a change needs is selected by its values."""
    shop.context.refresher.small.table_bytes = 0
    for name in ("join", "window", "nested"):
        shop.dynamic_table(f"d_{name}", QUERIES[name])
        shop.sql(CHANGES[0])
        explained, action = refreshed(shop, f"d_{name}", executed)
        assert action == "INCREMENTAL"
        assert_shown(explained)
        shop.verified(f"d_{name}")


def assert_shown(explained: Explanation) -> None:
    """Every statement of the plan is in the text, its deferred keys before it."""
    assert explained.plan is not None
    last = explained.plan.steps[-1] if explained.plan.steps else None
    if last is None or last.statement is StageStatement.NOTHING:
        return
    titles = [s.title for s in explained.steps if s.title.endswith(" of the table")]
    assert titles[-1] == "change of the table"
    if not last.waits_for:
        assert len(titles) == len(last.deferred)


@pytest.mark.parametrize(
    ("name", "options"),
    some(
        2,
        [
            ("nested", "INITIALIZE = ON_SCHEDULE"),
            ("aggregate", "REFRESH_MODE = FULL"),
            ("join", "INITIALIZE = ON_SCHEDULE"),
        ],
    ),
)
def test_so_it_is_where_all_rows_are_computed(
    shop: Lab, executed: Executed, name: str, options: str
) -> None:
    shop.dynamic_table("d", QUERIES[name], options)
    shop.sql(CHANGES[0])
    full = "FULL" in options
    explained, action = refreshed(shop, "d", executed)
    assert action == ("FULL" if full else "REINITIALIZE")
    assert explained.plan is not None
    expected = StageStatement.QUERY if full else StageStatement.INITIALISE
    assert {s.statement for s in explained.plan.steps} == {expected}
    assert len(explained.steps) == len(explained.plan.steps)
    shop.verified("d")


def test_a_hidden_stage_that_a_lost_refresh_moved_is_not_moved_again(
    shop: Lab, executed: Executed, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.dynamic_table("d", QUERIES["nested"])
    shop.sql(CHANGES[0])

    def fails(*_: Any) -> None:
        raise OSError("lost")

    with monkeypatch.context() as broken:
        broken.setattr(Stages, "_run_public", fails)
        assert shop.record("d").error is not None
    explained, action = refreshed(shop, "d", executed)
    assert action == "INCREMENTAL"
    assert explained.plan is not None
    assert [s.statement for s in explained.plan.steps] == [
        StageStatement.NOTHING,
        StageStatement.CHANGE,
    ]
    assert [s.title for s in explained.steps] == ["change of the table"]
    shop.verified("d")
