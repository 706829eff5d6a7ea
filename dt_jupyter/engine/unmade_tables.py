"""A dynamic table that could not be made, and what it was to replace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.lake import remove_folder
from dt_jupyter.model import DynamicTable, Name, StatementStep, run_all
from dt_jupyter.sources import Publisher, Sources


def making(
    table: DynamicTable, replaced: DynamicTable | None, new_schema: str | None = None
) -> StatementStep:
    """The step that makes a dynamic table, in the place of the one that it replaces, and the
    schema that is made for it."""
    name = [table.name.schema, table.name.table]
    facts = {"id": table.id, "name": name, "replaced": replaced and replaced.id}
    return StatementStep(StepKind.DYNAMIC_TABLE_MADE, {**facts, "schema": new_schema})


@dataclass(frozen=True)
class UnmadeTables:
    """Undoes `making`."""

    sources: Sources
    publisher: Publisher

    def unmake(self, facts: Mapping[str, Any]) -> None:
        """A table that could not be made leaves no trace, and what it replaced is back."""
        dt_id, name = facts["id"], Name(*facts["name"])
        run_all(
            (
                lambda: self._forget(dt_id),
                lambda: self._bring_back(name, facts["replaced"]),
                lambda: self._publish_again(name),
                lambda: self._drop_schema(facts.get("schema")),
                lambda: remove_folder(self.sources.layout.folder(dt_id)),
            )
        )

    def _forget(self, dt_id: str) -> None:
        catalog = self.sources.catalog
        row = catalog.by_id(dt_id)
        if row is not None and row.dropped is None:
            catalog.drop(row.name)
        catalog.purge(dt_id)

    def _bring_back(self, name: Name, replaced: str | None) -> None:
        catalog = self.sources.catalog
        row = catalog.by_id(replaced) if replaced is not None else None
        if row is not None and row.dropped is not None and catalog.get(name) is None:
            catalog.undrop(name)

    def _publish_again(self, name: Name) -> None:
        """The view of what has the name now."""
        table = self.sources.catalog.get(name)
        if table is not None:
            self.publisher.publish(table)
        else:
            self.publisher.unpublish(name)

    def _drop_schema(self, made: str | None) -> None:
        if made is not None:
            self.publisher.drop_empty_schema(made)
