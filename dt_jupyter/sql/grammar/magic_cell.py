"""A notebook's cell as the texts that its magics are given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.sql.text.layout import format_script

_CELL = re.compile(r"\s*%%(?P<magic>dynamic_table|dt|changes)(?P<line>[^\S\n][^\n]*)?(?:\n|\Z)")
_LINE = re.compile(r"[ \t]*%dt[ \t]+(?P<line>[^\n]*)")


class CellKind(StrEnum):
    """SCRIPT is SQL; DEFINITION a query below a line with its options, CHANGES one that changes are
    read of; COMMAND a line that is a command or SQL."""

    SCRIPT = "script"
    DEFINITION = "definition"
    CHANGES = "changes"
    COMMAND = "command"


@dataclass(frozen=True, slots=True)
class CellPart:
    """`text` stands at `offset` of the cell, the `line` of its magic at `line_offset`."""

    kind: CellKind
    text: str
    offset: int
    line: str = ""
    line_offset: int = 0


def cell_parts(cell: str) -> tuple[CellPart, ...]:
    """What a cell gives to our magics; of a text without any the whole is a script."""
    if match := _CELL.match(cell):
        kind = {"dt": CellKind.SCRIPT, "changes": CellKind.CHANGES}.get(
            match["magic"], CellKind.DEFINITION
        )
        line = match["line"] or ""
        start = match.start("line") if match["line"] is not None else match.end("magic")
        return (CellPart(kind, cell[match.end() :], match.end(), line, start),)
    if "%" in cell and _LINE.match(cell.lstrip("\n")):
        return tuple(
            CellPart(CellKind.COMMAND, "", match.end(), match["line"], match.start("line"))
            for match in _LINE.finditer(cell)
        )
    return (CellPart(CellKind.SCRIPT, cell, 0),)


def format_cell(cell: str) -> str | None:
    """A cell, or a script, with its SQL laid out; None where that would make another text of it.
    DT-1001 for what has no words of SQL."""
    made = cell
    for part in reversed(cell_parts(cell)):
        if part.kind is not CellKind.COMMAND:  # a line stays a line
            laid_out = format_script(part.text)
            if laid_out is None:
                return None
            made = made[: part.offset] + laid_out + made[part.offset + len(part.text) :]
    return made
