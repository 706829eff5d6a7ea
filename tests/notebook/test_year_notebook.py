"""The notebook of a year: definitions from code, functions, changes upstream, a trial beside it,
warehouses. Its claims are its own assertions."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.executed import ROOT, NotebookTests, Shows, executed_cells

YEAR = ROOT / "notebooks" / "a_year.ipynb"

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.timeout(1700)]

SHOWS: Shows = {
    "connect": (r"Connected: .*year-lake, 0 dynamic tables",),
    "orders": (r"1 +Ulm +pen +3 +1\.20 +as a gift", "4 rows"),
    "frames": (r"sum\(CAST\(`orders`\.`pieces` AS DECIMAL\(10,0\)\) \* `orders`\.`price`\)",),
    "january": (),
    "function": (),
    "february": (r"6 +3\n", "5 rows"),
    "columns": (),
    "renamed": ("DT-2116", "It was renamed to unit_price"),
    "repaired": (),
    "dropped": (r"\[DT-2102\] Source orders of urgent no longer exists",),
    "clone": (),
    "altered": ("NO_DATA",),
    "plan": ("10 unchanged; nothing has been applied",),
    "warehouse": (r"\[DT-2112\] Warehouse reports is suspended",),
    "history": (r"by_shop +INCREMENTAL +SUCCEEDED", r"by_shop +SKIPPED", "FAILED"),
    "end": (),
}


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells(YEAR, tmp_path_factory.mktemp("year"))


class TestYear(NotebookTests):
    path = YEAR
    shows = SHOWS
    tables = ("orders", "february", "history")
