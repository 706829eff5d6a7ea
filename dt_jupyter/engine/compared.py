"""What is compared: two tables, two definitions of one, or a table with its version before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dt_jupyter.engine.context import Context
from dt_jupyter.model import Definition, DynamicTable, Name, error
from dt_jupyter.replay import Compared, Diff, whole
from dt_jupyter.sources import Moment
from dt_jupyter.sql import PointKind, TimePoint

if TYPE_CHECKING:
    from dt_jupyter.engine.api import Engine

LAST = -2
"""The definition before the one that a table has."""


def compared_tables(context: Context, *names: str | Name) -> list[Compared]:
    """Tables, views or dynamic tables by their rows, and the last by their definitions too."""
    known = [context.name(name) for name in names]
    tables = [context.catalog.get(name) for name in known]
    return [
        Compared(str(name), whole(name), name.schema, table.definition if table else None)
        for name, table in zip(known, tables, strict=True)
    ]


def compared_definitions(context: Context, table: DynamicTable, number: int) -> list[Compared]:
    """One that a dynamic table had, and the one that it has. DT-1003 for no such one."""
    known = all_definitions(context, table)
    try:
        place = range(len(known))[number]
    except IndexError:
        problem = f"{table.name} has had {len(known)}"
        hint = f"See dt.definitions('{table.name}')."
        raise error(
            "DT-1003", option="definition", value=number, problem=problem, hint=hint
        ) from None
    labels = (f"definition {place} of {table.name}", f"the definition of {table.name}")
    pairs = zip(labels, (known[place], table.definition), strict=True)
    return [Compared(label, d.query, d.current_schema, d) for label, d in pairs]


def all_definitions(context: Context, table: DynamicTable) -> list[Definition]:
    """Oldest first; the last is the one that it has, refreshed by it or not."""
    known = [row.definition for row in context.catalog.definitions(table.id)]
    return known if known[-1:] == [table.definition] else [*known, table.definition]


def diff_versions(
    engine: Engine, name: str | Name, start: TimePoint | None, end: TimePoint | None
) -> Diff:
    """The difference between two points of a table: without `start` from the version before its
    newest, without `end` to now. DT-1003 without `start` of a view."""
    context = engine.context
    first = start or _version_before(context, context.name(name))
    return engine.diff(name, first, end or TimePoint(PointKind.OFFSET, "0"))


def _version_before(context: Context, name: Name) -> int:
    snapshots, now = context.travel.snapshots, Moment(context.clock.now(), present=True)
    bases = snapshots.bases(whole(name), name.schema)
    versions = snapshots.versions(bases, str(name), now)
    if len(versions) != 1:
        problem, hint = f"{name} has no versions", "Give a time as --from."
        raise error("DT-1003", option="--from", value="none", problem=problem, hint=hint)
    (newest,) = versions.values()
    return max(newest - 1, 0)
