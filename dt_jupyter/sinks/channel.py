"""Between the runtime and a driver: one of the two sends, the other answers when it is ready."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from dt_jupyter.model import error
from dt_jupyter.sinks.binding import Binding
from dt_jupyter.sinks.conversation import Conversation
from dt_jupyter.sinks.messages import FromDriver, FromRuntime

QUEUED = 8
"""Messages that wait for a driver that commits: what the runtime prepares ahead is bounded."""
ANSWER_SECONDS = 300.0
CLOSE_SECONDS = 10.0


class Driver(Protocol):
    """A store's side in this process: a message in, its answers out, one after another.

    The answers are a generator: what follows a `yield` runs when the runtime has the answer,
    so a commit continues while the runtime prepares the next transaction.
    """

    def handle(self, message: FromRuntime) -> Iterator[FromDriver]: ...

    def close(self) -> None:
        """Leaves the store; what is not committed is gone. May be called twice."""
        ...


class StoreDriver(Driver, Protocol):
    """A driver of one of our stores."""

    def forget(self, binding: Binding, sink: str, *, empty: bool, unmake: bool = False) -> None:
        """The process that delivers the sink is fenced, and the target is released; with `empty`
        what was delivered is gone too, and with `unmake` the target itself, unless it was adopted:
        the sink was never made. Before the recovery log forgets the sink: one that is forgotten
        there alone is refused (DT-6143), or starts again in an authoritative store."""
        ...


@runtime_checkable
class KeepsDeadLetters(Protocol):
    """A driver that keeps the rows that its store refuses."""

    def dead_letters(self, sink: str) -> int:
        """How many rows of the sink wait; without opening the store."""
        ...

    def retry_dead_letters(self, binding: Binding, sink: str) -> int:
        """Sends them again, in their order; how many the store has now. The process that delivers
        the sink is fenced. Raises what the store refuses or fails with, when some may be sent."""
        ...


class Channel(Protocol):
    def send(self, message: FromRuntime) -> None: ...

    def receive(self) -> FromDriver:
        """The driver's next answer; raises what the driver raised."""
        ...

    def close(self) -> None: ...


def answers(driver: Driver, at: Conversation, message: FromRuntime) -> Iterator[FromDriver]:
    """What a driver answers, both directions checked on its side: DT-6120."""
    at.advance(message)
    for answer in driver.handle(message):
        at.advance(answer)
        yield answer


class DirectChannel:
    """The driver works when an answer is requested, in the caller's thread: each order of steps
    is one that a test can choose."""

    def __init__(self, driver: Driver) -> None:
        self._driver, self._at = driver, Conversation()
        self._running: deque[Iterator[FromDriver]] = deque()

    def send(self, message: FromRuntime) -> None:
        self._running.append(answers(self._driver, self._at, message))

    def receive(self) -> FromDriver:
        while self._running:
            for answer in self._running[0]:
                return answer
            self._running.popleft()
        raise error("DT-6120", problem="nothing was asked that a driver answers")

    def close(self) -> None:
        self._running.clear()
        self._driver.close()


@dataclass(frozen=True)
class _Failure:
    raised: BaseException


class ThreadChannel:
    """The driver works in a separate thread: it commits while the runtime continues."""

    def __init__(self, driver: Driver, *, seconds: float = ANSWER_SECONDS) -> None:
        self._driver, self._seconds = driver, seconds
        self._inbox: queue.Queue[FromRuntime | None] = queue.Queue(QUEUED)
        self._outbox: queue.SimpleQueue[FromDriver | _Failure] = queue.SimpleQueue()
        self._failed: BaseException | None = None
        self._thread = threading.Thread(target=self._work, name="dt-sink", daemon=True)
        self._thread.start()

    def send(self, message: FromRuntime) -> None:
        self._raise_failure()
        try:
            self._inbox.put(message, timeout=self._seconds)
        except queue.Full:
            raise error("DT-6113", seconds=f"{self._seconds:g}") from None

    def receive(self) -> FromDriver:
        self._raise_failure()
        try:
            found = self._outbox.get(timeout=self._seconds)
        except queue.Empty:
            raise error("DT-6113", seconds=f"{self._seconds:g}") from None
        if isinstance(found, _Failure):
            self._failed = found.raised
            raise found.raised
        return found

    def close(self) -> None:
        """Waits until the driver has left its store; not for long, as one that hangs is fenced by
        the next who opens."""
        with suppress(queue.Full):
            self._inbox.put(None, timeout=CLOSE_SECONDS)
        self._thread.join(CLOSE_SECONDS)

    def _raise_failure(self) -> None:
        if self._failed is not None:
            raise self._failed

    def _work(self) -> None:
        at, failed = Conversation(), False
        while (message := self._inbox.get()) is not None:
            if failed:
                continue  # the runtime has not read of it yet
            try:
                for answer in answers(self._driver, at, message):
                    self._outbox.put(answer)
            except BaseException as e:
                failed = True
                self._outbox.put(_Failure(e))
        self._driver.close()
