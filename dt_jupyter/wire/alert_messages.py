"""What a page hears of the alerts of a lake, and of what helps."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dt_jupyter.model import AlertKind, RemedyKind
from dt_jupyter.wire.schema import check_instants, message_json, redact_fields


@dataclass(frozen=True, slots=True)
class RemedyRow:
    """A button: what it says, and what it does with the table or warehouse `name`; `target_lag` in
    seconds, where it raises one."""

    kind: RemedyKind
    label: str
    name: str
    target_lag: float | None = None


@dataclass(frozen=True, slots=True)
class LateRow:
    """Why a dynamic table is late, or held back, and what helps; `root` is the table in which the
    cause is, where that is a different one."""

    code: str
    sentence: str
    root: str | None = None
    remedies: tuple[RemedyRow, ...] = ()

    def __post_init__(self) -> None:
        redact_fields(self, "sentence")


@dataclass(frozen=True, slots=True)
class AlertRow:
    """An alert that is active since `since`; `name` is that of its node. Its kind, name and `since`
    together distinguish one episode from the next. Of one that is late `behind_since` is where its
    lag counts from, `target` how large that may be, in seconds, and `cause` what keeps it;
    `remedies` are the buttons that help."""

    kind: AlertKind
    of: str
    name: str
    since: datetime
    code: str | None = None
    message: str | None = None
    behind_since: datetime | None = None
    target: float | None = None
    cause: str | None = None
    remedies: tuple[RemedyRow, ...] = ()

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "message", "cause")


@dataclass(frozen=True, slots=True)
class AlertsMessage:
    """All alerts that are active at `as_of`, oldest first, of what the role may MONITOR: sent when
    a page begins to listen, and whenever they change."""

    alerts: tuple[AlertRow, ...]
    as_of: datetime

    def __post_init__(self) -> None:
        check_instants(self)

    def to_json(self) -> dict[str, Any]:
        return message_json("alerts", self)


__all__ = ["AlertRow", "AlertsMessage", "LateRow", "RemedyRow"]
