"""Queries read from their plans and rendered again mean what they meant: on DuckDB, over tables of
a few rows with NULLs, duplicates and nothing at all.

What DuckDB reads otherwise than Spark does is in tests/spark/sql/test_meaning.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from random import Random

import duckdb
import pytest
import sqlglot

from dt_jupyter.model.names import quote
from dt_jupyter.sql.emit.render import Renderer
from tests.recorded_plans import RecordedPlans, column_names
from tests.unit.small_queries import TABLES, VIEWS, texts

PLANS = RecordedPlans.of(__file__)
NUMBERS, TEXTS = (0, 1, 2, 3, None), ("a", "b", "c", None)
ARRAYS = (None, (), (1,), (1, 2), (None, 3))
MACROS = (
    "CREATE MACRO shiftright(a, b) AS a >> b",
    "CREATE MACRO my_series(n) AS generate_series(1, n::bigint)",
    "CREATE MACRO raise_error(a) AS error(a)",
)
WORLDS = 5


@pytest.fixture(scope="module")
def worlds() -> Iterator[list[duckdb.DuckDBPyConnection]]:
    made = [world(Random(seed)) for seed in range(WORLDS)]
    yield made
    for connection in made:
        connection.close()


def world(rng: Random) -> duckdb.DuckDBPyConnection:
    """The tables with a few rows each, in the order of NULLs that Spark has."""
    db = duckdb.connect(config={"threads": 1})
    db.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    for name, kinds, most in (
        ("t", (NUMBERS, TEXTS, NUMBERS, NUMBERS), 9),
        ("u", (NUMBERS, TEXTS, TEXTS), 7),
        ("w", (TEXTS, NUMBERS, NUMBERS), 6),
        ("a", (ARRAYS, TEXTS), 5),
        ("odd t", (NUMBERS,) * 6, 5),
    ):
        types = {NUMBERS: "INT", TEXTS: "VARCHAR", ARRAYS: "INT[]"}
        columns = ", ".join(
            f"{identifier(c)} {types[k]}"
            for c, k in zip(column_names(TABLES[name]), kinds, strict=True)
        )
        db.execute(f"CREATE TABLE {identifier(name)} ({columns})")
        for _ in range(rng.randrange(most)):
            row = [list(v) if isinstance(v, tuple) else v for v in map(rng.choice, kinds)]
            db.execute(f"INSERT INTO {identifier(name)} VALUES ({', '.join('?' * len(row))})", row)
    for name, query in VIEWS.items():
        db.execute(f"CREATE VIEW {name} AS {query}")
    for macro in MACROS:
        db.execute(macro)
    return db


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def bound(query: str) -> str:
    """The query through the algebra, as Spark SQL."""
    rel = PLANS.relation(query, TABLES, VIEWS)
    inner = Renderer(lambda s: quote(s.source))(rel)
    return f"SELECT {', '.join(map(quote, rel.columns))} FROM ({inner}) z"


def in_duckdb(query: str) -> str:
    (text,) = sqlglot.transpile(query, read="spark", write="duckdb")
    return re.sub(r"GENERATE_SERIES\(TRY_CAST\(1 AS BIGINT\), ", "my_series(", text)


def rows(db: duckdb.DuckDBPyConnection, query: str) -> Counter[object] | None:
    """The rows, or None where the query fails, as it may for a subquery of two rows."""
    try:
        return Counter(map(plain, db.execute(query).fetchall()))
    except (duckdb.InvalidInputException, duckdb.ConversionException):
        return None


def plain(value: object) -> object:
    """Numbers of any type by their value, lists and structs as tuples."""
    if isinstance(value, dict):
        return tuple((k, plain(v)) for k, v in value.items())
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return tuple(map(plain, value))
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return round(float(value), 9)
    return value


@pytest.mark.parametrize("query", texts("queries.sql"))
def test_a_query_that_is_read_has_the_rows_of_its_text(
    worlds: list[duckdb.DuckDBPyConnection], query: str
) -> None:
    own, text = in_duckdb(bound(query)), in_duckdb(query)
    succeeded = 0
    for db in worlds:
        expected = rows(db, text)
        assert rows(db, own) == expected, own
        succeeded += expected is not None
    assert succeeded
