"""Run work under a job group that can be cancelled from the keyboard or from another thread.

Ctrl-C during an action on the main thread leaves its Spark job running. So on the main thread the
work runs in a separate thread, and the main thread waits in short steps and cancels.
A group is a name for one run: once cancelled, later jobs of that group are refused too, hence
give every run its own name. Groups nest: cancelling the outer one cancels the jobs of the inner.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from dt_jupyter.spark.activities import activity_step, current_activity
from dt_jupyter.spark.compiled_java import session_calls
from dt_jupyter.spark.job_purposes import DESCRIPTION, described_group
from dt_jupyter.spark.job_tags import tag_of
from dt_jupyter.spark.modes import is_connect
from dt_jupyter.spark.progress import JobProgress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

T = TypeVar("T")
_STEP_SECONDS = 0.2
_local = threading.local()
_GROUP_PROPERTIES = ("spark.jobGroup.id", DESCRIPTION, "spark.job.interruptOnCancel")


class Cancelled(Exception):
    """The work of `group` was cancelled; what it raised, if anything, is the cause."""

    def __init__(self, group: str) -> None:
        super().__init__(f"{group} was cancelled")
        self.group = group


class CancelFlag:
    """Says that work is not wanted any more, also before or between its Spark jobs."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        self._event.set()

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def check(self, group: str) -> None:
        """Raises `Cancelled` if the flag is set: call it between steps, and before a commit."""
        if self.is_set:
            raise Cancelled(group)


@dataclass
class _Outcome(Generic[T]):
    """What the thread leaves behind: a value or an exception, and that it is done."""

    done: threading.Event = field(default_factory=threading.Event)
    value: T | None = None
    failure: BaseException | None = None


def run_cancellable(
    spark: SparkSession,
    group: str,
    description: str,
    fn: Callable[[], T],
    flag: CancelFlag | None = None,
) -> T:
    """The value of `fn()`, whose Spark jobs run as `group`.

    On the main thread an interrupt cancels the group, waits until `fn` has ended, and is raised
    again, so nothing runs on behind the user's back. Elsewhere `fn` runs in the calling thread,
    for another one to `cancel`. With `flag` set, before or during: `Cancelled`.
    """
    flag = flag or CancelFlag()
    flag.check(group)
    if threading.current_thread() is threading.main_thread():
        return _in_thread(spark, group, description, fn, flag)
    return _inline(spark, group, description, fn, flag)


def check_cancelled() -> None:
    """Raises `Cancelled` where the work of this thread is not wanted any more: call it between
    steps that start no Spark job, and before anything is kept."""
    for group, flag in _wanted():
        flag.check(group)
    _check_stopped("the statement")


def make_cancel_check() -> Callable[[], bool]:
    """Whether the work of this thread is not wanted any more, for another thread to ask."""
    flags = [flag for _, flag in _wanted()]
    return lambda: any(flag.is_set for flag in flags)


def _wanted() -> list[tuple[str, CancelFlag]]:
    """What runs in this thread, the outermost first."""
    found: list[tuple[str, CancelFlag]] | None = getattr(_local, "running", None)
    if found is None:
        found = _local.running = []
    return found


def cancel(spark: SparkSession, group: str) -> None:
    """Cancel the jobs of `group` that run, nested groups included, and those that it starts later.

    Returns at once; the thread that runs the work sees its action fail. Spark Connect cancels
    only what its server already runs: there, call it again until the work has ended.
    """
    if is_connect(spark):
        spark.interruptTag(tag_of(group))
        return
    spark.sparkContext._jsc.sc().cancelJobGroupAndFutureJobs(group)
    spark.sparkContext.cancelJobsWithTag(tag_of(group))


def count_jobs(spark: SparkSession, group: str) -> int | None:
    """How many Spark jobs `group` has started so far; None on Spark Connect, which does not report
    it.

    Waits for the scheduler's events to be delivered, so the number is exact. Jobs of nested
    groups count for their own group only.
    """
    if is_connect(spark):
        return None
    return len(job_ids(spark, group))


def job_ids(spark: SparkSession, group: str) -> list[int]:
    """The jobs that `group` has started so far, as `count_jobs` counts them; classic Spark only."""
    found: list[int] = json.loads(session_calls(spark).jobs(spark.sparkContext._jsc, group))
    return found


@contextmanager
def job_group(spark: SparkSession, group: str, description: str) -> Iterator[None]:
    """Jobs that this thread starts inside belong to `group`; the group before it comes back."""
    tag = tag_of(group)
    if is_connect(spark):
        spark.addTag(tag)
        try:
            yield
        finally:
            spark.removeTag(tag)
        return
    context = spark.sparkContext
    before = [(key, context.getLocalProperty(key)) for key in _GROUP_PROPERTIES]
    # Interrupts reach task threads only: a Delta commit runs in the driver, and is not cut in two.
    context.setJobGroup(group, description, interruptOnCancel=True)
    context.addJobTag(tag)
    try:
        with described_group(description):
            yield
    finally:
        context.removeJobTag(tag)
        for key, value in before:
            context.setLocalProperty(key, cast(str, value))


def _inline(
    spark: SparkSession, group: str, description: str, fn: Callable[[], T], flag: CancelFlag
) -> T:
    _check_stopped(group)
    running = _wanted()
    running.append((group, flag))
    try:
        with job_group(spark, group, description), _seen(spark, group, description, flag):
            return fn()
    except Cancelled:
        raise
    except Exception as failure:
        for wanted, its_flag in running:  # what cancels the outer one ends the inner one's jobs too
            if its_flag.is_set:
                raise Cancelled(wanted) from failure
        raise
    finally:
        running.pop()


def _check_stopped(group: str) -> None:
    """Raises `Cancelled` where the activity that this is a part of was stopped."""
    part = current_activity()
    if part is not None and (part.root or part).stopped:
        raise Cancelled(group)


@contextmanager
def _seen(spark: SparkSession, group: str, description: str, flag: CancelFlag) -> Iterator[None]:
    """The jobs of a group are those of the activity with its description, else of a step."""
    part = current_activity()
    with ExitStack() as ends:
        if part is not None and (part.jobs is not None or part.text != description):
            ends.enter_context(activity_step(description))
            part = current_activity()
        if part is not None:
            jobs = JobProgress(spark, group)
            ends.enter_context(part.running(jobs, lambda: _stop(spark, group, flag)))
        yield


def _in_thread(
    spark: SparkSession, group: str, description: str, fn: Callable[[], T], flag: CancelFlag
) -> T:
    from pyspark import InheritableThread

    outcome: _Outcome[T] = _Outcome()

    def work() -> None:
        try:
            outcome.value = _inline(spark, group, description, fn, flag)
        except BaseException as failure:
            outcome.failure = failure
        finally:
            outcome.done.set()

    session = {"session": spark} if is_connect(spark) else {}
    inside = copy_context()
    thread = InheritableThread(target=inside.run, args=(work,), name=group, daemon=True, **session)
    interrupt = _run(thread, outcome.done, lambda: _stop(spark, group, flag))
    if interrupt is not None:
        raise interrupt from outcome.failure
    if outcome.failure is not None:
        raise outcome.failure
    return cast(T, outcome.value)


def _run(
    thread: threading.Thread, done: threading.Event, stop: Callable[[], None]
) -> KeyboardInterrupt | None:
    """Start `thread`, wait for `done`; from the first interrupt on, `stop` in every step.

    Returns that interrupt. The wait has a time limit in every step because an unlimited one, and
    `Thread.join`, would keep the interrupt waiting too.
    """
    interrupt: KeyboardInterrupt | None = None
    while not done.is_set():
        try:
            if thread.ident is None:
                thread.start()
            if interrupt is not None:
                stop()
            done.wait(_STEP_SECONDS)
        except KeyboardInterrupt as pressed:
            if thread.ident is None:
                raise
            interrupt = pressed
    return interrupt


def _stop(spark: SparkSession, group: str, flag: CancelFlag) -> None:
    flag.set()
    cancel(spark, group)
