"""A value that Spark cannot compute: the expression, one row of which, one advice.

All conditions are tried in `tests/nightly`.
"""

from __future__ import annotations

import pytest

from tests.spark.engine_lab import Lab
from tests.spark.failing_values import FAILING, check_told, error_of, make_table

SOME = (
    "CAST(s AS INT)", "CAST(big AS INT)", "a[1]", "map(nullif(n, 0), 2)", "to_date(s, 'd')",
    "string(parse_json(js))",
)  # fmt: skip


@pytest.fixture(scope="module")
def lab(shared_lab: Lab) -> Lab:
    make_table(shared_lab)
    return shared_lab


@pytest.mark.parametrize("expression", SOME)
def test_a_value_is_told_with_its_row(lab: Lab, expression: str) -> None:
    check_told(lab, expression, FAILING[expression])


def test_a_branch_that_is_not_taken_is_not_blamed(lab: Lab) -> None:
    told = str(
        error_of(lab, "SELECT CASE WHEN id = 2 THEN n + 1 ELSE id / (n - 1) END FROM failing")
    )
    assert "for example of the row id = 1, n = 1, s = 5" in told


IN_OTHERS = {
    "SELECT f.id / k.v AS x FROM failing f JOIN keyed k ON f.id = k.b": "id = 2, v = 0, s = x",
    "SELECT 1 FROM keyed JOIN failing f ON keyed.a = CAST(f.s AS INT)": "id = 2, s = x, n = 0",
    "WITH w AS (SELECT a, v - 1 AS v FROM keyed) SELECT 1 / (v + 1) FROM w": "a = 7, v = -1",
    "SELECT * FROM (SELECT a, 1 / v AS x FROM keyed) WHERE x > 0": "b = 2, v = 0, a = 7",
    "UPDATE keyed SET a = a % v": "b = 2, a = 7, v = 0",
    "DELETE FROM keyed WHERE a / v > 1": "b = 2, a = 7, v = 0",
    "MERGE INTO keyed USING failing f ON keyed.b = f.id"
    " WHEN MATCHED THEN UPDATE SET a = keyed.a % f.n": "b = 2, a = 7, n = 0, v = 0",
    "INSERT INTO keyed SELECT 1 % n, id + 10, 1 FROM failing": "id = 2, n = 0, s = x",
}


def test_joins_and_changes_have_their_row(lab: Lab) -> None:
    """By its declared key, then what the value is made of."""
    properties = "TBLPROPERTIES ('dt.primaryKey' = 'b')"
    lab.sql(f"CREATE TABLE keyed (a INT, b INT, v INT) {properties}")
    lab.sql("INSERT INTO keyed VALUES (3, 1, 1), (7, 2, 0)")
    for statement, row in IN_OTHERS.items():
        told = str(error_of(lab, statement))
        assert f"for example of the row {row}" in told, told
    assert sorted(lab.rows("keyed")) == [(3, 1, 1), (7, 2, 0)]
