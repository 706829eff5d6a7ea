"""The notebook of sinks, run without a browser, as `dev.py demo` runs the demo."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.executed import ROOT, NotebookTests, Shows, executed_cells

SINKS = ROOT / "notebooks" / "sinks.ipynb"

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.timeout(1700)]

SHOWS: Shows = {
    "connect": (r"Connected: .*sinks-lake, 0 dynamic tables",),
    "data": ("flight_id", "delay"),
    "tables": (r"CREATE TABLE flights", "delays_by_hour"),
    "database": (r"The database is (PostgreSQL|SQLite)\.",),
    "receiver": (),
    "sinks": (
        r"Sink to_database created on delays_by_hour: 19 rows delivered",
        r"Sink to_folder created",
        r"Sink to_webhook created",
    ),
    "totals": (r"17,700 flights in 19 hours, in each of the stores",),
    "start": (r"21 December: 18,503 flights, in each of the stores",),
    "kill": (r"Killed when [123] of 3 stores had moved",),
    "meanwhile": (r"2\d{4}\b",),
    "again": (r"26,964 flights, 454,026 minutes",),
    "truth": (r"\d+ requests, \d+ of them sent again",),
    "history": ("to_database", "SUCCEEDED", "3 rows"),
    "end": (),
}


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells(SINKS, tmp_path_factory.mktemp("sinks"))


class TestSinks(NotebookTests):
    path = SINKS
    shows = SHOWS
    tables = ("meanwhile", "history")
