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

os.environ["XDG_STATE_HOME"] = tempfile.mkdtemp(prefix="dt-state-")
"""What the tests open is not what a user opened: kernels that they start inherit it."""
gc.set_threshold(100_000, 20, 100)
"""Short runs have the memory: collected as often as by default, they take a sixth longer."""
TESTS = Path(__file__).parent
DURATIONS: dict[str, float] = json.loads((TESTS / "durations.json").read_text("utf-8"))


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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: -DURATIONS.get(item.path.relative_to(TESTS).as_posix(), 0.0))
