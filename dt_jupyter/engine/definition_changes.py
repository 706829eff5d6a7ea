"""What CREATE OR ALTER and CREATE OR REPLACE change of a dynamic table and of its readers, in the
words of a plan."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from dt_jupyter.engine.dependents import Dependents
from dt_jupyter.engine.planned_differences import (
    columns_differ,
    definition_differs,
    options_differ,
    text_differs,
)
from dt_jupyter.model import Definition, DynamicTable, Name, Reason, SchedulingState, SinkState
from dt_jupyter.refresh import ContentsVerdict, KeptContents
from dt_jupyter.reports import PlannedAction, PlannedChange
from dt_jupyter.sql import CreateDynamicTable, Token, TokenKind, tokens

KEPT = "kept"
_TABLE = "dynamic table"
_BEFORE_ALL = frozenset({"SELECT", "DISTINCT", "ALL", ",", "."})
"""What precedes a `*` that means all columns."""


def rows_words(verdict: ContentsVerdict) -> str:
    """Whether the rows are kept, in words."""
    if isinstance(verdict, KeptContents):
        return KEPT
    if isinstance(verdict, Reason):
        return f"recomputed: {verdict.sentence}"
    return "derived from those that it has"


@dataclass(frozen=True)
class Differences:
    """How a statement differs from a table, in the words of a plan."""

    definition: tuple[str, ...]
    options: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        return (*self.definition, *self.options)


def find_differences(
    table: DynamicTable, statement: CreateDynamicTable, schema: str
) -> Differences:
    """By the text; bare names of the statement's query are those of `schema`."""
    return Differences(
        tuple(definition_differs(table, statement, schema)),
        tuple(options_differ(table, statement)),
    )


def with_unsaid(table: DynamicTable, statement: CreateDynamicTable) -> CreateDynamicTable:
    """The statement with what its form has no words for as the table has it."""
    if not statement.partial:
        return statement
    definition = table.definition
    return replace(
        statement,
        columns=definition.listed,
        frozen=definition.frozen.where if definition.frozen else None,
        comment=table.comment,
        cluster_by=table.cluster_by,
        retention_days=table.retention_days,
        scheduler=table.scheduler_enabled,
    )


def describe_options(table: DynamicTable, differs: Sequence[str]) -> PlannedChange:
    """Of options alone, or of nothing: no row and no reader has to do with them."""
    if not differs:
        return PlannedChange(_TABLE, str(table.name), PlannedAction.NONE)
    return PlannedChange(_TABLE, str(table.name), PlannedAction.CHANGE, tuple(differs), KEPT)


def describe_definition(
    table: DynamicTable,
    new: Definition,
    differs: Sequence[str],
    below: Dependents,
    rows: str,
) -> PlannedChange:
    """For another definition, by whether the rows are kept."""
    old = table.definition
    columns = columns_differ(old, new)
    same = rows == KEPT and not columns
    costs = () if same else tuple(_costs_of_altering(old, new, below))
    affects = () if rows == KEPT else (*(str(t.name) for t in below.tables), *map(str, below.below))
    return PlannedChange(
        _TABLE,
        str(table.name),
        PlannedAction.CHANGE,
        tuple(differs) or ("columns",),
        rows,
        tuple(sorted(affects)),
        text_differs(old.query, new.query),
        columns,
        costs,
    )


def _costs_of_altering(old: Definition, new: Definition, below: Dependents) -> Iterator[str]:
    before, now = ({n.casefold(): t for n, t, _ in d.columns} for d in (old, new))
    dropped = {n for n in before if n not in now}
    retyped = {n for n in before if n in now and before[n] != now[n]}
    read = {t.name: _columns_read(t, before) for t in below.tables}
    evolves = {
        t.name for t in below.tables if read[t.name] & retyped or (_reads_all(t) and before != now)
    }
    lost = {n: read[n] & dropped for n in read if n not in evolves and read[n] & dropped}
    for name, columns in lost.items():
        yield f"{name} reads {', '.join(sorted(columns))}: its next refresh fails (DT-2116)"
    how = "recomputed at" if dropped or retyped else "gets the new columns at"
    yield from _line(evolves, f"{how} the next refresh")
    rest = read.keys() - evolves - lost.keys()
    yield from _line(rest, "refreshed by the rows that differ")
    stale = f": stale by the new type of {', '.join(sorted(retyped))}" if retyped else ""
    for stream in below.streams:
        yield f"stream {stream.name}{stale or ': holds the rows that differ'}"
    for sink in below.sinks:
        if gone := sorted({k.casefold() for k in sink.key} & dropped):
            yield f"sink {sink.name}: paused, its key column {', '.join(gone)} is dropped"
        elif moved := sorted(retyped | dropped):
            held = f"where its store keeps {', '.join(moved)} as before"
            yield f"sink {sink.name}: paused (DT-6142) until RESET, {held}"
        elif sink.state is SinkState.ACTIVE:
            yield f"sink {sink.name}: delivers the rows that differ"
        else:
            yield f"sink {sink.name}: {sink.state.lower()} as before"


def _columns_read(reader: DynamicTable, columns: Iterable[str]) -> set[str]:
    """Those that a reader's text names."""
    texts = (reader.definition.query, *(v.text for v in reader.definition.views))
    words = {t.text.strip("`").casefold() for text in texts for t in _tokens(text)}
    return words & set(columns)


def _reads_all(reader: DynamicTable) -> bool:
    found = _tokens(reader.definition.query)
    return any(
        token.sign("*") and (found[i - 1].upper or found[i - 1].text) in _BEFORE_ALL
        for i, token in enumerate(found)
        if i
    )


def _tokens(text: str) -> list[Token]:
    return [t for t in tokens(text) if t.kind is not TokenKind.END]


def describe_replacement(
    table: DynamicTable, new: Definition, differs: Sequence[str], below: Dependents
) -> PlannedChange:
    """Of a table that is recreated in the place of one."""
    return PlannedChange(
        _TABLE,
        str(table.name),
        PlannedAction.REPLACE,
        tuple(differs) or ("nothing: CREATE OR ALTER would leave it as it is",),
        "dropped, and computed again",
        tuple(sorted((*(str(t.name) for t in below.tables), *map(str, below.below)))),
        text_differs(table.definition.query, new.query),
        columns_differ(table.definition, new),
        tuple(_costs_of_replacing(table, below)),
    )


def _costs_of_replacing(table: DynamicTable, below: Dependents) -> Iterator[str]:
    name = table.name
    if table.version is not None:
        yield f"versions 0 to {table.version} of {name} cannot be read as its past any more"
    yield from _line((t.name for t in below.tables), "recomputed at the next refresh")
    for stream in below.streams:
        again = f"CREATE OR REPLACE STREAM {stream.name} begins it again"
        yield f"stream {stream.name}: stale, what it has not given is lost; {again}"
    for sink in below.sinks:
        if not sink.from_stream:
            again = f"ALTER SINK {sink.name} RESET delivers everything again"
            yield f"sink {sink.name}: paused; {again}"
    yield f"the old one comes back by UNDROP DYNAMIC TABLE {name}, once the new one is dropped"


def _line(names: Iterable[Name], what: str) -> Iterator[str]:
    known = sorted(map(str, names))
    if known:
        yield f"{', '.join(known)}: {what}"


def standing_notes(table: DynamicTable, settings: Mapping[str, str]) -> Iterator[str]:
    """What is to be known of a table that is left as it is, in a session of these settings."""
    if table.scheduling is SchedulingState.SUSPENDED:
        reason = table.scheduling_reason
        why = f" ({reason.sentence.rstrip('.')})" if reason is not None else ""
        yield f"It is suspended{why}: ALTER DYNAMIC TABLE {table.name} RESUME resumes it."
    known = table.definition.settings
    for key in sorted(k for k in known if k in settings and known[k] != settings[k]):
        yield f"It keeps the setting that it was made with: {key} = {known[key]}."
