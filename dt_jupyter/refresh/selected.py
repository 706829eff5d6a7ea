"""Reads of large tables that a change's own values select, made before its statement and local.

A semi join of delta-rs reads two columns of a large table in the time that Spark takes to begin;
what it finds is joined by Spark as all else is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dt_jupyter.ivm import (
    End,
    Filter,
    Join,
    Origin,
    Project,
    Rel,
    Restrict,
    Scan,
    equated,
    origins,
    walk,
)

if TYPE_CHECKING:
    import pyarrow as pa

Select = Callable[[Scan, str, "pa.ChunkedArray", bool], "pa.Table | None"]
"""The rows of a scan with some values in a column (and NULL, if so): None where it is not done."""


@dataclass
class Selected:
    """`values` gives the values of a column of a change, or of rows that were selected before;
    `keys` those of a column of a materialised relation; `select` reads."""

    select: Select
    values: Callable[[Sequence[Origin]], pa.ChunkedArray | None]
    keys: Callable[[str, str], pa.ChunkedArray | None]
    found: dict[str, tuple[Scan, pa.Table]] = field(default_factory=dict)
    """By the id of the scan that stands for it: what was read, and its rows."""
    _asked: dict[object, list[tuple[pa.ChunkedArray, str]]] = field(default_factory=dict)

    def local(self, rel: Rel) -> Rel:
        """The relation with the tables that it joins to changes replaced by the rows it needs."""
        if isinstance(rel, Join):
            return self._of_join(rel, [self.local(m) for m in rel.members])
        if isinstance(rel, Restrict) and isinstance(rel.keys, str):
            return replace(rel, input=self._by_keys(self.local(rel.input), rel.keys, rel.on))
        return rel.with_inputs(tuple(map(self.local, rel.inputs)))

    def _of_join(self, rel: Join, members: list[Rel]) -> Rel:
        """Members that values of others select, until nothing more is known of any."""
        rest = list(range(len(members)))
        before = len(rest) + 1
        while len(rest) < before:
            before = len(rest)
            for i in tuple(rest):
                narrowed = self._by_others(rel, members, i)
                if narrowed is not members[i]:
                    members[i] = narrowed
                    rest.remove(i)
        return replace(rel, members=tuple(members))

    def _by_others(self, rel: Join, members: Sequence[Rel], i: int) -> Rel:
        known: list[tuple[str, pa.ChunkedArray]] = []
        for predicate in rel.on:
            pair = equated(predicate)
            for a, b in (pair, pair[::-1]) if pair is not None else ():
                home = next((m for m in members if a in m.columns), None)
                if b not in members[i].columns or home is None or home is members[i]:
                    continue
                came = origins(home, a)
                known_all = came and all(self.is_known(s) for s, _ in came)
                values = self.values(came) if came and known_all else None
                if values is not None:
                    known.append((b, values))
        known.sort(key=lambda one: len(one[1]))
        return self._narrowed(members[i], known, nulls=False)

    def _by_keys(self, rel: Rel, name: str, on: Sequence[tuple[str, str]]) -> Rel:
        known = [(a, v) for a, k in on if (v := self.keys(name, k)) is not None]
        return self._narrowed(rel, known, nulls=True)

    def _narrowed(
        self, rel: Rel, known: Sequence[tuple[str, pa.ChunkedArray]], *, nulls: bool
    ) -> Rel:
        """The relation over the rows that the first column selects for which that can be done."""
        nodes = list(walk(rel))
        scan = nodes[-1]
        if not all(isinstance(n, Project | Filter | Restrict) for n in nodes[:-1]):
            return rel
        if not isinstance(scan, Scan) or scan.end is End.DELTA or self.is_known(scan):
            return rel
        for column, values in known:
            came = origins(rel, column)
            source = self._read(scan, came[0][1], values, nulls) if came else None
            if source is not None:
                return _with_scan(rel, Scan(source, scan.reads))
        return rel

    def _read(self, scan: Scan, name: str, values: pa.ChunkedArray, nulls: bool) -> str | None:
        """The id of the rows of a scan with some values; what several statements select alike is
        read once."""
        asked = (scan.source, scan.end, frozenset(n for _, n in scan.reads), name, nulls)
        known = self._asked.setdefault(asked, [])
        source = next((s for v, s in known if v.equals(values)), None)
        if source is None and (rows := self.select(scan, name, values, nulls)) is not None:
            source = f"found_{len(self.found)}"
            self.found[source] = scan, rows
            known.append((values, source))
        return source

    def is_known(self, scan: Scan) -> bool:
        """Whether all rows of a scan are at hand: a change, or what was selected."""
        return scan.end is End.DELTA or scan.source in self.found


def _with_scan(rel: Rel, scan: Scan) -> Rel:
    if isinstance(rel, Scan):
        return scan
    return rel.with_inputs((_with_scan(rel.inputs[0], scan),))
