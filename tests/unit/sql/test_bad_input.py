"""Bombs and queries that cannot be unnested: each is answered, or refused with a code, and what was
asked before is still answered after."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Refusal, Refused, Rel
from dt_jupyter.model import DTError
from dt_jupyter.sql.emit.render import Renderer
from dt_jupyter.sql.grammar.parse import parse_statement
from dt_jupyter.sql.grammar.statement_values import CreateDynamicTable
from dt_jupyter.sql.grammar.table_places import require_bounded, table_places
from tests.recorded_plans import RecordedPlans

WIDE = tuple(f"c{i}" for i in range(1, 201))
TABLES = {
    "t": "id INT, k STRING, v INT",
    "u": "id INT, k STRING, name STRING",
    **dict.fromkeys("ab", ", ".join(f"{c} INT" for c in WIDE)),
}
PLANS = RecordedPlans.of(__file__)


def bound(query: str) -> Rel:
    """As a definition is read: what Spark does not analyse in a moment is refused before."""
    require_bounded(query)
    return PLANS.relation(query, TABLES)


def nested(depth: int) -> str:
    query = "SELECT id FROM t"
    for i in range(depth):
        query = f"SELECT id FROM ({query}) q{i}"
    return query


def chained(count: int, use: str) -> str:
    """Common tables, each of which reads the one before twice."""
    ctes = ["c0 AS (SELECT id FROM t)"]
    ctes += [f"c{i} AS ({use.format(below=f'c{i - 1}')})" for i in range(1, count + 1)]
    return f"WITH {', '.join(ctes)} SELECT * FROM c{count}"


def doubled(count: int) -> str:
    """Aliases each of which is the one before, twice."""
    items = ["v AS a0", *(f"a{i - 1} + a{i - 1} AS a{i}" for i in range(1, count + 1))]
    return f"SELECT {', '.join(items)} FROM t"


def cases(depth: int) -> str:
    return "SELECT " + "CASE WHEN v > 1 THEN " * depth + "1" + " END" * depth + " AS x FROM t"


def in_subqueries(depth: int) -> str:
    return "SELECT id FROM t WHERE id IN (" * depth + "SELECT id FROM t" + ")" * depth


ANSWERED = {
    "200 nested parentheses": f"SELECT {'(' * 200}v{')' * 200} AS x FROM t",
    "100 terms of a union": " UNION ALL ".join(["SELECT id FROM t"] * 100),
    "a join on 200 columns": "SELECT a.c1 FROM a JOIN b ON "
    + " AND ".join(f"a.{c} = b.{c}" for c in WIDE),
    "a left join on 200 columns": "SELECT a.c1, b.c2 FROM a LEFT JOIN b ON "
    + " AND ".join(f"a.{c} = b.{c}" for c in WIDE),
    "a natural join on 200 columns": "SELECT * FROM a NATURAL JOIN b",
    "1,000 items": f"SELECT {', '.join(f'v + {i} AS x{i}' for i in range(1_000))} FROM t",
    "1,000 aggregates": f"SELECT k, {', '.join(f'sum(v + {i}) AS x{i}' for i in range(1_000))}"
    " FROM t GROUP BY k",
    "100 nested subqueries": nested(100),
    "30 nested IN": in_subqueries(30),
    "1,000 conditions": "SELECT id FROM t WHERE " + " OR ".join(f"v = {i}" for i in range(1_000)),
    "1,000 conjuncts": "SELECT id FROM t WHERE " + " AND ".join(f"v <> {i}" for i in range(1_000)),
    "20,000 values in IN": f"SELECT id FROM t WHERE v IN ({', '.join(map(str, range(20_000)))})",
    "900 conditions of a join": "SELECT t.id FROM t JOIN u ON t.id = u.id AND ("
    + " OR ".join(f"t.v = {i}" for i in range(900))
    + ")",
    "200 functions around each other": f"SELECT {'upper(' * 200}k{')' * 200} AS x FROM t",
    "100 levels of CASE": cases(100),
    "a string of 900,000 letters": f"SELECT '{'x' * 900_000}' AS s, id FROM t",
    "aliases that double 9 times": doubled(9),
    "5 common tables used twice": chained(
        5, "SELECT x.id FROM {below} x JOIN {below} y ON x.id = y.id"
    ),
    "a chain of 400 operators": "SELECT " + " + ".join(["v"] * 401) + " AS x FROM t",
    "100 windows": "SELECT id, "
    + ", ".join(f"sum(v + {i}) OVER (PARTITION BY k ORDER BY id) AS s{i}" for i in range(100))
    + " FROM t",
}

REFUSED = {
    # Spark's tasks read an expression by recursion: a stack that overflows in one ends the JVM.
    "a chain of 900 operators": ("DT-1004", "SELECT " + " + ".join(["v"] * 900) + " AS x FROM t"),
    "3,000 conditions": (
        "DT-1004", "SELECT id FROM t WHERE " + " OR ".join(f"v = {i}" for i in range(3_000))),
    "3,000 nested parentheses": ("DT-1004", f"SELECT {'(' * 3000}v{')' * 3000} AS x FROM t"),
    "a union of 20,000": ("DT-1004", " UNION ALL ".join(["SELECT id FROM t"] * 20_000)),
    "1,000 nested subqueries": ("DT-1004", nested(1_000)),
    "160 nested subqueries": ("EXPRESSION",
        nested(160).replace("SELECT id FROM (", "SELECT id + 1 AS id FROM (")),
    "300 nested IN": ("DT-1004", in_subqueries(300)),
    "50 common tables joined to themselves": ("DT-1004", chained(
        50, "SELECT x.id FROM {below} x JOIN {below} y ON x.id = y.id")),
    "50 common tables united with themselves": ("DT-1004", chained(
        50, "SELECT id FROM {below} UNION ALL SELECT id FROM {below}")),
    "50 common tables in their own conditions": ("DT-1004", chained(
        50, "SELECT id FROM {below} WHERE id NOT IN (SELECT id FROM {below})")),
    "300 levels of CASE": ("DT-1004", cases(300)),
    "a string of 5,000,000 letters": ("DT-1004", f"SELECT '{'x' * 5_000_000}' AS s FROM t"),
    "a chain of 5,000 operators": ("DT-1004", "SELECT " + " + ".join(["v"] * 5_000) + " FROM t"),
    "a number of 5,000 digits": ("DT-1004", f"SELECT id FROM t ORDER BY id LIMIT {'9' * 5_000}"),
    "11 keys in a cube": ("GROUPING_SETS",
        f"SELECT count(*) FROM (SELECT {', '.join(WIDE[:11])} FROM a)"
        f" GROUP BY CUBE({', '.join(WIDE[:11])})"),
    "5,000 literal rows": ("EXPRESSION",
        f"SELECT * FROM VALUES {', '.join(f'({i})' for i in range(5_000))} x(i)"),
}  # fmt: skip


@pytest.mark.parametrize("what", ANSWERED)
def test_a_large_query_is_answered(what: str) -> None:
    query = ANSWERED[what]
    rel = bound(query)
    assert Renderer(lambda s: s.source)(rel)
    assert table_places(query)
    statement = parse_statement(f"CREATE DYNAMIC TABLE d AS {query}")
    assert isinstance(statement, CreateDynamicTable)


@pytest.mark.parametrize("what", REFUSED)
def test_a_bomb_is_refused_by_code_and_the_next_query_answered(what: str) -> None:
    code, query = REFUSED[what]
    with pytest.raises((DTError, Refused)) as e:
        bound(query)
    found = e.value.reason.code if isinstance(e.value, Refused) else e.value.code
    assert found == code
    assert found == "DT-1004" or found in Refusal.__members__
    assert len(str(e.value)) < 2_000
    assert bound("SELECT id FROM t").columns == ("id",)


@pytest.mark.parametrize("what", REFUSED)
def test_a_statement_with_a_bomb_is_parsed_or_an_error_of_the_catalogue(what: str) -> None:
    code, query = REFUSED[what]
    text = f"CREATE DYNAMIC TABLE d AS {query}"
    if code == "DT-1004" and "common tables" not in what:
        with pytest.raises(DTError) as e:
            parse_statement(text)
        assert e.value.code == code
    else:
        assert isinstance(parse_statement(text), CreateDynamicTable)


def test_common_tables_that_double_are_counted_before_spark_is_asked() -> None:
    twice = "SELECT x.id FROM {below} x JOIN {below} y ON x.id = y.id"
    require_bounded(chained(12, twice))
    require_bounded("WITH t AS (SELECT * FROM s.t) SELECT * FROM t JOIN t u ON t.id = u.id")
    branch = "SELECT id FROM (WITH a AS (SELECT id FROM s.t) SELECT id FROM a)"
    require_bounded(" UNION ALL ".join([branch] * 100))
    inner = " UNION ALL ".join(["SELECT * FROM t"] * 90)
    inner = f"WITH a AS ({inner}) SELECT * FROM a"
    require_bounded(
        f"WITH a AS (SELECT * FROM s) {' UNION ALL '.join(['SELECT * FROM a'] * 90)}"
        f" UNION ALL SELECT * FROM ({inner})"
    )
    require_bounded("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT 1")
    for n in (13, 20, 60):
        with pytest.raises(DTError, match="common tables") as e:
            require_bounded(chained(n, twice))
        assert e.value.code == "DT-1004"
