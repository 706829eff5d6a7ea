"""What a job was for, by its description."""

from __future__ import annotations

import pytest

from dt_jupyter.spark import JobPurpose, purpose_of

GROUP = "Refreshing shop.d (INCREMENTAL)"


@pytest.mark.parametrize("purpose", JobPurpose)
def test_what_was_noted_is_found(purpose: JobPurpose) -> None:
    assert purpose_of(f"{GROUP}: {purpose}") is purpose


@pytest.mark.parametrize(
    ("description", "purpose"),
    [
        (None, None),
        (GROUP, None),
        (f"Refreshing write (FULL): {JobPurpose.KEYS}", JobPurpose.KEYS),
        ("Refreshing `a: write` (FULL)", None),
        (f"Delta: {GROUP}: write: MERGE operation - scanning files for matches", JobPurpose.WRITE),
        (f"{GROUP}: write - MERGE operation - materialize source", JobPurpose.WRITE),
        (f"Delta: {GROUP}: write: Filtering files for query", JobPurpose.LOG),
        (f"Delta: {GROUP}: touched keys: Compute snapshot for version: 3", JobPurpose.LOG),
    ],
)
def test_words_of_delta_stand_around_it(
    description: str | None, purpose: JobPurpose | None
) -> None:
    assert purpose_of(description) is purpose
