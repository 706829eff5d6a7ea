"""The digest of a snapshot: the sum of its rows' hashes, so that a change moves it by its own rows.

The sum does not depend on order and counts duplicates; equal digests mean equal rows except for a
collision of 128 bits. Source: multiset hashes (Clarke et al. 2003), with the content hash of
`sql.hashing`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.ivm import Refused
from dt_jupyter.model.hidden import STOP, WEIGHT, hidden
from dt_jupyter.sql import content_hash

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

Columns = tuple[tuple[str, str], ...]
"""Names and Spark types."""

_VIEW = hidden("digested")
_MOD = 1 << 64


@dataclass(frozen=True, slots=True)
class BagDigest:
    """A multiset of rows: how many there are, and the sums of both halves of their hashes, modulo
    2^64; None where a type has no hash."""

    rows: int
    h1: int | None
    h2: int | None

    def plus(self, other: BagDigest) -> BagDigest:
        return BagDigest(self.rows + other.rows, _sum(self.h1, other.h1), _sum(self.h2, other.h2))

    def digest(self, columns: Columns) -> str | None:
        """32 hexadecimal digits of the rows and their schema; None where there is no hash."""
        if self.h1 is None or self.h2 is None:
            return None
        text = json.dumps([columns, self.rows, self.h1, self.h2], separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


EMPTY = BagDigest(0, 0, 0)


@dataclass(frozen=True, slots=True)
class Moved:
    """What was inserted and deleted between two snapshots, by content: a row that ends as it began
    counts for nothing. `bag` is their difference; the counts are None where a type has no hash."""

    inserted: int | None
    deleted: int | None
    bag: BagDigest


NOTHING = Moved(0, 0, EMPTY)


def columns_of(schema: StructType) -> Columns:
    return tuple((f.name, f.dataType.simpleString()) for f in schema.fields)


def bag_of(spark: SparkSession, frame: DataFrame, columns: Columns) -> BagDigest:
    """All rows of a frame; one job."""
    h1, h2 = _hashes(columns)
    _named(frame, len(columns)).createOrReplaceTempView(_VIEW)
    text = f"SELECT COUNT(*), {_total(h1)}, {_total(h2)} FROM {_VIEW}"
    rows, a, b = spark.sql(text).collect()[0]
    return BagDigest(rows, *_halves(rows, a, b))


def moved_of(spark: SparkSession, frame: DataFrame, columns: Columns) -> dict[int, Moved]:
    """The changes of each stop. The frame has the columns, then a weight, then the number of the
    stop that the row changes; one job."""
    h1, h2 = _hashes(columns)
    _named(frame, len(columns), WEIGHT, STOP).createOrReplaceTempView(_VIEW)
    hashed = f"SELECT {STOP}, {WEIGHT}, {h1} AS h1, {h2} AS h2 FROM {_VIEW}"
    net = f"SELECT {STOP}, h1, h2, SUM({WEIGHT}) AS n FROM ({hashed}) GROUP BY {STOP}, h1, h2"
    text = (
        f"SELECT {STOP}, SUM(CASE WHEN n > 0 THEN n ELSE 0 END), "
        f"SUM(CASE WHEN n < 0 THEN -n ELSE 0 END), {_total('h1', 'n')}, {_total('h2', 'n')} "
        f"FROM ({net}) WHERE n <> 0 GROUP BY {STOP}"
    )
    found = {}
    for stop, inserted, deleted, a, b in spark.sql(text).collect():
        bag = BagDigest(inserted - deleted, *_halves(inserted + deleted, a, b))
        known = bag.h1 is not None
        found[stop] = Moved(inserted if known else None, deleted if known else None, bag)
    return found


def hash_order(columns: Columns) -> tuple[str, str] | None:
    """Terms that order the rows of a `named` frame the same way every time; None: there are none,
    since a type has no hash."""
    hashes = _hashes(columns)
    return None if hashes[0] == _NONE else hashes


def named(frame: DataFrame, columns: Columns) -> DataFrame:
    """The frame with columns c0, c1, …, since a query may have two of one name."""
    return _named(frame, len(columns))


_NONE = "CAST(NULL AS BIGINT)"


def _hashes(columns: Columns) -> tuple[str, str]:
    try:
        return content_hash((f"c{i}", type_) for i, (_, type_) in enumerate(columns))
    except Refused:
        return _NONE, _NONE


def _named(frame: DataFrame, count: int, *more: str) -> DataFrame:
    return frame.toDF(*(f"c{i}" for i in range(count)), *more)


def _total(hash_: str, times: str | None = None) -> str:
    value = f"CAST({hash_} AS DECIMAL(20, 0))"
    return f"SUM({value})" if times is None else f"SUM({value} * CAST({times} AS DECIMAL(18, 0)))"


def _halves(rows: int, a: object, b: object) -> tuple[int | None, int | None]:
    if not rows:
        return 0, 0
    return (None, None) if a is None or b is None else (int(a) % _MOD, int(b) % _MOD)  # type: ignore[call-overload]


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None or b is None else (a + b) % _MOD


def told(
    columns: Sequence[tuple[str, str]],
    before: Sequence[tuple[str, str]],
    same: Mapping[str, str] | None = None,
) -> str:
    """What changed of a schema, in words: `+b bigint, −c, d → e`, or "" for nothing. `same` are
    the columns that stayed, old name to new; all others stay by their names."""
    old, new = dict(before), dict(columns)
    kept = [(a, b) for a, b in (same or {}).items() if a in old and b in new]
    known = {a for a, _ in kept}, {b for _, b in kept}
    kept += [(n, n) for n in old if n in new and n not in known[0] and n not in known[1]]
    parts = [f"{a} → {b}" for a, b in kept if a != b]
    parts += [f"+{n} {t}" for n, t in columns if n not in {b for _, b in kept}]
    parts += [f"−{n}" for n, _ in before if n not in {a for a, _ in kept}]
    parts += [f"{b} {old[a]} → {new[b]}" for a, b in kept if old[a] != new[b]]
    if not parts and list(columns) != list(before):
        parts = ["reordered: " + ", ".join(n for n, _ in columns)]
    return ", ".join(parts)
