"""Drivers in another process: the example, by the suite that every driver passes."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sinks import Binding, ProcessChannel, is_transient, messages as m
from dt_jupyter.sinks.json_lines import from_line
from dt_jupyter.sinks.json_values import from_json_values
from tests.sinks.conformance import Protocol
from tests.sinks.site import Site
from tests.unit.sinks.lab import (
    ListSource,
    MemoryLog,
    Row,
    deliver,
    delivery,
    events,
    oracle,
    refused,
    summed,
)

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sink_driver.py"


class ProcessDriver:
    """A driver in a process, spoken to as one in this."""

    def __init__(self, command: list[str]) -> None:
        self.channel = ProcessChannel(command)

    def handle(self, message: Any) -> Iterator[Any]:
        self.channel.send(message)
        match message:
            case m.Open() | m.Acknowledge() | m.StartCommit():
                yield self.channel.receive()
            case m.Flush():
                while isinstance(answer := self.channel.receive(), m.Loaded):
                    yield answer
                yield answer

    def close(self) -> None:
        self.channel.close()


class ProcessSite(Site):
    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.log = folder, MemoryLog(joins=False)

    @property
    def command(self) -> list[str]:
        return [sys.executable, "-S", str(EXAMPLE), str(self.folder)]

    def url(self) -> str:
        raise AssertionError("it has none")

    def driver(self, **options: str) -> Any:
        return ProcessDriver(self.command)

    def rows(self, made: Binding) -> dict[Any, Row]:
        path = self.folder / f"{uuid.uuid5(uuid.NAMESPACE_URL, made.target)}.json"
        if not path.exists():
            return {}
        found = list(json.loads(path.read_text())["rows"].values())
        columns = [from_json_values([r[c.name] for r in found], c.type) for c in made.columns]
        values = zip(*(c.to_pylist() for c in columns), strict=True)
        rows = [dict(zip(made.schema.names, each, strict=True)) for each in values]
        return {tuple(row[k] for k in made.key): row for row in rows}


@pytest.fixture
def fresh(tmp_path: Path) -> Callable[[], Site]:
    numbers = itertools.count()
    return lambda: ProcessSite(tmp_path / str(next(numbers)))


@pytest.fixture
def site(fresh: Callable[[], Site]) -> Site:
    return fresh()


class TestExample(Protocol):
    STRIDE = 11
    JOINS = False
    test_an_option_that_nobody_knows_is_refused = None
    test_a_column_that_cannot_be_stored_is_refused = None
    test_reset_delivers_everything_again_into_an_empty_target = None
    test_reset_fences_who_delivers = None
    test_reset_fences_who_delivers_also_when_another_has_begun_anew = None
    test_a_target_that_is_let_go_keeps_its_rows = None
    test_what_was_never_made_leaves_its_target_to_others = None
    test_a_target_of_another_sink_is_not_touched = None


def test_a_driver_that_is_killed_at_any_message_loses_nothing(tmp_path: Path) -> None:
    """kill -9 of the driver's process, before and after each message."""
    changes = events(3, 9)

    class Killing(ProcessChannel):
        def __init__(self, command: list[str], at: int) -> None:
            super().__init__(command)
            self._at = at

        def tick(self) -> None:
            self._at -= 1
            if self._at == 0:
                os.kill(self.pid, signal.SIGKILL)

        def send(self, message: Any) -> None:
            self.tick()
            super().send(message)

        def receive(self) -> Any:
            self.tick()
            return super().receive()

    for at in range(1, 60, 4):
        site = ProcessSite(tmp_path / str(at))
        source = ListSource(summed(), changes)
        dying = delivery(
            summed(), source, site.log, lambda: None,
            channel=lambda _, s=site, n=at: Killing(s.command, n),
        )  # fmt: skip
        failed = False
        try:
            list(dying.deliver())
        except DTError as e:
            if not is_transient(e):
                raise
            failed = True
        dying.close()
        deliver(summed(), source, site.log, site.driver)
        assert site.rows(summed()) == oracle(summed(), changes), at
        if not failed:
            return
    raise AssertionError("the run never ended")


def test_a_program_that_is_not_there_is_told() -> None:
    with refused("DT-6121"):
        ProcessChannel(["no-such-program-anywhere"])


def test_a_driver_that_fails_is_told_with_its_last_words() -> None:
    program = "import sys; sys.stdin.readline(); sys.exit('no disk for it')"

    class Slow(ProcessChannel):
        """The process has ended before anybody reads what it said."""

        def _read_errors(self) -> None:
            time.sleep(0.3)
            super()._read_errors()

    channel = Slow([sys.executable, "-c", program])
    channel.send(m.Acknowledge())
    with refused("DT-6121") as problem:
        channel.receive()
    assert "no disk for it" in str(problem[0])
    with refused("DT-6121"):
        channel.receive()
    channel.close()


def test_a_driver_that_hangs_is_given_up_and_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dt_jupyter.sinks.process.CLOSE_SECONDS", 0.1)
    channel = ProcessChannel([sys.executable, "-c", "import time; time.sleep(60)"], seconds=0.1)
    with refused("DT-6113"):
        channel.receive()
    channel.close()
    with pytest.raises(ProcessLookupError):
        os.kill(channel.pid, 0)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("not json", "DT-6120"),
        ("{}", "DT-6120"),
        ("[]", "DT-6120"),
        ('{"opened": {}, "flushed": {}}', "DT-6120"),
        ('{"loaded": {}}', "DT-6120"),
        ('{"loaded": {"rows": [{"k": "x"}]}}', "DT-6120"),
        ('{"nonsense": {}}', "DT-6120"),
        ('{"error": {"message": "disk full"}}', "DT-6112"),
    ],
)
def test_a_line_that_is_no_answer_is_refused(line: str, code: str) -> None:
    with refused(code):
        from_line(line, summed())
