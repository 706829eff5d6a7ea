"""The order of messages as one table: the same for both sides, each with its own position.

Source: Flow materialization protocol, "Protocol Phases". The two acknowledgements come in either
order, so there is a phase for each of them having come alone; the other moves are one way.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType

from dt_jupyter.model import error
from dt_jupyter.sinks import messages as m


class Phase(StrEnum):
    CREATED = "CREATED"
    OPENING = "OPENING"
    COMMITTED = "COMMITTED"
    """A transaction begins, the very first too: neither acknowledgement has come."""
    ACKNOWLEDGE_FIRST = "ACKNOWLEDGE_FIRST"
    """The recovery log has committed; the store has not said so: Loads may be staged."""
    ACKNOWLEDGED_FIRST = "ACKNOWLEDGED_FIRST"
    LOADING = "LOADING"
    FLUSHING = "FLUSHING"
    STORING = "STORING"
    COMMITTING = "COMMITTING"


_P = Phase
MOVES: Mapping[Phase, Mapping[type[m.FromRuntime | m.FromDriver], Phase]] = MappingProxyType(
    {
        _P.CREATED: {m.Open: _P.OPENING},
        _P.OPENING: {m.Opened: _P.COMMITTED},
        _P.COMMITTED: {
            m.Acknowledge: _P.ACKNOWLEDGE_FIRST,
            m.Acknowledged: _P.ACKNOWLEDGED_FIRST,
        },
        _P.ACKNOWLEDGE_FIRST: {m.Load: _P.ACKNOWLEDGE_FIRST, m.Acknowledged: _P.LOADING},
        _P.ACKNOWLEDGED_FIRST: {m.Acknowledge: _P.LOADING},
        _P.LOADING: {m.Load: _P.LOADING, m.Loaded: _P.LOADING, m.Flush: _P.FLUSHING},
        _P.FLUSHING: {m.Loaded: _P.FLUSHING, m.Flushed: _P.STORING},
        _P.STORING: {m.Store: _P.STORING, m.StartCommit: _P.COMMITTING},
        _P.COMMITTING: {m.StartedCommit: _P.COMMITTED},
    }
)
"""Phase, message → phase. What is not here is refused."""


class Conversation:
    """One side's position. `advance` takes each message that this side sends or receives."""

    def __init__(self) -> None:
        self.phase = Phase.CREATED
        self._delta_updates = False

    def advance(self, message: m.FromRuntime | m.FromDriver) -> None:
        """DT-6120 for a message that cannot come now; the position stays."""
        kind = type(message)
        if kind not in MOVES[self.phase]:
            raise _illegal(kind, f"after {self.phase}")
        if isinstance(message, m.Open):
            self._delta_updates = message.binding.delta_updates
        if self._delta_updates and kind in (m.Load, m.Loaded):
            raise _illegal(kind, "to a binding with delta updates")
        self.phase = MOVES[self.phase][kind]


def _illegal(kind: type, where: str) -> Exception:
    return error("DT-6120", problem=f"{kind.__name__} {where}")
