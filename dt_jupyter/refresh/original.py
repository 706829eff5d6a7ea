"""The user's own text, evaluated at a frontier: names of tables replaced where they stand.

Nothing of the text is written anew, so it can judge what the binder made of it.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC
from zoneinfo import ZoneInfo

from dt_jupyter.model import Timestamp, plain
from dt_jupyter.sql.bind import table_places
from dt_jupyter.sql.lex import tokens

Parts = tuple[str, ...]
Relation = Callable[[Parts], str | None]
"""The relation text for a table's name parts; None leaves the name as it is."""

ViewText = Callable[[Parts], str | None]


def pinned(query: str, relation: Relation, view: ViewText) -> str:
    """`query` with each table replaced by `relation`, and each view by its own pinned text."""
    text = query
    for parts, start, end, aliased in sorted(table_places(query), key=lambda p: -p[1]):
        inner = view(parts)
        found = f"(\n{pinned(inner, relation, view)}\n)" if inner is not None else relation(parts)
        if found is None:
            continue
        alias = "" if aliased else f" AS {plain(parts[-1])}"
        text = text[:start] + found + alias + text[end:]
    return text


def at_time(query: str, t: Timestamp, zone: str) -> str:
    """The context functions of time replaced by the data timestamp, in the session's zone."""
    moment = t.datetime.astimezone(UTC)
    stamp = f"TIMESTAMP'{moment:%Y-%m-%d %H:%M:%S.%f}Z'"
    day = f"DATE'{moment.astimezone(ZoneInfo(zone)):%Y-%m-%d}'"
    values = {"current_timestamp": stamp, "now": stamp, "current_date": day, "curdate": day}
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
        elif word in ("current_timestamp", "current_date") and after[:1] != ["("]:
            text = text[: token.start] + values[word] + text[token.end :]
    return text
