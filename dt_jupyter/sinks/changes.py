"""Changes as a sink reads them: Arrow rows, each with its kind, and where each interval ends."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING, Protocol

from dt_jupyter.model.hidden import hidden
from dt_jupyter.sinks.messages import Checkpoint

if TYPE_CHECKING:
    import pyarrow as pa

KIND = hidden("kind")
"""The column of a change's kind, int8; a batch without it inserts all its rows."""


class ChangeKind(IntEnum):
    """What a row does to its key. They are closed under composition: REPLACE is DELETE, then
    INSERT. An update is a DELETE of the old row before an INSERT of the new one."""

    INSERT = 0
    DELETE = 1
    REPLACE = 2


@dataclass(frozen=True)
class ChangeInterval:
    """All changes after a checkpoint up to `until`, in order, in bounded batches.

    What one interval leaves of each key is in memory at once: a source cuts at its own
    checkpoints, inside of a large version too, so that this is bounded.
    """

    until: Checkpoint
    batches: Iterable[pa.Table | pa.RecordBatch]


class ChangeSource(Protocol):
    """Where changes come from; called by one thread."""

    def next(self, after: Checkpoint | None) -> ChangeInterval | None:
        """The interval after a checkpoint, from the beginning for None; None where there is
        nothing new. The same checkpoint is requested again after a failure: what follows it then
        may end elsewhere, but no change may be missing or twice."""
        ...
