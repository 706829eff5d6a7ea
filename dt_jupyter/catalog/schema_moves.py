"""What an object is once its schema has another name: it reads in the schema of the new name what
it named in its own, and all else by the names that it has."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from dt_jupyter.model import Definition, DynamicTable, Name, Source, Task, ViewSource, plain
from dt_jupyter.sql import move_schema, move_schema_in_statement


@dataclass(frozen=True)
class SchemaMoves:
    """`names`: the new name of each schema, by the old one. `tables` (id and folder) and `views`
    (text) are all that these schemas hold, by their old names. `apart` are dynamic tables, and
    `labels` folders of dropped tables (from, to), that went with a schema dropped before."""

    names: Mapping[str, str]
    tables: Mapping[Name, tuple[str, str]] = field(default_factory=dict)
    views: Mapping[Name, str] = field(default_factory=dict)
    apart: frozenset[str] = frozenset()
    labels: tuple[tuple[str, str], ...] = ()

    @property
    def trigger(self) -> str:
        """What the graph's history says of it."""
        return "RENAME" if len(self.names) == 1 else "SWAP"

    def name(self, name: Name) -> Name:
        return Name(self.names.get(name.schema, name.schema), name.table)

    def view(self, name: Name) -> str:
        """The text of a view that it holds."""
        return move_schema(self.views[name], name.schema, self.names[name.schema])

    def table(self, table: DynamicTable) -> DynamicTable:
        old = table.name.schema
        definition = moved_definition(table.definition, old, self.names[old])
        return replace(table, name=self.name(table.name), definition=definition)

    def task(self, task: Task) -> Task:
        """A task of any schema: those that it comes after are objects, and not words of a text."""
        moved = replace(task, after=tuple(map(self.name, task.after)))
        old = task.name.schema
        if old not in self.names:
            return moved
        new = self.names[old]
        return replace(
            moved,
            name=self.name(task.name),
            body=move_schema_in_statement(task.body, old, new),
            condition=task.condition and move_schema_in_statement(task.condition, old, new),
            schema=new if task.schema == old else task.schema,
        )


def moved_definition(definition: Definition, old: str, new: str) -> Definition:
    def source(found: Source) -> Source:
        return replace(found, name=_moved(found.name, old, new))

    frozen = definition.frozen
    if frozen is not None and frozen.backfill is not None:
        frozen = replace(frozen, backfill=source(frozen.backfill))
    current = definition.current_schema
    return replace(
        definition,
        query=move_schema(definition.query, old, new),
        sources=tuple(map(source, definition.sources)),
        views=tuple(_moved_view(v, old, new) for v in definition.views),
        current_schema=new if current == old else current,
        frozen=frozen,
    )


def _moved_view(view: ViewSource, old: str, new: str) -> ViewSource:
    if view.name.schema != old:
        return view
    return ViewSource(_moved(view.name, old, new), move_schema(view.text, old, new))


def _moved(name: Name, old: str, new: str) -> Name:
    return Name(new, name.table) if name.schema == old else name


def moved_text(shown: str, names: Mapping[str, str]) -> str:
    """A name as it is shown, in a pin."""
    for old, new in names.items():
        if shown.startswith(f"{plain(old)}."):
            return f"{plain(new)}{shown.removeprefix(plain(old))}"
    return shown


__all__ = ["SchemaMoves", "moved_definition", "moved_text"]
