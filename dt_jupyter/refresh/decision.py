"""Which action a refresh takes, and why: a pure function (DT paper 3.3.2 and 5.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dt_jupyter.lake import ChangePlan, Unchanged, Unreadable
from dt_jupyter.model import DynamicTable, Reason, RefreshAction, RefreshMode


@dataclass(frozen=True)
class Choice:
    """An action with its reason; `changed` are the ids of the sources with changed rows. Without
    `keeps_state` the rows are computed alone, where they can be."""

    action: RefreshAction
    reason: Reason
    changed: frozenset[str] = frozenset()
    keeps_state: bool = True


def choose(
    table: DynamicTable,
    plans: Mapping[str, ChangePlan],
    names: Mapping[str, str],
    invalid: Reason | None,
) -> Choice:
    """The action for a table whose sources changed by `plans` (by id; empty if not initialised).

    `invalid` says why stored rows may be wrong, if they may; `names` are the sources' for people.
    """
    full = table.effective_mode is RefreshMode.FULL
    again = RefreshAction.FULL if full else RefreshAction.REINITIALIZE
    everything = frozenset(names)
    if table.frontier is None:
        return Choice(again, Reason("FIRST_REFRESH", "the table has no rows yet"), everything)
    if invalid is not None:
        return Choice(again, invalid, everything)
    changed = frozenset(s for s, p in plans.items() if not isinstance(p, Unchanged))
    if not changed:
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
    return Choice(
        RefreshAction.INCREMENTAL, Reason("SOURCES_CHANGED", f"new data in {told}"), changed
    )
