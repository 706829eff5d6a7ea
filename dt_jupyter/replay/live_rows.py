"""The first rows of a table now, with their changes since a version of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.model import Mark, Name, Timestamp, count_of, did_you_mean, error
from dt_jupyter.replay.row_diff import Marked

if TYPE_CHECKING:
    from dt_jupyter.replay.replay import Replay

Axes = tuple[str, str]


@dataclass(frozen=True)
class TableRows:
    """Rows of a table, view or dynamic table at `time`, in the order of its columns; at most
    `limit` of them. `version` is None of a view; a table that is not `dynamic` changes without a
    refresh; `chart` names the columns of a picture, across and up."""

    name: Name
    time: Timestamp
    version: int | None
    marked: Marked
    limit: int
    dynamic: bool
    chart: Axes | None = None

    @property
    def title(self) -> str:
        """`Rows of daily at 2026-01-31 09:00:00 UTC`."""
        return f"Rows of {self.name} at {self.time.words}"

    def __str__(self) -> str:
        there = sum(mark not in (Mark.DELETED, Mark.BEFORE) for mark in self.marked.marks)
        many = count_of(there, "row")
        return f"{self.title}: {f'the first {many}' if self.marked.truncated else many}"


def read_table_rows(replay: Replay, limit: int, dynamic: bool, chart: Axes | None) -> TableRows:
    """Of the last step of a replay, with what moved since its first. DT-1003."""
    found, last = replay.moved_since_first(limit), replay.stops[-1]
    _require_columns(chart or (), [name for name, _ in found.columns])
    version = next(iter(last.versions.values())) if len(last.versions) == 1 else None
    return TableRows(replay.name, last.time, version, found, limit, dynamic, chart)


def _require_columns(wanted: tuple[str, ...], known: list[str]) -> None:
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known) or f"Its columns are {', '.join(known)}."
            problem = "the table has no such column"
            raise error("DT-1003", option="chart", value=name, problem=problem, hint=hint)
