"""Literals of Spark Connect's plans: by their values and types as the JSON of a plan has them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

from dt_jupyter.plans.literal_sql import binary_sql, ddl_type, literal_sql, moment_text
from dt_jupyter.plans.no_form import NoForm

_SAME = frozenset({"byte", "short", "integer", "long", "string"})
_DAYS = 719_163
"""Python's number of the first day of 1970."""
_INTERVALS = {
    "year_month_interval": "interval year to month",
    "day_time_interval": "interval day to second",
}


def connect_literal(node: Any) -> str:
    """A literal as SQL of the same type and value. NoForm for kinds that Spark's SQL has no
    literals of (`calendar_interval`), or its server no values (`time`, `specialized_array`)."""
    kind = node.WhichOneof("literal_type")
    value: Any = getattr(node, kind) if kind else None
    if kind in _NESTED:
        told = _json(node.data_type) if node.HasField("data_type") else None
        text: str = _NESTED[kind](value, told)
        return text
    if kind in _INTERVALS:
        told = _json(node.data_type) if node.HasField("data_type") else _INTERVALS[kind]
        return literal_sql(str(value), told)
    if kind == "null":
        return literal_sql(None, _json(value))
    if kind == "binary":
        return binary_sql(value)
    if kind in _SAME:
        return literal_sql(str(value), kind)
    if kind in _TEXTS:
        return literal_sql(_TEXTS[kind](value), kind)
    if kind == "decimal":
        return _decimal(value)
    raise NoForm(f"a literal of the kind {kind}")


def type_ddl(kind: Any) -> str:
    """A type of a plan of Connect as DDL."""
    return ddl_type(_json(kind))


def _json(kind: Any) -> Any:
    from pyspark.sql.connect.types import proto_schema_to_pyspark_data_type

    return proto_schema_to_pyspark_data_type(kind).jsonValue()


def _decimal(value: Any) -> str:
    """Of at least its own digits, as the server reads it: PySpark says (10, 0) of any."""
    number = Decimal(value.value)
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise NoForm(f"a decimal of {value.value}")
    scale = max(-exponent, value.scale, 0)
    precision = max(len(digits) + max(exponent, 0), value.precision, scale)
    return literal_sql(f"{number:f}", f"decimal({precision},{scale})")


def _day(value: int) -> str:
    if not 1 <= value + _DAYS <= date.max.toordinal():
        raise NoForm("a date before the year 1 or after 9999")
    return date.fromordinal(value + _DAYS).isoformat()


def _single(value: float) -> str:
    """The shortest text of a number of four bytes, which Python holds in eight."""
    return next(
        t for t in (f"{value:.{n}g}" for n in range(6, 18)) if _to_single(float(t)) == value
    )


def _to_single(value: float) -> float:
    import struct

    found: float = struct.unpack("f", struct.pack("f", value))[0]
    return found


_TEXTS: Mapping[str, Any] = {
    "boolean": lambda v: str(v).upper(),
    "float": lambda v: repr(v) if v != v or abs(v) == float("inf") else _single(v),
    "double": repr,
    "date": _day,
    # In its own zone, so that no session reads it in another.
    "timestamp": lambda v: f"{moment_text(v)}Z",
    "timestamp_ntz": str,
}


# -- values of several ---------------------------------------------------------------------------


def _array(value: Any, told: Any) -> str:
    kind = told or {
        "type": "array", "elementType": _json(value.element_type), "containsNull": True,
    }  # fmt: skip
    items = ", ".join(map(connect_literal, value.elements))
    return f"CAST(array({items}) AS {ddl_type(kind)})"


def _map(value: Any, told: Any) -> str:
    kind = told or {
        "type": "map", "keyType": _json(value.key_type), "valueType": _json(value.value_type),
    }  # fmt: skip
    pairs = zip(value.keys, value.values, strict=True)
    items = ", ".join(connect_literal(part) for pair in pairs for part in pair)
    return f"CAST(map({items}) AS {ddl_type(kind)})"


def _struct(value: Any, told: Any) -> str:
    kind = told or _json(value.struct_type)
    pairs = zip(kind["fields"], value.elements, strict=True)
    items = ", ".join(f"{literal_sql(f['name'], 'string')}, {connect_literal(v)}" for f, v in pairs)
    return f"CAST(named_struct({items}) AS {ddl_type(kind)})"


_NESTED: Mapping[str, Any] = {"array": _array, "map": _map, "struct": _struct}

__all__ = ["connect_literal", "type_ddl"]
