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


@dataclass(frozen=True, slots=True)
class Small:
    """What travels as Arrow: at most so many records (where known) and bytes of files."""

    rows: int = 150_000
    bytes: int = 64 << 20


def small_changes(
    log: TableLog, after: int, upto: int, columns: Sequence[str], small: Small
) -> pa.Table | None:
    """The columns of public rows that came and went in (after, upto], in any order, each with its
    weight `__dt_w`: nothing is cancelled. None where Spark has to read them."""
    hides = VISIBLE in log.metadata(upto).columns
    rows = stored_changes(log, after, upto, [*columns, VISIBLE] if hides else columns, small)
    if rows is not None and hides:
        rows = rows.filter(rows[VISIBLE]).drop_columns(VISIBLE)
    return rows if rows is None or rows.num_rows <= small.rows else None


def stored_changes(
    log: TableLog, after: int, upto: int, columns: Sequence[str], small: Small
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
        return feed_table(log, plan.first, plan.last, columns)
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
    data = [f for f in log.commits(plan.first - 1, plan.last) if f.data_change]
    if any(f.loose_vectors and not f.cdc_files for f in data):
        # delta-rs would also give the rows that the vector of a removed file had deleted.
        return "a file with a deletion vector came or went whole"
    return why_unknown(log, plan, columns)


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
