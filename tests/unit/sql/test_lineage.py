"""Columns of sources that flow into columns of a query, by its plan."""

from __future__ import annotations

import pytest

from dt_jupyter.plans import column_flows
from tests.recorded_plans import RecordedPlans

PLANS = RecordedPlans.of(__file__)
DDL = {
    "t": "id STRING, k STRING, v INT",
    "u": "id STRING, name STRING",
    "odd": "`a b` INT, `c``d` INT, `e.f` INT",
}
QUERIES = (
    ("SELECT id, v AS w FROM t WHERE k > 1", "t.id", "t.v"),
    ("SELECT t.v + length(u.name) AS x, 1 AS one FROM t JOIN u ON t.id = u.id", "t.v u.name", ""),
    ("SELECT k, sum(v) AS s, count(*) AS n FROM t GROUP BY k", "t.k", "t.v", ""),
    ("SELECT id FROM t UNION ALL SELECT name FROM u", "t.id u.name"),
    ("SELECT id FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.id = t.id)", "t.id"),
    ("SELECT t.id, u.name FROM t LEFT JOIN u ON t.id = u.id", "t.id", "u.name"),
    ("WITH c AS (SELECT k, v * 2 AS d FROM t) SELECT max(d) AS m FROM c", "t.v"),
    ("SELECT `a b`, `e.f` AS f FROM odd", "odd.a b", "odd.e.f"),
)


def named(flow: frozenset[tuple[str, str]]) -> set[str]:
    return {f"{table}.{column}" for table, column in flow}


def wanted(texts: tuple[str, ...]) -> list[set[str]]:
    return [{t} if t.startswith("odd") else set(t.split()) for t in texts]


@pytest.mark.parametrize(
    ("query", *[f"c{i}" for i in range(3)]),
    [(q, *(*rest, None, None, None)[:3]) for q, *rest in QUERIES],
)
def test_what_flows_into_each_column_is_found(
    query: str, c0: str, c1: str | None, c2: str | None
) -> None:
    found = column_flows(PLANS.document(query, DDL))
    assert found is not None
    assert [named(f) for f in found] == wanted(tuple(c for c in (c0, c1, c2) if c is not None))


def test_the_rows_of_a_window_flow_into_its_value() -> None:
    query = "SELECT id, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM t"
    found = column_flows(PLANS.document(query, DDL))
    assert found is not None
    assert named(found[1]) == {"t.k", "t.v"}
