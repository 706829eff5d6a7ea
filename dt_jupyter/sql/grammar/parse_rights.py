"""The statements about roles and rights."""

from __future__ import annotations

from collections.abc import Callable

from dt_jupyter.model import (
    CREATE_RIGHTS,
    RIGHTS_ON,
    DTError,
    Named,
    Right,
    Securable,
    require_right_on,
)
from dt_jupyter.sql.grammar.clauses import if_exists, like
from dt_jupyter.sql.grammar.statement_values import (
    CreateRole,
    DropRole,
    GrantRights,
    RevokeRights,
    ShowGrants,
    ShowRoles,
    Statement,
    UseRole,
)
from dt_jupyter.sql.text.cursor import Cursor

_ROLE = "the name of the role"
_KINDS = tuple(kind for kind in RIGHTS_ON if kind is not Named.ROLE)
_FORM = (
    "GRANT right, … ON "
    "{TABLE | VIEW | DYNAMIC TABLE | STREAM | SINK | TASK | FUNCTION | WAREHOUSE | SCHEMA} n"
)
_GRANT = f"Write {_FORM} TO ROLE r, or GRANT ROLE a TO ROLE b."
_REVOKE = f"Write {_FORM} FROM ROLE r, or REVOKE ROLE a FROM ROLE b.".replace("GRANT", "REVOKE", 1)


def role_name(cursor: Cursor, key: str = "name") -> str:
    name, cursor.places[key] = cursor.identifier(_ROLE)
    return name.lower()


def parse_create_role(cursor: Cursor) -> Statement:
    """After CREATE ROLE."""
    quiet = cursor.accept("IF", "NOT", "EXISTS")
    name = role_name(cursor)
    comment = None
    if cursor.accept("COMMENT"):
        cursor.accept_sign("=")
        comment = cursor.string("a string", "Write COMMENT = '…'.")
    cursor.finish("Write CREATE ROLE [IF NOT EXISTS] r [COMMENT = '…'].")
    return CreateRole(name, comment, quiet)


def _drop_role(cursor: Cursor) -> Statement:
    exists = if_exists(cursor)
    name = role_name(cursor)
    cursor.finish("Write DROP ROLE [IF EXISTS] r.")
    return DropRole(name, exists)


def _show_roles(cursor: Cursor) -> Statement:
    return ShowRoles(like(cursor, "SHOW ROLES [LIKE 'pattern']"))


def _use_role(cursor: Cursor) -> Statement | None:
    """None for USE role, a schema of that name."""
    if cursor.done or cursor.peek().sign("."):
        return None
    name = role_name(cursor)
    cursor.finish("Write USE ROLE r.")
    return UseRole(name)


def _grant(cursor: Cursor) -> Statement:
    rights, on = _what(cursor, _GRANT)
    return GrantRights(rights, on, _to(cursor, "TO", _GRANT))


def _revoke(cursor: Cursor) -> Statement:
    rights, on = _what(cursor, _REVOKE)
    return RevokeRights(rights, on, _to(cursor, "FROM", _REVOKE))


def _what(cursor: Cursor, form: str) -> tuple[tuple[Right, ...], Securable]:
    """A role, or rights on an object."""
    if cursor.accept("ROLE"):
        return (Right.USAGE,), Securable.of(Named.ROLE, role_name(cursor))
    rights = _rights(cursor, form)
    if not cursor.accept("ON"):
        raise cursor.expected("ON", form)
    on = _object(cursor, form)
    for right in rights:
        _require(cursor, on.kind, right)
    rights = rights or tuple(sorted(RIGHTS_ON[on.kind] - {Right.OWNERSHIP}))
    if not rights:
        raise cursor.expected("OWNERSHIP", form)
    return rights, on


def _rights(cursor: Cursor, form: str) -> tuple[Right, ...]:
    """() for ALL [PRIVILEGES]."""
    if cursor.accept("ALL"):
        cursor.accept("PRIVILEGES")
        return ()
    found: list[Right] = []
    while not found or cursor.accept_sign(","):
        word = cursor.peek()
        if cursor.accept("CREATE"):
            made = _create_rights(cursor)
            cursor.places |= {right.value: word.span for right in made}
            found += made
            continue
        if word.upper not in tuple(Right):
            raise cursor.expected(f"a right ({', '.join(Right)})", form)
        cursor.places.setdefault(word.upper, word.span)
        found.append(Right(cursor.next().upper))
    return tuple(dict.fromkeys(found))


def _create_rights(cursor: Cursor) -> tuple[Right, ...]:
    """After CREATE: the kind that may be made; all of them where none is named."""
    for kind, right in CREATE_RIGHTS.items():
        if cursor.accept(*kind.value.upper().split()):
            return (right,)
    return tuple(CREATE_RIGHTS.values())


def _require(cursor: Cursor, kind: Named, right: Right) -> None:
    try:
        require_right_on(kind, right)
    except DTError as e:
        raise e.at(cursor.script, cursor.places[right.value]) from None


def _object(cursor: Cursor, form: str) -> Securable:
    kind = next((k for k in _KINDS if cursor.accept(*k.value.upper().split())), None)
    if kind is None:
        known = ", ".join(k.value.upper() for k in _KINDS)
        raise cursor.expected(f"one of {known}", form)
    if kind in (Named.SCHEMA, Named.WAREHOUSE):
        name, cursor.places["name"] = cursor.identifier(f"the name of the {kind}")
        return Securable.of(kind, name)
    return Securable.of(kind, cursor.name(f"the name of the {kind}"))


def _to(cursor: Cursor, word: str, form: str) -> str:
    if not cursor.accept(word, "ROLE"):
        raise cursor.expected(f"{word} ROLE", form)
    role = role_name(cursor, "role")
    cursor.finish(form)
    return role


def _show_grants(cursor: Cursor) -> Statement:
    form = "Write SHOW GRANTS [ON kind n | TO ROLE r]."
    if cursor.accept("ON"):
        on = _object(cursor, form)
        cursor.finish(form)
        return ShowGrants(on=on)
    role = None
    if not cursor.done:
        role = _to(cursor, "OF" if cursor.at_words("OF") else "TO", form)
    return ShowGrants(role=role)


RIGHTS_PARSERS: tuple[tuple[tuple[str, ...], Callable[[Cursor], Statement | None]], ...] = (
    (("CREATE", "ROLE"), parse_create_role),
    (("DROP", "ROLE"), _drop_role),
    (("SHOW", "ROLES"), _show_roles),
    (("USE", "ROLE"), _use_role),
    (("GRANT",), _grant),
    (("REVOKE",), _revoke),
    (("SHOW", "GRANTS"), _show_grants),
)
