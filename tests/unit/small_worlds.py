"""Small bags of rows, before and after a change, and what DuckDB makes of relations over them."""

from __future__ import annotations

import atexit
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from random import Random

import duckdb

from dt_jupyter.ivm import (
    End,
    Rel,
    Scan,
)
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.sql.emit.render import Renderer

Row = tuple[int | None, ...]
SOURCES: Mapping[str, tuple[str, ...]] = {
    "s": ("a", "b"),
    "t": ("a", "b"),
    "u": ("x y", 'q"`', "select"),
}


def duck_quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# -- Spark's words as DuckDB's ---------------------------------------------------------------------

_QUOTED = re.compile(r'"(?:[^"]|"")*"|`((?:[^`]|``)*)`')
_WORDS = (
    ("<=>", "IS NOT DISTINCT FROM"),
    ("LEFT SEMI JOIN", "SEMI JOIN"),
    ("LEFT ANTI JOIN", "ANTI JOIN"),
)
_VIEW = re.compile(
    r'LATERAL VIEW( OUTER)? (POS)?EXPLODE\((.*?)\) e AS ("[^"]*"(?:, "[^"]*")*)', re.IGNORECASE
)
_ARRAY = re.compile(r"\bARRAY\(", re.IGNORECASE)


def to_duck(text: str) -> str:
    """Spark's spelling of what the renderer writes itself, as DuckDB spells it."""
    text = _QUOTED.sub(_quoted, text)
    for spark, duck in _WORDS:
        text = text.replace(spark, duck)
    return _ARRAY.sub("list_value(", _VIEW.sub(_unnested, text))


def _quoted(name: re.Match[str]) -> str:
    return name[0] if name[0].startswith('"') else duck_quote(name[1].replace("``", "`"))


def _unnested(view: re.Match[str]) -> str:
    outer, pos, array, names = view.groups()
    position = "unnest(range(len(l))), " if pos else ""
    rows = f"LATERAL (SELECT {position}unnest(l) FROM (SELECT {array} AS l)) e({names})"
    return f"LEFT JOIN {rows} ON TRUE" if outer else f", {rows}"


@cache
def connection() -> duckdb.DuckDBPyConnection:
    """One DuckDB for the process: making one costs more than all that is asked of it. Its
    optimiser takes longer than it saves on bags of four rows. NULLs are ordered as in Spark."""
    db = duckdb.connect()
    db.execute("SET threads = 1")
    db.execute("PRAGMA disable_optimizer")
    db.execute("SET default_null_order = 'nulls_first_on_asc_last_on_desc'")
    atexit.register(_close)
    return db


def _close() -> None:
    connection().close()
    connection.cache_clear()


# -- worlds ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class World:
    """Each source at both ends; `noise` are rows that came and went within the interval."""

    old: Mapping[str, list[Row]]
    new: Mapping[str, list[Row]]
    noise: Mapping[str, list[Row]] = field(default_factory=dict)

    @property
    def changed(self) -> frozenset[str]:
        return frozenset(s for s in SOURCES if Counter(self.old[s]) != Counter(self.new[s]))

    def delta(self, source: str) -> list[Row]:
        before, after = Counter(self.old[source]), Counter(self.new[source])
        rows = [(*r, 1) for r in (after - before).elements()]
        rows += [(*r, -1) for r in (before - after).elements()]
        for row in self.noise.get(source, []):
            rows += [(*row, 1), (*row, -1)]
        return rows

    def rows(self, source: str, end: End) -> list[Row]:
        if end is End.DELTA:
            return self.delta(source)
        return list((self.old if end is End.OLD else self.new)[source])


def literal_rows(columns: tuple[str, ...], rows: list[Row]) -> str:
    """A relation of integers, written out."""
    listed = rows or [(None,) * len(columns)]
    values = ", ".join(
        "(" + ", ".join("NULL::INTEGER" if v is None else str(v) for v in r) + ")" for r in listed
    )
    names = ", ".join(map(duck_quote, columns))
    return f"(SELECT * FROM (VALUES {values}) v({names}){'' if rows else ' WHERE FALSE'})"


def _columns(source: str, end: End) -> tuple[str, ...]:
    return (*SOURCES[source], WEIGHT) if end is End.DELTA else SOURCES[source]


@dataclass(frozen=True)
class Duck:
    """The relations of one world, written out, as DuckDB reads them."""

    world: World

    def place(self, scan: Scan) -> str:
        rows = self.world.rows(scan.source, scan.end)
        return literal_rows(_columns(scan.source, scan.end), rows)

    def rows(self, rel: Rel) -> list[Row]:
        """The rows of a relation, in the order of its columns."""
        columns = ", ".join(duck_quote(c) for c in rel.columns)
        text = Renderer(self.place, quote=duck_quote)(rel)
        found = connection().execute(to_duck(f"SELECT {columns} FROM ({text})")).fetchall()
        return [tuple(r) for r in found]

    def bag(self, rel: Rel) -> Counter[Row]:
        return Counter(self.rows(rel))

    def weights(self, rel: Rel | None) -> dict[Row, int]:
        """A weighted relation summed up, zeros dropped."""
        total: Counter[Row] = Counter()
        for *row, weight in self.rows(rel) if rel is not None else []:
            assert weight in (1, -1), weight
            total[tuple(row)] += weight
        return {r: w for r, w in total.items() if w}


VALUES = (None, 0, 0, 1, 1, 2)


def random_rows(
    rng: Random, width: int, most: int, values: Sequence[int | None] = VALUES
) -> list[Row]:
    """Few rows of few values: most keys meet, many rows are equal, many values NULL."""
    return [tuple(rng.choice(values) for _ in range(width)) for _ in range(rng.randint(0, most))]


def random_world(rng: Random, changed: frozenset[str]) -> World:
    """The sources of `changed` lose and gain rows, or stay; some have rows that came and went."""
    old, new, noise = {}, {}, {}
    for source, columns in SOURCES.items():
        old[source] = random_rows(rng, len(columns), 5)
        new[source] = list(old[source])
        if source in changed:
            if rng.random() < 0.8:
                kept = [r for r in old[source] if rng.random() < 0.6]
                new[source] = kept + random_rows(rng, len(columns), 3)
            noise[source] = random_rows(rng, len(columns), 1) if rng.random() < 0.3 else []
    return World(old, new, noise)


CHANGES = tuple(frozenset(c) for n in range(1, 4) for c in combinations(sorted(SOURCES), n))
POOL = 30
"""Worlds for each set of changed sources."""


@cache
def pool() -> tuple[World, ...]:
    """Worlds by number, in tables of DuckDB: POOL for each of CHANGES, in that order."""
    rng = Random(1)
    worlds = tuple(random_world(rng, c) for c in CHANGES for _ in range(POOL))
    for source in SOURCES:
        for end in End:
            columns = ("world", *_columns(source, end))
            rows = [(i, *r) for i, w in enumerate(worlds) for r in w.rows(source, end)]
            text = (
                f"CREATE TEMP TABLE {source}_{end} AS SELECT * FROM {literal_rows(columns, rows)}"
            )
            connection().execute(text)
    return worlds


def pooled(scan: Scan) -> str:
    """The relation of a scan in the world $w."""
    return f"(SELECT * FROM {scan.source}_{scan.end} WHERE world = $w)"
