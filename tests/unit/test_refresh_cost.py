"""The choice between moving a table and computing it anew, from its history alone."""

from __future__ import annotations

from collections.abc import Sequence

from dt_jupyter.ivm import Bag, Join, Match, MatchKind, Rel, Scan, Sizes, Stage, col, expr
from dt_jupyter.model import (
    Name,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    Timestamp,
)
from dt_jupyter.refresh.cost import SMALL, Work, cheaper_whole, estimate, reads

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


def test_a_small_change_for_which_much_is_read_is_computed_anew_until_it_was_tried() -> None:
    """An EXISTS reads its inner table at both ends."""
    whole = record(FULL, 4_000)

    def choice(reads: float, *history: RefreshRecord) -> bool:
        return cheaper_whole(Work(1_000, MILLION, append=False, reads=reads), history) is not None

    assert not choice(1.0, whole)
    assert choice(9.0, whole)
    assert not choice(9.0, record(INCREMENTAL, 2_000, 1_000), whole)
    assert choice(9.0, record(INCREMENTAL, 2_000, 10), whole), "that one was much smaller"
    assert not choice(9.0, record(FULL, 500)), "below a second it does not matter"


def test_what_a_derivative_reads_is_counted_by_its_tables() -> None:
    rows = {"s": 1_000, "t": 10}
    left, right = (Scan(s, ((f"{s}k", "k"),)) for s in rows)
    joined = Join((left, right), (expr("{a} = {b}", a=col("sk"), b=col("tk")),))
    exists = Match(left, right, MatchKind.SEMI, (("sk", "tk"),))

    def read(input: Rel, **changed: int) -> float | None:
        stage = Stage("stage:0", input, Bag(), (("k", col("sk")),))
        sizes = Sizes(rows.__getitem__, changed, lambda source, column: "int")
        return reads([stage], frozenset(changed), sizes)

    assert read(joined, s=1) == 10 / 1_010
    assert read(joined, s=1, t=1) == 1_010 / 1_010
    assert read(exists, s=1) == 10 / 1_010
    assert read(exists, t=1) == (2 * 1_000 + 2 * 10) / 1_010
    assert read(left) == 0
