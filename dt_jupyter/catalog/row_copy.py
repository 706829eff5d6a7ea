"""All rows of a catalog put into the new tables of another one."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Connection, Select, Table, func, select, text

from dt_jupyter.catalog import schema

_AT_ONCE = 1000
_META = ("rights", "labels")
"""Of the table of settings: the others are of the one database alone."""


def copy_rows(source: Connection, target: Connection) -> None:
    """`source` is of the same schema version; rows that the migrations of `target` made are gone.

    Changes are numbered as in `source`: the registry log follows on. A row that cannot be read
    ends the copying: what is in quarantine has to be dropped first.
    """
    for table in schema.METADATA.sorted_tables:
        if table not in (schema.meta, schema.registry_change):
            target.execute(table.delete())
            _add_rows(source, target, table, select(table))
    target.execute(schema.registry_change.delete())  # what the triggers said of these rows
    _add_rows(source, target, schema.registry_change, select(schema.registry_change))
    target.execute(schema.meta.delete().where(schema.meta.c.key.in_(_META)))
    known = select(schema.meta).where(schema.meta.c.key.in_(_META))
    _add_rows(source, target, schema.meta, known)
    newest = select(func.coalesce(func.max(schema.event.c.ordinal), 0) + 1)
    sequence = "SELECT setval(pg_get_serial_sequence('event', 'ordinal'), :next, false)"
    target.execute(text(sequence), {"next": target.scalar(newest)})


def _add_rows(source: Connection, target: Connection, table: Table, query: Select[Any]) -> None:
    for rows in source.execute(query).mappings().partitions(_AT_ONCE):
        target.execute(table.insert(), [dict(row) for row in rows])
