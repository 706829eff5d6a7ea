"""Lists of files that no dynamic table reads: of an EXPLAIN, of a creation that failed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from dt_jupyter.lake import UNCOMMITTED_SECONDS, VacuumPlan, is_delta, lock_file, table_lock
from dt_jupyter.model import Named, Timestamp
from dt_jupyter.sources import Sources, read_creation_time


def unread_lists(sources: Sources, cutoff: Timestamp, now: Timestamp) -> Iterator[VacuumPlan]:
    """The lists that have not changed since `cutoff`, and that no dynamic table has read by any of
    its definitions, one that UNDROP can bring back included. None where what a table reads cannot
    be told."""
    folder = sources.layout.files
    known = sorted(f for f in folder.iterdir() if is_delta(f)) if folder.is_dir() else []
    if not known or any(q.kind == Named.DYNAMIC_TABLE for q in sources.catalog.quarantine.all()):
        return
    read = _read(sources)
    unchanged = min(cutoff, now.plus(-UNCOMMITTED_SECONDS)).seconds
    for path in known:
        sizes = {str(f.relative_to(path)): f.lstat() for f in path.rglob("*") if not f.is_dir()}
        changed = max(read_creation_time(path), *(s.st_mtime for s in sizes.values()))
        if path.name not in read and changed < unchanged:
            files = {name: s.st_size for name, s in sizes.items()}
            yield VacuumPlan(path, files, {}, 0, 0, 0)


def remove_list(sources: Sources, plan: VacuumPlan) -> None:
    """Unless it is read by now."""
    with table_lock(plan.table):
        if plan.table.name not in _read(sources):
            shutil.rmtree(plan.table)
            lock_file(plan.table).unlink(missing_ok=True)


def _read(sources: Sources) -> set[str]:
    """The names of the folders of all lists that are, or were, read."""
    catalog, found = sources.catalog, set[str]()
    for table in catalog.list(include_dropped=True):
        then = (row.definition for row in catalog.definitions(table.id))
        for definition in (table.definition, *then):
            found |= {Path(s.path).name for s in definition.sources if s.path is not None}
    return found


__all__ = ["remove_list", "unread_lists"]
