"""What is known of the places where a query names tables, beside Spark's own parser's view of it."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.sql import named_tables, reads_by_function, table_places


@pytest.mark.parametrize(
    ("query", "fixed"),
    [
        ("SELECT * FROM t VERSION AS OF 1 x", True),
        ("SELECT * FROM t FOR SYSTEM_TIME AS OF now() x", True),
        ("SELECT * FROM t CHANGES FROM VERSION 1 TO VERSION 2 x", True),
        ("SELECT * FROM t version", False),
        ("SELECT * FROM t changes", False),
        ("SELECT * FROM t at", False),
    ],
)
def test_what_is_read_at_a_time_of_its_own(query: str, fixed: bool) -> None:
    (place,) = named_tables(query)
    assert place.fixed is fixed
    assert len(table_places(query, fixed=False)) == (not fixed)


@pytest.mark.parametrize(
    ("after", "alias", "aliased", "options"),
    [
        ("", "", False, False),
        (" x", "", True, False),
        (" WITH (a = 1) x", " WITH (a = 1)", True, True),
        (" TABLESAMPLE (1 ROWS) REPEATABLE (3) WHERE a", " TABLESAMPLE (1 ROWS) REPEATABLE (3)",
         False, False),
        (" limit, u", "", True, False),
        (" LIMIT 1", "", False, False),
    ],
)  # fmt: skip
def test_where_an_alias_stands(after: str, alias: str, aliased: bool, options: bool) -> None:
    query = f"SELECT * FROM t{after}"
    place = named_tables(query)[0]
    assert query[place.span.end : place.alias] == alias
    assert (place.aliased, place.options) == (aliased, options)


@pytest.mark.parametrize(
    ("query", "table", "argument"),
    [
        ("TABLE t", "TABLE t", False),
        ("SELECT 1 UNION TABLE /* x */ t ORDER BY a", "TABLE /* x */ t", False),
        ("SELECT * FROM f((TABLE t))", "TABLE t", False),
        ("SELECT * FROM f(TABLE t)", "TABLE t", True),
        ("SELECT * FROM f(x => TABLE (t) PARTITION BY a)", "TABLE (t)", True),
    ],
)
def test_a_table_that_is_a_query_or_an_argument(query: str, table: str, argument: bool) -> None:
    (place,) = named_tables(query)
    assert place.table is not None
    assert query[place.table.start : place.table.end] == table
    assert (place.parts, place.argument) == (("t",), argument)


def test_what_is_read_as_a_stream_is_the_name_behind_the_word() -> None:
    query = "SELECT * FROM STREAM t, (STREAM(s.u)), stream, w"
    found = [query[p.span.start : p.span.end] for p in named_tables(query)]
    assert found == ["t", "s.u", "stream", "w"]


def test_functions_that_read_are_known_by_their_last_part() -> None:
    assert not reads_by_function("SELECT * FROM t, LATERAL `explode`(t.a)")
    assert reads_by_function("SELECT * FROM s.mine(1)")
    assert reads_by_function("SELECT (SELECT max(a) FROM read_files('/x'))")


def test_a_text_that_is_too_deep_is_refused() -> None:
    with pytest.raises(DTError) as e:
        named_tables("SELECT " + "(" * 300 + "1" + ")" * 300 + " FROM t")
    assert e.value.code == "DT-1004"
