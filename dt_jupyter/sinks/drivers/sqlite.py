"""SQLite: `sqlite:///folder/file.db?table=name`. One file, one writer at a time.

Exact numbers of more than 64 bits, times and nested values are texts: ISO 8601 and JSON. Floats
are in columns without a declared type: SQLite makes 0.0 of -0.0 in a column of type REAL.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from dt_jupyter.model import error
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.binding import SinkColumn
from dt_jupyter.sinks.drivers.sql import (
    FileDatabase,
    StoredRows,
    insert_into,
    quoted,
    same_key,
    staging,
    tables_of,
)
from dt_jupyter.sinks.json_values import from_json_texts, from_json_values, json_texts
from dt_jupyter.sinks.patterns import TOMBSTONE
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import NESTED, TypeKind as T, TypeTable, type_kind

if TYPE_CHECKING:
    import pyarrow as pa

_BUSY_SECONDS = 30.0
_GONE = ("no such", "has no column")
_KEYS = staging("keys")


class SqliteStore(FileDatabase):
    types = TypeTable(
        "SQLite",
        {
            T.BOOLEAN: "BOOLEAN",
            **dict.fromkeys((T.BYTE, T.SHORT, T.INT, T.LONG), "INTEGER"),
            **dict.fromkeys((T.FLOAT, T.DOUBLE), ""),
            T.STRING: "TEXT",
            T.BINARY: "BLOB",
            **dict.fromkeys((T.DECIMAL, T.DATE, T.TIMESTAMP, T.TIMESTAMP_NTZ), "TEXT"),
            **dict.fromkeys(NESTED, "TEXT"),
        },
        {},
    )
    names = NameRules("SQLite", 1000)

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        address.require_options("table", "adopt", "timeout")
        self._connection: sqlite3.Connection | None = None

    def connect(self) -> None:
        path = self.address.path
        wait = self.address.number("timeout", _BUSY_SECONDS, 0.01, 3600)
        try:
            self._connection = sqlite3.connect(
                path, timeout=wait, isolation_level=None, check_same_thread=False
            )
            self.run("PRAGMA synchronous = FULL")
        except (sqlite3.Error, OSError) as e:
            raise error("DT-6110", store=f"SQLite file {path}", problem=e) from e

    def run(self, sql: str, values: Sequence[Any] = ()) -> StoredRows:
        assert self._connection is not None
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.Error as e:
            raise self._failure(e) from e

    def _failure(self, problem: sqlite3.Error) -> Exception:
        code = getattr(problem, "sqlite_errorname", "")
        if code.startswith(("SQLITE_BUSY", "SQLITE_CANTOPEN", "SQLITE_LOCKED")):
            return error("DT-6110", store=f"SQLite file {self.address.path}", problem=problem)
        target = self._binding.target
        if "ON CONFLICT clause" in str(problem):
            said = "its key is not unique there"
            return error("DT-6142", target=target, store=self.store, problem=said)
        if code.startswith("SQLITE_CONSTRAINT") or any(w in str(problem) for w in _GONE):
            return error("DT-6143", target=target, store=self.store, problem=problem)
        return error("DT-6112", store=self.store, problem=problem, hint="")

    def begin(self, *, fencing: bool = False) -> None:
        self.run("BEGIN IMMEDIATE")

    def columns_of(self, target: str) -> Mapping[str, str]:
        return {row[1]: row[2] for row in self.run(f"PRAGMA table_info({quoted(target)})")}

    def widen(self, column: SinkColumn) -> str:
        return ""

    def opened(self) -> None:
        declared = self.columns_of(self._binding.target)
        self._numeric = {name for name, text in declared.items() if _is_numeric(text)}
        keys = ", ".join(map(quoted, self._binding.key))
        self.run(f"CREATE TEMP TABLE IF NOT EXISTS {_KEYS} ({keys}, PRIMARY KEY ({keys}))")

    def load_rows(self) -> Iterator[pa.Table]:
        keys = self.take_keys()
        if not keys:
            return
        binding = self._binding
        self.run("BEGIN")  # reads one state of the file; only temporary tables are written
        try:
            self.run(f"DELETE FROM temp.{_KEYS}")
            marks = ", ".join("?" * len(binding.key))
            for part in keys:
                self._run_each(f"INSERT INTO temp.{_KEYS} VALUES ({marks})", _tuples(part))
            names = ", ".join(f"t.{quoted(c.name)}" for c in binding.columns)
            rows = self.run(
                f"SELECT {names} FROM temp.{_KEYS} k CROSS JOIN {self.target} t "
                f"ON {same_key('t', 'k', binding.key)}"
            )
        finally:
            self.end(commit=False)
        yield from tables_of(rows, binding.schema, _read)

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        _require_numbers(rows, self._numeric)
        super().stage_rows(rows, delete)

    def apply_rows(self, rows: pa.Table, delete: bool) -> None:
        names = rows.column_names
        marks = ", ".join("?" * len(names))
        if self._binding.delta_updates:
            columns = ", ".join(map(quoted, (*names, TOMBSTONE)))
            sql = f"INSERT INTO {self.target} ({columns}) VALUES ({marks}, {int(delete)})"
        elif delete:
            same = " AND ".join(f"{quoted(n)} = ?" for n in names)
            sql = f"DELETE FROM {self.target} WHERE {same}"
        else:
            sql = insert_into(self.target, names, self._binding.key, f"VALUES ({marks})")
        self._run_each(sql, _tuples(rows))

    def _run_each(self, sql: str, rows: Iterator[tuple[Any, ...]]) -> None:
        assert self._connection is not None
        try:
            self._connection.executemany(sql, rows)
        except sqlite3.Error as e:
            raise self._failure(e) from e

    def close(self) -> None:
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()


def _is_numeric(declared: str) -> bool:
    """Whether a column of that type converts numbers. Source: SQLite, "Datatypes", 3.1."""
    text = declared.upper()
    return bool(text) and "BLOB" not in text


def _require_numbers(rows: pa.Table, numeric: Collection[str]) -> None:
    """DT-6133: SQLite makes NULL of NaN, and 0.0 of -0.0 in a column that converts numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for field in rows.schema:
        if not pa.types.is_floating(field.type):
            continue
        column = rows[field.name]
        if pc.any(pc.is_nan(column)).as_py():
            raise error("DT-6133", column=field.name, problem="SQLite has no NaN")
        signed = pc.and_(pc.equal(column, 0.0), pc.less(pc.divide(1.0, column), 0.0))
        if field.name in numeric and pc.any(signed).as_py():
            problem = "SQLite makes 0.0 of -0.0 in a column with a declared type"
            raise error("DT-6133", column=field.name, problem=problem)


def _tuples(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    return zip(*(_stored(column) for column in rows.columns), strict=True)


def _stored(column: pa.ChunkedArray) -> list[Any]:
    import pyarrow as pa

    kind = type_kind(column.type)
    if kind in NESTED:
        return json_texts(column)
    if kind in (T.DATE, T.TIMESTAMP, T.TIMESTAMP_NTZ):
        return list(column.cast(pa.string()).to_pylist())
    if kind is T.DECIMAL:
        return [None if v is None else format(v, "f") for v in column.to_pylist()]
    return list(column.to_pylist())


def _read(values: list[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    known = type_kind(kind)
    if known in NESTED:
        return from_json_texts(values, kind)
    if known in (T.DECIMAL, T.DATE, T.TIMESTAMP, T.TIMESTAMP_NTZ):
        return from_json_values(values, kind)
    if known is T.BOOLEAN:
        values = [None if v is None else bool(v) for v in values]
    return pa.array(values, kind)
