"""The protocol's messages: the runtime's are imperative, the driver's answers past tense.

Source: Flow materialization protocol. What the seed sends document by document travels here in
Arrow tables; a message with several rows represents as many of the seed's.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from dt_jupyter.sinks.binding import Binding, Task

if TYPE_CHECKING:
    import pyarrow as pa

Checkpoint: TypeAlias = Mapping[str, Any]
"""A JSON object: opaque to its carriers."""
JOINED = "joined"


@dataclass(frozen=True)
class Open:
    """Once, first: `driver_checkpoint` is what the driver last gave to the recovery log; of tasks
    that this one takes the place of, and that differ, {JOINED: [each]}."""

    binding: Binding
    task: Task
    driver_checkpoint: Checkpoint = field(default_factory=dict)


@dataclass(frozen=True)
class Opened:
    """Where the runtime starts: from `runtime_checkpoint` (None: from the beginning) if the
    driver is `authoritative`, else from its own recovery log."""

    authoritative: bool = False
    runtime_checkpoint: Checkpoint | None = None


@dataclass(frozen=True)
class Acknowledge:
    """The last transaction is in the recovery log."""


@dataclass(frozen=True)
class Acknowledged:
    """The last transaction is in the store, but `refused` of its rows and `not_deleted` of its
    deleted keys: the store refuses them, and the driver keeps them as dead letters."""

    refused: int = 0
    not_deleted: int = 0

    def plus(self, deletes: bool) -> Acknowledged:
        """With one row or deleted key more that was refused."""
        return Acknowledged(self.refused + (not deletes), self.not_deleted + deletes)


@dataclass(frozen=True, eq=False)
class Load:
    """`keys` has the key columns; no key is twice in a transaction."""

    keys: pa.Table


@dataclass(frozen=True, eq=False)
class Loaded:
    """`rows` has all columns; keys that the store does not have are left out."""

    rows: pa.Table


@dataclass(frozen=True)
class Flush:
    """No Load of this transaction follows."""


@dataclass(frozen=True)
class Flushed:
    """No Loaded of this transaction follows."""


@dataclass(frozen=True, eq=False)
class Store:
    """`rows` has all columns, or with `delete` the key columns of rows to remove (with delta
    updates, of tombstones). No key is in two of a transaction that say the same of it."""

    rows: pa.Table
    delete: bool = False


@dataclass(frozen=True)
class StartCommit:
    runtime_checkpoint: Checkpoint


@dataclass(frozen=True)
class StartedCommit:
    """All of Store is processed. `driver_checkpoint` replaces the driver's last one, or with
    `merge_patch` is merged into it (RFC 7396)."""

    driver_checkpoint: Checkpoint = field(default_factory=dict)
    merge_patch: bool = False


def joined_checkpoints(checkpoint: Checkpoint) -> list[Checkpoint]:
    """The checkpoints of the tasks that one takes the place of; else its own, if there is one."""
    found: list[Checkpoint] = checkpoint.get(JOINED, [checkpoint] if checkpoint else [])
    return found


FromRuntime: TypeAlias = Open | Acknowledge | Load | Flush | Store | StartCommit
FromDriver: TypeAlias = Opened | Acknowledged | Loaded | Flushed | StartedCommit


def updated_checkpoint(before: Checkpoint, answer: StartedCommit) -> Checkpoint:
    """The driver's checkpoint after a StartedCommit."""
    if not answer.merge_patch:
        return answer.driver_checkpoint
    found: Checkpoint = _patched(before, answer.driver_checkpoint)
    return found


def _patched(before: Any, patch: Any) -> Any:
    """RFC 7396: null removes, objects merge, all else replaces."""
    if not isinstance(patch, Mapping):
        return patch
    kept = dict(before) if isinstance(before, Mapping) else {}
    for key, value in patch.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = _patched(kept.get(key), value)
    return kept
