"""Which alerts there are, and when they begin and end: by values alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dt_jupyter.model import (
    Alert,
    AlertKind,
    Name,
    Reason,
    StandingAlert,
    TableStanding,
    TaskRun,
    TaskRunState,
    TaskTrigger,
    Timestamp,
    alert_event,
    alert_in,
    decide_alerts,
    last_task_failure,
    table_alerts,
)

NAME = Name("default", "t")
BROKEN = Reason("DT-2105", "division by zero")
TOO_MANY = Reason("TOO_MANY_FAILURES", "5 failed in a row.")
WELL = TableStanding("id-t", NAME, Timestamp(0), 60.0)


def at(seconds: float) -> Timestamp:
    return Timestamp(0).plus(seconds)


def kinds(table: TableStanding, now: float = 10, awake: float | None = 0) -> list[AlertKind]:
    since = None if awake is None else at(awake)
    return [alert.kind for alert in table_alerts([table], at(now), since)]


FAILED, LATE, SUSPENDED = AlertKind.FAILED, AlertKind.LATE, AlertKind.SUSPENDED


@pytest.mark.parametrize(
    ("table", "now", "awake", "expected"),
    [
        (WELL, 60, 0, []),
        (WELL, 61, 0, [LATE]),
        (WELL, 61, None, []),  # nobody refreshes it
        (WELL, 1000, 950, []),  # the scheduler has just begun
        (WELL, 1000, 900, [LATE]),
        (replace(WELL, target=None), 1000, 0, []),
        (replace(WELL, data_timestamp=None), 1000, 0, []),
        (replace(WELL, failure=BROKEN), 10, 0, [FAILED]),
        (replace(WELL, failure=BROKEN), 100, 0, [FAILED, LATE]),
        (replace(WELL, failure=BROKEN, suspended=True), 100, 0, []),  # the user did it
        (
            replace(WELL, failure=BROKEN, suspended=True, by_failures=True, reason=TOO_MANY),
            100,
            0,
            [SUSPENDED, FAILED],
        ),
    ],
)
def test_what_is_an_alert(
    table: TableStanding, now: float, awake: float | None, expected: list[AlertKind]
) -> None:
    assert kinds(table, now, awake) == expected


def test_it_says_why() -> None:
    (late,) = table_alerts([WELL], at(95), at(0))
    assert str(late) == "dynamic table t LATE: Its lag is 95 s, its target lag 60 s."


def test_one_that_is_downstream_is_late_by_what_its_readers_ask_for() -> None:
    (late,) = table_alerts([replace(WELL, downstream=True)], at(95), at(0))
    assert late.message == "Its lag is 95 s, its readers ask for 60 s."


def alert(kind: AlertKind = FAILED, since: float = 0) -> Alert:
    return Alert(kind, "DYNAMIC_TABLE", NAME, "id-t", at(since), "DT-2105", "no", target=60.0)


def test_an_episode_is_raised_once_and_cleared_once() -> None:
    first = decide_alerts([alert()], [], at(0))
    assert first.raised == (alert(),)
    standing = [StandingAlert(alert())]
    assert decide_alerts([alert(since=7)], standing, at(7)).none
    over = decide_alerts([], standing, at(9))
    assert over.cleared == (replace(alert(), over=True),)
    assert not over.raised
    other = replace(alert(), object_id="made-again")
    made_again = decide_alerts([other], standing, at(9))
    assert (len(made_again.raised), len(made_again.cleared)) == (1, 1)


def test_a_table_that_is_late_in_each_cycle_has_one_alert() -> None:
    """Within its target for less than a target's time each time, it was never well."""
    standing = [StandingAlert(alert(LATE))]
    for cycle in range(5):
        begin = 70.0 * cycle
        calm = decide_alerts([], standing, at(begin))
        assert [q.calm for q in calm.quiet] == [at(begin)]
        assert not calm.cleared
        standing = list(calm.quiet)
        assert decide_alerts([], standing, at(begin + 58)).none
        late = decide_alerts([alert(LATE)], standing, at(begin + 59))
        assert [q.calm for q in late.quiet] == [None]
        assert not late.raised
        standing = list(late.quiet)
    calm = decide_alerts([], standing, at(1000)).quiet
    assert decide_alerts([], calm, at(1060)).cleared


def test_a_long_target_is_not_waited_for() -> None:
    day = replace(alert(LATE), target=86_400.0)
    calm = StandingAlert(day, at(0))
    assert not decide_alerts([], [calm], at(299)).cleared
    assert decide_alerts([], [calm], at(300)).cleared


@pytest.mark.parametrize(
    ("runs", "failed"),
    [
        ("", False),
        ("g1/1 FAILED", True),
        ("g1/1 SUCCEEDED, g0/1 FAILED", False),
        ("g2/1 EXECUTING, g1/1 FAILED", True),
        ("g2/1 SKIPPED, g1/1 FAILED", True),
        ("g1/2 SCHEDULED, g1/1 FAILED", False),  # it is tried again
        ("g1/2 SCHEDULED, g1/1 FAILED, g0/1 FAILED", True),
        ("g1/2 SUCCEEDED, g1/1 FAILED", False),
        ("g1/2 FAILED, g1/1 FAILED", True),
        ("g1/1 CANCELLED", False),
    ],
)
def test_what_a_task_last_met(runs: str, failed: bool) -> None:
    made = []
    for text in filter(None, runs.split(", ")):
        graph, attempt, state = text.replace("/", " ").split()
        run = TaskRun(
            text, "id-j", NAME, graph, "id-j", 1, TaskTrigger.SCHEDULE, at(0),
            TaskRunState(state), int(attempt),
        )  # fmt: skip
        made.append(run)
    assert (last_task_failure(made) is not None) == failed


def test_an_event_has_all_of_it() -> None:
    for one in (alert(), replace(alert(LATE, 3.5), over=True)):
        assert alert_in(alert_event(one, at(9))) == replace(one, target=None)
