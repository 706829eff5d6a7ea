"""Which names a function may have: one word that means no other function to any reader of SQL."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dt_jupyter.model import error
from dt_jupyter.model.hidden import is_hidden

if TYPE_CHECKING:
    from dt_jupyter.catalog import Catalog

LONGEST = 128
_WORD = re.compile(r"[a-z_][a-z0-9_]*\Z")
_KEYWORDS = frozenset({
    "all", "alter", "analyze", "anti", "as", "asc", "authorization", "begin", "both", "by",
    "cache", "call", "check", "column", "columns", "comment", "commit", "constraint", "create",
    "cross", "cube", "database", "declare", "default", "delete", "desc", "describe", "distinct",
    "drop", "else", "end", "escape", "except", "execute", "explain", "false", "fetch", "for",
    "foreign", "format", "from", "full", "function", "grant", "group", "having", "identifier",
    "inner", "insert", "intersect", "interval", "into", "is", "join", "lateral", "leading",
    "limit", "list", "load", "lock", "merge", "minus", "namespace", "natural", "null", "offset",
    "on", "only", "order", "out", "outer", "over", "overlaps", "overwrite", "partition", "percent",
    "pivot", "primary", "procedure", "qualify", "recursive", "references", "refresh", "rename",
    "revoke", "rollback", "rollup", "rows", "schema", "select", "semi", "serdeproperties", "set",
    "sets", "show", "sql", "table", "tablesample", "then", "timediff", "timestamp_ltz",
    "timestamp_ntz", "timestampadd", "timestampdiff", "to", "trailing", "true", "truncate",
    "try_cast", "uncache", "union", "unique", "unknown", "unpivot", "update", "use", "using",
    "values", "view", "week", "where", "while", "with", "within",
})  # fmt: skip
"""Spark's keywords, without names of its functions, that its parser does not read as a call where
words are reserved (`spark.sql.ansi.enforceReservedKeywords`), and those that begin a statement or
come before brackets in one: `VALUES (…)`, `OVER (…)`."""


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
    if name in _KEYWORDS:
        return "SQL gives that word another meaning"
    return None
