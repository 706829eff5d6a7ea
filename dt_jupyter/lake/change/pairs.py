"""Rows with weights, less those that were inserted and deleted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dt_jupyter.model.hidden import WEIGHT

if TYPE_CHECKING:
    import pyarrow as pa


def paired_off(rows: pa.Table) -> pa.Table:
    """Rows of weight ±1 without those that are in it with both weights, copy by copy."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pc.min_max(rows[WEIGHT]).as_py()
    if ends["min"] == ends["max"]:
        return rows
    content = [c for c in rows.column_names if c != WEIGHT]
    if not any(pa.types.is_nested(t) for t in rows.select(content).schema.types):
        return _viewed(_paired_off_by_group(_with_bits(rows), content), rows.schema.types)
    weights = rows[WEIGHT].to_pylist()
    net: dict[str, int] = {}
    texts = [repr(row) for row in rows.select(content).to_pylist()]
    for text, weight in zip(texts, weights, strict=True):
        net[text] = net.get(text, 0) + weight
    kept = []
    for i, (text, weight) in enumerate(zip(texts, weights, strict=True)):
        if net[text] * weight > 0:
            net[text] -= weight
            kept.append(i)
    return rows.take(pa.array(kept, pa.int64()))


def _paired_off_by_group(rows: pa.Table, content: list[str]) -> pa.Table:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    groups = rows.group_by(content, use_threads=False).aggregate([(WEIGHT, "sum")])
    net = np.array(groups.column(len(content)))
    left = groups.take(np.repeat(np.arange(len(net)), np.abs(net)))
    found = {**dict(zip(content, left.columns, strict=False)), WEIGHT: pc.sign(left[-1])}
    return pa.Table.from_arrays([found[n] for n in rows.column_names], schema=rows.schema)


def _with_bits(rows: pa.Table) -> pa.Table:
    """With numbers of the same bits in place of floats, which Arrow does not group by exact
    bytes."""
    import pyarrow as pa

    bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}
    return _viewed(rows, [bits.get(t, t) for t in rows.schema.types])


def _viewed(rows: pa.Table, types: Sequence[pa.DataType]) -> pa.Table:
    """The same bytes as columns of other types."""
    import pyarrow as pa

    columns = [
        c if c.type == t else pa.chunked_array([part.view(t) for part in c.chunks], t)
        for c, t in zip(rows.columns, types, strict=True)
    ]
    return pa.Table.from_arrays(columns, names=rows.column_names)
