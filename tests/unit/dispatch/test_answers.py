"""What a table's details say of its last refresh."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from dt_jupyter.dispatch.answers import refresh_facts
from dt_jupyter.model import (
    Name,
    RefreshRecord,
    RefreshState,
    RefreshStatistics,
    RefreshTrigger,
    Timestamp,
)

T = Timestamp.of(datetime(2026, 1, 1, tzinfo=UTC))
RECORD = RefreshRecord(
    Name("default", "daily"),
    "q",
    RefreshState.SUCCEEDED,
    RefreshTrigger.MANUAL,
    T,
    statistics=RefreshStatistics(compilation_ms=20),
    start=T,
    end=T,
)


def facts(record: RefreshRecord) -> dict[str, str]:
    return {fact.name: fact.value for fact in refresh_facts([record])}


def test_a_refresh_takes_no_less_than_its_parts() -> None:
    assert facts(RECORD)["took"] == "20 ms"
    later = Timestamp.of(T.datetime + timedelta(seconds=3))
    assert facts(replace(RECORD, end=later))["took"] == "3 s"


def test_a_refresh_that_wrote_nothing_names_no_writer() -> None:
    assert "written by" not in facts(RECORD)
    assert "written by" not in facts(replace(RECORD, state=RefreshState.FAILED))
    made = replace(RECORD, statistics=RefreshStatistics(writer="spark"))
    assert facts(made)["written by"] == "spark"
