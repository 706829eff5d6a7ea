"""A definition is judged by the plan of what it will run: a role without rights gets no row of a
table by any way to name it, in any kind of definition, when it is made or when it runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.model import Name
from tests.spark.engine.test_rights import SECRET, code_of, role
from tests.spark.engine_lab import Lab

DENIED = {"DT-5201", "DT-5202", "DT-5207", "DT-5208"}
WORLD = f"""
CREATE TABLE secret (id INT, word STRING) USING delta;
INSERT INTO secret VALUES (1, '{SECRET}'), (2, 'b');
CREATE TABLE open_t (id INT, word STRING) USING delta;
INSERT INTO open_t VALUES (1, 'plain');
CREATE VIEW all_of_it AS SELECT * FROM secret;
CREATE VIEW named_view AS SELECT * FROM IDENTIFIER('sec' || 'ret');
CREATE VIEW granted AS SELECT word FROM secret;
CREATE DYNAMIC TABLE counted AS SELECT word, count(*) AS n FROM secret GROUP BY word;
CREATE FUNCTION rows_of() RETURNS TABLE (id INT, word STRING) RETURN SELECT * FROM secret;
CREATE FUNCTION most() RETURNS STRING RETURN (SELECT max(word) FROM secret);
CREATE FUNCTION outer_most() RETURNS STRING RETURN upper(most());
CREATE FUNCTION twice(x INT) RETURNS INT RETURN 2 * x;
CREATE FUNCTION open_rows() RETURNS TABLE (id INT) RETURN SELECT id FROM open_t;
CREATE ROLE guest; CREATE ROLE friend; CREATE ROLE other;
GRANT SELECT ON TABLE open_t TO ROLE public;
GRANT SELECT ON VIEW granted TO ROLE guest;
GRANT SELECT ON TABLE secret TO ROLE friend;
GRANT CREATE ON SCHEMA default TO ROLE public;
"""
WAYS = {
    "name": "SELECT * FROM secret",
    "whole name": "SELECT * FROM spark_catalog.default.`secret`",
    "identifier": "SELECT * FROM IDENTIFIER('secret')",
    "identifier computed": "SELECT * FROM IDENTIFIER('sec' || 'ret')",
    "view": "SELECT * FROM all_of_it",
    "view by identifier": "SELECT * FROM named_view",
    "dynamic table": "SELECT * FROM counted",
    "function": "SELECT * FROM rows_of()",
    "scalar function": "SELECT id, most() AS m FROM open_t",
    "function of a function": "SELECT id, outer_most() AS m FROM open_t",
    "function by identifier": "SELECT id, IDENTIFIER('mo' || 'st')() AS m FROM open_t",
    "changes": "SELECT * FROM table_changes('secret', 0)",
    "version": "SELECT * FROM secret VERSION AS OF 1",
    "pipe": "FROM secret |> WHERE id = 1",
    "table": "TABLE secret",
    "in a subquery": "SELECT id FROM open_t WHERE EXISTS (SELECT 1 FROM IDENTIFIER('secret'))",
    "in a WITH": "WITH q AS (SELECT * FROM IDENTIFIER('secret')) SELECT id FROM q",
    "path": "SELECT * FROM delta.`{path}`",
    "path of parquet": "SELECT * FROM parquet.`{path}`",
    "a column that is none": "SELECT nothing FROM IDENTIFIER('secret')",
}
KINDS = {
    "dynamic table": "CREATE DYNAMIC TABLE x AS {query}",
    "full": "CREATE DYNAMIC TABLE x REFRESH_MODE = FULL AS {query}",
    "later": "CREATE DYNAMIC TABLE x INITIALIZE = ON_SCHEDULE AS {query}",
    "or replace": "CREATE OR REPLACE DYNAMIC TABLE mine AS {query}",
    "or alter": "CREATE OR ALTER DYNAMIC TABLE mine AS {query}",
    "explain create": "EXPLAIN CREATE DYNAMIC TABLE x AS {query}",
    "view": "CREATE VIEW x AS {query}",
    "temporary view": "CREATE TEMPORARY VIEW x AS {query}",
    "table": "CREATE TABLE x AS {query}",
    "function": "CREATE FUNCTION x() RETURNS TABLE RETURN {query}",
    "task": "CREATE TASK x AS CREATE OR REPLACE TABLE taken AS {query}",
    "changes": "SELECT * FROM ({query}) CHANGES AT (VERSION => 1)",
    "explain": "EXPLAIN EXTENDED {query}",
    "describe": "DESCRIBE QUERY {query}",
}
MADE = {"x", "taken"}


@pytest.fixture(scope="module")
def world(shared_lab: Lab) -> Iterator[Lab]:
    shared_lab.sql(WORLD)
    with role(shared_lab, "guest"):
        shared_lab.sql("CREATE DYNAMIC TABLE mine AS SELECT * FROM open_t")
    yield shared_lab
    for name in ("outer_most", "most", "rows_of", "twice", "open_rows"):
        shared_lab.sql(f"DROP FUNCTION IF EXISTS {name}")


@pytest.fixture(scope="module")
def guest(world: Lab) -> Iterator[Engine]:
    """A shared engine that was opened for the role guest."""
    made = Engine.connect(world.folder, world.spark, scheduler=False, role="guest", shared=True)
    yield made
    made.close()


def path_of(lab: Lab, table: str) -> str:
    return str(next(t.path for t in lab.context.catalog.tables() if t.name.table == table))


CASES = [
    pytest.param(
        way, kind, id=f"{way}-{kind}",
        marks=() if kind == "full" or way in ("identifier computed", "function")
        else pytest.mark.nightly,
    )
    for way in WAYS for kind in KINDS
]  # fmt: skip


@pytest.mark.parametrize(("way", "kind"), CASES)
def test_no_definition_of_a_role_without_rights_reads(
    world: Lab, guest: Engine, way: str, kind: str
) -> None:
    query = WAYS[way].format(path=path_of(world, "secret"))
    asked = KINDS[kind].format(query=query)
    code = code_of(lambda: guest.sql(asked).collect())
    assert code in DENIED | {"DT-5211"}, asked
    assert not MADE & {row[1] for row in world.sql("SHOW TABLES")}
    assert world.sql("SELECT * FROM mine") == [(1, "plain")]


def test_methods_judge_by_the_plan_too(world: Lab, guest: Engine) -> None:
    """DataFrames, changes of a query, a stream on one, and what a clone would run."""
    hidden = "SELECT * FROM IDENTIFIER('sec' || 'ret')"
    for ask in (
        lambda: guest.create("x", world.spark.sql(hidden)),
        lambda: guest.create("x", hidden),
        lambda: guest.explain(world.spark.sql(hidden)),
        lambda: guest.query_changes(hidden, 1),
        lambda: guest.create_stream(Name("default", "x"), hidden),
        lambda: guest.create_stream(Name("default", "x"), "SELECT * FROM rows_of()"),
    ):
        assert code_of(ask) in DENIED
    world.sql("CREATE DYNAMIC TABLE shown REFRESH_MODE = FULL AS SELECT * FROM rows_of()")
    world.sql("GRANT SELECT ON DYNAMIC TABLE shown TO ROLE guest")
    assert code_of(lambda: guest.sql("CREATE DYNAMIC TABLE x CLONE shown")) == "DT-5201"
    assert len(guest.sql("SELECT * FROM shown").collect()) == 2
    world.sql("DROP DYNAMIC TABLE shown")


def test_who_has_the_rights_makes_the_same_definitions(world: Lab, guest: Engine) -> None:
    """The twins of the attacks: by a role with the rights, over an owner's view, over what is
    open."""
    rows = {(1, SECRET), (2, "b")}
    with role(world, "friend"):
        for way in ("identifier computed", "function", "name"):
            query = WAYS[way]
            world.sql(f"CREATE DYNAMIC TABLE x REFRESH_MODE = FULL AS {query}")
            assert set(world.sql("SELECT * FROM x")) == rows, way
            assert world.refresh("x") in ("FULL", "NO_DATA")
            world.sql("DROP DYNAMIC TABLE x")
            world.sql(f"CREATE VIEW x AS {query}")
            assert set(world.sql("SELECT * FROM x")) == rows, way
            world.sql("DROP VIEW x")
            world.sql(f"CREATE FUNCTION x() RETURNS TABLE RETURN {query}")
            assert set(world.sql("SELECT * FROM x()")) == rows, way
            world.sql("DROP FUNCTION x")
    for text in (
        "CREATE DYNAMIC TABLE x AS SELECT word FROM granted",
        "CREATE DYNAMIC TABLE x AS SELECT word FROM IDENTIFIER('gran' || 'ted')",
    ):
        guest.sql(text)
        assert {r[0] for r in guest.sql("SELECT * FROM x").collect()} == {SECRET, "b"}
        guest.sql("DROP DYNAMIC TABLE x")
    guest.sql("CREATE DYNAMIC TABLE x AS SELECT twice(id) AS n FROM open_t")
    assert guest.table("x").effective_mode == "INCREMENTAL"
    guest.sql("DROP DYNAMIC TABLE x; CREATE DYNAMIC TABLE x AS SELECT * FROM open_rows()")
    assert [tuple(r) for r in guest.sql("SELECT * FROM x").collect()] == [(1,)]
    guest.sql("DROP DYNAMIC TABLE x")


OPTIONS = (
    "SELECT from_xml('<a/>', 'b INT', map('rowValidationXSDPath', '{file}'))",
    "SELECT schema_of_xml('<a/>', map('rowValidationXSDPath', '{file}'))",
    "SELECT from_xml('<a/>', 'b INT', map(concat('rowValidation', 'XSDPath'), '{file}'))",
    "SELECT from_xml('<a/>', schema_of_xml('<a/>', map('rowValidationXSDPath', '{file}')))",
    "SELECT IDENTIFIER('schema_of' || '_xml')('<a/>', map('rowValidationXSDPath', '{file}'))",
    "SELECT from_json('{{}}', 'a INT', map('somewhere', '{file}'))",
    "SELECT from_csv('1', 'a INT', map('somewhere', '{file}'))",
    "SELECT from_avro(X'00', '{{}}', map('avroSchemaUrl', '{file}'))",
    "SELECT from_protobuf(X'00', 'A', '{file}')",
    "SELECT to_xml(named_struct('a', 1), map('somewhere', '{file}'))",
    "SELECT * FROM open_t WITH (path = '{file}')",
    "SELECT * FROM open_t WITH (`fs.file.impl` = 'a.B')",
    "SELECT * FROM xml.`{file}` WITH (rowTag = 'a', rowValidationXSDPath = '{file}')",
    "SELECT * FROM jdbc.`x` WITH (url = 'jdbc:x', dbtable = 'y')",
    "SELECT java_method('java.lang.System', 'getProperty', 'user.home') AS a",
    "SELECT reflect('java.lang.System', 'getenv', 'HOME') AS a",
    "SELECT try_reflect('java.lang.System', 'getenv', 'HOME') AS a",
    "SELECT * FROM text.`{file}`",
    "SELECT TRANSFORM(id) USING 'id -u' AS (x STRING) FROM open_t",
)
MAKERS = (
    "{query}", "CREATE DYNAMIC TABLE y AS {query}", "CREATE VIEW y AS {query}",
    "CREATE FUNCTION y() RETURNS TABLE RETURN {query}",
    "CREATE TASK y AS CREATE TABLE taken AS {query}",
)  # fmt: skip
OPEN_OPTIONS = (
    "SELECT from_json('{{\"a\":1}}', 'a INT', map('mode', 'PERMISSIVE')).a AS a",
    "SELECT from_csv('1;2', 'a INT, b INT', map('SEP', ';')).a AS a",
    "SELECT from_xml('<r><a>1</a></r>', 'a INT', map('rowTag', 'r')).a AS a",
    "SELECT length(to_json(map('somewhere', 1), map('pretty', 'false'))) - 14 AS a",
    "SELECT map('somewhere', 1)['somewhere'] AS a",
    "SELECT id AS a FROM open_t WITH (versionAsOf = 1)",
)


@pytest.mark.parametrize("query", OPTIONS)
def test_no_option_leads_out_of_a_shared_engine(
    guest: Engine, query: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    file = _file(tmp_path_factory)
    for maker in MAKERS:
        asked = maker.format(query=query.format(file=file))
        assert code_of(lambda a=asked: guest.sql(a).collect()) in {"DT-5211", "DT-5208"}, asked  # type: ignore[misc]


@pytest.mark.parametrize(
    "condition",
    [
        "id < (SELECT max(id) FROM IDENTIFIER('sec' || 'ret'))",
        "word = most()",
        "java_method('java.lang.System', 'getProperty', word) = 'x'",
        "from_xml(word, 'b INT', map('rowValidationXSDPath', '/etc/passwd')).b = 1",
    ],
)
def test_a_frozen_condition_is_judged(guest: Engine, condition: str) -> None:
    for statement in (
        f"CREATE DYNAMIC TABLE y FROZEN WHERE ({condition}) AS SELECT * FROM open_t",
        f"ALTER DYNAMIC TABLE mine SET FROZEN WHERE ({condition})",
    ):
        code = code_of(lambda s=statement: guest.sql(s))  # type: ignore[misc]
        assert code in {"DT-5201", "DT-5211", "DT-1139"}, statement  # the last: of its form


def _file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that holds what nobody may read."""
    made = tmp_path_factory.mktemp("service") / "x.xsd"
    made.write_text(SECRET)
    return made


@pytest.mark.parametrize("query", OPEN_OPTIONS)
def test_options_of_texts_stay_open(guest: Engine, query: str) -> None:
    asked = query.format()
    assert [tuple(r) for r in guest.sql(asked).collect()] == [(1,)]


def test_options_of_tables_are_asked_for(guest: Engine, tmp_path: Path) -> None:
    for statement in (
        "CREATE TABLE y (id INT) USING csv OPTIONS (somewhere '/tmp')",
        "CREATE TABLE y (id INT) USING csv TBLPROPERTIES ('option.somewhere' = '/tmp')",
        f"CREATE TABLE y (id INT) USING csv TBLPROPERTIES ('option.path' = '{tmp_path}')",
        "CREATE TABLE y (id INT) USING avro OPTIONS (avroSchemaUrl 'file:/tmp/x')",
        "INSERT INTO open_t WITH (somewhere = '/tmp') SELECT 1, 'x'",
        "CREATE TEMPORARY FUNCTION f AS 'a.B'",
    ):
        assert code_of(lambda s=statement: guest.sql(s)) == "DT-5211", statement  # type: ignore[misc]
    guest.sql("CREATE TABLE y (id INT) USING csv OPTIONS (header 'true'); DROP TABLE y")
