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
"""`2/3`: of the files with nightly tests the second, the fifth and so on; None: all."""
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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: (-DURATIONS.get(_file_of(item), 0.0), _file_of(item)))
    if PART is not None:
        number, parts = map(int, PART.split("/"))
        nightly = (_file_of(item) for item in items if item.get_closest_marker("nightly"))
        chosen = set(list(dict.fromkeys(nightly))[number - 1 :: parts])
        config.hook.pytest_deselected(items=[i for i in items if _file_of(i) not in chosen])
        items[:] = [item for item in items if _file_of(item) in chosen]


def _file_of(item: pytest.Item) -> str:
    return item.path.relative_to(TESTS).as_posix()
