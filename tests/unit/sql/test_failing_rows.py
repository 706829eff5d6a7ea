"""Which row to ask for when a query cannot compute a value."""

from __future__ import annotations

import pytest

from dt_jupyter.sql import failing_row_queries


def asked(*parts: str) -> str:
    texts = (f"coalesce(CAST({part} AS STRING), '')" for part in parts)
    return f"try_to_binary(concat({', '.join(texts)}), 'utf-8') IS NULL"


@pytest.mark.parametrize(
    ("text", "fragment", "source"),
    [
        ("SELECT id / qty AS x FROM orders", "id / qty",
         f"orders WHERE {asked('id / qty')}"),
        ("CREATE TABLE t AS SELECT 1 / (o.id - 2) FROM s.orders o WHERE o.id > 1", "1 / (o.id - 2)",
         f"s.orders AS o WHERE {asked('1 / (o.id - 2)')} AND (o.id > 1)"),
        ("SELECT sum(`a` % b) AS x FROM t GROUP BY c", "(`a` % b)", None),
        ("SELECT sum(`a` % b) AS x FROM t GROUP BY c", "`a` % b", f"t WHERE {asked('`a` % b')}"),
        ("SELECT x FROM a UNION ALL SELECT 1 / x FROM b", "1 / x", f"b WHERE {asked('1 / x')}"),
        ("SELECT CASE WHEN b <> 0 THEN a / b END FROM t", "a / b",
         f"t WHERE {asked('CASE WHEN b <> 0 THEN a / b END')}"),
        ("SELECT s::INT FROM t", "s::INT", f"t WHERE {asked('CAST(s AS INT)')}"),
        ("SELECT a[n] + 1, b FROM t", "a[n]", f"t WHERE {asked('a[n] + 1')}"),
        ("SELECT b FROM t WHERE a / b > 1", "a / b", f"t WHERE {asked('a / b > 1')}"),
        ("SELECT max(a / b) OVER (PARTITION BY c) FROM t", "a / b", f"t WHERE {asked('a / b')}"),
        ("SELECT a / b FROM t JOIN u ON t.i = u.i", "a / b", None),
        ("SELECT sum(a) / count(b) FROM t", "sum(a) / count(b)", None),
        ("WITH t AS (SELECT 0 AS b) SELECT 1 / b FROM t", "1 / b", None),
        ("SELECT 1 / b FROM (SELECT 0 AS b) q", "1 / b", None),
        ("SELECT 1 / 0", "1 / 0", None),
        ("SELECT a / b FROM t", "a / c", None),
        ("SELECT FROM FROM", "a / c", None),
        ("SELECT a, b FROM t", None, None),
        ("SELECT a, -b, sum(c * 2) FROM t GROUP BY a, -b", None,
         f"t WHERE {asked('-b', 'c * 2', '-b')}"),
    ],
)  # fmt: skip
def test_the_row_is_asked_of_the_one_table_that_has_it(
    text: str, fragment: str | None, source: str | None
) -> None:
    wanted = [] if source is None else [f"SELECT * FROM {source} LIMIT 1"]
    assert failing_row_queries(text, fragment) == wanted


def test_a_condition_is_tried_after_what_it_lets_through() -> None:
    assert failing_row_queries("SELECT 1 / a FROM t WHERE 1 / b > 0") == [
        f"SELECT * FROM t WHERE {asked('1 / a')} AND (1 / b > 0) LIMIT 1",
        f"SELECT * FROM t WHERE {asked('1 / b > 0')} LIMIT 1",
    ]
