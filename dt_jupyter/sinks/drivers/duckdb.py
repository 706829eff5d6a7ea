"""DuckDB: `duckdb:///folder/file.db?table=name`. One process at a time has the file: one that was
stopped, though another has taken its sink, keeps the file until it continues or ends.

Rows stay in Arrow: staged in memory, merged by one statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import DTError, error
from dt_jupyter.model.hidden import hidden
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import SinkColumn
from dt_jupyter.sinks.drivers.sql import FileDatabase, StoredRows, quoted, same_key
from dt_jupyter.sinks.patterns import TOMBSTONE
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import TypeKind as T, TypeTable

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_KEYS, _STAGED = hidden("keys"), hidden("staged")


class DuckdbStore(FileDatabase):
    types = TypeTable(
        "DuckDB",
        {
            T.BOOLEAN: "BOOLEAN",
            T.BYTE: "TINYINT",
            T.SHORT: "SMALLINT",
            T.INT: "INTEGER",
            T.LONG: "BIGINT",
            T.FLOAT: "FLOAT",
            T.DOUBLE: "DOUBLE",
            T.DECIMAL: "DECIMAL({precision},{scale})",
            T.STRING: "VARCHAR",
            T.BINARY: "BLOB",
            T.DATE: "DATE",
            T.TIMESTAMP: "TIMESTAMPTZ",
            T.TIMESTAMP_NTZ: "TIMESTAMP",
            T.ARRAY: "LIST",
            T.MAP: "MAP",
            T.STRUCT: "STRUCT",
        },
        {},
    )
    names = NameRules("DuckDB", 1000)

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        address.require_options("table", "adopt")
        self._connection: duckdb.DuckDBPyConnection | None = None

    def connect(self) -> None:
        import duckdb

        path = self.address.path
        try:
            self._connection = duckdb.connect(path)
            self._connection.execute("SET TimeZone = 'UTC'")
        except (duckdb.Error, OSError) as e:
            problem = str(e).partition("\n")[0]
            if isinstance(e, duckdb.IOException) and "lock" in problem:
                problem = f"{problem}. A process keeps the file until it leaves the sink or ends, "
                problem += "also while it is stopped"
            raise error("DT-6110", store=f"DuckDB file {path}", problem=problem) from None

    def run(self, sql: str, values: Sequence[Any] = ()) -> StoredRows:
        return self._execute(sql, values).fetchall()

    def _execute(self, sql: str, values: Sequence[Any] = ()) -> duckdb.DuckDBPyConnection:
        import duckdb

        assert self._connection is not None
        try:
            return self._connection.execute(sql, list(values) or None)
        except duckdb.Error as e:
            raise self._failure(e) from None

    def _failure(self, problem: duckdb.Error) -> DTError:
        import duckdb

        said = str(problem).partition("\n")[0]
        if isinstance(problem, duckdb.CatalogException | duckdb.BinderException):
            return error("DT-6143", target=self._binding.target, store=self.store, problem=said)
        if isinstance(problem, duckdb.ConstraintException):
            said = "a constraint of the table is not met"  # the message repeats the row
            return error("DT-6143", target=self._binding.target, store=self.store, problem=said)
        if isinstance(problem, duckdb.DataError):
            return error("DT-6133", column="?", problem=type(problem).__name__)
        return error("DT-6112", store=self.store, problem=said, hint="")

    def begin(self, *, fencing: bool = False) -> None:
        self.run("BEGIN TRANSACTION")

    def columns_of(self, target: str) -> Mapping[str, str]:
        found = self.run(
            "SELECT column_name, data_type FROM duckdb_columns() "
            "WHERE schema_name = current_schema() AND lower(table_name) = lower(?)",
            (target,),
        )
        return {str(row[0]): str(row[1]) for row in found}

    def stored_type(self, column: SinkColumn) -> str:
        return self._type_of(column, column.type)

    def _type_of(self, column: SinkColumn, kind: pa.DataType) -> str:
        """Nested types are native, part by part."""
        import pyarrow.types as t

        if t.is_list(kind) or t.is_large_list(kind):
            return f"{self._type_of(column, kind.value_type)}[]"
        if t.is_map(kind):
            key, item = (self._type_of(column, k) for k in (kind.key_type, kind.item_type))
            return f"MAP({key}, {item})"
        if t.is_struct(kind):
            fields = (f"{quoted(f.name)} {self._type_of(column, f.type)}" for f in kind)
            return f"STRUCT({', '.join(fields)})"
        return self.types.stored(SinkColumn(column.name, kind))

    def key_constraint(self) -> str:
        """None: an index would keep a key column from becoming wider, and MERGE needs none."""
        return ""

    def load_rows(self) -> Iterator[pa.Table]:
        import duckdb
        import pyarrow as pa

        keys = self.take_keys()
        if not keys:
            return
        binding = self._binding
        assert self._connection is not None
        self._connection.register(_KEYS, pa.concat_tables(keys))
        names = ", ".join(f"t.{quoted(c.name)}" for c in binding.columns)
        same = same_key("t", "k", binding.key)
        sql = f"SELECT {names} FROM {quoted(_KEYS)} k JOIN {self.target} t ON {same}"
        try:
            rows = self._connection.sql(sql).to_arrow_table()
        except duckdb.Error as e:
            raise self._failure(e) from None
        self._connection.unregister(_KEYS)
        pairs = zip(rows.columns, binding.schema, strict=True)
        yield pa.Table.from_arrays([_cast(c, f.type) for c, f in pairs], schema=binding.schema)

    def apply_rows(self, rows: pa.Table, delete: bool) -> None:
        assert self._connection is not None
        self._connection.register(_STAGED, rows)
        names = ", ".join(map(quoted, rows.column_names))
        same = same_key("t", "s", self._binding.key)
        source = f"(SELECT {names} FROM {quoted(_STAGED)}) s"
        if self._binding.delta_updates:
            columns = f"{names}, {quoted(TOMBSTONE)}"
            chosen = f"SELECT {names}, {str(delete).lower()} FROM {source}"
            sql = f"INSERT INTO {self.target} ({columns}) {chosen}"
        elif delete:
            sql = f"DELETE FROM {self.target} t USING {source} WHERE {same}"
        else:
            sql = f"MERGE INTO {self.target} t USING {source} ON {same} {self._matched()}"
        self.run(sql)
        self._connection.unregister(_STAGED)

    def _matched(self) -> str:
        binding = self._binding
        changes = ", ".join(f"{quoted(n)} = s.{quoted(n)}" for n in binding.values)
        update = f"WHEN MATCHED THEN UPDATE SET {changes} " if changes else ""
        names = ", ".join(map(quoted, binding.schema.names))
        values = ", ".join(f"s.{quoted(n)}" for n in binding.schema.names)
        return f"{update}WHEN NOT MATCHED THEN INSERT ({names}) VALUES ({values})"

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    return column if column.type == kind else column.cast(kind)
