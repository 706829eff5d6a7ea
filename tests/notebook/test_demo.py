"""The demo notebook, run as `dev.py demo` runs it, in an empty folder; what every cell shows.

The claims are `assert`s in the notebook itself: a claim that does not hold fails the run here.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.executed import (
    ROOT,
    Shows,
    check_bare,
    check_cell,
    executed_cells,
    html_of,
)

DEMO = ROOT / "notebooks" / "demo.ipynb"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1700)]

CARD = r"AUTO → INCREMENTAL(.|\n)*target lag:"
SHOWS: Shows = {
    "connect": (r"Connected: .*flights-lake, 0 dynamic tables.*scheduler running",),
    "data": ("flight_id", "2013-01-01"),
    "base": (),
    "tables": (r"CREATE TABLE airlines", r"CREATE TABLE flight_events", "5 rows"),
    "arrivals": (CARD, "DOWNSTREAM", "upstream: .*flight_events, airlines, airports"),
    "delays-by-hour": (CARD, "DOWNSTREAM", "mean_delay double"),
    "delays-in-weather": (CARD, "DOWNSTREAM", r"upstream: .*delays_by_hour, weather"),
    "ranking": (CARD, "upstream: .*delays_by_hour"),
    "modes": ("arrivals: INCREMENTAL", "airline_ranking: INCREMENTAL"),
    "pick": (r"Flight \d+ was \d+ minutes late; flight \d+ never arrived",),
    "correct": (r"UPDATE flight_events.*1 row", r"DELETE flight_events.*1 row"),
    "explain": (r"next refresh: INCREMENTAL", r"SELECT"),
    "refresh": (r"delays_in_weather +INCREMENTAL +SUCCEEDED +MANUAL",),
    "cost": (r"arrivals of 32\d,\d{3} rows: INCREMENTAL, 1 rows in, 2 out",),
    "no-data": (r"delays_in_weather +NO_DATA +SUCCEEDED +MANUAL",),
    "by-maker": (CARD, "1 minute", "BOEING"),
    "by-sky": (CARD, "24 seconds", r"\b(fair|fog|rain|wind)\b"),
    "room": (r"a lag of (24|48) seconds it is",),
    "graph": ("6 dynamic tables, 5 tables", r"delays_by_sky .*INCREMENTAL"),
    "land": (r"25 December: \w+ in", r"31 December: \w+ in", r"01 January: \w+ in"),
    "lag": (r"Lag of delays_by_sky: target", r"INCREMENTAL", r"NO_DATA"),
    "lag-claim": (r"\d\d peaks, from .* s; the target is \d\d s",),
    "history": (r"INCREMENTAL +SUCCEEDED +SCHEDULED", r"NO_DATA +SUCCEEDED +SCHEDULED"),
    "history-claim": (r"\d × INCREMENTAL, reading [\d,]+ rows", r"\d × NO_DATA, reading and"),
    "snapshot": (r"have \d+ data timestamps in common",),
    "frontiers": (r"delays_by_sky .*delays_in_weather +DYNAMIC_TABLE",),
    "refresh-ranking": (r"airline_ranking +INCREMENTAL +SUCCEEDED +MANUAL",),
    "verify": (
        r"arrivals equals its query at .* all 327,346 rows compared, no difference",
        r"delays_by_sky equals its query at .* all 12 rows compared, no difference",
        r"airline_ranking equals its query at .* all 16 rows compared, no difference",
    ),
    "pandas": (r"rows about 327,346 arrivals: the same from both",),
    "answer": ("percent_late", "12 rows"),
    "suspend": ("suspended",),
    "resume": ("resumed",),
    "close": (),
    "again": (r"Connected: .*flights-lake, 6 dynamic tables.*scheduler running",),
    "status": ("scheduler +running", "problems +none"),
}
DRAWN = ("graph", "lag")
PANELS = ("arrivals", "ranking", "history", "frontiers", "status")


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells(DEMO, tmp_path_factory.mktemp("demo"))


def test_what_is_committed_is_the_bare_notebook() -> None:
    check_bare(DEMO, SHOWS)


@pytest.mark.parametrize("cell", SHOWS)
def test_cell(executed: dict[str, Any], cell: str) -> None:
    check_cell(executed, SHOWS, cell)


@pytest.mark.parametrize("cell", DRAWN)
def test_drawn_cell(executed: dict[str, Any], cell: str) -> None:
    html = html_of(executed[cell])
    assert html.count("<svg") >= 1
    assert "delays_by_sky" in html


@pytest.mark.parametrize("cell", PANELS)
def test_panel(executed: dict[str, Any], cell: str) -> None:
    assert "<table" in html_of(executed[cell])


def test_the_explanation_holds_the_statements(executed: dict[str, Any]) -> None:
    html = html_of(executed["explain"])
    assert "<details" in html
    assert "SELECT" in html
