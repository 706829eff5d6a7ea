"""Whether the rows of a condition only become more: by the clock, and from one text to another."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Expr, Refused, containing, find_shrinking
from dt_jupyter.plans.filter_condition import read_filter_condition
from dt_jupyter.plans.plan_document import read_document
from dt_jupyter.sql import column_words
from tests.recorded_plans import RecordedPlans, spark_functions

PLANS = RecordedPlans.of(__file__)
COLUMNS = {
    "q": "g INT, h BIGINT, k INT, s STRING, day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ, "
    "closed BOOLEAN, y INT"
}
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
    "at < current_timestamp() - INTERVAL '1' MONTH",
    "day < now() AND wall < current_date() AND wall <= now()",
    "at < timestampadd(HOUR, -k, now())",
    "day <= last_day(to_date(now())) OR s < current_date()",
]
SHRINKING = {
    "day > current_date()": "day > current_date()",
    "NOT (day < current_date())": "NOT (day < current_date())",
    "g < 5 OR (day = current_date() AND g > 1)": "day = current_date()",
    "wall < localtimestamp()": "wall < localtimestamp()",  # an hour comes again in autumn
    "wall < CAST(now() AS TIMESTAMP_NTZ)": "wall < CAST(now() AS TIMESTAMP_NTZ)",
    "y < year(current_date())": "y < year(current_date())",
    "y < unix_timestamp()": "y < unix_timestamp()",
    "day < DATE'2030-01-01' - (current_date() - DATE'2020-01-01')":
        "day < DATE'2030-01-01' - (current_date() - DATE'2020-01-01')",
    "day BETWEEN current_date() AND DATE'2030-01-01'":
        "BETWEEN current_date() AND DATE'2030-01-01'",
    "g = 1 OR CASE WHEN day < now() THEN TRUE END": "CASE WHEN day < now() THEN TRUE END",
    "CAST(now() AS STRING) > s": "CAST(now() AS STRING) > s",
    "day < date_add(current_date(), day(current_date()))":
        "day < date_add(current_date(), day(current_date()))",
}  # fmt: skip


def read(condition: str) -> Expr:
    document = PLANS.document(f"SELECT * FROM q WHERE {condition}", COLUMNS)
    return read_filter_condition(read_document(document), spark_functions())


@pytest.mark.parametrize("condition", GROWING)
def test_rows_only_come_to_what_the_clock_passes(condition: str) -> None:
    assert find_shrinking(read(condition)) is None


@pytest.mark.parametrize("condition", SHRINKING)
def test_what_might_lose_a_row_is_found_with_its_place(condition: str) -> None:
    found = find_shrinking(read(condition))
    assert found is not None
    assert found.place is not None
    text = f"SELECT * FROM q WHERE {condition}"
    assert text[found.place.start : found.place.end] == SHRINKING[condition]


@pytest.mark.parametrize(
    ("old", "new", "inside"),
    [
        ("g < 5", "(g < 5)", "TRUE"),
        ("g < 5", "g < 7", "(5) <= (7)"),
        ("g >= 5", "g >= -7", "(5) >= (-7)"),
        ("day <= DATE'2026-01-01'", "day <= DATE'2026-02-01'",
         "(DATE'2026-01-01') <= (DATE'2026-02-01')"),
        ("day < '2026-01-05'", "day < '2026-1-10'",
         "(CAST('2026-01-05' AS DATE)) <= (CAST('2026-1-10' AS DATE))"),
        ("s < 'b'", "s < 'c'", "('b') <= ('c')"),
        ("g < 5", "g < 7L", None),
        ("g < 5", "g <= 7", None),
        ("g < 5", "h < 7", None),
        ("g < h", "g < k", None),
        ("g = 5", "g = 5 OR g = 6", None),
        ("at < now() - INTERVAL 2 DAYS", "at < now() - INTERVAL 1 DAY", None),
        ("now() > at", "now() > at", "TRUE"),
    ],
)  # fmt: skip
def test_a_border_that_was_moved_is_compared(old: str, new: str, inside: str | None) -> None:
    assert containing(read(old), read(new)) == inside


def test_columns_of_other_types_are_other_columns() -> None:
    one = read("g < 5")
    other = one.rewritten(lambda e: e.typed("bigint") if e.column else e)
    assert one == other
    assert containing(one, other) is None


def test_a_subquery_is_refused() -> None:
    for subquery in ("g IN (SELECT 1)", "EXISTS (SELECT 1)", "g = (SELECT 1)"):
        with pytest.raises(Refused, match="SUBQUERY"):
            read(subquery)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("`A b` < 3 AND s.x IN (1, 2) OR upper(name) LIKE 'a%'", {"a b", "s", "x", "name"}),
        ("TRUE", set()),
        ("x < current_date() - INTERVAL 30 DAY AND CAST(y AS DATE) = DATE'2026-01-01'", {"x", "y"}),
        ("`upper`(v) <> 'day' AND t > '1 02' -- day", {"v", "t"}),
        ("t < now() - INTERVAL '1 02' DAY TO HOUR", {"t"}),
        ("day < DATE '2026-01-01'", {"day"}),
    ],
)
def test_the_words_that_may_be_columns(condition: str, words: set[str]) -> None:
    own = {"a b", "s", "x", "name", "y", "v", "t", "day", "date", "upper", "hour", "cast"}
    assert column_words(condition) & own == words
