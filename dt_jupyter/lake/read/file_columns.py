"""The columns of a table as they are in its data files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dt_jupyter.lake.delta_log.metadata import Metadata
from dt_jupyter.lake.errors import NotSupported
from dt_jupyter.lake.types import arrow_schema, fields_named, stored_name

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_LEGACY = b"org.apache.spark.legacy"
"""What Spark writes into a file whose old dates are of another calendar."""
_CONSTANTS = ("is_integer", "is_string", "is_boolean", "is_date", "is_decimal")

Constants = Mapping[str, "pa.Scalar[Any]"]
"""The columns that are not in a file."""


def open_data_file(
    path: str, metadata: pq.FileMetaData | None = None, dictionaries: Sequence[str] = ()
) -> pq.ParquetFile:
    """A data file; its `metadata` is not read again where it is known. Of the columns
    `dictionaries` a dictionary of the values is read, and the place in it of each row's."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(
        path,
        metadata=metadata,
        read_dictionary=list(dictionaries),
        memory_map=True,
        coerce_int96_timestamp_unit="us",
    )


def has_old_calendar(metadata: pq.FileMetaData) -> bool:
    """Whether dates and times of a file may be of another calendar."""
    return any(key.startswith(_LEGACY) for key in metadata.metadata or ())


class FileColumns:
    """How columns of a table are read of its files: `schema` are they in the table's types.

    Raises NotSupported where Spark alone reads them.
    """

    def __init__(self, metadata: Metadata, columns: Sequence[str]) -> None:
        if metadata.is_linked:
            raise NotSupported("the table's files are those of other writers")
        fields = fields_named(metadata, columns)
        self._partitions = frozenset(metadata.partition_columns)
        mapped = metadata.mapping != "none"
        if mapped and not all(map(self._is_flat, fields)):
            raise NotSupported("the table has column mapping")
        names = {
            f["name"].lower(): stored_name(f) if mapped else f["name"] for f in metadata.fields
        }
        self.schema: pa.Schema = arrow_schema(fields)
        self.stored: Mapping[str, str] = {c: names[c.lower()] for c in columns}

    def _is_flat(self, field: Mapping[str, Any]) -> bool:
        """Whether a column is in the files, and no part of it has another name there."""
        return isinstance(field["type"], str) and field["name"] not in self._partitions

    def constants(self, values: Mapping[str, str | None], known: pa.Schema) -> Constants:
        """Columns of the partition (`values` of a log's action), and NULLs of columns that are
        younger than the file, whose columns are `known`. NotSupported where it has others."""
        import pyarrow as pa

        found: dict[str, pa.Scalar[Any]] = {}
        names = frozenset(known.names)  # which Arrow makes each time that it is asked
        lowered = {name.lower() for name in names}
        for name, stored in self.stored.items():
            kind = self.schema.field(name).type
            if stored in self._partitions:
                text = values.get(stored) or None
                if text and not any(getattr(pa.types, test)(kind) for test in _CONSTANTS):
                    raise NotSupported(f"a partition's values are of type {kind}")
                found[name] = pa.scalar(text, pa.string()).cast(kind)
            elif stored not in names:
                if stored.lower() in lowered:
                    raise NotSupported(f"a file has {stored} in other letters")
                found[name] = pa.scalar(None, kind)
        self.cast(known.empty_table(), found)
        return found

    def cast(self, rows: pa.Table, constants: Constants) -> pa.Table:
        """Rows of a file as those of the table."""
        import pyarrow as pa

        columns = [
            pa.repeat(constants[f.name], rows.num_rows)
            if f.name in constants
            else self.cast_column(f.name, rows[self.stored[f.name]])
            for f in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def cast_column(self, name: str, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Values of a file in the type of the table; those of a dictionary stay in it."""
        import pyarrow as pa

        kind = self.schema.field(name).type
        if pa.types.is_dictionary(values.type) and values.type.value_type == kind:
            return values.unify_dictionaries()
        try:
            return values.cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            raise NotSupported(f"a file has other types than the table: {e}") from e
