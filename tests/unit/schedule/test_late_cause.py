"""Why a table is late: each cause, through any number of tables between, and what helps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from dt_jupyter.model import LateCause, Name, Reason
from dt_jupyter.schedule import (
    NO_READER,
    LakeStanding,
    Node,
    Period,
    late_cause,
)
from tests.unit.schedule.test_decide import at, node

FAILED = Reason("DT-2105", "[DT-2105] The refresh of a failed: division by zero")
GONE = Reason("DT-2102", "[DT-2102] Source t of a no longer exists.")
UNATTAINABLE = Period(48.0, False, Reason("TARGET_LAG_TOO_SMALL", "x"))
RUNS: Any = {"running": at(90), "since": at(91)}


def lake(*nodes: Node, **more: Any) -> LakeStanding:
    """At second 100, with a scheduler; all tables are asked for ten seconds."""
    known = {
        "targets": {n.id: 10.0 for n in nodes},
        "failures": {},
        "obstacles": {},
        "waits": {},
        "scheduled": True,
        "session_end": None,
        "now": at(100),
    }
    names = {n.id: Name("default", n.id) for n in nodes}
    return LakeStanding(tuple(nodes), names, **{**known, **more})


def late(name: str, *upstream: str, **more: Any) -> Node:
    return node(name, *upstream, **{"data_timestamp": at(50), "target_lag": 10.0, **more})


def labels(cause: LateCause | None) -> list[str]:
    return [remedy.label for remedy in cause.remedies] if cause is not None else []


CASES: list[tuple[str, LakeStanding, str, list[str]]] = [
    ("suspended", lake(late("a", suspended=True)), "SUSPENDED", ["Resume"]),
    (
        "suspended by failures",
        lake(late("a", suspended=True), failures={"a": FAILED}),
        "SUSPENDED",
        ["Resume", "Explain failure"],
    ),
    (
        "fails",
        lake(late("a"), failures={"a": FAILED}),
        "FAILING",
        ["Explain failure", "Refresh now"],
    ),
    (
        "a source is gone",
        lake(late("a"), failures={"a": GONE}),
        "SOURCE_GONE",
        ["Explain failure", "Refresh now"],
    ),
    (
        "its warehouse rests",
        lake(late("a"), obstacles={"a": Reason("WAREHOUSE_SUSPENDED", "x")}),
        "WAREHOUSE_SUSPENDED",
        ["Resume warehouse default"],
    ),
    (
        "manually only",
        lake(late("a", scheduler_enabled=False), targets={}),
        "NOT_SCHEDULED",
        ["Refresh now"],
    ),
    (
        "nothing asks for it",
        lake(late("a"), targets={}, obstacles={"a": Reason(NO_READER, "Not refreshed.")}),
        NO_READER,
        ["Refresh now"],
    ),
    ("the session is gone", lake(late("a"), session_end="it was stopped"), "SESSION_ENDED", []),
    (
        "no scheduler",
        lake(late("a"), scheduled=False),
        "NO_SCHEDULER",
        ["Start scheduler", "Refresh now"],
    ),
    (
        "too slow",
        lake(late("a", period=UNATTAINABLE, wait=2.0, duration=12.0)),
        "TOO_SLOW",
        ["Raise the lag to 30 seconds"],
    ),
    ("it runs", lake(late("a", **RUNS)), "RUNNING", []),
    (
        "it waits for a slot",
        lake(late("a"), waits={"a": Reason("CONCURRENCY_LIMIT", "It is full.")}),
        "CONCURRENCY_LIMIT",
        [],
    ),
    ("it is due", lake(late("a")), "DUE", ["Refresh now"]),
]


@pytest.mark.parametrize(
    ("of", "code", "buttons"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_each_cause_has_its_code_and_what_helps(
    of: LakeStanding, code: str, buttons: list[str]
) -> None:
    found = late_cause("a", of)
    assert found is not None
    assert (found.code, found.root, labels(found)) == (code, None, buttons)


HELD = CASES[:6]


@pytest.mark.parametrize("between", [0, 1, 5])
@pytest.mark.parametrize("case", HELD, ids=[case[0] for case in HELD])
def test_what_is_downstream_names_the_root_however_far(
    case: tuple[str, LakeStanding, str, list[str]], between: int
) -> None:
    _, root, code, buttons = case
    chain = [late(f"t{i}", f"t{i - 1}" if i else "a") for i in range(between + 1)]
    nodes = (*root.nodes, *chain)
    targets = {n.id: 10.0 for n in nodes}
    names = {n.id: Name("default", n.id) for n in nodes}
    found = late_cause(f"t{between}", replace(root, nodes=nodes, names=names, targets=targets))
    assert found is not None
    assert (found.code, str(found.root)) == (f"UPSTREAM_{code}", "a")
    assert found.sentence.startswith("a, upstream of it, " if between else "a, which it reads, ")
    assert "Show a, upstream of it" in labels(found)
    foreign = {"Resume": "Resume a", "Explain failure": "Explain failure of a"}
    wanted = {foreign.get(b, b) for b in buttons if b != "Refresh now"}
    assert set(labels(found)) == wanted | {"Show a, upstream of it"}


def test_the_first_from_the_sources_down_is_the_root() -> None:
    nodes = (late("a", suspended=True), late("b", "a"), late("c", "b"))
    found = late_cause("c", lake(*nodes, failures={"b": FAILED}))
    assert found is not None
    assert (found.code, str(found.root)) == ("UPSTREAM_SUSPENDED", "a")
    own = late_cause("b", lake(*nodes, failures={"b": FAILED}))
    assert own is not None
    assert own.code == "FAILING"


def test_a_table_on_time_has_a_cause_only_where_something_holds_it_back() -> None:
    fresh = late("a", data_timestamp=at(95))
    assert late_cause("a", lake(fresh)) is None
    assert late_cause("a", lake(fresh, scheduled=False)) is None
    held = late_cause("a", lake(replace(fresh, suspended=True)))
    assert held is not None
    assert held.code == "SUSPENDED"
    assert late_cause("other", lake(fresh)) is None


def test_a_refresh_upstream_that_runs_is_named() -> None:
    found = late_cause("b", lake(late("a", **RUNS), late("b", "a")))
    assert found is not None
    assert (found.code, str(found.root)) == ("UPSTREAM_RUNNING", "a")
