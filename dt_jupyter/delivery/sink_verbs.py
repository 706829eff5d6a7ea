"""What statements do with sinks: made, altered, delivered, reset and dropped."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dt_jupyter.catalog import Catalog, StreamMove
from dt_jupyter.delivery.deliver import (
    Deliveries,
    address_of,
    binding_of,
    key_columns,
    target_of,
)
from dt_jupyter.lake import LakeError
from dt_jupyter.model import (
    DeliveryRecord,
    DeliveryTrigger,
    DTError,
    Name,
    Named,
    Sink,
    SinkState,
    TargetLag,
    count_of,
    error,
    require_name,
)
from dt_jupyter.sinks import open_driver
from dt_jupyter.sources import require_free
from dt_jupyter.spark import activity_step
from dt_jupyter.sql import CreateAction, SinkSource, StreamSource, statement_values as S
from dt_jupyter.streams import Streams

_OUT_OF_REACH = frozenset({"DT-6110", "DT-6113"})
_NOT_CREATED = (
    "No sink was created. Start the store, or correct its address (the folder of a file must "
    "exist), and run the statement again."
)


@dataclass(frozen=True)
class Sinks:
    """The sinks of a lake; `changed` is called after changes that the delivering process may act
    on, `scheduled` says whether this process delivers on its own: if not, it claims no sink."""

    catalog: Catalog
    streams: Streams
    deliveries: Deliveries
    changed: Callable[[], None]
    scheduled: Callable[[], bool]

    def create(self, asked: S.CreateSink) -> list[str]:
        """Makes a sink, delivers all rows of its source, or what its stream holds, and says so. A
        store that cannot be reached, an invalid key and all else that is refused leaves
        nothing. DT-1101, DT-1105, DT-1109, DT-1119, DT-3201 to DT-3211, DT-6101 to DT-6152."""
        try:
            return self._create(asked)
        except DTError as e:
            if e.code not in _OUT_OF_REACH:
                raise
            raise e.but(instead=_NOT_CREATED) from e

    def _create(self, asked: S.CreateSink) -> list[str]:
        require_name(Named.SINK, asked.name)
        if asked.action is CreateAction.IF_NOT_EXISTS and self.catalog.find_sink(asked.name):
            return [f"Sink {asked.name} already exists, nothing done."]
        require_free(self.catalog, self.streams.changes.spark, asked.name)
        self._require_kind(asked)
        self.catalog.warehouse(asked.warehouse)
        made = self._made(asked)
        with activity_step("Checking the rows and the store"):
            self._require_deliverable(made)
        told = [] if made.from_stream else self.streams.prepare(asked.source)
        self.streams.recover()
        self.catalog.create_sink(made)
        try:
            done = self._deliver(made, DeliveryTrigger.CREATION)
        except BaseException as e:
            self.catalog.leftovers.undo(e, lambda: self._uncreate(made))
            raise
        self.changed()
        rows = f"{count_of(done.counts.stored, 'row')} delivered"
        if refused := done.counts.refused:
            rows += f", {refused} refused by the store"
        return [f"Sink {made.name} created on {made.source}: {rows}.", *told]

    def _uncreate(self, made: Sink) -> None:
        """A sink that another process delivers is left to it."""
        self.deliveries.forget(made)
        owner = self.catalog.sink_owner(made)
        if owner is not None and owner != self.catalog.owner:
            return
        known = self.catalog.find_sink(made.name)
        if known is not None and known.id == made.id:
            self.catalog.drop_sink(made.name)
        with suppress(DTError):  # what is said is why it was not created
            self._forget(made, empty=not address_of(made).flag("adopt"), unmake=True)

    def _made(self, asked: S.CreateSink) -> Sink:
        return Sink(
            uuid.uuid4().hex,
            asked.name,
            asked.source,
            asked.source_kind.value,
            asked.url,
            self.deliveries.now(),
            asked.key,
            asked.delta_updates,
            asked.target_lag,
            asked.warehouse,
            dict(asked.reductions),
            asked.partitions,
            dict(asked.options),
            asked.comment,
        )

    def kind_of(self, source: Name) -> SinkSource | StreamSource | None:
        """What has that name; None where nothing has."""
        if self.catalog.find_stream(source) is not None:
            return SinkSource.STREAM
        return self.streams.kind_of(source)

    def _require_kind(self, asked: S.CreateSink) -> None:
        kind = self.kind_of(asked.source)
        if kind is None and asked.source_kind is SinkSource.STREAM:
            self.catalog.stream(asked.source)
        if kind is None or str(kind) == str(asked.source_kind):  # its reader finds it gone
            return
        hint = f"Write CREATE SINK {asked.name} FROM {kind} {asked.source}."
        if kind is StreamSource.VIEW:
            hint = "Make a dynamic table of it, or a stream on it."
        expected = str(asked.source_kind).lower()
        known = str(kind).lower()
        raise error("DT-1109", name=asked.source, kind=known, expected=expected, hint=hint)

    def _require_deliverable(self, made: Sink) -> None:
        """The address, the options, the key and the types, before anything is written."""
        self._require_outside(made)
        open_driver(address_of(made)).close()
        changes = self.deliveries.source_of(made)
        try:
            at = changes.look()
        except DTError as e:
            raise e.__cause__ if isinstance(e.__cause__, DTError) else e from None
        binding_of(made, at)
        keyed = self.deliveries.source_of(made, key_columns(made, at))
        with self.deliveries.sessions.lease(made.warehouse) as spark:
            keyed.require_key(spark, at)

    def _require_outside(self, made: Sink) -> None:
        """DT-6101 for a store of files in the folders that the lake keeps its tables in."""
        address, layout = address_of(made), self.streams.layout
        if address.host or not address.path:
            return
        folder = Path(address.path).resolve()
        target = folder / target_of(made)
        own = (layout.own.resolve(), layout.tables.resolve())
        if any(p.is_relative_to(kept) for p in (folder, target) for kept in own):
            problem = "the lake keeps its own tables there"
            hint = "Choose a folder outside of the lake's."
            raise error("DT-6101", url=address, problem=problem, hint=hint)

    # -- altering ---------------------------------------------------------------------------------

    def refresh(self, name: Name) -> DeliveryRecord:
        """Delivers all that is new, now; a sink that was paused continues. DT-6104, DT-61xx."""
        sink = self.catalog.sink(name)
        return self._deliver(sink, DeliveryTrigger.MANUAL)

    def _deliver(self, sink: Sink, trigger: DeliveryTrigger) -> DeliveryRecord:
        try:
            with activity_step(f"Delivering {sink.source}"):
                return self.deliveries.deliver(sink, trigger)
        finally:
            if not self.scheduled():
                self.deliveries.leave(sink)

    def retry_dead_letters(self, name: Name) -> str:
        """Sends again what the store refused, and says the outcome. DT-6104, DT-6144 for a
        store that keeps no dead letters, DT-61xx."""
        sink = self.catalog.sink(name)
        try:
            sent, left = self.deliveries.retry_dead_letters(sink)
        finally:
            if not self.scheduled():
                self.deliveries.leave(sink)
        if not (sent or left):
            return f"Sink {name} has no dead letters."
        return f"Sink {name} sent {count_of(sent, 'dead letter')}, {left} wait."

    def suspend(self, name: Name) -> None:
        """Delivers no more automatically. DT-6104."""
        sink = self.catalog.sink(name)
        self.catalog.set_sink_state(sink.id, SinkState.SUSPENDED)
        self.changed()

    def resume(self, name: Name) -> None:
        """Delivers again, from its position. DT-6104."""
        sink = self.catalog.sink(name)
        self.catalog.set_sink_state(sink.id, SinkState.ACTIVE)
        self.changed()

    def reset(self, name: Name) -> DeliveryRecord:
        """All rows again, into an emptied target. DT-6104, DT-6144 for a store that this cannot
        empty, DT-61xx."""
        sink = self.catalog.sink(name)
        self._require_deliverable(sink)
        self.deliveries.claim(sink)
        self.deliveries.forget(sink)
        self._forget(sink, empty=True)
        self.catalog.forget_sink_tasks(sink.id)
        self.catalog.set_sink_state(sink.id, SinkState.ACTIVE)
        return self._deliver(self.catalog.sink(name), DeliveryTrigger.MANUAL)

    def _forget(self, sink: Sink, *, empty: bool, unmake: bool = False) -> None:
        """The store forgets what it has of a sink, whose target is emptied or released."""
        binding = binding_of(sink, self.deliveries.source_of(sink).look())
        driver = open_driver(address_of(sink))
        try:
            driver.forget(binding, sink.id, empty=empty, unmake=unmake)
        finally:
            driver.close()

    def alter(self, name: Name, change: S.SetSink) -> None:
        """Sets what is given. DT-6104, DT-1108 for a warehouse that there is not."""
        sink = self.catalog.sink(name)
        if change.warehouse is not None:
            self.catalog.warehouse(change.warehouse)
        lag: TargetLag | None = change.target_lag
        made = replace(
            sink,
            target_lag=sink.target_lag if lag is None else lag,
            warehouse=change.warehouse or sink.warehouse,
            partitions=change.partitions or sink.partitions,
            comment=sink.comment if change.comment is None else change.comment,
        )
        self.catalog.alter_sink(made)
        self.changed()

    def drop(self, name: Name) -> str:
        """The sink goes; what it delivered stays in the store, without an owner. A stream is
        after that, and free for other consumers. DT-6104."""
        sink = self.catalog.find_sink(name) if not self._is_broken(name) else None
        moved = self._settle(sink) if sink is not None and sink.from_stream else None
        self.catalog.drop_sink(name, moved)
        if sink is None:
            return f"Sink {name} dropped."
        self.deliveries.forget(sink)
        kept = " Its store was not reached: the target there still has its mark."
        with suppress(DTError):
            self._forget(sink, empty=False)
            kept = ""
        return f"Sink {name} dropped.{kept}"

    def _settle(self, sink: Sink) -> StreamMove | None:
        """None where the store is not reached: the stream stays where the last delivery moved it,
        which the store has for sure."""
        with suppress(DTError, LakeError):
            return self.deliveries.settle(sink)
        return None

    def _is_broken(self, name: Name) -> bool:
        return self.catalog.quarantine.find(name, Named.SINK) is not None
