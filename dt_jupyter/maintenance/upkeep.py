"""Pins, VACUUM that respects them, and what the tables of a lake take."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.catalog import Hold, HoldKind, Quarantined
from dt_jupyter.delivery import needed_versions
from dt_jupyter.lake import (
    DELETED_FILES,
    Held,
    LiveFiles,
    VacuumPlan,
    drop_mirror,
    is_delta,
    is_whole,
    paths_of,
    plan_vacuum,
    retention,
    run_vacuum,
    table_place,
)
from dt_jupyter.maintenance.staged_changes import drop_staged
from dt_jupyter.maintenance.unread_lists import remove_list, unread_lists
from dt_jupyter.model import (
    DynamicTable,
    Name,
    Named,
    Timestamp,
    ViewSource,
    count_of,
    error,
    require_name,
)
from dt_jupyter.replay import NOBODY, Snapshots, Wanted, release, secure, vacuum_lock
from dt_jupyter.sources import Layout, Moment, Publisher, Sources
from dt_jupyter.spark import storage_of

LIST_HOURS = 168.0
"""How long a list of files stays that nothing reads, as files that no version has."""


@dataclass(frozen=True)
class Pins:
    """What is held against VACUUM, and by whom."""

    holds: tuple[Hold, ...]
    broken: tuple[Quarantined, ...] = ()

    def __len__(self) -> int:
        return len(self.holds)

    def __str__(self) -> str:
        if not self.holds and not self.broken:
            return "no pins"
        return "\n".join((*map(_told, self.holds), *(q.error.sentence for q in self.broken)))


def _told(hold: Hold) -> str:
    tables = ", ".join(
        f"{t.name}@{t.first}" + (f"…{t.last}" if t.last != t.first else "") for t in hold.tables
    )
    copied = all(t.copy is not None for t in hold.tables)
    guard = "copied as hard links" if copied else "protected from dt.vacuum() alone"
    until = f", until {hold.expires}" if hold.kind is HoldKind.PIN and hold.expires else ""
    return f"{hold.holder}: {tables} ({hold.point}), since {hold.created}{until}; {guard}"


@dataclass(frozen=True)
class TableVacuum:
    """A table of a vacuum, with its plan; `retention` in hours."""

    name: str
    retention: float
    plan: VacuumPlan


@dataclass(frozen=True)
class Vacuum:
    """What a vacuum took (`done`), or would take: bytes freed, and bytes held by whom."""

    done: bool
    tables: tuple[TableVacuum, ...]

    @property
    def files(self) -> int:
        return sum(len(t.plan.files) for t in self.tables)

    @property
    def bytes(self) -> int:
        return sum(t.plan.bytes for t in self.tables)

    @property
    def held(self) -> dict[str, int]:
        """Bytes that are past the retention and stay, by who holds them; files that several hold
        count for each."""
        found: dict[str, int] = {}
        for table in self.tables:
            for holder, size in table.plan.held.items():
                found[holder] = found.get(holder, 0) + size
        return found

    def __str__(self) -> str:
        verb = "freed" if self.done else "would free"
        lines = [f"VACUUM {verb} {_bytes(self.bytes)} in {count_of(self.files, 'file')}"]
        for t in self.tables:
            if t.plan.files or t.plan.held:
                lines.append(
                    f"  {t.name}: {count_of(len(t.plan.files), 'file')}, {_bytes(t.plan.bytes)}; "
                    f"{_bytes(t.plan.live)} current, {_bytes(t.plan.retained)} of the last "
                    f"{t.retention:g} h"
                )
        lines += [f"  held by {h}: {_bytes(n)}" for h, n in sorted(self.held.items())]
        return "\n".join(lines)


@dataclass(frozen=True)
class TableStorage:
    """Bytes of a table: `live` of its newest version, `history` of older ones and their change
    feed, `hidden` of a dynamic table's stages, `log`, and `copies` that only pins hold."""

    name: str
    kind: str
    live: int
    history: int
    hidden: int
    log: int
    copies: int

    @property
    def total(self) -> int:
        return self.live + self.history + self.hidden + self.log + self.copies


@dataclass(frozen=True)
class Storage:
    """What each table of the lake takes."""

    tables: tuple[TableStorage, ...]

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("", "live", "history", "hidden", "log", "copies")]
        rows += [
            (t.name, *map(_bytes, (t.live, t.history, t.hidden, t.log, t.copies)))
            for t in self.tables
        ]
        widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                c.ljust(w) if i == 0 else c.rjust(w)
                for i, (c, w) in enumerate(zip(r, widths, strict=True))
            )
            for r in rows
        )


@dataclass(frozen=True)
class _Place:
    """A Delta table of the lake: its id as frontiers name it; `of` is the dynamic table whose
    backing table or stage it is, `stage` its number."""

    name: str
    table_id: str
    path: Path
    of: DynamicTable | None = None
    stage: int | None = None


@dataclass(frozen=True)
class Keeper:
    """Keeps what is pinned, and deletes what is not needed."""

    sources: Sources
    snapshots: Snapshots
    layout: Layout
    publisher: Publisher

    # -- pins -------------------------------------------------------------------------------------

    def pin(
        self, name: str, query: str, subject: Name, at: Moment, expires: Timestamp | None = None
    ) -> Hold:
        """Holds what a query reads at a point, by a new name. DT-1119, DT-4104, DT-4107."""
        require_name(Named.PIN, name)
        bases = self.snapshots.bases(query, subject.schema)
        versions = self.snapshots.versions(bases, str(subject), at)
        wanted = [Wanted(s, versions[s.table_id], versions[s.table_id]) for s in bases]
        return secure(
            self.snapshots,
            self.layout,
            HoldKind.PIN,
            str(subject),
            str(at),
            wanted,
            name=name,
            expires=expires,
        ).hold

    def unpin(self, name: str) -> None:
        """DT-4107 where there is no such pin."""
        if self.sources.catalog.drop_broken_hold(name):
            self.reap()
            return
        release(self.sources.catalog, self.layout, self.sources.catalog.named_hold(name))

    def pins(self) -> Pins:
        self.reap()
        return Pins(self.sources.catalog.holds(), self._broken())

    def _broken(self) -> tuple[Quarantined, ...]:
        """Pins that cannot be read, so that what they hold is unknown."""
        found = self.sources.catalog.quarantine.all()
        return tuple(q for q in found if q.kind == Named.PIN)

    def reap(self) -> None:
        """Holds that ran out, or whose process is gone, copies without an owner, and what
        ended refreshes staged."""
        drop_staged(self.sources.catalog, self.layout)
        with vacuum_lock(self.layout):
            for hold in self.sources.catalog.reap_holds():
                drop_mirror(self.layout.pins / hold.id)
            known = self.sources.catalog.hold_ids()
            for folder in self.layout.pins.iterdir() if self.layout.pins.is_dir() else ():
                if folder.name not in known:
                    drop_mirror(folder)

    # -- vacuum -----------------------------------------------------------------------------------

    def vacuum(
        self, name: Name | None, retain: float | None, now: Timestamp, *, dry: bool
    ) -> Vacuum:
        """Takes what no version within the retention needs and nothing holds, of one table or of
        all; `retain` in hours replaces every table's own. `dry` only says it. DT-4110, before
        anything is taken, where a table's own cannot be read."""
        if retain is not None and retain < 0:
            hint = "0 keeps the newest version alone."
            raise error(
                "DT-1003", option="retain_hours", value=retain, problem="it is negative", hint=hint
            )
        self.reap()
        for broken in self._broken():
            raise broken.error
        done = []
        with vacuum_lock(self.layout):
            places = [(p, self.sources.logs[str(p.path)]) for p in self.places(name)]
            kept = [
                retention(log, DELETED_FILES, p.name) / 3600 if retain is None else retain
                for p, log in places
            ]
            for (place, log), hours in zip(places, kept, strict=True):
                cutoff = max(Timestamp(0), now.plus(-hours * 3600))
                plan = plan_vacuum(log, self.holds_on(place, now), cutoff, now)
                if not dry:
                    run_vacuum(plan)
                done.append(TableVacuum(place.name, hours, plan))
            if name is None:
                done += self._vacuum_lists(retain, now, dry=dry)
        return Vacuum(not dry, tuple(done))

    def _vacuum_lists(
        self, retain: float | None, now: Timestamp, *, dry: bool
    ) -> Iterator[TableVacuum]:
        """Takes the lists of files, and the copies of logs, that nothing reads."""
        hours = LIST_HOURS if retain is None else retain
        for plan in unread_lists(self.sources, now.plus(-hours * 3600), now):
            what = self._told_list(str(plan.table))
            if not dry:
                remove_list(self.sources, plan)
            yield TableVacuum(what, hours, plan)

    def _told_list(self, path: str) -> str:
        copies = self.sources.copies
        if copies.holds(path):
            return f"the copied log of {copies.place_of(path)}"
        return f"the list of {self.sources.describe_source(path)}"

    def holds_on(self, place: _Place, now: Timestamp) -> list[Held]:
        """Who reads which versions of a table: pins, replays, refreshes that run, streams until
        they are stale, sinks, and the next refresh of each dynamic table."""
        catalog, id_ = self.sources.catalog, place.table_id
        found = [
            Held(h.holder, t.first, t.last)
            for h in catalog.holds()
            for t in h.tables
            if t.table_id == id_
        ]
        found += [
            Held(f"refresh {p.attempt}", p.version, p.version)
            for p in catalog.pins()
            if p.table_id == id_
        ]
        found += [
            Held(f"stream {s.name}", s.frontier[id_])
            for s in catalog.streams()
            if id_ in s.frontier and now < s.kept_until
        ]
        found += [
            Held(f"sink {needed.sink}", needed.version)
            for needed in needed_versions(catalog, now)
            if needed.table_id == id_
        ]
        for table in catalog.list():
            own = place.of is not None and place.of.id == table.id
            if table.frontier is None and (waited := _waited_for(table, place)) is not None:
                found.append(Held(f"dynamic table {table.name}", waited))
            if table.frontier is None or (place.stage is not None and not own):
                continue
            version = (
                table.version
                if own and place.stage is None
                else table.frontier.versions.get(
                    f"stage:{place.stage}" if place.stage is not None else id_
                )
            )
            if version is not None:
                found.append(Held(f"dynamic table {table.name}", version))
        return found

    def places(self, name: Name | None = None) -> list[_Place]:
        """The tables of the lake, or those of one name, stages included; what is on other storage
        is not a file of the engine's. DT-1101, DT-1109."""
        catalog = self.sources.catalog
        tables = [t for t in catalog.list() if name in (None, t.name)]
        found: list[_Place] = []
        for table in tables:
            public = self.layout.public(table.id)
            if self._is_sound(public, name):
                found.append(_Place(str(table.name), table.id, public, table))
            for stage in catalog.stages(table.id):
                path = self.layout.stage(table.id, stage.ordinal)
                if self._is_sound(path, name):
                    label = f"{table.name} (stage {stage.ordinal})"
                    found.append(
                        _Place(label, f"{table.id}/{stage.id}", path, table, stage.ordinal)
                    )
        if name is None:
            bases = self.publisher.known_tables()
        elif not tables:
            source = self.sources.source(name, NOBODY)
            if isinstance(source, ViewSource):
                hint = "Name its tables."
                raise error("DT-1109", name=name, kind="view", expected="table", hint=hint)
            bases = {name: str(self.snapshots.log(source).path)}
            self._require_here(name, bases[name])
        else:
            bases = {}
        for base, folder in bases.items():
            if not self.sources.copies.holds(folder) and self._is_sound(Path(folder), name):
                id_ = self.sources.logs[folder].table_id()
                found.append(_Place(str(base), id_, Path(folder)))
        return found

    def _require_here(self, name: Name, folder: str) -> None:
        copies = self.sources.copies
        if copies.holds(folder):
            kind = f"table on {storage_of(copies.place_of(folder))}"
            hint = "VACUUM it by Spark: that takes what pins and streams read, too."
            raise error("DT-1109", name=name, kind=kind, expected="table on a disk", hint=hint)

    def _is_sound(self, path: Path, name: Name | None) -> bool:
        """Whether there is a table whose log shows what it needs; of one that was requested by name
        its own error is raised."""
        return is_delta(path) and (name is not None or is_whole(self.sources.logs[str(path)]))

    # -- storage ----------------------------------------------------------------------------------

    def storage(self) -> Storage:
        """What each table takes: live, history, hidden state, log, and copies of pins."""
        rows: dict[str, TableStorage] = {}
        copies = self._copies()
        for place in self.places():
            live, history, log = self._sizes(place.path)
            label = str(place.of.name) if place.of else place.name
            kind = "dynamic table" if place.of else "table"
            before = rows.get(label, TableStorage(label, kind, 0, 0, 0, 0, 0))
            if place.stage is None:
                added = (live, history, 0, log)
            else:
                added = (0, 0, live + history + log, 0)
            rows[label] = TableStorage(
                label,
                kind,
                before.live + added[0],
                before.history + added[1],
                before.hidden + added[2],
                before.log + added[3],
                before.copies + copies.pop(place.table_id, 0),
            )
        for name, folder in self.publisher.known_tables().items():
            if self.sources.copies.holds(folder):
                copied = _total(Path(folder).rglob("*"))
                rows[str(name)] = TableStorage(str(name), "copied log", 0, 0, 0, copied, 0)
        return Storage(tuple(rows[k] for k in sorted(rows)))

    def _sizes(self, path: Path) -> tuple[int, int, int]:
        log = self.sources.logs[str(path)]
        live = {p for a in LiveFiles(path).at(log.version()) for p in paths_of(a)}
        sizes = [0, 0]
        for name, size, _ in table_place(path).list():
            sizes[name not in live] += size
        return sizes[0], sizes[1], _total((path / "_delta_log").rglob("*"))

    def _copies(self) -> dict[str, int]:
        """Bytes that are nowhere but in copies, by table."""
        found: dict[str, int] = {}
        for hold in self.sources.catalog.holds():
            for table in hold.tables:
                if table.copy is not None:
                    files = Path(table.copy).rglob("*")
                    alone = (f for f in files if f.is_file() and f.stat().st_nlink == 1)
                    found[table.table_id] = found.get(table.table_id, 0) + _total(alone)
        return found


def _waited_for(table: DynamicTable, place: _Place) -> int | None:
    """The version of a table that is to fill the frozen region of one that is not initialised."""
    region = table.definition.frozen
    if region is None or region.backfill is None or place.stage is not None:
        return None
    return region.version if region.backfill.table_id == place.table_id else None


def _total(files: Iterable[Path]) -> int:
    total = 0
    for file in files:
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue
    return total


def _bytes(size: int) -> str:
    for unit, factor in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if size >= factor:
            return f"{size / factor:.1f} {unit}"
    return f"{size} B"
