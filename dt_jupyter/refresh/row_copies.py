"""Rows of equal content, identified in Arrow: which are distinct, and which copies of them go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.model.hidden import HASH, STORED_ID, WEIGHT

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray


def count_distinct(keys: pa.Table) -> int:
    """How many different rows there are; Arrow itself does not group by lists and structs."""
    import pyarrow as pa

    if any(pa.types.is_nested(f.type) for f in keys.schema):
        return len({repr(row) for row in keys.to_pylist()})
    return int(keys.group_by(keys.column_names).aggregate([]).num_rows)


def newest_copies(found: pa.Table, gone: pa.Table) -> pa.Table:
    """Of the rows with a deleted content, as many of the newest as its weight says.

    `found` has row ids and hashes, `gone` hashes, each pair once, and negative weights.
    """
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    ordered = found.sort_by([(c, "descending") for c in STORED_ID])
    contents = contents_of(ordered, gone)
    copies = pd.Series(contents).groupby(contents).cumcount().to_numpy()
    wanted = -gone[WEIGHT].to_numpy()
    return ordered.take(pa.array(np.flatnonzero((contents >= 0) & (copies < wanted[contents]))))


def contents_of(rows: pa.Table, gone: pa.Table) -> NDArray[np.int64]:
    """By row, which of `gone` has its hashes; -1 for none."""
    import pandas as pd

    known, asked = (
        pd.MultiIndex.from_arrays([t[h].to_numpy() for h in HASH]) for t in (gone, rows)
    )
    found: NDArray[np.int64] = known.get_indexer(asked)
    return found


def is_exact(schema: pa.Schema) -> bool:
    """Whether rows of equal hashes are the same to the byte: floats that are equal need not be."""
    from pyarrow import types as t

    return not any(t.is_floating(kind) or t.is_nested(kind) for kind in schema.types)
