"""A shared engine gives each role what the plain model of `rights_model` gives it, and no more."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import unquote

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.engine.base_tables import LakeTables
from dt_jupyter.engine.rights import spark_rights
from dt_jupyter.engine.rights.commands import COMMANDS
from dt_jupyter.engine.rights.needs import SPARK_NEEDS
from dt_jupyter.model import DTError
from dt_jupyter.spark.plan_reads import LEAVES
from dt_jupyter.sql import SparkKind
from tests.spark.class_files import ABSTRACT, class_header
from tests.spark.engine.rights_model import ROLES, tries
from tests.spark.engine_lab import Lab

SECRET = "hush4711"
DENIED = {"DT-5201", "DT-5204", "DT-5207", "DT-5208", "DT-5211"}
OTHERWISE = {"DT-1001", "DT-1101", "DT-1112"}
"""What Spark does not parse or analyse, whoever asks."""
OWN = ("CREATE DYNAMIC", "CREATE OR REPLACE DYNAMIC", "CREATE TASK", "ALTER DYNAMIC", "DROP STREAM",
       "DROP DYNAMIC")  # fmt: skip
"""Statements of the engine's own, which run where they are allowed."""


class _Judged(BaseException):
    """Raised where an allowed statement would run."""


def _judge(*args: Any, **kwargs: Any) -> NoReturn:
    raise _Judged


@pytest.fixture(scope="module")
def world(shared_lab: Lab) -> Iterator[Lab]:
    lab = shared_lab
    lab.sql("CREATE SCHEMA vault")
    for name in ("secret", "vault.secret", "open_t", "gone", *(f"mine_{r}" for r in ROLES)):
        _table(lab, name)
    lab.sql("INSERT INTO secret VALUES (2, 'b'); CREATE VIEW peek AS SELECT * FROM secret")
    lab.sql("CREATE ROLE poor; GRANT SELECT ON TABLE secret TO ROLE poor")
    for role in ROLES:
        lab.sql(f"CREATE ROLE {role}; GRANT OWNERSHIP ON TABLE mine_{role} TO ROLE {role}")
    for role in (*ROLES, "poor"):
        lab.sql(f"GRANT CREATE ON SCHEMA default TO ROLE {role}")
    lab.sql("GRANT OWNERSHIP ON TABLE secret TO ROLE owner")
    lab.sql("GRANT OWNERSHIP ON TABLE vault.secret TO ROLE owner")
    _as(
        lab,
        "owner",
        "CREATE VIEW lent AS SELECT * FROM secret; CREATE STREAM news ON TABLE secret;"
        "CREATE DYNAMIC TABLE counted TARGET_LAG = '1 hour' AS SELECT id, word FROM secret",
    )
    _as(lab, "poor", "CREATE VIEW stale AS SELECT * FROM secret")
    lab.sql(
        "REVOKE SELECT ON TABLE secret FROM ROLE poor;"
        "CREATE FUNCTION all_words() RETURNS TABLE (id INT, word STRING)"
        " RETURN SELECT id, word FROM secret;"
        "CREATE FUNCTION one_word() RETURNS INT RETURN (SELECT max(id) FROM secret);"
        "GRANT SELECT ON TABLE open_t TO ROLE public; GRANT SELECT ON VIEW lent TO ROLE guest;"
        "GRANT SELECT ON VIEW stale TO ROLE guest; GRANT SELECT ON VIEW stale TO ROLE owner;"
        "GRANT SELECT ON VIEW peek TO ROLE owner; GRANT SELECT ON TABLE secret TO ROLE reader;"
        "GRANT SELECT ON TABLE vault.secret TO ROLE reader;"
        "GRANT SELECT ON STREAM news TO ROLE reader;"
        "GRANT SELECT ON DYNAMIC TABLE counted TO ROLE reader; DROP TABLE gone"
    )
    for view in ("peek", "lent", "stale"):
        lab.sql(f"GRANT SELECT ON VIEW {view} TO ROLE reader")
    _as(lab, "guest", "CREATE VIEW gone AS SELECT * FROM open_t; DROP VIEW gone")
    yield lab
    lab.sql("DROP FUNCTION all_words; DROP FUNCTION one_word; DROP SCHEMA vault CASCADE")


def _table(lab: Lab, name: str) -> None:
    columns = "x INT" if name.startswith("mine") else "id INT, word STRING"
    folder = f"{lab.context.layout.tables}/{name}"
    values = "1" if name.startswith("mine") else f"1, '{SECRET}'"
    lab.sql(f"CREATE TABLE {name} ({columns}) USING delta LOCATION '{folder}'")
    lab.sql(f"INSERT INTO {name} VALUES ({values})")


def _as(lab: Lab, role: str, script: str) -> None:
    lab.sql(f"USE ROLE {role}; {script}; USE ROLE admin")


@pytest.fixture(scope="module")
def engines(world: Lab) -> Iterator[dict[str, Engine]]:
    made = {
        r: Engine.connect(world.folder, world.spark, scheduler=False, role=r, shared=True)
        for r in ROLES
    }
    yield made
    for engine in made.values():
        engine.close()


def _outcome(engine: Engine, statement: str) -> str | None:
    """The code of what is raised; None where it was judged to be allowed, or is analysed."""
    try:
        engine.sql(statement)
    except _Judged:
        return None
    except DTError as e:
        told = f"{e} {e.details} {e.__cause__}"
        return e.code if SECRET not in told else told
    finally:
        if engine.context.transactions.current is not None:
            engine.context.transactions.rollback()
    return None


def _state(lab: Lab) -> tuple[object, ...]:
    catalog = lab.context.catalog
    return (
        lab.rows("secret"),
        sorted(str(t.name) for t in (*catalog.tables(), *catalog.views())),
        sorted(str(t.name) for t in (*catalog.list(), *catalog.streams(), *catalog.tasks())),
        {(g.role, g.right, g.on) for g in catalog.rights().grants},
        [f.name for f in catalog.functions()],
    )


@pytest.mark.parametrize(
    ("role", "part"),
    [
        ("guest", 2),
        ("reader", 7),
        ("owner", 7),
        *(pytest.param(role, 1, marks=pytest.mark.nightly) for role in ROLES),
    ],
)
def test_a_role_may_do_what_the_model_says(
    world: Lab, engines: dict[str, Engine], role: str, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Refused by a code of the rights, with nothing done, or judged to be allowed."""
    plain = spark_rights.run_analysed
    monkeypatch.setattr(LakeTables, "put_aside", _judge)
    before, wrong = _state(world), []
    folder = f"{world.context.layout.tables}/secret"
    for asked in tries(role, folder, part):
        if asked.allowed and asked.statement.startswith(OWN):
            continue
        run = _judge if asked.runs else plain
        monkeypatch.setattr(spark_rights, "run_analysed", run)
        code = _outcome(engines[role], asked.statement)
        if code in DENIED if asked.allowed else code not in DENIED | OTHERWISE:
            wrong.append((asked.statement, "allowed" if asked.allowed else "refused", code))
    assert wrong == []
    assert _state(world) == before


def test_undrop_asks_for_the_owner_of_exactly_what_was_dropped(
    world: Lab, engines: dict[str, Engine]
) -> None:
    """Of three kinds: what another owned last under the same name gives no right."""
    guest, folder = engines["guest"], world.context.layout.tables
    world.sql(f"CREATE TABLE own (id INT) USING delta LOCATION '{folder}/own'")
    world.sql("GRANT OWNERSHIP ON TABLE own TO ROLE guest")
    guest.sql("DROP TABLE own; UNDROP TABLE own; INSERT INTO own VALUES (1)")
    assert world.sql("SELECT * FROM own") == [(1,)]
    guest.sql("CREATE DYNAMIC TABLE both AS SELECT id FROM own; CREATE STREAM both_s ON TABLE own")
    guest.sql("DROP DYNAMIC TABLE both; UNDROP DYNAMIC TABLE both; DROP DYNAMIC TABLE both")
    guest.sql("DROP STREAM both_s; UNDROP STREAM both_s; DROP STREAM both_s")
    world.sql("CREATE DYNAMIC TABLE both AS SELECT id FROM secret; DROP DYNAMIC TABLE both")
    world.sql("CREATE STREAM both_s ON TABLE secret; DROP STREAM both_s")
    guest.sql("CREATE VIEW both AS SELECT 1 AS x; DROP VIEW both")
    for kind, name in (("DYNAMIC TABLE", "both"), ("STREAM", "both_s"), ("TABLE", "gone")):
        assert _outcome(guest, f"UNDROP {kind} {name}") == "DT-5201"
    world.sql("UNDROP DYNAMIC TABLE both; DROP DYNAMIC TABLE both")
    guest.sql("DROP TABLE own")


def test_grants_come_back_with_a_schema(world: Lab, engines: dict[str, Engine]) -> None:
    """Those of the schema and of what it held; of nothing else that had its name."""
    folder = world.context.layout.tables
    world.sql(
        "CREATE SCHEMA twice;"
        f"CREATE TABLE twice.t (id INT) USING delta LOCATION '{folder}/twice_t';"
        "CREATE VIEW twice.v AS SELECT * FROM twice.t; GRANT SELECT ON VIEW twice.v TO ROLE guest;"
        "GRANT INSERT ON TABLE twice.t TO ROLE reader; GRANT SELECT ON SCHEMA twice TO ROLE poor;"
        "DROP SCHEMA twice CASCADE"
    )
    engines["guest"].sql("CREATE SCHEMA twice; DROP SCHEMA twice")
    world.sql("UNDROP SCHEMA twice")
    found = {
        (g.role, g.right.value, g.on.name)
        for g in world.context.catalog.rights().grants
        if g.on.schema == "twice"
    }
    assert found == {("guest", "SELECT", "v"), ("reader", "INSERT", "t"), ("poor", "SELECT", "")}
    world.sql("DROP SCHEMA twice CASCADE")


# -- the closed tables -----------------------------------------------------------------------------

_PLANS = "org/apache/spark/sql/catalyst/plans/logical"
_IS_COMMAND = {f"{_PLANS}/Command", f"{_PLANS}/ParsedStatement"}


def _jars(lab: Lab) -> list[Path]:
    """Those of Spark's analyser and of Delta, by a class of each."""
    session: Any = lab.spark
    state = session._jsparkSession.sessionState()
    delta = state.catalogManager().v2SessionCatalog()
    found = [state.sqlParser(), session._jsparkSession, delta]
    sources = [o.getClass().getProtectionDomain().getCodeSource() for o in found]
    jars = {Path(unquote(s.getLocation().getPath())) for s in sources}
    return [*jars, *(j for jar in jars for j in jar.parent.glob("spark-catalyst_*.jar"))]


def _concrete(jars: list[Path], above: set[str]) -> set[str]:
    """The names of the classes below others that have instances."""
    classes: dict[str, tuple[int, list[str]]] = {}
    for jar in jars:
        with zipfile.ZipFile(jar) as archive:
            for name in archive.namelist():
                if name.endswith(".class") and "anonfun" not in name:
                    flags, own, parents = class_header(archive.read(name))
                    classes[own] = flags, parents
    below = set(above)
    while more := {n for n, (_, up) in classes.items() if n not in below and below & {*up}}:
        below |= more
    concrete = {n for n in below & classes.keys() if not classes[n][0] & ABSTRACT}
    return {n.rpartition("/")[2] for n in concrete}


def test_each_command_of_spark_and_delta_has_declared_its_need(world: Lab) -> None:
    found = _concrete(_jars(world), _IS_COMMAND)
    assert len(found) > 200
    assert found - COMMANDS.keys() == set(), "not in the table: open to admin alone"
    assert COMMANDS.keys() - found == {"RestoreTableStatement"}, "no command, or none any more"


def test_each_leaf_of_spark_and_delta_says_what_stands_behind_it(world: Lab) -> None:
    jars = _jars(world)
    found = _concrete(jars, {f"{_PLANS}/LeafNode"}) - _concrete(jars, _IS_COMMAND)
    assert len(found) > 50
    assert found - LEAVES.keys() == set(), "not in the table: no role may read it"
    assert LEAVES.keys() - found == set(), "no leaf, or none any more"


def test_the_body_of_a_function_is_shown_to_who_has_a_right_on_it(
    world: Lab, engines: dict[str, Engine]
) -> None:
    guest = engines["guest"]
    guest.sql("CREATE FUNCTION of_guest(x INT) RETURNS INT RETURN x + 4711")
    world.sql("CREATE TEMPORARY FUNCTION brief_one() RETURNS INT RETURN 4711")
    for name in ("one_word", "default.one_word", "spark_catalog.default.all_words", "brief_one"):
        for described in (f"FUNCTION {name}", f"FUNCTION EXTENDED {name}"):
            assert _outcome(guest, f"DESCRIBE {described}") == "DT-5201", described
            assert _outcome(guest, f"EXPLAIN DESCRIBE {described}") == "DT-5201", described
    assert _outcome(guest, "DESCRIBE FUNCTION EXTENDED IDENTIFIER('one' || '_word')") == "DT-5201"
    assert _outcome(engines["reader"], "DESCRIBE FUNCTION of_guest") == "DT-5201"
    told = str(guest.sql("DESCRIBE FUNCTION EXTENDED of_guest").collect())
    assert "x + 4711" in told
    assert _outcome(guest, "DESCRIBE FUNCTION EXTENDED abs") is None
    world.sql("GRANT OWNERSHIP ON FUNCTION of_guest TO ROLE reader")
    assert _outcome(engines["reader"], "DESCRIBE FUNCTION of_guest") is None
    assert _outcome(guest, "DESCRIBE FUNCTION of_guest") == "DT-5201"
    for told_by in (guest.udfs, guest.export):
        with pytest.raises(DTError, match="DT-5207"):
            told_by()
    world.sql("DROP FUNCTION of_guest; DROP TEMPORARY FUNCTION brief_one")


def test_each_kind_of_statement_has_declared_its_need() -> None:
    assert set(SPARK_NEEDS) == set(SparkKind)
