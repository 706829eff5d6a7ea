"""The rows of sources and of their changes, which EXPLAIN shows and the choice of a way adds up."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from dt_jupyter.ivm import Size, total_size
from dt_jupyter.lake import ChangePlan, Feed, Unchanged, Unreadable
from dt_jupyter.model import Frontier, Name, Source, SourceKind, Timestamp
from dt_jupyter.refresh.observation import Look, source_sizes

A = Source(Name("s", "a"), SourceKind.DELTA, "id:a", "a")
B = Source(Name("s", "b"), SourceKind.DYNAMIC_TABLE, "id:b", "b")
FOREIGN = Source(Name("s", "f"), SourceKind.FOREIGN, "s.f", None)
NO_TABLE = Source(Name("unknown", "sources"), SourceKind.DELTA, "unknown", None)
ROWS = {"a": 1_000, "b": 50, "untold": None}
LOGS: Any = {
    path: SimpleNamespace(size=lambda n=n: SimpleNamespace(rows=n)) for path, n in ROWS.items()
}
CHANGED: Mapping[str, ChangePlan] = {"id:a": Feed(1, 2, 7, 0, 0), "id:b": Unchanged()}


def look(*sources: Source, plans: Mapping[str, ChangePlan] = CHANGED) -> Look:
    frontier = Frontier(Timestamp(0), {})
    return Look(frontier, sources, (), (), plans, evolved=False, invalid=None)


def test_each_source_has_the_rows_of_its_log_and_those_of_its_change() -> None:
    found = source_sizes(LOGS, look(A, B))
    assert found == {"id:a": Size(1_000, 7), "id:b": Size(50, 0)}
    assert total_size(found.values()) == Size(1_050, 7)


def test_a_source_that_does_not_tell_leaves_the_total_open() -> None:
    plans = {**CHANGED, "s.f": Unreadable("FOREIGN_SOURCE", "it is no Delta table")}
    found = source_sizes(LOGS, look(A, FOREIGN, plans=plans))
    assert found["s.f"] == Size()
    assert total_size(found.values()) == Size()


def test_before_the_first_refresh_there_is_no_change() -> None:
    assert source_sizes(LOGS, look(A, plans={})) == {"id:a": Size(1_000)}


def test_what_has_no_table_has_no_rows_to_count() -> None:
    assert source_sizes(LOGS, look(B, NO_TABLE)).keys() == {"id:b"}
