"""Roles and what they may do: one pure function, `require`, over the grants of a lake.

An object has one owner, a role; without one it is of `admin`, the role of a session that opens a
lake and names none, which may do all. Who has a role has those that were granted to it, and
`public`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from dt_jupyter.model.errors import error
from dt_jupyter.model.names import Name, plain
from dt_jupyter.model.naming import Named
from dt_jupyter.model.time import FIRST, Timestamp

ADMIN = "admin"
"""Snowflake's is ACCOUNTADMIN; a lake has no account."""
PUBLIC = "public"
"""Every role has what is granted to it."""
BUILT_IN = frozenset((ADMIN, PUBLIC))


class Right(StrEnum):
    """Snowflake's words. MONITOR sees state and history without rows, OPERATE refreshes, suspends
    and resumes, and sees them too; OWNERSHIP may do all."""

    SELECT = "SELECT"
    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    MONITOR = "MONITOR"
    OPERATE = "OPERATE"
    USAGE = "USAGE"
    OWNERSHIP = "OWNERSHIP"
    CREATE_TABLE = "CREATE TABLE"
    CREATE_VIEW = "CREATE VIEW"
    CREATE_DYNAMIC_TABLE = "CREATE DYNAMIC TABLE"
    CREATE_STREAM = "CREATE STREAM"
    CREATE_SINK = "CREATE SINK"
    CREATE_TASK = "CREATE TASK"
    CREATE_FUNCTION = "CREATE FUNCTION"


_READ = frozenset((Right.SELECT, Right.OWNERSHIP))
_WRITE = frozenset((Right.INSERT, Right.UPDATE, Right.DELETE))
_RUN = frozenset((Right.MONITOR, Right.OPERATE, Right.OWNERSHIP))
CREATE_RIGHTS: Mapping[Named, Right] = {
    Named.TABLE: Right.CREATE_TABLE,
    Named.VIEW: Right.CREATE_VIEW,
    Named.DYNAMIC_TABLE: Right.CREATE_DYNAMIC_TABLE,
    Named.STREAM: Right.CREATE_STREAM,
    Named.SINK: Right.CREATE_SINK,
    Named.TASK: Right.CREATE_TASK,
    Named.FUNCTION: Right.CREATE_FUNCTION,
}
"""What it takes on a schema to make something of that kind in it."""
_CREATE = frozenset(CREATE_RIGHTS.values())
RIGHTS_ON: Mapping[Named, frozenset[Right]] = {
    Named.TABLE: _READ | _WRITE,
    Named.VIEW: _READ,
    Named.DYNAMIC_TABLE: _READ | _RUN,
    Named.STREAM: _READ,
    Named.SINK: _RUN,
    Named.TASK: _RUN,
    Named.FUNCTION: frozenset((Right.OWNERSHIP,)),
    Named.WAREHOUSE: _RUN | {Right.USAGE},
    Named.SCHEMA: _READ | _WRITE | _RUN | _CREATE,
    Named.ROLE: frozenset((Right.USAGE,)),
}
"""What can be granted on each kind; on a schema it is granted on all in it, today and later, except
for the rights to make something there."""
_RELATIONS = frozenset((Named.TABLE, Named.VIEW, Named.DYNAMIC_TABLE, Named.STREAM, Named.SINK))
_IMPLIED_BY: Mapping[Right, tuple[Right, ...]] = {
    right: (right, Right.OWNERSHIP) for right in Right
} | {Right.MONITOR: (Right.MONITOR, Right.OPERATE, Right.OWNERSHIP)}
_Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Securable:
    """What rights are on; `schema` is "" for a warehouse and a role, and `name` is "" for a
    schema."""

    kind: Named
    schema: str
    name: str

    @classmethod
    def of(cls, kind: Named, name: Name | str) -> Securable:
        if isinstance(name, Name):
            return cls(kind, name.schema, name.table)
        if kind is Named.SCHEMA:
            return cls(kind, name.lower(), "")
        return cls(kind, "", name.lower())

    @property
    def key(self) -> _Key:
        """Tables, views, dynamic tables, streams and sinks share their names; tasks and functions
        have their own."""
        return ("relation" if self.kind in _RELATIONS else self.kind.value, self.schema, self.name)

    def __str__(self) -> str:
        if self.kind in _RELATIONS or self.kind in (Named.TASK, Named.FUNCTION):
            return str(Name(self.schema, self.name))
        return plain(self.name or self.schema)


@dataclass(frozen=True, slots=True)
class Grant:
    """A right of a role; `by` is the role that granted it. On a role it is the role itself."""

    role: str
    right: Right
    on: Securable
    granted: Timestamp = FIRST
    by: str = ADMIN


@dataclass(frozen=True, slots=True)
class Role:
    name: str
    created: Timestamp = FIRST
    comment: str | None = None


@dataclass(frozen=True)
class RightsBook:
    """All roles and grants of a lake at a moment."""

    roles: frozenset[str] = BUILT_IN
    grants: tuple[Grant, ...] = ()
    _closures: dict[str, frozenset[str]] = field(default_factory=dict, compare=False, repr=False)

    def closure(self, role: str) -> frozenset[str]:
        """The roles that come with `role`: those granted to it, directly or through others."""
        if role not in self._closures:
            self._closures[role] = frozenset(self._reached(role)) | {PUBLIC}
        return self._closures[role]

    def _reached(self, role: str) -> Iterator[str]:
        seen, waiting = {role}, [role]
        while waiting:
            found = waiting.pop()
            if found in self.roles:
                yield found
            new = self._granted_roles.get(found, set()) - seen
            seen |= new
            waiting += new

    def owner(self, on: Securable) -> str:
        """The role that owns it."""
        return next(iter(self._holders.get(on.key, {}).get(Right.OWNERSHIP, ())), ADMIN)

    def owner_of(self, kind: Named, name: Name | str) -> str:
        return self.owner(Securable.of(kind, name))

    def holds(self, role: str, right: Right, on: Securable) -> bool:
        """Whether the role has the right: on it, or on the schema that it is in."""
        roles = self.closure(role)
        if ADMIN in roles:
            return True
        for key in (on.key, _schema_of(on)):
            found = self._holders.get(key, {})
            if any(not roles.isdisjoint(found.get(r, ())) for r in _IMPLIED_BY[right]):
                return True
        return False

    def sees(self, role: str, on: Securable) -> bool:
        """Whether the role has any right on it; the right to create something in its schema is not
        one."""
        roles = self.closure(role)
        return ADMIN in roles or any(
            not roles.isdisjoint(found)
            for key in (on.key, _schema_of(on))
            for right, found in self._holders.get(key, {}).items()
            if key == on.key or right not in _CREATE
        )

    @cached_property
    def _holders(self) -> dict[_Key, dict[Right, set[str]]]:
        found: dict[_Key, dict[Right, set[str]]] = {}
        for grant in self.grants:
            if grant.on.kind is not Named.ROLE and grant.role in self.roles:
                found.setdefault(grant.on.key, {}).setdefault(grant.right, set()).add(grant.role)
        return found

    @cached_property
    def _granted_roles(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for grant in self.grants:
            if grant.on.kind is Named.ROLE:
                found.setdefault(grant.role, set()).add(grant.on.name)
        return found


def _schema_of(on: Securable) -> _Key:
    return (Named.SCHEMA.value, on.schema, "")


def require(book: RightsBook, role: str, right: Right, on: Securable) -> None:
    """DT-5201 where the role has not the right."""
    if not book.holds(role, right, on):
        facts = denied(role, right, on)
        raise error("DT-5201", **facts, owner=book.owner(on))


def denied(role: str, right: Right, on: Securable) -> dict[str, object]:
    """The facts of a right that is missing."""
    word = on.kind.value.upper()
    return {"role": role, "right": right.value, "kind": on.kind.value, "name": on, "word": word}


def require_right_on(kind: Named, right: Right) -> None:
    """DT-5206 for a right that there is not on that kind."""
    if right not in RIGHTS_ON[kind]:
        known = ", ".join(sorted(RIGHTS_ON[kind]))
        raise error("DT-5206", right=right.value, kind=kind.value, hint=f"There is {known}.")


def require_acyclic(book: RightsBook, role: str, to: str) -> None:
    """DT-5205 where `to` would have itself."""
    if to in book.closure(role):
        problem = "it is the same role" if role == to else f"role {role} has role {to}"
        raise error("DT-5205", role=role, to=to, problem=problem)


def visible(names: Iterable[Name], book: RightsBook, role: str) -> list[Name]:
    """Those on which the role has any right."""
    return [n for n in names if book.sees(role, Securable.of(Named.TABLE, n))]


__all__ = [
    "ADMIN",
    "BUILT_IN",
    "CREATE_RIGHTS",
    "PUBLIC",
    "RIGHTS_ON",
    "Grant",
    "Right",
    "RightsBook",
    "Role",
    "Securable",
    "denied",
    "require",
    "require_acyclic",
    "require_right_on",
    "visible",
]
