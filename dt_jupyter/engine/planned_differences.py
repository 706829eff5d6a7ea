"""How what the lake has differs from what a script says, in the words of a plan."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping

from dt_jupyter.model import Definition, DynamicTable, Name, SourceKind
from dt_jupyter.sources import name_of
from dt_jupyter.sql import TokenKind, relations_in, statement_values as S, tokens

_EXPLICIT = re.compile(
    r"SELECT (?:\*|`[^`]*` AS `[^`]*`(?:, `[^`]*` AS `[^`]*`)*) FROM \(\s", re.IGNORECASE
)
_OPTIONS: Mapping[str, tuple[str, str]] = {
    "TARGET_LAG": ("target_lag", "target_lag"),
    "WAREHOUSE": ("warehouse", "warehouse"),
    "SCHEDULER": ("scheduler", "scheduler_enabled"),
    "CLUSTER BY": ("cluster_by", "cluster_by"),
    "DATA_RETENTION_TIME_IN_DAYS": ("retention_days", "retention_days"),
    "ALTER_SOURCES": ("alter_sources", "alter_sources"),
    "COMMENT": ("comment", "comment"),
}
"""The field of each option in a statement, and in the catalog."""


def names_upstream_first(tables: Iterable[DynamicTable]) -> Iterator[Name]:
    waiting = {t.name: {s.name for s in t.definition.sources
                        if s.kind is SourceKind.DYNAMIC_TABLE} for t in tables}  # fmt: skip
    while waiting:
        ready = next((n for n, up in waiting.items() if not up & waiting.keys()), None)
        name = ready or next(iter(waiting))
        del waiting[name]
        yield name


def definition_differs(
    existing: DynamicTable, statement: S.CreateDynamicTable, schema: str
) -> Iterator[str]:
    """In the words of a plan; bare names of the statement's query are those of `schema`."""
    old = existing.definition
    if _words(old, old.query, old.current_schema) != _words(old, statement.query, schema):
        yield "query"
    if old.listed != statement.columns:
        yield "columns"
    known = old.frozen.where if old.frozen else None
    if known != statement.frozen:
        yield f"FROZEN WHERE {_shown(known)} → {_shown(statement.frozen)}"
    if existing.mode is not statement.refresh_mode:
        yield f"REFRESH_MODE {existing.mode} → {statement.refresh_mode}"


def _words(definition: Definition, query: str, schema: str) -> list[str]:
    """A query without its layout and comments, the tables that it reads by their full names, and
    its words in lower case where case does not count."""
    cased = definition.settings.get("spark.sql.caseSensitive") == "true"
    places = {span.start: (span.end, name_of(parts, schema)) for parts, span in relations_in(query)}
    found, end = [], 0
    for token in tokens(query):
        if token.start in places:
            end, name = places[token.start]
            found.append(query[token.start : end] if "/" in name.table else name.sql)
        elif token.start >= end and token.kind is not TokenKind.END:
            exact = cased or token.kind is TokenKind.STRING
            found.append(token.text if exact else token.text.casefold())
    return found


def text_differs(old: str, new: str) -> tuple[str, ...]:
    """The lines of two texts that differ, each after `- ` or `+ `, with two around them."""
    before, now = ([li.rstrip() for li in text.strip().splitlines()] for text in (old, new))
    found = list(difflib.unified_diff(before, now, n=2, lineterm=""))[2:]
    parts = ("…" if line.startswith("@@") else f"{line[0]} {line[1:]}" for line in found)
    return tuple(parts)[1:]


def columns_differ(old: Definition, new: Definition) -> tuple[str, ...]:
    """The columns that come, go and change, and whether they are in another order."""
    before, now = ({c[0].casefold(): c for c in d.columns} for d in (old, new))
    told = [f"+ {name} {kind}" for key, (name, kind, _) in now.items() if key not in before]
    told += [f"- {name}" for key, (name, _, _) in before.items() if key not in now]
    both = [key for key in now if key in before]
    for one, other in ((before[key], now[key]) for key in both):
        told += [f"{one[0]} → {other[0]}"] if one[0] != other[0] else []
        told += [f"{other[0]} {one[1]} → {other[1]}"] if one[1] != other[1] else []
        told += [f"{other[0]} COMMENT"] if one[2] != other[2] else []
    moved = both != [key for key in before if key in now]
    return (*told, *([f"in the order {', '.join(c[0] for c in new.columns)}"] if moved else []))


def options_differ(existing: DynamicTable, statement: S.CreateDynamicTable) -> Iterator[str]:
    for option, (wanted, known) in _OPTIONS.items():
        new, old = getattr(statement, wanted), getattr(existing, known)
        if new != old:
            yield f"{option} {_shown(old)} → {_shown(new)}"


def fields_differ(fields: Mapping[str, str], known: object, wanted: object) -> Iterator[str]:
    for what, name in fields.items():
        old, new = getattr(known, name), getattr(wanted, name)
        if old != new:
            yield what if what == "body" else f"{what} {_shown(old)} → {_shown(new)}"


def _shown(value: object) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "on", False: "off", None: "none"}[value]
    return ", ".join(map(str, value)) or "none" if isinstance(value, tuple) else str(value)


def query_of_view(known: str) -> str:
    """The query of a view as it was written, as far as what is kept of it shows that."""
    explicit = _EXPLICIT.match(known)
    inner = known[explicit.end() :] if explicit else known
    return re.sub(r"\s*\)(?: AS view_\(.*\))?\s*\Z", "", inner) if explicit else inner


def is_view_of(known: str, query: str) -> bool:
    """Whether a view has that query: as it was written, or as it is kept."""
    kept, wanted = (" ".join(t.split()).casefold() for t in (known, query))
    explicit = _EXPLICIT.match(kept)
    inner = kept[explicit.end() :] if explicit else ""
    return (
        kept == wanted
        or inner in (f"{wanted} )", f"{wanted})")
        or (inner.startswith(f"{wanted} ) as view_(") and inner.count(") as view_(") == 1)
    )
