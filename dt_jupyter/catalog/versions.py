"""Which version belongs to which data timestamp: of base tables as resolved, of dynamic tables
as committed (DT paper, 5.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Connection, bindparam, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.store import Store
from dt_jupyter.model import RefreshState, Timestamp

RESOLUTIONS_KEPT = 7 * 86400.0
"""Seconds after which no table is refreshed any more to a data timestamp that others have used."""

_resolved, _version, _history = schema.resolved, schema.dt_version, schema.history

_HAS_VERSION = select(_version.c.version).where(
    _version.c.dt_id == bindparam("of_dt"), _version.c.data_timestamp == bindparam("of_time")
)
_NEWEST_STATE = (
    select(_history.c.state)
    .where(_history.c.dt_id == bindparam("of_dt"))
    .where(_history.c.data_timestamp == bindparam("of_time"))
    .order_by(_history.c.ordinal.desc())
    .limit(1)
)
_NEWEST_ERROR = (
    select(_history.c.error)
    .where(_history.c.dt_id == bindparam("of_dt"))
    .where(_history.c.data_timestamp == bindparam("of_time"))
    .order_by(_history.c.ordinal.desc())
    .limit(1)
)


_AT = select(_resolved.c.table_id, _resolved.c.version).where(
    _resolved.c.data_timestamp == bindparam("of_time")
)
_OF_TABLES = _AT.where(_resolved.c.table_id.in_(bindparam("of_tables", expanding=True)))
_FORGET = _resolved.delete().where(_resolved.c.data_timestamp < bindparam("of_time"))


def record_versions(
    connection: Connection, t: Timestamp, versions: Mapping[str, int], now: Timestamp
) -> dict[str, int]:
    """These base tables resolved at `t`, in the transaction in which they are first used: the
    versions that they are resolved to from now on, which another may have recorded before."""
    known = _read_resolved(connection, t, versions)
    new = [
        {"data_timestamp": t, "table_id": table_id, "version": version}
        for table_id, version in versions.items()
        if table_id not in known
    ]
    if new:
        connection.execute(_resolved.insert(), new)
        old = min(now.plus(-RESOLUTIONS_KEPT), t)
        connection.execute(_FORGET, {"of_time": old})
    return {table_id: known.get(table_id, version) for table_id, version in versions.items()}


def _read_resolved(connection: Connection, t: Timestamp, tables: Iterable[str]) -> dict[str, int]:
    found = connection.execute(_OF_TABLES, {"of_time": t, "of_tables": [*tables]})
    return {table_id: int(version) for table_id, version in found}


class Versions(Store):
    """Reading and resolving; `Attempts.finish` writes the versions of dynamic tables."""

    def resolve(self, data_timestamp: Timestamp, table_id: str, compute: Callable[[], int]) -> int:
        """As `resolve_all`, of one table."""
        return self.resolve_all(data_timestamp, {table_id: compute})[table_id]

    def resolve_all(
        self, data_timestamp: Timestamp, computes: Mapping[str, Callable[[], int]]
    ) -> dict[str, int]:
        """The versions of base tables, by their ids, at a data timestamp: each computed for the
        first caller, and then the same for all, in every process. What computes them runs
        outside the transaction."""
        if not computes:
            return {}
        known = self.known_versions(data_timestamp, computes)
        versions = {i: known[i] if i in known else compute() for i, compute in computes.items()}
        if versions.keys() == known.keys():
            return versions
        with self._write() as connection:
            return record_versions(connection, data_timestamp, versions, self.clock.now())

    def known_versions(self, data_timestamp: Timestamp, tables: Iterable[str]) -> dict[str, int]:
        """Of these base tables those that are resolved at a data timestamp, with the versions."""
        if not self._reads_whole:
            with self._read() as connection:
                return _read_resolved(connection, data_timestamp, tables)
        every = self._answer(("resolved", data_timestamp), lambda: self.resolved(data_timestamp))
        return {i: every[i] for i in tables if i in every}

    def resolved_around(self, table_id: str, t: Timestamp) -> tuple[int | None, int | None]:
        """The newest version that a data timestamp up to `t` was resolved to, and the oldest of
        one from `t` on; None where there is none."""
        own, time = _resolved.c.table_id == table_id, _resolved.c.data_timestamp
        low = select(func.max(_resolved.c.version)).where(own, time <= t)
        high = select(func.min(_resolved.c.version)).where(own, time >= t)
        with self._read() as connection:
            return connection.scalar(low), connection.scalar(high)

    def restore_versions(self, dt_id: str, found: Mapping[Timestamp, int]) -> None:
        """Versions by their data timestamps, in addition to those that are known."""
        with self._write() as connection:
            known = set(
                connection.execute(
                    select(_version.c.data_timestamp).where(_version.c.dt_id == dt_id)
                ).scalars()
            )
            for t, version in found.items():
                if t not in known:
                    row = {"dt_id": dt_id, "data_timestamp": t, "version": version}
                    connection.execute(_version.insert(), row)

    def version_of(self, dt_id: str, data_timestamp: Timestamp) -> int | None:
        """The version committed for exactly that data timestamp."""
        return self._answer(
            ("version", dt_id, data_timestamp), lambda: self._read_version(dt_id, data_timestamp)
        )

    def expect_version(self, dt_id: str, data_timestamp: Timestamp, version: int | None) -> None:
        """To be called in a block of `one_state`: what follows in it continues from a version that
        is on record only when all of it is."""
        self._expect(("version", dt_id, data_timestamp), version)

    def _read_version(self, dt_id: str, data_timestamp: Timestamp) -> int | None:
        with self._read() as connection:
            return connection.scalar(_HAS_VERSION, {"of_dt": dt_id, "of_time": data_timestamp})

    def newest_at(self, dt_id: str, data_timestamp: Timestamp) -> tuple[Timestamp, int] | None:
        """Its newest data timestamp that is not after the given one, with the version."""
        query = (
            select(_version.c.data_timestamp, _version.c.version)
            .where(_version.c.dt_id == dt_id, _version.c.data_timestamp <= data_timestamp)
            .order_by(_version.c.data_timestamp.desc())
            .limit(1)
        )
        with self._read() as connection:
            row = connection.execute(query).one_or_none()
        return (row[0], row[1]) if row is not None else None

    def time_of(self, dt_id: str, version: int) -> Timestamp | None:
        """The newest data timestamp that has this version."""
        query = select(func.max(_version.c.data_timestamp)).where(
            _version.c.dt_id == dt_id, _version.c.version == version
        )
        with self._read() as connection:
            found = connection.scalar(query)
        return found if found is None or isinstance(found, Timestamp) else Timestamp.parse(found)

    def oldest(self, dt_id: str) -> tuple[Timestamp, int] | None:
        """Its oldest data timestamp, with the version."""
        query = (
            select(_version.c.data_timestamp, _version.c.version)
            .where(_version.c.dt_id == dt_id)
            .order_by(_version.c.data_timestamp)
            .limit(1)
        )
        with self._read() as connection:
            row = connection.execute(query).one_or_none()
        return (row[0], row[1]) if row is not None else None

    def versions(
        self, dt_id: str, low: Timestamp | None = None, high: Timestamp | None = None
    ) -> list[tuple[Timestamp, int]]:
        """Its data timestamps from `low` to `high`, both included, oldest first, each with the
        version."""
        query = select(_version.c.data_timestamp, _version.c.version).where(
            _version.c.dt_id == dt_id
        )
        if low is not None:
            query = query.where(_version.c.data_timestamp >= low)
        if high is not None:
            query = query.where(_version.c.data_timestamp <= high)
        with self._read() as connection:
            rows = connection.execute(query.order_by(_version.c.data_timestamp)).all()
        return [(row[0], row[1]) for row in rows]

    def common(self, dt_ids: Iterable[str], limit: int = 100) -> tuple[Timestamp, ...]:
        """The data timestamps that all of these have a version for, newest first."""
        wanted = sorted(set(dt_ids))
        query = (
            select(_version.c.data_timestamp)
            .where(_version.c.dt_id.in_(wanted))
            .group_by(_version.c.data_timestamp)
            .having(func.count() == len(wanted))
            .order_by(_version.c.data_timestamp.desc())
            .limit(limit)
        )
        with self._read() as connection:
            return tuple(connection.execute(query).scalars())

    def resolved(self, data_timestamp: Timestamp) -> dict[str, int]:
        """The versions of base tables that refreshes to a data timestamp have read, by id."""
        with self._read() as connection:
            return {
                row[0]: int(row[1]) for row in connection.execute(_AT, {"of_time": data_timestamp})
            }

    def timestamps(self, dt_id: str, limit: int = 100) -> tuple[Timestamp, ...]:
        """Its data timestamps, newest first."""
        query = (
            select(_version.c.data_timestamp)
            .where(_version.c.dt_id == dt_id)
            .order_by(_version.c.data_timestamp.desc())
            .limit(limit)
        )
        with self._read() as connection:
            return tuple(connection.execute(query).scalars())

    def outcome_of(self, dt_id: str, data_timestamp: Timestamp) -> RefreshState | None:
        """SUCCEEDED if it has a version for exactly that data timestamp, else the state of its
        newest attempt at it; None if there was no attempt."""
        at = {"of_dt": dt_id, "of_time": data_timestamp}
        with self._read() as connection:
            if connection.scalar(_HAS_VERSION, at) is not None:
                return RefreshState.SUCCEEDED
            state = connection.scalar(_NEWEST_STATE, at)
        return RefreshState(state) if state is not None else None

    def error_at(self, dt_id: str, data_timestamp: Timestamp) -> str | None:
        """What its newest attempt at a data timestamp failed with; None: it did not fail."""
        at = {"of_dt": dt_id, "of_time": data_timestamp}
        with self._read() as connection:
            return connection.scalar(_NEWEST_ERROR, at)
