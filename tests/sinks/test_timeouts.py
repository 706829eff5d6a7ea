"""Stores that take a connection and say nothing: each driver gives up in its time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dt_jupyter.sinks import is_transient, open_driver, parse_store_url
from tests.sinks.servers import silent_server
from tests.sinks.site import row
from tests.unit.sinks.lab import I, ListSource, MemoryLog, deliver, refused, summed


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("postgresql://u@127.0.0.1:{}/db?connect_timeout=1", "DT-6110"),
        ("redis://127.0.0.1:{}/0?timeout=0.2", "DT-6113"),
        ("http://127.0.0.1:{}/x?timeout=0.2&attempts=1", "DT-6110"),
        ("https://127.0.0.1:{}/x?timeout=0.2&attempts=1", "DT-6110"),
        ("kafka://127.0.0.1:{}/x?connect_timeout=0.2", "DT-6113"),
    ],
)
def test_a_store_that_says_nothing_is_given_up(url: str, code: str, tmp_path: Path) -> None:
    push = url.startswith("http")
    made = summed(delta=push or url.startswith("kafka"))
    source = ListSource(made, [(I, row(1, 1))])
    with silent_server() as port:
        options = {"outbox": str(tmp_path)} if push else {}
        address = parse_store_url(url.format(port), options)
        started = time.monotonic()
        with refused(code) as problem:
            deliver(made, source, MemoryLog(), lambda: open_driver(address))
    assert is_transient(problem[0])
    assert time.monotonic() - started < 20
