"""What reads a table, view, dynamic table or stream, and in words the effect on it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Set as AbstractSet
from dataclasses import dataclass

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import DTError, DynamicTable, Name, Sink, Stream, ViewSource, count_of
from dt_jupyter.reports import task_flow
from dt_jupyter.sources import name_of
from dt_jupyter.sql import relations_in

_SHOWN = 12
"""Names of a kind that are said; of the others their number."""


@dataclass(frozen=True)
class Dependents:
    """What reads something, directly or through views. `below` are the dynamic tables that read
    `tables`; the lake has no record of other readers."""

    tables: tuple[DynamicTable, ...] = ()
    below: tuple[Name, ...] = ()
    views: tuple[Name, ...] = ()
    streams: tuple[Stream, ...] = ()
    sinks: tuple[Sink, ...] = ()
    tasks: tuple[Name, ...] = ()

    def __bool__(self) -> bool:
        return any((self.tables, self.views, self.streams, self.sinks, self.tasks))

    def __str__(self) -> str:
        """`dynamic tables a, b (c downstream), stream s and sink k`."""
        below = f" ({_listed(self.below)} downstream)" if self.below else ""
        tables = _kind("dynamic table", (t.name for t in self.tables))
        told = [f"{tables}{below}"] if tables else []
        told += [
            _kind("view", self.views),
            _kind("stream", (s.name for s in self.streams)),
            _kind("sink", (s.name for s in self.sinks)),
            _kind("task", self.tasks),
        ]
        *most, last = list(filter(None, told)) or [""]
        return f"{', '.join(most)} and {last}" if most else last


def find_dependents(
    catalog: Catalog, of: AbstractSet[Name], sees: Callable[[Name], bool] = lambda name: True
) -> Dependents:
    """What reads any of these names, of what `sees` is true."""
    views = {v.name for v in _views_over(catalog.views(), of)}
    read = of | views
    tables = [t for t in catalog.list() if t.name not in of and names_read(t) & read]
    below = names_downstream(catalog.list(), {t.name for t in tables}) - of
    streams = [s for s in catalog.streams() if s.source in read and s.name not in of]
    read = read | {s.name for s in streams}
    return Dependents(
        tuple(t for t in tables if sees(t.name)),
        tuple(filter(sees, sorted(below, key=str))),
        tuple(filter(sees, sorted(views, key=str))),
        tuple(s for s in streams if sees(s.name)),
        tuple(s for s in catalog.sinks() if s.source in read and sees(s.name) and s.name not in of),
        tuple(
            t.name
            for t in catalog.tasks()
            if read & set(task_flow(t.body, t.condition, t.schema).reads) and sees(t.name)
        ),
    )


def names_read(table: DynamicTable) -> set[Name]:
    definition = table.definition
    return {s.name for s in definition.sources} | {v.name for v in definition.views}


def names_in(catalog: Catalog, schema: str) -> set[Name]:
    """All that the lake has in a schema."""
    objects = (catalog.list(), catalog.tables(), catalog.views(), catalog.streams())
    return {o.name for each in objects for o in each if o.name.schema == schema}


def names_downstream(tables: Iterable[DynamicTable], of: Collection[Name]) -> set[Name]:
    """The dynamic tables that read these names, through whatever many others."""
    every, found = tuple(tables), set(of)
    while more := {t.name for t in every if found & names_read(t)} - found:
        found |= more
    return found - set(of)


def _views_over(views: Collection[ViewSource], of: AbstractSet[Name]) -> Iterator[ViewSource]:
    """Those that read the names, through other views too."""
    reads = {v.name: _read_by(v) for v in views}
    found = set(of)
    while more := {n for n, read in reads.items() if read & found} - found:
        found |= more
    return (v for v in views if v.name in found - of)


def _read_by(view: ViewSource) -> set[Name]:
    """As far as its text shows."""
    try:
        return {name_of(parts, view.name.schema) for parts, _ in relations_in(view.text)}
    except DTError:
        return set()


def _kind(kind: str, names: Iterable[Name]) -> str:
    known = tuple(dict.fromkeys(names))
    return f"{kind}{'s' if len(known) > 1 else ''} {_listed(known)}" if known else ""


def _listed(names: Collection[Name]) -> str:
    more = len(names) - _SHOWN
    shown = ", ".join(map(str, list(names)[:_SHOWN]))
    return f"{shown} and {count_of(more, 'other')}" if more > 0 else shown


def dropped_words(readers: Dependents, back: str) -> str:
    """What a status says of what still reads something that was dropped, after a line's end;
    `back` is the statement that makes it readable again."""
    return f"\nStill read by {readers}. What reads it fails until: {back}" if readers else ""


__all__ = [
    "Dependents",
    "dropped_words",
    "find_dependents",
    "names_downstream",
    "names_in",
    "names_read",
]
