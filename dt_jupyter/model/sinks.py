"""Sinks: where the changes of a table are delivered to, and the outcome of each delivery."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dt_jupyter.model.definition import DEFAULT_WAREHOUSE
from dt_jupyter.model.lag import TargetLag
from dt_jupyter.model.names import Name
from dt_jupyter.model.time import Timestamp

FROM_STREAM = "STREAM"
"""The kind of a sink that delivers a stream."""


class SinkState(StrEnum):
    """PAUSED is by a failure that needs a user's action, SUSPENDED by the user."""

    ACTIVE = "ACTIVE"
    RETRYING = "RETRYING"
    SUSPENDED = "SUSPENDED"
    PAUSED = "PAUSED"


class DeliveryState(StrEnum):
    """The outcome of a delivery; RETRYING is one that continues."""

    SUCCEEDED = "SUCCEEDED"
    RETRYING = "RETRYING"
    FAILED = "FAILED"


class DeliveryAction(StrEnum):
    """All rows of the source, or its changes."""

    INITIAL = "INITIAL"
    INCREMENTAL = "INCREMENTAL"


class DeliveryTrigger(StrEnum):
    CREATION = "CREATION"
    MANUAL = "MANUAL"
    SCHEDULED = "SCHEDULED"


@dataclass(frozen=True)
class Sink:
    """A sink on `source` (`kind`: TABLE, DYNAMIC TABLE or STREAM) into the store at `url`.

    `reductions` are strategies by column, `options` the store's; both and `url` have secrets by
    reference alone. `code` and `problem` say why it does not deliver, `next_try` when a delivery
    that failed is tried again. `dead_letters` rows were refused by the store and wait.
    """

    id: str
    name: Name
    source: Name
    kind: str
    url: str
    created: Timestamp
    key: tuple[str, ...] = ()
    delta_updates: bool = False
    target_lag: TargetLag = field(default_factory=lambda: TargetLag(None))
    warehouse: str = DEFAULT_WAREHOUSE
    reductions: Mapping[str, str] = field(default_factory=dict)
    partitions: int = 1
    options: Mapping[str, str] = field(default_factory=dict)
    comment: str | None = None
    state: SinkState = SinkState.ACTIVE
    code: str | None = None
    problem: str | None = None
    next_try: Timestamp | None = None
    dead_letters: int = 0

    @property
    def from_stream(self) -> bool:
        """Whether `source` is a stream, which moves with what is delivered."""
        return self.kind == FROM_STREAM


@dataclass(frozen=True)
class DeliveryCounts:
    """What transactions came to: rows read, loaded, stored and deleted, bytes stored, keys that
    the store had otherwise than its source, and rows that the store refused."""

    transactions: int = 0
    read: int = 0
    loaded: int = 0
    stored: int = 0
    deleted: int = 0
    bytes: int = 0
    drifted: int = 0
    refused: int = 0


@dataclass(frozen=True)
class DeliveryRecord:
    """A delivery of a sink up to `version` of its source, None where it came to none."""

    id: str
    sink: str
    name: Name
    state: DeliveryState
    trigger: DeliveryTrigger
    start: Timestamp
    action: DeliveryAction | None = None
    version: int | None = None
    end: Timestamp | None = None
    counts: DeliveryCounts = DeliveryCounts()
    retries: int = 0
    code: str | None = None
    error: str | None = None
