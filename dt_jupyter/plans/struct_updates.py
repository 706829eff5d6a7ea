"""Structs with a field more, another or less, written out as Spark does it: NULL where it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dt_jupyter.model import quote
from dt_jupyter.plans.literal_sql import ddl_type
from dt_jupyter.plans.no_form import NoForm
from dt_jupyter.sql import literal

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType


@dataclass(frozen=True)
class FieldUpdate:
    """What `withField` and `dropFields` do: the field, as the names down to it, and the new value
    (None: it is dropped), whose type `kind` asks for."""

    names: tuple[str, ...]
    value: str | None
    kind: Callable[[], DataType]


@dataclass(frozen=True)
class _Field:
    name: str
    text: str
    kind: Callable[[], DataType]
    updates: tuple[FieldUpdate, ...] = field(default=())


def update_struct(text: str, kind: DataType, updates: Sequence[FieldUpdate], made: DataType) -> str:
    """The struct `text` of the type `kind` with the updates, one after the other, which give the
    type `made`."""
    from pyspark.sql.types import StructType

    if not (isinstance(kind, StructType) and isinstance(made, StructType)):
        raise NoForm("fields of a value that is not a struct")
    fields = _fields(text, kind)
    for update in updates:
        fields = _updated(fields, update)
    if [f.name for f in fields] != made.names:
        raise NoForm("fields of a struct whose names differ in case alone")
    items = ", ".join(
        f"{literal(f.name)}, {_text(f, kind)}"
        for f, kind in zip(fields, (m.dataType for m in made.fields), strict=True)
    )
    null = f"CAST(NULL AS {ddl_type(made.jsonValue())})"
    return f"IF(({text} IS NULL), {null}, named_struct({items}))"


def _fields(text: str, kind: StructType) -> list[_Field]:
    return [_Field(f.name, f"{text}.{quote(f.name)}", _always(f.dataType)) for f in kind.fields]


def _always(kind: DataType) -> Callable[[], DataType]:
    return lambda: kind


def _updated(fields: Sequence[_Field], update: FieldUpdate) -> list[_Field]:
    name, *below = update.names
    known = [f.name.lower() == name.lower() for f in fields]
    if below:
        inner = replace(update, names=tuple(below))
        return [
            replace(f, name=name, updates=(*f.updates, inner)) if same else f
            for f, same in zip(fields, known, strict=True)
        ]
    if update.value is None:
        return [f for f, same in zip(fields, known, strict=True) if not same]
    new = _Field(name, update.value, update.kind)
    if not any(known):
        return [*fields, new]
    return [new if same else f for f, same in zip(fields, known, strict=True)]


def _text(found: _Field, made: DataType) -> str:
    if not found.updates:
        return found.text
    return update_struct(found.text, found.kind(), found.updates, made)


__all__ = ["FieldUpdate", "update_struct"]
