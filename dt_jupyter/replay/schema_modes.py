"""Old rows in the schema of now: for each column of now an expression over those of then.

Columns are followed as Delta knows them: by id where both schemas have ids, by the name in the
files where then had none, by name where the table was replaced.
Source: the table spec's time travel (projection by field id), and Delta's protocol, column mapping.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dt_jupyter.lake import DeltaType, Metadata, sql_string, stored_name, widens
from dt_jupyter.model import error, quote
from dt_jupyter.model.hidden import hidden, is_hidden

_Field = Mapping[str, Any]
_ID = "delta.columnMapping.id"
_COLLATIONS = "__COLLATIONS"
_SQL = {"long": "BIGINT", "integer": "INT", "short": "SMALLINT", "byte": "TINYINT"}


@dataclass(frozen=True, slots=True)
class Projected:
    """A column of now: its name and Spark type, and the SQL of its value over then's columns."""

    name: str
    type: str
    sql: str


class _NoForm(Exception):
    """A type then and another now, between which values do not travel."""


def as_it_was(then: Metadata) -> tuple[Projected, ...]:
    """The public columns of a snapshot, in its own schema."""
    return tuple(Projected(f["name"], type_sql(f["type"]), quote(f["name"])) for f in _public(then))


def as_now(then: Metadata, now: Metadata, table: object = "the table") -> tuple[Projected, ...]:
    """The public columns of `now`, each as an expression over the columns of `then`.

    A column that came later is NULL, one that went is left out, a renamed one is followed, a
    widened one is cast. DT-4105 where a column's type has changed, but not by widening.
    """
    return values_now(then, now, [f["name"] for f in _public(now)], table)


def values_now(
    then: Metadata, now: Metadata, columns: Sequence[str], table: object = "the table"
) -> tuple[Projected, ...]:
    """As `as_now`, of chosen columns of `now`, hidden ones among them."""
    known = _matching(then.fields, then.id == now.id)
    named = {f["name"]: f for f in now.fields}
    found = []
    for field in (named[c] for c in columns):
        old = known(field)
        type_ = type_sql(field["type"])
        if old is None:
            found.append(Projected(field["name"], type_, f"CAST(NULL AS {type_})"))
            continue
        try:
            value = _column(quote(old["name"]), old, field, then.id == now.id, 0)
        except _NoForm as e:
            raise error(
                "DT-4105", column=field["name"], name=table, then=type_sql(old["type"]), now=type_
            ) from e
        found.append(Projected(field["name"], type_, value))
    return tuple(found)


def same_columns(then: Metadata, now: Metadata) -> dict[str, str]:
    """The public columns of then that are still there, by the names that they have now: followed
    as their values are, so one that was dropped is not another of its name."""
    known = _matching(_public(then), then.id == now.id)
    pairs = ((known(field), field["name"]) for field in _public(now))
    return {old["name"]: new for old, new in pairs if old is not None}


def select_list(columns: Sequence[Projected]) -> str:
    """The columns as items of a SELECT."""
    items = (c.sql if c.sql == quote(c.name) else f"{c.sql} AS {quote(c.name)}" for c in columns)
    return ", ".join(items)


def type_sql(type_: DeltaType) -> str:
    """A type of a Delta schema's JSON as Spark SQL writes it."""
    if not isinstance(type_, Mapping):
        return _SQL.get(type_, str(type_).upper())
    match type_["type"]:
        case "struct":
            fields = (f"{quote(f['name'])}: {type_sql(f['type'])}" for f in type_["fields"])
            return f"STRUCT<{', '.join(fields)}>"
        case "array":
            return f"ARRAY<{type_sql(type_['elementType'])}>"
        case "map":
            return f"MAP<{type_sql(type_['keyType'])}, {type_sql(type_['valueType'])}>"
    raise ValueError(f"not a type of Delta's: {type_}")


def _public(metadata: Metadata) -> list[_Field]:
    return [f for f in metadata.fields if not is_hidden(f["name"])]


def _matching(fields: Sequence[_Field], same_table: bool) -> Callable[[_Field], _Field | None]:
    """What finds the column of then that a column of now is."""
    ids = {f["metadata"][_ID]: f for f in fields if _ID in f["metadata"]}
    names = {f["name"].lower(): f for f in fields}

    def find(now: _Field) -> _Field | None:
        if not same_table or (ids and _ID not in now["metadata"]):
            return names.get(now["name"].lower())
        if ids:
            return ids.get(now["metadata"][_ID])
        return names.get(stored_name(now).lower())

    return find


def _column(sql: str, old: _Field, new: _Field, same_table: bool, depth: int) -> str:
    if old["metadata"].get(_COLLATIONS) != new["metadata"].get(_COLLATIONS):
        raise _NoForm
    return _value(sql, old["type"], new["type"], same_table, depth)


def _value(sql: str, old: DeltaType, new: DeltaType, same_table: bool, depth: int) -> str:
    """The value of `sql`, of type `old`, in type `new`."""
    if _alike(old, new, same_table):
        return sql
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        if isinstance(old, Mapping) or isinstance(new, Mapping) or not widens(old, new):
            raise _NoForm
        return f"CAST({sql} AS {type_sql(new)})"
    if old["type"] != new["type"]:
        raise _NoForm
    return _NESTED[old["type"]](sql, old, new, same_table, depth)


def _struct(sql: str, old: _Field, new: _Field, same_table: bool, depth: int) -> str:
    known = _matching(old["fields"], same_table)
    items = []
    for field in new["fields"]:
        inner = known(field)
        value = f"CAST(NULL AS {type_sql(field['type'])})"
        if inner is not None:
            value = _column(f"{sql}.{quote(inner['name'])}", inner, field, same_table, depth)
        items.append(f"{sql_string(field['name'])}, {value}")
    return f"CASE WHEN {sql} IS NOT NULL THEN NAMED_STRUCT({', '.join(items)}) END"


def _array(sql: str, old: _Field, new: _Field, same_table: bool, depth: int) -> str:
    x = hidden(f"x{depth}")
    inner = _value(x, old["elementType"], new["elementType"], same_table, depth + 1)
    return f"TRANSFORM({sql}, {x} -> {inner})"


def _map(sql: str, old: _Field, new: _Field, same_table: bool, depth: int) -> str:
    k, v = hidden(f"k{depth}"), hidden(f"v{depth}")
    key = _value(k, old["keyType"], new["keyType"], same_table, depth + 1)
    value = _value(v, old["valueType"], new["valueType"], same_table, depth + 1)
    made = sql if value == v else f"TRANSFORM_VALUES({sql}, ({k}, {v}) -> {value})"
    return made if key == k else f"TRANSFORM_KEYS({made}, ({k}, {v}) -> {key})"


_NESTED = {"struct": _struct, "array": _array, "map": _map}


def _alike(old: DeltaType, new: DeltaType, same_table: bool) -> bool:
    """Whether values of the one are values of the other without a cast."""
    if not (isinstance(old, Mapping) and isinstance(new, Mapping)):
        return bool(old == new)
    if old["type"] != new["type"]:
        return False
    if old["type"] != "struct":
        parts = ("elementType", "keyType", "valueType")
        return all(_alike(old[p], new[p], same_table) for p in parts if p in old)
    before, after = old["fields"], new["fields"]
    known = _matching(before, same_table)
    return len(before) == len(after) and all(
        known(b) == a and a["name"] == b["name"] and _alike(a["type"], b["type"], same_table)
        for a, b in zip(before, after, strict=True)
    )
