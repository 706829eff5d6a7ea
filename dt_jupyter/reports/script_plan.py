"""What a script of definitions would change of a lake: told before it is applied."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from html import escape

from dt_jupyter.model import count_of

_STYLE = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"


class PlannedAction(StrEnum):
    ADD = "add"
    CHANGE = "change"
    REMOVE = "remove"
    LEAVE = "leave"
    """In the lake, and not in the script."""
    NONE = "unchanged"


_SIGNS = {
    PlannedAction.ADD: "+",
    PlannedAction.CHANGE: "~",
    PlannedAction.REMOVE: "−",
    PlannedAction.LEAVE: "?",
    PlannedAction.NONE: " ",
}


@dataclass(frozen=True)
class PlannedChange:
    """An object of the script or of the lake: `kind` as in `dynamic table`, `differs` says what is
    another, `rows` what becomes of its rows ("" where it has none of its own), and `affects` the
    dynamic tables downstream of it."""

    kind: str
    name: str
    action: PlannedAction
    differs: tuple[str, ...] = ()
    rows: str = ""
    affects: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = [f"{_SIGNS[self.action]} {self.kind} {self.name}"]
        told += [f"    {line}" for line in self.differs]
        told += [f"    rows: {self.rows}"] if self.rows else []
        told += [f"    downstream: {', '.join(self.affects)}"] if self.affects else []
        return "\n".join(told)


@dataclass(frozen=True)
class ScriptPlan:
    """What a script would change; nothing has been done. `steps` are the statements that apply it,
    `state` tells the definitions of the lake that it was made for."""

    changes: tuple[PlannedChange, ...]
    steps: tuple[str, ...]
    state: str

    @property
    def changed(self) -> tuple[PlannedChange, ...]:
        """What applying it does."""
        done = (PlannedAction.ADD, PlannedAction.CHANGE, PlannedAction.REMOVE)
        return tuple(c for c in self.changes if c.action in done)

    @property
    def summary(self) -> str:
        counts = Counter(c.action for c in self.changes)
        words = {
            PlannedAction.ADD: "to add",
            PlannedAction.CHANGE: "to change",
            PlannedAction.REMOVE: "to remove",
            PlannedAction.NONE: "unchanged",
            PlannedAction.LEAVE: "not in the script",
        }
        told = [f"{counts[a]} {text}" for a, text in words.items() if counts[a]]
        return f"{', '.join(told) or 'nothing in it'}; nothing has been applied"

    def __bool__(self) -> bool:
        """Whether there is something to apply."""
        return bool(self.changed)

    def __str__(self) -> str:
        shown = [str(c) for c in self.changes if c.action is not PlannedAction.NONE]
        steps = f"{count_of(len(self.steps), 'step')}: " if self.changed else ""
        return "\n".join([f"{steps}{self.summary}", *shown])

    def _repr_html_(self) -> str:
        rows = "".join(map(_row, (c for c in self.changes if c.action is not PlannedAction.NONE)))
        head = "".join(f'<th style="{_STYLE}">{h}</th>' for h in _HEAD)
        return f"<p>{escape(self.summary)}</p><table><tr>{head}</tr>{rows}</table>"


_HEAD = ("", "object", "what differs", "rows", "downstream")


def _row(change: PlannedChange) -> str:
    cells = (
        change.action.value,
        f"{change.kind} {change.name}",
        "\n".join(change.differs),
        change.rows,
        ", ".join(change.affects),
    )
    texts = (escape(c).replace("\n", "<br>") for c in cells)
    return "<tr>" + "".join(f'<td style="{_STYLE}">{t}</td>' for t in texts) + "</tr>"


__all__ = ["PlannedAction", "PlannedChange", "ScriptPlan"]
