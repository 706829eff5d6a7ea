"""Roles and grants in an exported script; owners last, so that who runs it may do the rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dt_jupyter.model import BUILT_IN, Grant, Name, Named, Right, Role, Securable, plain
from dt_jupyter.sql import literal

_TABLES = frozenset((Named.TABLE, Named.VIEW))


def role_statements(roles: Sequence[Role], grants: Sequence[Grant]) -> Iterator[str]:
    """Roles, and those that are granted to others."""
    for role in roles:
        if role.name not in BUILT_IN:
            comment = f" COMMENT = {literal(role.comment)}" if role.comment else ""
            yield f"CREATE ROLE IF NOT EXISTS {plain(role.name)}{comment}"
    for grant in sorted(grants, key=_order):
        if grant.on.kind is Named.ROLE:
            yield f"GRANT ROLE {plain(grant.on.name)} TO ROLE {plain(grant.role)}"


def grant_statements(grants: Sequence[Grant]) -> list[str]:
    """What is granted on objects. On sinks it is a comment, as they are."""
    found: dict[tuple[Securable, str, bool], list[Right]] = {}
    for grant in sorted(grants, key=_order):
        if grant.on.kind is not Named.ROLE:
            owns = grant.right is Right.OWNERSHIP
            found.setdefault((grant.on, grant.role, owns), []).append(grant.right)
    keys = sorted(found, key=lambda k: k[2])
    return [_statement(on, role, found[on, role, owns]) for on, role, owns in keys]


def granted_tables(grants: Sequence[Grant]) -> frozenset[Name]:
    """The tables and views on which something is granted."""
    return frozenset(Name(g.on.schema, g.on.name) for g in grants if g.on.kind in _TABLES)


def _order(grant: Grant) -> tuple[str, ...]:
    on = grant.on
    return (on.kind.value, on.schema, on.name, grant.role, grant.right.value)


def _statement(on: Securable, role: str, rights: Sequence[Right]) -> str:
    told = ", ".join(r.value for r in rights)
    kind = on.kind.value.upper()
    text = f"GRANT {told} ON {kind} {on} TO ROLE {plain(role)}"
    return f"-- {text}" if on.kind is Named.SINK else text
