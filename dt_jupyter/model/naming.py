"""What may be a name: one check for all that makes or renames anything."""

from __future__ import annotations

import re
from enum import StrEnum

from dt_jupyter.model.errors import DTError, error
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.model.names import Name

LONGEST_NAME = 120
"""Characters: a dropped table's folder is called by its schema and its name, and a file's name has
at most 255 bytes."""
_WORD = re.compile(r"[A-Za-z0-9_]+\Z")
_NO_LABEL = frozenset("`\"'<>\\")
_SPARKS_OWN = frozenset((
    "avro", "binaryfile", "csv", "delta", "global_temp", "json", "orc", "parquet", "session",
    "spark_catalog", "system", "text",
))  # fmt: skip
"""Schemas by which Spark means files of a format, a catalog, or what is its own."""


class Named(StrEnum):
    """What has a name."""

    TABLE = "table"
    VIEW = "view"
    DYNAMIC_TABLE = "dynamic table"
    STREAM = "stream"
    SINK = "sink"
    TASK = "task"
    SCHEMA = "schema"
    WAREHOUSE = "warehouse"
    PIN = "pin"
    ROLE = "role"
    FUNCTION = "function"


_OTHER_NAME = "Choose another name."
_TAKEN = {
    Named.DYNAMIC_TABLE: "CREATE OR ALTER DYNAMIC TABLE changes it and says what that costs, "
    "CREATE OR REPLACE makes it again, IF NOT EXISTS leaves it.",
    Named.STREAM: "CREATE OR REPLACE STREAM begins it again, and what it has not given is lost; "
    "IF NOT EXISTS leaves its offset unchanged.",
    Named.SINK: "ALTER SINK changes it, IF NOT EXISTS leaves it; DROP SINK goes before another one "
    "of that name.",
    Named.TASK: "ALTER TASK changes it, CREATE OR REPLACE TASK makes it again, IF NOT EXISTS "
    "leaves it.",
    Named.WAREHOUSE: "ALTER WAREHOUSE changes it, IF NOT EXISTS leaves it.",
}


def name_taken(
    kind: Named | str, name: object, hint: str | None = None, *, same: bool = True
) -> DTError:
    """DT-1105 for a name of what is there, and a hint for a statement that creates one; `same` says
    whether it is of the kind that was to be made."""
    known = _TAKEN.get(Named(kind), _OTHER_NAME) if same else _OTHER_NAME
    return error("DT-1105", kind=kind.capitalize(), name=name, hint=hint or known)


_LABELS = frozenset((Named.WAREHOUSE, Named.PIN, Named.ROLE))
"""Known to the catalog alone: neither Spark nor a folder has their names."""


def require_name(kind: Named, name: Name | str) -> None:
    """DT-1119 for a name that Spark, its catalog or a folder refuses, of a Name both parts; DT-1114
    for a reserved one.

    Tables, views, dynamic tables, streams, sinks and schemas: letters a to z, digits and _.
    Warehouses, pins and roles: any printable text without quotes, < or >. At most LONGEST
    characters; case does not count.
    """
    parts = [name.schema, name.table] if isinstance(name, Name) else [name]
    hidden = [p for p in parts if isinstance(p, str) and is_hidden(p)]
    if hidden:
        raise error("DT-1114", name=ascii(hidden[0])[1:-1])
    problem = next((p for part in parts if (p := _problem(kind, part)) is not None), None)
    if problem is None and (isinstance(name, Name) or kind is Named.SCHEMA):
        problem = _reserved(parts[0])
    if problem is not None:
        raise _refused(kind, name, problem)


def is_word(text: str) -> bool:
    """Whether Spark takes it as the name of a table, view or schema."""
    return _WORD.match(text) is not None


def _problem(kind: Named, part: object) -> str | None:
    if not isinstance(part, str):
        return f"a name is a string, not a {type(part).__name__}"
    if not part:
        return "it is empty"
    if len(part) > LONGEST_NAME:
        return f"it has {len(part)} characters, and {LONGEST_NAME} is the limit"
    if kind in _LABELS:
        return _problem_of_label(part)
    if not is_word(part):
        return "it has characters other than letters a to z, digits and _"
    return None


def _problem_of_label(part: str) -> str | None:
    if not part.isprintable():  # control characters, lone surrogates, marks that turn a text round
        return "it has a character that cannot be printed"
    if part != part.strip():
        return "it begins or ends with a space"
    found = sorted(_NO_LABEL & set(part))
    return f"it has {' '.join(found)}" if found else None


def _reserved(schema: str) -> str | None:
    return f"{schema} is a reserved word of Spark" if schema.lower() in _SPARKS_OWN else None


def _refused(kind: Named, name: object, problem: str) -> DTError:
    text = ".".join((name.schema, name.table)) if isinstance(name, Name) else str(name)
    shown = ascii(text)[1:-1]
    if len(shown) > LONGEST_NAME:
        shown = f"{shown[:LONGEST_NAME]}…"
    hint = (
        "Use letters, digits, spaces and signs."
        if kind in _LABELS
        else f"Use letters, digits and _, at most {LONGEST_NAME} of them."
    )
    return error("DT-1119", name=shown, kind=kind, problem=problem, hint=hint)


__all__ = ["LONGEST_NAME", "Named", "is_word", "require_name"]
