"""Cancelling: from the keyboard, from another thread, before the start; and counting jobs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from dt_jupyter.spark import (
    Activity,
    CancelFlag,
    Cancelled,
    JobPurpose,
    activity,
    cancel,
    count_jobs,
    job_group,
    note_purpose,
    purpose_of,
    run_cancellable,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOREVER = 10**14
"""Rows of a query that would take days: a test that ends has cancelled it."""


def forever(spark: SparkSession) -> int:
    return spark.range(FOREVER).selectExpr("sum(id % 7) AS s").collect()[0].s


def active_jobs(spark: SparkSession) -> list[int]:
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[attr-defined]
    return list(spark.sparkContext.statusTracker().getActiveJobsIds())


@pytest.fixture
def when_running(spark: SparkSession) -> Iterator[Callable[[Callable[[], None]], None]]:
    """`when_running(act)`: a thread calls `act` as soon as a Spark job runs."""
    threads: list[threading.Thread] = []
    stop = threading.Event()

    def watch(act: Callable[[], None]) -> None:
        while not spark.sparkContext.statusTracker().getActiveJobsIds():
            if stop.wait(0.05):
                return
        act()

    def start(act: Callable[[], None]) -> None:
        threads.append(threading.Thread(target=watch, args=(act,)))
        threads[-1].start()

    yield start
    stop.set()
    for thread in threads:
        thread.join()


def test_the_value_comes_back_and_the_jobs_are_counted(spark: SparkSession) -> None:
    assert count_jobs(spark, "count-1") == 0
    rows = run_cancellable(spark, "count-1", "two", lambda: spark.range(5).count())
    assert rows == 5
    assert count_jobs(spark, "count-1") == 1
    run_cancellable(spark, "count-1", "two", lambda: spark.range(5).collect())
    assert count_jobs(spark, "count-1") == 2
    run_cancellable(spark, "count-0", "nothing to do", lambda: spark.sql("SELECT 1").schema)
    assert count_jobs(spark, "count-0") == 0


def test_an_interrupt_cancels_the_job_and_is_raised_again(
    spark: SparkSession, when_running: Callable[[Callable[[], None]], None]
) -> None:
    when_running(lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as raised:
        run_cancellable(spark, "interrupt", "for days", lambda: forever(spark))
    assert isinstance(raised.value.__cause__, Cancelled)
    assert active_jobs(spark) == []


def test_after_an_interrupt_no_later_job_starts(
    spark: SparkSession, when_running: Callable[[Callable[[], None]], None]
) -> None:
    """The work swallows its first failure, as a retry would: the second job is refused too."""
    attempts: list[str] = []

    def stubborn() -> None:
        for _ in range(3):
            try:
                forever(spark)
            except Exception as failure:
                attempts.append(type(failure).__name__)

    when_running(lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        run_cancellable(spark, "stubborn", "for days", stubborn)
    assert len(attempts) == 3
    assert active_jobs(spark) == []


def test_another_thread_cancels(
    spark: SparkSession, when_running: Callable[[Callable[[], None]], None]
) -> None:
    flag = CancelFlag()

    def stop() -> None:
        flag.set()
        cancel(spark, "elsewhere")

    when_running(stop)
    with pytest.raises(Cancelled, match="elsewhere was cancelled"):
        run_cancellable(spark, "elsewhere", "for days", lambda: forever(spark), flag)
    assert active_jobs(spark) == []


def test_cancelling_before_the_first_job_works(spark: SparkSession) -> None:
    cancel(spark, "early")
    with pytest.raises(Exception, match="cancelled"):
        run_cancellable(spark, "early", "for days", lambda: forever(spark))


def test_a_flag_that_is_set_starts_nothing(spark: SparkSession) -> None:
    flag = CancelFlag()
    flag.set()
    with pytest.raises(Cancelled):
        run_cancellable(spark, "flagged", "never", lambda: pytest.fail("it ran"), flag)


def test_cancelling_the_outer_group_cancels_the_inner(
    spark: SparkSession, when_running: Callable[[Callable[[], None]], None]
) -> None:
    def outer() -> int:
        return run_cancellable(spark, "inner", "for days", lambda: forever(spark))

    when_running(lambda: cancel(spark, "outer"))
    with pytest.raises(Exception, match="cancelled"):
        run_cancellable(spark, "outer", "holds another", outer)
    assert count_jobs(spark, "inner") == 1
    assert active_jobs(spark) == []


def test_an_error_of_the_work_is_raised_as_it_is(spark: SparkSession) -> None:
    with pytest.raises(ZeroDivisionError):
        run_cancellable(spark, "fails", "fails", lambda: 1 // 0)


def test_groups_nest_and_come_back(spark: SparkSession) -> None:
    context = spark.sparkContext
    with job_group(spark, "a", "first"):
        with job_group(spark, "b", "second"):
            assert context.getLocalProperty("spark.jobGroup.id") == "b"
            assert set(context.getJobTags()) == {"a", "b"}
        assert context.getLocalProperty("spark.jobGroup.id") == "a"
        assert context.getLocalProperty("spark.job.description") == "first"
    assert context.getLocalProperty("spark.jobGroup.id") is None
    assert not set(context.getJobTags())


def test_jobs_say_what_they_are_for_inside_of_their_group(spark: SparkSession) -> None:
    def newest_description() -> str | None:
        spark.range(3).count()
        context = spark.sparkContext._jsc.sc()  # type: ignore[attr-defined]
        context.listenerBus().waitUntilEmpty()
        text = context.statusStore().job(context.dagScheduler().nextJobId() - 1).description()
        return text.get() if text.isDefined() else None

    note_purpose(spark, JobPurpose.WRITE)
    before = newest_description()
    with job_group(spark, "of a purpose", "refresh"):
        note_purpose(spark, JobPurpose.KEYS)
        assert newest_description() == "refresh: touched keys"
        with job_group(spark, "of another", "another"):
            assert newest_description() == "another"
            note_purpose(spark, JobPurpose.WRITE)
            assert newest_description() == "another: write"
        assert newest_description() == "refresh: touched keys"
        note_purpose(spark, JobPurpose.STATE)
        assert newest_description() == "refresh: changed rows"
    assert newest_description() == before
    assert purpose_of(before) is None


def test_a_group_needs_a_name(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="needs a name"):
        run_cancellable(spark, "", "", lambda: None)


def test_an_activity_knows_the_jobs_of_its_groups(spark: SparkSession) -> None:
    """Its own with those nested in it, and of steps their own; a user's group comes back."""
    context = spark.sparkContext

    def count() -> int:
        return spark.range(10).count()

    def both() -> int:
        return count() + run_cancellable(spark, "progress-in", "the second", count)

    context.setJobGroup("mine", "my own")
    with activity("the whole") as made:
        assert run_cancellable(spark, "progress-out", "the whole", both) == 20
        run_cancellable(spark, "progress-next", "the third", count)
        context._jsc.sc().listenerBus().waitUntilEmpty()  # type: ignore[attr-defined]
        state = made.state()
    assert context.getLocalProperty("spark.jobGroup.id") == "mine"
    assert not set(context.getJobTags())
    assert (state.title, state.progress.jobs, state.progress.jobs_done) == ("the whole", 2, 2)
    assert state.progress.tasks == state.progress.tasks_done > 0
    assert [(s.title, s.progress.jobs, s.ended) for s in state.steps] == [
        ("the second", 1, True),
        ("the third", 1, True),
    ]


def test_what_a_thread_runs_is_stopped(
    spark: SparkSession, when_running: Callable[[Callable[[], None]], None]
) -> None:
    found: list[BaseException] = []
    running: list[Activity] = []

    def work() -> None:
        with activity("for days") as made:
            running.append(made)
            try:
                run_cancellable(spark, "stopped", "for days", lambda: forever(spark))
            except Cancelled as e:
                found.append(e)

    def stop() -> None:
        running[0].stop()

    when_running(stop)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert len(found) == 1
    assert active_jobs(spark) == []
