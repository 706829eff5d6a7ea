"""Tables with an entry for each operator.

A function that does something else for each operator looks it up in such a table. There is no
default that a new operator falls into unseen: the check of the closed set asks every table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from dt_jupyter.ivm.rel import Rel

_Entry = TypeVar("_Entry")
TABLES: dict[str, PerOperator[Any]] = {}
"""By the name of the function that reads it; a module adds its tables when it is imported."""


class PerOperator(dict["type[Rel]", _Entry]):
    """What `function` does for each operator. Of one without an entry it raises TypeError, or
    takes `otherwise` where that is sound for whatever relation; the check asks for one anyhow."""

    def __init__(
        self,
        function: str,
        entries: Mapping[type[Rel], _Entry] | None = None,
        *,
        otherwise: _Entry | None = None,
    ) -> None:
        super().__init__(entries or {})
        self.function, self.otherwise = function, otherwise
        TABLES[function] = self

    def __missing__(self, kind: type[Rel]) -> _Entry:
        if self.otherwise is None:
            raise TypeError(_sentence(self.function, kind))
        return self.otherwise


def missing_entries(kinds: Iterable[type[Rel]]) -> tuple[str, ...]:
    """A sentence for each table that lacks an entry for one of these operators."""
    return tuple(
        _sentence(function, kind)
        for kind in kinds
        for function, table in TABLES.items()
        if kind not in table
    )


def _sentence(function: str, kind: type[Rel]) -> str:
    return f"`{function}` has no entry for the operator {kind.__name__}"
