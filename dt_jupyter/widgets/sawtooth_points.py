"""The sawtooth that a message's refreshes draw."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

from dt_jupyter.model import Sawtooth, Tooth, sawtooth_of
from dt_jupyter.wire import LagMessage, RefreshPoint

LagTooth: TypeAlias = Tooth[datetime, RefreshPoint]
LagSawtooth: TypeAlias = Sawtooth[datetime, RefreshPoint]


def sawtooth(message: LagMessage) -> LagSawtooth:
    """The lag from the first success on, up to `as_of` or to the last success."""
    done = [(p.end, p.data_timestamp, p) for p in message.points if p.succeeded and p.end]
    idle = [(time.start, time.end) for time in message.idle]
    return sawtooth_of(done, message.as_of, message.target_lag, idle)
