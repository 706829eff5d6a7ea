"""The notebook of changes and streams, run without a browser, as `dev.py demo` runs the other."""

from __future__ import annotations

from typing import Any

import pytest

from tests.notebook.executed import ROOT, NotebookTests, Shows, executed_cells

CHANGES = ROOT / "notebooks" / "changes.ipynb"

pytestmark = [pytest.mark.nightly, pytest.mark.slow, pytest.mark.timeout(1700)]

SHOWS: Shows = {
    "connect": (r"Connected: .*changes-lake, 0 dynamic tables",),
    "people": ("CREATE TABLE people", r"1 +Jeff\n", r"2 +Donny\n"),
    "dml": (r"UPDATE people: 1 row", r"DELETE people: 2 rows", r"4 +Maude\n"),
    "default": (r"Net changes of people since version \d+: 4 rows", r"UPDATE +1 +Jeff → Jeffrey"),
    "default-claim": (),
    "append": (r"Rows inserted into people since version \d+", r"INSERT +5 +Uli"),
    "redo": (r"4 +4 +Maud +DELETE +true", r"4 +4 +Maude +INSERT +true", "9 rows"),
    "ids": ("9 changes of 5 people",),
    "items": ("CREATE VIEW owner_and_items", r"Maude +Autobahn"),
    "items-dml": (r"Jeffrey +Ford", r"Maude +Rug", "3 rows"),
    "join": (r"Donny +Ball +DELETE +false", r"Jeffrey +Ford +INSERT +true", "6 rows"),
    "join-claim": (),
    "filter": (r"DELETE +14 +Rug", r"UPDATE +13 +Car → Ford", "2 rows"),
    "query": (r"Net changes of the query", "2 rows", r"UPDATE +1 +2 → 1"),
    "query-claim": (),
    "optimize": (),
    "stream": ("Stream people_stream created on people", "14 days"),
    "stream-read": (r"1 +Jeffrey +INSERT", "3 rows", "true"),
    "stream-again": (),
    "consume": (r"INSERT people_changes: \d+ rows", r"Maude +INSERT +false"),
    "consumed": ("false",),
    "next": (r"Jeff +INSERT +true", r"Jeffrey +DELETE +true", r"Walter +DELETE +false"),
    "next-claim": (),
    "data": ("flight_id", "2013-12-01"),
    "reports": (),
    "tables": (r"CREATE TABLE flights", "Stream flight_changes created on flights"),
    "merge": (),
    "initial": (r"24 December: 0 versions closed, 21,\d{3} new",),
    "pick": (r"Flight \d+ was \d+ minutes late; 9 flights never arrived",),
    "correct": (r"UPDATE flights: 1 row", r"DELETE flights: 9 rows", r"INSERT flights: \d+ rows"),
    "pending": (r"DELETE +false +9\b", r"INSERT +false +719\b", "4 rows"),
    "corrected": ("25 December: 10 versions closed, 720 new",),
    "history": (r"2013-12-24 +2013-12-25", r"2013-12-25 +NULL", "2 rows"),
    "twice": ("false", "26 December: 0 versions closed, 0 new"),
    "bulk": (r"26 December: \d+ versions closed, \d+ new",),
    "truth": (r"versions of [\d,]+ flights, [\d,]+ of them current: the rows of the source",),
}


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return executed_cells(CHANGES, tmp_path_factory.mktemp("changes"))


class TestChanges(NotebookTests):
    path = CHANGES
    shows = SHOWS
    tables = ("default", "redo", "join", "stream-read", "history")
