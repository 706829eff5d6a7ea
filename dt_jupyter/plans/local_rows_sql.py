"""Rows at hand as VALUES: a text that holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from dt_jupyter.plans.literal_sql import binary_sql
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.sql import literal

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

MOST_LOCAL_ROWS = 1_000
"""A definition is a text, which every refresh reads."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def values_sql(rows: Iterable[Mapping[str, Any]], schema: StructType) -> str:
    """Rows of Arrow's Python values as VALUES; of none a SELECT that has none."""
    lines = [
        f"({', '.join(value_sql(v, f.dataType) for v, f in zip(r.values(), schema, strict=True))})"
        for r in rows
    ]
    if lines:
        return f"VALUES {', '.join(lines)}"
    nulls = ", ".join(value_sql(None, f.dataType) for f in schema)
    return f"(SELECT {nulls} WHERE FALSE)"


def value_sql(value: Any, kind: DataType) -> str:
    """One value as an expression of exactly the type."""
    ddl = kind.simpleString()
    if value is None:
        return f"CAST(NULL AS {ddl})"
    name = kind.typeName()
    if name in ("array", "map", "struct"):
        return f"CAST({_nested(value, kind)} AS {ddl})"
    if name == "timestamp":
        return f"timestamp_micros({(value - _EPOCH) // timedelta(microseconds=1)})"
    if name == "binary":
        return binary_sql(value)
    if name in ("string", "varchar", "char"):
        return literal(value) if ddl == "string" else f"CAST({literal(value)} AS {ddl})"
    if name in ("byte", "short", "integer", "long", "boolean"):
        return f"CAST({value} AS {ddl})"
    if name in ("float", "double", "decimal", "date", "timestamp_ntz"):
        return f"CAST({literal(str(value))} AS {ddl})"
    raise NoForm(f"rows with values of type {ddl}")


def _nested(value: Any, kind: Any) -> str:
    if kind.typeName() == "array":
        return f"array({', '.join(value_sql(v, kind.elementType) for v in value)})"
    if kind.typeName() == "map":
        pairs = value.items() if isinstance(value, Mapping) else value
        texts = (
            t for k, v in pairs for t in (value_sql(k, kind.keyType), value_sql(v, kind.valueType))
        )
        return f"map({', '.join(texts)})"
    fields = (f"{literal(f.name)}, {value_sql(value[f.name], f.dataType)}" for f in kind.fields)
    return f"named_struct({', '.join(fields)})"
