"""The order of tests: of what two processes share by its files, the longest files come first, so
that both end at about one time."""

from __future__ import annotations

import gc
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.sinks.kafka_server import KafkaServer
    from tests.sinks.servers import PostgresServer

STATE = tempfile.TemporaryDirectory(prefix="dt-state-", ignore_cleanup_errors=True)
os.environ["XDG_STATE_HOME"] = STATE.name
"""What the tests open is not what a user opened: kernels that they start inherit it."""
gc.set_threshold(100_000, 20, 100)
"""Short runs have the memory: collected as often as by default, they take a sixth longer."""
TESTS = Path(__file__).parent
PART = os.environ.get("DT_TEST_PART")
"""`2/3`: the second of three parts of the files with nightly tests, of which each takes as long;
None: all."""
DURATIONS: dict[str, dict[str, float]] = json.loads((TESTS / "durations.json").read_text("utf-8"))
UNKNOWN = 60.0
"""Seconds that a new file is taken to need."""


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaServer]:
    """One for all tests of a process: its start takes seconds."""
    from tests.sinks.kafka_server import KafkaServer

    server = KafkaServer()
    yield server
    server.end()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One for all tests of a process, each of which has a schema of its own in it."""
    from tests.sinks.servers import PostgresServer

    server = PostgresServer()
    yield server
    server.end()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        for mark in item.iter_markers("faults"):
            item.user_properties.append(("experiment", mark.args[0]))
    nightly = config.getoption("markexpr") == "nightly"
    seconds = DURATIONS["nightly" if nightly else "each change"]
    items.sort(key=lambda item: (-seconds.get(_file_of(item), UNKNOWN), _file_of(item)))
    if PART is not None:
        number, parts = map(int, PART.split("/"))
        files = dict.fromkeys(_file_of(i) for i in items if i.get_closest_marker("nightly"))
        chosen = _shared(list(files), seconds, parts)[number - 1]
        config.hook.pytest_deselected(items=[i for i in items if _file_of(i) not in chosen])
        items[:] = [item for item in items if _file_of(item) in chosen]


def _shared(files: list[str], seconds: dict[str, float], parts: int) -> list[set[str]]:
    """The files, the longest first, each where the least is to be done."""
    made: list[set[str]] = [set() for _ in range(parts)]
    loads = [0.0] * parts
    for file in files:
        least = loads.index(min(loads))
        made[least].add(file)
        loads[least] += seconds.get(file, UNKNOWN)
    return made


def _file_of(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()
