"""The phenomena of a history, and what can be promised of one without them.

PL-2 (read committed) has none of G0 and G1; PL-2+ has no G-single besides, PL-SI (snapshot
isolation) no G-SI, PL-3 (serializable) no G2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from dt_jupyter.histories.cycles import edges_of, find_cycle
from dt_jupyter.histories.dependencies import (
    Dependency,
    DependencyKind,
    find_dependencies,
    provenance,
)
from dt_jupyter.histories.events import (
    HistoryEvent,
    ReadEvent,
    TransactionHistory,
    Version,
    history_of,
)


class PhenomenonKind(StrEnum):
    """By the names of Adya's thesis (1999)."""

    G0 = "G0"
    G1A = "G1a"
    G1B = "G1b"
    G1C = "G1c"
    G_SINGLE = "G-single"
    G_SI = "G-SI"
    G2 = "G2"


class Guarantee(StrEnum):
    READ_COMMITTED = "Read committed (PL-2)"
    CONSISTENT_VIEW = "Consistent view (PL-2+)"
    SNAPSHOT_ISOLATION = "Snapshot isolation (PL-SI)"
    SERIALIZABLE = "Serializable (PL-3)"


_K, _G = PhenomenonKind, Guarantee
NAMES = {
    _K.G0: "write cycle",
    _K.G1A: "aborted read",
    _K.G1B: "intermediate read",
    _K.G1C: "circular information flow",
    _K.G_SINGLE: "read skew",
    _K.G_SI: "no one snapshot",
    _K.G2: "anti-dependency cycle",
}
_G1 = frozenset((_K.G0, _K.G1A, _K.G1B, _K.G1C))
PROSCRIBED = {
    _G.READ_COMMITTED: _G1,
    _G.CONSISTENT_VIEW: _G1 | {_K.G_SINGLE},
    _G.SNAPSHOT_ISOLATION: _G1 | {_K.G_SINGLE, _K.G_SI},
    _G.SERIALIZABLE: _G1 | {_K.G_SINGLE, _K.G2},
}
"""What must not be in a history for each to hold."""


@dataclass(frozen=True, slots=True)
class Phenomenon:
    """One example: the cycle of dependencies, or in words what was read."""

    kind: PhenomenonKind
    why: str
    cycle: tuple[Dependency, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind}, {NAMES[self.kind]}: {self.why}."


@dataclass(frozen=True)
class HistoryReport:
    """Of each kind of phenomenon one example, and all dependencies of committed transactions."""

    phenomena: tuple[Phenomenon, ...]
    dependencies: tuple[Dependency, ...]

    @property
    def kinds(self) -> frozenset[PhenomenonKind]:
        return frozenset(p.kind for p in self.phenomena)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Those that hold, the weakest first; serializable does not imply snapshot isolation."""
        return tuple(g for g in Guarantee if not PROSCRIBED[g] & self.kinds)

    def __str__(self) -> str:
        holds = ", ".join(self.guarantees) or "none: not even Read committed (PL-2)"
        return "\n".join((f"Guarantees that hold: {holds}.", *map(str, self.phenomena)))


def check_history(history: TransactionHistory | str | Iterable[HistoryEvent]) -> HistoryReport:
    """Look for each phenomenon in a history, given as such, as events, or in the papers' notation,
    `w1(x1) c1 r2(x1) d3(y3|x1) c2`. DT-1003 for an invalid history."""
    given = history_of(history)
    found = find_dependencies(given)
    every = (*_dirty_reads(given), *_cycles(found), *_not_of_one_time(given, found))
    return HistoryReport(every, tuple(found))


def _dirty_reads(history: TransactionHistory) -> Iterator[Phenomenon]:
    known, makers, committed = provenance(history), history.makers, history.committed

    def first(kind: PhenomenonKind, problem: Callable[[str, Version], str]) -> Iterator[Phenomenon]:
        for event in history.events:
            if not isinstance(event, ReadEvent) or event.transaction not in committed:
                continue
            for source in sorted(known.get(event.version, frozenset((event.version,)))):
                if source in makers and (why := problem(event.transaction, source)):
                    through = "" if source == event.version else f" through {event.version}"
                    yield Phenomenon(kind, f"T{event.transaction} read {source}{through}, {why}")
                    return

    def aborted(reader: str, version: Version) -> str:
        writer = makers[version].transaction
        return "" if writer in committed else f"and T{writer} did not commit"

    def intermediate(reader: str, version: Version) -> str:
        writer = makers[version].transaction
        final = history.last[writer, version.object]
        passed = version != final and writer != reader and writer in committed
        return f"and T{writer} then wrote {final}" if passed else ""

    yield from first(_K.G1A, aborted)
    yield from first(_K.G1B, intermediate)


def _cycles(dependencies: list[Dependency]) -> Iterator[Phenomenon]:
    kinds = DependencyKind
    writes = [d for d in dependencies if d.kind is kinds.WRITE]
    reads = [d for d in dependencies if d.kind is kinds.READ]
    antis = [d for d in dependencies if d.kind is kinds.ANTI]
    flow, whole = edges_of((*writes, *reads)), edges_of(dependencies)
    for kind, starts, ways in (
        (_K.G0, writes, edges_of(writes)),
        (_K.G1C, (*writes, *reads), flow),
        (_K.G_SINGLE, antis, flow),
        (_K.G2, antis, whole),
    ):
        cycle = find_cycle(starts, ways)
        if cycle is not None:
            yield Phenomenon(kind, ", ".join(map(str, cycle)), cycle)


def _not_of_one_time(
    history: TransactionHistory, dependencies: list[Dependency]
) -> Iterator[Phenomenon]:
    """Adya's G-SI: no time at which a transaction can have begun is after the commits of all that
    it depends on, and before those of all that wrote over what it read. (His other cycles, of one
    anti-dependency and dependencies on what was there at the start, follow from that.)"""
    committed, begun = history.committed, history.begun
    after: dict[str, Dependency] = {}
    before: dict[str, Dependency] = {}
    for each in dependencies:
        if each.kind is DependencyKind.ANTI:
            old = before.setdefault(each.before, each)
            before[each.before] = min(old, each, key=lambda d: committed[d.after])
        else:
            old = after.setdefault(each.after, each)
            after[each.after] = max(old, each, key=lambda d: committed[d.before])
    for me, last in after.items():
        if committed[last.before] > begun.get(me, history.first[me]):
            yield Phenomenon(
                _K.G_SI, f"T{me} began before T{last.before} committed: {last}", (last,)
            )
            return
    for me, first in before.items():
        low = begun[me] if me in begun else committed[after[me].before] if me in after else -1
        if committed[first.after] <= low:
            both = (after[me], first) if me not in begun and me in after else (first,)
            yield Phenomenon(_K.G_SI, ", ".join(map(str, both)), both)
            return
