"""Rows of a table's change feed that are kept for those who ask for the same interval, or for one
that has grown: other streams and dynamic tables on the table, and repeated reads.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from itertools import count
from typing import TYPE_CHECKING, TypeAlias

from dt_jupyter.caches import Cache, CacheMemory
from dt_jupyter.lake.read.column_memory import table_bytes

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEPT = 4 << 20
"""Of one interval; of one table, before it has a memory in common with others."""
_INTERVALS = 32
"""Of a table those that were read last: each refresh asks for another."""
FeedKey: TypeAlias = tuple[int, int, str]
"""A table's number, the first commit, and the schema."""
FeedCache: TypeAlias = "Cache[FeedKey, tuple[int, pa.Table]]"
_numbers = count()


def feed_cache(memory: CacheMemory) -> FeedCache:
    """For the feeds of all tables that share it."""
    return Cache(memory, "change feeds")


class KeptRows:
    """The rows of the commits first … last, by `first` and their schema. Threads may share it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._number = next(_numbers)
        self._known = feed_cache(CacheMemory(most))
        self._asked: OrderedDict[FeedKey, None] = OrderedDict()
        self._lock = threading.Lock()

    def share(self, cache: FeedCache) -> None:
        """Keeps the rows there from now on."""
        self._known = cache

    def renew(self) -> KeptRows:
        """For another log in the place of this one: no rows, in the same memory."""
        made = KeptRows(self._most)
        made.share(self._known)
        return made

    def find(self, first: int, last: int, schema: pa.Schema) -> tuple[int, pa.Table] | None:
        """The last commit, none after `last`, up to which rows are known, and they."""
        known = self._known.get((self._number, first, str(schema)))
        return known if known and known[0] <= last else None

    def keep(self, first: int, last: int, rows: pa.Table) -> None:
        """Those used last stay."""
        if rows.nbytes > self._most:
            return
        key = (self._number, first, str(rows.schema))
        self._known.put(key, (last, rows), table_bytes(rows))
        with self._lock:
            self._asked[key] = None
            self._asked.move_to_end(key)
            while len(self._asked) > _INTERVALS:
                self._known.pop(self._asked.popitem(last=False)[0])
