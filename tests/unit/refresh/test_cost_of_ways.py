"""The choice among three ways (in the process, by Spark, computed anew) over simulated tables whose
costs were measured at four sizes of a change."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from statistics import mean

import pytest

from dt_jupyter.model import (
    Name,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    RefreshWay,
    Timestamp,
)
from dt_jupyter.refresh.cost import (
    STATE_REBUILT,
    Estimate,
    Work,
    cheaper_whole,
    estimate,
    expected_way,
    keeps_state,
    with_costs,
)

PROCESS, SPARK = RefreshWay.PROCESS, RefreshWay.SPARK
FULL, INCREMENTAL = RefreshAction.FULL, RefreshAction.INCREMENTAL
REINITIALIZE = RefreshAction.REINITIALIZE
SHARES = (0.0001, 0.001, 0.01, 0.1)
BEST = 1.2


@dataclass(frozen=True)
class Curve:
    """Seconds of computing everything, and of moving at each of `SHARES`, and by which way."""

    rows: int
    whole: float
    moved: tuple[float, float, float, float]
    fits: int
    """So many of the sizes fit into the process."""
    evaluated: bool = False
    """Whether everything is computed in the process, with its state."""


CURVES = {
    "scale 1, in the process": Curve(8_600_000, 2.8, (0.06, 0.2, 0.5, 4.0), 4),
    "scale 0.1, all in the process": Curve(860_000, 0.6, (0.04, 0.08, 0.2, 1.0), 4, True),
    "scale 1, Spark as it was": Curve(8_600_000, 2.8, (7.0, 7.4, 8.0, 15.0), 0),
    "scale 10, Spark as it was, a join": Curve(86_000_000, 27.0, (24.0, 29.0, 33.0, 150.0), 0),
    "scale 10, Spark as it was, a sum": Curve(86_000_000, 9.0, (1.6, 1.9, 3.0, 18.0), 0),
    "scale 1, Spark, twice as fast": Curve(8_600_000, 2.8, (1.2, 1.4, 2.0, 7.0), 0),
    "scale 10, Spark, eight times as fast": Curve(86_000_000, 27.0, (2.6, 3.3, 7.0, 48.0), 0),
    "scale 10, up to 1 % in the process": Curve(86_000_000, 27.0, (0.4, 1.6, 5.0, 60.0), 3),
    "scale 1, up to 0.1 % in the process": Curve(8_600_000, 2.8, (0.06, 0.2, 4.0, 16.0), 2),
}


def way_of(curve: Curve, size: int) -> RefreshWay:
    return PROCESS if size < curve.fits else SPARK


@dataclass
class Life:
    """A table whose refreshes are measured with some noise, newest first."""

    curve: Curve
    seed: int
    noise: float = 0.1
    history: list[RefreshRecord] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.stateless = False
        self.record(REINITIALIZE, "FIRST_REFRESH", self.curve.whole, 3)

    def work(self, size: int) -> Work:
        return Work(round(self.curve.rows * SHARES[size]), self.curve.rows, append=False)

    def refresh(self, size: int) -> float:
        """The seconds of the next refresh over those of the best way."""
        move, whole = self.curve.moved[size], self.curve.whole
        if cheaper_whole(self.work(size), self.history[:64]):
            self.stateless = not keeps_state(self.history[:64])
            self.record(FULL, "CHEAPER_FULL", whole, size)
        elif self.stateless:
            self.stateless = False
            self.record(REINITIALIZE, STATE_REBUILT, whole, size)
        else:
            self.record(INCREMENTAL, "SOURCES_CHANGED", move, size)
            return move / min(move, whole)
        return whole / min(move, whole)

    def record(self, action: RefreshAction, code: str, seconds: float, size: int) -> None:
        ms = round(1000 * seconds * self.random.uniform(1 - self.noise, 1 + self.noise))
        way = way_of(self.curve, size)
        if action is not INCREMENTAL:
            way = PROCESS if self.curve.evaluated else SPARK
        self.history.insert(0, done(action, ms, self.work(size), way, code=code))


def done(
    action: RefreshAction,
    ms: int,
    work: Work,
    way: RefreshWay | None,
    *,
    code: str = "",
    cold: bool = False,
) -> RefreshRecord:
    """A refresh that succeeded."""
    statistics = RefreshStatistics(
        execution_ms=ms,
        changed_rows=work.changed,
        source_rows=work.rows,
        way=way,
        cold=cold,
        writer="engine" if way is PROCESS else "spark",
        spark_jobs=0 if way is PROCESS else 9,
        rows_read=work.rows,
    )
    return RefreshRecord(
        Name("default", "t"),
        "q",
        RefreshState.SUCCEEDED,
        RefreshTrigger.MANUAL,
        Timestamp(0),
        action=action,
        reason=Reason(code, ""),
        statistics=statistics,
    )


@cache
def live(curve: Curve, sizes: Sequence[int], refreshes: int = 60) -> Sequence[tuple[int, float]]:
    """Of ten lives with changes of these sizes at random: how many of its size a refresh came
    after, and its seconds over those of the best way."""
    found = []
    for seed in range(10):
        life, seen, chosen = Life(curve, seed), Counter[int](), random.Random(seed)
        for _ in range(refreshes):
            size = chosen.choice(sizes)
            found.append((seen[size], life.refresh(size)))
            seen[size] += 1
    return found


SIZES = {f"{share:.2%}": (at,) for at, share in enumerate(SHARES)}
SIZES |= {"all": (0, 1, 2, 3), "small": (0, 1), "small, and at times large": (0, 0, 0, 3)}
NOISE = 1.1
"""Less is not to be told apart by what was measured."""


def wrong_shares(least: int, ratio: float) -> dict[tuple[str, str], float]:
    """Of each curve and sizes, the share of refreshes, each after so many of its size, that took
    more than `ratio` times what the best way takes."""
    return {
        (name, sizes): mean(r > ratio for n, r in live(curve, SIZES[sizes]) if n >= least)
        for name, curve in CURVES.items()
        for sizes in SIZES
    }


def test_fewer_than_one_in_ten_choices_is_wrong() -> None:
    found = wrong_shares(0, NOISE)
    assert max(found.values()) < 0.1, sorted(found.items(), key=lambda f: -f[1])[:5]


def test_after_two_refreshes_the_choice_is_nearly_the_best_but_for_looks_at_the_other_way() -> None:
    """Once in `PROBE` (24) computations the state is computed again and the table moved."""
    found = wrong_shares(2, BEST)
    assert max(found.values()) < 0.05, sorted(found.items(), key=lambda f: -f[1])[:5]


MILLION = 1_000_000
WHOLE = Work(MILLION, MILLION, append=False)
SMALL, LARGER = Work(1_000, MILLION, append=False), Work(100_000, MILLION, append=False)


def moved(work: Work, ms: int, way: RefreshWay | None, *, cold: bool = False) -> RefreshRecord:
    return done(INCREMENTAL, ms, work, way, cold=cold)


def computed(ms: int, *, cold: bool = False) -> RefreshRecord:
    return done(REINITIALIZE, ms, WHOLE, SPARK, cold=cold)


def found(work: Work, history: Sequence[RefreshRecord]) -> Estimate:
    estimated = estimate(work, history)
    assert estimated is not None
    return estimated


def test_what_one_way_has_cost_is_no_evidence_for_the_other() -> None:
    history = [*[moved(LARGER, 90, PROCESS)] * 4, computed(9_000)]
    before = found(LARGER, [computed(9_000)])
    now = found(LARGER, history)
    assert (now.process.ms, now.process.measured) == (90, True)
    assert now.spark == before.spark
    history = [*[moved(LARGER, 7_000, SPARK)] * 4, computed(9_000)]
    now = found(LARGER, history)
    assert (now.spark.ms, now.spark.measured) == (7_000, True)
    assert now.process == before.process


def test_a_refresh_of_which_nobody_knows_the_way_is_evidence_for_both() -> None:
    now = found(SMALL, [*[moved(SMALL, 700, None)] * 3, computed(9_000)])
    assert now.process.ms == now.spark.ms == 700


def test_the_way_is_that_of_the_newest_of_its_size() -> None:
    past = [moved(SMALL, 1, SPARK), moved(SMALL, 1, PROCESS), moved(LARGER, 1, SPARK)]
    assert expected_way(SMALL, past) is SPARK
    assert expected_way(SMALL, past[1:]) is PROCESS
    assert expected_way(SMALL, []) is PROCESS
    assert expected_way(LARGER, [moved(SMALL, 1, SPARK)]) is SPARK, "it has more rows"
    assert expected_way(SMALL, [moved(LARGER, 1, SPARK)]) is PROCESS, "it has fewer"
    assert expected_way(replace(SMALL, large=True), past[1:]) is SPARK


def test_a_change_that_leaves_the_process_is_computed_anew_where_that_takes_a_second() -> None:
    """All rows in the process, moved by Spark: whatever that takes, it takes seconds."""
    work = Work(60_000, 10 * MILLION, append=False)
    anew = done(REINITIALIZE, 900, work, PROCESS)
    assert cheaper_whole(work, [anew]) is None
    assert cheaper_whole(replace(work, large=True), [anew]) is not None


def test_small_changes_that_spark_moves_are_weighed_after_two() -> None:
    dear = moved(SMALL, 7_000, SPARK)
    assert cheaper_whole(SMALL, [dear, computed(2_800)]) is None
    assert cheaper_whole(SMALL, [dear, dear, computed(2_800)]) is not None
    larger = moved(Work(5_000, MILLION, append=False), 7_500, SPARK)
    assert cheaper_whole(SMALL, [dear, larger, computed(2_800)]) is not None
    assert cheaper_whole(SMALL, [moved(SMALL, 90, PROCESS), dear, dear, computed(2_800)]) is None


def test_cold_refreshes_by_spark_count_where_no_computation_was_warm() -> None:
    dear = moved(SMALL, 7_000, SPARK, cold=True)
    assert cheaper_whole(SMALL, [dear, dear, computed(4_000, cold=True)]) is not None
    assert cheaper_whole(SMALL, [dear, dear, computed(4_000)]) is None
    near = moved(SMALL, 7_000, PROCESS, cold=True)
    assert cheaper_whole(SMALL, [near, near, near, computed(4_000, cold=True)]) is None


def test_the_state_is_kept_where_the_table_was_moved_of_late() -> None:
    anew = done(FULL, 2_800, LARGER, SPARK, code="CHEAPER_FULL")
    assert not keeps_state([computed(2_800)])
    assert keeps_state([moved(SMALL, 90, PROCESS), computed(2_800)])
    assert keeps_state([anew, anew, moved(SMALL, 90, PROCESS)])
    assert not keeps_state([anew, anew, anew, moved(SMALL, 90, PROCESS)])


def test_the_reason_says_what_each_way_costs() -> None:
    why = Reason("SOURCES_CHANGED", "new data in t")
    assert with_costs(why, SMALL, []) == why
    assert with_costs(why, None, [computed(9_000)]) == why
    history = [*[moved(SMALL, 200, PROCESS)] * 3, *[moved(SMALL, 3_100, SPARK)] * 2]
    said = with_costs(why, SMALL, [*history, computed(9_000)])
    assert (said.code, said.sentence) == (
        "SOURCES_CHANGED",
        "new data in t; expected in the process: about 0.2 s in the process, 3.1 s in Spark, "
        "9.0 s for a full refresh",
    )


def test_most_of_what_spark_takes_is_for_no_row() -> None:
    four_times = Work(4 * LARGER.changed, MILLION, append=False)
    measured = [moved(LARGER, 2_000, SPARK), computed(9_000)]
    assert found(four_times, measured).spark.ms == pytest.approx(2_000 + 4 * 200)
    measured = [moved(LARGER, 2_000, PROCESS), computed(9_000)]
    assert found(four_times, measured).process.ms == pytest.approx(2_000 + 4 * 1_000)
