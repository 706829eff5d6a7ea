"""Where a query names tables, of which common tables are none."""

from __future__ import annotations

from dt_jupyter.sql.binding.binder import table_places


def test_places_of_tables_leave_common_tables_out() -> None:
    query = "WITH c AS (SELECT * FROM t) SELECT * FROM c JOIN `odd t` o ON true"
    found = [(parts, query[a:b], aliased) for parts, a, b, aliased in table_places(query)]
    assert sorted(found) == [(("odd t",), "`odd t`", True), (("t",), "t", False)]


def test_places_of_pivoted_tables_are_found_and_common_tables_left_out() -> None:
    query = (
        "WITH c AS (SELECT * FROM t) SELECT * FROM c PIVOT (max(v) FOR k IN (1))"
        " UNION ALL SELECT * FROM u UNPIVOT (x FOR n IN (v))"
    )
    assert sorted(parts for parts, *_ in table_places(query)) == [("t",), ("u",)]
