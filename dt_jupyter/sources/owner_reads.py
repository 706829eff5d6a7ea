"""What a dynamic table reads with the rights of its owner, and what its views read with theirs."""

from __future__ import annotations

from dt_jupyter.catalog import Catalog
from dt_jupyter.model import (
    ADMIN,
    Definition,
    DTError,
    DynamicTable,
    Name,
    Named,
    Right,
    RightsBook,
    Securable,
    Sink,
    SourceKind,
    denied,
    error,
    require,
)
from dt_jupyter.sources.source_names import UNKNOWN, name_of
from dt_jupyter.sql import table_places


def require_owner_reads(catalog: Catalog, table: DynamicTable) -> None:
    """DT-5202 where the owner of a dynamic table may not read what it is made of. A view is read
    with the rights of the view's owner. Of `admin` nothing is asked."""
    book = catalog.rights()
    if not book.grants:
        return
    definition = table.definition
    owner = book.owner(Securable.of(Named.DYNAMIC_TABLE, table.name))
    for name in direct_reads(definition):
        _require(book, table, owner, name)
    for view in definition.views:
        of_view = book.owner(Securable.of(Named.VIEW, view.name))
        for name in named_in(view.text, view.name.schema):
            _require(book, table, of_view, name)


def require_sink_reads(catalog: Catalog, sink: Sink) -> None:
    """DT-5201 where the owner of a sink may not read what it delivers, or what its stream is on."""
    book = catalog.rights()
    owner = book.owner(Securable.of(Named.SINK, sink.name))
    if owner == ADMIN:
        return
    require(book, owner, Right.SELECT, Securable.of(Named(sink.kind.lower()), sink.source))
    stream = catalog.find_stream(sink.source)
    if stream is not None:
        require(book, owner, Right.SELECT, Securable.of(Named(stream.kind.lower()), stream.source))


def _require(book: RightsBook, table: DynamicTable, role: str, name: Name) -> None:
    on = Securable.of(_kind(table.definition, name), name)
    if role != ADMIN and not book.holds(role, Right.SELECT, on):
        raise _refused(table, role, on)


def _refused(table: DynamicTable, role: str, on: Securable) -> DTError:
    return error("DT-5202", table=table.name, **denied(role, Right.SELECT, on))


def _kind(definition: Definition, name: Name) -> Named:
    if any(v.name == name for v in definition.views):
        return Named.VIEW
    dynamic = any(s.name == name and s.kind is SourceKind.DYNAMIC_TABLE for s in definition.sources)
    return Named.DYNAMIC_TABLE if dynamic else Named.TABLE


def direct_reads(definition: Definition) -> list[Name]:
    """What a definition's query names itself; what is read through views is theirs to read. What
    is not known Spark's plan decides."""
    sources = [s.name for s in definition.sources if s.name != UNKNOWN]
    known = sources + [v.name for v in definition.views]
    named = named_in(definition.query, definition.current_schema)
    below = {n for v in definition.views for n in named_in(v.text, v.name.schema)}
    return [n for n in known if n in named or n not in below]


def named_in(text: str, schema: str) -> frozenset[Name]:
    """The names in a query."""
    return frozenset(name_of(parts, schema) for parts, *_ in table_places(text))
