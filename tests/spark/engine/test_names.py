"""Names that nothing may be given are refused before anything is done; odd ones work wholly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from dt_jupyter.dispatch import Desk
from dt_jupyter.model import DTError, Name, quote
from dt_jupyter.model.naming import LONGEST_NAME
from dt_jupyter.sql import parse_dynamic_table
from tests.cases import some
from tests.spark.engine_lab import Lab

REFUSED = (
    "d<script>", "a b", " a", "a.b", ".", "..", "../x", "a/b", "a\\b", "größe", "日本", "a\tb",
    "a\nb", "a\x01b", "a\u202eb", "a'b", 'a"b', "a;b", "a=1", "a%2fb", "x" * (LONGEST_NAME + 1),
    "__dt_x",
)  # fmt: skip
STATEMENTS = (
    "CREATE DYNAMIC TABLE {} TARGET_LAG = '1 hour' AS SELECT k FROM one",
    "CREATE OR REPLACE DYNAMIC TABLE {} AS SELECT k FROM one",
    "CREATE OR ALTER DYNAMIC TABLE {} AS SELECT k FROM one",
    "CREATE DYNAMIC TABLE IF NOT EXISTS {} AS SELECT k FROM one",
    "CREATE DYNAMIC TABLE {}.d AS SELECT k FROM one",
    "CREATE DYNAMIC TABLE {} CLONE sums",
    "EXPLAIN CREATE DYNAMIC TABLE {} AS SELECT k FROM one",
    "ALTER DYNAMIC TABLE sums RENAME TO {}",
    "ALTER DYNAMIC TABLE sums SWAP WITH {}",
    "ALTER DYNAMIC TABLE {} SWAP WITH sums",
    "UNDROP DYNAMIC TABLE {}",
    "UNDROP TABLE {}",
    "CREATE STREAM {} ON TABLE one",
    "CREATE OR REPLACE STREAM {} ON VIEW seen",
    "CREATE STREAM IF NOT EXISTS {} ON DYNAMIC TABLE sums",
    "CREATE TABLE {} (a INT)",
    "CREATE TABLE IF NOT EXISTS {} USING delta AS SELECT 1 AS a",
    "CREATE OR REPLACE TABLE {} AS SELECT 1 AS a",
    "CREATE TABLE {} SHALLOW CLONE one",
    "CREATE TABLE {} LIKE one",
    "CREATE TABLE spark_catalog.default.{} (a INT)",
    "CREATE VIEW {} AS SELECT 1 AS a",
    "CREATE OR REPLACE VIEW {} AS SELECT 1 AS a",
    "ALTER TABLE one RENAME TO {}",
    "ALTER VIEW seen RENAME TO {}",
    "CREATE SCHEMA {}",
    "CREATE DATABASE IF NOT EXISTS {}",
    "CREATE NAMESPACE spark_catalog.{}",
)
LABELLED = ("CREATE WAREHOUSE {}", "CREATE OR REPLACE WAREHOUSE {}")
NO_LABEL = (" a", "a\tb", "a\x01b", "a\u202eb", "<b>", "a'b", "a\\b", "__dt_x", "x" * 121)
ONE = Name("default", "one")
METHODS: dict[str, Callable[[Lab, str], object]] = {
    "create": lambda lab, name: lab.engine.create(_cell(name)),
    "explain": lambda lab, name: lab.engine.explain(_cell(name)),
    "stream": lambda lab, name: lab.engine.create_stream(Name("default", name), ONE),
    "stream of a query": lambda lab, name: lab.engine.create_stream(
        Name("default", name), "SELECT k FROM one"
    ),
    "stream in a schema": lambda lab, name: lab.engine.create_stream(
        Name(name, "s"), ONE
    ),
}  # fmt: skip


def _cell(name: str) -> Any:
    """What `%%dynamic_table` gives the engine."""
    statement = parse_dynamic_table(quote(name), "SELECT k FROM one").statement
    assert statement is not None
    return statement


@pytest.fixture(scope="module")
def shop(shared_lab: Lab) -> Lab:
    """A table, a view, a dynamic table and a stream, which no test here changes."""
    shared_lab.table("one", "k STRING, v INT", "'a', 1")
    shared_lab.sql("CREATE VIEW seen AS SELECT k FROM one; CREATE STREAM news ON TABLE one")
    shared_lab.dynamic_table("sums", "SELECT k, sum(v) AS s FROM one GROUP BY k")
    return shared_lab


def standing(lab: Lab) -> object:
    """All that a statement could leave: in Spark's catalog, in the engine's, and as files."""
    catalog = lab.context.catalog
    spark = {
        (schema[0], tuple(row))
        for schema in lab.spark.sql("SHOW SCHEMAS").collect()
        for row in lab.spark.sql(f"SHOW TABLES IN {quote(schema[0])}").collect()
    }
    tables = {(t.id, t.name) for t in catalog.list(include_dropped=True)}
    streams = {row[1] for row in lab.sql("SHOW STREAMS")}
    holds = {hold.id for hold in lab.engine.pins().holds}
    warehouses = len(lab.sql("SHOW WAREHOUSES"))
    files = {str(p) for p in lab.folder.parent.rglob("*") if "catalog.sqlite" not in p.name}
    schemas = {schema[0] for schema in lab.spark.sql("SHOW SCHEMAS").collect()}
    return spark, tables, streams, holds, warehouses, files, schemas


def code(act: Callable[[], object]) -> str | None:
    try:
        act()
    except DTError as e:
        return e.code
    return None


def others(found: dict[Any, str | None]) -> dict[Any, str | None]:
    """Those whose error is not that of a name."""
    return {k: c for k, c in found.items() if c not in ("DT-1119", "DT-1114")}


@pytest.mark.parametrize("statement", [*STATEMENTS, *LABELLED])
def test_no_statement_gives_a_name_that_is_refused(shop: Lab, statement: str) -> None:
    before = standing(shop)
    names = NO_LABEL if statement in LABELLED else REFUSED
    found = {n: code(lambda n=n: shop.sql(statement.format(quote(n)))) for n in names}
    assert others(found) == {}
    assert standing(shop) == before


@pytest.mark.parametrize("method", METHODS)
def test_no_method_gives_a_name_that_is_refused(shop: Lab, method: str) -> None:
    before = standing(shop)
    found = {n: code(lambda n=n: METHODS[method](shop, n)) for n in REFUSED}
    assert others(found) == {}
    assert standing(shop) == before


def test_a_pin_takes_no_name_that_cannot_be_shown(shop: Lab) -> None:
    desk = Desk(lambda: shop.engine)

    def ask(name: str) -> str:
        asked = {"id": 1, "ask": "pin", "name": "one", "pin": name, "version": 0}
        return str(desk.answer_json(asked)["message"]["code"])

    before = standing(shop)
    found = {n: code(lambda n=n: shop.engine.pin(n, "one")) for n in NO_LABEL}
    assert others(found) == {}
    assert others({n: ask(n) for n in NO_LABEL}) == {}
    assert standing(shop) == before


ODD = ("select", "7", "_delta_log", "x" * 120, "1st", "_", "CON")


@pytest.mark.parametrize("name", some(2, ODD))
def test_an_odd_name_works_wholly(shop: Lab, name: str) -> None:
    before = standing(shop)
    q = quote(name)
    shop.sql(f"CREATE SCHEMA {q}; CREATE DYNAMIC TABLE {q}.{q} AS SELECT k, v FROM one")
    shop.dynamic_table(q, "SELECT k, sum(v) AS s FROM one GROUP BY k")
    assert shop.refresh(q) == "NO_DATA"
    for one in (q, f"{q}.{q}"):
        assert shop.engine.verify(one).equal
        assert shop.rows(one) == [("a", 1)]
    shop.sql(f"CREATE STREAM {q}.s ON DYNAMIC TABLE {q}; DROP STREAM {q}.s")
    shop.sql(f"ALTER DYNAMIC TABLE {q} RENAME TO plain; ALTER DYNAMIC TABLE plain RENAME TO {q}")
    with shop.engine.replay(q) as walk:
        assert walk.only.row_count == 1
    shop.sql(f"DROP DYNAMIC TABLE {q}; UNDROP DYNAMIC TABLE {q}")
    assert shop.rows(q) == [("a", 1)]
    shop.sql(f"DROP DYNAMIC TABLE {q}; DROP DYNAMIC TABLE {q}.{q}; DROP SCHEMA {q}")
    spark, _, streams, holds, warehouses, _, schemas = standing(shop)  # type: ignore[misc]
    assert (spark, streams, holds, warehouses, schemas) == tuple(before[i] for i in (0, 2, 3, 4, 6))  # type: ignore[index]
