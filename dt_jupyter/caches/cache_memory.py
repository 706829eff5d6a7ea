"""One number of bytes for what is kept of tables for the next refresh, shared by all caches."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from itertools import count
from time import monotonic
from typing import Any, Generic, TypeVar

from dt_jupyter.caches.free_memory import is_memory_short

_K = TypeVar("_K", bound=Hashable)
_V = TypeVar("_V")
_PRESSURE_SECONDS = 1.0
ENTRY_BYTES = 256
"""What an entry takes in addition to its value: its key, and its place."""


class CacheMemory:
    """Caches that have `most_bytes` together. Of all of them the values that were used least
    recently go first; all go where the machine is short of memory. Threads share it."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self.lock = threading.RLock()
        self.caches: list[Cache[Any, Any]] = []
        self.uses = count()
        self._looked = float("-inf")

    @property
    def bytes(self) -> int:
        """Those of all caches."""
        with self.lock:
            return sum(c.bytes for c in self.caches)

    def clear(self) -> None:
        """Gives all of it back."""
        with self.lock:
            for cache in self.caches:
                cache.clear()

    def make_room(self) -> None:
        """Drops what is too much. The caller holds the lock."""
        if monotonic() - self._looked > _PRESSURE_SECONDS:
            self._looked = monotonic()
            if is_memory_short():
                self.clear()
        while self.bytes > self.most_bytes:
            min((c for c in self.caches if len(c)), key=lambda c: c.oldest_use).drop_oldest()


@dataclass(slots=True)
class _Kept(Generic[_V]):
    value: _V
    bytes: int
    used: int


@dataclass(eq=False)
class Cache(Generic[_K, _V]):
    """Values of one `kind` in a shared memory, by key; all of them have `own_bytes` at most.
    `dropped` is called with the key of each value that goes for want of room."""

    memory: CacheMemory
    kind: str
    own_bytes: int | None = None
    dropped: Callable[[_K], None] | None = None
    bytes: int = 0
    _kept: OrderedDict[_K, _Kept[_V]] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.memory.caches.append(self)

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[_K]:
        """The keys, those used least recently first."""
        with self.memory.lock:
            return iter(tuple(self._kept))

    def get(self, key: _K) -> _V | None:
        """The value, which counts as used; None where there is none."""
        with self.memory.lock:
            if (found := self._kept.get(key)) is None:
                return None
            self._kept.move_to_end(key)
            found.used = next(self.memory.uses)
            return found.value

    def put(self, key: _K, value: _V, size: int) -> None:
        """Stores a value of `size` bytes and replaces a former one; does not store one that is too
        large."""
        with self.memory.lock:
            self.pop(key)
            if size + ENTRY_BYTES > self.memory.most_bytes:
                if self.dropped is not None:
                    self.dropped(key)
                return
            self._kept[key] = _Kept(value, size + ENTRY_BYTES, next(self.memory.uses))
            self.bytes += size + ENTRY_BYTES
            while self.own_bytes is not None and self.bytes > self.own_bytes:
                self.drop_oldest()
            self.memory.make_room()

    def pop(self, key: _K) -> _V | None:
        """Takes a value out; `dropped` is not called."""
        with self.memory.lock:
            if (found := self._kept.pop(key, None)) is None:
                return None
            self.bytes -= found.bytes
            return found.value

    def clear(self) -> None:
        with self.memory.lock:
            while self._kept:
                self.drop_oldest()

    @property
    def oldest_use(self) -> int:
        """The number of the use of the value that was used least recently."""
        return next(iter(self._kept.values())).used

    def drop_oldest(self) -> None:
        with self.memory.lock:
            key = next(iter(self._kept))
            self.pop(key)
            if self.dropped is not None:
                self.dropped(key)
