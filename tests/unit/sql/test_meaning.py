"""Queries bound to the algebra and rendered again mean what they meant: on DuckDB, over tables of
a few rows with NULLs, duplicates and nothing at all.

What DuckDB reads otherwise than Spark does is in tests/spark/sql/test_meaning.py.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal
from pathlib import Path
from random import Random

import duckdb
import pytest
import sqlglot

from dt_jupyter.ivm import SUPPORTED
from dt_jupyter.model.names import quote
from dt_jupyter.sql.binding.binder import Table, View, bind
from dt_jupyter.sql.emit.render import Renderer

QUERIES = (Path(__file__).parents[1] / "queries.sql").read_text("utf-8").splitlines()
TABLES = {
    "t": ("id", "k", "v", "f"),
    "u": ("id", "k", "name"),
    "w": ("k", "x", "y"),
    "a": ("arr", "k"),
    "odd t": ("a b", "c`d", "e.f", "select", "ünï", 'q"t'),
}
VIEWS = {
    "vw": "SELECT k, sum(v) AS s FROM t GROUP BY k",
    "vv": "SELECT * FROM vw WHERE s > 1",
}
BUILTINS = SUPPORTED | {"upper", "xxhash64", "rand", "shiftright", "sort_array"}
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
            f"{identifier(c)} {types[k]}" for c, k in zip(TABLES[name], kinds, strict=True)
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


def resolve(parts: tuple[str, ...]) -> Table | View:
    name = parts[-1].lower()
    return View(VIEWS[name]) if name in VIEWS else Table(name, TABLES[name])


def bound(query: str) -> str:
    """The query through the algebra, as Spark SQL."""
    rel = bind(query, resolve, BUILTINS)
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


@pytest.mark.parametrize("query", QUERIES)
def test_a_bound_query_has_the_rows_of_its_text(
    worlds: list[duckdb.DuckDBPyConnection], query: str
) -> None:
    own, text = in_duckdb(bound(query)), in_duckdb(query)
    succeeded = 0
    for db in worlds:
        expected = rows(db, text)
        assert rows(db, own) == expected, own
        succeeded += expected is not None
    assert succeeded
