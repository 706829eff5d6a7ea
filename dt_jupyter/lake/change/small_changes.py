"""A small change of a table, read without Spark from its change data feed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dt_jupyter.lake.change.change_plan import Added, Feed, FileDiff, plan_changes
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError, NotSupported
from dt_jupyter.lake.types import arrow_schema, fields_named
from dt_jupyter.model.hidden import VISIBLE

if TYPE_CHECKING:
    import pyarrow as pa

    from dt_jupyter.lake.read.kept_columns import KeptColumns


_NESTED_ROWS = 150_000
"""Rows with lists, structs or maps are paired off one by one."""


@dataclass(frozen=True, slots=True)
class Small:
    """What travels as Arrow: the most records (where known) and bytes of files."""

    rows: int = 150_000
    bytes: int = 64 << 20
    marked_bytes: int = 16 << 30
    """Of files some of whose rows deletion vectors took: only columns that are requested are
    decoded, once for all that a process reads of the file."""
    taken_bytes: int = 256 << 20
    """Of the rows that they took, as an average one of the table has in files."""


def small_changes(
    log: TableLog,
    after: int,
    upto: int,
    columns: Sequence[str],
    small: Small,
    kept: KeptColumns | None = None,
) -> pa.Table | None:
    """The columns of public rows that were inserted and deleted in (after, upto], in any order,
    each with its weight `__dt_w`: nothing is cancelled. None where Spark has to read them. `kept`
    has columns of files that were decoded before."""
    hides = VISIBLE in log.metadata(upto).columns
    asked = [*columns, VISIBLE] if hides else columns
    rows = stored_changes(log, after, upto, asked, small, kept)
    if rows is not None and hides:
        rows = rows.filter(rows[VISIBLE]).drop_columns(VISIBLE)
    return rows if rows is None or rows.num_rows <= small.rows else None


def stored_changes(
    log: TableLog,
    after: int,
    upto: int,
    columns: Sequence[str],
    small: Small,
    kept: KeptColumns | None = None,
) -> pa.Table | None:
    """As `small_changes`, of all rows that the table stores."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    plan = plan_changes(log, after, upto)
    if not isinstance(plan, Added | Feed) or (isinstance(plan, Added) and not plan.feed):
        return None
    if why_not_local(log, plan, columns, small) is not None:
        return None
    try:
        return feed_table(log, plan.first, plan.last, columns, kept)
    except (LakeError, DeltaError, pa.ArrowException, OSError):
        return None


def why_not_local(
    log: TableLog, plan: Added | Feed | FileDiff, columns: Sequence[str], small: Small
) -> str | None:
    """Why the driver does not read the change itself; None: it does."""
    if plan.rows is not None and plan.rows > small.rows:
        return f"{plan.rows} records are more than {small.rows}"
    if plan.bytes > small.bytes:
        return f"{plan.bytes} bytes are more than {small.bytes}"
    if isinstance(plan, Feed) and plan.marked_bytes > small.marked_bytes:
        return f"{plan.marked_bytes} bytes of files with deletion vectors are too many"
    if isinstance(plan, Feed) and plan.marked_bytes and plan.rows is not None:
        size = log.size(plan.last)
        if size.rows and (taken := plan.rows * size.bytes // size.rows) > small.taken_bytes:
            return f"rows of {taken} bytes in files are more than {small.taken_bytes}"
    if (unknown := why_unknown(log, plan, columns)) is not None:
        return unknown
    if plan.rows is not None and plan.rows > _NESTED_ROWS:
        fields = fields_named(log.metadata(plan.last), columns)
        if any(not isinstance(f["type"], str) for f in fields):
            return f"{plan.rows} records with nested columns are more than {_NESTED_ROWS}"
    return None


def why_unknown(log: TableLog, plan: Added | Feed | FileDiff, columns: Sequence[str]) -> str | None:
    metadata = log.metadata(plan.last)
    if metadata.mapping != "none":
        return "the table has column mapping"
    if not metadata.is_plain:
        return "its files are not Delta's own"
    try:
        arrow_schema(fields_named(metadata, columns))
    except NotSupported as e:
        return e.sentence
    return None
