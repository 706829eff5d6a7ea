"""Whether the rows of a condition only become more: by the clock, and from one text to another."""

from __future__ import annotations

import pytest

from dt_jupyter.sql import columns_in, containing, only_grows

GROWING = [
    "g < 5",
    "NOT (g < 5) OR s IS NULL",
    "day < current_date() - INTERVAL 30 DAYS",
    "current_timestamp() >= at",
    "at <= now() AND g = 1",
    "day < date_sub(current_date(), 30)",
    "day < date_trunc('MONTH', current_timestamp())",
    "day < trunc(current_date(), 'MM')",
    "day < add_months(current_date, -1) OR closed",
    "day < CAST(current_timestamp() AS DATE)",
    "day + INTERVAL 3 DAYS < curdate()",
    "day BETWEEN DATE'2020-01-01' AND current_date()",
]
SHRINKING = [
    "day > current_date()",
    "NOT (day < current_date())",
    "day = current_date()",
    "day < localtimestamp()",  # an hour comes again in autumn
    "y < year(current_date())",
    "day < DATE'2030-01-01' - (current_date() - DATE'2020-01-01')",
    "day BETWEEN current_date() AND DATE'2030-01-01'",
    "CASE WHEN day < now() THEN TRUE END",
    "day < now() -",
]


@pytest.mark.parametrize("condition", GROWING)
def test_rows_only_come_to_what_the_clock_passes(condition: str) -> None:
    assert only_grows(condition)


@pytest.mark.parametrize("condition", SHRINKING)
def test_what_might_lose_a_row_is_told(condition: str) -> None:
    assert not only_grows(condition)


@pytest.mark.parametrize(
    ("old", "new", "inside"),
    [
        ("g < 5", "g < 5", "TRUE"),
        ("g < 5", "g < 7", "(5) <= (7)"),
        ("g >= 5", "g >= 7", "(5) >= (7)"),
        ("day <= DATE'2026-01-01'", "day <= DATE'2026-02-01'",
         "(CAST('2026-01-01' AS DATE)) <= (CAST('2026-02-01' AS DATE))"),
        ("g < 5", "g <= 7", None),
        ("g < 5", "h < 7", None),
        ("g < h", "g < k", None),
        ("day < '2026-01-05'", "day < '2026-1-10'", None),
        ("g = 5", "g = 5 OR g = 6", None),
        ("g <", "g < 7", None),
    ],
)  # fmt: skip
def test_a_border_that_was_moved_is_compared(old: str, new: str, inside: str | None) -> None:
    assert containing(old, new) == inside


def test_the_columns_of_a_condition_and_its_subqueries() -> None:
    assert columns_in("`A b` < 3 AND s.x IN (1, 2) OR upper(name) LIKE 'a%'") == {
        "a b", "s", "x", "name",
    }  # fmt: skip
    assert columns_in("TRUE") == frozenset()
    for subquery in ("g IN (SELECT 1)", "EXISTS (SELECT 1)", "g = (SELECT 1)"):
        assert columns_in(subquery) is None
