"""What a script of definitions would change in a lake: shown before it is applied, and after."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from html import escape

from dt_jupyter.model import count_of

_STYLE = "text-align:left;vertical-align:top;padding:2px 10px 2px 0"
_TEXTS = ("query", "text", "body")
"""What differs that its lines show."""
_COLORS = {
    "+": "color:var(--jp-success-color1, #1a7f37)",
    "-": "color:var(--jp-error-color1, #cf222e)",
}


class PlannedAction(StrEnum):
    ADD = "add"
    CHANGE = "change"
    REPLACE = "replace"
    """Dropped, and recreated."""
    REMOVE = "remove"
    LEAVE = "leave"
    """In the lake, and not in the script."""
    NONE = "unchanged"


_SIGNS = {
    PlannedAction.ADD: "+",
    PlannedAction.CHANGE: "~",
    PlannedAction.REPLACE: "±",
    PlannedAction.REMOVE: "−",
    PlannedAction.LEAVE: "?",
    PlannedAction.NONE: " ",
}


@dataclass(frozen=True, repr=False)
class PlannedChange:
    """An object of the script or of the lake: `kind` as in `dynamic table`, `differs` says what is
    another, `rows` whether its rows are kept ("" where it has none), and `affects` the
    dynamic tables downstream of it.

    `text` are the lines of its text that differ, with some around them, each after `+ `, `- ` or
    two spaces; `columns` those that are added, dropped or changed (`+ total double`); `costs` the
    effect on the streams, sinks, views and tables that read it.
    """

    kind: str
    name: str
    action: PlannedAction
    differs: tuple[str, ...] = ()
    rows: str = ""
    affects: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Whether something is changed by it."""
        return self.action not in (PlannedAction.NONE, PlannedAction.LEAVE)

    @property
    def title(self) -> str:
        same = " is unchanged" if self.action is PlannedAction.NONE else ""
        return f"{_SIGNS[self.action]} {self.kind} {self.name}{same}".lstrip()

    @property
    def facts(self) -> tuple[str, ...]:
        """All but its text, line by line."""
        told = [*self.differs]
        told += [f"columns: {', '.join(self.columns)}"] if self.columns else []
        told += [f"rows: {self.rows}"] if self.rows else []
        told += [*self.costs]
        return (*told, *([f"downstream: {', '.join(self.affects)}"] if self.affects else []))

    def __str__(self) -> str:
        told = (*self.differs, *(f"  {line}" for line in self.text))
        rest = self.facts[len(self.differs) :]
        return "\n".join([self.title, *(f"    {line}".rstrip() for line in (*told, *rest))])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = (f for f in self.facts if not self.text or f not in _TEXTS)
        facts = "".join(f"<li>{escape(fact)}</li>" for fact in shown)
        return f"<div><b>{escape(self.title)}</b>{_diff_html(self.text)}<ul>{facts}</ul></div>"


@dataclass(frozen=True, repr=False)
class ScriptPlan:
    """What a script would change; nothing has been done. `steps` are the statements that apply it,
    `state` identifies the definitions of the lake that it was made for."""

    changes: tuple[PlannedChange, ...]
    steps: tuple[str, ...]
    state: str

    @property
    def changed(self) -> tuple[PlannedChange, ...]:
        """What applying it does."""
        return tuple(filter(None, self.changes))

    @property
    def summary(self) -> str:
        words = {
            PlannedAction.ADD: "to add",
            PlannedAction.CHANGE: "to change",
            PlannedAction.REMOVE: "to remove",
            PlannedAction.NONE: "unchanged",
            PlannedAction.LEAVE: "not in the script",
        }
        return f"{_counted(self.changes, words) or 'nothing in it'}; nothing has been applied"

    def __bool__(self) -> bool:
        """Whether there is something to apply."""
        return bool(self.changed)

    def __str__(self) -> str:
        shown = [str(c) for c in self.changes if c.action is not PlannedAction.NONE]
        steps = f"{count_of(len(self.steps), 'step')}: " if self.changed else ""
        return "\n".join([f"{steps}{self.summary}", *shown])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        shown = (c for c in self.changes if c.action is not PlannedAction.NONE)
        head = ("", "object", "what differs", "rows", "downstream")
        return f"<p>{escape(self.summary)}</p>{_table(head, map(_cells, shown))}"


@dataclass(frozen=True, repr=False)
class AppliedChange:
    """An object of a plan, and what its statements said when they were run."""

    change: PlannedChange
    said: tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([self.change.title, *(f"    {line}" for line in self.said)])

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class AppliedPlan:
    """What `dt.apply` did: an object a line, in the order of the plan; false where it was
    nothing."""

    done: tuple[AppliedChange, ...]

    @property
    def summary(self) -> str:
        words = {
            PlannedAction.ADD: "added",
            PlannedAction.CHANGE: "changed",
            PlannedAction.REMOVE: "removed",
        }
        return _counted((d.change for d in self.done), words) or "nothing to do"

    def __bool__(self) -> bool:
        return bool(self.done)

    def __str__(self) -> str:
        return "\n".join([f"Applied: {self.summary}", *map(str, self.done)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        cells = (
            [escape(t) for t in _object(d.change)] + ["<br>".join(map(escape, d.said))]
            for d in self.done
        )
        return f"<p>Applied: {escape(self.summary)}</p>{_table(('', 'object', 'done'), cells)}"


def _counted(changes: Iterable[PlannedChange], words: Mapping[PlannedAction, str]) -> str:
    counts = Counter(c.action for c in changes)
    return ", ".join(f"{counts[a]} {text}" for a, text in words.items() if counts[a])


def _object(change: PlannedChange) -> tuple[str, str]:
    return change.action.value, f"{change.kind} {change.name}"


def _cells(change: PlannedChange) -> Iterator[str]:
    yield from map(escape, _object(change))
    columns = f"columns: {', '.join(change.columns)}" if change.columns else ""
    differs = "<br>".join(map(escape, filter(None, (*change.differs, columns))))
    yield differs + _diff_html(change.text)
    yield "<br>".join(map(escape, filter(None, (change.rows, *change.costs))))
    yield escape(", ".join(change.affects))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Of cells that are HTML."""
    lines = ["".join(f'<th style="{_STYLE}">{h}</th>' for h in head)]
    lines += ("".join(f'<td style="{_STYLE}">{cell}</td>' for cell in row) for row in rows)
    return "<table>" + "".join(f"<tr>{line}</tr>" for line in lines) + "</table>"


def _diff_html(lines: Iterable[str]) -> str:
    """Lines of a text that differ, in colour."""
    shown = (f'<span style="{_COLORS.get(li[:1], "")}">{escape(li)}</span>' for li in lines)
    text = "\n".join(shown)
    style = "margin:4px 0;padding:0;font-size:12px;line-height:1.5;text-align:left"
    return f'<pre style="{style}">{text}</pre>' if text else ""


__all__ = ["AppliedChange", "AppliedPlan", "PlannedAction", "PlannedChange", "ScriptPlan"]
