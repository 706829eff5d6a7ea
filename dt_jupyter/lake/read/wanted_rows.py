"""Rows that are wanted by the values of a column, or between two of them, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.key_ranges import KeyRange
from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.read.column_memory import SHORT, unpack
from dt_jupyter.lake.read.key_index import KeyIndex, as_numbers
from dt_jupyter.lake.read.narrowing import ranges_of
from dt_jupyter.lake.read.table_files import VersionFile

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from dt_jupyter.lake.delta_log.deletion_vectors import Places


@dataclass(frozen=True)
class WantedRows:
    """Those whose `column` is one of the values, and with `nulls` those where it is NULL; of those
    outside of a range some may be left out."""

    column: str
    values: pa.Array
    nulls: bool
    ranges: Sequence[KeyRange] = ()

    def within(self, metadata: Metadata) -> WantedRows:
        """The same rows, by the ranges of a table's files that may have some."""
        import pyarrow as pa

        ranges = ranges_of(metadata, pa.table({self.column: self.values}))
        return replace(self, ranges=[replace(r, nulls=self.nulls) for r in ranges])

    def are_in(self, values: pa.Array | pa.ChunkedArray) -> pa.BooleanArray | pa.ChunkedArray:
        """Which values of the column are wanted."""
        return are_among(values, self.values, nulls=self.nulls)

    @cached_property
    def in_order(self) -> np.typing.NDArray[np.integer]:
        """Integers, or days, in order."""
        import numpy as np

        return np.unique(as_numbers(self.values))

    def in_type_of(self, keys: pa.Array) -> WantedRows:
        """The same rows, by values of the type in which the keys are kept."""
        import pyarrow as pa

        packed = keys.type == pa.int32() and self.values.type == pa.int64()
        return self._short if packed else self

    @cached_property
    def _short(self) -> WantedRows:
        import pyarrow as pa
        import pyarrow.compute as pc

        least, most = (pa.scalar(end, pa.int64()) for end in SHORT)
        fit = pc.and_(pc.greater_equal(self.values, least), pc.less_equal(self.values, most))
        return replace(self, values=self.values.filter(fit).cast(pa.int32()))

    @cached_property
    def digest(self) -> bytes:
        """The same for the same values, in any order."""
        import pyarrow.compute as pc

        values = self.values.take(pc.sort_indices(self.values))
        found = blake2b(str(values.type).encode())
        for buffer in values.buffers():
            found.update(buffer or b"-")
        return found.digest()


@dataclass(frozen=True)
class ValueInterval:
    """Values of a comparable type from `least` to `most`, both among them; None: there is no such
    end. With `nulls` NULL is one of them."""

    least: pa.Scalar | None
    most: pa.Scalar | None
    nulls: bool = False

    @property
    def is_bounded(self) -> bool:
        return self.least is not None and self.most is not None

    def holds(self, values: pa.Array | pa.ChunkedArray) -> pa.BooleanArray | pa.ChunkedArray:
        """Which values are in it."""
        import pyarrow.compute as pc

        found = pc.is_valid(values)
        if self.least is not None:
            found = pc.and_(found, pc.fill_null(pc.greater_equal(values, self.least), False))
        if self.most is not None:
            found = pc.and_(found, pc.fill_null(pc.less_equal(values, self.most), False))
        return pc.or_(found, pc.is_null(values)) if self.nulls else found


@dataclass(frozen=True)
class RowsBetween:
    """Those whose `column` is in the interval; of those outside of a range some may be left out."""

    column: str
    interval: ValueInterval
    ranges: Sequence[KeyRange] = ()

    def within(self, metadata: Metadata) -> RowsBetween:
        """The same rows, by the ranges of a table's files that may have some."""
        import pyarrow as pa

        least, most = self.interval.least, self.interval.most
        if least is None or most is None:
            return self
        ends = pa.array([least.as_py(), most.as_py()], least.type)
        ranges = ranges_of(metadata, pa.table({self.column: ends}))
        return replace(self, ranges=[replace(r, nulls=self.interval.nulls) for r in ranges])

    def are_in(self, values: pa.Array | pa.ChunkedArray) -> pa.BooleanArray | pa.ChunkedArray:
        """Which values of the column are wanted."""
        return self.interval.holds(values)

    def find(self, keys: pa.Array, type_: pa.DataType) -> pa.Array:
        """Where they are in a column of the type, whose values are packed."""
        import pyarrow.compute as pc

        return pc.indices_nonzero(self.are_in(unpack(keys, type_)))


RowSelection = WantedRows | RowsBetween


@dataclass(frozen=True)
class FoundRows:
    """Rows of a file: their places in it, and some of their columns."""

    file: VersionFile
    places: Places
    values: pa.Table


def search(keys: pa.Array, wanted: WantedRows) -> pa.Array:
    """Where the wanted values are."""
    import pyarrow.compute as pc

    values = wanted.in_type_of(keys).values
    return pc.indices_nonzero(are_among(keys, values, nulls=wanted.nulls))


def look_up(index: KeyIndex, keys: pa.Array, wanted: WantedRows) -> pa.Array:
    """Where the wanted values are, by their order."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    places = index.find(wanted.in_type_of(keys).in_order)
    if wanted.nulls and keys.null_count:
        nulls = np.array(pc.indices_nonzero(pc.is_null(keys)), np.int64)
        places = np.sort(np.concatenate([places, nulls]))
    return pa.array(places, pa.uint64())


def are_among(
    values: pa.Array | pa.ChunkedArray, wanted: pa.Array, *, nulls: bool
) -> pa.BooleanArray | pa.ChunkedArray:
    """Which values are wanted; NULL is with `nulls` alone."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(values, pa.DictionaryArray):
        found = pc.is_in(values.dictionary, value_set=wanted, skip_nulls=True)
        found = pc.fill_null(found.take(values.indices), False)
    else:
        found = pc.is_in(values, value_set=wanted, skip_nulls=True)
    return pc.or_(found, pc.is_null(values)) if nulls else found
