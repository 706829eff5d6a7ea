"""A port of this machine that nothing uses."""

from __future__ import annotations

import socket


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
