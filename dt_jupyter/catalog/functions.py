"""User functions: each by its source text, in place of the one of its name before."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import RowMapping, select

from dt_jupyter.catalog import schema
from dt_jupyter.catalog.codec import dump, storable, to_definition
from dt_jupyter.catalog.roots import LakeRoot, root_of
from dt_jupyter.catalog.rows import delete_row, read_each
from dt_jupyter.catalog.store import Shelf, Store
from dt_jupyter.model import (
    Captured,
    CapturedKind,
    FunctionKind,
    Name,
    UserFunction,
    did_you_mean,
    error,
)

_function, _table = schema.user_function, schema.dynamic_table


def _to_function(row: RowMapping, _: LakeRoot) -> UserFunction:
    captured = tuple(Captured(n, CapturedKind(k), t) for n, k, t in json.loads(row["captured"]))
    return UserFunction(
        row["name"],
        FunctionKind(row["kind"]),
        row["returns"],
        row["immutable"],
        row["source"],
        row["place"],
        captured,
        tuple((n, v) for n, v in json.loads(row["packages"])),
        tuple((n, t) for n, t in json.loads(row["parameters"])),
        row["comment"],
        row["created"],
        row["on_change"],
    )


FUNCTIONS = Shelf(
    _function,
    "function",
    (_function.c.name,),
    _function.c.name,
    _to_function,
    "Register it again, or drop it by dt.drop_udf('{name}').",
)


class FunctionRows(Store):
    """Names are in lower case."""

    def put_function(self, made: UserFunction) -> bool:
        """Stores it, in place of one of its name; whether it has changed."""
        with self._write() as connection:
            query = select(_function).where(_function.c.name == made.name)
            known = read_each(connection, _function, query, self._made(FUNCTIONS))[0]
            if known and known[0] == made:
                return False
            connection.execute(_function.delete().where(_function.c.name == made.name))
            values = _values_of(made) | {"created": self.clock.now()}
            connection.execute(_function.insert().values(**values))
        self.quarantine.lift(FUNCTIONS.kind, made.name)
        return True

    def functions(self) -> tuple[UserFunction, ...]:
        """By name."""
        query = select(_function).order_by(_function.c.name)
        with self._read() as connection:
            return tuple(self._listed(connection, query, FUNCTIONS))

    def drop_function(self, name: str) -> None:
        """DT-1117 where there is none; DT-1115 while a dynamic table calls it."""
        with self._write() as connection:
            if broken := self._broken(connection, name, FUNCTIONS):
                for row in broken:
                    delete_row(connection, _function, row)
                self.quarantine.lift(FUNCTIONS.kind, name)
                return
            known = connection.execute(select(_function.c.name)).scalars().all()
            if name not in known:
                raise error("DT-1117", name=name, hint=did_you_mean(name, list(known)))
            _refuse_used(self._users(connection), name)
            connection.execute(_function.delete().where(_function.c.name == name))

    def require_unused_function(self, name: str) -> None:
        """DT-1115 while a dynamic table calls it."""
        _refuse_used(self.function_users(), name)

    def function_users(self) -> dict[str, list[str]]:
        """For each function that is called, the dynamic tables that call it, by name."""
        with self._read() as connection:
            return self._users(connection)

    @staticmethod
    def _users(connection: Any) -> dict[str, list[str]]:
        root, found = root_of(connection), dict[str, list[str]]()
        query = select(_table).where(_table.c.dropped.is_(None))

        def uses(row: RowMapping) -> tuple[str, list[str]]:
            name = str(Name(row["schema_name"], row["table_name"]))
            definition = to_definition(row["definition"], root)
            return name, [f.name for f in definition.functions]

        for table, names in read_each(connection, _table, query, uses)[0]:
            for name in names:
                found.setdefault(name, []).append(table)
        return {name: sorted(tables) for name, tables in found.items()}


def _refuse_used(users_of: Mapping[str, list[str]], name: str) -> None:
    if users := users_of.get(name):
        hint = f"Drop {'it' if len(users) == 1 else 'them'} first, or change the query."
        used = ", ".join(users)
        raise error("DT-1115", kind="Function", name=name, users=used, hint=hint)


def _values_of(made: UserFunction) -> dict[str, Any]:
    return {
        "name": made.name,
        "kind": made.kind.value,
        "returns": made.returns,
        "immutable": made.immutable,
        "on_change": made.on_change,
        "source": storable(made.source),
        "place": made.place,
        "captured": dump([[c.name, c.kind, c.text] for c in made.captured]),
        "packages": dump([list(p) for p in made.packages]),
        "parameters": dump([list(p) for p in made.parameters]),
        "comment": storable(made.comment),
    }
