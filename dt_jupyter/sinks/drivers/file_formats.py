"""The formats of a folder's files: what each can hold, and how it is read back."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING

from dt_jupyter.model import error
from dt_jupyter.sinks.json_values import from_json_values, to_json_values
from dt_jupyter.sinks.store_types import NESTED, TypeKind as T, TypeTable

if TYPE_CHECKING:
    import pyarrow as pa


class FileFormat(ABC):
    suffix: str
    types: TypeTable

    def require_values(self, rows: pa.Table) -> None:  # noqa: B027
        """DT-6133 for a value that the format cannot hold; most hold all."""

    @abstractmethod
    def write(self, file: Path, rows: pa.Table) -> None: ...

    @abstractmethod
    def read(self, file: Path, schema: pa.Schema) -> pa.Table:
        """The rows with a schema's columns: NULL where the file is from before one was added."""


class Parquet(FileFormat):
    suffix = "parquet"
    types = TypeTable("Parquet", {kind: kind.value for kind in T}, {})

    def write(self, file: Path, rows: pa.Table) -> None:
        import pyarrow.parquet as pq

        pq.write_table(rows, file, compression="zstd")

    def read(self, file: Path, schema: pa.Schema) -> pa.Table:
        import pyarrow.parquet as pq

        return _as_schema(pq.read_table(file), schema)


class JsonLines(FileFormat):
    """Values as in `json_values`."""

    suffix = "jsonl"
    types = TypeTable("JSON lines", {kind: kind.value for kind in T}, {})

    def write(self, file: Path, rows: pa.Table) -> None:
        names = rows.column_names
        values = zip(*(to_json_values(column) for column in rows.columns), strict=True)
        with file.open("w", encoding="utf-8") as out:
            for row in values:
                out.write(json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False) + "\n")

    def read(self, file: Path, schema: pa.Schema) -> pa.Table:
        import pyarrow as pa

        with file.open(encoding="utf-8") as lines:
            rows = [json.loads(line) for line in lines]
        columns = [from_json_values([r.get(f.name) for r in rows], f.type) for f in schema]
        return pa.Table.from_arrays(columns, schema=schema)


class Csv(FileFormat):
    """With a header; every value in quotes, NULL as nothing. Nested values and bytes have no one
    form in CSV."""

    suffix = "csv"
    types = TypeTable(
        "CSV",
        {kind: kind.value for kind in T if kind not in NESTED | {T.BINARY}},
        dict.fromkeys(NESTED | {T.BINARY}, "CSV has one plain text for each value"),
    )

    def require_values(self, rows: pa.Table) -> None:
        import pyarrow.compute as pc
        import pyarrow.types as t

        for field in rows.schema:
            if (
                t.is_string(field.type)
                and pc.any(pc.match_substring(rows[field.name], "\0")).as_py()
            ):
                raise error("DT-6133", column=field.name, problem="CSV has no NUL character")

    def write(self, file: Path, rows: pa.Table) -> None:
        import pyarrow.csv as csv

        csv.write_csv(rows, file, csv.WriteOptions(quoting_style="all_valid"))

    def read(self, file: Path, schema: pa.Schema) -> pa.Table:
        import pyarrow as pa
        import pyarrow.csv as csv

        texts = csv.read_csv(
            file,
            parse_options=csv.ParseOptions(newlines_in_values=True),
            read_options=csv.ReadOptions(block_size=1 << 26),
            convert_options=csv.ConvertOptions(
                column_types={f.name: pa.string() for f in schema},
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
                null_values=[""],
            ),
        )
        columns = [_parsed(texts, field) for field in schema]
        return pa.Table.from_arrays(columns, schema=schema)


def _parsed(texts: pa.Table, field: pa.Field) -> pa.Array | pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.types as t

    if field.name not in texts.column_names:
        return pa.nulls(texts.num_rows, field.type)
    column = texts[field.name]
    if t.is_temporal(field.type):
        return from_json_values(column.to_pylist(), field.type)
    return column.cast(field.type)


def _as_schema(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    import pyarrow as pa

    columns = [
        rows[f.name].cast(f.type) if f.name in rows.column_names else pa.nulls(len(rows), f.type)
        for f in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


FORMATS = {"parquet": Parquet(), "csv": Csv(), "jsonl": JsonLines()}
