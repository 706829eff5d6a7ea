"""The operators as a table, for the reference page."""

from __future__ import annotations

from dataclasses import dataclass

from dt_jupyter.ivm.derive import LAWS
from dt_jupyter.ivm.operators import TABLES
from dt_jupyter.ivm.rel import OPERATORS, Rel

_PROPERTIES = {
    "monotone": "rows added to its inputs only ever add rows",
    "combines": "a row may have values of rows of several inputs",
}
"""The tables of yes and no, and what a yes says."""


@dataclass(frozen=True)
class OperatorRow:
    """An operator with what it means, the law of its derivative with its source, and what else
    holds of it; all is read from where the program itself has it."""

    operator: str
    meaning: str
    law: str
    source: str
    properties: tuple[str, ...]


def operator_table() -> tuple[OperatorRow, ...]:
    """A row for each operator, in the order of the closed set."""
    return tuple(map(_row, OPERATORS))


def _row(kind: type[Rel]) -> OperatorRow:
    law = LAWS[kind]
    meaning = " ".join((kind.__doc__ or "").split())
    holds = tuple(told for table, told in _PROPERTIES.items() if TABLES[table][kind])
    return OperatorRow(kind.__name__, meaning, law.equation, law.source, holds)
