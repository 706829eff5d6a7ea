"""The four patterns: when a driver stages, applies, commits and says so. A driver fills in what its
store does; the order is here.

Source: Flow materialization protocol, "Common Implementation Patterns".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeKind, TypeTable

if TYPE_CHECKING:
    import pyarrow as pa


TOMBSTONE = "dt_deleted"
"""What a target has besides with delta updates: whether the row takes the key away."""


def require_delta_updates(binding: Binding, store: str) -> None:
    """DT-6144 for rows that would have to be loaded from where they cannot."""
    if not binding.delta_updates:
        raise error(
            "DT-6144",
            store=store,
            problem="nothing can be loaded from it",
            hint="Create the sink with DELTA_UPDATES = TRUE.",
        )


def require_known_types(binding: Binding, store: str) -> None:
    """DT-6132 for a column of a type that no source has, DT-6134 and DT-6135 for its name: for a
    store that keeps any value as `json_values` writes it."""
    NameRules(store, 1_000).require_columns([c.name for c in binding.columns])
    types = TypeTable(store, {kind: kind.value for kind in TypeKind}, {})
    for column in binding.columns:
        types.stored(column)


class _Loading(ABC):
    """What all patterns share: keys are kept until Flush, rows answer it."""

    store = "the store"
    """Its name in errors."""
    joins = False
    """Whether it knows checkpoints of several tasks that were joined to one."""

    def handle(self, message: m.FromRuntime) -> Iterator[m.FromDriver]:
        match message:
            case m.Open():
                if m.JOINED in message.driver_checkpoint and not self.joins:
                    raise error("DT-6123", range=message.task.range, known="several")
                yield from self._open(message)
            case m.Acknowledge():
                yield from self._acknowledge()
            case m.Load(keys):
                self.stage_keys(keys)
            case m.Flush():
                for rows in self.load_rows():
                    yield m.Loaded(rows)
                yield m.Flushed()
            case m.Store(rows, delete):
                self.stage_rows(rows, delete)
            case m.StartCommit(runtime_checkpoint):
                yield from self._commit(runtime_checkpoint)

    @abstractmethod
    def _open(self, message: m.Open) -> Iterator[m.FromDriver]: ...

    def _acknowledge(self) -> Iterator[m.FromDriver]:
        """Nothing, where the store has committed on its own."""
        yield from ()

    @abstractmethod
    def _commit(self, runtime_checkpoint: m.Checkpoint) -> Iterator[m.FromDriver]: ...

    @abstractmethod
    def stage_keys(self, keys: pa.Table) -> None:
        """Some keys of the transaction, not evaluated before `load_rows`."""

    @abstractmethod
    def load_rows(self) -> Iterator[pa.Table]:
        """The rows of all staged keys that the store has; forgets the keys."""

    @abstractmethod
    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        """Some rows of the transaction, or keys to delete."""

    @abstractmethod
    def close(self) -> None: ...


class RemoteAuthoritative(_Loading):
    """View and checkpoint commit together in the store's own transaction, under a fence."""

    @abstractmethod
    def fence(self, message: m.Open) -> m.Checkpoint | None:
        """Connects, sees to the target, fences others off; the store's checkpoint."""

    @abstractmethod
    def prepare(self, runtime_checkpoint: m.Checkpoint) -> None:
        """All rows and the checkpoint are in an open transaction of the store; DT-6122 where the
        fence belongs to another."""

    @abstractmethod
    def commit(self) -> None:
        """Ends that transaction; durable when it returns."""

    def _open(self, message: m.Open) -> Iterator[m.FromDriver]:
        yield m.Opened(authoritative=True, runtime_checkpoint=self.fence(message))
        yield m.Acknowledged()

    def _commit(self, runtime_checkpoint: m.Checkpoint) -> Iterator[m.FromDriver]:
        self.prepare(runtime_checkpoint)
        yield m.StartedCommit(merge_patch=True)
        self.commit()
        yield m.Acknowledged()


class LogNonTransactional(_Loading):
    """The recovery log commits; rows are in the store as they come: at least once.

    What reducing twice would change is refused (DT-6144), unless `at_least_once` accepts it.
    """

    at_least_once = False

    @abstractmethod
    def connect(self, message: m.Open) -> None: ...

    @abstractmethod
    def finish(self) -> None:
        """All rows are durable in the store when it returns."""

    def _open(self, message: m.Open) -> Iterator[m.FromDriver]:
        self._require_repeatable(message)
        self.connect(message)
        yield m.Opened()
        yield m.Acknowledged()

    def _commit(self, runtime_checkpoint: m.Checkpoint) -> Iterator[m.FromDriver]:
        self.finish()
        yield m.StartedCommit(merge_patch=True)
        yield m.Acknowledged()

    def _require_repeatable(self, message: m.Open) -> None:
        binding = message.binding
        names = [name for name, rule in binding.rules.items() if not rule.repeatable]
        if self.at_least_once or not (names or binding.delta_updates):
            return
        what = f"REDUCE of {', '.join(names)}" if names else "DELTA_UPDATES"
        raise error(
            "DT-6144",
            store=self.store,
            problem=f"it has no transactions, so {what} may count a row twice after a failure",
            hint="Accept that by OPTIONS (at_least_once = TRUE), or reduce in a dynamic table.",
        )


class IdempotentApply(_Loading):
    """Rows are staged under a unique name that the recovery log commits, and applied after it, as
    often as it takes.

    A driver's checkpoint may have its own `runtime`: the runtime continues from that one.
    """

    RUNTIME = "runtime"
    refused = m.Acknowledged()
    """What the store refused, since the last answer."""

    @abstractmethod
    def connect(self, message: m.Open) -> None:
        """`message.driver_checkpoint` names what is staged and may not be applied yet."""

    @abstractmethod
    def seal(self, runtime_checkpoint: m.Checkpoint) -> m.Checkpoint:
        """What is staged is durable under a name that no other transaction has; the driver's
        whole checkpoint, which has that name."""

    @abstractmethod
    def apply(self) -> None:
        """What the last checkpoint names is in the store, once: however often, by any process and
        how late this is called. One that was fenced may still be at it, so a store keeps
        what it has applied, and what is applied is not applied over what came after."""

    def _open(self, message: m.Open) -> Iterator[m.FromDriver]:
        self.connect(message)
        yield m.Opened(runtime_checkpoint=message.driver_checkpoint.get(self.RUNTIME))

    def _acknowledge(self) -> Iterator[m.FromDriver]:
        self.refused = m.Acknowledged()
        self.apply()
        yield self.refused

    def _commit(self, runtime_checkpoint: m.Checkpoint) -> Iterator[m.FromDriver]:
        yield m.StartedCommit(self.seal(runtime_checkpoint))


class PushOnly(IdempotentApply):
    """Rows leave for a place that cannot be read: delta updates alone, sent from what is staged,
    so that what is sent again is the same under the same name."""

    def _open(self, message: m.Open) -> Iterator[m.FromDriver]:
        require_delta_updates(message.binding, self.store)
        yield from super()._open(message)

    def stage_keys(self, keys: pa.Table) -> Any:
        raise AssertionError("a binding with delta updates gets no Load")

    def load_rows(self) -> Iterator[pa.Table]:
        yield from ()
