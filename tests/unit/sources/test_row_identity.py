"""By what rows are told apart between two versions: by what both of them have."""

from __future__ import annotations

from pathlib import Path

import pytest

from dt_jupyter.model.hidden import GROUP_KEY, STORED_ID
from dt_jupyter.sources import By, told_apart
from tests.unit.delta_logs import Written, column, info, metadata

PLAIN = ("id", "v")
GROUPED = (*PLAIN, f"{GROUP_KEY}0")
STORED = (*PLAIN, *STORED_ID)
TRACKED = {"enableRowTracking": "true"}


@pytest.mark.parametrize(
    ("before", "after", "by"),
    [
        (GROUPED, GROUPED, By.GROUP),
        (STORED, STORED, By.STORED),
        (PLAIN, GROUPED, By.TRACKING),
        (PLAIN, STORED, By.TRACKING),
        (GROUPED, STORED, By.TRACKING),
        (STORED, GROUPED, By.TRACKING),
        (GROUPED, PLAIN, By.TRACKING),
    ],
)
def test_an_id_that_one_version_lacks_tells_nothing(
    tmp_path: Path, before: tuple[str, ...], after: tuple[str, ...], by: By
) -> None:
    """As where a dynamic table got another definition."""
    table = Written(tmp_path / "t", metadata(*map(column, before), **TRACKED))
    table.commit(info("WRITE"), metadata(*map(column, after), **TRACKED))
    assert told_apart(table.log, 0, 1, after)[0] is by
