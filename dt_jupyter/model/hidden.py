"""The hidden names, each once: they begin with `__dt_`, which no name of a user does.

Columns that a table or a change has in addition to the public ones, aliases within a query, and
temporary views.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from dt_jupyter.model.names import quote

HIDDEN = "__dt_"


def hidden(name: str) -> str:
    """A hidden name of the caller's own, for an alias or a view."""
    return HIDDEN + name


def is_hidden(name: str) -> bool:
    """Whether a name is used by the engine only; Spark's names are case-insensitive."""
    return name.lower().startswith(HIDDEN)


def unique_view(label: str) -> str:
    """The name of a temporary view that no other one has."""
    return hidden(f"{label}_{uuid.uuid4().hex[:12]}")


# -- of changes ------------------------------------------------------------------------------------

WEIGHT = hidden("w")
"""Of a change: +1 for an inserted row, −1 for a deleted one."""
OP = hidden("op")
"""Of rows to be merged: I, U or D."""
ROW_ID = hidden("rid")
"""Of a change with row ids: what becomes `$ROW_ID`."""
TRACKED_ID = hidden("row_id")
"""Delta's own row id, where row tracking is on."""
STOP = hidden("stop")
"""Of the changes of several intervals: the number of the one that a row is of."""

# -- of backing tables -----------------------------------------------------------------------------

GROUP_KEY = hidden("k")
"""What the key columns of groups begin with; their ordinal follows."""
COUNT = hidden("n")
"""Of a group: its rows."""
VISIBLE = hidden("visible")
"""Of a group: whether people see it."""
HASH = (hidden("h1"), hidden("h2"))
"""Of a row of a bag: its content hash."""
SEQUENCE, POSITION = hidden("seq"), hidden("pos")
STORED_ID = (SEQUENCE, POSITION)
"""Of a row of a bag: the refresh that brought it, and its number among those of that refresh."""

# -- within statements -----------------------------------------------------------------------------

EXISTED = hidden("existed")
"""Of a changed group: whether it is stored."""
RESCAN = hidden("rescan")
"""Of a changed group: whether its sources must be asked."""
COPY = hidden("copy")
"""The number of a row among equal ones."""
RANK = hidden("rank")
"""The number of a row in an order."""


# -- what people see -------------------------------------------------------------------------------


def public_columns(columns: Iterable[str]) -> tuple[str, ...]:
    return tuple(c for c in columns if not is_hidden(c))


def public_rows(relation: str, columns: Iterable[str], items: str = "") -> str:
    """What people see of a relation with these columns, as a SELECT in parentheses: its public
    columns, or `items`, and not the rows that are kept out of sight."""
    known = tuple(columns)
    shown = items or ", ".join(map(quote, public_columns(known)))
    return f"(SELECT {shown} FROM {relation}{where_visible(known)})"


def where_visible(columns: Iterable[str]) -> str:
    """The WHERE clause that leaves out what is kept out of sight, where there is any."""
    return f" WHERE {VISIBLE}" if VISIBLE in columns else ""
