"""Which row to ask for when a query divides by zero."""

from __future__ import annotations

import pytest

from dt_jupyter.sql import zero_divisor_query


@pytest.mark.parametrize(
    ("text", "division", "query"),
    [
        ("SELECT id / qty AS x FROM orders", "id / qty",
         "SELECT * FROM orders WHERE (qty) = 0 LIMIT 1"),
        ("CREATE TABLE t AS SELECT 1 / (o.id - 2) FROM s.orders o WHERE o.id > 1", "1 / (o.id - 2)",
         "SELECT * FROM s.orders AS o WHERE (o.id - 2) = 0 AND (o.id > 1) LIMIT 1"),
        ("SELECT sum(`a` % b) AS x FROM t GROUP BY c", "(`a` % b)", None),
        ("SELECT sum(`a` % b) AS x FROM t GROUP BY c", "`a` % b",
         "SELECT * FROM t WHERE (b) = 0 LIMIT 1"),
        ("SELECT x FROM a UNION ALL SELECT 1 / x FROM b", "1 / x",
         "SELECT * FROM b WHERE (x) = 0 LIMIT 1"),
        ("SELECT a / b FROM t JOIN u ON t.i = u.i", "a / b", None),
        ("SELECT sum(a) / count(b) FROM t", "sum(a) / count(b)", None),
        ("WITH t AS (SELECT 0 AS b) SELECT 1 / b FROM t", "1 / b", None),
        ("SELECT 1 / b FROM (SELECT 0 AS b) q", "1 / b", None),
        ("SELECT 1 / 0", "1 / 0", None),
        ("SELECT a / b FROM t", "a / c", None),
        ("SELECT FROM FROM", "a / c", None),
    ],
)  # fmt: skip
def test_the_row_is_asked_of_the_one_table_that_has_it(
    text: str, division: str, query: str | None
) -> None:
    assert zero_divisor_query(text, division) == query
