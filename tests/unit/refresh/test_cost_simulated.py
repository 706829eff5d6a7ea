"""The choice between moving a table and computing it anew, over simulated lives of a table.

A life is a list of what either way costs, refresh by refresh; what is measured of it is noise and,
in the first refreshes of a process, the time that code takes to be compiled.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from dt_jupyter.model import RefreshAction, RefreshRecord
from dt_jupyter.refresh.cost import PROBE, STATE_REBUILT, Work, cheaper_whole, is_cold
from tests.unit.refresh.test_cost_of_ways import done

FULL, INCREMENTAL = RefreshAction.FULL, RefreshAction.INCREMENTAL
Cost = Callable[[int], tuple[float, float]]
"""Of the refresh of that number: milliseconds of moving, and of computing anew."""


def constant(move: float, whole: float) -> Cost:
    return lambda _: (move, whole)


@dataclass
class Life:
    """A table of `rows` source rows, `changed` of which change each time."""

    cost: Cost
    seed: int
    rows: int = 1_000_000
    changed: int = 1_000
    noise: float = 0.5
    compiling: float = 0.0
    stateful: bool = True
    process: int = 0
    marks: bool = True
    history: list[RefreshRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._number = 0
        self._record(RefreshAction.REINITIALIZE, "FIRST_REFRESH", self.cost(0)[1])

    def restart(self) -> None:
        self.process = 0

    def refresh(self) -> RefreshAction:
        """The action of the next refresh, as the engine takes it."""
        move, whole = self.cost(self._number)
        last = self.history[0].reason
        stateless = self.stateful and last is not None and last.code == "CHEAPER_FULL"
        if cheaper_whole(Work(self.changed, self.rows, False), self.history[:64]):
            return self._record(FULL, "CHEAPER_FULL", whole)
        if stateless:
            return self._record(RefreshAction.REINITIALIZE, STATE_REBUILT, whole)
        return self._record(INCREMENTAL, "SOURCES_CHANGED", move)

    def actions(self, n: int) -> list[RefreshAction]:
        return [self.refresh() for _ in range(n)]

    def _record(self, action: RefreshAction, code: str, ms: float) -> RefreshAction:
        ms *= self._random.uniform(1 - self.noise, 1 + self.noise)
        ms += self.compiling * 0.8**self.process
        work = Work(self.changed, self.rows, False)
        cold = self.marks and is_cold(self.process, self.process)
        self.history.insert(0, done(action, round(ms), work, None, code=code, cold=cold))
        self.process += 1
        self._number += 1
        return action


def turns(actions: list[RefreshAction]) -> int:
    """How often moving gave way to computing anew, or the other way round."""
    moved = [a is INCREMENTAL for a in actions]
    return sum(a != b for a, b in pairwise(moved))


SEEDS = range(30)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_small_table_never_turns_in_a_cold_process(seed: int) -> None:
    life = Life(constant(400, 1_100), seed, rows=2_000, changed=20, compiling=9_000)
    assert set(life.actions(100)) == {INCREMENTAL}


@pytest.mark.parametrize("seed", SEEDS)
def test_compiling_is_no_reason_in_a_large_table(seed: int) -> None:
    """Each process begins cold; its first refreshes take ten times what they take later."""
    life = Life(constant(600, 1_500), seed, compiling=12_000, noise=0.3)
    for _ in range(8):
        assert set(life.actions(16)) == {INCREMENTAL}
        life.restart()


@pytest.mark.parametrize("seed", SEEDS)
def test_short_processes_never_turn(seed: int) -> None:
    life = Life(constant(600, 1_500), seed, compiling=12_000)
    for _ in range(40):
        assert set(life.actions(3)) == {INCREMENTAL}
        life.restart()


def test_noise_seldom_turns_a_table_that_is_cheaper_to_move() -> None:
    lives = [Life(constant(1_000, 2_000), seed).actions(200) for seed in SEEDS]
    anew = sum(a.count(FULL) for a in lives)
    assert anew < len(SEEDS) * 200 * 0.01, anew
    assert max(map(turns, lives)) <= 4


def test_equal_costs_do_not_make_it_flip() -> None:
    lives = [Life(constant(2_000, 2_000), seed).actions(200) for seed in SEEDS]
    assert sum(map(turns, lives)) <= 6 * len(lives)
    assert max(map(turns, lives)) <= 200 // 8


@pytest.mark.parametrize("stateful", [True, False])
def test_a_table_that_is_dearer_to_move_turns_soon_and_stays(stateful: bool) -> None:
    for seed in SEEDS:
        actions = Life(constant(8_000, 2_000), seed, stateful=stateful).actions(240)
        assert FULL in actions[:20], seed
        later = actions[40:]
        assert later.count(FULL) >= 0.8 * len(later), (seed, later)


@pytest.mark.parametrize("seed", SEEDS)
def test_another_regime_turns_it_and_the_old_one_turns_it_back(seed: int) -> None:
    def cost(number: int) -> tuple[float, float]:
        return (9_000 if 60 <= number < 160 else 700), 2_000

    actions = Life(cost, seed).actions(320)
    assert set(actions[:59]) == {INCREMENTAL}
    assert actions[75:160].count(FULL) >= 0.75 * 85
    back = 160 + 2 * (PROBE + 2)
    assert actions[back:].count(INCREMENTAL) >= 0.97 * len(actions[back:])


@pytest.mark.parametrize("seed", SEEDS)
def test_smaller_changes_turn_it_back_at_once(seed: int) -> None:
    life = Life(constant(9_000, 2_000), seed)
    life.actions(40)
    life.changed = 10
    life.cost = constant(300, 2_000)
    assert set(life.actions(30)[1:]) == {INCREMENTAL}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_busy_hour_turns_it_for_a_short_time_at_most(seed: int) -> None:
    """Whatever runs beside it slows both ways down."""

    def cost(number: int) -> tuple[float, float]:
        slow = 4 if 50 <= number < 110 else 1
        return 1_000 * slow, 2_500 * slow

    actions = Life(cost, seed, noise=0.2).actions(200)
    assert actions.count(FULL) <= 4


def test_without_the_marks_of_cold_processes_it_would_turn() -> None:
    turned = 0
    for seed in SEEDS:
        life = Life(constant(400, 2_000), seed, compiling=9_000, marks=False, process=100)
        life.restart()
        turned += FULL in life.actions(16)
    assert turned > len(SEEDS) // 2
