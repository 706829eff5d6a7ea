"""Many changes of a key to one, in columns: the combiner of a transaction.

`combine` is associative over concatenation: combining parts and then their results is
combining all (a law of the tests). Source: Flow materialization protocol, "fully-reduced view".
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error
from dt_jupyter.sinks.changes import KIND, ChangeKind
from dt_jupyter.sinks.reductions import ReduceRule, Strategy, finish_value, reduce_values

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow as pa

    from dt_jupyter.sinks.binding import Binding

    Ints = npt.NDArray[np.int64]


def read_changes(binding: Binding, batches: Iterable[pa.Table | pa.RecordBatch]) -> pa.Table:
    """One table of a binding's columns and the kind. DT-6131 for a NULL in the key, DT-6133 for a
    string that is not text, DT-6138 for a column that is missing or of a type that does not fit."""
    import pyarrow as pa

    tables = [_as_table(binding, batch) for batch in batches]
    empty = binding.schema.append(pa.field(KIND, pa.int8())).empty_table()
    return pa.concat_tables([empty, *tables])


def _as_table(binding: Binding, batch: pa.Table | pa.RecordBatch) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    columns = [_column(batch, c.name, c.type) for c in binding.columns]
    found = pa.Table.from_arrays(columns, schema=binding.schema)
    for name in found.column_names:
        _require_texts(name, found[name])
    for name in binding.key:
        if found[name].null_count:
            raise error("DT-6131", column=name)
    if KIND in batch.schema.names:
        kinds = _column(batch, KIND, pa.int8())
    else:
        kinds = pa.chunked_array([pa.array(np.zeros(batch.num_rows, np.int8))])
    return found.append_column(pa.field(KIND, pa.int8()), kinds)


def _require_texts(name: str, column: pa.ChunkedArray) -> None:
    """DT-6133 for bytes that are not UTF-8, at any depth: Spark's strings may have them."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid as e:
        problem = f"it is not a valid {column.type} ({e})"
        raise error("DT-6133", column=name, problem=f"{problem:.200}") from e


def _column(batch: pa.Table | pa.RecordBatch, name: str, kind: pa.DataType) -> Any:
    import pyarrow as pa

    if name not in batch.schema.names:
        raise error("DT-6138", column=name, problem="the source has it no more")
    found = batch.column(name)
    if isinstance(found, pa.Array):
        found = pa.chunked_array([found])
    if found.type == kind:
        return found
    try:
        return found.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
        raise error("DT-6138", column=name, problem=f"{found.type} is not {kind}") from e


def combine(binding: Binding, changes: pa.Table) -> pa.Table:
    """One row for each key, in the order of their first changes.

    DT-6130 for a key that is two rows of a source that the sink mirrors.
    """
    import numpy as np
    import pyarrow as pa

    if changes.num_rows == 0:
        return changes
    changes = changes.combine_chunks()
    codes, size = key_codes(changes.select(binding.key))
    kinds = changes[KIND].to_numpy()
    if size == len(codes) and not binding.rules:
        return changes
    numbers = np.arange(len(codes))
    reset = _last(codes, numbers, size, kinds != ChangeKind.INSERT)
    live = (numbers >= reset[codes]) & (kinds != ChangeKind.DELETE)
    last = _last(codes, numbers, size, live)
    if binding.mirrors:
        _require_unique(binding, changes, codes, live, size)
    first = _first(codes, numbers, size, live)
    keys = changes.select(binding.key).take(_first(codes, numbers, size, codes >= 0))
    found = {name: keys[name] for name in binding.key}
    for name in binding.values:
        place = {Strategy.LAST_WRITE_WINS: last, Strategy.FIRST_WRITE_WINS: first}
        rule = binding.rule(name)
        if (at := place.get(rule.strategy)) is not None:
            found[name] = _take(changes[name], at)
        else:
            found[name] = _reduced(rule, name, changes[name], codes, live, size)
    kept = np.where(reset >= 0, ChangeKind.REPLACE, ChangeKind.INSERT)
    kind = np.where(last < 0, ChangeKind.DELETE, kept).astype(np.int8)
    columns = [found[name] for name in binding.schema.names]
    return pa.Table.from_arrays([*columns, pa.array(kind)], schema=changes.schema)


def key_codes(keys: pa.Table) -> tuple[Ints, int]:
    """For each row the number of its key, dense and in the order of first appearance."""
    import numpy as np
    import pyarrow as pa

    found: Ints | None = None
    size = 1
    for column in keys.columns:
        encoded = column.combine_chunks().dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):
            encoded = encoded.combine_chunks()
        own = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if found is None:
            found, size = own, len(encoded.dictionary)
            continue
        both = pa.array(found * max(len(encoded.dictionary), 1) + own).dictionary_encode()
        found, size = both.indices.to_numpy().astype(np.int64), len(both.dictionary)
    assert found is not None
    return found, size


def _last(codes: Ints, numbers: Ints, size: int, chosen: npt.NDArray[np.bool_]) -> Ints:
    """For each key its last chosen row, -1 where there is none."""
    import numpy as np

    found = np.full(size, -1, np.int64)
    found[codes[chosen]] = numbers[chosen]
    return found


def _first(codes: Ints, numbers: Ints, size: int, chosen: npt.NDArray[np.bool_]) -> Ints:
    import numpy as np

    found = np.full(size, -1, np.int64)
    found[codes[chosen][::-1]] = numbers[chosen][::-1]
    return found


def _take(column: pa.ChunkedArray, rows: Ints) -> Any:
    """The values at rows, NULL at -1."""
    import pyarrow as pa

    return column.take(pa.array(rows, mask=rows < 0))


def _require_unique(
    binding: Binding, changes: pa.Table, codes: Ints, live: npt.NDArray[np.bool_], size: int
) -> None:
    import numpy as np

    counts = np.bincount(codes[live], minlength=size)
    if counts.max(initial=0) > 1:
        row = int(np.nonzero(live & (codes == counts.argmax()))[0][0])
        values = changes.select(binding.key).slice(row, 1).to_pylist()[0]
        example = ", ".join(f"{k} = {v!r:.80}" for k, v in values.items())
        raise error("DT-6130", key=", ".join(binding.key), example=example)


def _reduced(
    rule: ReduceRule,
    name: str,
    column: pa.ChunkedArray,
    codes: Ints,
    live: npt.NDArray[np.bool_],
    size: int,
) -> Any:
    """The column reduced by key; NULL for a key without a live row."""
    if rule.strategy in _AGGREGATES and not rule.key and not _has_nan(column):
        return _aggregated(rule, name, column, codes, live, size)
    return _folded(rule, column, codes, live, size)


_AGGREGATES = {Strategy.SUM: "sum", Strategy.MIN: "min", Strategy.MAX: "max"}


def _has_nan(column: pa.ChunkedArray) -> bool:
    """Arrow's aggregates leave NaN out; Spark's do not."""
    import pyarrow.compute as pc
    import pyarrow.types as t

    return t.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _aggregated(
    rule: ReduceRule,
    name: str,
    column: pa.ChunkedArray,
    codes: Ints,
    live: npt.NDArray[np.bool_],
    size: int,
) -> Any:
    import numpy as np
    import pyarrow as pa

    exact = _exact(column) if rule.strategy is Strategy.SUM else column
    rows = pa.table({"code": codes, "value": exact}).filter(pa.array(live))
    how = _AGGREGATES[rule.strategy]
    done = rows.group_by("code", use_threads=False).aggregate([("value", how)])
    at = np.full(size, -1, np.int64)
    at[done["code"].to_numpy()] = np.arange(done.num_rows)
    try:
        return _take(done[f"value_{how}"], at).cast(column.type)
    except pa.ArrowInvalid as e:
        problem = f"a {how} does not fit into {column.type}"
        raise error("DT-6133", column=name, problem=problem) from e


def _exact(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Numbers of a type in which their sum cannot overflow unseen."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_int64(column.type) or t.is_uint64(column.type):
        return column.cast(pa.decimal128(38, 0))
    if t.is_decimal(column.type):
        return column.cast(pa.decimal256(76, column.type.scale))
    return column


def _folded(
    rule: ReduceRule, column: pa.ChunkedArray, codes: Ints, live: npt.NDArray[np.bool_], size: int
) -> Any:
    """Value by value, for what Arrow has no aggregate."""
    import pyarrow as pa

    found: list[Any] = [None] * size
    step = functools.partial(reduce_values, rule)
    for code, value, use in zip(codes, column.to_pylist(), live, strict=True):
        if use:
            found[code] = step(found[code], value, column.type)
    return pa.array(found, column.type)


def reduce_loaded(binding: Binding, combined: pa.Table, loaded: pa.Table) -> pa.Table:
    """What the store has to hold: combined changes reduced into the rows that it had."""
    import pyarrow as pa

    before = read_changes(binding, [loaded])
    joined = pa.concat_tables([before, combined])
    return _finished(binding, combine(binding, joined))


def _finished(binding: Binding, rows: pa.Table) -> pa.Table:
    import pyarrow as pa

    for name, rule in binding.rules.items():
        if rule.strategy is Strategy.SET:
            values = [finish_value(rule, value) for value in rows[name].to_pylist()]
            at = rows.schema.get_field_index(name)
            rows = rows.set_column(at, rows.schema.field(at), pa.array(values, rows[name].type))
    return rows
