"""The process that starts a spare Spark, keeps it for a while, and hands it over once."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from dt_jupyter.spark.launch import JavaStart, end_java, launch_java, plan_start
from dt_jupyter.spark.spare import SpareOrder, dismiss_spare, socket_path, spare_folder
from dt_jupyter.spark.standby import make_context

if TYPE_CHECKING:
    from py4j.java_gateway import JavaGateway

_LOCK_SECONDS = 15.0
"""For which a keeper that was dismissed may take to end."""
_END_SECONDS = 20.0
_ANSWER_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_LEFT_BYTES = 1 << 30
"""Memory that must be free in addition to the heap of a spare."""
_HEAP = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS = {"k": 1 << 10, "": 1 << 20, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


@dataclass(frozen=True)
class Offer:
    """A JVM that is ready, and the key of the order that it was started for."""

    gateway: JavaGateway
    start: JavaStart
    key: str

    @property
    def is_alive(self) -> bool:
        return self.gateway.proc.poll() is None


def serve_spare(
    order: SpareOrder, key: str, wait: float, warm: Callable[[JavaGateway], None]
) -> None:
    """Starts the JVM after `wait` seconds, has it run what `warm` runs, and waits for the process
    that takes it. Nothing where another keeper is at work, or memory is short."""
    memory = order.launch.settings.get("spark.driver.memory", "1g")
    with suppress(Timeout, OSError), _only_keeper():
        if answer_takers(None, wait) or not has_room(memory):
            return
        start = plan_start(order.launch)
        with _running(start) as gateway:
            warm(gateway)
            make_context(gateway, start)
            gateway.jvm.System.gc()
            answer_takers(Offer(gateway, start, key), order.seconds)


@contextmanager
def _only_keeper() -> Iterator[None]:
    """One keeper at a time; a spare for another order gives way. Timeout, OSError."""
    lock = FileLock(spare_folder() / "spare.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        dismiss_spare()
        lock.acquire(timeout=_LOCK_SECONDS)
    try:
        yield
    finally:
        lock.release()


def has_room(heap: str, facts: Path = Path("/proc/meminfo")) -> bool:
    """Whether the machine has memory for a heap of that size; True where it does not say."""
    try:
        lines = dict(line.split(":", 1) for line in facts.read_text().splitlines())
        available = int(lines["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        return True
    size = _HEAP.fullmatch(heap)
    wanted = int(size[1]) * _UNITS[size[2].lower()] if size else 0
    return available > wanted + _LEFT_BYTES


@contextmanager
def _running(start: JavaStart) -> Iterator[JavaGateway]:
    """A JVM that ends with the block, unless it was handed over."""
    gateway = launch_java(start)
    try:
        yield gateway
    finally:
        if not gateway.proc.stdin.closed:
            end_java(gateway)
            with suppress(subprocess.TimeoutExpired):
                gateway.proc.wait(_END_SECONDS)
            gateway.proc.kill()
            shutil.rmtree(start.log.parent, ignore_errors=True)


def answer_takers(offer: Offer | None, seconds: float) -> bool:
    """Answers requests for a spare, for `seconds` at most; whether that is over: the JVM was
    taken or has ended, or the keeper is to end."""
    path, ends = socket_path(), time.monotonic() + seconds
    unready = path.with_name("spare.new")
    unready.unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(unready))
        unready.chmod(0o600)
        listener.listen()
        unready.rename(path)  # a process that sees it is answered
        listener.settimeout(_LOOK_SECONDS)
        try:
            while time.monotonic() < ends and (offer is None or offer.is_alive):
                if _answer_next(listener, offer):
                    return True
        finally:
            path.unlink(missing_ok=True)
    return offer is not None


def _answer_next(listener: socket.socket, offer: Offer | None) -> bool:
    """Whether there is nothing more to answer."""
    try:
        line, _ = listener.accept()
    except TimeoutError:
        return False
    with line, suppress(OSError):
        line.settimeout(_ANSWER_SECONDS)
        with line.makefile("r", encoding="utf-8") as text:
            question = text.readline().strip()
        if question == "end":
            return True
        if offer is not None and question == f"take {offer.key}":
            with suppress(OSError):  # it may have it all the same: it is not offered again
                _give(line, offer)
            return True
        has = offer is not None and question == f"has {offer.key}"
        line.sendall(b"y" if has else b"n")
    return False


def _give(line: socket.socket, offer: Offer) -> None:
    """Hands the JVM over. Without a confirmation it ends."""
    gateway, start = offer.gateway, offer.start
    socket.send_fds(line, [b"y"], [gateway.proc.stdin.fileno()])
    told = {
        "pid": gateway.proc.pid,
        "port": gateway.gateway_parameters.port,
        "secret": gateway.gateway_parameters.auth_token,
        "conf": start.conf.getAll(),
        "variables": dict(start.variables),
        "log": str(start.log),
    }
    line.sendall(json.dumps(told).encode() + b"\n")
    if line.recv(1) == b"k":
        gateway.proc.stdin.close()
