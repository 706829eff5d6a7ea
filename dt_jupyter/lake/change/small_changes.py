"""A small change of a table, read without Spark from its change data feed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dt_jupyter.lake.change.change_plan import Added, Feed, plan_changes
from dt_jupyter.lake.change.feed import feed_table
from dt_jupyter.lake.change.relation import Small, why_not_local
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import LakeError
from dt_jupyter.model.hidden import VISIBLE

if TYPE_CHECKING:
    import pyarrow as pa


def small_changes(
    log: TableLog, after: int, upto: int, columns: Sequence[str], small: Small
) -> pa.Table | None:
    """The columns of public rows that came and went in (after, upto], in any order, each with its
    weight `__dt_w`: nothing is cancelled. None where Spark has to read them."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    plan = plan_changes(log, after, upto)
    if not isinstance(plan, Added | Feed) or (isinstance(plan, Added) and not plan.feed):
        return None
    hides = VISIBLE in log.metadata(upto).columns
    read = [*columns, VISIBLE] if hides else list(columns)
    if why_not_local(log, plan, read, small) is not None:
        return None
    try:
        rows = feed_table(log, plan.first, plan.last, read)
    except (LakeError, DeltaError, pa.ArrowException, OSError):
        return None
    if hides:
        rows = rows.filter(rows[VISIBLE]).drop_columns(VISIBLE)
    return rows if rows.num_rows <= small.rows else None
