"""Who holds a lease: a process, named so that another one on the same host can see it is gone."""

from __future__ import annotations

import os
import socket
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import RowMapping


@dataclass(frozen=True, slots=True)
class Owner:
    """One engine in one process. `started` distinguishes two processes with the same pid: the
    kernel's start time of the process where the system shows one, else empty."""

    host: str
    pid: int
    uid: str
    started: str = ""

    @classmethod
    def here(cls, uid: str) -> Owner:
        """The running process; `uid` is unique to this engine."""
        return cls(socket.gethostname(), os.getpid(), uid, start_time(os.getpid()))

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}"


def owner_of(row: RowMapping) -> Owner:
    """From a row with the columns of an owner."""
    return Owner(row["host"], row["pid"], row["uid"], row["started"])


def owner_columns(owner: Owner) -> dict[str, Any]:
    """What a row with the columns of an owner has in them."""
    return asdict(owner)


def start_time(pid: int, proc: Path = Path("/proc")) -> str:
    """Clock ticks from boot to the start of `pid` (field 22 of proc(5) stat); "" if unknown."""
    try:
        stat = (proc / str(pid) / "stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def running(owner: Owner) -> bool:
    """Whether the process of `owner`, on this very host, still runs."""
    try:
        os.kill(owner.pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, and belongs to another user
    return not owner.started or start_time(owner.pid) in (owner.started, "")
