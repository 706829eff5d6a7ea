"""A table's profile, read of one snapshot."""

from __future__ import annotations

from dt_jupyter.engine.context import Context
from dt_jupyter.engine.rows import interruptible, read_rows
from dt_jupyter.model import Name
from dt_jupyter.replay import whole
from dt_jupyter.reports import TableProfile, profile_columns
from dt_jupyter.sources import Moment


def profile_table(context: Context, name: Name, at: Moment | None, rows: int) -> TableProfile:
    """Of a table, view or dynamic table at a point, or now."""
    snapshots = context.travel.snapshots
    point = at or Moment(context.clock.now(), present=True)
    snapshot = snapshots.of(whole(name), name.schema, str(name), point)
    frame = snapshots.frame(snapshot)
    what = f"Profiling {name}"
    count, columns = interruptible(context, what, lambda: profile_columns(frame))
    sample = read_rows(context, frame, what, rows).rows if rows else ()
    return TableProfile(name, snapshot.reads, count, columns, sample)
