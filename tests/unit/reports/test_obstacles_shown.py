"""What a node says of why it is not fresh: the panel shows that one text."""

from __future__ import annotations

import pytest

from dt_jupyter.model import Name, Reason, RefreshRecord, RefreshState, RefreshTrigger, Timestamp
from dt_jupyter.reports.report_values import GraphNode

WAITS = Reason("UPSTREAM_SUSPENDED", "up, which it reads, is suspended.")
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
