"""What the scheduler would do: one dynamic table with other settings, and those around it."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError, RefreshAction
from dt_jupyter.schedule import Node, Slots, State
from dt_jupyter.schedule.forecast import MOST_PERIODS, foretell
from tests.unit.schedule.test_simulation import T0, node

NOW = T0.plus(1000)


def state(*nodes: Node, limit: int = 2) -> State:
    slots = (Slots("w", limit), Slots("other", 1, suspended=True))
    return State(nodes, slots, lambda dt, t: None)


def test_a_shorter_lag_costs_more_and_is_kept() -> None:
    chain = state(node("a", 3600, duration=2.0), node("b", 3600, "a", duration=3.0))
    lazy, eager = (foretell(chain, "b", NOW, target_lag=lag) for lag in (3600.0, 120.0))
    assert eager.period < lazy.period
    assert eager.load > lazy.load
    assert eager.statistics is not None
    assert eager.statistics.maximum < 120
    assert eager.statistics.time_within_target_lag_ratio == 1.0
    assert {r.name.table for r in eager.records} == {"b"}
    assert len(eager.records) <= MOST_PERIODS


def test_a_slow_refresh_cannot_keep_its_lag() -> None:
    found = foretell(state(node("a", 60)), "a", NOW, seconds=100.0)
    assert found.seconds == 100
    assert found.statistics is not None
    assert found.statistics.time_within_target_lag_ratio is not None
    assert found.statistics.time_within_target_lag_ratio < 1
    assert found.load <= 1


def test_ticks_without_new_data_cost_nothing() -> None:
    busy = foretell(state(node("a", 60, duration=5.0)), "a", NOW)
    quiet = foretell(state(node("a", 60, duration=5.0)), "a", NOW, interval=600.0)
    actions = [r.action for r in quiet.records]
    assert RefreshAction.NO_DATA in actions
    assert RefreshAction.INCREMENTAL in actions
    assert all(r.action is RefreshAction.INCREMENTAL for r in busy.records)
    assert quiet.load < busy.load / 2


def test_more_slots_shorten_the_wait() -> None:
    readers = [node(f"b{i}", 120, "a", duration=20.0) for i in range(4)]
    wide = state(node("a", None, duration=1.0), *readers, limit=1)
    narrow_, wide_ = (foretell(wide, "b3", NOW, concurrency=n) for n in (1, 4))
    assert narrow_.statistics is not None
    assert wide_.statistics is not None
    assert wide_.statistics.maximum < narrow_.statistics.maximum


def test_what_is_suspended_is_looked_at_as_if_it_was_not() -> None:
    slept = node("a", 60, suspended=True, warehouse="other", scheduler_enabled=False)
    assert foretell(state(slept), "a", NOW).records


def test_downstream_of_nobody_needs_a_lag() -> None:
    with pytest.raises(DTError, match="DT-1003"):
        foretell(state(node("a", None)), "a", NOW)
    assert foretell(state(node("a", None)), "a", NOW, target_lag=60.0).records


def test_a_large_graph_is_bounded() -> None:
    ladder = [node("n0", None)]
    ladder += [node(f"n{i}", 1.0 + i % 7, f"n{i - 1}", duration=0.001) for i in range(1, 200)]
    found = foretell(state(*ladder, limit=99), "n10", NOW, target_lag=86400.0)
    assert 0 < len(found.records) <= 40 * 200
