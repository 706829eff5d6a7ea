"""CREATE, DROP and SHOW of roles, USE ROLE, and what is granted to whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.execute.origin import StatementOrigin
from dt_jupyter.engine.information_schema import is_like
from dt_jupyter.model import DTError, Grant, Name, Named, Right, Securable, did_you_mean, error
from dt_jupyter.sql import statement_values as S

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from dt_jupyter.engine.context import Context

PROMISE = (
    "Rights guard against mistakes: code that runs in this process can read the lake's files "
    "without them. They are enforced only if the engine runs as a separate service, with "
    "shared=True."
)
SHARED_PROMISE = (
    "Rights are enforced for users who reach this engine only through the service, not for "
    "those who can read the lake's files."
)
_ROLES = "CREATED_ON timestamp, NAME string, IS_CURRENT boolean, OWNED_OBJECTS int, COMMENT string"
_GRANTS = (
    "CREATED_ON timestamp, PRIVILEGE string, GRANTED_ON string, NAME string, GRANTED_TO string, "
    "GRANTEE_NAME string, GRANTED_BY string"
)


def create_role(context: Context, statement: S.CreateRole, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    made = context.catalog.create_role(name, statement.comment, quiet=statement.if_not_exists)
    done = "created" if made else "already exists, nothing done"
    return context.tables.status(f"Role {name} {done}.")


def drop_role(context: Context, statement: S.DropRole, origin: StatementOrigin) -> DataFrame:
    name = statement.name
    if statement.if_exists and name not in context.access.book.roles:
        return context.tables.status(f"{name} does not exist, nothing done.")
    if name == context.state.role:
        hint = "USE ROLE another before."
        raise error("DT-5204", name=name, problem="it is the role of this session", hint=hint)
    context.catalog.drop_role(name)
    return context.tables.status(f"Role {name} dropped, with all that was granted to it.")


def show_roles(context: Context, statement: S.ShowRoles, origin: StatementOrigin) -> DataFrame:
    access, book = context.access, context.access.book
    owned = [g.role for g in book.grants if g.right is Right.OWNERSHIP]
    rows = [
        (r.created.datetime if r.created.micros else None, r.name, r.name == access.role,
         owned.count(r.name), r.comment)
        for r in context.catalog.roles()
        if is_like(r.name, statement.like)
        and (not access.bound or r.name in book.closure(access.role))
    ]  # fmt: skip
    return context.tables.frame(rows, _ROLES)


def use_role(context: Context, statement: S.UseRole, origin: StatementOrigin) -> DataFrame:
    context.access.use(statement.name)
    context.events.changed()
    return context.tables.status(f"The session's role is {statement.name}.")


def grant(context: Context, statement: S.GrantRights, origin: StatementOrigin) -> DataFrame:
    on = _object(context, statement.on, origin)
    context.catalog.grant(statement.role, statement.rights, on, context.state.role)
    told = f"{_words(statement.rights, on)} granted to role {statement.role}."
    context.scheduling.nudge()
    promise = PROMISE if context.access.shared is None else SHARED_PROMISE
    return context.tables.status(f"{told}\n{promise}")


def revoke(context: Context, statement: S.RevokeRights, origin: StatementOrigin) -> DataFrame:
    on = statement.on
    if context.catalog.revoke(statement.role, statement.rights, on):
        told = f"{_words(statement.rights, on)} revoked from role {statement.role}."
    else:
        told = f"Role {statement.role} has no such grant on {on}, nothing done."
    return context.tables.status(told)


def show_grants(context: Context, statement: S.ShowGrants, origin: StatementOrigin) -> DataFrame:
    rows = [_row(g) for g in context.access.book.grants if _is_shown(context, g, statement)]
    return context.tables.frame(sorted(rows, key=lambda r: [str(v) for v in r[1:]]), _GRANTS)


def _is_shown(context: Context, found: Grant, asked: S.ShowGrants) -> bool:
    access, book = context.access, context.access.book
    if asked.on is not None and found.on.key != asked.on.key:
        return False
    if asked.role is not None and found.role != asked.role:
        return False
    mine = not access.bound or found.role in book.closure(access.role)
    return mine or book.holds(access.role, Right.OWNERSHIP, found.on)


def _row(found: Grant) -> tuple[object, ...]:
    kind, name = found.on.kind.value.upper(), str(found.on)
    return (found.granted.datetime, found.right.value, kind, name, "ROLE", found.role, found.by)


def _words(rights: tuple[Right, ...], on: Securable) -> str:
    if on.kind is Named.ROLE:
        return f"Role {on}"
    return f"{', '.join(rights)} on {on.kind} {on}"


def _object(context: Context, on: Securable, origin: StatementOrigin) -> Securable:
    """DT-1101, DT-1108 and DT-1109 for what is not there, or is of another kind."""
    if on.kind is Named.ROLE:
        return on
    if on.kind is Named.WAREHOUSE:
        context.catalog.warehouse(on.name)
        return on
    if on.kind is Named.TASK:
        context.catalog.task(Name(on.schema, on.name))
        return on
    if on.kind is Named.FUNCTION:
        if not context.access.has_function(Name(on.schema, on.name)):
            raise error("DT-1117", name=on, hint="")
        return on
    if on.kind is Named.SCHEMA:
        if not context.spark.catalog.databaseExists(on.schema):
            problem = f"schema {on} does not exist"
            raise error("DT-1112", problem=problem, hint=f"Run CREATE SCHEMA {on}.")
        return on
    return _relation(context, on)


def _relation(context: Context, on: Securable) -> Securable:
    name = Name(on.schema, on.name)
    kind = context.access.kind_of(name)
    if kind is None:
        raise _missing(name, did_you_mean(str(name), context.sources.known()))
    if kind is not on.kind:
        hint = f"Write ON {kind.value.upper()} {on}."
        raise error("DT-1109", name=name, kind=kind.value, expected=on.kind.value, hint=hint)
    return on


def _missing(name: object, hint: str) -> DTError:
    return error("DT-1101", name=name, hint=hint)
