"""Refreshes as soon as a source commits, for tables whose target lag is of a second or two: such a
table is not only refreshed at its ticks, but in waves. A wave is one data timestamp for all that
reads what was committed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from dt_jupyter.model import Timestamp
from dt_jupyter.schedule.state import Node

PROMPT_LAG = 3.0
"""Tables with a longer target lag, in seconds, wait for their ticks: that many refreshes more would
cost more than the shorter lag is worth."""
WAVE_SECONDS = 15.0
"""Seconds after which a wave is over, whatever it waits for: ticks continue."""
_PAUSE = 0.02
"""Between two checks of ten logs: a check of one takes some microseconds."""
_LOGS = 10


def prompt_nodes(nodes: tuple[Node, ...]) -> tuple[Node, ...]:
    """Those that are refreshed when their sources commit: by their own target lag, or since one
    that reads them is. Upstream is first."""
    found, read = list[Node](), set[str]()
    for node in reversed(nodes):
        small = node.target_lag is not None and node.target_lag <= PROMPT_LAG
        if node.active and (small or node.id in read):
            read.update(node.upstream)
            found.append(node)
    return tuple(reversed(found))


def readers_of(nodes: Iterable[Node], logs: Iterable[str]) -> frozenset[str]:
    """Those that read one of these logs, through others of them too. Upstream is first among the
    nodes."""
    changed, found = frozenset(logs), set[str]()
    for node in nodes:
        if not changed.isdisjoint(node.logs) or not found.isdisjoint(node.upstream):
            found.add(node.id)
    return frozenset(found)


@dataclass
class Waves:
    """One wave at a time, so that constant commits keep nothing behind the first table waiting.

    `newest` gives the newest version of the log of a base table, in some microseconds; None where
    that takes longer: what reads it waits for its ticks.
    """

    newest: Callable[[str], int | None]
    _seen: dict[str, int | None] = field(default_factory=dict)
    _news: set[str] = field(default_factory=set)
    _wave: frozenset[str] = frozenset()
    _time: Timestamp = field(default_factory=lambda: Timestamp(0))

    @property
    def pause(self) -> float | None:
        """Seconds between two checks; None: there is nothing to check."""
        return _PAUSE * max(len(self._seen) / _LOGS, 1.0) if self._seen else None

    def look(self) -> bool:
        """Whether there are commits that the last look has not seen."""
        for log, before in self._seen.items():
            if (now := self.newest(log)) != before:
                self._seen[log] = now
                self._news.add(log)
        return bool(self._news) and not self._wave

    def join(self, nodes: tuple[Node, ...], now: Timestamp) -> tuple[Node, ...]:
        """The nodes (upstream first) with their place in the wave; a new one begins at `now`, later
        than the last look, where the one before has ended."""
        prompt = prompt_nodes(nodes)
        self._follow(prompt)
        if now.since(self._time) > WAVE_SECONDS or not any(self._lacks(node) for node in prompt):
            self._wave = frozenset()
        if not self._wave and self._news:
            self._wave, self._time = readers_of(prompt, self._news), now
            self._news.clear()
        mine, t = self._wave, self._time
        return tuple(replace(n, prompt=t) if n.id in mine else n for n in nodes)

    def _lacks(self, node: Node) -> bool:
        """Whether the wave has still to do with it."""
        settled = node.settled
        return node.id in self._wave and (settled is None or settled < self._time)

    def end(self) -> None:
        """Another process starts the refreshes."""
        self._seen.clear()
        self._news.clear()
        self._wave = frozenset()

    def _follow(self, nodes: Iterable[Node]) -> None:
        logs = {log for node in nodes for log in node.logs}
        for gone in self._seen.keys() - logs:
            del self._seen[gone]
            self._news.discard(gone)
        for log in logs - self._seen.keys():
            self._seen[log] = self.newest(log)


__all__ = ["PROMPT_LAG", "WAVE_SECONDS", "Waves", "prompt_nodes", "readers_of"]
