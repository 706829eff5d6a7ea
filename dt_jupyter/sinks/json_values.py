"""Arrow columns as JSON and back, by type: nothing is lost that the type can hold.

| type | JSON |
| --- | --- |
| bool, int, string | as it is |
| float | a number; "NaN", "Infinity", "-Infinity" |
| decimal | a string of its digits |
| binary | a string, base64 |
| date, timestamp | a string, ISO 8601; UTC ends with Z |
| list, struct | an array, an object |
| map | an array of [key, value] |
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Convert = Callable[[Any], Any]


def to_json_values(column: pa.ChunkedArray) -> list[Any]:
    """What `json.dumps` takes, value by value."""
    import pyarrow as pa
    import pyarrow.types as t

    kind = column.type
    if t.is_temporal(kind):
        column = column.cast(pa.string())
        values = column.to_pylist()
        if t.is_timestamp(kind):
            return [None if v is None else v.replace(" ", "T") for v in values]
        return list(values)
    convert = _encoder(kind)
    values = column.to_pylist()
    return list(values) if convert is None else [None if v is None else convert(v) for v in values]


def from_json_values(values: list[Any], kind: pa.DataType) -> pa.Array:
    """The column again; ValueError or ArrowInvalid for what is not of the type."""
    import pyarrow as pa
    import pyarrow.types as t

    if t.is_temporal(kind):
        return _temporal(pa.array(values, pa.string()), kind)
    convert = _decoder(kind)
    if convert is not None:
        values = [None if v is None else convert(v) for v in values]
    return pa.array(values, kind)


def _temporal(texts: Any, kind: pa.DataType) -> pa.Array:
    """Arrow reads a text without a zone only as a timestamp without one."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.types as t

    if t.is_timestamp(kind) and kind.tz is not None:
        plain = pc.replace_substring_regex(texts, "Z$", "")
        return plain.cast(pa.timestamp(kind.unit)).cast(pa.timestamp(kind.unit, "UTC")).cast(kind)
    return texts.cast(kind)


def json_texts(column: pa.ChunkedArray) -> list[str | None]:
    """One JSON text a value."""
    values = to_json_values(column)
    return [None if v is None else json.dumps(v, ensure_ascii=False) for v in values]


def from_json_texts(texts: list[str | None], kind: pa.DataType) -> pa.Array:
    return from_json_values([None if v is None else json.loads(v) for v in texts], kind)


def _encoder(kind: pa.DataType) -> Convert | None:
    """None where a value is its own JSON."""
    import pyarrow.types as t

    if t.is_floating(kind):
        return _float_to_json
    if t.is_decimal(kind):
        return lambda v: format(v, "f")
    if t.is_binary(kind) or t.is_large_binary(kind):
        return lambda v: base64.b64encode(v).decode()
    if t.is_temporal(kind):
        return lambda v: v.isoformat().replace("+00:00", "Z")
    if t.is_map(kind):
        key, item = _whole(_encoder(kind.key_type)), _whole(_encoder(kind.item_type))
        return lambda v: [[key(a), item(b)] for a, b in v]
    if t.is_list(kind) or t.is_large_list(kind):
        inner = _whole(_encoder(kind.value_type))
        return lambda v: [inner(e) for e in v]
    if t.is_struct(kind):
        fields = {f.name: _whole(_encoder(f.type)) for f in kind}
        return lambda v: {name: convert(v[name]) for name, convert in fields.items()}
    return None


def _decoder(kind: pa.DataType) -> Convert | None:
    import datetime
    import decimal

    import pyarrow.types as t

    if t.is_floating(kind):
        return float
    if t.is_decimal(kind):
        return lambda v: decimal.Decimal(str(v))
    if t.is_binary(kind) or t.is_large_binary(kind):
        return lambda v: base64.b64decode(v, validate=True)
    if t.is_date(kind):
        return datetime.date.fromisoformat
    if t.is_timestamp(kind):
        return datetime.datetime.fromisoformat
    if t.is_map(kind):
        key, item = _whole(_decoder(kind.key_type)), _whole(_decoder(kind.item_type))
        return lambda v: [(key(a), item(b)) for a, b in v]
    if t.is_list(kind) or t.is_large_list(kind):
        inner = _whole(_decoder(kind.value_type))
        return lambda v: [inner(e) for e in v]
    if t.is_struct(kind):
        fields = {f.name: _whole(_decoder(f.type)) for f in kind}
        return lambda v: {name: convert(v.get(name)) for name, convert in fields.items()}
    return None


def _whole(convert: Convert | None) -> Convert:
    """NULL stays NULL inside of a nested value."""
    if convert is None:
        return lambda v: v
    return lambda v: None if v is None else convert(v)


def _float_to_json(value: float) -> Any:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
