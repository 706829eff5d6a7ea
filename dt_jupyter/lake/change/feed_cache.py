"""Rows of a table's change feed that are kept for those who ask for the same interval, or for one
that has grown: other streams and dynamic tables on the table, and whoever looks again.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import pyarrow as pa

MOST_KEPT = 4 << 20
"""Of one table, all intervals together."""
_Key: TypeAlias = tuple[int, str]


class KeptRows:
    """The rows of the commits first … last, by `first` and their schema. Threads may share it."""

    def __init__(self, most: int = MOST_KEPT) -> None:
        self._most = most
        self._known: OrderedDict[_Key, tuple[int, pa.Table]] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, first: int, last: int, schema: pa.Schema) -> tuple[int, pa.Table] | None:
        """The last commit, none after `last`, up to which rows are known, and they."""
        with self._lock:
            known = self._known.get((first, str(schema)))
            return known if known and known[0] <= last else None

    def keep(self, first: int, last: int, rows: pa.Table) -> None:
        """Those used last stay."""
        if rows.nbytes > self._most:
            return
        with self._lock:
            self._known[first, str(rows.schema)] = last, rows
            self._known.move_to_end((first, str(rows.schema)))
            while sum(r.nbytes for _, r in self._known.values()) > self._most:
                self._known.popitem(last=False)
