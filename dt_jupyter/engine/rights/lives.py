"""What a statement does to the grants of objects: what it makes has an owner, what it renames keeps
its grants, what it drops has none until it is brought back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import Name, Named, Securable
from dt_jupyter.sql import CATALOG, statement_values as S

Made = tuple[Named, Name | str]
RightsChange = Callable[[Access], Callable[[], None]]
"""What looks before a statement runs, and gives what follows once it has."""
_MAKES = {
    S.SparkKind.CREATE_TABLE: Named.TABLE,
    S.SparkKind.CREATE_VIEW: Named.VIEW,
}
_DROPS = (S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW)
_UNNAMED = (*_DROPS, S.SparkKind.ALTER_TABLE, S.SparkKind.ALTER_VIEW)


@contextmanager
def followed(access: Access, statement: S.Statement) -> Iterator[None]:
    """Grants follow what the statement does, once it has done it."""
    made, change = made_by(statement), changed_by(statement)
    if made is not None and not (access.bound or access.book.grants):
        made = None  # nothing was ever granted
    there = made is not None and _exists(access, *made)
    after = change(access) if change is not None and access.catalog.has_grants() else None
    yield
    if made is not None:
        if not there and _exists(access, *made):
            access.made(*made)
    elif after is not None:
        after()


def made_by(statement: S.Statement) -> Made | None:
    """What is there after the statement, and may be new."""
    match statement:
        case S.CreateDynamicTable(name=name) | S.CloneDynamicTable(name=name):
            return Named.DYNAMIC_TABLE, name
        case S.CreateStream(name=name) | S.CloneStream(name=name):
            return Named.STREAM, name
        case S.CreateSink(name=name):
            return Named.SINK, name
        case S.CreateTask(name=name):
            return Named.TASK, name
        case S.CreateWarehouse(name=warehouse):
            return Named.WAREHOUSE, warehouse
        case S.SparkStatement(kind=S.SparkKind.CREATE_SCHEMA, target_parts=parts) if parts:
            return Named.SCHEMA, parts[-1]
        case S.SparkStatement(kind=kind, target=Name() as target, temporary=False):
            return (_MAKES[kind], target) if kind in _MAKES else None
    return None


def _exists(access: Access, kind: Named, name: Name | str) -> bool:
    if kind is Named.TASK and isinstance(name, Name):
        return access.catalog.has_task(name)
    if isinstance(name, Name):
        return access.kind_of(name) is not None
    if kind is Named.WAREHOUSE:
        return name in {w.name for w in access.catalog.warehouses()}
    return access.spark.catalog.databaseExists(name)


def changed_by(statement: S.Statement) -> RightsChange | None:
    """What becomes of the grants of objects that were there."""
    match statement:
        case S.AlterDynamicTable(name=old, change=S.RenameTo(new_name=new)):
            return _renamed(Named.DYNAMIC_TABLE, old, new)
        case S.AlterDynamicTable(name=one, change=S.SwapWith(other=other)):
            return _swapped(one, other)
        case S.DropDynamicTable(name=name) | S.DropStream(name=name) | S.DropSink(name=name):
            return _dropped(name)
        case S.UndropDynamicTable(name=name) | S.UndropTable(name=name) | S.UndropStream(name=name):
            return _restored(name)
        case S.DropWarehouse(name=warehouse):
            return _removed(Securable.of(Named.WAREHOUSE, warehouse))
        case S.DropTask(name=name):
            return _removed(Securable.of(Named.TASK, name))
        case S.SparkStatement():
            return _changed_by_spark(statement)
    return None


def _changed_by_spark(statement: S.SparkStatement) -> RightsChange | None:
    if statement.kind is S.SparkKind.DROP_SCHEMA and statement.target_parts:
        return _schema_dropped(statement.target_parts)
    if "FUNCTION" in statement.text.upper().split()[:5]:
        return lambda access: access.forget_functions
    if statement.target is None:
        return _missing_dropped if statement.kind in _UNNAMED else None
    if statement.kind in _DROPS:
        return _dropped(statement.target)
    if statement.new_name is not None:
        return _renamed(Named.TABLE, statement.target, statement.new_name)
    return None


def _renamed(kind: Named, old: Name, new: Name) -> RightsChange:
    pair = Securable.of(kind, old), Securable.of(kind, new)
    return lambda access: lambda: access.catalog.rights_renamed(*pair)


def _swapped(one: Name, other: Name) -> RightsChange:
    pair = _relation(one), _relation(other)
    return lambda access: lambda: access.catalog.rights_swapped(*pair)


def _removed(on: Securable) -> RightsChange:
    return lambda access: lambda: access.catalog.rights_dropped(on)


def _restored(name: Name) -> RightsChange:
    def restore(access: Access) -> None:
        access.catalog.rights_restored(_relation(name), access.object_id(name))

    return lambda access: lambda: restore(access)


def _dropped(name: Name) -> RightsChange:
    def look(access: Access) -> Callable[[], None]:
        object_id = access.object_id(name)

        def forget() -> None:
            if access.kind_of(name) is None:
                access.catalog.rights_dropped(_relation(name), object_id)

        return forget

    return look


def _missing_dropped(access: Access) -> Callable[[], None]:
    """After a statement whose target has no name in its text: IDENTIFIER(…)."""
    known = access.object_ids()

    def forget() -> None:
        keys = {g.on.key for g in access.book.grants}
        for name in [Name(schema, name) for space, schema, name in keys if space == "relation"]:
            if access.kind_of(name) is None:
                access.catalog.rights_dropped(_relation(name), known.get(name, ""))

    return forget


def _schema_dropped(parts: tuple[str, ...]) -> RightsChange:
    *catalog, schema = (part.lower() for part in parts)

    def look(access: Access) -> Callable[[], None]:
        known = schema_object_ids(access, schema)

        def forget() -> None:
            if catalog in ([], [CATALOG]) and not access.spark.catalog.databaseExists(schema):
                drop_schema_rights(access, schema, known)

        return forget

    return look


def schema_object_ids(access: Access, schema: str) -> dict[str, str]:
    """The ids of what a schema holds, by name, and its own under the empty name."""
    held = {n.table: i for n, i in access.object_ids().items() if n.schema == schema}
    return held | {"": access.schema_id(schema)}


def drop_schema_rights(access: Access, schema: str, ids: Mapping[str, str]) -> None:
    """Drop all grants on a schema and on what it held. `ids`, as `schema_object_ids` had them, say
    which objects get them back when they are undropped."""
    for on in {g.on for g in access.book.grants if g.on.schema == schema}:
        access.catalog.rights_dropped(on, ids.get(on.name, ""))


def restore_schema_rights(access: Access, schema: str) -> None:
    """Put the grants back in force that the schema, and what it holds, had when it was dropped."""
    for name, object_id in access.object_ids().items():
        if name.schema == schema:
            access.catalog.rights_restored(_relation(name), object_id)
    whole = Securable.of(Named.SCHEMA, schema)
    access.catalog.rights_restored(whole, access.schema_id(schema))


def _relation(name: Name) -> Securable:
    return Securable.of(Named.TABLE, name)


__all__ = [
    "changed_by",
    "drop_schema_rights",
    "followed",
    "made_by",
    "restore_schema_rights",
    "schema_object_ids",
]
