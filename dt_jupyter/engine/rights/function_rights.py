"""Who may make, replace and drop functions: they have owners, and run with the rights of those who
call them. One that others' objects run is not replaced by its owner alone: it would run with their
rights."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.functions import FUNCTION_HOME, is_registered
from dt_jupyter.model import Name, Named, Right, Securable, quote, require
from dt_jupyter.spark import FunctionCommand
from dt_jupyter.sql import called_functions

_BY_TEXT = "identifier"
"""A call that names its function by a text may be of any."""


@dataclass(frozen=True)
class FunctionRights:
    """Of one engine's session."""

    access: Access

    def name_of(self, command: FunctionCommand) -> Name:
        """The function that it is about; of a temporary one, which it would hide."""
        access = self.access
        here = access.spark.catalog.currentDatabase()
        kept = not command.schema and is_registered(command.name, access.catalog)
        return Name(command.schema or (FUNCTION_HOME if kept else here), command.name)

    def is_new(self, command: FunctionCommand) -> bool:
        """Whether it makes a lasting function where none has the name."""
        lasting = command.creates and bool(command.schema)
        return lasting and not self.access.has_function(self.name_of(command))

    def require(self, command: FunctionCommand) -> None:
        """DT-5201 for a role that may not make it there, or does not own the one that it replaces
        or drops; DT-5207 where what another role owns calls that."""
        access, name = self.access, self.name_of(command)
        if not access.bound or not access.has_function(name):
            if command.creates and command.schema:
                access.require_create(Named.FUNCTION, name)
            return
        if command.creates and command.quiet:
            return
        on = Securable.of(Named.FUNCTION, name)
        require(access.book, access.role, Right.OWNERSHIP, on)
        mine = access.book.closure(access.role)
        for user in self._users(name.table):
            if access.book.owner(user) not in mine:
                kind = "a temporary function of that name" if not command.schema else "it"
                problem = f"{user.kind} {user} of another role runs {kind}"
                raise access.refusal(f"CREATE or DROP of function {name}", problem)

    def require_described(self, command: FunctionCommand | None) -> None:
        """DT-5201 for a role that has no right on the function, which may not see its body."""
        access = self.access
        on = Securable.of(Named.FUNCTION, self.name_of(command)) if command is not None else None
        if on is not None and not access.book.sees(access.role, on):
            require(access.book, access.role, Right.OWNERSHIP, on)

    def _users(self, function: str) -> Iterator[Securable]:
        """What calls a function, or another one that does, by its text."""
        texts = dict(self._texts())
        calls = {on: called_functions(text) for on, text in texts.items()}
        waiting, seen = [function], set[Securable]()
        while waiting:
            name = waiting.pop()
            for on in calls.keys() - seen:
                if not calls[on].isdisjoint((name, _BY_TEXT)):
                    seen.add(on)
                    yield on
                    if on.kind is Named.FUNCTION:
                        waiting.append(on.name)

    def _texts(self) -> Iterator[tuple[Securable, str]]:
        catalog = self.access.catalog
        for table in catalog.list():
            yield Securable.of(Named.DYNAMIC_TABLE, table.name), table.definition.query
        for view in catalog.views():
            yield Securable.of(Named.VIEW, view.name), view.text
        for task in catalog.tasks():
            yield Securable.of(Named.TASK, task.name), task.body
        yield from self._bodies()

    def _bodies(self) -> Iterator[tuple[Securable, str]]:
        """Of the functions in Spark's catalog, which has those of SQL."""
        spark = self.access.spark
        for schema in spark.catalog.listDatabases():
            listed = spark.sql(f"SHOW USER FUNCTIONS IN {quote(schema.name)}").collect()
            for parts in (row[0].split(".") for row in listed if "." in row[0]):
                name = Name(parts[-2], parts[-1])
                told = spark.sql(f"DESCRIBE FUNCTION EXTENDED {name.sql}").collect()
                text = "\n".join(row[0] for row in told).partition("Body:")[2]
                yield Securable.of(Named.FUNCTION, name), text


__all__ = ["FunctionRights"]
