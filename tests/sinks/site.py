"""A place in the store of a driver, and how tests talk to the driver of it."""

from __future__ import annotations

import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sinks import (
    Binding,
    DirectChannel,
    HashRange,
    Task,
    ThreadChannel,
    is_transient,
    messages as m,
    open_driver,
    parse_store_url,
)
from tests.unit.sinks.lab import (
    Change,
    ListSource,
    MemoryLog,
    Row,
    deliver,
    delivery,
    events,
    oracle,
    summed,
)


class Site(ABC):
    """A place in a driver's store, empty at first, with a recovery log of its own."""

    delta = False
    """Whether it takes delta updates alone: its rows are what they come to."""

    def __init__(self) -> None:
        self.log = MemoryLog()
        self.driver_checkpoint: m.Checkpoint = {}

    @abstractmethod
    def url(self) -> str: ...

    @abstractmethod
    def rows(self, made: Binding) -> dict[Any, Row]:
        """What the store holds, by key, read by another client."""

    def mend(self, failure: DTError) -> bool:
        """Whether something was done that an error asks the store's operator to do."""
        return False

    def driver(self, **options: str) -> Any:
        return open_driver(parse_store_url(self.url(), options))

    def deliver(
        self, made: Binding, changes: list[Change], sink: str = "s", **more: Any
    ) -> list[Any]:
        size = more.pop("size", 5)
        options = more.pop("options", {})
        source = ListSource(made, changes, size)
        task = Task(sink, more.pop("range", HashRange()))
        return deliver(made, source, self.log, lambda: self.driver(**options), task=task, **more)


class SqlSite(Site):
    """A SQL store: what only those have."""

    schemas = True
    """Whether a target's name may have one before a dot."""

    @abstractmethod
    def run(self, sql: str) -> list[tuple[Any, ...]]: ...

    def rows(self, made: Binding) -> dict[Any, Row]:
        names = [c.name for c in made.columns]
        listed = ", ".join('"' + n.replace('"', '""') + '"' for n in names)
        parts = made.target.split(".", 1) if self.schemas else [made.target]
        target = ".".join('"' + part.replace('"', '""') + '"' for part in parts)
        found = [
            dict(zip(names, row, strict=True)) for row in self.run(f"SELECT {listed} FROM {target}")
        ]
        return {tuple(row[k] for k in made.key): row for row in found}


class Talk:
    """One conversation with a driver, message by message."""

    def __init__(self, site: Site, made: Binding, task: Task | None = None, **options: str) -> None:
        self.made, self.driver = made, site.driver(**options)
        self._channel = DirectChannel(self.driver)
        self._site = site
        self._channel.send(m.Open(made, task or Task("s"), site.driver_checkpoint))
        self.opened = self.hear(m.Opened)
        self.acknowledge()

    def send(self, message: Any) -> None:
        self._channel.send(message)

    def hear(self, kind: type) -> Any:
        answer = self._channel.receive()
        assert isinstance(answer, kind), answer
        return answer

    def acknowledge(self) -> None:
        self.send(m.Acknowledge())
        self.hear(m.Acknowledged)

    def flush(self) -> list[Row]:
        self.send(m.Flush())
        found: list[Row] = []
        while isinstance(answer := self._channel.receive(), m.Loaded):
            found += answer.rows.to_pylist()
        assert isinstance(answer, m.Flushed)
        return found

    def load(self, *keys: Row) -> list[Row]:
        self.send(m.Load(pa.Table.from_pylist(list(keys), self.made.key_schema)))
        return self.flush()

    def store(self, *rows: Row) -> None:
        self.send(m.Store(pa.Table.from_pylist(list(rows), self.made.schema)))

    def start(self, at: int) -> None:
        self.send(m.StartCommit({"at": at}))
        answer = self.hear(m.StartedCommit)
        self._site.driver_checkpoint = m.updated_checkpoint(self._site.driver_checkpoint, answer)

    def close(self) -> None:
        self._channel.close()


def die_after_log(log: Any, made: Binding, source: Any, driver: Any, part: HashRange) -> None:
    """A delivery of a part that ends when the recovery log has its first transaction, and the
    store has not."""
    commit = log.commit

    def last(*args: Any) -> None:
        commit(*args)
        raise KeyboardInterrupt

    dying = delivery(made, source, log, driver, task=Task("s", part))
    log.commit = last
    try:
        with pytest.raises(KeyboardInterrupt):
            list(dying.deliver())
    finally:
        log.commit = commit
        dying.close()


def deliver_while_disturbed(site: Site, disturb: Callable[[], None], seconds: float = 60.0) -> int:
    """Delivers more and more until `disturb`, in a thread, has ended, and all of it within some
    seconds then; how often a delivery failed."""
    made = summed(delta=site.delta)
    source = ListSource(made, events(9, 60, keys=9), 6, 6)
    deliver(made, source, site.log, site.driver, channel=ThreadChannel)
    ended, failures, end = threading.Event(), list[DTError](), math.inf
    problems: list[BaseException] = []

    def work() -> None:
        try:
            disturb()
        except BaseException as e:
            problems.append(e)
        ended.set()

    thread = threading.Thread(target=work)
    thread.start()
    clean = False
    while not (clean and ended.is_set()) and time.monotonic() < end:
        last = ended.is_set()
        end = min(end, time.monotonic() + seconds) if last else end
        try:
            deliver(made, source, site.log, site.driver, channel=ThreadChannel)
            clean = last
        except DTError as e:
            failures.append(e)
            if not is_transient(e):
                raise
            if not site.mend(e):
                time.sleep(0.01)
        if not last:
            source.changes += events(len(source.changes), 30, keys=9)
    thread.join()
    assert not problems, problems
    assert clean, f"it never came through: {[str(e) for e in failures[-3:]]}"
    assert site.rows(made) == oracle(made, source.changes)
    return len(failures)


def row(k: int, v: int, name: str = "n") -> Row:
    return {"k": k, "v": v, "name": name}
