"""Deliveries of sinks: each one brings the store to the newest version of the source, and is told
in the history."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain

from dt_jupyter.catalog import Catalog
from dt_jupyter.delivery.table_changes import (
    CheckedKey,
    FrontierCheckpoint,
    SourceAt,
    TableChanges,
    declared_key_of,
)
from dt_jupyter.failures import catalogued
from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    DeliveryAction,
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    DTError,
    Sink,
    SinkState,
    Timestamp,
    error,
)
from dt_jupyter.sinks import (
    Binding,
    CatalogLog,
    Delivered,
    Delivery,
    ReduceRule,
    StoreAddress,
    Strategy,
    Task,
    connector,
    hash_ranges,
    is_transient,
    parse_store_url,
)
from dt_jupyter.spark import RefreshSessions
from dt_jupyter.streams import Changes

FENCED = "DT-6122"
LEAVE_SECONDS = 10.0
_PASSING = "DT-51"
"""Failures of this engine's own surroundings: memory, disk, a cancelled job."""


def address_of(sink: Sink) -> StoreAddress:
    """Where a sink delivers to. DT-6101, DT-6103."""
    return parse_store_url(sink.url, sink.options)


def address_text(sink: Sink) -> str:
    """Where a sink delivers to, for people: no user, no options, no secret."""
    return str(address_of(sink))


def key_columns(sink: Sink, at: SourceAt) -> tuple[str, ...]:
    """The columns of the key as the source writes them; DT-6105 where there is none."""
    known = {c.name.lower(): c.name for c in at.columns}
    named = sink.key or declared_key_of(at)
    if not named:
        raise error("DT-6105", name=sink.name, source=sink.source)
    return tuple(known.get(name.lower(), name) for name in named)


def binding_of(sink: Sink, at: SourceAt) -> Binding:
    """DT-6105, DT-6136, DT-6137."""
    known = {c.name.lower(): c.name for c in at.columns}
    rules = {
        known.get(name.lower(), name): ReduceRule(Strategy(strategy))
        for name, strategy in sink.reductions.items()
    }
    target = address_of(sink).target(sink.source.table)
    return Binding(target, at.columns, key_columns(sink, at), rules, sink.delta_updates)


@dataclass
class _Part:
    """A task of a sink that is open: what it reads, and what it delivers by."""

    changes: TableChanges
    delivery: Delivery


@dataclass
class _Open:
    """A sink as it was opened; another setting or column opens it anew."""

    sink: Sink
    binding: Binding
    parts: list[_Part]

    def fits(self, sink: Sink, binding: Binding) -> bool:
        same = replace(sink, state=self.sink.state, code=self.sink.code, problem=self.sink.problem)
        return same == self.sink and binding == self.binding

    def close(self) -> None:
        for part in self.parts:
            part.delivery.close()


@dataclass
class Deliveries:
    """The sinks that this engine delivers. Threads share it; a sink is delivered by one of them."""

    catalog: Catalog
    changes: Changes
    sessions: RefreshSessions
    _locks: dict[str, threading.RLock] = field(default_factory=lambda: defaultdict(threading.RLock))
    _open: dict[str, _Open] = field(default_factory=dict)
    _retried: dict[str, DeliveryRecord] = field(default_factory=dict)
    _checked: dict[CheckedKey, int] = field(default_factory=dict)

    def source_of(self, sink: Sink, key: tuple[str, ...] = ()) -> TableChanges:
        """What is read of a sink's source."""
        return TableChanges(
            self.changes,
            self.sessions,
            sink,
            key,
            mirrors=not sink.reductions,
            checked=self._checked,
        )

    def deliver(self, sink: Sink, trigger: DeliveryTrigger) -> DeliveryRecord:
        """Delivers all that is new; the record says what. Raises what keeps it from that: DT-6122
        where another process delivers the sink, else after that is told in the catalog."""
        with self._locks[sink.id]:
            if (other := self.catalog.claim_sink(sink)) is not None:
                self.close(sink)
                raise error(FENCED, task=f"{sink.name} ({other})")
            record = self._retried.get(sink.id) or self._started(sink, trigger)
            counts: list[DeliveryCounts] = [DeliveryCounts()]
            try:
                done = self._deliver(sink, record, counts)
            except Exception as e:
                self.close(sink)
                failure = self._named(catalogued(e, f"The delivery of sink {sink.name}"))
                self._fail(sink, replace(record, counts=counts[0]), failure)
                raise failure from e
            return self._succeed(sink, done)

    def is_due(self, sink: Sink) -> bool:
        """Whether a delivery may find something, from the log alone; one that fails is due."""
        opened = self._open.get(sink.id)
        if opened is None or sink.state is not SinkState.ACTIVE:
            return True
        try:
            at = self.source_of(sink).look()
            if not opened.fits(sink, binding_of(sink, at)):
                return True
            return any(p.changes.is_behind(at, p.delivery.checkpoint) for p in opened.parts)
        except (DTError, LakeError):
            return True

    def close(self, sink: Sink) -> None:
        """Leaves the store of a sink, until it is delivered again. Not waited for long: a delivery
        that hangs is fenced by the next who opens."""
        lock = self._locks[sink.id]
        if not lock.acquire(timeout=LEAVE_SECONDS):
            return
        try:
            opened = self._open.pop(sink.id, None)
            if opened is not None:
                opened.close()
        finally:
            lock.release()

    def leave(self, sink: Sink) -> None:
        """Closes a sink, which another process may deliver from now on."""
        self.close(sink)
        self.catalog.release_sinks(sink)

    def leave_all(self) -> None:
        self.close_all()
        self.catalog.release_sinks()

    def close_all(self) -> None:
        for opened in list(self._open.values()):
            self.close(opened.sink)

    def version_of(self, sink: Sink) -> int | None:
        """The version of the source that all tasks have delivered; None before the first."""
        found = [_runtime(row.checkpoints) for row in self.catalog.sink_tasks(sink.id)]
        versions = [c["version"] if c is not None else None for c in found]
        known = [v for v in versions if v is not None]
        return min(known) if known and len(known) == len(versions) else None

    # -- one delivery -----------------------------------------------------------------------------

    def _started(self, sink: Sink, trigger: DeliveryTrigger) -> DeliveryRecord:
        id_, now = uuid.uuid4().hex, self.changes.now()
        state = DeliveryState.RETRYING
        return DeliveryRecord(id_, sink.id, sink.name, state, trigger, now)

    def _deliver(
        self, sink: Sink, record: DeliveryRecord, counts: list[DeliveryCounts]
    ) -> DeliveryRecord:
        """`counts` has what came to the store also where it ends in an error."""
        at = self.source_of(sink).look()
        opened = self._opened(sink, at)
        begun = [part.delivery.checkpoint for part in opened.parts]
        initial = any(c is None or c["version"] is None for c in begun)
        for delivered in _delivered(opened.parts):
            counts[0] = _added(counts[0], delivered)
        return replace(
            record,
            action=DeliveryAction.INITIAL if initial else DeliveryAction.INCREMENTAL,
            version=at.version,
            counts=counts[0],
        )

    def _opened(self, sink: Sink, at: SourceAt) -> _Open:
        """The sink's tasks, open, and aimed at the newest version."""
        binding = binding_of(sink, at)
        known = self._open.get(sink.id)
        if known is None or not known.fits(sink, binding):
            self.close(sink)
            known = _Open(sink, binding, [])
            self._open[sink.id] = known
            for range_ in hash_ranges(sink.partitions):
                known.parts.append(self._part(sink, binding, Task(sink.id, range_)))
                known.parts[-1].delivery.open()
        for part in known.parts:
            part.changes.aim(at)
        return known

    def _part(self, sink: Sink, binding: Binding, task: Task) -> _Part:
        changes = self.source_of(sink, binding.key)
        connect = connector(address_of(sink))
        return _Part(changes, Delivery(binding, task, changes, CatalogLog(self.catalog), connect))

    def _named(self, failure: DTError) -> DTError:
        """The other sink of a target by its name, where this lake has it."""
        if failure.code != "DT-6141":
            return failure
        names = {s.id: s.name for s in self.catalog.sinks()}
        owner = failure.facts["owner"]
        return error(failure.code, **{**failure.facts, "owner": names.get(owner, owner)})

    # -- what became of it ------------------------------------------------------------------------

    def _succeed(self, sink: Sink, record: DeliveryRecord) -> DeliveryRecord:
        retried = self._retried.pop(sink.id, None) is not None
        done = replace(record, state=DeliveryState.SUCCEEDED, end=self.changes.now())
        done = replace(done, code=None, error=None)
        if sink.state is not SinkState.ACTIVE and sink.state is not SinkState.SUSPENDED:
            self.catalog.set_sink_state(sink.id, SinkState.ACTIVE)
        if retried or done.counts.transactions or done.trigger is not DeliveryTrigger.SCHEDULED:
            self.catalog.record_delivery(done)
        return done

    def _fail(self, sink: Sink, record: DeliveryRecord, failure: DTError) -> None:
        """Of another process that has the task nothing is told: it tells itself."""
        if failure.code == FENCED:
            self._retried.pop(sink.id, None)
            return
        told = replace(record, code=failure.code, error=failure.sentence)
        if passes(failure) and record.trigger is not DeliveryTrigger.CREATION:
            told = replace(told, retries=record.retries + 1)
            self._retried[sink.id] = told
            state = SinkState.RETRYING
        else:
            self._retried.pop(sink.id, None)
            told = replace(told, state=DeliveryState.FAILED, end=self.changes.now())
            state = SinkState.PAUSED
        self.catalog.record_delivery(told)
        self.catalog.set_sink_state(sink.id, state, failure.code, failure.sentence)

    def last_retry(self, sink: Sink) -> DeliveryRecord | None:
        """The delivery that is tried again."""
        return self._retried.get(sink.id)

    def forget(self, sink: Sink) -> None:
        """Leaves a sink that is dropped or delivered from the beginning."""
        self.close(sink)
        self._retried.pop(sink.id, None)

    def now(self) -> Timestamp:
        return self.changes.now()


def passes(failure: DTError) -> bool:
    """Whether it is tried again by itself."""
    return is_transient(failure) or failure.code.startswith(_PASSING)


def _runtime(checkpoints: Mapping[str, object] | None) -> FrontierCheckpoint | None:
    found = (checkpoints or {}).get("runtime")
    return found if isinstance(found, Mapping) else None


def _delivered(parts: list[_Part]) -> Iterator[Delivered]:
    """The transactions of all tasks; several tasks go at once."""
    if len(parts) == 1:
        yield from parts[0].delivery.deliver()
        return
    with ThreadPoolExecutor(len(parts), "dt-sink-part") as threads:
        each = threads.map(lambda part: list(part.delivery.deliver()), parts)
        yield from chain.from_iterable(each)


def _added(counts: DeliveryCounts, done: Delivered) -> DeliveryCounts:
    return DeliveryCounts(
        counts.transactions + 1,
        counts.read + done.read,
        counts.loaded + done.loaded,
        counts.stored + done.stored,
        counts.deleted + done.deleted,
        counts.bytes + done.bytes,
        counts.drifted + len(done.drifted),
    )
