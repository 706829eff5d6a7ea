"""A program as a driver: `process:///path/to/program`, with lines of JSON (`json_lines`).

OPTIONS (args = '…') are its arguments, divided as a shell divides them, but no shell runs.
`timeout` are the seconds that an answer may take. All other options, and secrets once they are
read, are in its environment: `DT_SINK_` and the name in capitals.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from dt_jupyter.model import error
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.channel import ANSWER_SECONDS
from dt_jupyter.sinks.messages import FromDriver, FromRuntime
from dt_jupyter.sinks.process import ProcessChannel

_OWN = ("args", "timeout", "table")


class CommandStore:
    """Makes channels to processes of a program. DT-6101 for what is not a program, DT-1003 for
    arguments without an end."""

    def __init__(self, address: StoreAddress) -> None:
        self._address = address
        if address.host or not Path(address.path).is_file():
            problem = "a program is named by its whole path, as process:///usr/bin/program"
            raise error("DT-6101", url=str(address), problem=problem, hint="")
        self._seconds = address.number("timeout", ANSWER_SECONDS, 0.01, 86_400)
        given = address.options.get("args", "")
        try:
            self._arguments = shlex.split(given)
        except ValueError as e:
            raise error("DT-1003", option="args", value=given, problem=e, hint="") from e

    def channel(self) -> ProcessChannel:
        """A new process. DT-6103, DT-6121 where it does not start."""
        command = [self._address.path, *self._arguments]
        return ProcessChannel(command, seconds=self._seconds, environment=self._environment())

    def _environment(self) -> dict[str, str]:
        options = {k: v for k, v in self._address.options.items() if k not in _OWN}
        secrets = {name: self._address.secret(name) for name in self._address.secrets}
        return {f"DT_SINK_{k.upper()}": v for k, v in {**options, **secrets}.items()}

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        channel = self.channel()
        try:
            channel.forget(binding, sink, empty=empty, unmake=unmake)
        finally:
            channel.close()

    def handle(self, message: FromRuntime) -> Iterator[FromDriver]:
        raise AssertionError("its channel goes to a process")

    def close(self) -> None:
        """No process is running."""
