"""The texts of functions and rights in an exported script."""

from __future__ import annotations

import ast

import pytest

from dt_jupyter.model import (
    Captured,
    CapturedKind,
    FunctionKind,
    Grant,
    Name,
    Named,
    Right,
    Role,
    Securable,
    UserFunction,
)
from dt_jupyter.reports.export_functions import python_functions, registration, sql_functions
from dt_jupyter.reports.export_rights import grant_statements, granted_tables, role_statements
from dt_jupyter.sql import parse_script, statement_values as S

CAPTURED = (
    Captured("np", CapturedKind.MODULE, "numpy"),
    Captured("upper", CapturedKind.MEMBER, "builtins:str.upper"),
    Captured("root", CapturedKind.MEMBER, "math:sqrt"),
    Captured("RATE", CapturedKind.VALUE, "{'a': 1}"),
    Captured("twice", CapturedKind.FUNCTION, "def twice(x):\n    return x * 2\n"),
)


class Registered:
    """In the place of an engine: what is registered."""

    def __init__(self) -> None:
        self.calls: list[tuple[object, ...]] = []

    def register_udf(self, name: str, fn: object, returns: str, **options: object) -> None:
        self.calls.append((name, fn, returns, options))


def test_a_function_of_python_is_registered_by_its_text() -> None:
    source = "def f(x):\n    return upper(str(root(twice(x) * RATE['a'])))"
    made = UserFunction("f", FunctionKind.PYTHON, "string", True, source, captured=CAPTURED[1:])
    dt = Registered()
    exec(registration(made), {"dt": dt})
    ((name, fn, returns, options),) = dt.calls
    assert (name, returns, options) == ("f", "string", {"immutable": True})
    assert callable(fn)
    assert fn(8) == "4.0"


def test_lambdas_pandas_functions_and_imported_ones() -> None:
    small = UserFunction("g", FunctionKind.PANDAS, "int", False, "_f = lambda s: s + 1")
    placed = UserFunction("h", FunctionKind.ARROW, "int", False, "", "math:floor")
    assert registration(small).endswith("dt.register_udf('g', _f, 'int', kind='pandas')")
    assert registration(placed).splitlines() == [
        "import math",
        "dt.register_udf('h', math.floor, 'int', kind='arrow')",
    ]
    (comment,) = python_functions([small, placed])
    assert all(line.startswith("--") for line in comment.splitlines())
    ast.parse("\n".join(line[3:] for line in comment.splitlines()[1:]))
    assert python_functions([]) == []


def test_a_function_of_sql_comes_after_those_that_it_calls() -> None:
    one = UserFunction("a1", FunctionKind.SQL, "INT", True, "b1(x) + 1", parameters=(("x", "INT"),))
    two = UserFunction("b1", FunctionKind.SQL, "INT", True, "x * 2", parameters=(("x", "INT"),))
    assert list(sql_functions([one, two])) == [
        "CREATE OR REPLACE FUNCTION `b1`(`x` INT) RETURNS INT RETURN x * 2",
        "CREATE OR REPLACE FUNCTION `a1`(`x` INT) RETURNS INT RETURN b1(x) + 1",
    ]


def on(kind: Named, name: Name | str) -> Securable:
    return Securable.of(kind, name)


TABLE = on(Named.TABLE, Name("default", "odd name"))
GRANTS = (
    Grant("r", Right.OWNERSHIP, on(Named.DYNAMIC_TABLE, Name("s", "daily"))),
    Grant("r", Right.SELECT, TABLE),
    Grant("r", Right.INSERT, TABLE),
    Grant("q", Right.USAGE, on(Named.ROLE, "r")),
    Grant("q", Right.OPERATE, on(Named.SINK, Name("default", "out"))),
    Grant("public", Right.SELECT, on(Named.SCHEMA, "s")),
    Grant("q", Right.USAGE, on(Named.WAREHOUSE, "heavy")),
)


def test_grants_are_statements_and_owners_the_last() -> None:
    roles = [Role("admin"), Role("public"), Role("q", comment="it's"), Role("r")]
    assert list(role_statements(roles, GRANTS)) == [
        "CREATE ROLE IF NOT EXISTS q COMMENT = 'it\\'s'",
        "CREATE ROLE IF NOT EXISTS r",
        "GRANT ROLE r TO ROLE q",
    ]
    made = grant_statements(GRANTS)
    assert made[-1] == "GRANT OWNERSHIP ON DYNAMIC TABLE s.daily TO ROLE r"
    assert "-- GRANT OPERATE ON SINK out TO ROLE q" in made
    assert granted_tables(GRANTS) == {Name("default", "odd name")}


@pytest.mark.parametrize("text", [t for t in grant_statements(GRANTS) if not t.startswith("--")])
def test_what_is_written_is_read_as_the_same(text: str) -> None:
    ((statement, *_),) = [parse_script(text, "default")]
    assert isinstance(statement, S.GrantRights)
    found = {Grant(statement.role, r, statement.on) for r in statement.rights}
    assert found <= set(GRANTS)
