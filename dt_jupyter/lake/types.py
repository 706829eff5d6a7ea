"""Delta's types as Arrow's, and which of them may travel outside Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.delta_log.type_changes import PHYSICAL, DeltaType
from dt_jupyter.lake.errors import NotSupported

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyspark.sql.types import StructType

_DOUBLE_DIGITS = 15
_NULLS = frozenset(("nullable", "containsNull", "valueContainsNull"))
FLOATS = frozenset(("float", "double"))
_COLLATIONS = "__COLLATIONS"
_SPECIAL = (
    _COLLATIONS,
    "__CHAR_VARCHAR_TYPE_STRING",
    "delta.generationExpression",
    "delta.identity.start",
)
_COMPARABLE = frozenset({"byte", "short", "integer", "long", "date", "string"})
_COMPARED = frozenset(_SPECIAL[:2])
"""What a column's metadata says where `=` is not that of its type."""


def arrow_schema(fields: Iterable[Mapping[str, Any]]) -> pa.Schema:
    """The Arrow schema of columns given as in a Delta schema's JSON.

    Raises NotSupported for types whose way through Arrow and delta-rs is not proved: variant,
    intervals, collated or length-bound strings, and anything new.
    """
    import pyarrow as pa

    return pa.schema([pa.field(f["name"], _arrow(f)) for f in fields])


CHAR_TYPE = "__CHAR_VARCHAR_TYPE_STRING"
"""Where the metadata of a column of strings has its declared type."""


def spark_schema(fields: Iterable[Mapping[str, Any]], *, declared: bool = False) -> StructType:
    """The same columns as Spark's schema, every one of them nullable. With `declared` their
    metadata says which are CHAR or VARCHAR, and strings have their collation."""
    from pyspark.sql.types import StructField, StructType

    given = list(fields)
    kept = (_COLLATIONS,) if declared else ()
    typed = StructType.fromJson({"fields": strip_metadata(given, kept)})
    kinds = [f.get("metadata", {}).get(CHAR_TYPE) if declared else None for f in given]
    return StructType(
        [
            StructField(f.name, f.dataType, metadata={CHAR_TYPE: k} if k else None)
            for f, k in zip(typed.fields, kinds, strict=True)
        ]
    )


def stored_schema(metadata: Metadata) -> StructType:
    """A table's schema as its log has it. Spark would first make a snapshot, by jobs where no
    checksum is."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(metadata.schema_string))


def strip_metadata(node: Any, kept: Collection[str] = ()) -> Any:
    """Fields of the schema's JSON without what the log keeps in its metadata, but the `kept`
    keys."""
    if isinstance(node, Mapping):
        return {
            k: {m: t for m, t in v.items() if m in kept}
            if k == "metadata"
            else strip_metadata(v, kept)
            for k, v in node.items()
        }
    return [strip_metadata(n, kept) for n in node] if isinstance(node, list | tuple) else node


def allow_nulls(node: Any) -> Any:
    """Fields of the schema's JSON with NULL allowed in every part: as Delta makes it of a query,
    whatever the query's own parts may be."""
    if isinstance(node, Mapping):
        return {
            k: True if k in _NULLS else v if k == "metadata" else allow_nulls(v)
            for k, v in node.items()
        }
    return [allow_nulls(n) for n in node] if isinstance(node, list | tuple) else node


def fields_named(metadata: Metadata, columns: Iterable[str]) -> list[Mapping[str, Any]]:
    """The columns' fields, named as requested; names match without regard to case."""
    known = {f["name"].lower(): f for f in metadata.fields}
    return [{**known[c.lower()], "name": c} for c in columns]


def _arrow(field: Mapping[str, Any]) -> pa.DataType:
    special = [m for m in _SPECIAL if m in field.get("metadata", {})]
    if special:
        raise NotSupported(f"column {field['name']} carries {special[0]}", column=field["name"])
    return _arrow_type(field["type"])


def _arrow_type(type_: DeltaType) -> pa.DataType:
    import pyarrow as pa

    if isinstance(type_, dict):
        return _nested(type_)
    if type_.startswith("decimal("):
        precision, _, scale = type_[8:-1].partition(",")
        return pa.decimal128(int(precision), int(scale))
    make = _plain().get(type_)
    if make is None:
        raise NotSupported(f"type {type_} does not travel outside Spark", type=type_)
    return make()


def _nested(type_: Mapping[str, Any]) -> pa.DataType:
    import pyarrow as pa

    if type_["type"] == "struct":
        return pa.struct([pa.field(f["name"], _arrow(f)) for f in type_["fields"]])
    if type_["type"] == "array":
        return pa.list_(_arrow_type(type_["elementType"]))
    if type_["type"] == "map":
        return pa.map_(_arrow_type(type_["keyType"]), _arrow_type(type_["valueType"]))
    raise NotSupported(f"type {type_['type']} does not travel outside Spark", type=type_["type"])


def _plain() -> dict[str, Callable[[], pa.DataType]]:
    import pyarrow as pa

    return {
        "boolean": pa.bool_, "byte": pa.int8, "short": pa.int16, "integer": pa.int32,
        "long": pa.int64, "float": pa.float32, "double": pa.float64, "string": pa.string,
        "binary": pa.binary, "date": pa.date32, "timestamp": partial(pa.timestamp, "us", "UTC"),
        "timestamp_ntz": partial(pa.timestamp, "us"),
    }  # fmt: skip


def leaves(type_: DeltaType, path: str) -> Iterable[tuple[str, str]]:
    """(path, type) of the leaves of a type; the path is dotted as Parquet has it."""
    if not isinstance(type_, dict):
        yield path, type_
    elif type_["type"] == "struct":
        for f in type_["fields"]:
            yield from leaves(f["type"], f"{path}.{f['name']}")
    elif type_["type"] == "array":
        yield from leaves(type_["elementType"], f"{path}.list.element")
    elif type_["type"] == "map":
        yield from leaves(type_["keyType"], f"{path}.key_value.key")
        yield from leaves(type_["valueType"], f"{path}.key_value.value")


def plain_type(field: Mapping[str, Any]) -> str | None:
    """A column's type where `=` compares its values as they are; None for nested ones, collated
    and length-bound strings."""
    if _COMPARED & field["metadata"].keys() or not isinstance(field["type"], str):
        return None
    return field["type"]


def is_comparable(kind: str) -> bool:
    """A plain type whose values Arrow compares as Spark does: no floats, which have NaN and two
    zeros."""
    return kind in _COMPARABLE or kind.startswith("decimal(")


def stored_name(field: Mapping[str, Any]) -> str:
    """A column's name in its files: with column mapping that is not the table's."""
    return str(field["metadata"].get(PHYSICAL, field["name"]))


def is_inexact(kind: str) -> bool:
    """A plain type whose values delta-rs cannot bound in a commit's statistics, which it takes
    through a double: floats (NaN is left out), decimals of more than 15 digits."""
    long = kind.startswith("decimal(") and int(kind[8:].split(",", maxsplit=1)[0]) > _DOUBLE_DIGITS
    return long or kind in FLOATS


def contains(
    metadata: Metadata, wanted: frozenset[str], columns: Iterable[str] | None = None
) -> bool:
    """Whether any of the columns has a leaf of the wanted types."""
    fields = metadata.fields if columns is None else fields_named(metadata, columns)
    return any(kind in wanted for f in fields for _, kind in leaves(f["type"], f["name"]))


def int96(files: Iterable[str | Path]) -> str | None:
    """Why the Parquet files (paths) must be left to Spark: one stores a timestamp as INT96, or
    is gone; None: none is."""
    import pyarrow.parquet as pq

    for file in files:
        try:
            schema = pq.read_metadata(file).schema
        except FileNotFoundError:
            return f"the file {file} is missing"
        if stores_int96(schema):
            return INT96
    return None


INT96 = "a timestamp is stored as INT96"


def stores_int96(schema: pq.ParquetSchema) -> bool:
    """Whether a Parquet file of the schema stores a timestamp in the old way."""
    return any(schema.column(i).physical_type == "INT96" for i in range(len(schema)))
