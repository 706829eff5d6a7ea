"""Rows read one by one where one of them cannot be: the others are as good as before."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, TypeVar

from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    Row,
    RowMapping,
    Select,
    Table,
    Text,
    and_,
    or_,
)
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.types import TypeEngine

from dt_jupyter.catalog.schema import StoredBytes, StoredTimestamp
from dt_jupyter.model import DTError, Timestamp

T = TypeVar("T")
_Make = Callable[[RowMapping], T]
_Check = tuple[int, str, type | tuple[type, ...]]
"""The place of a column in a row, its name, and what its values are."""
UNREADABLE = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, AssertionError, OverflowError,
    RecursionError, DTError, OperationalError,
)  # fmt: skip
"""What is raised of a row whose values are not what this package wrote there."""


def require_unreadable(e: Exception) -> None:
    """Raises an error of the database that is not about the values of a row."""
    if isinstance(e, DBAPIError) and "decode" not in str(e.orig):
        raise e


_KEYS_AT_ONCE = 500
"""A statement of SQLite has room for 999 parameters where it is old."""
_KINDS: tuple[tuple[type[TypeEngine[Any]], type | tuple[type, ...]], ...] = (
    (StoredTimestamp, Timestamp),
    (Boolean, bool),
    (Integer, int),
    (Float, (int, float)),
    (Text, str),
)


def _make_rows(
    connection: Connection,
    table: Table,
    query: Select[Any],
    make: _Make[T],
    memory: RowMemory[T] | None = None,
) -> list[T]:
    """What `make` makes of the rows of a query over `table`; TypeError for a value of another type
    than its column's: SQLite takes any."""
    result = connection.execute(query)
    checks = _checks(table, tuple(result.keys()))
    if memory is None:
        return [_make_row(row, checks, make) for row in result.all()]
    known, now = memory.rows, dict[Any, tuple[Row[Any], T]]()
    for row in result.all():
        before = known.get(row[0])
        same = before is not None and before[0] == row
        now[row[0]] = before if same and before else (row, _make_row(row, checks, make))
    memory.rows = now
    return [made for _, made in now.values()]


def _make_row(row: Row[Any], checks: Sequence[_Check], make: _Make[T]) -> T:
    _require_kinds(row, checks)
    return make(row._mapping)


def _require_kinds(row: Row[Any], checks: Sequence[_Check]) -> None:
    for at, column, kinds in checks:
        value = row[at]
        if value is not None and not isinstance(value, kinds):
            raise TypeError(f"{column} holds {value!r:.60}")


@cache
def _checks(table: Table, names: tuple[str, ...]) -> tuple[_Check, ...]:
    """Of the columns of a result those that are the table's."""
    return tuple((names.index(c), c, kinds) for c, kinds in _columns(table) if c in names)


@cache
def _columns(table: Table) -> tuple[tuple[str, type | tuple[type, ...]], ...]:
    return tuple(
        (c.name, kinds)
        for c in table.columns
        for known, kinds in (next(k for k in _KINDS if isinstance(c.type, k[0])),)
    )


@dataclass(frozen=True, slots=True)
class BrokenRow:
    """An invalid row: its primary key, as bytes, and why."""

    key: tuple[bytes | None, ...]
    problem: Exception


class RowMemory(Generic[T]):
    """What the rows of one query were made when it was asked last, by their first column, which
    identifies them: an unchanged row is the same object. Threads may share it."""

    def __init__(self) -> None:
        self.rows: Mapping[Any, tuple[Row[Any], T]] = {}


def read_each(
    connection: Connection,
    table: Table,
    query: Select[Any],
    make: _Make[T],
    memory: RowMemory[T] | None = None,
) -> tuple[list[T], list[BrokenRow]]:
    """What `make` makes of each row of a query over `table`, in its order, and the rows from which
    it makes nothing."""

    try:
        return _make_rows(connection, table, query, make, memory), []
    except UNREADABLE as e:
        require_unreadable(e)
        return _one_by_one(connection, table, query, make)


def _one_by_one(
    connection: Connection, table: Table, query: Select[Any], make: _Make[T]
) -> tuple[list[T], list[BrokenRow]]:
    made, broken = [], []
    columns = [StoredBytes(c) for c in table.primary_key.columns]
    only = query.with_only_columns(*columns)
    keys: Sequence[Sequence[bytes | None]] = connection.execute(only).all()
    for key in keys:
        try:
            made += _make_rows(connection, table, query.where(_is(table, key)), make)
        except UNREADABLE as e:
            require_unreadable(e)
            broken.append(BrokenRow(tuple(key), e))
    return made, broken


def _is(table: Table, key: Sequence[bytes | None]) -> ColumnElement[bool]:
    """Compares bytes: a text that is not UTF-8 cannot be a parameter."""
    columns = (StoredBytes(c) for c in table.primary_key.columns)
    pairs = zip(columns, key, strict=True)
    return and_(*(c.is_(None) if k is None else c == k for c, k in pairs))


def queries_of(
    query: Select[Any], column: Column[Any], keys: Sequence[Any]
) -> Iterator[Select[Any]]:
    """For the rows of a query whose `column` is one of `keys`; there may be thousands."""
    for at in range(0, len(keys), _KEYS_AT_ONCE):
        yield query.where(column.in_(keys[at : at + _KEYS_AT_ONCE]))


def texts(
    connection: Connection, table: Table, row: BrokenRow, *columns: Column[Any]
) -> tuple[str, ...]:
    """The columns of a broken row as far as they are texts."""
    query = table.select().with_only_columns(*(StoredBytes(c) for c in columns))
    found = connection.execute(query.where(_is(table, row.key))).one()
    return tuple((value or b"").decode("utf-8", "replace") for value in found)


def delete_row(connection: Connection, table: Table, row: BrokenRow) -> None:
    """The row is gone, whatever it held."""
    connection.execute(table.delete().where(_is(table, row.key)))


def overwrite_row(connection: Connection, table: Table, row: BrokenRow, **values: Any) -> None:
    """The columns as given, the others as they are."""
    connection.execute(table.update().where(_is(table, row.key)).values(**values))


__all__ = [
    "UNREADABLE",
    "BrokenRow",
    "RowMemory",
    "delete_row",
    "overwrite_row",
    "queries_of",
    "read_each",
    "require_unreadable",
    "texts",
]


def name_like(column: ColumnElement[str], pattern: str) -> ColumnElement[bool]:
    """Whether a name is like a pattern: `%` or `*` is any text, `_` any character, `|` is
    between alternatives, a backslash before one of them for itself; case does not count."""
    parts = re.split(r"(?<!\\)\|", pattern.lower())
    texts = [re.sub(r"\\([*|])", r"\1", re.sub(r"(?<!\\)\*", "%", part)) for part in parts]
    return or_(*(column.like(text, escape="\\") for text in texts))
