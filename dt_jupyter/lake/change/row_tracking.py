"""The change of a table with row tracking, read without Spark: of the added and removed files only
the rows that differ.

A file with one updated row is removed and added as a whole. Its other rows have the same id and the
same contents on both sides, so they are found, and left out, before anything is sent to Spark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.change.feed import FeedScan, scan_of
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.model.hidden import TRACKED_ID, WEIGHT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

"""The column of a change's rows that has Delta's row ids, where they were requested."""
_MATERIALIZED = "delta.rowTracking.materializedRowIdColumnName"


def tracked_table(log: TableLog, first: int, last: int, columns: Sequence[str]) -> pa.Table:
    """The net change of the commits first … last: `columns` in Delta's own types, the row ids as
    `__dt_row_id`, and `__dt_w`. The table has no column mapping.

    Raises NotSupported for what is left to Spark: deletion vectors, nested columns, files whose
    ids the log does not give; and what Arrow and the operating system raise.
    """
    import pyarrow as pa

    changes = log.file_changes(first, last)
    metadata = log.metadata(last)
    name = metadata.configuration.get(_MATERIALIZED)
    actions = (*changes.removed, *changes.added)
    if name is None or any("baseRowId" not in a for a in actions):
        raise NotSupported("the log does not give the rows' ids", path=str(log.path))
    if any("deletionVector" in a for a in actions):
        raise NotSupported("a file has a deletion vector", path=str(log.path))
    scan = scan_of(log, last, columns, actions)
    if scan is None:
        raise NotSupported("a column is nested", path=str(log.path))
    old, new = (_with_ids(scan, name, files) for files in (changes.removed, changes.added))
    old, new = _different(old, new)
    parts = [
        t.append_column(WEIGHT, pa.repeat(pa.scalar(w, pa.int64()), len(t)))
        for t, w in ((new, 1), (old, -1))
    ]
    found = pa.concat_tables(parts).combine_chunks()
    return found.rename_columns([*columns, TRACKED_ID, WEIGHT])


def _with_ids(scan: FeedScan, name: str, files: Sequence[Mapping[str, Any]]) -> pa.Table:
    """The rows of the files, their ids in the last column: what a file stores of them, else the
    row's place in the file, counted from what the log says."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = pa.schema([*scan.schema, pa.field(name, pa.int64())])
    parts = [schema.empty_table()]
    for file in files:
        rows = scan.file(file, schema).cast(schema)
        base = int(file["baseRowId"])
        places = pa.array(np.arange(base, base + len(rows)))
        parts.append(rows.set_column(len(schema) - 1, name, pc.coalesce(rows[name], places)))
    return pa.concat_tables(parts)


def _different(old: pa.Table, new: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Both without the rows that are surely the same, id and contents. Floats are compared by
    their bits: what is left in although it is equal is not an error. A row that an OPTIMIZE moved
    within the interval may be on a side twice: then all are left in, and add up further on."""
    import numpy as np
    import pyarrow as pa

    ids = [t.column(t.num_columns - 1).to_numpy() for t in (old, new)]
    if not len(old) or not len(new) or any(len(np.unique(i)) < len(i) for i in ids):
        return old, new
    here, there = _pairs(*ids)
    same = np.ones(len(here), dtype=bool)
    for a, b in zip(old.columns[:-1], new.columns[:-1], strict=True):
        same &= _equal(a.take(pa.array(here)), b.take(pa.array(there)))
    return _without(old, here[same]), _without(new, there[same])


def _pairs(
    old: npt.NDArray[np.int64], new: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The places of equal ids on both sides; ids are different within a side."""
    import numpy as np

    by_old, by_new = np.argsort(old, kind="stable"), np.argsort(new, kind="stable")
    sorted_new = new[by_new]
    at = np.minimum(np.searchsorted(sorted_new, old[by_old]), len(new) - 1)
    found = sorted_new[at] == old[by_old]
    return by_old[found], by_new[at[found]]


def _equal(a: pa.ChunkedArray, b: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_floating(a.type):
        bits = pa.int32() if a.type.bit_width == 32 else pa.int64()
        a, b = a.combine_chunks().view(bits), b.combine_chunks().view(bits)
    nulls = pc.and_(pc.is_null(a), pc.is_null(b))
    equal = pc.or_(pc.fill_null(pc.equal(a, b), False), nulls)
    return equal.to_numpy(zero_copy_only=False)  # type: ignore[no-any-return]


def _without(rows: pa.Table, places: npt.NDArray[np.int64]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    kept = np.ones(len(rows), dtype=bool)
    kept[places] = False
    return rows.filter(pa.array(kept))
