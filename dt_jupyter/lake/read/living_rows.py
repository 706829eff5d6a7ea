"""Which rows of data files no deletion vector has taken."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dt_jupyter.lake.delta_log.snapshot_files import TableSnapshot
from dt_jupyter.lake.errors import read_by_delta_rs

if TYPE_CHECKING:
    import pyarrow as pa


def read_living_rows(snapshot: TableSnapshot) -> Mapping[str, pa.BooleanArray]:
    """By the name of each file that has a deletion vector, whether its rows live."""
    import pyarrow as pa

    with read_by_delta_rs():
        found = pa.table(snapshot.table.deletion_vectors())
    vectors = zip(found["filepath"].to_pylist(), found["selection_vector"], strict=True)
    return {path.rsplit("/", 1)[-1]: vector.values for path, vector in vectors}


def living_part(living: pa.BooleanArray, first: int, count: int) -> pa.BooleanArray:
    """Of so many rows from the first on; a vector may end behind the last row that is gone."""
    import pyarrow as pa

    known = living.slice(first, count)
    return pa.concat_arrays([known, pa.repeat(True, count - len(known))])
