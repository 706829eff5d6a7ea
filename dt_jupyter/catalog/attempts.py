"""The refresh protocol's rows: an attempt begins under a lease, beats, and finishes or fails.

Steps 1 and 6 of the protocol, and what recovery and the watchdog do. Every method is one
transaction, so a crash between any two statements leaves what was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, RowMapping, select

from dt_jupyter.catalog import leases, schema, tables
from dt_jupyter.catalog.attempt_rows import (
    add_pins,
    advance_standing,
    advance_standings,
    complete_record,
    insert_record,
    insert_records,
    newest_tick,
    read_standing,
    read_standings,
    rewrite_record,
    set_standing,
    standing_after,
)
from dt_jupyter.catalog.codec import (
    from_definition,
    from_reason,
    name_in,
    to_definition,
    to_frontier,
)
from dt_jupyter.catalog.owner import owner_of
from dt_jupyter.catalog.rows import read_each
from dt_jupyter.catalog.stages import replace_stages
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import (
    FAILURES_ALLOWED,
    Attempt,
    Lease,
    Pin,
    StageRow,
    UnchangedTable,
    suspended_by_failures,
)
from dt_jupyter.catalog.versions import record_versions
from dt_jupyter.model import (
    Definition,
    DTError,
    DynamicTable,
    Frontier,
    Reason,
    RefreshAction,
    RefreshRecord,
    RefreshState,
    RefreshTrigger,
    SchedulingState,
    Timestamp,
    error,
)

_history, _pin, _lease = schema.history, schema.pin, schema.lease
_RUNNING = select(_lease, _history.c.start_time).join(
    _history, _history.c.query_id == _lease.c.attempt
)
_CHANGED = Reason("DEFINITION_CHANGED", "The definition was changed while a refresh ran.")


_NOT_NOW = frozenset(("DT-1101", "DT-2101", "DT-2104", "DT-2109"))
"""It is gone, has no data yet, is being refreshed, or is there already."""


def _stands(row: RowMapping, sequence: int) -> bool:
    """Whether a dynamic table is as it was when it was found unchanged."""
    return row["sequence"] == sequence and row["needs_reinit"] is None


class Overtaken(Exception):
    """Another refresh ended since the caller read the table: its plan was made for old rows."""


class Attempts(Store):
    """At most one live attempt for each dynamic table; a dead one is fenced by the next."""

    def begin(
        self,
        dt_id: str,
        trigger: RefreshTrigger,
        data_timestamp: Timestamp,
        attempt_id: str,
        ttl: float,
        pins: Iterable[tuple[str, int]] = (),
        after: int | None = None,
        resolved: Mapping[str, int] | None = None,
    ) -> Attempt:
        """Take the lease for `ttl` seconds and write an EXECUTING row; from then on the base tables
        of `resolved` have these versions at the data timestamp for all processes. A machine that
        loses its power has lost the attempt with its process: until it commits nothing is to
        recover, and a commit that the catalog has not seen begin is rolled forward.

        Raises DT-2104 while another attempt lives, DT-2109 for a data timestamp that is not
        after the present one (or a tick that the scheduler is done with), DT-1101 when the
        dynamic table is gone, and Overtaken where its sequence is not `after` any more, or one of
        `resolved` has another version.
        """
        with self._write(of_process=True) as connection:
            row = read_standing(connection, dt_id)
            if after is not None and row["sequence"] != after:
                raise Overtaken
            self._record_resolved(connection, data_timestamp, resolved)
            attempt = self._open(connection, dt_id, row, trigger, data_timestamp, attempt_id, ttl)
            record = RefreshRecord(
                attempt.name,
                attempt_id,
                RefreshState.EXECUTING,
                trigger,
                data_timestamp,
                start=attempt.started,
            )
            insert_record(connection, dt_id, complete_record(record, row, attempt.started))
            add_pins(connection, attempt_id, pins)
        return attempt

    def _record_resolved(
        self, connection: Connection, t: Timestamp, resolved: Mapping[str, int] | None
    ) -> None:
        if resolved and record_versions(connection, t, resolved, self.clock.now()) != resolved:
            raise Overtaken

    def pin(self, attempt: Attempt, pins: Iterable[tuple[str, int]]) -> None:
        """Keep these versions (table id, version) until the attempt ends; DT-2108 if fenced."""
        with self._write() as connection:
            self._held(connection, attempt, attempt.sequence)
            add_pins(connection, attempt.id, pins)

    def pins(self) -> tuple[Pin, ...]:
        """Those of all attempts."""
        with self._read() as connection:
            return tuple(Pin(*row) for row in connection.execute(select(_pin)))

    def heartbeat(self, attempt: Attempt) -> bool:
        """Renew the lease; False: it was taken, so nothing that this attempt does will count."""
        mine = (
            _lease.c.dt_id == attempt.dt_id,
            _lease.c.attempt == attempt.id,
            _lease.c.epoch == attempt.epoch,
        )
        with self._write(of_process=True) as connection:
            until = self._lease_time().plus(attempt.ttl)
            return (
                connection.execute(_lease.update().where(*mine).values(expires=until)).rowcount == 1
            )

    def finish(
        self,
        attempt: Attempt,
        record: RefreshRecord,
        *,
        frontier: Frontier,
        sequence: int,
        version: int | None,
        stages: Sequence[StageRow] = (),
        definition: Definition | None = None,
    ) -> RefreshRecord:
        """Record a success: the new standing, the version for its data timestamp, the history
        row; release the lease and the pins. The failure counter goes to zero.

        `sequence` and `version` are the attempt's if the lake was written, the present ones if
        not (NO_DATA, or a delta that came out empty). `needs_reinit` is cleared, unless the
        definition was changed since `begin`. Raises DT-2108 when the attempt was fenced or the
        sequence is not the next. Returns the record as stored.
        """
        with self._write() as connection:
            now = self.clock.now()
            row = self._held(connection, attempt, sequence)
            written = sequence != row["sequence"]
            expected = sequence == attempt.sequence if written else version == row["version"]
            if not expected:
                raise error("DT-2108", name=attempt.name, sequence=sequence)
            stored = complete_record(record, row, now, attempt.started)
            changed = row["generation"] != attempt.generation
            after = standing_after(stored, row, frontier, sequence, version)
            if stored.action is not RefreshAction.NO_DATA:
                waiting = row["needs_reinit"] or from_reason(_CHANGED)
                after["needs_reinit"] = waiting if changed else None
            advance_standing(connection, attempt.dt_id, after)
            replace_stages(connection, attempt.dt_id, stages)
            if definition is not None and not changed:
                tables.apply(connection, attempt.dt_id, {"definition": definition}, "EVOLVE", now)
            rewrite_record(connection, attempt.dt_id, stored)
            leases.free_lease(connection, attempt.dt_id, attempt.id)
        return stored

    def no_data(
        self,
        dt_id: str,
        trigger: RefreshTrigger,
        data_timestamp: Timestamp,
        record: RefreshRecord,
        after: int | None = None,
        resolved: Mapping[str, int] | None = None,
    ) -> RefreshRecord:
        """A whole NO_DATA refresh in one transaction: the data timestamp moves, and maps to the
        present version. The frontier is `record.frontier`, else the present versions at the new
        time. Raises as `begin` does, and DT-2101 before the first data."""
        with self._write() as connection:
            row = read_standing(connection, dt_id)
            if after is not None and not _stands(row, after):
                raise Overtaken
            self._record_resolved(connection, data_timestamp, resolved)
            held = leases.read_lease(connection, dt_id)
            aimed = replace(record, data_timestamp=data_timestamp)
            moved, stored = self._unchanged(connection, trigger, aimed, row, held)
            advance_standing(connection, dt_id, moved)
            insert_record(connection, dt_id, stored)
        return stored

    def no_data_of_many(
        self, unchanged: Iterable[UnchangedTable], trigger: RefreshTrigger
    ) -> frozenset[str]:
        """As `no_data`, each to the data timestamp of its record, in one transaction; upstream
        comes first. The ids of those that were recorded: one that may not begin, or was refreshed
        since, is as it was, and so is what reads it."""
        with self._write() as connection:
            found = list(unchanged)
            ids = [each.dt_id for each in found]
            standings = read_standings(connection, ids)
            held = leases.read_leases(connection, ids)
            left, after, records = set[str](), dict[str, Any](), dict[str, RefreshRecord]()
            for each in found:
                dt_id, row = each.dt_id, standings.get(each.dt_id)
                left.add(dt_id)
                if (
                    row is None
                    or not _stands(row, each.sequence)
                    or not left.isdisjoint(each.upstream)
                ):
                    continue
                try:
                    after[dt_id], records[dt_id] = self._unchanged(
                        connection, trigger, each.record, row, held.get(dt_id)
                    )
                except DTError as e:
                    if e.code not in _NOT_NOW:
                        raise
                else:
                    left.remove(dt_id)
            if records:
                advance_standings(connection, after)
                insert_records(connection, records)
        return frozenset(records)

    def _unchanged(
        self,
        connection: Connection,
        trigger: RefreshTrigger,
        record: RefreshRecord,
        row: RowMapping,
        held: RowMapping | None,
    ) -> tuple[dict[str, Any], RefreshRecord]:
        """What a refresh that found nothing new sets of the row, and its record; an attempt that is
        dead gets an error. Raises before that."""
        now, t = self.clock.now(), record.data_timestamp
        self._require_turn(row, held, trigger, t, now)
        before = to_frontier(row["frontier"])
        if before is None:
            raise error("DT-2101", name=name_in(row))
        if held is not None and held["attempt"] is not None:
            leases.abandon(connection, held, leases.GONE, now)
        frontier = record.frontier or replace(before, data_timestamp=t)
        known = replace(record, frontier=frontier, version=row["version"])
        stored = complete_record(known, row, now)
        return standing_after(stored, row, frontier, row["sequence"], row["version"]), stored

    def fail(
        self, attempt: Attempt, record: RefreshRecord, counts: bool | None = None
    ) -> DynamicTable | None:
        """Record a FAILED or CANCELLED attempt, whose dynamic table stays as it was.

        It counts (by default: a scheduled one that FAILED) towards the limit of failures in a
        row, at which the dynamic table is suspended. Returns the dynamic table as it is then; None,
        with nothing changed, if the attempt was fenced.
        """
        if counts is None:
            scheduled = attempt.trigger is RefreshTrigger.SCHEDULED
            counts = scheduled and record.state is RefreshState.FAILED
        with self._write() as connection:
            if not leases.holds(leases.read_lease(connection, attempt.dt_id), attempt):
                return None
            now = self.clock.now()
            row = read_standing(connection, attempt.dt_id)
            stored = complete_record(record, row, now, attempt.started)
            done = {} if record.state is RefreshState.CANCELLED else newest_tick(stored, row)
            set_standing(connection, attempt.dt_id, last_query_id=stored.query_id, **done)
            rewrite_record(connection, attempt.dt_id, stored)
            leases.free_lease(connection, attempt.dt_id, attempt.id)
            changes: dict[str, Any] = {}
            if counts:
                count = row["error_count"] + 1
                changes["error_count"] = count
                if count >= FAILURES_ALLOWED:
                    changes["scheduling"] = SchedulingState.SUSPENDED
                    changes["scheduling_reason"] = suspended_by_failures(count, record.error)
            return tables.apply(connection, attempt.dt_id, changes, "SUSPEND", now)

    def record_skip(
        self,
        dt_id: str,
        data_timestamp: Timestamp,
        state: RefreshState,
        reason: Reason,
        trigger: RefreshTrigger = RefreshTrigger.SCHEDULED,
        over: bool = True,
    ) -> bool:
        """A tick without a refresh: SKIPPED or UPSTREAM_FAILED; neither counts as a failure.
        False, with nothing written, if the tick has a row already (another kernel was first).
        One that is not `over` may still have its refresh."""
        if state not in (RefreshState.SKIPPED, RefreshState.UPSTREAM_FAILED):
            raise ValueError(f"{state} is not a skip")
        known = select(_history.c.query_id).where(
            _history.c.dt_id == dt_id, _history.c.data_timestamp == data_timestamp
        )
        with self._write() as connection:
            if connection.execute(known.limit(1)).first() is not None:
                return False
            now = self.clock.now()
            row = read_standing(connection, dt_id)
            record = RefreshRecord(
                name_in(row),
                self._new_id(),
                state,
                trigger,
                data_timestamp,
                reason=reason,
                start=now,
                end=now,
            )
            stored = complete_record(record, row, now)
            insert_record(connection, dt_id, stored)
            last = {} if state is RefreshState.SKIPPED else {"last_query_id": stored.query_id}
            done = newest_tick(stored, row) if over else {}
            if done or last:
                set_standing(connection, dt_id, **done, **last)
        return True

    def roll_forward(
        self,
        dt_id: str,
        record: RefreshRecord,
        *,
        frontier: Frontier,
        sequence: int,
        version: int,
        definition: Definition | None = None,
    ) -> bool:
        """Recovery: record a commit that the lake has and the catalog has not.

        `definition` is the one that the commit's rows are of, where that is known: it is the
        table's, as the lost record would have made it; unless the table's was changed since, for
        which the reinitialisation still waits.

        False, with nothing changed, if the catalog has that sequence already, or if the attempt
        that made the commit still lives and will finish it.
        """
        with self._write() as connection:
            row = read_standing(connection, dt_id)
            held = leases.read_lease(connection, dt_id)
            mine = held is not None and held["attempt"] == record.query_id
            now = self.clock.now()
            alive = held is not None and self._is_leased(held)
            if row["sequence"] >= sequence or (mine and alive):
                return False
            stored = complete_record(record, row, now)
            after = standing_after(stored, row, frontier, sequence, version)
            own = to_definition(row["definition"], self.root)
            same = definition is None or self._same(definition, own)
            waiting = None if same else row["needs_reinit"]
            advance_standing(connection, dt_id, after | {"needs_reinit": waiting})
            if not same and waiting is None:
                tables.apply(connection, dt_id, {"definition": definition}, "EVOLVE", now)
            if not rewrite_record(connection, dt_id, stored):
                insert_record(connection, dt_id, stored)
            if mine:
                leases.free_lease(connection, dt_id, record.query_id)
        return True

    def _same(self, one: Definition, other: Definition) -> bool:
        return from_definition(one, self.root) == from_definition(other, self.root)

    def running(self) -> tuple[Lease, ...]:
        """The attempts whose leases are in force."""
        with self._read() as connection:

            def lease(row: RowMapping) -> Lease | None:
                return leases.value_of(row) if self._is_leased(row) else None

            found = read_each(connection, _lease, _RUNNING, lease)[0]
        return tuple(held for held in found if held is not None)

    def reap(self) -> tuple[str, ...]:
        """The watchdog: attempts without a heartbeat, or whose process is gone, are CANCELLED.
        Returns their ids."""
        return self._abandon_where(lambda row: not self._is_leased(row), leases.GONE)

    def close(self) -> None:
        """Cancel this engine's own attempts, free their leases and pins, and let the file go;
        nothing where it is gone already."""
        try:
            self._abandon_where(lambda row: row["uid"] == self.owner.uid, leases.CLOSED)
        except DTError as problem:
            if problem.code != "DT-5113":
                raise
        finally:
            self._dispose()

    def _abandon_where(self, test: leases.LeaseTest, why: Reason) -> tuple[str, ...]:
        with self._write() as connection:
            now = self.clock.now()

            def chosen_row(row: RowMapping) -> RowMapping | None:
                return row if test(row) else None

            query = select(_lease).where(_lease.c.attempt.is_not(None))
            rows, broken = read_each(connection, _lease, query, chosen_row)
            for lost in broken:
                leases.free_broken(connection, lost)
            chosen = [row for row in rows if row is not None]
            return tuple(leases.abandon(connection, row, why, now) for row in chosen)

    def _open(
        self,
        connection: Connection,
        dt_id: str,
        row: RowMapping,
        trigger: RefreshTrigger,
        t: Timestamp,
        attempt_id: str,
        ttl: float,
    ) -> Attempt:
        now = self.clock.now()
        held = self._free(connection, dt_id, row, trigger, t, now)
        dead = held is not None and held["attempt"] is not None
        attempt = Attempt(
            id=attempt_id,
            dt_id=dt_id,
            name=name_in(row),
            trigger=trigger,
            data_timestamp=t,
            epoch=held["epoch"] + 1 if held is not None else 1,
            sequence=row["sequence"] + 1,
            started=now,
            ttl=ttl,
            generation=row["generation"],
            abandoned=leases.abandon(connection, held, leases.GONE, now) if held and dead else None,
        )
        until = self._lease_time().plus(ttl)
        leases.take(connection, attempt, self.owner, until, new=held is None)
        return attempt

    def _free(
        self,
        connection: Connection,
        dt_id: str,
        row: RowMapping,
        trigger: RefreshTrigger,
        t: Timestamp,
        now: Timestamp,
    ) -> RowMapping | None:
        """The lease row if there is one, after checking that `t` may begin on the standing."""
        held = leases.read_lease(connection, dt_id)
        self._require_turn(row, held, trigger, t, now)
        return held

    def _require_turn(
        self,
        row: RowMapping,
        held: RowMapping | None,
        trigger: RefreshTrigger,
        t: Timestamp,
        now: Timestamp,
    ) -> None:
        """DT-2104 while another attempt lives, DT-2109 where `t` is not after the standing."""
        if held is not None and self._is_leased(held):
            raise error("DT-2104", name=name_in(row), owner=owner_of(held))
        floors = [row["data_timestamp"]]
        if trigger is RefreshTrigger.SCHEDULED:
            floors.append(row["last_tick"])
        low = max((floor for floor in floors if floor is not None), default=None)
        if low is not None and t <= low:
            raise error("DT-2109", timestamp=t, low=low, high=now)

    def _is_leased(self, row: RowMapping) -> bool:
        if row["attempt"] in self._let_go:
            return False
        return leases.in_force(row, self.owner, self._alive, self._lease_time())

    def _held(self, connection: Connection, attempt: Attempt, sequence: int) -> RowMapping:
        if not leases.holds(leases.read_lease(connection, attempt.dt_id), attempt):
            raise error("DT-2108", name=attempt.name, sequence=sequence)
        return read_standing(connection, attempt.dt_id)
