"""VACUUM that knows who still reads what: planned from the log and the folder, then done.

Delta's own VACUUM keeps what its retention covers and nothing else. This one keeps besides what is
held, says by whom, and never takes a file that a commit to come may name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dt_jupyter.lake.delta_log.actions import commit_name, read_actions
from dt_jupyter.lake.delta_log.active_files import LiveFiles, paths_of
from dt_jupyter.lake.delta_log.table_log import TableLog
from dt_jupyter.lake.errors import VersionGone
from dt_jupyter.lake.keep.hardlinks import needed
from dt_jupyter.lake.storage.table_place import table_place
from dt_jupyter.model import Timestamp

UNCOMMITTED_SECONDS = 3600.0
"""A file that no commit names may be one of a commit to come for so long."""
_FILES = frozenset(("add", "remove", "cdc"))


@dataclass(frozen=True, slots=True)
class Held:
    """Versions that `holder` reads; `last` None: up to the newest."""

    holder: str
    first: int
    last: int | None = None


@dataclass(frozen=True)
class VacuumPlan:
    """What a vacuum takes from a table: `files`, as its log names them, with their bytes. Files
    that are past the retention and held all the same are in `held`: bytes by holder. `live` are
    the bytes of the newest version, `retained` those of history within the retention."""

    table: Path
    files: Mapping[str, int]
    held: Mapping[str, int]
    held_bytes: int
    live: int
    retained: int

    @property
    def bytes(self) -> int:
        return sum(self.files.values())


def plan_vacuum(
    log: TableLog, holds: Sequence[Held], cutoff: Timestamp, now: Timestamp
) -> VacuumPlan:
    """What no version since `cutoff` needs and nothing holds. Reads the log and lists the
    folder."""
    newest = log.version()
    live = {p for a in LiveFiles(log.path).at(newest) for p in paths_of(a)}
    recent = now.plus(-UNCOMMITTED_SECONDS)
    retained, named = _since(log, cutoff, min(cutoff, recent))
    kept = [(h.holder, _needed(log, h, newest)) for h in holds]
    files, held, held_bytes, sizes = dict[str, int](), dict[str, int](), 0, [0, 0]
    for name, size, modified in table_place(log.path).list():
        if name in live or name in retained:
            sizes[name not in live] += size
            continue
        if modified >= recent.seconds and name not in named:
            continue
        holders = {holder for holder, paths in kept if name in paths}
        for holder in holders:
            held[holder] = held.get(holder, 0) + size
        if holders:
            held_bytes += size
        else:
            files[name] = size
    return VacuumPlan(log.path, files, held, held_bytes, sizes[0], sizes[1])


def run_vacuum(plan: VacuumPlan) -> None:
    """Deletes the files of a plan; one that is gone already is as good."""
    table_place(plan.table).delete(plan.files)


def _since(log: TableLog, cutoff: Timestamp, recent: Timestamp) -> tuple[set[str], set[str]]:
    """The files that versions current at `cutoff` or later need in addition to the newest, and
    those that commits since `recent` name."""
    retained: set[str] = set()
    named: set[str] = set()
    folder = log.path / "_delta_log"
    for version in range(log.version(), log.oldest() - 1, -1):
        time = log.commit_time(version)
        if time < recent and time < cutoff:
            break
        for kind, body in read_actions(folder / commit_name(version), _FILES):
            paths = paths_of(body)
            named.update(paths)
            if time >= cutoff and kind != "add":
                retained.update(paths)
    return retained, named


def _needed(log: TableLog, held: Held, newest: int) -> set[str]:
    last = newest if held.last is None else min(held.last, newest)
    first = max(held.first, log.oldest())
    try:
        return needed(log, first, last) if first <= last else set()
    except VersionGone:
        return set()
