"""Which names a statement gives, and whether they may be given: asked before it does anything."""

from __future__ import annotations

from collections.abc import Iterator

from dt_jupyter.model import DTError, Name, Named, require_name
from dt_jupyter.sql import CATALOG, statement_values as S

Given = tuple[Named, Name | str, str]
"""A kind, a name of it, and the key of its place in the statement."""
_MADE_BY_SPARK = {S.SparkKind.CREATE_TABLE: Named.TABLE, S.SparkKind.CREATE_VIEW: Named.VIEW}
_RENAMED_BY_SPARK = {S.SparkKind.ALTER_TABLE: Named.TABLE, S.SparkKind.ALTER_VIEW: Named.VIEW}


def given_names(statement: S.Statement) -> Iterator[Given]:
    """The names by which something is known after the statement, and was not before."""
    match statement:
        case S.ExplainDynamicTable(subject=S.CreateDynamicTable() as subject):
            yield from given_names(subject)
        case S.AlterDynamicTable(change=S.RenameTo(new_name=name)):
            yield Named.DYNAMIC_TABLE, name, "new_name"
        case S.AlterDynamicTable(name=name, change=S.SwapWith(other=other)):
            yield Named.DYNAMIC_TABLE, name, "name"
            yield Named.DYNAMIC_TABLE, other, "new_name"
        case S.CreateDynamicTable() | S.CloneDynamicTable() | S.UndropDynamicTable():
            yield Named.DYNAMIC_TABLE, statement.name, "name"
        case S.UndropTable(name=name):
            yield Named.TABLE, name, "name"
        case S.CloneSchema(name=schema) | S.UndropSchema(name=schema):
            yield Named.SCHEMA, schema, "name"
        case S.RenameSchema(new_name=schema):
            yield Named.SCHEMA, schema, "new_name"
        case S.CreateWarehouse(name=warehouse):
            yield Named.WAREHOUSE, warehouse, "name"
        case S.CreateStream(name=name) | S.CloneStream(name=name) | S.UndropStream(name=name):
            yield Named.STREAM, name, "name"
        case S.CreateSink(name=name):
            yield Named.SINK, name, "name"
        case S.CreateTask(name=name):
            yield Named.TASK, name, "name"
        case S.CreateRole(name=role):
            yield Named.ROLE, role, "name"
        case S.SparkStatement():
            yield from _given_by_spark(statement)


def _given_by_spark(statement: S.SparkStatement) -> Iterator[Given]:
    """Spark refuses a name only when the table's folder is made already, wherever that is."""
    kind = _MADE_BY_SPARK.get(statement.kind)
    if kind is not None and statement.target is not None and not statement.temporary:
        yield kind, statement.target, "name"
    renamed = _RENAMED_BY_SPARK.get(statement.kind)
    if renamed is not None and statement.new_name is not None:
        yield renamed, statement.new_name, "new_name"
    if statement.kind is S.SparkKind.CREATE_SCHEMA and statement.target_parts:
        *catalog, schema = statement.target_parts
        if [part.lower() for part in catalog] in ([], [CATALOG]):
            yield Named.SCHEMA, schema, "name"


def require_names(statement: S.Statement, script: str) -> None:
    """DT-1119 or DT-1114, at its place, for a name that nothing may be given."""
    for kind, name, key in given_names(statement):
        try:
            require_name(kind, name)
        except DTError as e:
            place = statement.places.get(key)
            raise e.at(script, place) if place is not None else e from None


__all__ = ["given_names", "require_names"]
