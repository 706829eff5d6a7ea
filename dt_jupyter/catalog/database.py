"""Where a catalog is kept, as the catalog sees it: a file in its lake, or a schema on a server."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from dt_jupyter.model import Clock, DTError, Timestamp

READ = "dt_read"  # execution option of transactions that only read
OF_PROCESS = "dt_of_process"
"""Execution option of transactions which say nothing that outlives the processes of this machine:
a file need not be on the disk when they end."""


class Pulse(Protocol):
    """Shows whether a catalog was written to, by any process. One thread asks."""

    def beats(self) -> bool:
        """Whether there was a commit since the last question, or the catalog was replaced."""

    def close(self) -> None: ...


class CatalogDatabase(Protocol):
    """A database that holds the catalog of one lake.

    Of the transactions on the engine that `open` gives one at a time may write; one under the
    option `READ` sees one snapshot. A commit is on the disk when it returns; one `OF_PROCESS` in a
    file when the next one is.
    """

    @property
    def place(self) -> str:
        """How people name it; no secret is in it."""

    def open(self, prepare: Prepare, before: Engine | None = None) -> Engine:
        """The database made if missing, after `prepare` (migrations) ran, by one opener at a time.
        `before` is an engine on one that is there no more: what it holds is put back first."""

    def dialect_text(self, step: str) -> str:
        """A step of a migration in the database's words."""

    def take_over(self, connection: Connection) -> bool:
        """Rows of the catalog that the lake had elsewhere, put into new tables; False: none was."""

    def disown_copy(self, connection: Connection) -> None:
        """In a copy, nothing is held by a process: they hold it in the original."""

    def is_current(self, connection: Connection) -> bool:
        """Whether a transaction that has begun is on the database that is there now."""

    def is_gone(self, problem: DBAPIError) -> bool:
        """Whether a transaction could not begin because what was opened is gone; it may be there
        again."""

    def explain(self, problem: Exception) -> DTError:
        """What an error of the database means, as one of the catalogue."""

    def shared_time(self, clock: Clock) -> Timestamp:
        """Now, by the one clock that all who may open the catalog agree on."""

    def pulse(self, engine: Callable[[], Engine]) -> Pulse: ...

    def hold_lock(self, name: str, patience: float) -> AbstractContextManager[None]:
        """A lock of that name, held by one connection to the catalog at a time and released when
        its process ends. TableLocked after `patience` seconds."""


Prepare: TypeAlias = Callable[[Engine, CatalogDatabase], None]
"""What brings an opened database to this release."""
