"""A frozen region: its rows as they were, all others the query's, whatever happens to both.

The oracle keeps the frozen rows in a list of its own, and asks Spark for the user's query.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from dt_jupyter.model import DTError
from dt_jupyter.model.hidden import WEIGHT
from dt_jupyter.refresh.stage_texts import StageTexts
from tests.spark.engine_lab import Lab

Row = tuple[Any, ...]
Frozen = Callable[[Row], bool]


@dataclass
class Shelf:
    """A dynamic table with a frozen region, and what it has to hold; `frozen` says of a row what
    `where` says of it in SQL."""

    lab: Lab
    name: str
    query: str
    where: str
    frozen: Frozen
    rows: Counter[Row] = field(default_factory=Counter)

    def create(self, options: str = "") -> None:
        made = self.lab.dynamic_table(
            self.name, self.query, f"{options} FROZEN WHERE ({self.where})"
        )
        assert made.definition.frozen is not None
        self.rows = self._query()
        self.check()

    def _query(self) -> Counter[Row]:
        return Counter(tuple(r) for r in self.lab.spark.sql(self.query).collect())

    def follow(self) -> None:
        """What a refresh has to make of it."""
        kept = Counter({r: n for r, n in self.rows.items() if self.frozen(r)})
        self.rows = kept + Counter({r: n for r, n in self._query().items() if not self.frozen(r)})

    def refresh(self, *actions: str) -> None:
        self.follow()
        assert self.lab.refresh(self.name) in actions
        self.check()

    def check(self) -> None:
        assert Counter(self.lab.rows(self.name)) == self.rows, self.name


def less(column: int, than: Any) -> Frozen:
    return lambda row: row[column] is not None and row[column] < than


ROWS = "SELECT id, g, v FROM src"
GROUPS = "SELECT g, sum(v) AS s, count(*) AS n FROM src GROUP BY g"
NAMED = "SELECT s.id, s.v, n.name FROM src s JOIN names n ON s.g = n.g"
RANKED = "SELECT id, v, row_number() OVER (PARTITION BY g ORDER BY v, id) AS r FROM src"
TOP = "SELECT g, v FROM src ORDER BY v DESC, g LIMIT 5"
SHELVES: list[tuple[str, str, Frozen]] = [
    (ROWS, "g < 2", less(1, 2)),
    (ROWS, "v < 0 OR v > 7", lambda r: r[2] is not None and (r[2] < 0 or r[2] > 7)),
    (GROUPS, "g < 2", less(0, 2)),
    (GROUPS, "s > 10", lambda r: r[1] is not None and r[1] > 10),
    (f"SELECT *, v + 1 AS `w x` FROM ({ROWS})", "`w x` < 3", less(3, 3)),
    (NAMED, "name LIKE 'a%'", lambda r: r[2] is not None and r[2].startswith("a")),
    (RANKED, "r < 2", less(2, 2)),
    (TOP, "v > 6", lambda r: r[1] is not None and r[1] > 6),
    ("SELECT DISTINCT g FROM src UNION ALL SELECT v FROM src", "g < 2", less(0, 2)),
    (ROWS, "TRUE", lambda r: True),
    (ROWS, "NULL = id", lambda r: False),
]


@dataclass
class World:
    """Small tables changed at random, with NULLs and duplicates."""

    lab: Lab
    rng: random.Random

    def start(self) -> None:
        self.lab.table("src", "id INT, g INT, v INT")
        self.lab.table("names", "g INT, name STRING", "0, 'ab'", "1, 'b'", "2, 'ac'", "3, NULL")
        self.lab.insert("src", *self._rows(12))

    def _rows(self, count: int) -> list[str]:
        def value(high: int) -> str:
            return "NULL" if self.rng.random() < 0.15 else str(self.rng.randrange(-2, high))

        return [f"{self.rng.randrange(6)}, {value(4)}, {value(10)}" for _ in range(count)]

    def move(self) -> None:
        lab, some_id = self.lab, self.rng.randrange(6)
        lab.insert("src", *self._rows(self.rng.randrange(1, 4)))
        statement = self.rng.choice(
            [
                f"DELETE FROM src WHERE id = {some_id}",
                f"UPDATE src SET v = {self.rng.randrange(-2, 10)} WHERE id = {some_id}",
                f"UPDATE src SET g = {self.rng.randrange(4)} WHERE v = {some_id}",
                "UPDATE names SET name = concat(name, 'x') WHERE g < 2",
            ]
        )
        lab.sql(statement)


def shelves(lab: Lab) -> Iterator[Shelf]:
    for i, (query, where, frozen) in enumerate(SHELVES):
        yield Shelf(lab, f"f{i}", query, where, frozen)


def moved(lab: Lab, seed: int, chosen: list[int], moves: int) -> list[Shelf]:
    """Some of the shelves after random changes, right after each."""
    world = World(lab, random.Random(seed))
    world.start()
    tables = [t for i, t in enumerate(shelves(lab)) if i in chosen]
    modes = {t.name: "FULL" if t.name == "f1" else "INCREMENTAL" for t in tables}
    for table in tables:
        table.create(f"REFRESH_MODE = {modes[table.name]}")
    for _ in range(moves):
        world.move()
        for table in tables:
            table.refresh(modes[table.name], "NO_DATA")
    return tables


def test_frozen_rows_stay(quick_lab: Lab) -> None:
    """A table of mode FULL, and groups whose rows come to the region and leave it."""
    moved(quick_lab, 1, [1, 3], 1)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_frozen_rows_stay_and_all_others_are_the_query_s(quick_lab: Lab, seed: int) -> None:
    for table in moved(quick_lab, seed, list(range(len(SHELVES))), 3):
        verdict = quick_lab.engine.verify(table.name)
        assert verdict.equal, str(verdict)
        assert "not compared" in verdict.note


@pytest.mark.nightly
@pytest.mark.parametrize(
    "mutant", ["TRUE", f"NOT ({{}}) OR {WEIGHT} < 0", f"NOT ({{}}) OR {WEIGHT} > 0"]
)
def test_a_region_that_lets_changes_in_is_noticed(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch, mutant: str
) -> None:
    """No condition at all, one on inserts alone, one on deletes alone."""

    def live(texts: StageTexts, rows: str) -> str:
        weighted = rows if WEIGHT in rows else f"SELECT *, 1 AS {WEIGHT} FROM ({rows})"
        told = mutant.format(texts.region.condition if texts.region else "FALSE")
        return f"SELECT * FROM ({weighted}) WHERE {told}"

    monkeypatch.setattr(StageTexts, "live", live)
    with pytest.raises((AssertionError, DTError)):
        moved(quick_lab, 1, [0, 3], 6)


@pytest.mark.nightly
def test_the_hundredth_refresh_is_as_the_first(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("src", "id INT, g INT, v INT", "1, 1, 60", "2, 2, 2")
    lab.table("names", "g INT, name STRING")
    table = Shelf(lab, "sums", GROUPS, "s > 50", lambda r: r[1] is not None and r[1] > 50)
    table.create()
    for i in range(100):
        lab.insert("src", f"{i}, {i % 7}, {i % 9 - 2}")
        table.follow()
        assert lab.refresh("sums") == "INCREMENTAL"
    table.check()
    assert any(map(table.frozen, table.rows))
