"""The one module that knows that the catalog is a SQLite file: opening it, and its errors."""

from __future__ import annotations

import ctypes
import hashlib
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, QueuePool

from dt_jupyter.catalog import file_identity
from dt_jupyter.catalog.catalog_place import read_place
from dt_jupyter.catalog.database import OF_PROCESS, READ, Prepare
from dt_jupyter.lake import REMOTE_KINDS, file_lock, file_system_of
from dt_jupyter.model import Clock, DTError, Timestamp, error, system_error

BUSY_SECONDS = 30
_FILES = "dt_files"
_SYNCHRONOUS = "dt_synchronous"
_REFUSED = {"SQLITE_FULL": "DT-5121", "SQLITE_READONLY": "DT-5122", "SQLITE_PERM": "DT-5122"}


@dataclass(frozen=True)
class SqliteFile:
    """The file in a lake: see `CatalogDatabase`."""

    path: Path

    @property
    def place(self) -> str:
        return str(self.path)

    def open(self, prepare: Prepare, before: Engine | None = None) -> Engine:
        return open_file(self.path, lambda engine: prepare(engine, self), before=before)

    def dialect_text(self, step: str) -> str:
        return step

    def take_over(self, connection: Connection) -> bool:
        return False

    def disown_copy(self, connection: Connection) -> None:
        file_identity.disown_copy(connection, self.path)

    def is_current(self, connection: Connection) -> bool:
        return same_file(connection, self.path) and _place_after(self.path) is None

    def is_gone(self, problem: DBAPIError) -> bool:
        return getattr(problem.orig, "sqlite_errorname", "") == "SQLITE_CANTOPEN"

    def explain(self, problem: Exception) -> DTError:
        return unusable(self.path, problem)

    def shared_time(self, clock: Clock) -> Timestamp:
        return clock.now()

    @contextmanager
    def hold_lock(self, name: str, patience: float) -> Iterator[None]:
        digest = hashlib.sha256(name.encode()).hexdigest()[:20]
        with file_lock(self.path.with_name(f"writers.{digest}.lock"), name, patience):
            yield

    def pulse(self, engine: Callable[[], Engine]) -> FilePulse:
        return FilePulse(engine, self.path)


def open_file(
    path: Path,
    prepare: Callable[[Engine], None],
    kind_of: Callable[[Path], str] = file_system_of,
    *,
    before: Engine | None = None,
) -> Engine:
    """An engine on the file, made if missing, in WAL mode, after `prepare` (migrations) ran.

    A transaction begins with BEGIN IMMEDIATE (never a plain BEGIN before a write: two readers
    that both turn writers would clash at once, whatever the timeout); one under the option
    `READ` with BEGIN. Commits are on the disk when they return (synchronous=FULL); one under
    `OF_PROCESS` is in the write-ahead log, and on the disk with the next one (NORMAL).
    `before` is an engine on a file that is there no more: what it holds is put back first.
    Raises DT-5102 for a remote file system, a file that is not a catalog, or no access; DT-5113
    where the catalog was moved to a server, and with `before` where the folder is gone.
    """
    if (moved := _place_after(path)) is not None:
        raise error("DT-5113", path=path, problem=f"it was moved to {moved}")
    if before is not None and not path.parent.is_dir():
        raise error("DT-5113", path=path, problem="its folder was moved or deleted")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise unusable(path, problem) from problem
    kind = kind_of(path.parent)
    if kind in REMOTE_KINDS:
        raise error(
            "DT-5102",
            path=path,
            problem=f"it is on a network file system ({kind})",
            hint="SQLite's locks do not hold there: connect with a catalog in PostgreSQL "
            "(catalog='postgresql+psycopg://…'), or put the lake on a local disk.",
        )
    engine = create_engine(
        "sqlite://",
        creator=lambda: _connected(path),
        poolclass=QueuePool,
        pool_size=4,
        max_overflow=64,
    )
    event.listen(engine, "connect", lambda c, record: _settings(c, record, path))
    event.listen(engine, "begin", _begin)
    try:
        with FileLock(f"{path}.lock", timeout=BUSY_SECONDS):  # one opener at a time turns WAL on
            if before is not None:
                _keep(before, path)
            logged = _bytes(Path(f"{path}-wal"))
            _write_ahead(path)
            if logged:
                _require_whole(engine, path)
            prepare(engine)
    except Timeout as problem:
        engine.dispose()
        raise error("DT-5107", name=path, owner="another process that opens it") from problem
    except (DBAPIError, sqlite3.Error, OSError) as problem:
        engine.dispose()
        raise unusable(path, problem) from problem
    except DTError:
        engine.dispose()
        raise
    return engine


def _connected(path: Path) -> sqlite3.Connection:
    """A connection to the file that is there: none is made."""
    return sqlite3.connect(
        f"file:{quote(str(path))}?mode=rw",
        uri=True,
        isolation_level=None,
        timeout=BUSY_SECONDS,
        check_same_thread=False,
    )


def _write_ahead(path: Path) -> None:
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        if names and "dt_meta" not in names:
            raise error(
                "DT-5102",
                path=path,
                problem="it is another program's database",
                hint="Move that file away, or connect to another lake.",
            )
        connection.execute("PRAGMA journal_mode = WAL")
    finally:
        connection.close()


def _settings(connection: sqlite3.Connection, record: ConnectionPoolEntry, path: Path) -> None:
    for setting in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # opens the log
    record.info[_FILES] = _files(path)
    record.info[_SYNCHRONOUS] = "FULL"


def same_file(connection: Connection, path: Path) -> bool:
    """Whether the transaction is on the file that is at `path`, its write-ahead log and the index
    of that: a connection continues in files that were deleted or replaced."""
    now = _files(path)
    return None not in now and bool(connection.info[_FILES] == now)


def _files(path: Path) -> tuple[int | None, ...]:
    return tuple(_number(Path(f"{path}{rest}")) for rest in ("", "-wal", "-shm"))


def _keep(engine: Engine, path: Path) -> None:
    """What an open catalog holds is in the file at `path`, if that was deleted, or lost its
    write-ahead log; a file that was put there instead stays. The caller holds the file's lock."""
    connection = engine.connect()
    with connection.begin():
        own, now = connection.info[_FILES], _files(path)
        if own == now:
            connection.close()
            return
        if now[0] in (None, own[0]):
            _put_back(connection, path)
        elif now[1] == own[1]:
            _forget_log(path)  # it is of the file that was replaced
    _leave_open(connection)


_LEFT_OPEN: list[Connection] = []


def _leave_open(connection: Connection) -> None:
    """The connection to a file that is gone stays open as long as the process: the last one that
    closes would delete the write-ahead log by its name, which is that of another file by now."""
    driver = connection.connection.driver_connection
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(driver))
    _LEFT_OPEN.append(connection)


def _put_back(connection: Connection, path: Path) -> None:
    """No other process writes until the file is there."""
    driver: Any = connection.connection.driver_connection
    draft = path.with_name(f".{path.name}.tmp")
    draft.write_bytes(driver.serialize())
    with draft.open("rb") as file:
        os.fsync(file.fileno())
    _forget_log(path)
    os.replace(draft, path)


def _forget_log(path: Path) -> None:
    for rest in ("-wal", "-shm"):
        Path(f"{path}{rest}").unlink(missing_ok=True)


def _number(path: Path) -> int | None:
    try:
        return os.stat(path).st_ino
    except FileNotFoundError:
        return None


def _begin(connection: Connection) -> None:
    options, known = connection.get_execution_options(), connection.info
    if options.get(READ):
        connection.exec_driver_sql("BEGIN")
        return
    synchronous = "NORMAL" if options.get(OF_PROCESS) else "FULL"
    if known[_SYNCHRONOUS] != synchronous:  # outside of a transaction, else it is not heard
        connection.exec_driver_sql(f"PRAGMA synchronous = {synchronous}")
        known[_SYNCHRONOUS] = synchronous
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _place_after(path: Path) -> str | None:
    """Where the catalog is, if it was taken out of the file."""
    place = read_place(path.parent)
    return place.url if place is not None and place.url else None


@contextmanager
def leaving_file(engine: Engine, path: Path) -> Iterator[Connection]:
    """A transaction on a catalog that is about to be elsewhere: no other process writes in it until
    the block has said where (`write_place`), after which the file has another name."""
    try:
        with engine.connect() as connection, connection.begin():
            yield connection
            set_aside(path)
    finally:
        engine.dispose()


def set_aside(path: Path) -> None:
    """The name of a file whose catalog is elsewhere ends with `.moved`."""
    for rest in ("", "-wal", "-shm"):
        if (file := Path(f"{path}{rest}")).exists():
            os.replace(file, f"{path}.moved{rest}")


class FilePulse:
    """Shows whether the file was written to, by any process: some microseconds a question, on a
    separate connection. One thread asks."""

    def __init__(self, engine: Callable[[], Engine], path: Path) -> None:
        self._engine, self._path = engine, path
        self._open()

    def _open(self) -> None:
        self._connection = self._engine().raw_connection()
        self._seen = self._version()

    def beats(self) -> bool:
        """Whether there was a commit since the last question, or the file was replaced."""
        now = _files(self._path)
        if now[0] is not None and now != self._connection.info[_FILES]:
            self._connection.invalidate()
            self._open()
            return True
        before, self._seen = self._seen, self._version()
        return self._seen != before

    def close(self) -> None:
        self._connection.close()

    def _version(self) -> int:
        cursor = self._connection.cursor()
        try:
            cursor.execute("PRAGMA data_version")
            row: Any = cursor.fetchone()
            return int(row[0])
        finally:
            cursor.close()


def _bytes(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _require_whole(engine: Engine, path: Path) -> None:
    """DT-5102 for a file that was put next to the write-ahead log of another file."""
    with engine.connect() as connection:
        found = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar()
    if found != "ok":
        hint = "Move it away, with its -wal and -shm, and connect again: it is rebuilt."
        raise error("DT-5102", path=path, problem=found, hint=hint)


def unusable(path: Path, problem: Exception) -> DTError:
    """What an error of the database or the file system means: DT-5102, DT-5107 if locked, DT-5121
    to DT-5123 where the system refuses."""
    origin = problem.orig if isinstance(problem, DBAPIError) else problem
    code = getattr(origin, "sqlite_errorname", "")
    if (refused := system_error(problem)) is not None:
        return refused
    for name, known in _REFUSED.items():
        if code.startswith(name):
            return error(known, problem=f"{origin} ({path})")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return error("DT-5107", name=path, owner=f"another process, for {BUSY_SECONDS} s")
    hint = "Check the file's permissions and the space on its disk."
    if code in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
        hint = "Move it away, with its -wal and -shm, and connect again: it is rebuilt."
    return error("DT-5102", path=path, problem=origin, hint=hint)
