"""Notebooks that run by night are looked at without a run at each change."""

from __future__ import annotations

import pytest

from tests.notebook import (
    test_changes_notebook as changes,
    test_investigation_notebook as inspected,
    test_year_notebook as year,
)
from tests.notebook.executed import NotebookTests


@pytest.mark.parametrize("tests", [changes.TestChanges, inspected.TestInvestigation, year.TestYear])
def test_what_is_committed_is_the_bare_notebook(tests: type[NotebookTests]) -> None:
    tests().test_what_is_committed_is_the_bare_notebook()
