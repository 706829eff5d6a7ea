"""A spare Spark: started in advance for the next process of this user on this machine that asks for
the same, and handed over once.

The write end of a JVM's standard input decides who owns it: the JVM ends when no process holds that
end. The keeper passes it through a Unix socket, which is in a folder that only this user can
open. So a JVM belongs to one process at a time, and ends with it, even if that is killed.
"""

from __future__ import annotations

import atexit
import hashlib
import importlib.metadata
import json
import os
import select
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from io import FileIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.spark.launch import JavaStart, Launch, end_java, environment
from dt_jupyter.spark.pools import Pool

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

SWITCH = "DT_JUPYTER_STANDBY"
"""The environment variable: `0` starts no Spark in advance; `spare` keeps one for the next process,
`spare:900` for 900 seconds."""
_WORD = "spare"
_IDLE_SECONDS = 1800.0
"""After which a spare that no process has taken ends."""
_WAIT_SECONDS = 20.0
"""The cores are the user's for the first statements of the process that orders a spare."""
_ANSWER_SECONDS = 5.0
_KEEPER = "dt_jupyter.engine.keep_spare"
_PACKAGES = ("dt_jupyter", "pyspark", "delta-spark")
_OF_A_PROCESS = ("JPY_", "KERNEL_", "PYSPARK_GATEWAY_")
_OF_A_TERMINAL = frozenset(
    ("_", "SHLVL", "PWD", "OLDPWD", "LINES", "COLUMNS", "GIT_PYTHON_REFRESH")
)
_OF_PYSPARK = frozenset(("SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"))
"""Variables that PySpark sets for itself when it makes a context."""


@dataclass(frozen=True)
class SpareOrder:
    """Everything that a JVM takes over from the process that starts it, and for how many seconds
    it is kept."""

    launch: Launch
    variables: Mapping[str, str]
    folder: str
    """The working folder, which relative paths refer to."""
    seconds: float

    @property
    def key(self) -> str:
        """The same for two processes whose JVMs would be equal."""
        releases = [importlib.metadata.version(name) for name in _PACKAGES]
        program = [sys.executable, releases, _configuration(self.variables)]
        whole = [program, asdict(self.launch), self.variables, self.folder]
        return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()

    def as_text(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def of_text(cls, text: str) -> SpareOrder:
        values = json.loads(text)
        launch = values.pop("launch")
        pools = tuple(Pool(**pool) for pool in launch["pools"])
        return cls(Launch(launch["settings"], pools), **values)


class HandedProcess:
    """The JVM that another process has started: as much of `subprocess.Popen` as is used of one."""

    def __init__(self, pid: int, stdin: int) -> None:
        self.pid = pid
        self.stdin = FileIO(stdin, "wb")
        self.returncode: int | None = None
        """-1 once it has ended: only its parent learns the exit code."""
        self._watched = _open_process(pid)

    def poll(self) -> int | None:
        if self.returncode is None and not self._is_running():
            self.returncode = -1
        return self.returncode

    def wait(self, timeout: float) -> int:
        """The exit code. subprocess.TimeoutExpired after `timeout` seconds."""
        ends = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > ends:
                raise subprocess.TimeoutExpired("java", timeout)
            time.sleep(0.05)
        return code

    def _is_running(self) -> bool:
        if self._watched is not None:
            return not select.select([self._watched], [], [], 0)[0]
        with suppress(ProcessLookupError):
            os.kill(self.pid, 0)
            return True
        return False


def _open_process(pid: int) -> int | None:
    """A descriptor that is readable once the process has ended; None where there are none."""
    opener = getattr(os, "pidfd_open", None)
    try:
        return None if opener is None else int(opener(pid))
    except OSError:
        return None


def order_spare(launch: Launch) -> SpareOrder | None:
    """What this process would start now, if a spare is requested by the environment and possible
    here: not without Unix sockets, nor in a JVM that has started this process."""
    seconds = spare_seconds(os.environ)
    if seconds is None or not hasattr(socket, "send_fds") or "PYSPARK_GATEWAY_PORT" in os.environ:
        return None
    variables = {k: v for k, v in sorted(os.environ.items()) if _is_common(k)}
    with suppress(OSError):  # the working folder may be gone
        return SpareOrder(launch, variables, os.getcwd(), seconds)
    return None


def _configuration(variables: Mapping[str, str]) -> list[tuple[str, int, int]]:
    """The files of the folders that Spark is configured by: name, size in bytes, time of change."""
    spark = find_spec("pyspark")
    homes = [variables.get("SPARK_HOME"), os.path.dirname((spark and spark.origin) or "")]
    folders = [variables.get("SPARK_CONF_DIR"), variables.get("HADOOP_CONF_DIR")]
    folders += [f"{home}/conf" for home in homes if home]
    files = (p for f in folders if f and Path(f).is_dir() for p in sorted(Path(f).iterdir()))
    return [(str(p), p.stat().st_size, p.stat().st_mtime_ns) for p in files if p.exists()]


def spare_seconds(environ: Mapping[str, str]) -> float | None:
    """For how long a spare is to wait; None where none is requested."""
    word, _, seconds = environ.get(SWITCH, "").partition(":")
    if word != _WORD:
        return None
    return float(seconds) if seconds.isdigit() else _IDLE_SECONDS


def _is_common(name: str) -> bool:
    """Whether a variable is shared, rather than one process's or one terminal's own."""
    return not name.startswith(_OF_A_PROCESS) and name not in _OF_A_TERMINAL | _OF_PYSPARK


def spare_folder() -> Path:
    """The folder of the socket, which only this user can open. PermissionError where it is
    another's, or open to others; OSError where it cannot be made."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = Path(base) / f"dt_jupyter-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not own or stat.S_IMODE(found.st_mode) & 0o077:
        raise PermissionError(f"{folder} is open to others")
    return folder


def socket_path() -> Path:
    """Where the keeper listens. OSError as `spare_folder`."""
    return spare_folder() / "spare.socket"


def has_spare(order: SpareOrder | None) -> bool:
    """Whether a spare for this order is ready."""
    if order is None:
        return False
    with suppress(OSError), _ask(f"has {order.key}") as line:
        return line.recv(1) == b"y"
    return False


def dismiss_spare() -> None:
    """The spare that is ready, whatever it was ordered for, ends."""
    with suppress(OSError), _ask("end") as line:
        line.recv(1)


def take_spare(order: SpareOrder | None) -> tuple[JavaStart, JavaGateway, Any] | None:
    """The spare for this order, with its context, if it is ready: from now on this process's."""
    if order is None:
        return None
    with suppress(OSError, ValueError), _ask(f"take {order.key}") as line:
        stdin, told = _receive(line)
        process = HandedProcess(told["pid"], stdin)
        line.sendall(b"k")
        return _adopt(process, told)
    return None


def keep_spare(order: SpareOrder | None, wait: float = _WAIT_SECONDS) -> None:
    """A separate process starts a spare after `wait` seconds, unless one is ready."""
    if order is None or has_spare(order):
        return
    asked = {"key": order.key, "order": order.as_text(), "wait": wait}
    with suppress(OSError):
        keeper = subprocess.Popen(
            [sys.executable, "-m", _KEEPER],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(order.variables),
            cwd=order.folder,
            start_new_session=True,
        )
        with keeper.stdin as told:  # type: ignore[union-attr]
            told.write(json.dumps(asked).encode())


@contextmanager
def _ask(question: str) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as line:
        line.settimeout(_ANSWER_SECONDS)
        line.connect(str(socket_path()))
        line.sendall(f"{question}\n".encode())
        yield line


def _receive(line: socket.socket) -> tuple[int, dict[str, Any]]:
    """The write end of the JVM's standard input, and what is to know of it. OSError where it is
    refused."""
    answer, ends, _, _ = socket.recv_fds(line, 1, 1)
    if answer != b"y" or len(ends) != 1:
        raise OSError("there is no such spare")
    os.set_inheritable(ends[0], False)
    with line.makefile("r", encoding="utf-8") as text:
        return ends[0], json.loads(text.readline())


def _adopt(
    process: HandedProcess, told: Mapping[str, Any]
) -> tuple[JavaStart, JavaGateway, Any] | None:
    from py4j.protocol import Py4JError
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    log = Path(told["log"])
    atexit.register(shutil.rmtree, log.parent, ignore_errors=True)
    port, secret = str(told["port"]), told["secret"]
    try:
        with environment({"PYSPARK_GATEWAY_PORT": port, "PYSPARK_GATEWAY_SECRET": secret}):
            gateway = launch_gateway()  # type: ignore[no-untyped-call]
        gateway.proc = process
        object_of = getattr(gateway.jvm, "org.apache.spark.SparkContext$")
        context = getattr(object_of, "MODULE$").getActive()
        if not context.isDefined() or context.get().isStopped():
            end_java(gateway)
            return None
    except Py4JError:
        process.stdin.close()
        return None
    conf = SparkConf(loadDefaults=False)
    for key, value in told["conf"]:
        conf.set(key, value)
    start = JavaStart(conf, told["variables"], log)
    return start, gateway, gateway.jvm.JavaSparkContext(context.get())
