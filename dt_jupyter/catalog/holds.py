"""Versions that no vacuum may take: pins by name, and the replays that run."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, storable
from dt_jupyter.catalog.owner import owner_columns, owner_of
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import delete_row
from dt_jupyter.catalog.schema import StoredBytes
from dt_jupyter.catalog.store import Shelf, Store
from dt_jupyter.catalog.values import HeldTable, Hold, HoldKind
from dt_jupyter.model import Timestamp, did_you_mean, error

_hold = schema.hold
HOLD_SECONDS = 3600.0
"""A replay that its process does not renew for so long is over for another host."""


def _to_hold(row: RowMapping, root: LakeRoot) -> Hold:
    return Hold(
        row["id"],
        HoldKind(row["kind"]),
        row["name"],
        row["subject"],
        row["point"],
        row["created"],
        row["expires"],
        tuple(root.found_held(HeldTable(**t)) for t in json.loads(row["tables"])),
        owner_of(row),
    )


HOLD_SHELF = Shelf(
    _hold,
    "pin",
    (_hold.c.name,),
    _hold.c.id,
    _to_hold,
    "Nothing is vacuumed until it is removed: dt.unpin('{name}').",
)


class Holds(Store):
    """A hold is made before its files are looked for, so that a vacuum that reads the holds under
    the lake's vacuum lock sees it, or has ended before."""

    def hold(
        self,
        id_: str,
        kind: HoldKind,
        subject: str,
        point: str,
        tables: Iterable[HeldTable],
        *,
        name: str | None = None,
        expires: Timestamp | None = None,
    ) -> Hold:
        """Makes a hold; DT-4107 for a pin whose name is taken."""
        with self._write() as connection:
            now = self.clock.now()
            if name is not None and self._named(connection, name) is not None:
                raise error(
                    "DT-4107",
                    name=name,
                    problem="already exists",
                    hint="Remove it first: dt.unpin(…).",
                )
            until = self._lease_time().plus(HOLD_SECONDS)
            lease = until if kind is HoldKind.REPLAY else expires
            made = Hold(id_, kind, name, subject, point, now, lease, tuple(tables), self.owner)
            connection.execute(
                _hold.insert().values(
                    id=id_,
                    kind=kind,
                    name=name,
                    subject=storable(subject),
                    point=storable(point),
                    created=now,
                    expires=lease,
                    tables=self._dumped(made.tables),
                    **owner_columns(self.owner),
                )
            )
        return made

    def hold_tables(self, hold_id: str, tables: Iterable[HeldTable]) -> None:
        """What is held, replaced."""
        with self._write() as connection:
            own = _hold.update().where(_hold.c.id == hold_id)
            connection.execute(own.values(tables=self._dumped(tables)))

    def renew_hold(self, hold_id: str) -> bool:
        """The replay continues; False if its hold was given up."""
        with self._write() as connection:
            until = self._lease_time().plus(HOLD_SECONDS)
            own = _hold.update().where(_hold.c.id == hold_id)
            return connection.execute(own.values(expires=until)).rowcount == 1

    def drop_hold(self, hold_id: str) -> bool:
        """False where there is none any more."""
        with self._write() as connection:
            return connection.execute(_hold.delete().where(_hold.c.id == hold_id)).rowcount == 1

    def holds(self) -> tuple[Hold, ...]:
        """Those in force, oldest first."""
        now = self._lease_time()
        return tuple(h for h in self._all() if self._in_force(h, now))

    def named_hold(self, name: str) -> Hold:
        """The pin of that name; DT-4107."""
        with self._read() as connection:
            query = select(_hold).where(_hold.c.name == name)
            found = self._one(connection, query, HOLD_SHELF)
            known = [h.name for h in self._listed(connection, select(_hold), HOLD_SHELF)]
        if found is None:
            hint = did_you_mean(name, [n for n in known if n], "See dt.pins().")
            raise error("DT-4107", name=name, problem="does not exist", hint=hint)
        return found

    def drop_broken_hold(self, name: str) -> bool:
        """Releases those in quarantine with the name (or id); False if there is none."""
        with self._write() as connection:
            rows = self._broken(connection, name, HOLD_SHELF)
            for row in rows:
                delete_row(connection, _hold, row)
        self.quarantine.lift(HOLD_SHELF.kind, name)
        return bool(rows)

    def hold_ids(self) -> frozenset[str]:
        """Of all, those that cannot be read among them."""
        with self._read() as connection:
            ids = connection.execute(select(StoredBytes(_hold.c.id))).scalars()
            return frozenset((i or b"").decode("utf-8", "replace") for i in ids)

    def reap_holds(self) -> tuple[Hold, ...]:
        """Those that ran out, or whose process is gone, deleted; their copies are the caller's to
        remove."""
        now = self._lease_time()
        dead = [h for h in self._all() if not self._in_force(h, now)]
        return tuple(h for h in dead if self.drop_hold(h.id))

    def own_replays(self) -> tuple[Hold, ...]:
        """The replays of this engine."""
        return tuple(
            h for h in self._all() if h.kind is HoldKind.REPLAY and h.owner.uid == self.owner.uid
        )

    def _all(self) -> list[Hold]:
        with self._read() as connection:
            query = select(_hold).order_by(_hold.c.created)
            return self._listed(connection, query, HOLD_SHELF)

    def _in_force(self, hold: Hold, now: Timestamp) -> bool:
        if hold.kind is HoldKind.PIN:
            return hold.expires is None or hold.expires > now
        if hold.owner.uid == self.owner.uid:
            return True
        if hold.owner.host == self.owner.host:
            return self._alive(hold.owner)
        return hold.expires is not None and hold.expires > now

    def _dumped(self, tables: Iterable[HeldTable]) -> str:
        return dump([asdict(self.root.stored_held(t)) for t in tables])

    @staticmethod
    def _named(connection: Connection, name: str) -> RowMapping | None:
        query = select(_hold).where(_hold.c.name == name)
        return connection.execute(query).mappings().one_or_none()
