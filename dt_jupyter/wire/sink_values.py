"""Parts of wire messages about sinks: the state of one, and the outcome of a delivery."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from dt_jupyter.model import DeliveryAction, DeliveryState, DeliveryTrigger, SinkState
from dt_jupyter.wire.schema import check_instants, redact_fields


@dataclass(frozen=True, slots=True)
class SinkDelivery:
    """One delivery, as SINK_HISTORY has it: rows loaded, stored, deleted and refused, bytes stored.
    `version` is the source's; a delivery that is tried again has no `end`."""

    state: DeliveryState
    trigger: DeliveryTrigger
    start: datetime
    end: datetime | None = None
    action: DeliveryAction | None = None
    version: int | None = None
    loaded: int = 0
    stored: int = 0
    deleted: int = 0
    bytes: int = 0
    drifted: int = 0
    retries: int = 0
    error: str | None = None
    refused: int = 0

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "error")


@dataclass(frozen=True, slots=True)
class SinkStanding:
    """The state of a sink. `scheme` and `address` are the store's, without user, options and
    secrets; `target` is the table there. `version` of the source is delivered, `newest` is there.
    `behind_since` is when the oldest change was committed that the store does not have.
    `dead_letters` are rows that the store refused."""

    state: SinkState
    source: str
    scheme: str
    address: str
    target: str
    version: int | None = None
    newest: int | None = None
    behind_since: datetime | None = None
    last: SinkDelivery | None = None
    next_try: datetime | None = None
    dead_letters: int = 0

    def __post_init__(self) -> None:
        check_instants(self)
        redact_fields(self, "scheme", "address", "target")
