"""Changes of rows as a table: an update is one row with the values before and after."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dt_jupyter.model import Mark, count_of
from dt_jupyter.widgets.change_order import (
    MOST_KEYS,
    RowChange,
    changed_places,
    count_keys,
    is_number,
    sorted_changes,
)
from dt_jupyter.widgets.html_frame import shell
from dt_jupyter.widgets.markup import Markup, element, joined, one_line
from dt_jupyter.widgets.mime_bundle import chosen_types, mime_bundle
from dt_jupyter.widgets.tables import (
    Cell,
    column_head,
    row,
    short_floats,
    table,
    value_cell,
)
from dt_jupyter.widgets.typeset import aligned
from dt_jupyter.wire import Column, ResultMessage

_ACTION, _ISUPDATE, _ROW_ID = "$ACTION", "$ISUPDATE", "$ROW_ID"
MOST_CHANGES = 50
_SHORT = 10
"""Characters of a row id that are shown."""
_ACTION_WIDTH = 13
_WIDEST_KEY = 24
"""In characters; what is longer is whole in its title."""
_CHARACTER, _BOLD = 0.62, 1.25
"""How wide one is at most, in em, and by how much wider a bold one is."""
_FIRST = "dtj-first-changed"
"""The heading from which on a browser that knows `scroll-initial-target` shows the columns."""
_TOKENS = {"INSERT": "ok", "DELETE": "bad", "UPDATE": "run"}


@dataclass(frozen=True)
class ChangeCounts:
    """Of all changes, also those that are not shown."""

    inserted: int
    deleted: int
    updated: int

    @property
    def total(self) -> int:
        return self.inserted + self.deleted + self.updated

    def __str__(self) -> str:
        return f"{self.inserted:,} inserted, {self.deleted:,} deleted, {self.updated:,} updated"


@dataclass(frozen=True)
class ChangeTable:
    """The first rows of a change query, `$ACTION`, `$ISUPDATE` and `$ROW_ID` among them; `counts`
    of all there are (None: those that are here are all)."""

    message: ResultMessage
    counts: ChangeCounts | None = None

    @cached_property
    def _read(self) -> tuple[RowChange, ...]:
        return tuple(sorted_changes(tuple(_changes(self.message)), self.columns))

    @property
    def changes(self) -> tuple[RowChange, ...]:
        """The halves of an update as one; one whose other half is not here is left out."""
        return self._read[:MOST_CHANGES]

    @property
    def columns(self) -> tuple[Column, ...]:
        hidden = (_ACTION, _ISUPDATE, _ROW_ID)
        return tuple(c for c in self.message.columns if c.name not in hidden)

    @property
    def changed_places(self) -> tuple[int, ...]:
        """Of the columns that the updates shown have changed."""
        return changed_places(self.changes)

    @property
    def summary(self) -> str:
        """`1 inserted, 0 deleted, 2 updated (amount, note)`."""
        return self._summary(self.changed_places)

    def _summary(self, changed: Collection[int]) -> str:
        names = ", ".join(one_line(self.columns[i].name) for i in changed)
        return f"{self._counts} ({names})" if names else str(self._counts)

    @property
    def title(self) -> str:
        """`Net changes of orders since version 1: 50 of 1,234 rows`."""
        many = _many(len(self.changes), self._counts.total)
        return f"{self.message.title or 'Changes'}: {many}"

    @property
    def _counts(self) -> ChangeCounts:
        return self.counts or count_changes(self._read)

    @cached_property
    def html(self) -> str:
        names = [column_head(c, is_number(c)) for c in self.columns]
        for first in self.changed_places[:1]:
            names[first] = replace(names[first], class_=f"{names[first].class_ or ''} {_FIRST}")
        header = self._kept([Cell(_ACTION), *names, Cell(_ROW_ID)])
        rows = [
            row(self._kept(_cells(change, self.columns)), i)
            for i, change in enumerate(self.changes)
        ]
        title = element("div", one_line(self.title), class_="dtj-title")
        foot = element("div", self.summary, class_="dtj-soft", style="font-size:12px")
        kept = sum(self._widths)
        shown = table(header, rows, style=f"scroll-padding-left:{_em(kept)}") if rows else ""
        return shell(title, shown, foot)

    @cached_property
    def _widths(self) -> tuple[int, ...]:
        """In characters, of the columns that stay at the left: the action, and the key."""
        keys = min(count_keys(self._read), MOST_KEYS)
        widest = [
            max(
                round(_BOLD * len(column.name)), *(len(c.values[i] or "NULL") for c in self.changes)
            )
            for i, column in enumerate(self.columns[:keys])
        ]
        return (_ACTION_WIDTH, *(min(width, _WIDEST_KEY) + 3 for width in widest))

    def _kept(self, cells: list[Cell]) -> list[Cell]:
        """With a place for those at the left, where they stay while the others are scrolled."""
        left, kept = 0, []
        for cell, width in zip(cells, self._widths, strict=False):
            wide = _em(width)
            style = f"left:{_em(left)};width:{wide};min-width:{wide};max-width:{wide}"
            class_ = " ".join(filter(None, (cell.class_, "dtj-kept")))
            kept.append(replace(cell, class_=class_, style=style))
            left += width
        return kept + cells[len(kept) :]

    @cached_property
    def text(self) -> str:
        header = [_ACTION, *(one_line(c.name) for c in self.columns), _ROW_ID]
        right = frozenset(i for i, c in enumerate(self.columns, 1) if is_number(c))
        rows = [_words(change) for change in self.changes]
        body = aligned(header, rows, right=right) if rows else []
        return "\n".join([one_line(self.title), *body, str(self._counts)])

    def __repr__(self) -> str:
        return self.text

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, Any]:
        return chosen_types(mime_bundle(self.text, self.html, self._grid), include, exclude)

    @property
    def _grid(self) -> ResultMessage:
        """All that were read, the two sides of an update as two rows."""
        sides = [side for change in self._read for side in _sides(change)]
        marks, rows = zip(*sides, strict=True) if sides else ((), ())
        columns = (*self.columns, Column(_ROW_ID, "string"))
        shown, total = len(self._read), self._counts.total
        note = self._summary(changed_places(self._read))
        return ResultMessage(columns, rows, shown < total, self.message.title, note, marks)


def _many(shown: int, total: int) -> str:
    return count_of(total, "row") if shown == total else f"{shown:,} of {count_of(total, 'row')}"


def _sides(change: RowChange) -> Iterator[tuple[Mark, tuple[str | None, ...]]]:
    if change.before is None:
        mark = Mark.INSERTED if change.action == "INSERT" else Mark.DELETED
        yield mark, (*change.values, change.row_id)
        return
    yield Mark.BEFORE, (*change.before, change.row_id)
    yield Mark.AFTER, (*change.values, change.row_id)


def _em(characters: int) -> str:
    return f"{characters * _CHARACTER:.4g}em"


def count_changes(changes: Collection[RowChange]) -> ChangeCounts:
    actions = [change.action for change in changes]
    return ChangeCounts(*(actions.count(a) for a in ("INSERT", "DELETE", "UPDATE")))


def _changes(message: ResultMessage) -> Iterator[RowChange]:
    names = [c.name for c in message.columns]
    action, update, id_ = (names.index(n) for n in (_ACTION, _ISUPDATE, _ROW_ID))
    olds: dict[str, tuple[str | None, ...]] = {}
    news: dict[str, tuple[str | None, ...]] = {}
    for cells in message.rows:
        values = tuple(v for i, v in enumerate(cells) if i not in (action, update, id_))
        row_id = cells[id_] or ""
        if cells[update] != "true":
            yield RowChange(cells[action] or "", row_id, values)
            continue
        mine, other = (olds, news) if cells[action] == "DELETE" else (news, olds)
        mine[row_id] = values
        if row_id in other:
            yield RowChange("UPDATE", row_id, news[row_id], olds[row_id])


def _words(change: RowChange) -> list[str]:
    pairs = zip(change.before or change.values, change.values, change.changed, strict=True)
    cells = [f"{_null(a)} → {_null(b)}" if moved else _null(b) for a, b, moved in pairs]
    return [change.action, *cells, _short(change.row_id)]


def _null(value: str | None) -> str:
    return "NULL" if value is None else one_line(value)


def _cells(change: RowChange, columns: Sequence[Column]) -> list[Cell]:
    pill = element("span", change.action, class_=f"dtj-pill dtj-c-{_TOKENS[change.action]}")
    before = change.before or change.values
    moved = zip(before, change.values, change.changed, columns, strict=True)
    whole = element("span", _short(change.row_id), title=change.row_id, class_="dtj-soft")
    return [Cell(pill), *(_cell(*value) for value in moved), Cell(whole)]


def _cell(old: str | None, new: str | None, changed: bool, column: Column) -> Cell:
    right, (was, now) = is_number(column), short_floats(column, old, new)
    after = value_cell(now, right)
    if not changed:
        return after if new is None else replace(after, title=new)
    before = element("span", value_cell(was, right).content, class_="dtj-soft")
    both = Markup(joined(before, " → ", element("b", after.content)))
    class_ = "dtj-changed dtj-num" if right else "dtj-changed"
    return Cell(both, class_, title=f"{_null(old)} → {_null(new)}")


def _short(row_id: str) -> str:
    return row_id if len(row_id) <= _SHORT else f"{row_id[: _SHORT - 1]}…"
