"""Alerts: what in a lake needs attention, raised once for each episode, and cleared after it.

Which there are, and which begin and end, are decided here, by values alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from dt_jupyter.model.lake_events import EventKind, LakeEvent, Severity
from dt_jupyter.model.names import Name
from dt_jupyter.model.states import Reason
from dt_jupyter.model.tasks import TaskRun, TaskRunState
from dt_jupyter.model.time import Timestamp

CALM_SECONDS = 300.0
"""A table is late no more once it was within its target for so long, or for as long as that is."""


class AlertKind(StrEnum):
    """FAILED: the last refresh or run failed, or a sink is paused by a failure. LATE: the lag of a
    dynamic table or a sink is over the target while a scheduler runs. SUSPENDED: by failures, not
    by the user. STALE: a stream cannot be read any more. REFUSED: a sink has dead letters."""

    FAILED = "FAILED"
    LATE = "LATE"
    SUSPENDED = "SUSPENDED"
    STALE = "STALE"
    REFUSED = "REFUSED"


@dataclass(frozen=True, slots=True)
class Alert:
    """Of the DYNAMIC_TABLE, SINK, TASK or STREAM (`of`) that is called `name`. `since` is when it
    was raised, `over` whether it has ended."""

    kind: AlertKind
    of: str
    name: Name
    object_id: str
    since: Timestamp
    code: str | None = None
    message: str | None = None
    over: bool = False
    target: float | None = None

    @property
    def key(self) -> tuple[str, str]:
        """The same for an alert as long as it is active."""
        return (self.kind.value, self.object_id)

    @property
    def event(self) -> str:
        return "CLEARED" if self.over else "RAISED"

    def to_json(self) -> dict[str, Any]:
        """What a webhook is sent."""
        return {
            "alert": self.kind.value,
            "event": self.event,
            "of": self.of,
            "name": str(self.name),
            "since": self.since.datetime.isoformat(),
            "code": self.code,
            "message": self.message,
        }

    def __str__(self) -> str:
        end = " is over" if self.over else f": {self.message}" if self.message else ""
        return f"{self.of.replace('_', ' ').lower()} {self.name} {self.kind}{end}"


@dataclass(frozen=True, slots=True)
class StandingAlert:
    """An alert that was raised, and since when its cause is gone, if it is."""

    alert: Alert
    calm: Timestamp | None = None


@dataclass(frozen=True, slots=True)
class AlertMoves:
    """`quiet` are unchanged ones, except for another `calm`."""

    raised: tuple[Alert, ...] = ()
    cleared: tuple[Alert, ...] = ()
    quiet: tuple[StandingAlert, ...] = ()

    @property
    def none(self) -> bool:
        return not (self.raised or self.cleared or self.quiet)


def decide_alerts(
    found: Iterable[Alert], standing: Sequence[StandingAlert], now: Timestamp
) -> AlertMoves:
    """What is raised and cleared. One that is LATE is cleared once it has been calm for a while:
    a table that is late in each of its cycles has one alert, not one in each."""
    causes = {alert.key: alert for alert in found}
    known = {each.alert.key for each in standing}
    raised = tuple(alert for key, alert in causes.items() if key not in known)
    cleared, quiet = [], []
    for each in standing:
        if each.alert.key in causes:
            if each.calm is not None:
                quiet.append(StandingAlert(each.alert))
        elif _settled(each, now):
            cleared.append(replace(each.alert, over=True))
        elif each.calm is None:
            quiet.append(StandingAlert(each.alert, now))
    return AlertMoves(raised, tuple(cleared), tuple(quiet))


def _settled(each: StandingAlert, now: Timestamp) -> bool:
    if each.alert.kind is not AlertKind.LATE:
        return True
    wait = min(CALM_SECONDS, each.alert.target or 0.0)
    return each.calm is not None and now.since(each.calm) >= wait


@dataclass(frozen=True, slots=True)
class TableStanding:
    """What alerts of a dynamic table go by. `reason` says why it is suspended, `by_failures` that
    failures did it; `failure` is what its last completed refresh met, `target` is in seconds and
    None for what no scheduler refreshes; of one that is `downstream` it is what its readers ask
    for, None without one."""

    id: str
    name: Name
    data_timestamp: Timestamp | None
    target: float | None = None
    suspended: bool = False
    by_failures: bool = False
    reason: Reason | None = None
    failure: Reason | None = None
    downstream: bool = False


def table_alerts(
    tables: Iterable[TableStanding], now: Timestamp, awake: Timestamp | None
) -> list[Alert]:
    """`awake`: since when a scheduler has run without a pause, None where none runs: before, no
    target could be kept."""
    return [alert for table in tables for alert in _alerts_of(table, now, awake)]


def _alerts_of(t: TableStanding, now: Timestamp, awake: Timestamp | None) -> Iterable[Alert]:
    def made(kind: AlertKind, why: Reason | None, target: float | None = None) -> Alert:
        code, message = (why.code, why.sentence) if why else (None, None)
        of = EventKind.DYNAMIC_TABLE.value
        return Alert(kind, of, t.name, t.id, now, code, message, target=target)

    if t.suspended and t.by_failures:
        yield made(AlertKind.SUSPENDED, t.reason)
    if t.failure is not None and (not t.suspended or t.by_failures):
        yield made(AlertKind.FAILED, t.failure)
    if not t.suspended and (late := _lateness(t, now, awake)) is not None:
        yield made(AlertKind.LATE, late, t.target)


def _lateness(t: TableStanding, now: Timestamp, awake: Timestamp | None) -> Reason | None:
    return lateness(t.data_timestamp, t.target, now, awake, asked=t.downstream)


def lateness(
    since: Timestamp | None,
    target: float | None,
    now: Timestamp,
    awake: Timestamp | None,
    *,
    asked: bool = False,
) -> Reason | None:
    """Why what has lagged `since` then is late; None where it is not. `asked`: the target is what
    its readers ask for."""
    if awake is None or since is None or target is None:
        return None
    if now.since(max(since, awake)) <= target:
        return None
    lag = now.since(since)
    if asked:
        return Reason("LATE", f"Its lag is {lag:,.0f} s, its readers ask for {target:,.0f} s.")
    return Reason("LATE", f"Its lag is {lag:,.0f} s, its target lag {target:,.0f} s.")


def last_task_failure(runs: Sequence[TaskRun]) -> Reason | None:
    """Of the runs of a task, newest first: what the last one that ended met, all its attempts
    counted as one. None where it succeeded."""
    attempts: dict[str, int] = {}
    for run in runs:
        if run.attempt < attempts.setdefault(run.graph, run.attempt):
            continue
        if run.state is TaskRunState.FAILED:
            return Reason(run.code or "FAILED", run.message or "It failed.")
        if run.state is TaskRunState.SUCCEEDED:
            return None
    return None


def alert_event(alert: Alert, now: Timestamp) -> LakeEvent:
    """As the event table has it; `alert_in` reads it back."""
    bad = Severity.WARN if alert.kind is AlertKind.LATE else Severity.ERROR
    return LakeEvent(
        now,
        EventKind.ALERT,
        Severity.INFO if alert.over else bad,
        alert.event,
        alert.name.schema,
        alert.name.table,
        alert.object_id,
        alert.code,
        alert.message,
        {"alert": alert.kind.value, "of": alert.of, "since": str(alert.since)},
    )


def alert_in(event: LakeEvent) -> Alert:
    told = event.attributes
    return Alert(
        AlertKind(told["alert"]),
        told["of"],
        Name(event.schema, event.name),
        event.object_id,
        Timestamp.parse(told["since"]),
        event.code,
        event.message,
        over=event.state == "CLEARED",
    )


__all__ = [
    "CALM_SECONDS",
    "Alert",
    "AlertKind",
    "AlertMoves",
    "StandingAlert",
    "TableStanding",
    "alert_event",
    "alert_in",
    "decide_alerts",
    "last_task_failure",
    "lateness",
    "table_alerts",
]
