"""The runtime's side: reads changes, reduces them, and moves both checkpoints together.

One `Delivery` is one task: a split of a sink. Its core is synchronous; transaction n + 1 is read,
combined and sent as Loads while the driver commits n, because the driver has a separate thread or
process. Source: Flow materialization protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, overload

from dt_jupyter.model import error
from dt_jupyter.sinks import messages as m
from dt_jupyter.sinks.binding import Binding, Task
from dt_jupyter.sinks.changes import KIND, ChangeInterval, ChangeKind, ChangeSource
from dt_jupyter.sinks.channel import Channel
from dt_jupyter.sinks.combine import combine, key_codes, read_changes, reduce_loaded
from dt_jupyter.sinks.conversation import Conversation, Phase
from dt_jupyter.sinks.drift import KeyValues, Row, find_drift, rows_before
from dt_jupyter.sinks.recovery import RecoveryLog
from dt_jupyter.sinks.splits import rows_in

if TYPE_CHECKING:
    import pyarrow as pa

_A = TypeVar("_A", bound=m.FromDriver)
_B = TypeVar("_B", bound=m.FromDriver)
ROWS_PER_MESSAGE = 200_000


@dataclass(frozen=True)
class Delivered:
    """A transaction that is in the store: rows that were read, loaded, stored and deleted, bytes
    stored, seconds from its first row read to its acknowledgement; `until` is its checkpoint.
    `drifted` are keys that the store had otherwise than the source, and has right now."""

    until: m.Checkpoint
    read: int
    loaded: int
    stored: int
    deleted: int
    bytes: int
    seconds: float
    drifted: tuple[KeyValues, ...] = ()


@dataclass(frozen=True, eq=False)
class _Work:
    """An interval's changes: how many there were, what they come to, and if drift is looked for
    what the store should have had."""

    read: int
    combined: pa.Table
    before: dict[KeyValues, Row | None] | None


class Delivery:
    """Delivers a task's changes; a context manager that ends it.

    `connect` begins a channel to a new driver. After any error the delivery is closed: a new one
    continues from what is committed, whatever the outcome of this one's last transaction. After
    DT-6122 another process has the task, and opening it again would take it from that one.
    """

    def __init__(
        self,
        binding: Binding,
        task: Task,
        source: ChangeSource,
        log: RecoveryLog,
        connect: Callable[[], Channel],
        *,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._binding, self._task, self._source = binding, task, source
        self._log, self._connect, self._clock = log, connect, clock
        self._at = Conversation()
        self._channel: Channel | None = None
        self._pending: tuple[Delivered, float] | None = None
        self._broken = False
        self.refused = 0
        """Rows and deletes that the store refused since the delivery was made."""

    def __enter__(self) -> Delivery:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._channel is not None:
            channel, self._channel = self._channel, None
            channel.close()

    def open(self) -> m.Checkpoint | None:
        """Takes the task from the process that has it; the checkpoint that it continues from."""
        self.close()
        self._at, self._pending, self._broken = Conversation(), None, False
        self._state = self._log.open(self._task)
        self._channel = self._connect()
        self._send(m.Open(self._binding, self._task, self._state.driver))
        opened = self._receive(m.Opened)
        self.checkpoint = opened.runtime_checkpoint
        if not opened.authoritative and opened.runtime_checkpoint is None:
            self.checkpoint = self._state.runtime
        return self.checkpoint

    def deliver(self) -> Iterator[Delivered]:
        """Transaction after transaction until the source has nothing new; each is given out once
        the store has it. Opens again after an error, and where the one before was not read to its
        end."""
        if self._channel is None or self._broken:
            self.open()
        self._broken = True
        while True:
            started = self._clock()
            if (interval := self._next()) is None:
                break
            try:
                work = self._work(interval)
            except BaseException:
                yield from self._acknowledged()  # the one before is not concerned
                raise
            yield from self._transaction(interval, started, work)
        yield from self._acknowledged()
        self._broken = False

    def _next(self) -> ChangeInterval | None:
        if self._at.phase is Phase.COMMITTED:
            self._send(m.Acknowledge())
        return self._source.next(self.checkpoint)

    def _work(self, interval: ChangeInterval) -> _Work:
        mine = (rows_in(self._task.range, self._binding.key, b) for b in interval.batches)
        changes = read_changes(self._binding, mine)
        checked = self._binding.check_drift and self._binding.mirrors
        before = rows_before(self._binding, changes) if checked else None
        return _Work(changes.num_rows, combine(self._binding, changes), before)

    def _transaction(
        self, interval: ChangeInterval, started: float, work: _Work
    ) -> Iterator[Delivered]:
        wanted = self._send_loads(work)
        yield from self._acknowledged()
        self._send(m.Flush())
        loaded = self._loads(wanted)
        changes, drifted = work.combined, list[KeyValues]()
        if work.before is not None:
            drifted = find_drift(self._binding, work.before, loaded)
        elif wanted is not None:
            changes = reduce_loaded(self._binding, changes, loaded)
        stored, deleted, size = self._send_stores(changes)
        self._commit(interval.until)
        counts = (work.read, loaded.num_rows, stored, deleted, size)
        self._pending = (Delivered(interval.until, *counts, 0.0, tuple(drifted)), started)

    def _send_loads(self, work: _Work) -> pa.Table | None:
        """The keys that are requested; None where nothing that the store has is needed."""
        import pyarrow.compute as pc

        changed = work.combined
        if self._binding.delta_updates or (self._binding.mirrors and work.before is None):
            return None
        if not self._binding.mirrors:
            changed = changed.filter(pc.equal(changed[KIND], ChangeKind.INSERT))
        keys = changed.select(self._binding.key)
        for part in _parts(keys):
            self._send(m.Load(part))
        return keys

    def _acknowledged(self) -> Iterator[Delivered]:
        """Waits until the store has the transaction before; that one is done then."""
        answer = m.Acknowledged()
        if self._at.phase is Phase.ACKNOWLEDGE_FIRST:
            answer = self._receive(m.Acknowledged)
            self.refused += answer.refused + answer.not_deleted
        if self._pending is not None:
            (done, started), self._pending = self._pending, None
            yield replace(
                done,
                stored=done.stored - answer.refused,
                deleted=done.deleted - answer.not_deleted,
                seconds=self._clock() - started,
            )

    def _loads(self, wanted: pa.Table | None) -> pa.Table:
        """All Loaded up to Flushed; DT-6120 for a row that was not asked for, or came twice."""
        import pyarrow as pa

        found = [self._binding.schema.empty_table()]
        while isinstance(answer := self._receive(m.Loaded, m.Flushed), m.Loaded):
            found.append(answer.rows.cast(self._binding.schema))
        rows = pa.concat_tables(found)
        if rows.num_rows:
            _require_asked(rows.select(self._binding.key), wanted)
        return rows

    def _send_stores(self, changes: pa.Table) -> tuple[int, int, int]:
        """Deletes first: with delta updates a replaced row is a tombstone and then a row."""
        import pyarrow.compute as pc

        removing = [ChangeKind.DELETE]
        if self._binding.delta_updates:
            removing.append(ChangeKind.REPLACE)
        kinds = changes[KIND]
        gone = changes.filter(pc.is_in(kinds, _kinds(removing))).select(self._binding.key)
        kept = changes.filter(pc.not_equal(kinds, ChangeKind.DELETE)).drop_columns(KIND)
        for part in _parts(gone):
            self._send(m.Store(part, delete=True))
        for part in _parts(kept):
            self._send(m.Store(part))
        return kept.num_rows, gone.num_rows, kept.nbytes + gone.nbytes

    def _commit(self, until: m.Checkpoint) -> None:
        self._send(m.StartCommit(until))
        answer = self._receive(m.StartedCommit)
        driver = m.updated_checkpoint(self._state.driver, answer)
        self._state = replace(self._state, runtime=until, driver=driver)
        self._log.commit(self._task, self._state)
        self.checkpoint = until

    def _send(self, message: m.FromRuntime) -> None:
        self._at.advance(message)
        assert self._channel is not None
        self._channel.send(message)

    @overload
    def _receive(self, kind: type[_A], /) -> _A: ...
    @overload
    def _receive(self, kind: type[_A], other: type[_B], /) -> _A | _B: ...
    def _receive(self, *kinds: Any) -> Any:
        """The next answer, which is one of `kinds`: DT-6120 for another."""
        assert self._channel is not None
        answer = self._channel.receive()
        self._at.advance(answer)
        if not isinstance(answer, kinds):
            raise error("DT-6120", problem=f"{type(answer).__name__} where none was due")
        return answer


def _parts(rows: pa.Table) -> Iterator[pa.Table]:
    for start in range(0, rows.num_rows, ROWS_PER_MESSAGE):
        yield rows.slice(start, ROWS_PER_MESSAGE)


def _kinds(kinds: list[ChangeKind]) -> pa.Array:
    import pyarrow as pa

    return pa.array([int(k) for k in kinds], pa.int8())


def _require_asked(keys: pa.Table, wanted: pa.Table | None) -> None:
    """No key is loaded twice, and none that was not asked for."""
    import pyarrow as pa

    asked = 0 if wanted is None else wanted.num_rows
    if wanted is not None:
        keys = pa.concat_tables([wanted, keys])
    _, distinct = key_codes(keys)
    if distinct != asked or len(keys) > 2 * asked:
        raise error("DT-6120", problem="Loaded with a key that no Load asked for")
    loaded = keys.slice(asked)
    if key_codes(loaded)[1] != loaded.num_rows:
        raise error("DT-6120", problem="Loaded with one key twice")
