"""Which database a lake's catalog is in: the one that is requested, else the one that it has."""

from __future__ import annotations

from pathlib import Path

from dt_jupyter.catalog.catalog_place import read_place
from dt_jupyter.catalog.database import CatalogDatabase
from dt_jupyter.catalog.postgres import PostgresSchema, parse_catalog_url
from dt_jupyter.catalog.sqlite import SqliteFile


def find_database(path: Path, url: str | None = None, *, home: bool = False) -> CatalogDatabase:
    """`path` is that of the file in the lake, or in one `home` of it of several; `url` the
    server's that was requested. DT-5115."""
    if url is None:
        place = read_place(path.parent)
        if place is None or not place.url:
            return SqliteFile(path)
        url = place.url
    return PostgresSchema(parse_catalog_url(url), path, home=home)
