"""Stores for the tests: files, and servers of Debian's packages on loopback, each of its own.

A server is started in a temporary folder on a free port, as an unprivileged user where it refuses
root, and stopped by its process id. Where it cannot be had the tests are skipped, loudly.
"""

from __future__ import annotations

import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

SECONDS = 60


def free_port() -> int:
    """Not of those that the system gives to clients: one that tries again and again while a server
    is down would get the server's port some time, talk to itself, and keep it."""
    for port in random.sample(range(20_000, 32_000), 200):
        with socket.socket() as found:
            try:
                found.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no port is free")


def find_program(name: str, package: str) -> str:
    """The path of a server's program, installed if this is root on Debian; else a skip."""
    patterns = ("/usr/lib/postgresql/*/bin", "/usr/sbin", "/usr/bin")
    for _ in range(2):
        folders = [p for pattern in patterns for p in Path("/").glob(pattern[1:])]
        found = shutil.which(name, path=os.pathsep.join(map(str, folders)))
        if found is not None:
            return found
        _install(package)
    pytest.skip(f"SINK TESTS SKIPPED: no {name}; install the Debian package {package}")


def _install(package: str) -> None:
    if shutil.which("apt-get") and os.geteuid() == 0:
        quiet = ["apt-get", "-qq", "install", "-y", "--no-install-recommends", package]
        environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "-qq", "update"], capture_output=True, check=False)
        subprocess.run(quiet, env=environment, capture_output=True, check=False)


def as_user(name: str | None) -> dict[str, Any]:
    """Options of a process that is to run as another user."""
    return {} if name is None else {"user": name, "extra_groups": []}


class Server:
    """A process that listens on `port`; `stop` kills it as a power cut does."""

    def __init__(self, command: Sequence[str], port: int, log: Path, user: str | None) -> None:
        self.port, self._command, self._log, self._user = port, list(command), log, user
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, **as_user(self._user)
            )
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError(self._log.read_text("utf-8", "replace")[-2000:])

    def end(self) -> None:
        """Stopped for good."""
        self.stop()

    def stop(self, number: int = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(SECONDS)
            self._process = None


def unprivileged() -> str | None:
    """A user for servers that refuse root; None where this is none."""
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


_INITDB = ("-A", "trust", "-U", "postgres", "-E", "UTF8", "--no-sync", "--locale=C")


class PostgresServer(Server):
    """In a folder of its own: pytest's are for their owner alone."""

    def __init__(self) -> None:
        initdb = find_program("initdb", "postgresql")
        self.folder = folder = Path(tempfile.mkdtemp(prefix="dt-postgres-"))
        user, port = unprivileged(), free_port()
        data = folder / "data"
        folder.chmod(0o755)
        if not folder.parent.stat().st_mode & 0o001:
            folder.parent.chmod(folder.parent.stat().st_mode | 0o011)
        data.mkdir()
        if user is not None:
            shutil.chown(data, user)
        subprocess.run(
            [initdb, "-D", data, *_INITDB],
            capture_output=True,
            check=True,
            cwd="/",
            **as_user(user),
        )
        (data / "pg_hba.conf").write_text(
            "host all locked,locked2 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
        )
        settings = {
            "port": port, "listen_addresses": "127.0.0.1", "unix_socket_directories": "",
            "shared_buffers": "64MB", "max_connections": 40, "fsync": "off",
        }  # fmt: skip
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        command = [str(Path(initdb).with_name("postgres")), "-D", str(data), *options]
        super().__init__(command, port, folder / "log", user)
        self.start()

    def start(self) -> None:
        """It listens before it takes logins: after a kill it recovers first."""
        import psycopg

        super().start()
        end = time.monotonic() + SECONDS
        while True:
            try:
                self.run("SELECT 1")
                return
            except psycopg.OperationalError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    @property
    def url(self) -> str:
        """Of its first database, as a catalog is given it."""
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    def end(self) -> None:
        self.stop(signal.SIGQUIT)
        shutil.rmtree(self.folder, ignore_errors=True)

    def restart(self) -> None:
        """Killed, every process of it, and started again: recovery from its log."""
        self.stop(signal.SIGQUIT)
        self.start()

    def run(self, sql: str) -> list[tuple[Any, ...]]:
        import psycopg

        where = f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres"
        with psycopg.connect(where, autocommit=True) as connection:
            cursor = connection.execute(sql.encode())
            while cursor.nextset():
                pass
            return cursor.fetchall() if cursor.description else []


class RedisServer(Server):
    def __init__(self, folder: Path) -> None:
        program = find_program("redis-server", "redis-server")
        port = free_port()
        words = {
            "--port": port, "--bind": "127.0.0.1", "--dir": folder, "--appendonly": "yes",
            "--appendfsync": "always", "--save": "", "--daemonize": "no",
        }  # fmt: skip
        command = [program, *(str(word) for pair in words.items() for word in pair)]
        super().__init__(command, port, folder / "log", None)
        self.start()


@contextmanager
def silent_server() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        yield int(listening.getsockname()[1])
