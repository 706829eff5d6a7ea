"""Which task a key belongs to: a hash that is the same in every process and release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from dt_jupyter.sinks.binding import HashRange


def rows_in(
    range_: HashRange, key: Sequence[str], rows: pa.Table | pa.RecordBatch
) -> pa.Table | pa.RecordBatch:
    """The rows whose keys hash into a range; all of them for the whole one."""
    import pyarrow as pa

    if range_.whole:
        return rows
    found = key_hashes(pa.table({name: rows.column(name) for name in key}))
    return rows.filter(pa.array((found >= range_.begin) & (found <= range_.end)))


def key_hashes(keys: pa.Table) -> npt.NDArray[np.uint64]:
    """For each row a number of 32 bits: pandas' hash with its fixed key, of each column's text
    (so that a column that is widened stays in the same tasks)."""
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    frame = pd.DataFrame(
        {i: column.cast(pa.string()).to_pandas() for i, column in enumerate(keys.columns)}
    )
    wide: npt.NDArray[np.uint64]
    wide = pd.util.hash_pandas_object(frame, index=False).to_numpy(np.uint64)
    return wide >> np.uint64(32)
