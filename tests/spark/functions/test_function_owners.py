"""Functions have owners, and run with the rights of whoever calls them: no other role replaces or
drops one, nor its owner one that another role's objects run."""

from __future__ import annotations

import pytest

from dt_jupyter.model import DTError
from tests.spark.engine.test_rights import SECRET, code_of, role
from tests.spark.engine_lab import Lab

STEAL = "RETURNS INT RETURN (SELECT max(id) FROM secret)"


@pytest.fixture
def lab(quick_lab: Lab) -> Lab:
    """Each role may make anything; `secret` only friend may read."""
    quick_lab.sql(
        "CREATE TABLE t (id INT) USING delta; INSERT INTO t VALUES (1);"
        "CREATE TABLE secret (id INT, word STRING) USING delta;"
        f"INSERT INTO secret VALUES (4711, '{SECRET}');"
        "CREATE ROLE guest; CREATE ROLE friend; GRANT SELECT ON TABLE t TO ROLE public;"
        "GRANT SELECT ON TABLE secret TO ROLE friend; GRANT CREATE ON SCHEMA default TO ROLE public"
    )
    return quick_lab


def refused_of(lab: Lab, statement: str) -> str:
    """The code and the sentence with which the role guest is refused."""
    with role(lab, "guest"), pytest.raises(DTError) as e:
        lab.sql(statement)
    return str(e.value)


def test_a_function_is_its_owners(lab: Lab) -> None:
    lab.engine.register_udf("length_of", len, "int", immutable=True)
    lab.sql("CREATE FUNCTION pubf(x INT) RETURNS INT RETURN x + 1")
    lab.sql("CREATE FUNCTION lone() RETURNS TABLE (id INT) RETURN SELECT id FROM t")
    lab.sql("CREATE DYNAMIC TABLE d AS SELECT pubf(id) AS n FROM t")
    for name in ("pubf", "lone", "length_of", "IDENTIFIER('pu' || 'bf')", "default.pubf"):
        owned = f"CREATE OR REPLACE FUNCTION {name}(x INT) RETURNS INT RETURN 7"
        assert "DT-5201" in refused_of(lab, owned), name
        temporary = name.removeprefix("default.")
        if not temporary.startswith("IDENT"):
            hides = f"CREATE OR REPLACE TEMPORARY FUNCTION {temporary}(x INT) RETURNS INT RETURN 7"
            assert "DT-5201" in refused_of(lab, hides), name
    refused_of(lab, "DROP FUNCTION length_of")
    for name in ("pubf", "lone", "IF EXISTS lone"):
        told = refused_of(lab, f"DROP FUNCTION {name}")
        assert "DT-5201" in told or "DT-1115" in told, told
    assert {f.name for f in lab.context.catalog.functions()} == {"pubf", "length_of"}
    assert lab.sql("SELECT pubf(1), length_of('abc'), (SELECT max(id) FROM lone())") == [(2, 3, 1)]
    lab.insert("t", "5")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(2,), (6,)]
    lab.sql("DROP FUNCTION lone; DROP DYNAMIC TABLE d; DROP FUNCTION pubf")
    lab.engine.drop_udf("length_of")


def test_an_owner_does_what_it_may(lab: Lab) -> None:
    """Its own function it replaces and drops, while nobody else's objects run it; OWNERSHIP is
    passed on, and goes with the function."""
    with role(lab, "guest"):
        lab.sql("CREATE FUNCTION g(x INT) RETURNS INT RETURN x")
        lab.sql("CREATE FUNCTION h(x INT) RETURNS INT RETURN g(x)")
        lab.sql("CREATE DYNAMIC TABLE mine AS SELECT g(id) AS n FROM t")
        lab.sql("CREATE OR REPLACE FUNCTION g(x INT) RETURNS INT RETURN x + 10")
        assert lab.refresh("mine") == "REINITIALIZE"
        assert lab.sql("SELECT * FROM mine") == [(11,)]
        assert "DT-5201" in str(code_of(lambda: lab.sql(f"CREATE FUNCTION k() {STEAL}")))
        lab.sql("DROP DYNAMIC TABLE mine")
    users = {
        "dynamic table": ("CREATE DYNAMIC TABLE d REFRESH_MODE = FULL AS SELECT h(id) AS n FROM t",
                          "DROP DYNAMIC TABLE d"),
        "by identifier": ("CREATE DYNAMIC TABLE d AS SELECT IDENTIFIER('g' || '')(id) AS n FROM t",
                          "DROP DYNAMIC TABLE d"),
        "view": ("CREATE VIEW v AS SELECT g(id) AS n FROM t", "DROP VIEW v"),
        "task": ("CREATE TASK job AS INSERT INTO t SELECT g(id) FROM t", "DROP TASK job"),
        "function": ("CREATE FUNCTION f(x INT) RETURNS INT RETURN g(x)", "DROP FUNCTION f"),
    }  # fmt: skip
    for kind, (make, drop) in users.items():
        lab.sql(make)
        for statement in ("CREATE OR REPLACE FUNCTION g(x INT) " + STEAL, "DROP FUNCTION g"):
            told = refused_of(lab, statement)
            assert "DT-5207" in told or "DT-1115" in told or "DT-5201" in told, (kind, told)
        told = refused_of(lab, "CREATE OR REPLACE FUNCTION g(x INT) RETURNS INT RETURN 7")
        assert "DT-5207" in told, (kind, told)
        lab.sql(drop)
    lab.sql("GRANT OWNERSHIP ON FUNCTION h TO ROLE friend")
    assert "DT-5201" in refused_of(lab, "DROP FUNCTION h")
    with role(lab, "friend"):
        lab.sql("DROP FUNCTION h")
    with role(lab, "guest"):
        lab.sql("DROP FUNCTION g")
    lab.sql("CREATE FUNCTION g(x INT) RETURNS INT RETURN x")
    assert "DT-5201" in refused_of(lab, "DROP FUNCTION g"), "what guest dropped is not its own"
    lab.sql("DROP FUNCTION g; REVOKE CREATE FUNCTION ON SCHEMA default FROM ROLE public")
    told = refused_of(lab, "CREATE FUNCTION g(x INT) RETURNS INT RETURN x")
    assert "no CREATE FUNCTION on schema default" in told


def test_a_refresh_runs_as_the_owner_whatever_its_text_names(lab: Lab) -> None:
    """A right that its owner lost, and a function that reads something else now, are noticed."""
    lab.sql("CREATE FUNCTION most() RETURNS INT RETURN (SELECT max(id) FROM t)")
    lab.sql("CREATE FUNCTION listed() RETURNS TABLE (id INT) RETURN SELECT id FROM t")
    made = {
        "a": "SELECT * FROM IDENTIFIER('sec' || 'ret')",
        "b": "SELECT id, most() AS m FROM t",
        "c": "SELECT * FROM listed()",
        "d": "SELECT id FROM t WHERE id < (SELECT max(id) FROM IDENTIFIER('secret'))",
    }
    with role(lab, "friend"):
        for name, query in made.items():
            lab.sql(f"CREATE DYNAMIC TABLE {name} REFRESH_MODE = FULL AS {query}")
    lab.sql("REVOKE SELECT ON TABLE secret FROM ROLE friend; INSERT INTO t VALUES (2)")
    lab.sql("INSERT INTO secret VALUES (9, 'x')")
    lab.sql("CREATE OR REPLACE FUNCTION most() " + STEAL)
    lab.sql(
        "CREATE OR REPLACE FUNCTION listed() RETURNS TABLE (id INT) RETURN SELECT id FROM secret"
    )
    for name in made:
        record = lab.record(name)
        assert record.error_code == "DT-5202", (name, record)
        assert "Role friend" in str(record.error) or "role friend" in str(record.error)
        assert 4711 not in {value for row in lab.rows(name) for value in row} or name == "a"
    lab.sql("GRANT SELECT, MONITOR ON DYNAMIC TABLE a TO ROLE guest")
    with role(lab, "guest"):
        assert "may show rows" in str(lab.engine.records("a")[0].error)
    lab.sql("GRANT SELECT ON TABLE secret TO ROLE friend")
    for name in made:
        assert lab.refresh(name) in ("FULL", "REINITIALIZE"), name
    lab.sql("; ".join(f"DROP DYNAMIC TABLE {name}" for name in made))
    lab.sql("DROP FUNCTION most; DROP FUNCTION listed")


def test_a_stream_on_a_view_reads_as_the_views_owner(lab: Lab) -> None:
    with role(lab, "friend"):
        lab.sql("CREATE VIEW v AS SELECT id FROM secret; CREATE VIEW w AS SELECT id FROM v")
        lab.sql("GRANT SELECT ON VIEW w TO ROLE guest")
    with role(lab, "guest"):
        lab.sql("CREATE STREAM s ON VIEW w")
    lab.sql("INSERT INTO secret VALUES (5, 'x')")
    with role(lab, "guest"):
        assert lab.sql("SELECT id FROM s") == [(5,)]
    lab.sql("REVOKE SELECT ON TABLE secret FROM ROLE friend")
    for text in (
        "SELECT id FROM s",
        "SELECT id FROM w",
        "SELECT * FROM w CHANGES AT (VERSION => 1)",
    ):
        assert "DT-5201" in refused_of(lab, text), text
