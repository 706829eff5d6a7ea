"""Which action a refresh takes, and why: a pure function (DT paper 3.3.2 and 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.lake import ChangePlan, Unchanged, Unreadable
from dt_jupyter.model import (
    Definition,
    DynamicTable,
    Reason,
    RefreshAction,
    RefreshMode,
    RefreshRecord,
)


@dataclass(frozen=True)
class ExtendedDefinition:
    """A definition with the columns `names`, which are NULL in the rows that the table has."""

    definition: Definition
    names: tuple[str, ...]


@dataclass(frozen=True)
class Choice:
    """An action with its reason; `changed` are the ids of the sources with changed rows. Without
    `keeps_state` the rows are computed alone, where they can be. An incremental refresh continues
    with the definition `extended`, where columns were added: they are NULL in the stored rows."""

    action: RefreshAction
    reason: Reason
    changed: frozenset[str] = frozenset()
    keeps_state: bool = True
    extended: Definition | None = None


def choose(
    table: DynamicTable,
    plans: Mapping[str, ChangePlan],
    names: Mapping[str, str],
    invalid: Reason | None,
    extended: ExtendedDefinition | None = None,
) -> Choice:
    """The action for a table whose sources changed by `plans` (by id; empty if not initialised).

    `invalid` says why stored rows may be wrong, if they may; `names` are the sources' for people;
    `extended` is the definition to continue with where only columns were added.
    """
    full = table.effective_mode is RefreshMode.FULL
    again = RefreshAction.FULL if full else RefreshAction.REINITIALIZE
    everything = frozenset(names)
    if table.frontier is None:
        return Choice(again, Reason("FIRST_REFRESH", "the table has no rows yet"), everything)
    if invalid is not None:
        return Choice(again, invalid, everything)
    changed = frozenset(s for s, p in plans.items() if not isinstance(p, Unchanged))
    if not changed and extended is None:
        sentence = "no source has new data" if names else "the query reads no table"
        return Choice(RefreshAction.NO_DATA, Reason("SOURCES_UNCHANGED", sentence))
    told = ", ".join(sorted(names[s] for s in changed))
    if full:
        return Choice(RefreshAction.FULL, table.mode_reason, changed)
    for source in sorted(changed):
        plan = plans[source]
        if isinstance(plan, Unreadable):
            sentence = f"the changes of {names[source]} cannot be read: {plan.sentence}"
            return Choice(RefreshAction.REINITIALIZE, Reason(plan.code, sentence), changed)
    if extended is not None:
        columns = f"{', '.join(extended.names)}"
        sentence = f"the query has new columns: {columns}" + f"; new data in {told}" * bool(changed)
        reason = Reason("COLUMNS_ADDED", sentence)
        return Choice(RefreshAction.INCREMENTAL, reason, changed, extended=extended.definition)
    return Choice(
        RefreshAction.INCREMENTAL, Reason("SOURCES_CHANGED", f"new data in {told}"), changed
    )


def has_new_columns(record: RefreshRecord) -> bool:
    """Whether a refresh may have given its table other columns."""
    added = record.reason is not None and record.reason.code == "COLUMNS_ADDED"
    return added or record.action in (RefreshAction.FULL, RefreshAction.REINITIALIZE)
