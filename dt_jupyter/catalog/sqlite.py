"""The one module that knows that the catalog is a SQLite file: opening it, and its errors."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError

from dt_jupyter.model import DTError, error

BUSY_SECONDS = 30
READ = "dt_read"  # execution option of transactions that only read
_REMOTE = frozenset(
    (
        "nfs",
        "nfs4",
        "cifs",
        "smb",
        "smb2",
        "smb3",
        "smbfs",
        "9p",
        "afs",
        "ceph",
        "lustre",
        "fuse.sshfs",
        "fuse.s3fs",
        "fuse.gcsfuse",
        "glusterfs",
        "fuse.glusterfs",
    )
)


def filesystem(path: Path, mounts: Path = Path("/proc/self/mounts")) -> str:
    """The type of the file system that holds `path`; "" where the system does not tell."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return ""
    where = os.path.realpath(path)
    found = ("", "")
    for line in lines:
        _, mount, kind, *_ = line.split(" ")
        mount = mount.encode().decode("unicode_escape")  # a space is written \040
        inside = where == mount or where.startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(found[0]):
            found = (mount, kind)
    return found[1]


def open_file(
    path: Path, prepare: Callable[[Engine], None], kind_of: Callable[[Path], str] = filesystem
) -> Engine:
    """An engine on the file, made if missing, in WAL mode, after `prepare` (migrations) ran.

    A transaction begins with BEGIN IMMEDIATE (never a plain BEGIN before a write: two readers
    that both turn writers would clash at once, whatever the timeout); one under the option
    `READ` with BEGIN. Commits are on the disk when they return (synchronous=FULL).
    Raises DT-5102 for a remote file system, a file that is no catalog, or no access.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise unusable(path, problem) from problem
    kind = kind_of(path.parent)
    if kind in _REMOTE:
        raise error(
            "DT-5102",
            path=path,
            problem=f"it is on a network file system ({kind})",
            hint="Put the lake on a local disk: SQLite's locks do not hold over a network.",
        )
    engine = create_engine(
        f"sqlite:///{path}",
        connect_args={"isolation_level": None, "timeout": BUSY_SECONDS, "check_same_thread": False},
        pool_size=4,
        max_overflow=64,
    )
    event.listen(engine, "connect", _settings)
    event.listen(engine, "begin", _begin)
    try:
        with FileLock(f"{path}.lock", timeout=BUSY_SECONDS):  # one opener at a time turns WAL on
            _write_ahead(path)
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


def _settings(connection: Any, _record: Any) -> None:
    for setting in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {setting}")


def _begin(connection: Connection) -> None:
    reading = connection.get_execution_options().get(READ)
    connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


class Pulse:
    """Tells whether the file was written to, by any process: some microseconds a question, on a
    connection of its own. One thread asks."""

    def __init__(self, engine: Engine) -> None:
        self._connection = engine.raw_connection()
        self._seen = self._version()

    def beats(self) -> bool:
        """Whether there was a commit since the last question."""
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


def unusable(path: Path, problem: Exception) -> DTError:
    """What an error of the database or the file system means: DT-5102, or DT-5107 if locked."""
    origin = problem.orig if isinstance(problem, DBAPIError) else problem
    code = getattr(origin, "sqlite_errorname", "")
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return error("DT-5107", name=path, owner=f"another process, for {BUSY_SECONDS} s")
    hint = "Look at the file's permissions and the space on its disk."
    if code in ("SQLITE_NOTADB", "SQLITE_CORRUPT"):
        hint = "Restore the file from a copy, or move it away and connect again."
    return error("DT-5102", path=path, problem=origin, hint=hint)
