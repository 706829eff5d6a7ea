"""Which events a role may see, and how much of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import EventKind, LakeEvent, Name, Right, Severity

_OF_TASKS = (EventKind.TASK, EventKind.TASK_RUN)


def seen_events(events: Iterable[LakeEvent], access: Access) -> list[LakeEvent]:
    """Those of what the role monitors; without the text of an error, which may show rows, where
    it may not read them."""
    if not access.bound:
        return list(events)
    return [_redacted(event, access) for event in events if sees_event(event, access)]


def seen_event(access: Access, event: LakeEvent) -> LakeEvent | None:
    """As `seen_events`, of one."""
    return next(iter(seen_events([event], access)), None)


def sees_event(event: LakeEvent, access: Access) -> bool:
    if not access.bound:
        return True
    if event.kind is EventKind.WAREHOUSE:
        return access.sees_warehouse(event.name)
    if not event.schema:
        return False
    name = Name(event.schema, event.name)
    if _is_of_task(event):
        return access.may_task(Right.MONITOR, name)
    return access.monitors(name)


def _redacted(event: LakeEvent, access: Access) -> LakeEvent:
    if event.message is None or event.severity is Severity.INFO or not event.schema:
        return event
    name, what = Name(event.schema, event.name), event.full_name
    if _is_of_task(event):
        told = access.may_task(Right.OWNERSHIP, name)
        need = None if told else f"OWNERSHIP of the task {what}"
    else:
        need = access.hides_errors(name)
    if need is None:
        return event
    return replace(event, message=access.hidden_error(event.code, need))


def _is_of_task(event: LakeEvent) -> bool:
    return event.kind in _OF_TASKS or event.attributes.get("of") == EventKind.TASK


__all__ = ["seen_event", "seen_events", "sees_event"]
