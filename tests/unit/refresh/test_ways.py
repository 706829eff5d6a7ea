"""Where statements and stages are computed, decided on tables of facts: no Spark, no rows.

Each limit is decided on both of its sides, and a decision that ignores one of them is caught."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from dt_jupyter.evaluation import StatementFacts, WayDecision, decide_way
from dt_jupyter.ivm import LARGE
from dt_jupyter.model import DEFAULTS, SPARK_ONLY, RefreshWay, Tuning
from dt_jupyter.refresh.stage_way import (
    ChangeSize,
    WholeFacts,
    are_few_rows,
    decide_whole,
    has_many_rows,
)

HERE, SPARK = RefreshWay.PROCESS, RefreshWay.SPARK
MOST = 100
LIMITS = Tuning(evaluated_rows=MOST, evaluated_bytes=1_000, interpreted_rows=10, driver_rows=50)

Decide = Callable[[StatementFacts, int], WayDecision]
DecideWhole = Callable[[WholeFacts, Tuning], WayDecision]

STATEMENTS: dict[str, tuple[StatementFacts, RefreshWay, str]] = {
    "no rows": (StatementFacts(0), HERE, ""),
    "one row below the limit": (StatementFacts(MOST - 1), HERE, ""),
    "as many rows as the limit": (StatementFacts(MOST), SPARK, "100 rows"),
    "a change that is read apart": (StatementFacts(1, apart="it is far"), SPARK, "it is far"),
    "a function without a rule": (StatementFacts(1, left_out="INITCAP"), SPARK, "INITCAP"),
    "what fewer rows would not change": (
        StatementFacts(MOST, "it is far", "INITCAP"), SPARK, "INITCAP",
    ),
}  # fmt: skip
WHOLE: dict[str, tuple[WholeFacts, Tuning, RefreshWay, str]] = {
    "nothing is read": (WholeFacts(()), LIMITS, HERE, ""),
    "a byte below the limit": (WholeFacts((500, 499)), LIMITS, HERE, ""),
    "the bytes of the limit": (WholeFacts((500, 500)), LIMITS, SPARK, "1000 bytes"),
    "an unknown size": (WholeFacts((1, None)), LIMITS, SPARK, "unknown size"),
    "a table that Spark writes": (WholeFacts((1,), "it tracks rows"), LIMITS, SPARK, "tracks"),
    "no rule": (WholeFacts((1,), left_out="ASCII"), LIMITS, SPARK, "ASCII"),
    "nothing is evaluated": (
        WholeFacts((1,)), replace(LIMITS, evaluated_rows=1), SPARK, "no statement",
    ),
}  # fmt: skip


def wrong_statements(decide: Decide) -> set[str]:
    return {
        name
        for name, (facts, way, reason) in STATEMENTS.items()
        if not _is_right(decide(facts, MOST), way, reason)
    }


def wrong_wholes(decide: DecideWhole) -> set[str]:
    return {
        name
        for name, (facts, tuning, way, reason) in WHOLE.items()
        if not _is_right(decide(facts, tuning), way, reason)
    }


def _is_right(found: WayDecision, way: RefreshWay, reason: str) -> bool:
    told = reason in found.reason and bool(found.reason) is (way is SPARK)
    return found.way is way and found.is_here is (way is HERE) and told


def test_ways_of_statements() -> None:
    assert wrong_statements(decide_way) == set()


def test_ways_of_all_rows() -> None:
    assert wrong_wholes(decide_whole) == set()


@pytest.mark.parametrize(
    ("ignored", "noticed"),
    [
        ({"rows": 0}, {"as many rows as the limit"}),
        ({"apart": ""}, {"a change that is read apart"}),
        ({"left_out": ""}, {"a function without a rule", "what fewer rows would not change"}),
    ],
)
def test_a_decision_that_ignores_a_fact_is_noticed(
    ignored: dict[str, str | int], noticed: set[str]
) -> None:
    assert wrong_statements(lambda f, most: decide_way(replace(f, **ignored), most)) == noticed  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", ["evaluated_rows", "evaluated_bytes"])
def test_a_decision_on_all_rows_that_ignores_a_limit_is_noticed(limit: str) -> None:
    assert wrong_wholes(lambda f, t: decide_whole(f, replace(t, **{limit: 10**9})))


def test_only_a_lack_of_rules_holds_for_any_rows() -> None:
    for facts, _, _ in STATEMENTS.values():
        assert decide_way(facts, MOST).for_any_rows is bool(facts.left_out)


@pytest.mark.parametrize(
    ("rows", "small", "fits", "grouped"),
    [
        ((), True, True, True),
        ((20, 30), True, True, True),
        ((20, 31), True, False, True),
        ((LARGE, LARGE), True, False, True),
        ((LARGE + 1,), False, False, False),
        ((1, None), False, False, False),
    ],
)
def test_sizes_of_changes(
    rows: tuple[int | None, ...], small: bool, fits: bool, grouped: bool
) -> None:
    size = ChangeSize(rows)
    assert (size.is_small, size.fits_driver(LIMITS)) == (small, fits)
    assert size.may_fit(LIMITS, grouped=False) is fits
    assert size.may_fit(LIMITS, grouped=True) is grouped


def test_tables_of_few_rows() -> None:
    assert are_few_rows((40, 59), LIMITS)
    assert not are_few_rows((40, 60), LIMITS)
    assert not are_few_rows((1, None), LIMITS)
    assert are_few_rows((MOST,), replace(LIMITS, interpreted_rows=MOST + 1))
    assert not are_few_rows((1,), SPARK_ONLY)


def test_tables_of_many_rows() -> None:
    assert list(map(has_many_rows, (0, 10_000, 10_001, None))) == [False, False, True, True]


def test_nothing_is_decided_for_this_process_where_it_is_to_compute_nothing() -> None:
    assert not decide_way(StatementFacts(1), SPARK_ONLY.evaluated_rows).is_here
    assert not decide_whole(WholeFacts((0,)), SPARK_ONLY).is_here
    assert decide_way(StatementFacts(1), DEFAULTS.evaluated_rows).is_here
