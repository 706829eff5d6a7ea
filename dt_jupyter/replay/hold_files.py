"""Versions secured against VACUUM: a hold that the engine's own respects, and hard links that no
other one reaches, where the file system has them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dt_jupyter.catalog import Catalog, HeldTable, Hold, HoldKind
from dt_jupyter.lake import TableLog, VersionGone, drop_mirror, mirror, needed
from dt_jupyter.model import Source, Timestamp, error, undo
from dt_jupyter.replay.snapshots import Snapshots
from dt_jupyter.sources import Layout

SECURE_PATIENCE = 600.0


@contextmanager
def vacuum_lock(layout: Layout) -> Iterator[None]:
    """Held by code that secures versions, and by a vacuum from reading the holds to its last file:
    a version is then either held before the vacuum looks, or looked for after it is done."""
    from filelock import FileLock, Timeout

    layout.own.mkdir(parents=True, exist_ok=True)
    path = layout.own / "vacuum.lock"
    try:
        with FileLock(path, timeout=SECURE_PATIENCE):
            yield
    except Timeout as e:
        raise error("DT-5107", name=path, owner="a vacuum that runs") from e


@dataclass(frozen=True)
class Wanted:
    """Versions of a table to secure."""

    source: Source
    first: int
    last: int


@dataclass(frozen=True)
class Secured:
    """What was secured: `folders` are where each table is read, by id."""

    hold: Hold
    folders: Mapping[str, Path]

    @property
    def copied(self) -> bool:
        """Whether VACUUM from outside of the engine does not reach it either."""
        return all(t.copy is not None for t in self.hold.tables)


def secure(
    snapshots: Snapshots,
    layout: Layout,
    kind: HoldKind,
    subject: str,
    point: str,
    wanted: list[Wanted],
    *,
    name: str | None = None,
    expires: Timestamp | None = None,
) -> Secured:
    """Holds versions of tables, all of them or none. DT-4104 where files are gone, DT-4107."""
    catalog: Catalog = snapshots.sources.catalog
    id_ = uuid.uuid4().hex
    folder = layout.pins / id_
    with vacuum_lock(layout):
        tables = [
            HeldTable(w.source.table_id, str(w.source.name), str(w.source.path), w.first, w.last)
            for w in wanted
        ]
        hold = catalog.hold(id_, kind, subject, point, tables, name=name, expires=expires)
        try:
            made = [
                _copied(snapshots, w, t, folder / str(i))
                for i, (w, t) in enumerate(zip(wanted, tables, strict=True))
            ]
            catalog.hold_tables(id_, [t for t, _ in made])
        except BaseException as e:
            undo(e, lambda: release(catalog, layout, hold))
            raise
    hold = replace(hold, tables=tuple(t for t, _ in made))
    return Secured(hold, {t.table_id: folder for t, folder in made})


def release(catalog: Catalog, layout: Layout, hold: Hold) -> None:
    """Gives up a hold and its copies."""
    catalog.drop_hold(hold.id)
    drop_mirror(layout.pins / hold.id)


def _copied(
    snapshots: Snapshots, wanted: Wanted, table: HeldTable, folder: Path
) -> tuple[HeldTable, Path]:
    """The table with its copy, and where its versions are read."""
    source, first, last = wanted.source, wanted.first, wanted.last
    origin = snapshots.log(source)
    for log in (origin, *snapshots.other_copies(source.table_id, first, last)):
        try:
            made = mirror(log, first, last, folder)
        except (FileNotFoundError, VersionGone):
            continue
        if made is not None:
            return replace(table, copy=str(folder)), folder
        if _is_whole(log, first, last):
            return table, log.path
    raise snapshots.past_retention(source, first)


def _is_whole(log: TableLog, first: int, last: int) -> bool:
    return all(log.has_file(name) for name in needed(log, first, last))
