"""Streams: bookmarks in the changes of something, and the intents that move them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dt_jupyter.model.names import Name
from dt_jupyter.model.time import Timestamp

EXTENSION_DAYS = 14
"""For so long a stream keeps what it needs of its sources, unless it says otherwise."""


@dataclass(frozen=True)
class Stream:
    """A stream on `source` (`kind`: TABLE, VIEW or DYNAMIC TABLE).

    `frontier` is the version of each base table, by its id, up to which all changes are consumed;
    `advanced` the time that this stands for. `number` counts the consumptions; `initial` says that
    the next one gives all rows. `intent` is the consumption that has begun. Its sources keep what
    it needs for `extension_days` after it was last advanced.
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

    `frontiers` are where each stream, by id, will stand; `path` and `version` are the table that is
    written and its version before (None: it is not there yet). The commit carries the intent's id.
    A transaction's `path` is empty; its `targets`, None until it is decided that it commits, are
    the files that say what is published.
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
