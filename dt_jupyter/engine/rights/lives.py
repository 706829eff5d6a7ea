"""What a statement does to the grants of objects: what it makes has an owner, what it renames keeps
its grants, what it drops has none until it is brought back.

It is one with the statement: what follows is on record before the statement runs, and is done by
what is there when it is over, also by the next process where this one ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from dt_jupyter.engine.rights.access import Access
from dt_jupyter.engine.step_kinds import StepKind
from dt_jupyter.model import Name, Named, Securable, StatementStep, quote
from dt_jupyter.sql import CATALOG, statement_values as S
from dt_jupyter.streams import StatementLog

Made = tuple[Named, Name | str]
RightsFacts = Mapping[str, Any]
RightsChange = Callable[[Access], RightsFacts]
"""What there is before a statement; `follow_rights` does what follows by it."""
_MAKES = {
    S.SparkKind.CREATE_TABLE: Named.TABLE,
    S.SparkKind.CREATE_VIEW: Named.VIEW,
}
_DROPS = (S.SparkKind.DROP_TABLE, S.SparkKind.DROP_VIEW)
_UNNAMED = (*_DROPS, S.SparkKind.ALTER_TABLE, S.SparkKind.ALTER_VIEW)


@contextmanager
def followed(access: Access, log: StatementLog, statement: S.Statement) -> Iterator[None]:
    """Grants follow what the statement does, as a part of it."""
    facts = _find_facts(access, statement)
    if facts is None:
        yield
        return
    with log.begin(statement.text or _DIRECT, StatementStep(StepKind.RIGHTS_FOLLOW, facts)):
        yield


_DIRECT = "A call of Python"


def _find_facts(access: Access, statement: S.Statement) -> RightsFacts | None:
    """What there is before the statement; None where no grant can change by it."""
    made = made_by(statement)
    if made is not None:
        ever = access.bound or access.book.grants
        return (
            _making(access, made) if ever and not _is_there(access, Securable.of(*made)) else None
        )
    change = changed_by(statement)
    return change(access) if change is not None and access.catalog.has_grants() else None


def follow_rights(access: Access, facts: RightsFacts) -> None:
    """What follows a statement, by what is there now; it may be called again."""
    _FOLLOWS[facts["change"]](access, facts)


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
    """The change of the grants of objects that were there."""
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
        return lambda access: {"change": _FUNCTIONS}
    if statement.target is None:
        return _missing_dropped if statement.kind in _UNNAMED else None
    if statement.kind in _DROPS:
        return _dropped(statement.target)
    if statement.new_name is not None:
        return _renamed(Named.TABLE, statement.target, statement.new_name)
    return None


# -- what there is before --------------------------------------------------------------------------

_MADE, _RENAMED, _SWAPPED, _REMOVED = "made", "renamed", "swapped", "removed"
_DROPPED, _RESTORED, _FUNCTIONS = "dropped", "restored", "functions"
_SCHEMA, _SCHEMA_BACK = "schema dropped", "schema restored"


def _making(access: Access, made: Made) -> RightsFacts:
    on, role = _to_facts(Securable.of(*made)), access.role if access.bound else None
    return {"change": _MADE, "on": on, "role": role}


def _renamed(kind: Named, old: Name, new: Name) -> RightsChange:
    pair = Securable.of(kind, old), Securable.of(kind, new)
    return lambda access: {"change": _RENAMED, "objects": [_standing(access, on) for on in pair]}


def _swapped(one: Name, other: Name) -> RightsChange:
    pair = _relation(one), _relation(other)
    return lambda access: {"change": _SWAPPED, "objects": [_standing(access, on) for on in pair]}


def _standing(access: Access, on: Securable) -> RightsFacts:
    """An object, its id, and what is granted on it."""
    object_id = access.object_id(Name(on.schema, on.name))
    return {"on": _to_facts(on), "id": object_id, "granted": _granted(access, on)}


def _granted(access: Access, on: Securable) -> list[list[str]]:
    return sorted([g.role, g.right.value] for g in access.book.grants if g.on.key == on.key)


def _removed(on: Securable) -> RightsChange:
    return lambda access: {"change": _REMOVED, "on": _to_facts(on)}


def _restored(name: Name) -> RightsChange:
    return lambda access: {"change": _RESTORED, "on": _to_facts(_relation(name))}


def _dropped(name: Name) -> RightsChange:
    return lambda access: _dropping(access, [name])


def _missing_dropped(access: Access) -> RightsFacts:
    """Of a statement whose target has no name in its text: IDENTIFIER(…)."""
    keys = {g.on.key for g in access.book.grants}
    names = [Name(schema, name) for space, schema, name in keys if space == "relation"]
    return _dropping(access, [n for n in names if access.kind_of(n) is not None])


def _dropping(access: Access, names: Sequence[Name]) -> RightsFacts:
    known = access.object_ids()
    objects = [{"on": _to_facts(_relation(n)), "id": known.get(n, "")} for n in names]
    return {"change": _DROPPED, "objects": objects}


def _schema_dropped(parts: tuple[str, ...]) -> RightsChange | None:
    *catalog, schema = (part.lower() for part in parts)
    if catalog not in ([], [CATALOG]):
        return None
    return lambda access: {
        "change": _SCHEMA,
        "schema": schema,
        "ids": schema_object_ids(access, schema),
    }


def _to_facts(on: Securable) -> list[str]:
    return [on.kind.value, on.schema, on.name]


def _of_facts(facts: Sequence[str]) -> Securable:
    kind, schema, name = facts
    return Securable(Named(kind), schema, name)


# -- what follows ----------------------------------------------------------------------------------


def _own(access: Access, facts: RightsFacts) -> None:
    on = _of_facts(facts["on"])
    if _is_there(access, on):
        access.made(on, facts["role"])


def _follow_name(access: Access, facts: RightsFacts) -> None:
    old, new = facts["objects"]
    before, after = _of_facts(old["on"]), _of_facts(new["on"])
    done = bool(old["granted"]) and not _granted(access, before)
    if not done and _bears(access, after, old["id"]) and not _bears(access, before, old["id"]):
        access.catalog.rights_renamed(before, after)


def _bears(access: Access, on: Securable, object_id: str) -> bool:
    """Whether an object has that name; one without an id is any."""
    if object_id:
        return access.object_id(Name(on.schema, on.name)) == object_id
    return _is_there(access, on)


def _exchange(access: Access, facts: RightsFacts) -> None:
    one, other = facts["objects"]
    pair = _of_facts(one["on"]), _of_facts(other["on"])
    waits = all(_granted(access, _of_facts(o["on"])) == o["granted"] for o in (one, other))
    if waits and _bears(access, pair[0], other["id"]) and _bears(access, pair[1], one["id"]):
        access.catalog.rights_swapped(*pair)


def _forget(access: Access, facts: RightsFacts) -> None:
    on = _of_facts(facts["on"])
    if not _is_there(access, on):
        access.catalog.rights_dropped(on)


def _forget_dropped(access: Access, facts: RightsFacts) -> None:
    for gone in facts["objects"]:
        on = _of_facts(gone["on"])
        if not _is_there(access, on):
            access.catalog.rights_dropped(on, gone["id"])


def _restore(access: Access, facts: RightsFacts) -> None:
    on = _of_facts(facts["on"])
    access.catalog.rights_restored(on, access.object_id(Name(on.schema, on.name)))


def _forget_schema(access: Access, facts: RightsFacts) -> None:
    if not access.spark.catalog.databaseExists(quote(facts["schema"])):
        drop_schema_rights(access, facts["schema"], facts["ids"])


def _restore_schema(access: Access, facts: RightsFacts) -> None:
    if access.spark.catalog.databaseExists(quote(facts["schema"])):
        _restore_schema_rights(access, facts["schema"])


_FOLLOWS: Mapping[str, Callable[[Access, RightsFacts], None]] = {
    _MADE: _own,
    _RENAMED: _follow_name,
    _SWAPPED: _exchange,
    _REMOVED: _forget,
    _DROPPED: _forget_dropped,
    _RESTORED: _restore,
    _FUNCTIONS: lambda access, facts: access.forget_functions(),
    _SCHEMA: _forget_schema,
    _SCHEMA_BACK: _restore_schema,
}


def _is_there(access: Access, on: Securable) -> bool:
    if on.kind is Named.WAREHOUSE:
        return on.name in {w.name for w in access.catalog.warehouses()}
    if on.kind is Named.SCHEMA:
        return access.spark.catalog.databaseExists(quote(on.schema))
    name = Name(on.schema, on.name)
    if on.kind is Named.TASK:
        return access.catalog.has_task(name)
    return access.kind_of(name) is not None


# -- schemas ---------------------------------------------------------------------------------------


def schema_object_ids(access: Access, schema: str) -> dict[str, str]:
    """The ids of what a schema holds, by name, and its own under the empty name."""
    held = {n.table: i for n, i in access.object_ids().items() if n.schema == schema}
    return held | {"": access.schema_id(schema)}


def drop_schema_rights(access: Access, schema: str, ids: Mapping[str, str]) -> None:
    """Drop all grants on a schema and on what it held. `ids`, as `schema_object_ids` had them, say
    which objects get them back when they are undropped."""
    for on in {g.on for g in access.book.grants if g.on.schema == schema}:
        access.catalog.rights_dropped(on, ids.get(on.name, ""))


def restoring_rights(schema: str) -> StatementStep:
    """The step of a statement that brings a schema back: its grants, and those of what it holds,
    are in force again once it has."""
    return StatementStep(StepKind.RIGHTS_FOLLOW, {"change": _SCHEMA_BACK, "schema": schema})


def _restore_schema_rights(access: Access, schema: str) -> None:
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
    "follow_rights",
    "followed",
    "made_by",
    "restoring_rights",
    "schema_object_ids",
]
