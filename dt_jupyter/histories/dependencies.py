"""How committed transactions depend on each other, derivations looked through.

A transaction that has derivations alone is between others and is not a node: a reader of what it
derived reads what that was computed from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from dt_jupyter.histories.events import (
    DeriveEvent,
    ReadEvent,
    TransactionHistory,
    Version,
    WriteEvent,
)


class DependencyKind(StrEnum):
    WRITE = "ww"
    READ = "wr"
    ANTI = "rw"


@dataclass(frozen=True, slots=True)
class Dependency:
    """`after` depends on `before`: it wrote what comes next, read what that wrote, or wrote what
    comes after that which `before` read."""

    kind: DependencyKind
    before: str
    after: str
    why: str

    def __str__(self) -> str:
        return f"T{self.before} –{self.kind}→ T{self.after} ({self.why})"


def provenance(history: TransactionHistory) -> Mapping[Version, frozenset[Version]]:
    """The written versions that each derived one comes from."""
    found: dict[Version, frozenset[Version]] = {}
    for event in history.events:
        if isinstance(event, DeriveEvent):
            parts = (found.get(s, frozenset((s,))) for s in event.sources)
            found[event.version] = frozenset[Version]().union(*parts)
    return found


def find_dependencies(history: TransactionHistory) -> list[Dependency]:
    """Each pair of transactions once for each kind."""
    found: dict[tuple[DependencyKind, str, str], Dependency] = {}
    for made in (*_write_dependencies(history), *_read_dependencies(history)):
        found.setdefault((made.kind, made.before, made.after), made)
    return [*found.values()]


def _write_dependencies(history: TransactionHistory) -> Iterator[Dependency]:
    """Of consecutive derived versions only what the one comes from and the other does not: what
    both come from does not imply an order."""
    known, makers = provenance(history), history.makers
    for versions in history.versions.values():
        for old, new in pairwise(v for v in versions if v in makers):
            before, after = known.get(old, frozenset((old,))), known.get(new, frozenset((new,)))
            why = f"{new} after {old}"
            for one in sorted(_writers(history, before - after)):
                for other in sorted(_writers(history, after - before)):
                    if one != other:
                        yield Dependency(DependencyKind.WRITE, one, other, why)


def _writers(history: TransactionHistory, versions: frozenset[Version]) -> set[str]:
    """Those of them that committed."""
    made = (history.makers[v].transaction for v in versions if v in history.makers)
    return {t for t in made if t in history.committed}


def _read_dependencies(history: TransactionHistory) -> Iterator[Dependency]:
    known, makers, committed = provenance(history), history.makers, history.committed
    following = _following(history)
    for event in history.events:
        if not isinstance(event, ReadEvent) or event.transaction not in committed:
            continue
        me, version = event.transaction, event.version
        for source in sorted(known.get(version, frozenset((version,)))):
            through = "" if source == version else f" through {version}"
            writer = makers[source].transaction if source in makers else None
            if writer is not None and writer in committed and writer != me:
                yield Dependency(DependencyKind.READ, writer, me, f"T{me} read {source}{through}")
            later = following.get(source)
            other = None if later is None else makers[later].transaction
            if other is not None and other != me:
                why = f"T{me} read {source}{through}, T{other} wrote {later}"
                yield Dependency(DependencyKind.ANTI, me, other, why)


def _following(history: TransactionHistory) -> dict[Version, Version]:
    """The written version after each, that before the history included."""
    found: dict[Version, Version] = {}
    read = {e.version for e in history.events if isinstance(e, ReadEvent)}
    read |= {s for e in history.events if isinstance(e, DeriveEvent) for s in e.sources}
    for name, versions in history.versions.items():
        written = [v for v in versions if not isinstance(history.makers.get(v), DeriveEvent)]
        found |= dict(pairwise(written))
        made = next((v for v in written if v in history.makers), None)
        if made is not None:
            early = (v for v in read if v.object == name and v not in history.makers)
            found |= {v: found.get(v, made) for v in early}
    for version, maker in history.makers.items():  # one that is not final: as the final one
        final = history.last[maker.transaction, version.object]
        if isinstance(maker, WriteEvent) and final in found:
            found.setdefault(version, found[final])
    return found
