"""What CREATE of a dynamic table did, as a value, and the words that it is said in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.definition import Defined
from dt_jupyter.model import DynamicTable, RefreshRecord, plain
from dt_jupyter.reports import PlannedChange

TAKEN_IN_PYTHON = (
    "It has another definition: `or_alter=True` alters it and says what that changes, "
    "`replace=True` makes it again, `if_not_exists=True` leaves it."
)
Announce = Callable[[PlannedChange], None]
"""Hears what a statement changes of a table that is there, before it does."""


def say_nothing(change: PlannedChange) -> None:
    """The outcome says it."""


@dataclass(frozen=True)
class Created:
    """What CREATE did: the table as it is now, how it was defined, its first refresh (None with
    ON_SCHEDULE), whether it is new, what was changed at its sources, and of a table that was there
    before (None: it was not); and why nothing refreshes it from now on, where that is so."""

    table: DynamicTable
    defined: Defined | None
    record: RefreshRecord | None
    status: str
    notes: tuple[str, ...] = ()
    change: PlannedChange | None = None
    held_back: str | None = None


def standing_definition(table: DynamicTable) -> Defined:
    return Defined(table.definition, None, table.effective_mode, table.mode_reason)


def options_of(row: DynamicTable) -> dict[str, object]:
    """What CREATE OR ALTER sets in addition to the definition."""
    fields = ("target_lag", "warehouse", "comment", "cluster_by", "retention_days",
              "scheduler_enabled", "alter_sources")  # fmt: skip
    return {field: getattr(row, field) for field in fields}


def schema_words(made: str | None) -> str:
    """What a status says of a schema that a statement made."""
    return f", and schema {plain(made)} for it" if made else ""
