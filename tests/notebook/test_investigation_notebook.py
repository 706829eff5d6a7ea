"""The notebook of an investigation, run without a browser, as `dev.py demo` runs the demo."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.executed import ROOT, NotebookTests, Shows, executed_cells

INVESTIGATION = ROOT / "notebooks" / "investigation.ipynb"

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.timeout(1700)]

SHOWS: Shows = {
    "connect": (r"Connected: .*investigation-lake, 0 dynamic tables",),
    "data": (r"'Kassel': Decimal\('3239.10'\)",),
    "sales": (r"0 +Mon +Aachen +lamp +3 +24\.00", "3 rows"),
    "by-day": (r"revenue_by_day \[AUTO → INCREMENTAL\]", r"Mon +Kassel +415\.80"),
    "by-shop": (r"revenue_by_shop \[AUTO → INCREMENTAL\]", r"Kassel +415\.80 +1\b"),
    "tuesday": (r"revenue_by_day +INCREMENTAL", r"revenue_by_shop +INCREMENTAL"),
    "wednesday": (r"revenue_by_day +INCREMENTAL +SUCCEEDED",),
    "thursday": (r"revenue_by_day +\w+ +SUCCEEDED", r"revenue_by_shop +\w+ +SUCCEEDED"),
    "friday": (r"Kassel +50462\.10 +5\b", r"Ulm +2852\.10", r"Snapshot \(data time "),
    "wrong": ("revenue_by_shop: all 5 retained versions equal their query",),
    "walk": ("Replay of revenue_by_shop: 5 snapshots", r"4 +2\d{3}-.* MERGE +4 +4 +4"),
    "when": (r"Tue .* Kassel +923\.40 ", r"Wed .* Kassel +48744\.90 .*←", r"Fri .*←"),
    "between": (r"rows: 8 → 12, \+8 −4", r"− \(Tue, Kassel, 507\.60\)",
                r"\+ \(Tue, Kassel, 47757\.60\)"),
    "again": ("reads: sales versions 2 → 4", r"delta again: \+8 −4; committed: \+8 −4",
              r"\+ \(Tue, Kassel, 47757\.60\)", "12 rows, as it was committed"),
    "commits": (r"2 +2\d{3}-.* 4 +MERGE +120 +12 +12", "3 rows"),
    "corrected": (r"UPDATE +62 +Tue +Kassel +.*rug +2 +[\d.]+ → 7950\.00", "12 rows"),
    "corrected-claim": (r"\+SELECT day, shop, sum\(pieces \* unit_price\)",),
    "then": (r"pieces +price\n", r"62 +Tue +Kassel +rug +2 +75\.00\n", "3 rows"),
    "current": (r"pieces +unit_price\n", r"62 Tue Kassel None rug 2 75\.00 → 7950\.00"),
    "pin": (r"pin evidence: sales@4 \(version 4\)", "replay of revenue_by_shop"),
    "repair": ("MERGE sales: 3 rows updated",),
    "refresh": (r"revenue_by_shop +INCREMENTAL +SUCCEEDED +MANUAL +\S+ +\S+ +[\d.]+ m?s +1 +1\b",),
    "proof": ("revenue_by_day: all 7 retained versions equal their query",
              "revenue_by_shop equals its query", r"\+ \(Kassel, 3239\.10, 5\)"),
    "past": (r"Kassel on Wed: believed 48744\.90, sold 1521\.90",),
    "clean": ("VACUUM would free", "held by pin evidence"),
    "end": (),
}  # fmt: skip


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells(INVESTIGATION, tmp_path_factory.mktemp("investigation"))


class TestInvestigation(NotebookTests):
    path = INVESTIGATION
    shows = SHOWS
    tables = ("sales", "friday", "walk", "commits", "corrected", "then")
