"""Values and names that stores are known to spoil."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

_TZ, _NTZ = pa.timestamp("us", "UTC"), pa.timestamp("us")
_NESTED = pa.struct([("a", pa.list_(pa.int64())), ("b", pa.decimal128(38, 18)), ("t", _TZ)])
_MOMENTS = (
    datetime(1, 1, 1),
    datetime(1582, 10, 10, 12),
    datetime(1969, 12, 31, 23, 59, 59, 999999),
    datetime(2026, 3, 29, 2, 30, 0, 123456),
    datetime(9999, 12, 31, 23, 59, 59, 999999),
)
_LARGE = Decimal("9" * 20 + "." + "9" * 18)
_STRUCT = {"a": [1, None], "b": Decimal("1E-18"), "t": datetime(2026, 1, 1, 5, tzinfo=UTC)}
_TEXTS = ["", " ", "\\N", "NULL", 'a"b', "a'b", "a,b\n\r\tc", "\\", "é", "\u202eabc", "🚆", "=1+1"]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "null": (pa.string(), [None]),
    "bool": (pa.bool_(), [True, False]),
    "byte": (pa.int8(), [-128, 127]),
    "short": (pa.int16(), [-(2**15), 2**15 - 1]),
    "int": (pa.int32(), [-(2**31), 2**31 - 1]),
    "long": (pa.int64(), [-(2**63), 2**63 - 1]),
    "negative zero": (pa.float64(), [-0.0]),
    "float": (pa.float32(), [1.5, float("inf"), float("-inf")]),
    "double": (pa.float64(), [0.1, 1e308, 5e-324, float("inf"), float("-inf")]),
    "nan": (pa.float64(), [float("nan")]),
    "decimal": (pa.decimal128(38, 18), [Decimal("1E-18"), _LARGE]),
    "whole": (pa.decimal128(38, 0), [Decimal("-" + "9" * 38)]),
    "text": (pa.string(), _TEXTS),
    "long text": (pa.string(), ["x" * 1_000_000]),
    "nul": (pa.string(), ["a\0b"]),
    "nested nul": (pa.list_(pa.string()), [["a\0b"]]),
    "binary": (pa.binary(), [b"", b"\0\xff\\x", bytes(range(256))]),
    "date": (pa.date32(), [m.date() for m in _MOMENTS]),
    "timestamp": (_TZ, [m.replace(tzinfo=UTC) for m in _MOMENTS]),
    "timestamp_ntz": (_NTZ, list(_MOMENTS)),
    "array": (pa.list_(pa.string()), [[], ["a", None, '"'], ["{}"]]),
    "map": (pa.map_(pa.string(), pa.int64()), [[], [("a", 1), ("b", None)]]),
    "struct": (_NESTED, [_STRUCT]),
    "nested nan": (pa.list_(pa.float64()), [[float("nan"), float("inf"), 1.5]]),
}  # fmt: skip

NAMES = {
    "quote": 'a"b',
    "backtick": "a`b",
    "apostrophe": "a'b",
    "injection": "x'); drop table t;--",
    "markup": "<img src=x onerror=alert(1)>",
    "reserved": "select",
    "blanks": " a b ",
    "percent": "100%s?",
    "path": "../../etc",
    "slash": "a/b",
    "backslash": "a\\b",
    "newline": "a\nb",
    "nul": "a\0b",
    "empty": "",
    "surrogate": "a\ud800",
    "direction": "a\u202eb",
    "letters": "ähnlich🚆",
    "63 bytes": "x" * 63,
    "64 bytes": "x" * 64,
    "2000 bytes": "x" * 2000,
    "brace": "{0}",
}
