"""Definitions of a script in the order of what they read, whatever the order of the text."""

from __future__ import annotations

import itertools
import random

import pytest

from dt_jupyter.model import Name
from dt_jupyter.sql.grammar.parse import parse_script
from dt_jupyter.sql.grammar.script_order import Cycle, order_by_dependencies
from dt_jupyter.sql.grammar.statement_values import CreateDynamicTable, Statement


def texts(script: str, schema: str = "default") -> list[str]:
    """The statements in order, without what all of them begin with."""
    found = order_by_dependencies([(s, schema) for s in parse_script(script, schema)])
    assert not isinstance(found, Cycle), str(found)
    return [s.text.removeprefix("CREATE ").removeprefix("DYNAMIC TABLE ") for s, _ in found]


def names(script: str) -> str:
    """The first words of the names, as one text."""
    return "".join(t.split()[0] for t in texts(script))


def table(name: str, *reads: str) -> str:
    return f"CREATE DYNAMIC TABLE {name} AS SELECT 1 AS one" + "".join(
        f" FROM {r}" if i == 0 else f" JOIN {r}" for i, r in enumerate(reads)
    )


@pytest.mark.parametrize("order", list(itertools.permutations("abcd")))
def test_a_diamond_is_made_from_its_sources_on(order: tuple[str, ...]) -> None:
    reads = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
    made = names(";".join(table(n, *reads[n]) for n in order))
    assert sorted(made) == list("abcd")
    assert made[0] + made[-1] == "ad"


def test_an_order_that_is_right_stays() -> None:
    script = ";".join([table("z"), table("b", "z"), table("a"), table("c", "a", "b")])
    assert names(script) == "zbac"


def test_any_order_of_any_graph_is_right() -> None:
    chance = random.Random(7)
    for _ in range(50):
        graph = {f"t{i}": [f"t{j}" for j in range(i) if chance.random() < 0.3] for i in range(12)}
        mixed = list(graph)
        chance.shuffle(mixed)
        made = [t.split()[0] for t in texts(";".join(table(n, *graph[n]) for n in mixed))]
        assert sorted(made) == sorted(graph)
        assert all(made.index(r) < made.index(n) for n in graph for r in graph[n])


def test_names_are_compared_as_they_are_meant() -> None:
    script = """
        CREATE DYNAMIC TABLE a AS SELECT * FROM spark_catalog.default.`B`, other.c;
        CREATE DYNAMIC TABLE default.b AS SELECT * FROM Other.C;
        CREATE DYNAMIC TABLE other.c AS SELECT 1 AS x
    """
    assert [t.split()[0] for t in texts(script)] == ["other.c", "default.b", "a"]
    assert [t.split()[0] for t in texts(table("a", "b") + ";" + table("x.b"), "x")] == ["x.b", "a"]
    assert names(table("a", "b") + ";" + table("x.b")) == "ax.b"


@pytest.mark.parametrize(
    "query",
    [
        "WITH b AS (SELECT 1 AS x) SELECT * FROM b",
        "SELECT 'FROM b' AS x /* FROM b */",
        "SELECT b.x FROM c AS b",
        "SELECT * FROM other.b",
    ],
)
def test_what_only_looks_like_a_name_is_none(query: str) -> None:
    assert names(f"CREATE DYNAMIC TABLE a AS {query};{table('b', 'a')}") == "ab"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM c WHERE x IN (SELECT x FROM b)",
        "WITH q AS (SELECT * FROM b) SELECT * FROM q",
        "SELECT * FROM c, LATERAL (SELECT * FROM b)",
        "FROM b |> WHERE x > 1",
        "TABLE b",
        "SELECT 1 UNION ALL (SELECT x FROM `b`)",
    ],
)
def test_what_a_query_reads_wherever_it_stands(query: str) -> None:
    assert names(f"CREATE DYNAMIC TABLE a AS {query};{table('b')}") == "ba"


def test_views_stand_among_them() -> None:
    script = """
        CREATE DYNAMIC TABLE c AS SELECT * FROM v;
        CREATE VIEW v AS SELECT * FROM a;
        CREATE DYNAMIC TABLE a AS SELECT 1 AS x
    """
    assert [t.split()[0:2] for t in texts(script)] == [["a", "AS"], ["VIEW", "v"], ["c", "AS"]]


@pytest.mark.parametrize(
    "between",
    [
        "INSERT INTO t VALUES (1)",
        "SELECT 1",
        "USE other",
        "CREATE TEMPORARY VIEW v AS SELECT 1",
        "CREATE DYNAMIC TABLE k CLONE b",
        "ALTER DYNAMIC TABLE b REFRESH",
        "DROP DYNAMIC TABLE b",
    ],
)
def test_nothing_moves_across_another_statement(between: str) -> None:
    script = f"{table('a', 'b')};{between};{table('b')}"
    given = [s.text for s in parse_script(script)]
    found = order_by_dependencies([(s, "default") for s in parse_script(script)])
    assert not isinstance(found, Cycle)
    assert [s.text for s, _ in found] == given


def test_a_name_that_is_made_twice_ends_a_run() -> None:
    twice = table("b").replace("CREATE", "CREATE OR REPLACE")
    script = ";".join([table("a", "b"), table("b"), twice, table("c", "a")])
    assert names(script.replace("CREATE OR REPLACE", "CREATE")) == "babc"


def cycle(script: str) -> tuple[Statement, str]:
    found = order_by_dependencies([(s, "default") for s in parse_script(script)])
    assert isinstance(found, Cycle)
    return found.statement, str(found)


def test_definitions_that_read_each_other_are_named() -> None:
    ring = ";".join(
        [table("x"), table("a", "x", "b"), table("b", "c"), table("c", "a"), table("d")]
    )
    statement, path = cycle(ring)
    assert path == "a → b → c → a"
    assert isinstance(statement, CreateDynamicTable)
    assert statement.name == Name("default", "a")
    view = "CREATE VIEW v AS SELECT * FROM a;" + table("a", "v")
    assert cycle(view)[1] == "a → v → a"


def test_one_that_reads_itself_and_views_that_do_are_for_others_to_refuse() -> None:
    assert names(table("a", "a") + ";" + table("b")) == "ab"
    views = "CREATE VIEW a AS SELECT * FROM b; CREATE VIEW b AS SELECT * FROM a"
    assert [t.split()[1] for t in texts(views)] == ["a", "b"]
