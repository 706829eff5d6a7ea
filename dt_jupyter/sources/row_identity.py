"""How the rows of a source are identified, and the text of their ids.

By a declared key, by what a dynamic table keeps of each row, by Delta's row tracking; and where a
table has none of them, by content.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.ivm import col
from dt_jupyter.lake import Metadata, TableLog
from dt_jupyter.model import quote
from dt_jupyter.model.hidden import GROUP_KEY, STORED_ID, TRACKED_ID, public_columns
from dt_jupyter.sql import exact_text

KEY = "dt.primaryKey"
TRACKING = "delta.enableRowTracking"


class By(StrEnum):
    """What the ids of a source are made of."""

    KEY = "a declared key"
    GROUP = "the keys of the groups"
    STORED = "ids that the dynamic table keeps"
    TRACKING = "row tracking"
    CONTENT = "the values of the rows"


@dataclass(frozen=True)
class Identity:
    """`columns` are those of the table that an id is made of; `tag` distinguishes its ids from
    those of other tables."""

    by: By
    columns: tuple[tuple[str, str], ...]
    tag: str

    @property
    def text(self) -> str:
        """SQL for the id, over the columns (of a tracked table, over `__dt_row_id`)."""
        if self.by is By.TRACKING:
            return f"CONCAT('{self.tag}:', CAST({TRACKED_ID} AS STRING))"
        parts = [exact_text(col(n), t, n).sql(quote) for n, t in self.columns]
        return f"CONCAT('{self.tag}:', {', '.join(parts)})"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(n for n, _ in self.columns)


def identity(log: TableLog, old: int, new: int, types: Mapping[str, str], tag: str) -> Identity:
    """That of a table between two versions; `types` are those of its columns at the new one."""
    by, names = told_apart(log, old, new, tuple(types))
    return Identity(by, tuple((n, types[n]) for n in names), tag)


def told_apart(
    log: TableLog, old: int, new: int, columns: Sequence[str]
) -> tuple[By, Sequence[str]]:
    """How the rows of a table are identified between two versions, and by which columns."""
    known = frozenset(log.metadata(old).columns)  # another definition may have others
    group = [n for n in columns if n.startswith(GROUP_KEY)]
    if group and known.issuperset(group):
        return By.GROUP, group
    if all(n in columns and n in known for n in STORED_ID):
        return By.STORED, STORED_ID
    key = declared_key(log.metadata(new), columns)
    if key:
        return By.KEY, key
    if all(_tracked(log.metadata(v)) for v in (old, new)):
        return By.TRACKING, ()
    return By.CONTENT, public_columns(columns)


def declared_key(metadata: Metadata, columns: Sequence[str]) -> tuple[str, ...]:
    """The columns of `dt.primaryKey`: a JSON list, or names between commas; none where the table
    has one of them no more."""
    known = {n.lower(): n for n in columns}
    found = [known.get(n.lower()) for n in key_names(metadata.configuration.get(KEY, ""))]
    return tuple(n for n in found if n is not None) if None not in found else ()


def key_names(text: str) -> tuple[str, ...]:
    """The names in `dt.primaryKey`."""
    text = text.strip()
    listed = json.loads(text) if text.startswith("[") else text.split(",") if text else []
    return tuple(name.strip().strip("`") for name in listed)


def _tracked(metadata: Metadata) -> bool:
    return metadata.configuration.get(TRACKING, "").lower() == "true"
