"""Names of tables, views and dynamic tables."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def quote(identifier: str) -> str:
    """An identifier as Spark SQL reads it, whatever it contains."""
    return "`" + identifier.replace("`", "``") + "`"


def plain(identifier: str) -> str:
    """Quoted only where it must be, for people."""
    return identifier if _PLAIN.match(identifier) else quote(identifier)


@dataclass(frozen=True, slots=True)
class Name:
    """A table's name in the session catalog; compared as Spark does, without regard to case."""

    schema: str
    table: str

    def __post_init__(self) -> None:
        if not self.schema or not self.table or "\0" in self.schema + self.table:
            raise ValueError("a name is not empty and holds no NUL")
        object.__setattr__(self, "schema", self.schema.lower())
        object.__setattr__(self, "table", self.table.lower())

    @property
    def sql(self) -> str:
        return f"{quote(self.schema)}.{quote(self.table)}"

    def __str__(self) -> str:
        table = plain(self.table)
        return table if self.schema == "default" else f"{plain(self.schema)}.{table}"
