"""Types as SQL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dt_jupyter.model import is_word, quote

if TYPE_CHECKING:
    from pyspark.sql.types import DataType


_WHOLE = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint"}


def type_text_of(described: Any) -> str:
    """What `type_text` says of a type as Spark writes it in JSON."""
    if not isinstance(described, dict):
        return _WHOLE.get(described, str(described))
    from pyspark.sql.types import StructType

    field = {"name": "c", "type": described, "nullable": True, "metadata": {}}
    return type_text(StructType.fromJson({"fields": [field]}).fields[0].dataType)


def type_text(kind: DataType) -> str:
    """What `simpleString` says, with the names of fields quoted that are not words: SQL has them
    only so."""
    from pyspark.sql.types import ArrayType, MapType, StructType

    if isinstance(kind, ArrayType):
        return f"array<{type_text(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{type_text(kind.keyType)},{type_text(kind.valueType)}>"
    if isinstance(kind, StructType):
        fields = (
            f"{f.name if is_word(f.name) else quote(f.name)}:{type_text(f.dataType)}"
            for f in kind.fields
        )
        return f"struct<{','.join(fields)}>"
    return kind.simpleString()
