"""PostgreSQL 12 or newer: `postgresql://user@host:5432/database?table=schema.name`.

StoredRows come by COPY into temporary tables, and from there by one statement into the target; both
and the checkpoint are one transaction.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dt_jupyter.model import DTError, error
from dt_jupyter.sinks.address import StoreAddress
from dt_jupyter.sinks.drivers.sql import (
    CHECKPOINTS,
    SqlStore,
    StoredRows,
    insert_into,
    quoted,
    same_key,
    staging,
    tables_of,
)
from dt_jupyter.sinks.json_values import from_json_texts, json_texts
from dt_jupyter.sinks.patterns import TOMBSTONE
from dt_jupyter.sinks.secret_references import hide
from dt_jupyter.sinks.store_names import NameRules
from dt_jupyter.sinks.store_types import NESTED, TypeKind as T, TypeTable, type_kind

if TYPE_CHECKING:
    import psycopg
    import pyarrow as pa

_R = TypeVar("_R")
_CONNECT_SECONDS = 10.0
_STATEMENT_SECONDS = 300.0
_IDLE_MS = 60_000
"""How long a transaction may wait for the runtime at the least, and a network for its answer."""
_ROWS, _GONE, _KEYS = staging("rows"), staging("gone"), staging("keys")
_JSON = dict.fromkeys(NESTED, "jsonb")
_TLS = ("sslmode", "sslrootcert", "sslcert", "sslkey")


class PostgresStore(SqlStore):
    types = TypeTable(
        "PostgreSQL",
        {
            T.BOOLEAN: "boolean",
            **dict.fromkeys((T.BYTE, T.SHORT), "smallint"),
            T.INT: "integer",
            T.LONG: "bigint",
            T.FLOAT: "real",
            T.DOUBLE: "double precision",
            T.DECIMAL: "numeric({precision},{scale})",
            T.STRING: "text",
            T.BINARY: "bytea",
            T.DATE: "date",
            T.TIMESTAMP: "timestamptz",
            T.TIMESTAMP_NTZ: "timestamp",
            **_JSON,
        },
        {},
    )
    names = NameRules("PostgreSQL", 63)

    def __init__(self, address: StoreAddress) -> None:
        super().__init__(address)
        address.require_options("table", "adopt", "timeout", "connect_timeout", "password", *_TLS)
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._staging = False
        self._keyed = False
        self._seconds = _STATEMENT_SECONDS

    @property
    def target_parts(self) -> tuple[str, ...]:
        parts = self._binding.target.split(".", 1)
        return ("public", *parts) if len(parts) == 1 else tuple(parts)

    # -- the connection ----------------------------------------------------------------------------

    def connect(self) -> None:
        import psycopg

        address = self.address
        seconds = address.number("timeout", _STATEMENT_SECONDS, 0.1, 86_400)
        self._seconds, limit = seconds, int(seconds * 1000)
        wait = address.number("connect_timeout", _CONNECT_SECONDS, 1, 3600)
        secret = address.secret("password")
        tls: dict[str, Any] = {n: address.options[n] for n in _TLS if n in address.options}
        try:
            self._connection = psycopg.connect(
                host=address.host or None,
                port=address.port,
                user=address.user or None,
                dbname=address.path.strip("/") or None,
                password=secret or None,
                connect_timeout=int(wait),
                application_name="dt_jupyter",
                autocommit=True,
                options=_settings(limit),
                keepalives_idle=10,
                keepalives_interval=5,
                keepalives_count=3,
                tcp_user_timeout=max(limit, _IDLE_MS),
                **tls,
            )
        except psycopg.OperationalError as e:
            raise self._refused(e, secret) from None

    def _refused(self, problem: psycopg.OperationalError, secret: str) -> DTError:
        """What libpq says names the user and the database, and may repeat what it was given."""
        text = hide(problem, secret)
        if "authentication failed" in text or "no password supplied" in text:
            return error("DT-6111", store=f"PostgreSQL at {self.address}")
        return error("DT-6110", store=f"PostgreSQL at {self.address}", problem=text[:300])

    def _call(self, function: Callable[[psycopg.Cursor[tuple[Any, ...]]], _R]) -> _R:
        import psycopg

        assert self._connection is not None
        try:
            with self._connection.cursor() as cursor:
                return function(cursor)
        except psycopg.Error as e:
            raise self._failure(e) from None

    def _failure(self, problem: psycopg.Error) -> DTError:
        """The primary message alone: details repeat rows, which not all may see."""
        state = problem.sqlstate or ""
        said = problem.diag.message_primary or type(problem).__name__
        target = ".".join(self.target_parts)
        if state in ("57014", "55P03"):
            return error("DT-6113", seconds=f"{self._seconds:g}")
        if state in ("42P01", "42703", "42804"):
            return error("DT-6143", target=target, store=self.store, problem=said)
        if state == "21000":
            return error("DT-6120", problem="Store with one key twice")
        if state[:2] == "22":
            column = problem.diag.column_name or "?"
            return error("DT-6133", column=column, problem=said)
        if state[:2] == "23":
            return error("DT-6143", target=target, store=self.store, problem=said)
        if state[:2] in ("42", "3F"):
            return error("DT-6142", target=target, store=self.store, problem=said)
        lost = state[:2] in ("", "08", "57") or self._connection is None or self._connection.closed
        return error(
            "DT-6110" if lost else "DT-6112",
            store=f"PostgreSQL at {self.address}",
            problem=said,
            hint="",
        )

    def run(self, sql: str, values: Sequence[Any] = ()) -> StoredRows:
        def execute(cursor: psycopg.Cursor[tuple[Any, ...]]) -> StoredRows:
            text = sql.replace("?", "%s").encode() if values else sql.encode()
            cursor.execute(text, values or None)
            return cursor.fetchall() if cursor.description else []

        return self._call(execute)

    def begin(self, *, fencing: bool = False) -> None:
        self.run("BEGIN")
        if fencing:  # two tasks of a sink that open at once see each other's rows
            self.run("SELECT pg_advisory_xact_lock(hashtext(?))", (CHECKPOINTS,))

    def end(self, *, commit: bool) -> None:
        super().end(commit=commit)
        self._staging = False

    def columns_of(self, target: str) -> Mapping[str, str]:
        schema, table = self.target_parts
        found = self.run(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = ? AND table_name = ?",
            (schema, table),
        )
        return {str(row[0]): str(row[1]) for row in found}

    def opened(self) -> None:
        binding = self._binding
        kinds = {c.name: self.types.stored(c) for c in binding.columns}
        every = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
        keys = ", ".join(f"{quoted(name)} {kinds[name]}" for name in binding.key)
        for name, columns in ((_ROWS, every), (_GONE, keys), (_KEYS, keys)):
            self.run(f"CREATE TEMP TABLE {name} ({columns}) ON COMMIT DELETE ROWS")

    # -- rows --------------------------------------------------------------------------------------

    def stage_keys(self, keys: pa.Table) -> None:
        self._begin_staging()
        self._copy(_KEYS, keys)
        self._keyed = True

    def load_rows(self) -> Iterator[pa.Table]:
        if not self._keyed:
            return
        self._keyed = False
        binding = self._binding
        columns = ", ".join(_read_as(c.name, c.type) for c in binding.columns)
        same = same_key("t", "k", binding.key)
        self.run(f"ANALYZE {_KEYS}")
        rows = self.run(f"SELECT {columns} FROM {_KEYS} k JOIN {self.target} t ON {same}")
        self.end(commit=False)  # the transaction is only for the stores
        yield from tables_of(rows, binding.schema, _read)

    def stage_rows(self, rows: pa.Table, delete: bool) -> None:
        self._begin_staging()
        self._copy(_GONE if delete else _ROWS, rows)

    def _begin_staging(self) -> None:
        if not self._staging:
            self.begin()
            self._staging = True

    def _copy(self, table: str, rows: pa.Table) -> None:
        data = _csv(rows)
        names = ", ".join(map(quoted, rows.column_names))

        def copy(cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN (FORMAT csv)".encode()) as into:
                into.write(data)

        self._call(copy)

    def apply(self) -> None:
        self._begin_staging()
        binding = self._binding
        if binding.delta_updates:
            self._append(_GONE, binding.key, "true")
            self._append(_ROWS, binding.schema.names, "false")
            return
        self.run(
            f"DELETE FROM {self.target} t USING {_GONE} g WHERE {same_key('t', 'g', binding.key)}"
        )
        names = binding.schema.names
        listed = ", ".join(map(quoted, names))
        self.run(insert_into(self.target, names, binding.key, f"SELECT {listed} FROM {_ROWS}"))

    def _append(self, table: str, columns: Sequence[str], tombstone: str) -> None:
        names = ", ".join(map(quoted, columns))
        self.run(
            f"INSERT INTO {self.target} ({names}, {quoted(TOMBSTONE)}) "
            f"SELECT {names}, {tombstone} FROM {table}"
        )

    def close(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.close()


def _settings(limit: int) -> str:
    """Of the session; times in milliseconds."""
    found: dict[str, object] = {
        "statement_timeout": limit,
        "lock_timeout": limit,
        "idle_in_transaction_session_timeout": max(limit, _IDLE_MS),
        "client_min_messages": "warning",
        "TimeZone": "UTC",
        "DateStyle": "ISO",
        "extra_float_digits": 1,
    }
    return " ".join(f"-c {name}={value}" for name, value in found.items())


def _read_as(name: str, kind: pa.DataType) -> str:
    """Nested values come as the text of their JSON."""
    column = f"t.{quoted(name)}"
    return f"{column}::text" if type_kind(kind) in NESTED else column


def _csv(rows: pa.Table) -> bytes:
    """Every value in quotes, NULL as nothing."""
    import pyarrow as pa
    import pyarrow.csv as csv

    columns = [_text(rows[name], name) for name in rows.column_names]
    out = io.BytesIO()
    options = csv.WriteOptions(include_header=False, quoting_style="all_valid")
    csv.write_csv(pa.table(columns, names=rows.column_names), out, options)
    return out.getvalue()


def _text(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """The column as COPY reads it; DT-6133 for a NUL, which PostgreSQL's text has not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = type_kind(column.type)
    if kind is T.STRING and pc.any(pc.match_substring(column, "\0")).as_py():
        raise _has_nul(name)
    if kind in NESTED:
        texts = json_texts(column)
        if any(text is not None and "\\u0000" in text for text in texts):
            raise _has_nul(name)
        return pa.chunked_array([pa.array(texts, pa.string())])
    if kind is T.BINARY:
        values = [None if v is None else f"\\x{v.hex()}" for v in column.to_pylist()]
        return pa.chunked_array([pa.array(values, pa.string())])
    return column


def _has_nul(name: str) -> DTError:
    return error("DT-6133", column=name, problem="PostgreSQL's text has no NUL character")


def _read(values: list[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    return from_json_texts(values, kind) if type_kind(kind) in NESTED else pa.array(values, kind)
