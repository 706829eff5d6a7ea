"""Where a lake's catalog is, written in the lake: who opens the lake without saying so finds it."""

from __future__ import annotations

import json
import os
import re
import uuid
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake import sync, write_durable
from dt_jupyter.model import error

CATALOG_FILE = "catalog.json"
_ID = re.compile("[0-9a-f]{32}")
"""It is a part of statements."""


@dataclass(frozen=True, slots=True)
class CatalogPlace:
    """`id` names the lake on a server; `url` is the server's, without a password, and "" as long
    as the catalog is the file in the lake."""

    id: str
    url: str = ""

    @classmethod
    def new(cls) -> CatalogPlace:
        return cls(uuid.uuid4().hex)


def read_place(folder: Path) -> CatalogPlace | None:
    """What is written in the folder of the catalog; None: its catalog has always been a file.
    DT-5102 where it is written and cannot be read."""
    file = folder / CATALOG_FILE
    try:
        found = json.loads(file.read_text("utf-8"))
        if _ID.fullmatch(found["id"]) is None:
            raise ValueError(f"{found['id']!r} is not a lake's id")
        return CatalogPlace(found["id"], str(found["url"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        hint = "It says where the lake's catalog is: restore it, or let this user read it."
        raise error("DT-5102", path=file, problem=problem, hint=hint) from problem


def write_place(folder: Path, place: CatalogPlace) -> None:
    """The file is on the disk, whole, or as it was."""
    draft = folder / f".{CATALOG_FILE}.{uuid.uuid4().hex}.tmp"
    write_durable(draft, json.dumps({"id": place.id, "url": place.url}) + "\n")
    os.replace(draft, folder / CATALOG_FILE)
    sync([folder])
