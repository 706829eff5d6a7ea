"""The statements by which a session knows a table over files again, as it was when it was read."""

from __future__ import annotations

from collections.abc import Iterator

from dt_jupyter.lake import partition_values, spark_schema, sql_path, sql_string
from dt_jupyter.model import quote
from dt_jupyter.sources.file_tables import partition_types
from dt_jupyter.sources.follow_files import FileSource


def creation_statements(files: FileSource) -> Iterator[str]:
    """CREATE TABLE, and a partition for each folder of the recorded list, where the catalog says
    which of them count."""
    fields = spark_schema(files.log.metadata().fields).fields
    columns = ", ".join(f"{quote(f.name)} {f.dataType.simpleString()}" for f in fields)
    options = ", ".join(f"{sql_string(k)} {sql_string(v)}" for k, v in files.table.options)
    types = partition_types(files.log)
    parts = [
        f"CREATE TABLE {files.name.sql} ({columns}) USING {files.table.format}",
        f"OPTIONS ({options})" if options else "",
        f"PARTITIONED BY ({', '.join(map(quote, types))})" if types else "",
        f"LOCATION {sql_path(files.place)}",
    ]
    yield " ".join(filter(None, parts))
    if files.table.tracked is None:
        return
    values = {p.rpartition("/")[0]: partition_values(p, types) for p in files.recorded()}
    specs = [
        ", ".join(f"{quote(c)} = {_written(v)}" for c, v in f.items()) for f in values.values()
    ]
    if specs:
        added = " ".join(f"PARTITION ({spec})" for spec in specs)
        yield f"ALTER TABLE {files.name.sql} ADD IF NOT EXISTS {added}"


def _written(value: str | None) -> str:
    return "NULL" if value is None else sql_string(value)


__all__ = ["creation_statements"]
