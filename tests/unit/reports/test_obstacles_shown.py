"""What a node says of why it is not fresh: the panel shows that one text."""

from __future__ import annotations

import pytest

from dt_jupyter.model import Name, Reason, RefreshRecord, RefreshState, RefreshTrigger, Timestamp
from dt_jupyter.reports.report_values import GraphNode

WAITS = Reason("UPSTREAM_SUSPENDED", "up, which it reads, is suspended.")
IDLE = Reason("NO_READER", "Not refreshed: no target lag, and nothing reads it.")
LOST = Reason("UPSTREAM_FAILED", "The refresh of up is FAILED: [DT-2102] Source item …")


def record(state: RefreshState, error: str | None = None) -> RefreshRecord:
    return RefreshRecord(
        Name("default", "d"),
        "q",
        state,
        RefreshTrigger.SCHEDULED,
        Timestamp(1),
        reason=LOST,
        error=error,
    )


@pytest.mark.parametrize(
    ("problem", "standing", "last", "told"),
    [
        (None, None, None, None),
        (None, None, record(RefreshState.SUCCEEDED), None),
        (None, None, record(RefreshState.FAILED, "[DT-2105] bad row"), "[DT-2105] bad row"),
        (None, None, record(RefreshState.UPSTREAM_FAILED), str(LOST)),
        (None, None, record(RefreshState.SKIPPED), str(LOST)),
        (None, WAITS, record(RefreshState.SUCCEEDED), str(WAITS)),
        (None, IDLE, record(RefreshState.SUCCEEDED), str(IDLE)),
        (None, IDLE, record(RefreshState.FAILED, "[DT-2105] bad row"), "[DT-2105] bad row"),
        ("cannot be read", WAITS, record(RefreshState.FAILED, "x"), "cannot be read"),
    ],
)
def test_a_node_tells_what_keeps_it_from_being_fresh(
    problem: str | None, standing: Reason | None, last: RefreshRecord | None, told: str | None
) -> None:
    node = GraphNode(
        Name("default", "d"), "dynamic_table", problem=problem, standing=standing, last=last
    )
    assert node.obstacle == told


@pytest.mark.parametrize(
    ("last", "held_back"),
    [
        (None, IDLE.sentence),
        (record(RefreshState.SUCCEEDED), IDLE.sentence),
        (record(RefreshState.SKIPPED), IDLE.sentence),
        (record(RefreshState.FAILED, "[DT-2105] bad row"), None),
        (record(RefreshState.UPSTREAM_FAILED), None),
    ],
)
def test_a_node_is_held_back_unless_it_failed(
    last: RefreshRecord | None, held_back: str | None
) -> None:
    node = GraphNode(Name("default", "d"), "dynamic_table", standing=IDLE, last=last)
    assert node.held_back == held_back
