"""The choice between moving a table and computing it anew, from its history alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from dt_jupyter.model import (
    DEFAULTS,
    Name,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.refresh.cost import (
    PROBE,
    STATE_REBUILT,
    Work,
    cheaper_whole,
    estimate,
    is_cold,
    was_evaluated,
)

FULL, INCREMENTAL = RefreshAction.FULL, RefreshAction.INCREMENTAL
MILLION = 1_000_000


def record(
    action: RefreshAction,
    milliseconds: int,
    changed: int = 0,
    state: RefreshState = RefreshState.SUCCEEDED,
    *,
    cold: bool = False,
    rows: int = 0,
    code: str | None = None,
) -> RefreshRecord:
    return RefreshRecord(
        name=Name("default", "t"),
        query_id="q",
        state=state,
        trigger=RefreshTrigger.MANUAL,
        data_timestamp=Timestamp(0),
        action=action,
        reason=Reason(code, "") if code else None,
        statistics=RefreshStatistics(
            execution_ms=milliseconds, changed_rows=changed, source_rows=rows, cold=cold
        ),
    )


def chosen(changed: int, history: Sequence[RefreshRecord], *, append: bool = False) -> str | None:
    reason = cheaper_whole(Work(changed, MILLION, append), history)
    return reason.code if reason else None


def test_without_a_history_nothing_is_estimated_and_the_table_is_moved() -> None:
    assert estimate(Work(MILLION, MILLION, append=False), []) is None
    assert chosen(MILLION, []) is None
    assert chosen(MILLION, [record(INCREMENTAL, 100, 10)]) is None


def test_what_is_read_to_find_the_change_counts() -> None:
    history, changed = [record(FULL, 10_000)], DEFAULTS.small_change_rows
    for searched, reason in ((0, None), (2 * MILLION, "CHEAPER_FULL")):
        found = cheaper_whole(Work(changed, MILLION, False, searched), history)
        assert (found and found.code) == reason


def test_an_empty_source_is_moved() -> None:
    assert estimate(Work(0, 0, append=False), [record(FULL, 1000)]) is None


def test_a_large_share_is_computed_anew_and_a_small_one_moved() -> None:
    history = [record(FULL, 10_000)]
    assert chosen(MILLION // 2, history) == "CHEAPER_FULL"
    assert chosen(DEFAULTS.small_change_rows, history) is None


def test_rows_that_only_come_are_moved_up_to_all_of_them() -> None:
    history = [record(FULL, 10_000)]
    assert chosen(MILLION, history, append=True) is None
    assert chosen(MILLION + 1, history, append=True) == "CHEAPER_FULL"


def test_what_a_changed_row_was_measured_to_cost_counts_more_than_the_first_guess() -> None:
    whole = record(FULL, 10_000)
    assert chosen(300_000, [whole]) == "CHEAPER_FULL"
    cheap = [record(INCREMENTAL, 2_000, 300_000), whole]
    assert chosen(300_000, cheap) is None
    dear = [record(INCREMENTAL, 20_000, 60_000), whole]
    assert chosen(60_000, [whole]) is None
    assert chosen(60_000, dear) == "CHEAPER_FULL"


def test_a_change_under_the_threshold_is_computed_anew_only_where_three_like_it_were_dearer() -> (
    None
):
    whole, dear = record(FULL, 2_000), record(INCREMENTAL, 3_100, 1_000)
    assert chosen(1_000, [dear, dear, whole]) is None
    assert chosen(1_000, [dear, dear, dear, whole]) == "CHEAPER_FULL"
    assert chosen(100, [dear, dear, dear, whole]) is None, "they were ten times as large"
    quick = record(INCREMENTAL, 1_000, 1_000)
    assert chosen(1_000, [dear, quick, dear, dear, whole]) is None
    assert chosen(1_000, [dear, dear, dear, quick, whole]) == "CHEAPER_FULL"


def test_a_little_dearer_is_not_enough() -> None:
    dear = record(INCREMENTAL, 2_900, 1_000)
    assert chosen(1_000, [dear, dear, dear, record(FULL, 2_000)]) is None


def test_a_table_that_is_computed_in_no_time_is_moved() -> None:
    """Below a second what was measured is the machine's mood."""
    dear = record(INCREMENTAL, 900, 1_000)
    assert chosen(1_000, [dear, dear, dear, record(FULL, 300)]) is None


def test_a_small_table_is_moved_whatever_it_took() -> None:
    dear, whole = record(INCREMENTAL, 60_000, 1_000), record(FULL, 2_000)
    for changed in (1_000, DEFAULTS.small_table_rows):
        assert (
            cheaper_whole(Work(changed, DEFAULTS.small_table_rows - 1, False), [dear] * 5 + [whole])
            is None
        )
    assert cheaper_whole(Work(1_000, DEFAULTS.small_table_rows, False), [dear] * 5 + [whole])


def test_milliseconds_of_a_cold_process_are_no_evidence() -> None:
    cold = record(INCREMENTAL, 9_000, 1_000, cold=True)
    assert chosen(1_000, [cold] * 8 + [record(FULL, 2_000)]) is None
    dear = record(INCREMENTAL, 9_000, 1_000)
    assert chosen(1_000, [cold, dear, cold, dear, dear, record(FULL, 2_000)]) == "CHEAPER_FULL"


def test_a_cold_refresh_bounds_what_is_guessed_and_is_no_reason_to_compute_all() -> None:
    whole = record(FULL, 5_000)
    assert chosen(100_000, [whole]) == "CHEAPER_FULL"
    assert chosen(100_000, [record(INCREMENTAL, 1_000, 50_000, cold=True), whole]) is None
    assert chosen(100_000, [record(INCREMENTAL, 2_600, 50_000, cold=True), whole]) == "CHEAPER_FULL"
    assert chosen(100_000, [record(INCREMENTAL, 4_900, 200_000, cold=True), whole]) is None
    assert chosen(100_000, [record(INCREMENTAL, 10, 19_000, cold=True), whole]) == "CHEAPER_FULL"
    assert chosen(60_000, [record(INCREMENTAL, 9_000, 60_000, cold=True), whole]) is None


def test_only_what_was_evaluated_when_all_was_computed_last_counts_as_evaluated() -> None:
    def done(action: RefreshAction, writer: str, jobs: int, rows: int = 9) -> RefreshRecord:
        did = RefreshStatistics(writer=writer, spark_jobs=jobs, rows_read=rows)
        return replace(record(action, 100), statistics=did)

    here, sparks = done(FULL, "engine", 0), done(RefreshAction.REINITIALIZE, "spark", 4)
    moved = done(INCREMENTAL, "engine", 0)
    assert not was_evaluated([])
    assert not was_evaluated([moved])
    assert was_evaluated([moved, here, sparks])
    assert not was_evaluated([moved, sparks, here])
    assert not was_evaluated([done(FULL, "engine", 3)])
    assert not was_evaluated([done(FULL, "engine", 0, rows=0)]), "Spark Connect counts no jobs"
    assert was_evaluated([replace(sparks, state=RefreshState.FAILED), here])


def test_a_cold_computation_counts_where_there_is_no_other() -> None:
    """It can only have been too dear, so the table is moved where that is not clear."""
    dear, cold = record(INCREMENTAL, 9_000, 1_000), record(FULL, 7_000, cold=True)
    assert chosen(1_000, [dear, dear, dear, cold]) is None
    assert chosen(1_000, [dear, dear, dear, record(FULL, 2_000), cold]) == "CHEAPER_FULL"
    assert chosen(1_000, [dear, dear, dear, record(FULL, 5_000, cold=True)]) == "CHEAPER_FULL"


def test_the_first_refreshes_of_a_process_and_of_a_table_in_it_are_cold() -> None:
    assert is_cold(0, 0)
    assert is_cold(11, 11)
    assert not is_cold(12, 12)
    assert is_cold(1_000, 2)
    assert not is_cold(1_000, 3)


def test_a_table_that_has_grown_since_is_not_computed_in_the_time_of_then() -> None:
    dear = [record(INCREMENTAL, 9_000, 1_000)] * 3
    assert chosen(1_000, [*dear, record(FULL, 2_000, rows=MILLION)]) == "CHEAPER_FULL"
    assert chosen(1_000, [*dear, record(FULL, 2_000, rows=MILLION // 10)]) is None
    assert chosen(60_000, [record(FULL, 300, rows=1)]) is None


def test_a_table_of_few_rows_says_little_of_what_many_cost() -> None:
    """Most of what it took to compute was for no row."""
    found = estimate(Work(3 * MILLION, 3 * MILLION, False), [record(FULL, 600, rows=1_000)])
    assert found is not None
    assert 2_000 < found.whole < 20_000


def test_what_was_chosen_is_kept_until_the_other_way_is_clearly_cheaper() -> None:
    def anew(ms: int) -> RefreshRecord:
        return record(FULL, ms, 1_000, code="CHEAPER_FULL")

    dear = [record(INCREMENTAL, 3_100, 1_000)] * 3
    assert chosen(1_000, [anew(2_900), *dear, record(FULL, 2_000)]) == "CHEAPER_FULL"
    assert chosen(1_000, [anew(3_200), *dear, record(FULL, 2_000)]) is None
    moved = record(INCREMENTAL, 3_100, 1_000)
    assert chosen(1_000, [moved, anew(2_900), *dear, record(FULL, 2_000)]) is None


def test_now_and_then_a_table_that_is_computed_anew_is_moved_to_see_what_that_costs() -> None:
    dear = [record(INCREMENTAL, 9_000, 1_000)] * 3
    anew = record(FULL, 2_000, 1_000, code="CHEAPER_FULL")
    rebuilt = record(RefreshAction.REINITIALIZE, 2_500, 1_000, code=STATE_REBUILT)
    idle = record(RefreshAction.NO_DATA, 1)
    assert chosen(1_000, [anew] * (PROBE - 1) + dear) == "CHEAPER_FULL"
    assert chosen(1_000, [idle, *[anew] * PROBE, *dear]) is None
    after = [idle, rebuilt, *[anew] * PROBE, *dear]
    assert chosen(1_000, after) is None, "its state was computed for that"
    assert chosen(1_000, [record(INCREMENTAL, 9_500, 1_000), *after]) == "CHEAPER_FULL"
    assert chosen(1_000, [record(INCREMENTAL, 900, 1_000), *after]) is None


def test_failed_refreshes_teach_nothing() -> None:
    failed = record(FULL, 10, state=RefreshState.FAILED)
    assert estimate(Work(1, MILLION, append=False), [failed]) is None


def test_the_sentence_has_the_rows_and_both_times() -> None:
    reason = cheaper_whole(Work(500_000, MILLION, append=False), [record(FULL, 10_000)])
    assert reason is not None
    assert str(reason.sentence) == (
        "500,000 of 1,000,000 source rows changed: about 60.0 s in the process, 65.0 s in Spark, "
        "10.0 s for a full refresh"
    )
