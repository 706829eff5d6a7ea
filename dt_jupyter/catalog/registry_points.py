"""Some objects of the registry as they were, and made so again."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dt_jupyter.catalog.registry_log import RegistryPicture
from dt_jupyter.catalog.registry_rows import named_rows, restore_some
from dt_jupyter.catalog.rights_mark import mark_rights
from dt_jupyter.catalog.store import Store

RegistryPoint = list[list[Any]]
"""Kind, key and columns of each object: JSON values."""
Objects = Collection[tuple[str, str]]
"""Kinds, as tables of the catalog, with names as in SQL; the name `*` is that of all."""


class RegistryPoints(Store):
    """Of those objects that are nothing but a row."""

    def registry_point(self, objects: Objects) -> RegistryPoint:
        with self._read() as connection:
            return [[*key, row] for key, row in named_rows(connection, objects).rows.items()]

    def return_to(self, objects: Objects, point: Sequence[Sequence[Any]]) -> None:
        """The objects are as they were at the point; those that were not there are gone."""
        wanted = RegistryPicture(rows={(kind, key): row for kind, key, row in point})
        with self._write() as connection:
            restore_some(connection, wanted, objects)
            mark_rights(connection)


__all__ = ["RegistryPoint", "RegistryPoints"]
