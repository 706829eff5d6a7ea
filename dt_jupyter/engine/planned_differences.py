"""How what the lake has differs from what a script says, in the words of a plan."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dt_jupyter.model import DynamicTable, Name, SourceKind
from dt_jupyter.sql import statement_values as S

_EXPLICIT = re.compile(r"select (?:\*|`[^`]*` as `[^`]*`(?:, `[^`]*` as `[^`]*`)*) from \( ")
_OPTIONS: Mapping[str, tuple[str, str]] = {
    "TARGET_LAG": ("target_lag", "target_lag"),
    "WAREHOUSE": ("warehouse", "warehouse"),
    "REFRESH_MODE": ("refresh_mode", "mode"),
    "SCHEDULER": ("scheduler", "scheduler_enabled"),
    "CLUSTER BY": ("cluster_by", "cluster_by"),
    "DATA_RETENTION_TIME_IN_DAYS": ("retention_days", "retention_days"),
    "ALTER_SOURCES": ("alter_sources", "alter_sources"),
    "COMMENT": ("comment", "comment"),
}
"""The field of each option in a statement, and in the catalog."""


def names_read(table: DynamicTable) -> set[Name]:
    definition = table.definition
    return {s.name for s in definition.sources} | {v.name for v in definition.views}


def names_upstream_first(tables: Iterable[DynamicTable]) -> Iterator[Name]:
    waiting = {t.name: {s.name for s in t.definition.sources
                        if s.kind is SourceKind.DYNAMIC_TABLE} for t in tables}  # fmt: skip
    while waiting:
        ready = next((n for n, up in waiting.items() if not up & waiting.keys()), None)
        name = ready or next(iter(waiting))
        del waiting[name]
        yield name


def definition_differs(existing: DynamicTable, statement: S.CreateDynamicTable) -> Iterator[str]:
    if existing.definition.query.strip() != statement.query.strip():
        yield "query"
    if existing.definition.listed != statement.columns:
        yield "columns"
    frozen = existing.definition.frozen
    old = frozen.where if frozen else None
    if old != statement.frozen:
        yield f"FROZEN WHERE {_shown(old)} → {_shown(statement.frozen)}"


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
