"""Paths as the catalog stores them: relative to the lake for all that is in it, so that a lake
that was moved, copied, or mounted elsewhere reads its own tables; absolute for all else."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy import Connection

from dt_jupyter.catalog.values import HeldTable
from dt_jupyter.lake import local
from dt_jupyter.model import Definition, FrozenRegion, Name, Source, ViewSource

_HERE = "./"
_TEXT = "`\ue000/"  # of the characters that mean nothing: no name begins so
_FILE = r"`(?:file:(?://)?)?"
_OPTION = "dt_root"


@dataclass(frozen=True, slots=True)
class LakeRoot:
    """The folder of a lake, as an absolute path without links."""

    folder: str

    @classmethod
    def of(cls, folder: Path) -> LakeRoot:
        return cls(os.path.realpath(folder))

    @property
    def option(self) -> dict[str, LakeRoot]:
        """By which a transaction knows it: execution options of SQLAlchemy."""
        return {_OPTION: self}

    def stored(self, path: str) -> str:
        """A path as it is stored; a URI of another scheme, and a path outside, as it is."""
        plain = str(local(path)) if path.startswith("file:") else path
        for given in (plain, os.path.realpath(plain)) if plain.startswith("/") else ():
            if given.startswith(self._inside):
                return _HERE + given.removeprefix(self._inside)
        return path

    def found(self, path: str) -> str:
        """A stored path where it is now."""
        return self._inside + path.removeprefix(_HERE) if path.startswith(_HERE) else path

    def canonical(self, path: str) -> str:
        """A path in the lake as the lake's folder is named, by whatever links it was found."""
        return self.found(self.stored(path))

    def holds(self, path: str) -> bool:
        """Whether it is in the lake."""
        return self.stored(path).startswith(_HERE)

    def stored_text(self, text: str) -> str:
        """A query in which tables of the lake are named by their paths (``delta.`/…` ``)."""
        return re.sub(_FILE + re.escape(self._inside), _TEXT, text)

    def found_text(self, text: str) -> str:
        return text.replace(_TEXT, f"`{self._inside}")

    def stored_name(self, name: Name) -> Name:
        """A name that is a path, as `stored`; the paths of names are in lower case."""
        if name.schema != "delta":
            return name
        text = LakeRoot(self.folder.lower()).stored_text(f"`{name.table}")
        return Name(name.schema, _HERE + text.removeprefix(_TEXT)) if _TEXT in text else name

    def found_name(self, name: Name) -> Name:
        if name.schema != "delta" or not name.table.startswith(_HERE):
            return name
        return Name(name.schema, self._inside + name.table.removeprefix(_HERE))

    def stored_definition(self, definition: Definition) -> Definition:
        return replace(
            definition,
            query=self.stored_text(definition.query),
            sources=tuple(self._stored_source(s) for s in definition.sources),
            views=tuple(ViewSource(v.name, self.stored_text(v.text)) for v in definition.views),
            frozen=_moved_region(definition.frozen, self._stored_source),
        )

    def found_definition(self, definition: Definition) -> Definition:
        return replace(
            definition,
            query=self.found_text(definition.query),
            sources=tuple(self._found_source(s) for s in definition.sources),
            views=tuple(ViewSource(v.name, self.found_text(v.text)) for v in definition.views),
            frozen=_moved_region(definition.frozen, self._found_source),
        )

    def stored_held(self, table: HeldTable) -> HeldTable:
        copy = None if table.copy is None else self.stored(table.copy)
        return replace(table, path=self.stored(table.path), copy=copy)

    def found_held(self, table: HeldTable) -> HeldTable:
        copy = None if table.copy is None else self.found(table.copy)
        return replace(table, path=self.found(table.path), copy=copy)

    def _stored_source(self, source: Source) -> Source:
        path = None if source.path is None else self.stored(source.path)
        return replace(source, name=self.stored_name(source.name), path=path)

    def _found_source(self, source: Source) -> Source:
        path = None if source.path is None else self.found(source.path)
        return replace(source, name=self.found_name(source.name), path=path)

    @property
    def _inside(self) -> str:
        return self.folder.rstrip("/") + "/"


def _moved_region(
    region: FrozenRegion | None, moved: Callable[[Source], Source]
) -> FrozenRegion | None:
    if region is None or region.backfill is None:
        return region
    return replace(region, backfill=moved(region.backfill))


def root_of(connection: Connection) -> LakeRoot:
    """The root of the lake whose catalog a transaction is on."""
    root = connection.get_execution_options()[_OPTION]
    assert isinstance(root, LakeRoot)
    return root
