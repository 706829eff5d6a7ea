"""What a dynamic table was defined as, and since when: every definition that it ever had."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import definition_digest, from_definition, to_definition
from dt_jupyter.catalog.registry_rows import registered
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.store import Store
from dt_jupyter.catalog.values import DefinitionRow
from dt_jupyter.model import Definition

_definition = schema.definition


class Definitions(Store):
    """Reading; `definition_rows.open_row` writes, whenever a dynamic table is made or changed."""

    def digest(self, definition: Definition) -> str:
        """Distinguishes definitions, and does not depend on the lake's folder."""
        return definition_digest(from_definition(definition, self.root))

    def registration(self, dt_id: str, definition: Definition) -> dict[str, Any]:
        """All that a dynamic table is, by that definition, for its commits to say."""
        with self._read() as connection:
            found = registered(connection, "dynamic_table", dt_id)
        text = from_definition(definition, self.root)
        return {**(found or {}), "definition": text, "needs_reinit": None}

    def told_definition(self, registration: Mapping[str, Any]) -> Definition:
        """The definition in a commit's registration."""
        return to_definition(str(registration["definition"]), self.root)

    def definitions(self, dt_id: str) -> tuple[DefinitionRow, ...]:
        """Oldest first."""
        query = (
            select(_definition)
            .where(_definition.c.dt_id == dt_id)
            .order_by(_definition.c.valid_from)
        )
        with self._read() as connection:
            return tuple(_to_row(row, self.root) for row in connection.execute(query).mappings())


def _to_row(row: RowMapping, root: LakeRoot) -> DefinitionRow:
    definition = to_definition(row["text"], root)
    digest = row["digest"] or definition_digest(row["text"])
    return DefinitionRow(row["dt_id"], row["valid_from"], digest, definition)
