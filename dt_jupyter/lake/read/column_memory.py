"""Columns in little memory, and how much they take."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import pyarrow as pa

COLUMN_BYTES = 750
"""What a column takes in addition to its values: measured with tables of 10 to 200 columns."""
TEXT_BYTES = 32
"""What a text is taken to need."""
PLACE_BYTES = 4
"""Bytes of a text's place in a dictionary."""
_PLACES_OF_1_BYTE = 127
SHORT = -(2**31), 2**31 - 1
"""Integers from the one to the other are kept in four bytes."""
_DIGITS_OF_4_BYTES, _DIGITS_OF_8_BYTES = 9, 18
_K = TypeVar("_K")
_V = TypeVar("_V")


def pack(values: pa.Array) -> pa.Array:
    """The values as they are kept: in as few bytes as they need."""
    import pyarrow as pa
    import pyarrow.compute as pc

    type_ = packed_type(values.type)
    if pa.types.is_dictionary(type_):
        index = pa.int8() if len(values.dictionary) <= _PLACES_OF_1_BYTE else type_.index_type
        type_ = pa.dictionary(index, type_.value_type)
    elif type_ == pa.int64():
        ends = pc.min_max(values).as_py()
        if ends["min"] is not None and SHORT[0] <= ends["min"] <= ends["max"] <= SHORT[1]:
            type_ = pa.int32()
    return values if type_ == values.type else values.cast(type_)


def packed_type(type_: pa.DataType) -> pa.DataType:
    """In which values are kept at most: decimals of few digits in four or eight bytes."""
    import pyarrow as pa

    if not pa.types.is_decimal128(type_) or type_.precision > _DIGITS_OF_8_BYTES:
        return type_
    small = pa.decimal32 if type_.precision <= _DIGITS_OF_4_BYTES else pa.decimal64
    return small(type_.precision, type_.scale)


def unpack(values: pa.Array, type_: pa.DataType) -> pa.Array:
    """Values as they are requested: without a dictionary, and decimals in Spark's own type."""
    import pyarrow as pa

    if isinstance(values, pa.DictionaryArray):
        return values.dictionary_decode()
    return values if values.type == type_ else values.cast(type_)


def row_width(schema: pa.Schema) -> int | None:
    """The bytes of a row in memory, about; None with a nested column."""
    widths = [_width(t) for t in schema.types]
    return None if None in widths else sum(w or 0 for w in widths)


def _width(type_: pa.DataType) -> int | None:
    """The bytes of a value in memory, a text's by a guess; None for a nested one."""
    from pyarrow import types as t

    if t.is_nested(type_):
        return None
    if t.is_primitive(type_) or t.is_decimal(type_):
        bits: int = type_.bit_width
        return -(-bits // 8)
    return TEXT_BYTES


def table_bytes(rows: pa.Table) -> int:
    """The memory of a table, one chunk or many."""
    chunks = sum(max(1, c.num_chunks) for c in rows.columns)
    size: int = rows.nbytes + COLUMN_BYTES * chunks
    return size


def put(kept: OrderedDict[_K, _V], key: _K, value: _V, most: int) -> None:
    """Keeps a value as the newest; of more than `most` the oldest go."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)
