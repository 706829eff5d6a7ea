"""A mark in the catalog that changes with every change of a role or a grant, by any
process: who has read the rights at a mark has them as long as the mark is there."""

from __future__ import annotations

import uuid

from sqlalchemy import Connection, select

from dt_jupyter.catalog import schema

_KEY = schema.meta.c.key == "rights"
_MARK = select(schema.meta.c.value).where(_KEY)


def mark_rights(connection: Connection) -> None:
    """Another mark from now on."""
    connection.execute(schema.meta.delete().where(_KEY))
    connection.execute(schema.meta.insert().values(key="rights", value=uuid.uuid4().hex))


def rights_mark(connection: Connection) -> str:
    """The mark; "" before the first change."""
    return str(connection.scalar(_MARK) or "")
