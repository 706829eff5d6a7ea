"""Roles and rights as statements, and where they are wrong."""

from __future__ import annotations

import pytest

from dt_jupyter.model import CREATE_RIGHTS, DTError, Name, Named, Right, Securable
from dt_jupyter.sql.grammar.parse import parse_script, parse_statement
from dt_jupyter.sql.grammar.statement_values import (
    CreateRole,
    DropRole,
    GrantRights,
    RevokeRights,
    ShowGrants,
    ShowRoles,
    SparkStatement,
    UseRole,
)

S = Securable.of(Named.SCHEMA, "s")
T = Securable.of(Named.TABLE, Name("s", "t"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CREATE ROLE R", CreateRole("r")),
        ("CREATE ROLE IF NOT EXISTS r COMMENT = 'x'", CreateRole("r", "x", True)),
        ("DROP ROLE IF EXISTS r", DropRole("r", True)),
        ("SHOW ROLES LIKE 'a%'", ShowRoles("a%")),
        ("USE ROLE `my role`", UseRole("my role")),
        ("GRANT SELECT, insert ON TABLE s.t TO ROLE r",
         GrantRights((Right.SELECT, Right.INSERT), T, "r")),
        ("REVOKE OPERATE ON DYNAMIC TABLE d FROM ROLE r",
         RevokeRights((Right.OPERATE,), Securable(Named.DYNAMIC_TABLE, "default", "d"), "r")),
        ("GRANT USAGE ON WAREHOUSE W TO ROLE r",
         GrantRights((Right.USAGE,), Securable(Named.WAREHOUSE, "", "w"), "r")),
        ("GRANT SELECT ON SCHEMA S TO ROLE r",
         GrantRights((Right.SELECT,), Securable(Named.SCHEMA, "s", ""), "r")),
        ("GRANT CREATE TABLE, CREATE DYNAMIC TABLE, SELECT ON SCHEMA s TO ROLE r",
         GrantRights((Right.CREATE_TABLE, Right.CREATE_DYNAMIC_TABLE, Right.SELECT), S, "r")),
        ("REVOKE CREATE ON SCHEMA s FROM ROLE r",
         RevokeRights(tuple(CREATE_RIGHTS.values()), S, "r")),
        ("GRANT ROLE a TO ROLE b",
         GrantRights((Right.USAGE,), Securable(Named.ROLE, "", "a"), "b")),
        ("GRANT ALL PRIVILEGES ON SINK k TO ROLE r",
         GrantRights((Right.MONITOR, Right.OPERATE), Securable(Named.SINK, "default", "k"), "r")),
        ("SHOW GRANTS", ShowGrants()),
        ("SHOW GRANTS ON TABLE s.t", ShowGrants(T)),
        ("SHOW GRANTS TO ROLE r", ShowGrants(role="r")),
    ],
)  # fmt: skip
def test_statements(text: str, expected: object) -> None:
    assert parse_statement(text) == expected


def test_a_schema_may_be_called_role() -> None:
    assert isinstance(parse_statement("USE role"), SparkStatement)


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("GRANT OPERATE ON TABLE t TO ROLE r", "DT-5206", "OPERATE"),
        ("GRANT SELECT, CREATE VIEW ON TABLE t TO ROLE r", "DT-5206", "CREATE"),
        ("GRANT CREATE INDEX ON SCHEMA s TO ROLE r", "DT-1001", "INDEX"),
        ("GRANT READ ON TABLE t TO ROLE r", "DT-1001", "READ"),
        ("GRANT SELECT ON t TO ROLE r", "DT-1001", "t"),
        ("GRANT SELECT ON TABLE t TO r", "DT-1001", "TO"),
        ("REVOKE SELECT ON TABLE t TO ROLE r", "DT-1001", "TO"),
        ("SHOW GRANTS ON x", "DT-1001", "x"),
        ("CREATE ROLE r x", "DT-1001", "x"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(text: str, code: str, place: str) -> None:
    with pytest.raises(DTError) as e:
        parse_script(text)
    assert e.value.code == code
    assert e.value.span is not None
    assert text[e.value.span.start : e.value.span.end] == place
