"""Lists of files, and copies of logs, that nothing reads: of an EXPLAIN, of a creation that failed,
of a table on other storage whose name was dropped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from dt_jupyter.lake import UNCOMMITTED_SECONDS, VacuumPlan, is_delta, lock_file, table_lock
from dt_jupyter.model import Named, Timestamp
from dt_jupyter.sources import Sources, read_creation_time


def unread_lists(sources: Sources, cutoff: Timestamp, now: Timestamp) -> Iterator[VacuumPlan]:
    """The lists and copies that have not changed since `cutoff`, that no dynamic table has read by
    any of its definitions, one that UNDROP can bring back included, and that the lake knows by no
    name. None where what a table reads is unknown."""
    folders = (sources.layout.files, sources.copies.folder)
    known = sorted(f for found in folders if found.is_dir() for f in found.iterdir() if is_delta(f))
    if not known or any(q.kind == Named.DYNAMIC_TABLE for q in sources.catalog.quarantine.all()):
        return
    read = _read(sources)
    unchanged = min(cutoff, now.plus(-UNCOMMITTED_SECONDS)).seconds
    for path in known:
        sizes = {str(f.relative_to(path)): f.lstat() for f in path.rglob("*") if not f.is_dir()}
        if sources.is_file_list(str(path)):
            changed = max(read_creation_time(path), *(s.st_mtime for s in sizes.values()))
        else:  # whose files are as old as those that they are copies of
            changed = max(s.st_ctime for s in sizes.values())
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
    """The names of the folders of all lists and copies that are, or were, read."""
    catalog = sources.catalog
    found = {Path(t.path).name for t in catalog.tables()}
    for table in catalog.list(include_dropped=True):
        then = (row.definition for row in catalog.definitions(table.id))
        for definition in (table.definition, *then):
            found |= {Path(s.path).name for s in definition.sources if s.path is not None}
    return found


__all__ = ["remove_list", "unread_lists"]
