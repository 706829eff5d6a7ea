"""Triggers by which the catalog numbers every change of a registered object, by any process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlalchemy import Connection

_Columns = tuple[str, ...]
_Make = Callable[[Connection], None]
_EVENTS = ("INSERT", "DELETE", "UPDATE")


def registry_triggers(
    tables: Mapping[str, tuple[_Columns, _Columns]],
    counts: Mapping[str, str],
    *,
    make_log: bool = True,
) -> Iterator[str | _Make]:
    """For each table, by its key and the columns whose change counts; `counts`: a row of that
    table only where this column is not NULL; `make_log`: the table of changes is new."""
    if make_log:
        yield "CREATE TABLE registry_change (stamp INTEGER PRIMARY KEY, kind TEXT, key TEXT)"
    for table, (key, columns) in tables.items():
        yield _maker(table, key, columns, counts.get(table, key[0]))


def without_triggers(table: str) -> _Make:
    """Drops those of a table, which are recreated for other columns."""

    def drop(connection: Connection) -> None:
        of_table = "" if is_sqlite(connection) else f" ON {table}"
        for event in _EVENTS:
            connection.exec_driver_sql(f"DROP TRIGGER {_name(table, event)}{of_table}")

    return drop


def _maker(table: str, key: _Columns, columns: _Columns, counted: str) -> _Make:
    def make(connection: Connection) -> None:
        texts = _sqlite_trigger if is_sqlite(connection) else _postgres_trigger
        for event in _EVENTS:
            for text in texts(table, event, key, columns, counted):
                connection.exec_driver_sql(text)

    return make


def key_text(connection: Connection, columns: _Columns, row: str = "") -> str:
    """The SQL of the key that represents a row: JSON as `registry_rows.key_of` writes it."""
    if is_sqlite(connection):
        return _sqlite_key(columns, row)
    return _postgres_key(columns, row)


def _sqlite_trigger(
    table: str, event: str, key: _Columns, columns: _Columns, counted: str
) -> Iterator[str]:
    row, differs = _changed(event, columns, "IS NOT")
    yield (
        f"CREATE TRIGGER {_name(table, event)} AFTER {event} ON {table} "
        f"WHEN ({differs}) AND {row}.{counted} IS NOT NULL BEGIN "
        "INSERT INTO registry_change (kind, key) "
        f"VALUES ('{table}', {_sqlite_key(key, f'{row}.')}); END"
    )


def _postgres_trigger(
    table: str, event: str, key: _Columns, columns: _Columns, counted: str
) -> Iterator[str]:
    row, differs = _changed(event, columns, "IS DISTINCT FROM")
    name = _name(table, event)
    yield (
        f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "INSERT INTO registry_change (stamp, kind, key) "
        "SELECT COALESCE(max(stamp), 0) + 1, "
        f"'{table}', {_postgres_key(key, f'{row}.')} FROM registry_change; RETURN NULL; END $$"
    )
    yield (
        f"CREATE TRIGGER {name} AFTER {event} ON {table} FOR EACH ROW "
        f"WHEN (({differs}) AND {row}.{counted} IS NOT NULL) EXECUTE FUNCTION {name}()"
    )


def _sqlite_key(columns: _Columns, row: str) -> str:
    return f"json_array({', '.join(row + c for c in columns)})"


def _postgres_key(columns: _Columns, row: str) -> str:
    """Without the blanks that json_build_array puts between values."""
    parts = " || ',' || ".join(f"CAST(to_json({row}{c}) AS TEXT)" for c in columns)
    return f"'[' || {parts} || ']'"


def _changed(event: str, columns: _Columns, differs: str) -> tuple[str, str]:
    """Which row a trigger reads, and the condition under which it counts."""
    if event == "UPDATE":
        return "NEW", " OR ".join(f'OLD."{c}" {differs} NEW."{c}"' for c in columns)
    return ("OLD" if event == "DELETE" else "NEW"), "TRUE"


def _name(table: str, event: str) -> str:
    return f"registry_{table}_{event.lower()}"


def is_sqlite(connection: Connection) -> bool:
    """Whether a transaction is on a file of SQLite's."""
    return connection.dialect.name == "sqlite"
