"""Sinks as objects with names, which process delivers them, and the history of deliveries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from sqlalchemy import Connection, RowMapping, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, storable
from dt_jupyter.catalog.event_rows import add_event
from dt_jupyter.catalog.owner import Owner, owner_columns, owner_of
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import delete_row, name_like, read_each
from dt_jupyter.catalog.sink_tasks import SinkTasks
from dt_jupyter.catalog.store import Shelf
from dt_jupyter.catalog.streams import move_stream, require_consumable
from dt_jupyter.catalog.values import StreamMove
from dt_jupyter.model import (
    DeliveryAction,
    DeliveryCounts,
    DeliveryRecord,
    DeliveryState,
    DeliveryTrigger,
    EventKind,
    Name,
    Named,
    Reason,
    Sink,
    SinkState,
    TargetLag,
    Timestamp,
    delivery_event,
    did_you_mean,
    error,
    name_taken,
    standing_event,
)

_sink, _delivery, _task = schema.sink, schema.sink_history, schema.sink_task
CLAIM_SECONDS = 300.0
"""A claim that its process does not renew for so long is over for another host."""
_SETTINGS = ("settings", "target_lag_seconds", "warehouse", "comment")
_FREE = {"host": None, "pid": None, "uid": None, "started": None, "expires": None}


def _to_sink(row: RowMapping, _: LakeRoot) -> Sink:
    settings = json.loads(row["settings"])
    return Sink(
        row["id"],
        Name(row["schema_name"], row["sink_name"]),
        Name(row["source_schema"], row["source_name"]),
        row["source_kind"],
        row["url"],
        row["created"],
        tuple(settings["key"]),
        settings["delta_updates"],
        TargetLag(row["target_lag_seconds"]),
        row["warehouse"],
        settings["reductions"],
        settings["partitions"],
        settings["options"],
        row["comment"],
        SinkState(row["state"]),
        row["code"],
        row["problem"],
        row["next_try"],
        row["dead_letters"],
    )


SINK_SHELF = Shelf(
    _sink,
    "sink",
    (_sink.c.schema_name, _sink.c.sink_name),
    _sink.c.id,
    _to_sink,
    "DROP SINK {name} removes it.",
)


class SinkRows(SinkTasks):
    """Names are compared without regard to case, as `Name` keeps them."""

    def create_sink(self, made: Sink) -> Sink:
        """DT-1105 if the name is taken by another sink; DT-3203 and DT-3211 for a stream that
        is being consumed. Claimed by this process."""
        with self._write() as connection:
            if self._find_sink(connection, made.name) is not None:
                raise name_taken(Named.SINK, made.name)
            if made.from_stream:
                require_consumable(connection, made.source)
            connection.execute(_sink.insert().values(**_values_of(made), **self._mine()))
        return made

    def find_sink(self, name: Name) -> Sink | None:
        with self._read() as connection:
            return self._find_sink(connection, name)

    def has_sink(self, name: Name) -> bool:
        """Whether there is one of that name, one in quarantine among them."""
        with self._read() as connection:
            if self._broken(connection, name, SINK_SHELF):
                return True
            return self._find_sink(connection, name) is not None

    def sink(self, name: Name) -> Sink:
        """DT-6104, with the nearest names, if there is none."""
        with self._read() as connection:
            return self._require_sink(connection, name)

    def sink_of(self, id_: str) -> Sink | None:
        """The sink as it is now; None where it was dropped."""
        with self._read() as connection:
            return self._one(connection, select(_sink).where(_sink.c.id == id_), SINK_SHELF)

    def sinks(self, like: str | None = None) -> tuple[Sink, ...]:
        """By name; `like`: as `name_like` reads it."""
        query = select(_sink).order_by(_sink.c.schema_name, _sink.c.sink_name)
        if like is not None:
            query = query.where(name_like(_sink.c.sink_name, like))
        with self._read() as connection:
            if like is None:
                return tuple(self._listed(connection, query, SINK_SHELF))
            return tuple(read_each(connection, _sink, query, self._made(SINK_SHELF))[0])

    def alter_sink(self, made: Sink) -> None:
        """Its settings as given, by whatever names it and its source have now; DT-6104 where it
        is gone."""
        values = {k: v for k, v in _values_of(made).items() if k in _SETTINGS}
        with self._write() as connection:
            mine = _sink.update().where(_sink.c.id == made.id)
            if connection.execute(mine.values(**values)).rowcount != 1:
                raise error("DT-6104", name=made.name, hint="")

    def set_sink_state(
        self, id_: str, state: SinkState, code: str | None = None, problem: str | None = None
    ) -> None:
        """Nothing where it is gone, and what the user suspended stays so unless it is resumed. It
        waits for no try any more."""
        with self._write() as connection:
            self._set_state(connection, id_, state, code, problem)

    def _set_state(
        self,
        connection: Connection,
        id_: str,
        state: SinkState,
        code: str | None,
        problem: str | None,
    ) -> None:
        mine = _sink.update().where(_sink.c.id == id_)
        if state is SinkState.RETRYING or state is SinkState.PAUSED:
            mine = mine.where(_sink.c.state != SinkState.SUSPENDED.value)
        told = storable(problem)
        values = {"state": state.value, "code": code, "problem": told, "next_try": None}
        before = self._told_state(connection, id_)
        if connection.execute(mine.values(**values)).rowcount and before is not None:
            name, known = before
            reason = None if code is None else Reason(code, told or "")
            _tell(connection, name, id_, known, state, reason, self.clock.now())

    def set_next_try(self, id_: str, at: Timestamp) -> None:
        """When a delivery that failed is tried again, by this process."""
        mine = (
            _sink.c.id == id_,
            _sink.c.state == SinkState.RETRYING.value,
            _sink.c.uid == self.owner.uid,
        )
        with self._write() as connection:
            connection.execute(_sink.update().where(*mine).values(next_try=at))

    def drop_sink(self, name: Name, moved: StreamMove | None = None) -> None:
        """The sink and its recovery log; the process that delivers it is fenced. Its stream is at
        `moved`, and free for other consumers. DT-6104."""
        with self._write() as connection:
            broken = self._broken(connection, name, SINK_SHELF)
            for row in broken:
                delete_row(connection, _sink, row)
            if not broken:
                found = self._require_sink(connection, name)
                connection.execute(_sink.delete().where(_sink.c.id == found.id))
                connection.execute(_task.delete().where(_task.c.sink_id == found.id))
                if moved is not None:
                    move_stream(connection, moved)
        self.quarantine.lift(SINK_SHELF.kind, name)

    # -- who delivers -----------------------------------------------------------------------------

    def claim_sink(self, sink: Sink, *, alive: bool = False) -> Owner | None:
        """This process delivers the sink from now on; else who does, and is alive, unless that
        does not matter. A delivery that another process left open has failed. DT-6104 where the
        sink was dropped."""
        with self._write() as connection:
            own = _sink.c.id == sink.id
            row = connection.execute(select(_sink).where(own)).mappings().first()
            if row is None:
                raise error("DT-6104", name=sink.name, hint="")
            if not alive and (other := self._other(row)) is not None:
                return other
            connection.execute(_sink.update().where(own).values(**self._mine()))
            if row["uid"] != self.owner.uid:
                left = (_delivery.c.sink_id == sink.id, _delivery.c.end_time.is_(None))
                failed = {"state": DeliveryState.FAILED.value, "end_time": self.clock.now()}
                connection.execute(_delivery.update().where(*left).values(**failed))
        return None

    def sink_owner(self, sink: Sink) -> Owner | None:
        """The process that has claimed the sink; None where none has, or the sink is gone."""
        with self._read() as connection:
            query = select(_sink).where(_sink.c.id == sink.id)
            row = connection.execute(query).mappings().first()
        return None if row is None or row["uid"] is None else owner_of(row)

    def release_sinks(self, sink: Sink | None = None) -> None:
        """Others may deliver what this process did: one sink, or all."""
        mine = _sink.update().where(_sink.c.uid == self.owner.uid)
        if sink is not None:
            mine = mine.where(_sink.c.id == sink.id)
        with self._write() as connection:
            connection.execute(mine.values(**_FREE))

    def _mine(self) -> dict[str, Any]:
        return {**owner_columns(self.owner), "expires": self._lease_time().plus(CLAIM_SECONDS)}

    def _other(self, row: RowMapping) -> Owner | None:
        if row["uid"] is None or row["uid"] == self.owner.uid:
            return None
        owner = owner_of(row)
        if owner.host != self.owner.host:
            return owner if row["expires"] > self._lease_time() else None
        return owner if self._alive(owner) else None

    # -- history ----------------------------------------------------------------------------------

    def record_delivery(self, record: DeliveryRecord) -> None:
        """Writes it, or what it has become."""
        with self._write() as connection:
            _write_delivery(connection, record, self.clock.now())

    def finish_delivery(
        self,
        sink: Sink,
        record: DeliveryRecord | None = None,
        moved: StreamMove | None = None,
        *,
        state: SinkState | None = None,
        dead_letters: int | None = None,
    ) -> None:
        """Record the outcome of a delivery in one transaction: its record, the sink's state with
        the record's code and error, the offset of its stream, and its dead letters; None leaves
        each as it is. DT-6122 where this process has no claim on the sink any more: nothing is
        written."""
        with self._write() as connection:
            mine = (_sink.c.id == sink.id, _sink.c.uid == self.owner.uid)
            if connection.execute(select(_sink.c.id).where(*mine)).first() is None:
                raise error("DT-6122", task=sink.name)
            if record is not None:
                _write_delivery(connection, record, self.clock.now())
            if state is not None:
                why = (record.code, record.error) if record is not None else (None, None)
                self._set_state(connection, sink.id, state, *why)
            if dead_letters is not None:
                kept = _sink.update().where(_sink.c.id == sink.id)
                connection.execute(kept.values(dead_letters=dead_letters))
            if moved is not None:
                move_stream(connection, moved)

    def deliveries(
        self, name: Name | None = None, limit: int | None = None
    ) -> list[DeliveryRecord]:
        """The history, newest first."""
        query = select(_delivery).order_by(_delivery.c.ordinal.desc()).limit(limit)
        if name is not None:
            here = (_delivery.c.schema_name == name.schema, _delivery.c.sink_name == name.table)
            query = query.where(*here)
        with self._read() as connection:
            return read_each(connection, _delivery, query, _to_record)[0]

    def last_delivery(self, sink: Sink) -> DeliveryRecord | None:
        """The newest that succeeded."""
        done = _delivery.c.state == DeliveryState.SUCCEEDED.value
        query = select(_delivery).where(_delivery.c.sink_id == sink.id, done)
        newest = query.order_by(_delivery.c.ordinal.desc()).limit(1)
        with self._read() as connection:
            found = read_each(connection, _delivery, newest, _to_record)[0]
        return found[0] if found else None

    @staticmethod
    def _told_state(connection: Connection, id_: str) -> tuple[Name, str] | None:
        query = select(_sink).where(_sink.c.id == id_)
        made = read_each(
            connection,
            _sink,
            query,
            lambda row: (Name(row["schema_name"], row["sink_name"]), str(row["state"])),
        )[0]
        return made[0] if made else None

    # -- small things -----------------------------------------------------------------------------

    def _find_sink(self, connection: Connection, name: Name) -> Sink | None:
        here = (_sink.c.schema_name == name.schema, _sink.c.sink_name == name.table)
        found = self._one(connection, select(_sink).where(*here), SINK_SHELF)
        return found

    def _require_sink(self, connection: Connection, name: Name) -> Sink:
        found = self._find_sink(connection, name)
        if found is None:
            known = connection.execute(select(_sink.c.sink_name)).scalars().all()
            raise error("DT-6104", name=name, hint=did_you_mean(name.table, list(known)))
        return found


def _values_of(sink: Sink) -> dict[str, Any]:
    settings: Mapping[str, object] = {
        "key": list(sink.key),
        "delta_updates": sink.delta_updates,
        "reductions": dict(sink.reductions),
        "partitions": sink.partitions,
        "options": dict(sink.options),
    }
    return {
        "id": sink.id,
        "schema_name": sink.name.schema,
        "sink_name": sink.name.table,
        "source_schema": sink.source.schema,
        "source_name": sink.source.table,
        "source_kind": sink.kind,
        "url": storable(sink.url),
        "settings": dump(settings),
        "target_lag_seconds": sink.target_lag.seconds,
        "warehouse": sink.warehouse,
        "created": sink.created,
        "comment": storable(sink.comment),
        "state": sink.state.value,
        "code": sink.code,
        "problem": storable(sink.problem),
        "dead_letters": sink.dead_letters,
    }


def _tell(
    connection: Connection,
    name: Name,
    id_: str,
    before: str,
    state: SinkState,
    reason: Reason | None,
    now: Timestamp,
) -> None:
    """That it delivers no more, or again; a failed try is reported by the delivery."""
    retries = SinkState.RETRYING.value
    if state.value in (before, retries) or (before, state) == (retries, SinkState.ACTIVE):
        return
    bad = state is SinkState.PAUSED
    told = standing_event(EventKind.SINK, name, id_, state.value, reason, now, bad=bad)
    add_event(connection, told)


def _write_delivery(connection: Connection, record: DeliveryRecord, now: Timestamp) -> None:
    """By the name that its sink has now: it may have taken another since the delivery began."""
    names = select(_sink.c.schema_name, _sink.c.sink_name).where(_sink.c.id == record.sink)
    if (found := connection.execute(names).first()) is not None:
        record = replace(record, name=Name(*found))
    add_event(connection, delivery_event(record, now))
    values = {
        "id": record.id,
        "sink_id": record.sink,
        "schema_name": record.name.schema,
        "sink_name": record.name.table,
        "state": record.state.value,
        "trigger_kind": record.trigger.value,
        "action": record.action.value if record.action else None,
        "version": record.version,
        "start_time": record.start,
        "end_time": record.end,
        "counts": dump(asdict(record.counts)),
        "retries": record.retries,
        "error_code": record.code,
        "error": storable(record.error),
    }
    same = _delivery.c.id == record.id
    if connection.execute(_delivery.update().where(same).values(**values)).rowcount:
        return
    newest = connection.scalar(select(func.max(_delivery.c.ordinal))) or 0
    connection.execute(_delivery.insert().values(ordinal=newest + 1, **values))


def _to_record(row: RowMapping) -> DeliveryRecord:
    return DeliveryRecord(
        row["id"],
        row["sink_id"],
        Name(row["schema_name"], row["sink_name"]),
        DeliveryState(row["state"]),
        DeliveryTrigger(row["trigger_kind"]),
        row["start_time"],
        DeliveryAction(row["action"]) if row["action"] else None,
        row["version"],
        row["end_time"],
        DeliveryCounts(**json.loads(row["counts"])),
        row["retries"],
        row["error_code"],
        row["error"],
    )
