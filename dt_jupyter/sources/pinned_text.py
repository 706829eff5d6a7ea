"""The user's own text, evaluated at a frontier: names of tables replaced in their places.

Nothing else of the text changes, so its rows can judge what was read of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import UTC

from dt_jupyter.ivm import Refusal, Refused, refuse
from dt_jupyter.lake import snapshot_sql
from dt_jupyter.model import Definition, Frontier, SourceKind, Timestamp, plain, zone_of
from dt_jupyter.model.hidden import public_rows
from dt_jupyter.sources.source_names import Logs, name_of
from dt_jupyter.spark import DROPS_QUOTES, KEEPS_BACKSLASHES
from dt_jupyter.sql import (
    NamedTable,
    dotted_names,
    escape_quotes,
    named_tables,
    replace_spans,
    tokens,
)

_BARE = frozenset({"current_timestamp", "current_date"})
"""What Spark calls without brackets too."""
Parts = tuple[str, ...]
_Relation = Callable[[Parts], str | None]
"""The relation text for a table's name parts; None leaves the name as it is."""

ViewText = Callable[[Parts], str | None]


def pinned(query: str, relation: _Relation, view: ViewText) -> str:
    """`query` with each table replaced by `relation`, and each view by its own pinned text; what
    it reads as of a given time stays as it is. Refused for a table that is read with options,
    which only a name can have."""
    text, replaced = query, set[Parts]()
    places = [p for p in named_tables(query) if not p.fixed]
    for place in reversed(places):
        parts, inner = place.parts, view(place.parts)
        found = f"(\n{pinned(inner, relation, view)}\n)" if inner is not None else relation(parts)
        if found is not None:
            text = _replaced(text, place, found)
            replaced.add(tuple(p.lower() for p in parts[-2:]))
    return _without_schemas(text, replaced)


def _without_schemas(text: str, tables: Collection[Parts]) -> str:
    """Columns of replaced tables that a text names by schema and table, by the table alone: a
    relation in the place of a table has no schema."""
    spans = [span for parts, span in dotted_names(text) if parts in tables and len(parts) == 2]
    return replace_spans(text, [(span, "") for span in spans])


def _replaced(text: str, place: NamedTable, relation: str) -> str:
    name, after = plain(place.parts[-1]), text[place.alias :]
    if place.options:
        raise refuse(Refusal.EXPRESSION, what=f"the options with which it reads {name}")
    if place.table is not None:
        before = "TABLE " if place.argument else ""
        query = f"{before}(SELECT * FROM {relation} AS {name})"
        return text[: place.table.start] + query + text[place.table.end :]
    alias = "" if place.aliased else f" AS {name}"
    start, end = place.span.start, place.span.end
    return text[:start] + relation + text[end : place.alias] + alias + after


def text_at(logs: Logs, definition: Definition, frontier: Frontier) -> str:
    """The user's text at a frontier, its context functions at the data timestamp. Sources that have
    no versions stay as they are written, as does a text whose tables cannot be replaced."""
    by_name = {s.name: s for s in definition.sources}
    views = {v.name: v.text for v in definition.views}
    schema = definition.current_schema

    def relation(parts: Parts) -> str | None:
        source = by_name.get(name_of(parts, schema))
        if source is None or source.kind is SourceKind.FOREIGN:
            return None
        assert source.path is not None
        return rows_at(logs, source.path, frontier.versions[source.table_id])

    zone = definition.settings.get("spark.sql.session.timeZone", "UTC")

    def view(parts: Parts) -> str | None:
        return views.get(name_of(parts, schema))

    try:
        text = pinned(definition.query, relation, view)
    except Refused:
        text = definition.query
    return at_time(portable(text, definition.settings), frontier.data_timestamp, zone)


def portable(text: str, settings: Mapping[str, str]) -> str:
    """A text that each Spark reads as the one did in which it was written."""
    doubled = settings.get(DROPS_QUOTES) == "false"
    return escape_quotes(text) if doubled and settings.get(KEEPS_BACKSLASHES) == "false" else text


def rows_at(logs: Logs, path: str, version: int) -> str:
    """A snapshot's public rows."""
    return public_rows(snapshot_sql(path, version), logs[path].metadata(version).columns)


def reads_the_clock(definition: Definition, one: Timestamp, other: Timestamp) -> bool:
    """Whether the text means something else at two data timestamps, its sources being the same."""
    zone = definition.settings.get("spark.sql.session.timeZone", "UTC")
    texts = (definition.query, *(v.text for v in definition.views))
    asking = ((t, at_time(t, one, zone)) for t in texts)
    return any(then != t and then != at_time(t, other, zone) for t, then in asking)


def at_time(query: str, t: Timestamp, zone: str) -> str:
    """The context functions of time replaced by the data timestamp, in the session's zone."""
    moment = t.datetime.astimezone(UTC)
    stamp = f"TIMESTAMP'{moment:%Y-%m-%d %H:%M:%S.%f}Z'"
    day = f"DATE'{moment.astimezone(zone_of(zone)):%Y-%m-%d}'"
    values = {
        "current_timestamp": stamp,
        "now": stamp,
        "current_date": day,
        "curdate": day,
        "localtimestamp": f"CAST({stamp} AS TIMESTAMP_NTZ)",
        "unix_timestamp": f"unix_timestamp({stamp})",
    }
    found = tokens(query)
    text = query
    for i in range(len(found) - 1, -1, -1):
        token = found[i]
        word = query[token.start : token.end].lower()
        after = [query[x.start : x.end] for x in found[i + 1 : i + 3]]
        before = query[found[i - 1].start : found[i - 1].end] if i else ""
        if word not in values or before == "." or after[:1] == ["."]:
            continue
        if after == ["(", ")"]:
            text = text[: token.start] + values[word] + text[found[i + 2].end :]
        elif word in _BARE and after[:1] != ["("]:
            text = text[: token.start] + values[word] + text[token.end :]
    return text
