"""The choice between moving a table and computing it anew, from its history alone."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.model import (
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.refresh.cost import SMALL, Work, cheaper_whole, estimate

FULL, INCREMENTAL = RefreshAction.FULL, RefreshAction.INCREMENTAL
MILLION = 1_000_000


def record(
    action: RefreshAction, milliseconds: int, changed: int = 0,
    state: RefreshState = RefreshState.SUCCEEDED,
) -> RefreshRecord:  # fmt: skip
    return RefreshRecord(
        name=Name("default", "t"), query_id="q", state=state, trigger=RefreshTrigger.MANUAL,
        data_timestamp=Timestamp(0), action=action,
        statistics=RefreshStatistics(execution_ms=milliseconds, changed_rows=changed),
    )  # fmt: skip


def chosen(changed: int, history: Sequence[RefreshRecord], *, append: bool = False) -> str | None:
    reason = cheaper_whole(Work(changed, MILLION, append), history)
    return reason.code if reason else None


def test_without_a_history_nothing_is_estimated_and_the_table_is_moved() -> None:
    assert estimate(Work(MILLION, MILLION, append=False), []) is None
    assert chosen(MILLION, []) is None
    assert chosen(MILLION, [record(INCREMENTAL, 100, 10)]) is None


def test_an_empty_source_is_moved() -> None:
    assert estimate(Work(0, 0, append=False), [record(FULL, 1000)]) is None


def test_a_large_share_is_computed_anew_and_a_small_one_moved() -> None:
    history = [record(FULL, 10_000)]
    assert chosen(MILLION // 2, history) == "CHEAPER_FULL"
    assert chosen(SMALL, history) is None


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


def test_a_change_under_the_threshold_is_computed_anew_only_where_two_like_it_were_dearer() -> None:
    whole, dear = record(FULL, 2_000), record(INCREMENTAL, 3_000, 1_000)
    assert chosen(1_000, [dear, whole]) is None
    assert chosen(1_000, [dear, dear, whole]) == "CHEAPER_FULL"
    assert chosen(100, [dear, dear, whole]) is None, "they were ten times as large"


def test_a_table_that_is_computed_in_no_time_is_moved() -> None:
    """Below a second what was measured is the machine's mood."""
    dear = record(INCREMENTAL, 900, 1_000)
    assert chosen(1_000, [dear, dear, record(FULL, 300)]) is None


def test_failed_refreshes_teach_nothing() -> None:
    failed = record(FULL, 10, state=RefreshState.FAILED)
    assert estimate(Work(1, MILLION, append=False), [failed]) is None


def test_the_sentence_has_the_rows_and_both_times() -> None:
    reason = cheaper_whole(Work(500_000, MILLION, append=False), [record(FULL, 10_000)])
    assert reason is not None
    assert str(reason.sentence) == (
        "500,000 of 1,000,000 source rows changed: about 60.0 s incrementally, 10.0 s anew"
    )
