"""What happened in a lake, as its event table and its log have it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dt_jupyter.model.names import Name
from dt_jupyter.model.records import RefreshRecord
from dt_jupyter.model.sinks import DeliveryRecord, DeliveryState
from dt_jupyter.model.states import Reason, RefreshAction, RefreshState
from dt_jupyter.model.tasks import TaskRun, TaskRunState
from dt_jupyter.model.time import Timestamp


class EventKind(StrEnum):
    """What an event is about: one REFRESH, DELIVERY or TASK_RUN that ended, or the new state of
    an object, of a scheduler, of the catalog, or of an alert."""

    REFRESH = "REFRESH"
    DELIVERY = "DELIVERY"
    TASK_RUN = "TASK_RUN"
    DYNAMIC_TABLE = "DYNAMIC_TABLE"
    SINK = "SINK"
    TASK = "TASK"
    WAREHOUSE = "WAREHOUSE"
    SCHEDULER = "SCHEDULER"
    CATALOG = "CATALOG"
    ALERT = "ALERT"


class Severity(StrEnum):
    """DEBUG is what only the log has, and the event table does not store: refreshes that found
    nothing to do, and ticks that were skipped."""

    DEBUG = "DEBUG"
    INFO = "INFO"
    WARN = "WARN"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True)
class LakeEvent:
    """`name` is the object's, with its `schema` ("" for what is in none), `object_id` distinguishes
    it from another one that had the name before. `state` is its new state, `code` and `message`
    why. `attributes` are JSON values: seconds and counts of rows."""

    at: Timestamp
    kind: EventKind
    severity: Severity
    state: str
    schema: str = ""
    name: str = ""
    object_id: str = ""
    code: str | None = None
    message: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Flat, with times as ISO texts: what a line of the log has."""
        told = {
            "time": self.at.datetime.isoformat(),
            "severity": self.severity.value,
            "kind": self.kind.value,
            "name": self.full_name,
            "object_id": self.object_id,
            "state": self.state,
            "code": self.code,
            "message": self.message,
        }
        return {**{k: v for k, v in told.items() if v}, **self.attributes}

    @property
    def full_name(self) -> str:
        """As statements write it."""
        return str(Name(self.schema, self.name)) if self.schema else self.name

    def __str__(self) -> str:
        kind = self.kind.replace("_", " ").lower()
        why = f" ({self.message or self.code})" if self.message or self.code else ""
        return f"{kind} {self.full_name}".rstrip() + f": {self.state}{why}"


_REFRESHES = {
    RefreshState.SUCCEEDED: Severity.INFO,
    RefreshState.SKIPPED: Severity.DEBUG,
    RefreshState.FAILED: Severity.ERROR,
}
_TASK_RUNS = {
    TaskRunState.SUCCEEDED: Severity.INFO,
    TaskRunState.SKIPPED: Severity.DEBUG,
    TaskRunState.FAILED: Severity.ERROR,
}


def refresh_event(dt_id: str, record: RefreshRecord, now: Timestamp) -> LakeEvent:
    """Of a refresh that ended."""
    idle = record.action is RefreshAction.NO_DATA
    done, s = record.state is RefreshState.SUCCEEDED, record.statistics
    counts = {
        "inserted_rows": s.inserted_rows,
        "deleted_rows": s.deleted_rows,
        "compilation_ms": s.compilation_ms,
        "execution_ms": s.execution_ms,
        "queued_ms": s.queued_ms,
    }
    attributes = {
        "query_id": record.query_id,
        "action": record.action,
        "trigger": record.trigger,
        "data_timestamp": record.data_timestamp.datetime.isoformat(),
        "seconds": record.duration,
        "warehouse": record.warehouse,
        **(counts if done else {}),
    }
    return LakeEvent(
        record.end or now,
        EventKind.REFRESH,
        Severity.DEBUG if idle else _REFRESHES.get(record.state, Severity.WARN),
        record.state.value,
        record.name.schema,
        record.name.table,
        dt_id,
        record.error_code or (record.reason.code if record.reason else None),
        record.error or (record.reason.sentence if record.reason else None),
        _told(attributes),
    )


def delivery_event(record: DeliveryRecord, now: Timestamp) -> LakeEvent:
    """Of a delivery that ended, or that is to be tried again: of several tries the first counts."""
    severity = Severity.INFO if record.state is DeliveryState.SUCCEEDED else Severity.ERROR
    if record.state is DeliveryState.SUCCEEDED and record.counts.refused:
        severity = Severity.WARN
    if record.state is DeliveryState.RETRYING:
        severity = Severity.WARN if record.retries == 1 else Severity.DEBUG
    attributes = {
        "query_id": record.id,
        "action": record.action,
        "trigger": record.trigger,
        "version": record.version,
        "seconds": record.end.since(record.start) if record.end else None,
        "rows": record.counts.stored,
        "deleted_rows": record.counts.deleted,
        "refused_rows": record.counts.refused or None,
        "retries": record.retries,
    }
    return LakeEvent(
        record.end or now,
        EventKind.DELIVERY,
        severity,
        record.state.value,
        record.name.schema,
        record.name.table,
        record.sink,
        record.code,
        record.error,
        _told(attributes),
    )


def task_run_event(run: TaskRun, now: Timestamp) -> LakeEvent:
    """Of a run of a task that ended."""
    attributes = {
        "query_id": run.id,
        "trigger": run.trigger,
        "attempt": run.attempt,
        "seconds": run.seconds,
        "rows": run.rows,
        "warehouse": run.warehouse,
    }
    return LakeEvent(
        run.end or now,
        EventKind.TASK_RUN,
        _TASK_RUNS.get(run.state, Severity.WARN),
        run.state.value,
        run.name.schema,
        run.name.table,
        run.task,
        run.code,
        run.message,
        _told(attributes),
    )


def standing_event(
    kind: EventKind,
    name: Name | str,
    object_id: str,
    state: str,
    reason: Reason | None,
    now: Timestamp,
    *,
    bad: bool = False,
) -> LakeEvent:
    """The event of an object whose state has changed; `bad`: it was not requested."""
    schema, own = (name.schema, name.table) if isinstance(name, Name) else ("", name)
    code, message = (reason.code, reason.sentence) if reason else (None, None)
    severity = Severity.ERROR if bad else Severity.INFO
    return LakeEvent(now, kind, severity, state, schema, own, object_id, code, message)


def _told(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is not known; values of enums as texts."""
    return {
        k: str(v) if isinstance(v, StrEnum) else v for k, v in attributes.items() if v is not None
    }


__all__ = [
    "EventKind",
    "LakeEvent",
    "Severity",
    "delivery_event",
    "refresh_event",
    "standing_event",
    "task_run_event",
]
