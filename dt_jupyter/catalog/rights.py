"""Roles, and what is granted to them; the grants of an object go with it, and come back with it."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.rights_mark import mark_rights, rights_mark
from dt_jupyter.catalog.roots import LakeRoot
from dt_jupyter.catalog.rows import delete_row
from dt_jupyter.catalog.schema import stored_moment
from dt_jupyter.catalog.store import Shelf, Store
from dt_jupyter.model import (
    BUILT_IN,
    Grant,
    Named,
    Right,
    RightsBook,
    Role,
    Securable,
    did_you_mean,
    error,
    name_taken,
    require_acyclic,
    require_name,
)

_role, _granted = schema.role, schema.granted
_IN_FORCE = _granted.c.dropped == ""


def _to_role(row: RowMapping, _: LakeRoot) -> Role:
    return Role(row["name"], row["created"], row["comment"])


def _to_grant(row: RowMapping, _: LakeRoot) -> Grant:
    on = Securable(Named(row["kind"]), row["schema_name"], row["object_name"])
    if on.key[0] != row["space"]:
        raise ValueError(f"{row['kind']} is not in {row['space']}")
    return Grant(row["role"], Right(row["right_name"]), on, row["granted_on"], row["granted_by"])


ROLES = Shelf(
    _role, "role", (_role.c.name,), _role.c.name, _to_role, "DROP ROLE {name} removes it."
)
GRANTS = Shelf(
    _granted,
    "grant",
    (_granted.c.schema_name, _granted.c.object_name),
    _granted.c.role,
    _to_grant,
    "It grants nothing. GRANT it again.",
)


class RightRows(Store):
    """Names of roles are compared without regard to case."""

    _book: tuple[str, RightsBook] | None = None

    def rights(self) -> RightsBook:
        """All roles and grants in force; read again only where some process changed them."""
        return self._answer("rights", self._read_rights)

    def _read_rights(self) -> RightsBook:
        with self._read() as connection:
            mark = rights_mark(connection)
            if self._book is None or self._book[0] != mark:
                self._book = (mark, self._read_book(connection))
            return self._book[1]

    def _read_book(self, connection: Connection) -> RightsBook:
        roles = self._listed(connection, select(_role), ROLES)
        grants = self._listed(connection, select(_granted).where(_IN_FORCE), GRANTS)
        return RightsBook(BUILT_IN | {r.name for r in roles}, tuple(grants))

    # -- roles ------------------------------------------------------------------------------------

    def roles(self) -> tuple[Role, ...]:
        """By name, those that are always there among them."""
        with self._read() as connection:
            made = self._listed(connection, select(_role), ROLES)
        known = {r.name: r for r in (*map(Role, BUILT_IN), *made)}
        return tuple(known[name] for name in sorted(known))

    def create_role(self, name: str, comment: str | None = None, *, quiet: bool = False) -> bool:
        """Whether it was made: with `quiet` one that is there stays as it is. DT-1105, DT-1119."""
        name = name.lower()
        require_name(Named.ROLE, name)
        with self._write() as connection:
            if name in self._read_book(connection).roles:
                if quiet:
                    return False
                raise name_taken(Named.ROLE, name)
            row = {"name": name, "created": self.clock.now(), "comment": comment}
            connection.execute(_role.insert().values(**row))
            mark_rights(connection)
        return True

    def drop_role(self, name: str) -> None:
        """All that was granted to it, and it to others, with it. DT-5203, DT-5204; DT-1115 where
        it owns something."""
        name = name.lower()
        with self._write() as connection:
            broken = self._broken(connection, name, ROLES)
            book = self._read_book(connection)
            if not broken:
                require_role(book, name)
            if name in BUILT_IN:
                hint = "Roles that you made can be dropped."
                raise error("DT-5204", name=name, problem="it is always there", hint=hint)
            _refuse_owner(book, name)
            for row in broken:
                delete_row(connection, _role, row)
            its = (_granted.c.space == Named.ROLE.value) & (_granted.c.object_name == name)
            connection.execute(_granted.delete().where((_granted.c.role == name) | its))
            connection.execute(_role.delete().where(_role.c.name == name))
            mark_rights(connection)
        self.quarantine.lift(ROLES.kind, name)

    # -- grants -----------------------------------------------------------------------------------

    def grant(self, role: str, rights: Iterable[Right], on: Securable, by: str) -> None:
        """DT-5203 for no role, DT-5205 for a role that would have itself. OWNERSHIP has one role:
        it passes from the owner before."""
        with self._write() as connection:
            book = self._read_book(connection)
            require_role(book, role)
            if on.kind is Named.ROLE:
                require_role(book, on.name)
                require_acyclic(book, on.name, role)
            for right in rights:
                _put(connection, Grant(role, right, on, self.clock.now(), by))
            mark_rights(connection)

    def revoke(self, role: str, rights: Iterable[Right], on: Securable) -> bool:
        """Whether there was anything to take. DT-5203."""
        with self._write() as connection:
            require_role(self._read_book(connection), role)
            names = [right.value for right in rights]
            which = (_granted.c.role == role) & _granted.c.right_name.in_(names) & _is(on)
            found = connection.execute(_granted.delete().where(which, _IN_FORCE)).rowcount
            mark_rights(connection)
        return found > 0

    # -- objects that are dropped, renamed or created ----------------------------------------------

    def rights_renamed(self, old: Securable, new: Securable) -> None:
        """What was granted on an object is granted on it under its new name."""
        with self._write() as connection:
            connection.execute(_granted.delete().where(_is(new), _IN_FORCE))
            _rename(connection, old, new)
            mark_rights(connection)

    def rights_swapped(self, one: Securable, other: Securable) -> None:
        aside = Securable(one.kind, one.schema, f"{one.name} aside")
        with self._write() as connection:
            for old, new in ((one, aside), (other, one), (aside, other)):
                _rename(connection, old, new)
            mark_rights(connection)

    def rights_dropped(self, on: Securable, object_id: str = "") -> None:
        """Nothing is granted on a name any more. `rights_restored` brings it back for the object
        of that id; without an id nothing does."""
        gone = f"{stored_moment(self.clock.now())} {object_id}"
        with self._write() as connection:
            if _rewrite(connection, _is(on) & _IN_FORCE, dropped=gone):
                mark_rights(connection)

    def last_owner(self, on: Securable, object_id: str) -> str | None:
        """The role that owned the object of that id when it was dropped; None: no role did."""
        with self._read() as connection:
            gone = _last_drop(connection, on, object_id)
            owned = _granted.c.right_name == Right.OWNERSHIP.value
            query = select(_granted.c.role).where(_is(on), owned, _granted.c.dropped == gone)
            found: str | None = connection.scalar(query) if gone else None
        return found

    def has_grants(self) -> bool:
        """Whether anything was ever granted."""
        with self._read() as connection:
            return connection.scalar(select(_granted.c.role).limit(1)) is not None

    def rights_restored(self, on: Securable, object_id: str) -> None:
        """What was granted on the object of that id when it was dropped is in force again."""
        with self._write() as connection:
            if gone := _last_drop(connection, on, object_id):
                _rewrite(connection, _is(on) & (_granted.c.dropped == gone), dropped="")
                mark_rights(connection)


def require_role(book: RightsBook, name: str) -> None:
    """DT-5203, with the nearest names."""
    if name not in book.roles:
        hint = did_you_mean(name, sorted(book.roles), f"Run CREATE ROLE {name}.")
        raise error("DT-5203", name=name, hint=hint)


def _refuse_owner(book: RightsBook, name: str) -> None:
    owned = sorted(str(g.on) for g in book.grants if g.role == name and g.right is Right.OWNERSHIP)
    if owned:
        hint = "Give them another owner: GRANT OWNERSHIP ON … TO ROLE …."
        raise error("DT-1115", kind="Role", name=name, users=", ".join(owned[:5]), hint=hint)


def _put(connection: Connection, made: Grant) -> None:
    space, schema_name, object_name = made.on.key
    same = _is(made.on) & (_granted.c.right_name == made.right.value)
    if made.right is not Right.OWNERSHIP:
        same &= _granted.c.role == made.role
    connection.execute(_granted.delete().where(same, _IN_FORCE))
    connection.execute(
        _granted.insert().values(
            role=made.role,
            right_name=made.right.value,
            kind=made.on.kind.value,
            space=space,
            schema_name=schema_name,
            object_name=object_name,
            dropped="",
            granted_on=made.granted,
            granted_by=made.by,
        )
    )


def _is(on: Securable) -> ColumnElement[bool]:
    space, schema_name, object_name = on.key
    return (
        (_granted.c.space == space)
        & (_granted.c.schema_name == schema_name)
        & (_granted.c.object_name == object_name)
    )


def _last_drop(connection: Connection, on: Securable, object_id: str) -> str:
    """The mark of the grants that went with the object; "" where there are none."""
    query = select(func.max(_granted.c.dropped)).where(_is(on))
    mine = _granted.c.dropped.endswith(f" {object_id}", autoescape=True)
    return str(connection.scalar(query.where(mine)) or "") if object_id else ""


def _rename(connection: Connection, old: Securable, new: Securable) -> None:
    _rewrite(connection, _is(old) & _IN_FORCE, schema_name=new.schema, object_name=new.name)


def _rewrite(connection: Connection, which: ColumnElement[bool], **values: str) -> int:
    """Grants with another key, how many: as rows that went and rows that came, which is how a
    change of a key is registered, and a lost catalog recreated."""
    rows = connection.execute(select(_granted).where(which)).mappings().all()
    connection.execute(_granted.delete().where(which))
    for row in rows:
        connection.execute(_granted.insert().values(**{**row, **values}))
    return len(rows)


__all__ = ["RightRows", "require_role"]
