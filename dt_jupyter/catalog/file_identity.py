"""Which file a catalog is: a copy of one knows that it is a copy."""

from __future__ import annotations

import os
from pathlib import Path

from sqlalchemy import Connection, select

from dt_jupyter.catalog import schema
from dt_jupyter.model import Timestamp

_KEY = "file"
_PAST = Timestamp(0)


def file_id(path: Path) -> str:
    """A file's device and number; another one for a copy, the same after a rename."""
    stat = os.stat(path)
    return f"{stat.st_dev}:{stat.st_ino}"


def is_copy(connection: Connection, path: Path) -> bool:
    """Whether the file was replaced since it was last opened."""
    known = connection.scalar(select(schema.meta.c.value).where(schema.meta.c.key == _KEY))
    return known not in (None, file_id(path))


def disown_copy(connection: Connection, path: Path) -> None:
    """In a copied file, nothing is held by a process: they hold it in the original."""
    meta, copied = schema.meta, is_copy(connection, path)
    connection.execute(meta.delete().where(meta.c.key == _KEY))
    connection.execute(meta.insert().values(key=_KEY, value=file_id(path)))
    if not copied:
        return
    replays = schema.hold.c.name.is_(None)
    for statement in (
        schema.lease.update(),
        schema.intent.update(),
        schema.hold.update().where(replays),
    ):
        connection.execute(statement.values(host="", uid="", expires=_PAST))
