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
        ("SELECT 1 / to_char(n, '9') FROM t WHERE s = 'O''Brien'", "1 / to_char(n, '9')",
         "t WHERE " + asked("1 / TO_CHAR(n, '9')") + r" AND (s = 'O\'Brien')"),
        ("SELECT 1 / n FROM t WHERE s = 'it''s", "1 / n", None),
        ("SELECT s::INT FROM t", "s::INT", f"t WHERE {asked('CAST(s AS INT)')}"),
        ("SELECT a[n] + 1, b FROM t", "a[n]", f"t WHERE {asked('a[n] + 1')}"),
        ("SELECT b FROM t WHERE a / b > 1", "a / b", f"t WHERE {asked('a / b > 1')}"),
        ("SELECT max(a / b) OVER (PARTITION BY c) FROM t", "a / b", f"t WHERE {asked('a / b')}"),
        ("SELECT a / b FROM t JOIN u ON t.i = u.i", "a / b",
         f"t JOIN u ON t.i = u.i WHERE {asked('a / b')}"),
        ("SELECT 1 FROM t LEFT JOIN u ON t.i = CAST(u.s AS INT)", "CAST(u.s AS INT)",
         f"u WHERE {asked('CAST(u.s AS INT)')}"),
        ("SELECT sum(a) / count(b) FROM t", "sum(a) / count(b)", None),
        ("SELECT 1 / b FROM (SELECT 0 AS b) q", "1 / b",
         f"(SELECT 0 AS b) AS q WHERE {asked('1 / b')}"),
        ("SELECT 1 / x FROM t LATERAL VIEW explode(a) e AS x WHERE i IN (SELECT i FROM u)", "1 / x",
         f"t LATERAL VIEW EXPLODE(a) e AS x WHERE {asked('1 / x')} AND (i IN (SELECT i FROM u))"),
        ("SELECT a FROM t GROUP BY a HAVING sum(1 / b) > 2", "1 / b", f"t WHERE {asked('1 / b')}"),
        ("UPDATE s.t SET a = 1 / b, c = 2 WHERE d > 1", "1 / b",
         f"s.t WHERE {asked('1 / b')} AND (d > 1)"),
        ("DELETE FROM t WHERE 1 / a > 2", "1 / a", f"t WHERE {asked('1 / a > 2')}"),
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
    assert [query.text for query in failing_row_queries(text, fragment)] == wanted


def test_a_condition_is_tried_after_what_it_lets_through() -> None:
    asked_in_turn = failing_row_queries("SELECT 1 / a FROM t WHERE 1 / b > 0")
    assert [query.text for query in asked_in_turn] == [
        f"SELECT * FROM t WHERE {asked('1 / a')} AND (1 / b > 0) LIMIT 1",
        f"SELECT * FROM t WHERE {asked('1 / b > 0')} LIMIT 1",
    ]


def test_each_query_sees_the_names_before_it() -> None:
    text = "WITH t AS (SELECT 1 / x AS b FROM r), v AS (SELECT -b AS c FROM t) SELECT 1 / c FROM v"
    first = "WITH t AS (SELECT 1 / x AS b FROM r)"
    for fragment, rows in {
        "1 / x": "SELECT * FROM r",
        "-b": f"{first} SELECT * FROM t",
        "1 / c": f"{first}, v AS (SELECT -b AS c FROM t) SELECT * FROM v",
    }.items():
        (query,) = failing_row_queries(text, fragment)
        assert query.text == f"{rows} WHERE {asked(fragment)} LIMIT 1"
        assert query.table == ("r" if fragment == "1 / x" else None)


MERGE = (
    "MERGE INTO t USING s ON t.i = s.i WHEN MATCHED AND s.x > 1 THEN UPDATE SET t.a = 1 / s.b"
    " WHEN NOT MATCHED THEN INSERT (i, a) VALUES (s.i, 1 / s.c)"
    " WHEN NOT MATCHED BY SOURCE AND 1 / t.q > 0 THEN DELETE"
)


@pytest.mark.parametrize(
    ("fragment", "source", "table"),
    [
        ("1 / s.b", f"t JOIN s ON t.i = s.i WHERE {asked('1 / s.b')} AND (s.x > 1)", "t"),
        ("1 / s.c", f"s LEFT ANTI JOIN t ON t.i = s.i WHERE {asked('1 / s.c')}", "s"),
        ("1 / t.q", f"t LEFT ANTI JOIN s ON t.i = s.i WHERE {asked('1 / t.q > 0')}", "t"),
    ],
)
def test_a_branch_of_a_merge_is_tried_on_its_own_rows(
    fragment: str, source: str, table: str
) -> None:
    (query,) = failing_row_queries(MERGE, fragment)
    assert (query.text, query.table) == (f"SELECT * FROM {source} LIMIT 1", table)
    assert query.columns == (fragment[-1],)
