"""Relations that are one but for the ids of their columns, and those that are not."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Rel, equivalent, simplify
from tests.recorded_plans import RecordedPlans

PLANS = RecordedPlans.of(__file__)


def meaning(query: str, **columns: str) -> Rel:
    """A query over tables with these columns."""
    tables = {t: ", ".join(f"{c} INT" for c in names.split()) for t, names in columns.items()}
    return simplify(PLANS.relation(query, tables))


QUERIES = [
    "SELECT a, b FROM o WHERE c > 1",
    "SELECT o.a, sum(i.a) AS s FROM o JOIN i ON o.b = i.b GROUP BY o.a",
    "SELECT a, c FROM o LEFT JOIN i USING (a, b)",
    "SELECT a FROM o UNION ALL SELECT b FROM o",
    "SELECT a, sum(b) OVER (PARTITION BY c ORDER BY a) AS w FROM o",
    "SELECT a, sum(b) OVER (PARTITION BY c ORDER BY a) AS w FROM o WHERE c > 1",
    "SELECT DISTINCT c, b FROM o",
    "SELECT a FROM o WHERE EXISTS (SELECT 1 FROM i WHERE i.b = o.c)",
]


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("o", ["c a b", "a b c d", "x a y b z c", "b c a a_2"])
def test_what_is_named_stays_wherever_it_stands(query: str, o: str) -> None:
    i = "a b"
    assert equivalent(meaning(query, o="a b c", i=i), meaning(query, o=o, i=i))


STARS = [
    "SELECT * FROM o",
    "SELECT a, b, c FROM i UNION ALL SELECT * FROM o",
    "SELECT x FROM (SELECT * FROM o) AS t(x, y, z)",
    "SELECT a, b, c FROM i EXCEPT SELECT * FROM o",
    "WITH t(x, y, z) AS (SELECT * FROM o) SELECT sum(y) AS s FROM t GROUP BY z",
    "SELECT DISTINCT * FROM o",
]


@pytest.mark.parametrize("query", STARS)
def test_what_stands_for_positions_moves(query: str) -> None:
    assert equivalent(meaning(query, o="a b c", i="a b c"), meaning(query, o="a b c", i="c b a"))
    assert not equivalent(
        meaning(query, o="a b c", i="a b c"), meaning(query, o="c a b", i="a b c")
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("SELECT a FROM o", "SELECT b FROM o"),
        ("SELECT a + b AS s FROM o", "SELECT b + a AS s FROM o"),
        ("SELECT a FROM o", "SELECT a FROM i"),
        ("SELECT a FROM o WHERE b > 1", "SELECT a FROM o WHERE c > 1"),
        ("SELECT a FROM o WHERE b > 1", "SELECT a FROM o WHERE b > 2"),
        ("SELECT sum(a) AS s FROM o GROUP BY b", "SELECT sum(a) AS s FROM o GROUP BY c"),
        ("SELECT o.a FROM o JOIN i ON o.a = i.b", "SELECT o.a FROM o JOIN i ON o.b = i.a"),
        ("SELECT o.a, i.a AS x FROM o, i", "SELECT i.a, o.a AS x FROM o, i"),
        ("SELECT a FROM o UNION ALL SELECT b FROM o", "SELECT a FROM o UNION ALL SELECT a FROM o"),
    ],
)
def test_another_query_is_another_one(before: str, after: str) -> None:
    tables = {"o": "a b c", "i": "a b c"}
    assert equivalent(meaning(before, **tables), meaning(before, **tables))
    assert not equivalent(meaning(before, **tables), meaning(after, **tables))


def test_a_natural_join_takes_a_column_that_both_have_now() -> None:
    query = "SELECT o.a FROM o NATURAL JOIN i"
    before = meaning(query, o="a b", i="a c")
    assert equivalent(before, meaning(query, o="b a", i="a c"))
    assert not equivalent(before, meaning(query, o="a b c", i="a c"))
