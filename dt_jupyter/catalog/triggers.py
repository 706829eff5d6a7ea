"""Triggers by which the catalog numbers every change of a registered object, whoever makes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

_Columns = tuple[str, ...]


def registry_triggers(
    tables: Mapping[str, tuple[_Columns, _Columns]],
    counts: Mapping[str, str],
    *,
    make_log: bool = True,
) -> Iterator[str]:
    """For each table, by its key and the columns whose change counts; `counts`: a row of that
    table only where this column is not NULL; `make_log`: the table of changes is new."""
    if make_log:
        yield "CREATE TABLE registry_change (stamp INTEGER PRIMARY KEY, kind TEXT, key TEXT)"
    for table, (key, columns) in tables.items():
        differs = " OR ".join(f"OLD.{c} IS NOT NEW.{c}" for c in columns)
        for event, row, when in (
            ("INSERT", "NEW", "TRUE"),
            ("DELETE", "OLD", "TRUE"),
            ("UPDATE", "NEW", differs),
        ):
            registered = f"({when}) AND {row}.{counts.get(table, key[0])} IS NOT NULL"
            values = ", ".join(f"{row}.{c}" for c in key)
            yield (
                f"CREATE TRIGGER registry_{table}_{event.lower()} AFTER {event} ON {table} "
                f"WHEN {registered} BEGIN INSERT INTO registry_change (kind, key) "
                f"VALUES ('{table}', json_array({values})); END"
            )
