"""What every part of the catalog stands on: its file, its clock, and its transactions."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import Connection, Engine, func, select
from sqlalchemy.exc import DBAPIError

from dt_jupyter.catalog import schema, sqlite
from dt_jupyter.catalog.migrations import MIGRATIONS, Migration
from dt_jupyter.catalog.owner import Owner, running
from dt_jupyter.model import Clock, error

VERSION_KEY = "schema_version"


def _random_id() -> str:
    return uuid.uuid4().hex


class Store:
    """An open catalog file. Threads share it; every process opens its own.

    `alive` tells whether the process of an owner on this host runs, `new_id` gives ids to
    history rows without an attempt, `migrations` is what brings a file to this release.
    `written`, where it is set, is called after each transaction of this object that wrote.
    """

    def __init__(
        self,
        path: Path,
        clock: Clock,
        owner: Owner,
        *,
        alive: Callable[[Owner], bool] = running,
        new_id: Callable[[], str] = _random_id,
        migrations: tuple[Migration, ...] = MIGRATIONS,
    ) -> None:
        self.path, self.clock, self.owner = path, clock, owner
        self._alive, self._new_id, self._migrations = alive, new_id, migrations
        self.written: Callable[[], None] | None = None
        self._writing = threading.Lock()  # threads queue here; only processes poll the file's lock
        self._engine = sqlite.open_file(path, self._migrate)
        self._readers = self._engine.execution_options(**{sqlite.READ: True})
        self._observe()

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        """A transaction that may write: all of it is on the disk after, or nothing."""
        try:
            with self._writing, self._engine.begin() as connection:
                yield connection
        except DBAPIError as problem:
            raise sqlite.unusable(self.path, problem) from problem
        if self.written is not None:
            self.written()

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        """A transaction that reads one snapshot of the catalog."""
        try:
            with self._readers.begin() as connection:
                yield connection
        except DBAPIError as problem:
            raise sqlite.unusable(self.path, problem) from problem

    def _migrate(self, engine: Engine) -> None:
        with engine.begin() as connection:
            schema.meta.create(connection, checkfirst=True)
            key = schema.meta.c.key == VERSION_KEY
            found = int(connection.scalar(select(schema.meta.c.value).where(key)) or 0)
            known = len(self._migrations)
            if found > known:
                raise error("DT-5101", path=self.path, found=found, known=known)
            for migration in self._migrations[found:]:
                for statement in migration:
                    connection.exec_driver_sql(statement)
            if not found:
                connection.execute(schema.meta.insert().values(key=VERSION_KEY, value=str(known)))
            elif found < known:
                connection.execute(schema.meta.update().where(key).values(value=str(known)))

    def _observe(self) -> None:
        """The clock takes note of the newest timestamps here: what comes now comes after them."""
        table = schema.dynamic_table.c
        columns = (table.data_timestamp, table.created, table.dropped, table.last_tick)
        with self._read() as connection:
            seen = connection.execute(select(*(func.max(column) for column in columns))).one()
        for timestamp in seen:
            if timestamp is not None:
                self.clock.observe(timestamp)

    def _dispose(self) -> None:
        self._engine.dispose()
