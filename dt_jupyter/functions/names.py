"""Which names a function may have: one word that means no other function to any reader of SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dt_jupyter.model import error
from dt_jupyter.model.hidden import is_hidden
from dt_jupyter.sql import is_free_function

if TYPE_CHECKING:
    from dt_jupyter.catalog import Catalog

LONGEST = 128
_WORD = re.compile(r"[a-z_][a-z0-9_]*\Z")


def checked_function_name(name: str, builtins: frozenset[str]) -> str:
    """The name in lower case: Spark's names are case-insensitive. DT-1130 where it cannot be
    one."""
    found = name.lower() if name.isascii() else name
    if problem := _problem(found, builtins):
        shown = ascii(name)[1:-1][:LONGEST]
        raise error("DT-1130", name=shown, problem=problem)
    return found


def scalar_names(builtins: frozenset[str], catalog: Catalog) -> frozenset[str]:
    """The names of functions that give the same value for the same arguments: Spark's own, and
    those that the user declared IMMUTABLE."""
    return builtins | {f.name for f in catalog.functions() if f.immutable}


def on_change_names(catalog: Catalog) -> frozenset[str]:
    """The names of functions whose value is computed when a row comes, and kept with it."""
    return frozenset(f.name for f in catalog.functions() if f.on_change)


def is_registered(name: str, catalog: Catalog) -> bool:
    """Whether a user function has that name, in any case."""
    return name.lower() in {f.name for f in catalog.functions()}


def _problem(name: str, builtins: frozenset[str]) -> str | None:
    if not _WORD.match(name):
        return "it must be a word of letters a to z, digits and _ that does not begin with a digit"
    if len(name) > LONGEST:
        return f"it has {len(name)} characters, and {LONGEST} is the limit"
    if is_hidden(name):
        return "it is reserved"
    if name in builtins:
        return "Spark has a function of that name"
    if not is_free_function(name):
        return "SQL gives that word another meaning"
    return None
