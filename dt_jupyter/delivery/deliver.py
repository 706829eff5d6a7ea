"""Deliveries of sinks: each one brings the store to the latest version of the source, and is
recorded in the history."""

from __future__ import annotations

import threading
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain

from dt_jupyter.catalog import Catalog, StreamMove
from dt_jupyter.delivery.source_at import (
    FrontierCheckpoint,
    SourceAt,
    TableVersions,
    end_of,
    frontier_of,
    lowest_frontier,
)
from dt_jupyter.delivery.table_changes import CheckedKey, TableChanges
from dt_jupyter.delivery.view_changes import ViewChanges, ViewColumns
from dt_jupyter.failures import catalogued
from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    DeliveryAction,
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    DTError,
    EventKind,
    Reason,
    Severity,
    Sink,
    SinkState,
    Timestamp,
    error,
    standing_event,
)
from dt_jupyter.sinks import (
    Binding,
    CatalogLog,
    Delivered,
    Delivery,
    KeepsDeadLetters,
    ReduceRule,
    StoreAddress,
    Strategy,
    Task,
    connector,
    hash_ranges,
    is_transient,
    open_driver,
    parse_store_url,
)
from dt_jupyter.sources import find_declared_key, require_sink_reads
from dt_jupyter.spark import RefreshSessions, add_rows
from dt_jupyter.sql import StreamSource
from dt_jupyter.streams import Changes

SinkChanges = TableChanges | ViewChanges
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


def target_of(sink: Sink) -> str:
    """What a sink's target is called in its store."""
    return address_of(sink).target(sink.source.table)


def key_columns(sink: Sink, at: SourceAt) -> tuple[str, ...]:
    """The columns of the key as the source writes them; DT-6105 where there is none."""
    known = {c.name.lower(): c.name for c in at.columns}
    named = sink.key or (() if at.is_view else find_declared_key(at.log, at.version))
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
    return Binding(target_of(sink), at.columns, key_columns(sink, at), rules, sink.delta_updates)


@dataclass
class _Part:
    """A task of a sink that is open: what it reads, and what it delivers by."""

    changes: SinkChanges
    delivery: Delivery


@dataclass
class _Open:
    """A sink as it was opened; another setting, column or stream opens it again."""

    sink: Sink
    binding: Binding
    parts: list[_Part]
    stream: str | None = None

    def fits(self, sink: Sink, binding: Binding, at: SourceAt) -> bool:
        was = self.sink
        same = replace(
            sink,
            state=was.state,
            code=was.code,
            problem=was.problem,
            next_try=was.next_try,
            dead_letters=was.dead_letters,
        )
        known = (self.sink, self.binding, self.stream)
        return (same, binding, _stream_of(at)) == known

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
    _columns: ViewColumns = field(default_factory=dict)

    def source_of(self, sink: Sink, key: tuple[str, ...] = ()) -> SinkChanges:
        """What is read of a sink's source."""
        made, mirrors = (self.changes, self.sessions, sink, key), not sink.reductions
        stream = self.catalog.find_stream(sink.source) if sink.from_stream else None
        if stream is not None and stream.kind == StreamSource.VIEW:
            return ViewChanges(*made, mirrors=mirrors, known=self._columns)
        return TableChanges(*made, mirrors=mirrors, checked=self._checked)

    def deliver(self, sink: Sink, trigger: DeliveryTrigger) -> DeliveryRecord:
        """Delivers all that is new; the record says what. Raises what keeps it from that: DT-6122
        where another process delivers the sink, else after that is recorded in the catalog."""
        with self._locks[sink.id]:
            self.claim(sink)
            record = self._retried.get(sink.id) or self._started(sink, trigger)
            counts: list[DeliveryCounts] = [DeliveryCounts()]
            try:
                require_sink_reads(self.catalog, sink)
                done, moved = self._deliver(sink, record, counts)
            except Exception as e:
                self.close(sink)
                failure = self._named(sink, catalogued(e, f"The delivery of sink {sink.name}"))
                raise self._fail(sink, replace(record, counts=counts[0]), failure) from e
            return self._succeed(sink, done, moved)

    def claim(self, sink: Sink) -> None:
        """This process delivers the sink from now on. DT-6122 where another one does."""
        if self.catalog.claim_sink(sink) is not None:
            self.close(sink)
            raise self._fenced(sink)

    def retry_dead_letters(self, sink: Sink) -> tuple[int, int]:
        """Sends what the store refused again; how many rows it has now, and how many still wait.
        DT-6144 for a store that keeps none, DT-6122, DT-6110, DT-6145."""
        with self._locks[sink.id]:
            self.claim(sink)
            self.close(sink)
            sent, failure = 0, None
            try:
                require_sink_reads(self.catalog, sink)
                sent = self._send_dead_letters(sink)
            except Exception as e:
                failure = self._named(sink, catalogued(e, f"The retry of sink {sink.name}"))
            left = self._dead_letters(sink)
            self.catalog.finish_delivery(sink, dead_letters=left)
            if failure is not None:
                raise failure
            return sent, left

    def _send_dead_letters(self, sink: Sink) -> int:
        binding = binding_of(sink, self.source_of(sink).look())
        driver = open_driver(address_of(sink))
        try:
            if not isinstance(driver, KeepsDeadLetters):
                problem, store = "it keeps no dead letters", address_text(sink)
                raise error("DT-6144", store=store, problem=problem, hint="")
            return driver.retry_dead_letters(binding, sink.id)
        finally:
            driver.close()

    def _dead_letters(self, sink: Sink) -> int:
        driver = open_driver(address_of(sink))
        return driver.dead_letters(sink.id) if isinstance(driver, KeepsDeadLetters) else 0

    def is_due(self, sink: Sink) -> bool:
        """Whether a delivery may find something, from the log alone; one that fails is due."""
        opened = self._open.get(sink.id)
        if opened is None or sink.state is not SinkState.ACTIVE:
            return True
        try:
            at = self.source_of(sink).look()
            if not opened.fits(sink, binding_of(sink, at), at):
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

    def delivered_of(self, sink: Sink) -> TableVersions | None:
        """The version of each table of the source that all tasks have delivered; None before the
        first."""
        found = [_runtime(row.checkpoints) for row in self.catalog.sink_tasks(sink.id)]
        return _all_have(map(frontier_of, found))

    def settle(self, sink: Sink) -> StreamMove | None:
        """Takes the sink from the process that delivers it, and ends the change that it is in the
        middle of; returns the new offset of its stream. None where not all of its first rows are
        delivered. Raises what keeps it from that."""
        with self._locks[sink.id]:
            self.catalog.claim_sink(sink, alive=True)
            self.close(sink)
            at = self.source_of(sink).look()
            opened = self._opened(sink, at)
            try:
                begun = [part.delivery.checkpoint for part in opened.parts]
                if (end := end_of(begun)) is None:
                    return None
                for part in opened.parts:
                    part.changes.aim(at.at(end))
                for _ in _delivered(opened.parts):
                    continue
                return _move(opened, at)
            finally:
                self.close(sink)

    # -- one delivery -----------------------------------------------------------------------------

    def _started(self, sink: Sink, trigger: DeliveryTrigger) -> DeliveryRecord:
        id_, now = uuid.uuid4().hex, self.changes.now()
        state = DeliveryState.RETRYING
        return DeliveryRecord(id_, sink.id, sink.name, state, trigger, now)

    def _deliver(
        self, sink: Sink, record: DeliveryRecord, counts: list[DeliveryCounts]
    ) -> tuple[DeliveryRecord, StreamMove | None]:
        """`counts` has what came to the store also where it ends in an error. All of it is there
        before its stream moves."""
        at = self.source_of(sink).look()
        opened = self._opened(sink, at)
        initial = any(p.changes.reads_all(at, p.delivery.checkpoint) for p in opened.parts)
        before = _refused(opened.parts)
        try:
            for delivered in _delivered(opened.parts):
                counts[0] = _added(counts[0], delivered)
                add_rows(delivered.stored + delivered.deleted)
        finally:
            counts[0] = replace(counts[0], refused=_refused(opened.parts) - before)
        done = replace(
            record,
            action=DeliveryAction.INITIAL if initial else DeliveryAction.INCREMENTAL,
            version=at.version if len(at.tables) == 1 else None,
            counts=counts[0],
        )
        return done, _move(opened, at)

    def _opened(self, sink: Sink, at: SourceAt) -> _Open:
        """The sink's tasks, open, and aimed at the newest version."""
        binding = binding_of(sink, at)
        known = self._open.get(sink.id)
        if known is None or not known.fits(sink, binding, at):
            self.close(sink)
            known = _Open(sink, binding, [], _stream_of(at))
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

    def _fenced(self, sink: Sink) -> DTError:
        """That another process delivers the sink, and which one has claimed it."""
        owner = self.catalog.sink_owner(sink)
        return error(FENCED, task=f"{sink.name} ({owner})" if owner else sink.name)

    def _named(self, sink: Sink, failure: DTError) -> DTError:
        """The sink, and the other sink of a target where this lake has it, by name."""
        if failure.code == FENCED:
            return self._fenced(sink)
        if failure.code != "DT-6141":
            return failure
        names = {s.id: s.name for s in self.catalog.sinks()}
        owner = failure.facts["owner"]
        return error(failure.code, **{**failure.facts, "owner": names.get(owner, owner)})

    # -- the outcome -----------------------------------------------------------------------------

    def _succeed(
        self, sink: Sink, record: DeliveryRecord, moved: StreamMove | None
    ) -> DeliveryRecord:
        retried = self._retried.pop(sink.id, None) is not None
        done = replace(record, state=DeliveryState.SUCCEEDED, end=self.changes.now())
        done = replace(done, code=None, error=None)
        mended = sink.state in (SinkState.RETRYING, SinkState.PAUSED)
        told = retried or done.counts.transactions
        told = told or done.trigger is not DeliveryTrigger.SCHEDULED
        told = told or done.counts.refused
        left = self._dead_letters(sink)
        if told or mended or moved is not None or left != sink.dead_letters:
            try:
                self.catalog.finish_delivery(
                    sink,
                    done if told else None,
                    moved,
                    state=SinkState.ACTIVE if mended else None,
                    dead_letters=left,
                )
            except DTError as e:
                raise self._lose(sink, e) from e
        return done

    def _fail(self, sink: Sink, record: DeliveryRecord, failure: DTError) -> DTError:
        """Writes what kept a delivery, unless another process has the sink by now: that one
        writes what it does itself. What is to be raised."""
        try:
            if failure.code == FENCED:
                raise failure
            self._write_failure(sink, record, failure)
        except DTError as e:
            return self._lose(sink, e)
        return failure

    def _lose(self, sink: Sink, failure: DTError) -> DTError:
        """Notes that another process has taken the sink; any other failure is left as it is."""
        self.close(sink)
        if failure.code != FENCED:
            return failure
        self._retried.pop(sink.id, None)
        fenced = self._fenced(sink)
        why, now = Reason(fenced.code, fenced.sentence), self.changes.now()
        event = standing_event(EventKind.SINK, sink.name, sink.id, "FENCED", why, now)
        self.catalog.note(replace(event, severity=Severity.WARN))
        return fenced

    def _write_failure(self, sink: Sink, record: DeliveryRecord, failure: DTError) -> None:
        told = replace(record, code=failure.code, error=failure.sentence)
        later = passes(failure) or self._is_renamed(sink)
        if later and record.trigger is not DeliveryTrigger.CREATION:
            told = replace(told, retries=record.retries + 1)
            self._retried[sink.id] = told
            state = SinkState.RETRYING
        else:
            self._retried.pop(sink.id, None)
            told = replace(told, state=DeliveryState.FAILED, end=self.changes.now())
            state = SinkState.PAUSED
        left = None
        with suppress(DTError):  # a driver that cannot be opened: that is the failure
            left = self._dead_letters(sink)
        self.catalog.finish_delivery(sink, told, state=state, dead_letters=left)

    def _is_renamed(self, sink: Sink) -> bool:
        """Whether it or its source has taken another name since the delivery began."""
        now = self.catalog.sink_of(sink.id)
        return now is not None and (now.name, now.source) != (sink.name, sink.source)

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
    """Whether it is retried automatically."""
    return is_transient(failure) or failure.code.startswith(_PASSING)


def _runtime(checkpoints: Mapping[str, object] | None) -> FrontierCheckpoint | None:
    found = (checkpoints or {}).get("runtime")
    return found if isinstance(found, Mapping) else None


def _stream_of(at: SourceAt) -> str | None:
    return at.stream.id if at.stream is not None else None


def _all_have(frontiers: Iterable[TableVersions | None]) -> TableVersions | None:
    """What is delivered by each of several tasks; None where one has not delivered all rows."""
    listed = list(frontiers)
    known = [f for f in listed if f is not None]
    return lowest_frontier(known) if known and len(known) == len(listed) else None


def _move(opened: _Open, at: SourceAt) -> StreamMove | None:
    """The offset of a sink's stream when all that its tasks have committed is in the store."""
    ends = [part.delivery.checkpoint for part in opened.parts]
    done = _all_have(map(frontier_of, ends))
    if at.stream is None or done is None or any(e["stream"] != at.stream.id for e in ends if e):
        return None
    return StreamMove(opened.sink.id, at.stream.id, done, at.time)


def _delivered(parts: list[_Part]) -> Iterator[Delivered]:
    """The transactions of all tasks; several tasks go at once."""
    if len(parts) == 1:
        yield from parts[0].delivery.deliver()
        return
    with ThreadPoolExecutor(len(parts), "dt-sink-part") as threads:
        each = threads.map(lambda part: list(part.delivery.deliver()), parts)
        yield from chain.from_iterable(each)


def _refused(parts: list[_Part]) -> int:
    return sum(part.delivery.refused for part in parts)


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
