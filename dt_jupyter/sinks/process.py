"""A driver in another process: lines of JSON on its standard input and output."""

from __future__ import annotations

import os
import queue
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from dt_jupyter.model import DTError, error
from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.channel import ANSWER_SECONDS, CLOSE_SECONDS
from dt_jupyter.sinks.json_lines import forget_line, from_line, require_forgotten, to_lines
from dt_jupyter.sinks.messages import FromDriver, FromRuntime, Open
from dt_jupyter.sinks.store_names import NameRules

_NAMES = NameRules("a driver process", 10_000)
_SAID = 20
"""Lines of its standard error that are kept for a failure."""


class ProcessChannel:
    """Runs `command`, which never goes through a shell. The end of its input is the end of the
    conversation; a process that stays after it is killed."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        seconds: float = ANSWER_SECONDS,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._seconds = seconds
        self._binding: Binding
        self._said: deque[str] = deque(maxlen=_SAID)
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        try:
            self._process = subprocess.Popen(
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, **(environment or {})},
            )
        except OSError as e:
            raise error("DT-6121", problem=f"it did not start ({e.strerror})", hint="") from e
        self._errors = self._start(self._read_errors)
        self._start(self._read_answers)

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: FromRuntime) -> None:
        if isinstance(message, Open):
            self._binding = message.binding
            _NAMES.require_columns([c.name for c in self._binding.columns])
            _NAMES.require(self._binding.target)
        assert self._process.stdin is not None
        try:
            for line in to_lines(message):
                self._process.stdin.write(line)
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._ended() from None

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool) -> None:
        """The driver's part of a RESET, of a DROP, or of a sink that is not made, as
        `StoreDriver.forget`. DT-6112 as it answers, DT-6120 for another answer."""
        self._binding = binding
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(forget_line(binding, sink, empty=empty, unmake=unmake))
            self._process.stdin.flush()
        except (OSError, ValueError):
            raise self._ended() from None
        require_forgotten(self._line())

    def receive(self) -> FromDriver:
        return from_line(self._line(), self._binding)

    def _line(self) -> str:
        try:
            line = self._lines.get(timeout=self._seconds)
        except queue.Empty:
            raise error("DT-6113", seconds=f"{self._seconds:g}") from None
        if line is None:
            self._lines.put(None)  # for who asks again
            raise self._ended()
        return line

    def close(self) -> None:
        with suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _start(self, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name="dt-sink-process", daemon=True)
        thread.start()
        return thread

    def _ended(self) -> DTError:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(CLOSE_SECONDS)
            # Its last words are in the pipe after it has ended; a child of its may hold it open.
            self._errors.join(CLOSE_SECONDS)
        last = self._said[-1][:200] if self._said else ""
        problem = f"exit status {self._process.poll()}"
        return error("DT-6121", problem=problem, hint=f"It said: {last}" if last else "")

    def _read_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._said.append(line.strip())
