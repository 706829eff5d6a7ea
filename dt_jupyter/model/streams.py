"""Streams: bookmarks in the changes of something, and the intents that move them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from dt_jupyter.model.definition import ViewSource
from dt_jupyter.model.functions import FunctionUse
from dt_jupyter.model.names import Name
from dt_jupyter.model.time import Timestamp

EXTENSION_DAYS = 14
"""For so long a stream keeps what it needs of its sources, unless it says otherwise."""


@dataclass(frozen=True)
class StreamTable:
    """A table that a stream reads in the end: its id, and its columns in order."""

    name: Name
    id: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class StreamMeaning:
    """What the source of a stream was when the stream began: its base tables, the views that it is
    read through (their texts with SQL functions expanded), the other functions that they call, and
    the columns of its rows. It goes by the names of then, `source` among them."""

    source: Name
    tables: tuple[StreamTable, ...]
    views: tuple[ViewSource, ...]
    functions: tuple[FunctionUse, ...]
    columns: tuple[str, ...]

    def to_json(self) -> str:
        return json.dumps(
            {
                "source": _parts(self.source),
                "tables": [[*_parts(t.name), t.id, list(t.columns)] for t in self.tables],
                "views": [[*_parts(v.name), v.text] for v in self.views],
                "functions": [[f.name, f.digest] for f in self.functions],
                "columns": list(self.columns),
            }
        )

    @classmethod
    def of(cls, text: str) -> StreamMeaning:
        """From what `to_json` wrote."""
        known = json.loads(text)
        return cls(
            Name(*known["source"]),
            tuple(StreamTable(Name(s, n), i, tuple(c)) for s, n, i, c in known["tables"]),
            tuple(ViewSource(Name(s, n), text) for s, n, text in known["views"]),
            tuple(FunctionUse(*f) for f in known["functions"]),
            tuple(known["columns"]),
        )


def _parts(name: Name) -> tuple[str, str]:
    return name.schema, name.table


@dataclass(frozen=True)
class Stream:
    """A stream on `source` (`kind`: TABLE, VIEW or DYNAMIC TABLE).

    `frontier` is the version of each base table, by its id, up to which all changes are consumed;
    `advanced` the time that this represents. `number` counts the consumptions; `initial` says that
    the next one gives all rows. `intent` is the consumption that has begun. Its sources keep what
    it needs for `extension_days` after it was last advanced. `meaning` is None for a stream of an
    older release that has not been read since.
    """

    id: str
    name: Name
    source: Name
    kind: str
    frontier: Mapping[str, int]
    advanced: Timestamp
    created: Timestamp
    append_only: bool = False
    initial: bool = False
    number: int = 0
    comment: str | None = None
    intent: str | None = None
    extension_days: int = EXTENSION_DAYS
    meaning: StreamMeaning | None = None

    @property
    def kept_until(self) -> Timestamp:
        """From then on nothing keeps what it has not consumed."""
        return self.advanced.plus(self.extension_days * 86_400)

    @property
    def mode(self) -> str:
        """As SHOW STREAMS names it."""
        return "APPEND_ONLY" if self.append_only else "DEFAULT"


@dataclass(frozen=True)
class Intent:
    """A statement that consumes streams, or a transaction of several, recorded before it writes.

    `frontiers` are the new offsets of each stream, by id; `path` and `version` are the table that
    is written and its version before (None: it is not there yet). The commit carries the intent's
    id. A transaction's `path` is empty; its `targets`, None until it is decided that it commits,
    are the files that say what is published.
    """

    id: str
    statement: str
    path: str
    version: int | None
    created: Timestamp
    at: Timestamp
    frontiers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    targets: tuple[str, ...] | None = None

    @property
    def transaction(self) -> bool:
        """Whether it is a transaction of several statements."""
        return not self.path
