"""Streams and their intents: a consumption is recorded before it writes, and moves its streams
after; each step is one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, storable
from dt_jupyter.catalog.owner import Owner, owner_columns, owner_of
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import delete_row, name_like, read_each
from dt_jupyter.catalog.store import Shelf, Store
from dt_jupyter.catalog.task_runs import mark_committed
from dt_jupyter.catalog.values import StreamMove
from dt_jupyter.model import (
    FROM_STREAM,
    Intent,
    Name,
    Named,
    Stream,
    StreamMeaning,
    Timestamp,
    did_you_mean,
    error,
    name_taken,
)

_stream, _intent, _sink = schema.stream, schema.intent, schema.sink
_PUBLISHING = select(_intent.c.id).where(_intent.c.targets.is_not(None))
_dropped = schema.dropped_stream


def _to_stream(row: RowMapping, _: LakeRoot) -> Stream:
    return Stream(
        row["id"],
        Name(row["schema_name"], row["stream_name"]),
        Name(row["source_schema"], row["source_name"]),
        row["source_kind"],
        json.loads(row["frontier"]),
        row["advanced"],
        row["created"],
        bool(row["append_only"]),
        bool(row["initial"]),
        row["number"],
        row["comment"],
        row["intent"],
        row["extension_days"],
        None if row["meaning"] is None else StreamMeaning.of(row["meaning"]),
    )


def _to_intent(row: RowMapping, root: LakeRoot) -> Intent:
    return Intent(
        row["id"],
        row["statement"],
        root.found(row["path"]),
        row["version"],
        row["created"],
        row["at"],
        json.loads(row["frontiers"]),
        None if row["targets"] is None else tuple(map(root.found, json.loads(row["targets"]))),
    )


STREAM_SHELF = Shelf(
    _stream,
    "stream",
    (_stream.c.schema_name, _stream.c.stream_name),
    _stream.c.id,
    _to_stream,
    "DROP STREAM {name} removes it.",
)
INTENTS = Shelf(
    _intent,
    "consumption",
    (_intent.c.id,),
    _intent.c.id,
    _to_intent,
    "Its streams do not advance: DROP them, and create them again.",
)
INTENT_SECONDS = 300.0
"""An intent that its process does not renew for so long may be settled by another host."""


class StreamRows(Store):
    """Names are compared without regard to case, as `Name` keeps them."""

    def create_stream(self, made: Stream, *, replace_existing: bool = False) -> Stream:
        """DT-1105 if the name is taken, unless by a stream that is to be replaced."""
        with self._write() as connection:
            known = self._find(connection, made.name)
            if known is not None and not replace_existing:
                raise name_taken(Named.STREAM, made.name)
            if known is not None:
                self._require_free(known, stuck=True)
                connection.execute(_stream.delete().where(_stream.c.id == known.id))
                self._forget_stuck(connection, known.intent)
            connection.execute(
                _stream.insert().values(
                    id=made.id,
                    schema_name=made.name.schema,
                    stream_name=made.name.table,
                    source_schema=made.source.schema,
                    source_name=made.source.table,
                    source_kind=made.kind,
                    frontier=dump(dict(made.frontier)),
                    advanced=made.advanced,
                    created=made.created,
                    append_only=made.append_only,
                    initial=made.initial,
                    number=made.number,
                    comment=storable(made.comment),
                    intent=None,
                    extension_days=made.extension_days,
                    meaning=None if made.meaning is None else made.meaning.to_json(),
                )
            )
        return made

    def find_stream(self, name: Name) -> Stream | None:
        with self._read() as connection:
            return self._find(connection, name)

    def has_stream(self, name: Name) -> bool:
        """Whether there is one of that name, one in quarantine among them."""
        with self._read() as connection:
            if self._broken(connection, name, STREAM_SHELF):
                return True
            return self._find(connection, name) is not None

    def stream(self, name: Name) -> Stream:
        """DT-3201, with the nearest names, if there is none."""
        with self._read() as connection:
            return self._require(connection, name)

    def streams(self, like: str | None = None) -> tuple[Stream, ...]:
        """By name; `like`: as `name_like` reads it."""
        query = select(_stream).order_by(_stream.c.schema_name, _stream.c.stream_name)
        if like is not None:
            query = query.where(name_like(_stream.c.stream_name, like))
        with self._read() as connection:
            if like is None:
                return tuple(self._listed(connection, query, STREAM_SHELF))
            return tuple(read_each(connection, _stream, query, self._made(STREAM_SHELF))[0])

    def drop_stream(self, name: Name, *, from_sink: bool = False) -> None:
        """DT-3201; DT-3203 while it is consumed, unless that cannot be settled; DT-3211 while a
        sink delivers it, unless it is taken from that."""
        with self._write() as connection:
            broken = self._broken(connection, name, STREAM_SHELF)
            for row in broken:
                delete_row(connection, _stream, row)
            if not broken:
                found = self._require(connection, name)
                self._require_free(found, stuck=True)
                if not from_sink:
                    require_no_sink(connection, found.name)
                self._keep_dropped(connection, found.id)
                connection.execute(_stream.delete().where(_stream.c.id == found.id))
                self._forget_stuck(connection, found.intent)
        self.quarantine.lift(STREAM_SHELF.kind, name)

    def purge_stream(self, stream_id: str) -> None:
        """Forget a stream wholly; it cannot be undropped. DT-3203 while it is consumed."""
        own = _stream.c.id == stream_id
        with self._write() as connection:
            found = self._one(connection, select(_stream).where(own), STREAM_SHELF)
            if found is not None:
                self._require_free(found, stuck=True)
            connection.execute(_stream.delete().where(own))
            connection.execute(_dropped.delete().where(_dropped.c.id == stream_id))

    def _keep_dropped(self, connection: Connection, stream_id: str) -> None:
        """It can be restored with its offset."""
        columns = [c for c in _stream.columns if c.name != "intent"]
        row = connection.execute(select(*columns).where(_stream.c.id == stream_id)).mappings().one()
        connection.execute(_dropped.delete().where(_dropped.c.id == stream_id))
        connection.execute(_dropped.insert().values(**row, dropped=self.clock.now()))

    def dropped_stream(self, name: Name) -> Stream | None:
        """The one of that name that was dropped last."""
        here = (_dropped.c.schema_name == name.schema, _dropped.c.stream_name == name.table)
        query = select(_dropped).where(*here).order_by(_dropped.c.dropped.desc()).limit(1)
        with self._read() as connection:
            made = read_each(connection, _dropped, query, self._made(STREAM_SHELF))[0]
        return made[0] if made else None

    def undrop_stream(self, stream: Stream) -> None:
        """It is restored with its offset. DT-1105 where another one has its name."""
        gone = _dropped.c.id == stream.id
        with self._write() as connection:
            if self._find(connection, stream.name) is not None:
                raise name_taken(Named.STREAM, stream.name, same=False)
            columns = [_dropped.c[c.name] for c in _stream.columns]
            row = connection.execute(select(*columns).where(gone)).mappings().one()
            connection.execute(_stream.insert().values(**row))
            connection.execute(_dropped.delete().where(gone))

    def alter_stream(self, name: Name, *, comment: str | None, extension_days: int) -> None:
        """DT-3201."""
        with self._write() as connection:
            own = _stream.update().where(_stream.c.id == self._require(connection, name).id)
            values = {"comment": storable(comment), "extension_days": extension_days}
            connection.execute(own.values(**values))

    def record_meaning(self, stream: Stream, meaning: StreamMeaning) -> None:
        """What the source of a stream is, where that is not known yet."""
        own = (_stream.c.id == stream.id, _stream.c.meaning.is_(None))
        with self._write() as connection:
            connection.execute(_stream.update().where(*own).values(meaning=meaning.to_json()))

    # -- consumption ------------------------------------------------------------------------------

    def begin_intent(self, intent: Intent, streams: Iterable[Stream]) -> None:
        """Takes the streams, all of them or none. DT-3203 where one is being consumed, or was
        since it was read; DT-3201 where it is gone; DT-3211 where it is a sink's."""
        with self._write() as connection:
            for seen in streams:
                self._take(connection, intent.id, seen)
            connection.execute(
                _intent.insert().values(
                    id=intent.id,
                    statement=storable(intent.statement),
                    path=self.root.stored(intent.path),
                    version=intent.version,
                    created=intent.created,
                    at=intent.at,
                    frontiers=dump({k: dict(v) for k, v in intent.frontiers.items()}),
                    targets=None,
                    expires=self._expiry(),
                    **owner_columns(self.owner),
                )
            )

    def take_stream(self, intent: Intent, stream: Stream) -> None:
        """One more stream for an intent. As `begin_intent`; DT-3210 where the intent is gone."""
        with self._write() as connection:
            self._require_open(connection, intent)
            self._take(connection, intent.id, stream)

    def _take(self, connection: Connection, intent_id: str, seen: Stream) -> None:
        known = self._require(connection, seen.name)
        self._require_free(known)
        require_no_sink(connection, seen.name)
        if (known.id, known.number) != (seen.id, seen.number):
            raise error("DT-3203", name=seen.name, owner="another session, just before")
        own = _stream.update().where(_stream.c.id == known.id)
        connection.execute(own.values(intent=intent_id))

    def prepare_intent(self, intent: Intent) -> None:
        """From now on the transaction is published: its `targets` and `frontiers` are on record.
        DT-3210 where it is gone, or on record already."""
        assert intent.targets is not None
        with self._write() as connection:
            self._require_open(connection, intent)
            connection.execute(
                _intent.update()
                .where(_intent.c.id == intent.id)
                .values(
                    targets=dump([self.root.stored(t) for t in intent.targets]),
                    at=intent.at,
                    frontiers=dump({k: dict(v) for k, v in intent.frontiers.items()}),
                )
            )

    def renew_intent(self, intent_id: str) -> bool:
        """Its process is there; False where the intent is gone."""
        with self._write() as connection:
            own = _intent.update().where(_intent.c.id == intent_id)
            return connection.execute(own.values(expires=self._expiry())).rowcount == 1

    def intents(self) -> frozenset[str]:
        """The ids of all intents."""
        with self._read() as connection:
            return frozenset(connection.execute(select(_intent.c.id)).scalars())

    def consumer(self, name: Name) -> tuple[str, Owner] | None:
        """The single statement of another engine that consumes a stream now, by the id of its
        intent, and the process that runs it. None where a transaction does, which its user ends,
        or a process that is gone."""
        here = (_stream.c.schema_name == name.schema, _stream.c.stream_name == name.table)
        query = select(_intent).join(_stream, _stream.c.intent == _intent.c.id)
        with self._read() as connection:
            query = query.where(*here, _intent.c.path != "")
            row = connection.execute(query).mappings().one_or_none()
        if row is None or row["uid"] == self.owner.uid or self._is_orphan(row):
            return None
        return row["id"], owner_of(row)

    def publishing(self) -> frozenset[str]:
        """The ids of transactions on record as committed, and not published yet."""
        return self._answer("publishing", self._read_publishing)

    def _read_publishing(self) -> frozenset[str]:
        with self._read() as connection:
            return frozenset(connection.execute(_PUBLISHING).scalars())

    def decided(self, intent_id: str) -> bool:
        """Whether the intent is a transaction on record as committed, and not published yet."""
        query = select(_intent.c.targets).where(_intent.c.id == intent_id)
        with self._read() as connection:
            return connection.execute(query).scalar() is not None

    def _expiry(self) -> Timestamp:
        return self._lease_time().plus(INTENT_SECONDS)

    def _require_open(self, connection: Connection, intent: Intent) -> None:
        query = select(_intent.c.targets).where(_intent.c.id == intent.id)
        row = connection.execute(query).one_or_none()
        if row is None or row[0] is not None:
            raise error("DT-3210", statement=intent.statement)

    def finish_intent(self, intent: Intent) -> bool:
        """Sets the streams to the offsets of the intent; once, even if called again. False if
        it was settled before."""
        with self._write() as connection:
            for stream_id, frontier in intent.frontiers.items():
                mine = (_stream.c.id == stream_id, _stream.c.intent == intent.id)
                connection.execute(
                    _stream.update()
                    .where(*mine)
                    .values(
                        frontier=dump(dict(frontier)),
                        advanced=intent.at,
                        initial=False,
                        number=_stream.c.number + 1,
                    )
                )
            mark_committed(connection, intent.id)
            return self._remove(connection, intent)

    def abort_intent(self, intent: Intent) -> None:
        """The streams stay where they are, free again."""
        with self._write() as connection:
            self._remove(connection, intent)

    @staticmethod
    def _remove(connection: Connection, intent: Intent) -> bool:
        """Its streams are free again; False where it was gone."""
        mine = _stream.c.intent == intent.id
        connection.execute(_stream.update().where(mine).values(intent=None))
        done = connection.execute(_intent.delete().where(_intent.c.id == intent.id))
        return done.rowcount == 1

    def orphans(self) -> tuple[Intent, ...]:
        """The intents whose process is gone: on this host, or on another one that has not renewed
        them for long. Of this engine's own, a transaction that is on record and was interrupted,
        and what was let go."""

        def read(row: RowMapping) -> tuple[RowMapping, Intent]:
            return row, _to_intent(row, self.root)

        with self._read() as connection:
            query = select(_intent).where(_intent.c.steps.is_(None) | (_intent.c.path != ""))
            rows = self._listed_as(connection, query, INTENTS, read)
        return tuple(intent for row, intent in rows if self._is_orphan(row))

    def _is_orphan(self, row: RowMapping) -> bool:
        owner = owner_of(row)
        if owner.uid == self.owner.uid:
            return row["targets"] is not None or row["id"] in self._let_go
        if owner.host != self.owner.host:
            return row["expires"] is not None and row["expires"] <= self._lease_time()
        return not self._alive(owner)

    # -- small things -----------------------------------------------------------------------------

    def _find(self, connection: Connection, name: Name) -> Stream | None:
        here = (_stream.c.schema_name == name.schema, _stream.c.stream_name == name.table)
        found = self._one(connection, select(_stream).where(*here), STREAM_SHELF)
        return found

    def _require(self, connection: Connection, name: Name) -> Stream:
        found = self._find(connection, name)
        if found is None:
            known = connection.execute(select(_stream.c.stream_name)).scalars().all()
            raise error("DT-3201", name=name, hint=did_you_mean(name.table, list(known)))
        return found

    def _forget_stuck(self, connection: Connection, intent_id: str | None) -> None:
        """Removes a consumption that could not be settled, when the last of its streams is gone."""
        waiting = select(_stream.c.id).where(_stream.c.intent == intent_id)
        if intent_id is None or connection.execute(waiting).first() is not None:
            return
        connection.execute(_intent.delete().where(_intent.c.id == intent_id))
        self.quarantine.lift(INTENTS.kind, intent_id)

    def _require_free(self, stream: Stream, *, stuck: bool = False) -> None:
        """DT-3203 while it is consumed; with `stuck`, not where its outcome is unknown."""
        if stuck and self.quarantine.find(stream.intent, INTENTS.kind) is not None:
            return
        if stream.intent is not None:
            raise error("DT-3203", name=stream.name, owner="another statement")


def require_consumable(connection: Connection, name: Name) -> None:
    """DT-3201 for a stream that is not there, DT-3203 while a statement consumes it, DT-3211 while
    a sink delivers it."""
    here = (_stream.c.schema_name == name.schema, _stream.c.stream_name == name.table)
    row = connection.execute(select(_stream.c.intent).where(*here)).one_or_none()
    if row is None:
        raise error("DT-3201", name=name, hint="")
    if row.intent is not None:
        raise error("DT-3203", name=name, owner="another statement")
    require_no_sink(connection, name)


def require_no_sink(connection: Connection, name: Name) -> None:
    """DT-3211 for a stream that a sink delivers."""
    on = (_sink.c.source_schema == name.schema, _sink.c.source_name == name.table)
    query = select(_sink.c.sink_name).where(*on, _sink.c.source_kind == FROM_STREAM)
    if (sink := connection.scalar(query)) is not None:
        raise error("DT-3211", name=name, sink=sink)


def move_stream(connection: Connection, moved: StreamMove) -> None:
    """Sets the stream of a sink to what has been delivered: never further back, and not
    after it was replaced."""
    own = _stream.c.id == moved.stream
    row = connection.execute(select(_stream).where(own)).mappings().one_or_none()
    known: dict[str, int] = {} if row is None else json.loads(row["frontier"])
    if row is None or any(moved.frontier.get(t, -1) < version for t, version in known.items()):
        return
    if known != dict(moved.frontier) or row["initial"]:
        connection.execute(
            _stream.update()
            .where(own)
            .values(
                frontier=dump(dict(moved.frontier)),
                advanced=moved.advanced,
                initial=False,
                number=_stream.c.number + 1,
            )
        )
