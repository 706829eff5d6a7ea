"""Functions of SQL: what CREATE FUNCTION says, and calls replaced by what they return."""

from __future__ import annotations

import duckdb
import pytest

from dt_jupyter.functions import kept_sql_function
from dt_jupyter.ivm import Refused
from dt_jupyter.sql import created_function, dropped_function, expand_functions

AREA = (
    "CREATE OR REPLACE FUNCTION area(x INT, `y` DECIMAL(10,2)) RETURNS DECIMAL(20,2) RETURN x * y;"
)


def test_what_a_statement_makes() -> None:
    made = created_function(AREA)
    assert made is not None
    assert (made.parts, made.parameters) == (("area",), (("x", "INT"), ("y", "DECIMAL(10,2)")))
    assert (made.returns, made.body) == ("DECIMAL(20,2)", "x * y")
    for other in (
        "CREATE TABLE t (a INT)",
        "CREATE FUNCTION f AS 'a.B'",
        "CREATE FUNCTION f(x INT) RETURNS INT RETURN (SELECT max(a) FROM t)",
        "CREATE FUNCTION f(x INT) RETURNS TABLE (y INT) RETURN SELECT x",
        "CREATE FUNCTION f(x INT DEFAULT 1) RETURNS INT RETURN x",
        "CREATE FUNCTION IF NOT EXISTS f(x INT) RETURNS INT RETURN x",
        "CREATE FUNCTION",
        "SELECT 1",
    ):
        assert created_function(other) is None, other
    assert dropped_function("DROP FUNCTION IF EXISTS a.f") == ("a", "f")
    assert dropped_function("DROP TABLE f") == ()


def test_only_functions_of_the_default_schema_are_kept() -> None:
    text = "CREATE FUNCTION {}(x INT) RETURNS INT RETURN x"
    for name, schema, kept in (
        ("f", "default", True),
        ("default.f", "other", True),
        ("spark_catalog.default.f", "other", True),
        ("f", "other", False),
        ("other.f", "default", False),
        ("spark_catalog.other.f", "default", False),
    ):
        assert (kept_sql_function(text.format(name), schema) is not None) == kept, name
    assert (
        kept_sql_function(text.replace("CREATE", "CREATE TEMPORARY").format("f"), "default") is None
    )


def test_calls_are_what_they_return() -> None:
    functions = {}
    for text in (
        "CREATE FUNCTION twice(a INT) RETURNS INT RETURN a + a",
        "CREATE FUNCTION much(a INT, b INT) RETURNS INT RETURN twice(a) * b - t.a",
    ):
        made = created_function(text)
        assert made is not None
        functions[made.parts[-1]] = made
    rows = "(SELECT 3 AS n, 10 AS a) t"
    for call, value in (
        ("much(n, 5)", 20),
        ("spark_catalog.default.much (twice(n), greatest(1, 2))", 14),
        ("`TWICE`(twice(twice(n)))", 24),
        ("twice(1 - n) + length('twice(1)')", 4),
    ):
        text = expand_functions(f"SELECT {call} FROM {rows}", functions)
        assert duckdb.sql(text).fetchall() == [(value,)], text
    plain = "SELECT twice FROM t WHERE much = 1 -- twice(1)"
    assert expand_functions(plain, functions) == plain


def test_a_call_that_cannot_be_told_is_refused() -> None:
    loop = created_function("CREATE FUNCTION f(x INT) RETURNS INT RETURN f(x) + 1")
    inner = created_function(
        "CREATE FUNCTION g(x INT) RETURNS INT RETURN size(transform(a, x -> x))"
    )
    assert loop is not None
    assert inner is not None
    for text in ("SELECT f(1)", "SELECT g(1)", "SELECT f(1, 2)", "SELECT f(x => 1)", "SELECT f(1"):
        with pytest.raises(Refused):
            expand_functions(text, {"f": loop, "g": inner})
