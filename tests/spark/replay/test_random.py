"""Random histories with schema changes: every snapshot as it was made, in both schema modes."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import DataFrame

from dt_jupyter.replay.replay import Replay
from tests.spark.engine_lab import Lab

SEEDS = range(int(os.environ.get("DT_JUPYTER_SEEDS", "1")))
STEPS = 10
MAPPED = {
    "delta.columnMapping.mode": "name",
    "delta.enableTypeWidening": "true",
    "delta.enableDeletionVectors": "true",
}


@dataclass
class Column:
    """A column of the model: `id` is what it is, its name and type may change. A struct has
    fields."""

    id: int
    name: str
    type: str
    fields: list[Column] = field(default_factory=list)

    @property
    def ddl(self) -> str:
        if not self.fields:
            return self.type
        return f"STRUCT<{', '.join(f'{f.name}: {f.ddl}' for f in self.fields)}>"

    def copy(self) -> Column:
        return Column(self.id, self.name, self.type, [f.copy() for f in self.fields])


@dataclass
class History:
    """A table that grows by random statements; `made` holds each version's columns and rows, as
    Spark read them then."""

    lab: Lab
    rng: random.Random
    mapped: bool
    columns: list[Column] = field(default_factory=list)
    made: list[tuple[list[Column], list[tuple[Any, ...]]]] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    next_id: int = 0
    next_key: int = 0

    def begin(self) -> None:
        inner = [self.column("x", "INT"), self.column("y", "STRING")]
        self.columns = [
            self.column("k", "INT"),
            self.column("a", "INT"),
            Column(self.fresh(), "s", "", inner),
        ]
        feed = str(self.rng.random() < 0.7).lower()
        properties = {"delta.enableChangeDataFeed": feed, **(MAPPED if self.mapped else {})}
        pairs = ", ".join(f"'{k}' = '{v}'" for k, v in properties.items())
        listed = ", ".join(f"{c.name} {c.ddl}" for c in self.columns)
        folder = self.lab.context.layout.tables / "h"
        self.run(
            f"CREATE TABLE h ({listed}) USING delta LOCATION '{folder}' TBLPROPERTIES ({pairs})"
        )

    def column(self, name: str, type_: str) -> Column:
        return Column(self.fresh(), name, type_)

    def fresh(self) -> int:
        self.next_id += 1
        return self.next_id

    def run(self, text: str) -> None:
        """The statement, and every version that it made as the table is now."""
        self.log.append(text)
        self.lab.spark.sql(text)
        version = self.lab.context.sources.logs[str(self.lab.context.layout.tables / "h")].version()
        if version >= len(self.made):
            rows = [plain(r) for r in self.lab.spark.table("h").collect()]
            kept = [c.copy() for c in self.columns]
            self.made += [(kept, rows)] * (version + 1 - len(self.made))

    # -- statements -------------------------------------------------------------------------------

    def step(self) -> None:
        choices = [self.insert, self.insert, self.update, self.delete, self.add, self.add_field,
                   self.reorder, self.optimize]  # fmt: skip
        if self.mapped:
            choices += [self.drop, self.rename, self.widen, self.drop_field, self.readd]
        else:
            choices += [self.replace_schema, self.toggle_feed]
        self.rng.choice(choices)()

    def value(self, column: Column) -> str:
        if column.fields:
            if self.rng.random() < 0.2:
                return "NULL"
            inner = ", ".join(f"'{f.name}', {self.value(f)}" for f in column.fields)
            return f"NAMED_STRUCT({inner})"
        if column.name == "k":
            self.next_key += 1
            return str(self.next_key)
        if self.rng.random() < 0.2:
            return f"CAST(NULL AS {column.type})"
        number = self.rng.randint(0, 5)
        text = f"'v{number}'" if column.type == "STRING" else str(number)
        return f"CAST({text} AS {column.type})"

    def values(self) -> str:
        rows = range(self.rng.randint(1, 3))
        return ", ".join(f"({', '.join(self.value(c) for c in self.columns)})" for _ in rows)

    def insert(self) -> None:
        self.run(f"INSERT INTO h VALUES {self.values()}")

    def update(self) -> None:
        column = self.rng.choice(self.columns[1:])
        where = f"k % 3 = {self.rng.randint(0, 2)}"
        self.run(f"UPDATE h SET {column.name} = {self.value(column)} WHERE {where}")

    def delete(self) -> None:
        self.run(f"DELETE FROM h WHERE k % 4 = {self.rng.randint(0, 3)}")

    def optimize(self) -> None:
        self.run("OPTIMIZE h")

    def free_name(self, taken: list[Column]) -> str:
        names = {c.name for c in taken}
        return self.rng.choice([n for n in "abcdefg" if n not in names])

    def add(self) -> None:
        if len(self.columns) > 5:
            return
        made = self.column(self.free_name(self.columns), self.rng.choice(["INT", "STRING"]))
        self.columns.append(made)
        self.run(f"ALTER TABLE h ADD COLUMN {made.name} {made.type}")

    def struct(self) -> Column | None:
        return next((c for c in self.columns if c.fields), None)

    def add_field(self) -> None:
        struct = self.struct()
        if struct is None or len(struct.fields) > 3:
            return
        made = self.column(self.free_name(struct.fields), "INT")
        struct.fields.append(made)
        self.run(f"ALTER TABLE h ADD COLUMN {struct.name}.{made.name} INT")

    def drop_field(self) -> None:
        struct = self.struct()
        if struct is not None and len(struct.fields) > 1:
            gone = struct.fields.pop(self.rng.randrange(len(struct.fields)))
            self.run(f"ALTER TABLE h DROP COLUMN {struct.name}.{gone.name}")

    def reorder(self) -> None:
        column = self.rng.choice(self.columns)
        self.columns.remove(column)
        self.columns.insert(0, column)
        self.run(f"ALTER TABLE h ALTER COLUMN {column.name} FIRST")
        key = next(c for c in self.columns if c.name == "k")
        if self.columns[0] is not key:
            self.columns.remove(key)
            self.columns.insert(0, key)
            self.run("ALTER TABLE h ALTER COLUMN k FIRST")

    def drop(self) -> None:
        if len(self.columns) > 2:
            gone = self.columns.pop(self.rng.randrange(1, len(self.columns)))
            self.run(f"ALTER TABLE h DROP COLUMN {gone.name}")

    def readd(self) -> None:
        """A column goes, and another one of its name comes."""
        plain = [c for c in self.columns[1:] if not c.fields]
        if plain:
            gone = self.rng.choice(plain)
            self.columns.remove(gone)
            self.run(f"ALTER TABLE h DROP COLUMN {gone.name}")
            made = self.column(gone.name, "STRING")
            self.columns.append(made)
            self.run(f"ALTER TABLE h ADD COLUMN {made.name} STRING")

    def rename(self) -> None:
        column = self.rng.choice(self.columns[1:])
        old, column.name = column.name, self.free_name(self.columns)
        self.run(f"ALTER TABLE h RENAME COLUMN {old} TO {column.name}")

    def widen(self) -> None:
        column = next((c for c in self.columns[1:] if c.type == "INT"), None)
        if column is not None:
            column.type = "BIGINT"
            self.run(f"ALTER TABLE h ALTER COLUMN {column.name} TYPE BIGINT")

    def replace_schema(self) -> None:
        """Another schema and partitioning, by name: a column of the same name is the same one."""
        kept = [c for c in self.columns if c.name == "k" or self.rng.random() < 0.6]
        self.columns = kept
        self.add_silently()
        part = next((c.name for c in kept[1:] if not c.fields), None)
        frame = self.lab.spark.sql(
            f"SELECT {', '.join(f'{self.value(c)} AS {c.name}' for c in self.columns)}"
        )
        writer = frame.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer = writer.partitionBy(part) if part is not None else writer
        writer.save(str(self.lab.context.layout.tables / "h"))
        self.log.append(f"overwrite by {[c.name for c in self.columns]} partitioned by {part}")
        self.run("REFRESH TABLE h")

    def add_silently(self) -> None:
        name = self.free_name(self.columns)
        gone = {c.name: c for columns, _ in self.made for c in columns if c.name == name}
        known = gone.get(name)  # by name, an old column of that name is this one
        self.columns.append(
            known.copy() if known is not None else self.column(name, self.rng.choice(["INT"]))
        )

    def toggle_feed(self) -> None:
        on = str(self.rng.random() < 0.5).lower()
        self.run(f"ALTER TABLE h SET TBLPROPERTIES ('delta.enableChangeDataFeed' = '{on}')")

    # -- what is expected -------------------------------------------------------------------------

    def then(self, version: int) -> Counter[str]:
        columns, rows = self.made[version]
        return Counter(told(columns, row) for row in rows)

    def now(self, version: int) -> Counter[str]:
        """The rows of a version in the columns of now."""
        columns, rows = self.made[version]
        return Counter(told(self.columns, projected(columns, r, self.columns)) for r in rows)


def told(columns: list[Column], row: tuple[Any, ...]) -> str:
    """A row as Spark's TO_JSON writes it."""
    return json.dumps(named(columns, row), separators=(",", ":"))


def named(columns: list[Column], row: tuple[Any, ...]) -> dict[str, Any]:
    return {
        c.name: named(c.fields, v) if c.fields and v is not None else v
        for c, v in zip(columns, row, strict=True)
    }


def projected(old: list[Column], row: tuple[Any, ...], new: list[Column]) -> tuple[Any, ...]:
    """A row in other columns, each followed by its id."""
    values = {c.id: (c, v) for c, v in zip(old, row, strict=True)}
    found = []
    for column in new:
        was, value = values.get(column.id, (None, None))
        if was is not None and column.fields and value is not None:
            value = projected(was.fields, tuple(value), column.fields)
        found.append(value)
    return tuple(found)


def plain(row: Any) -> Any:
    return tuple(plain(v) if isinstance(v, tuple) else v for v in row)


def rows_of(replay: Replay) -> list[Counter[str]]:
    """The rows of each step, all by one job."""
    whole = "TO_JSON(STRUCT(*), MAP('ignoreNullFields', 'false'))"
    frames = [replay.frame(i).selectExpr(f"{i} AS step", whole) for i in range(len(replay))]
    found: list[Counter[str]] = [Counter() for _ in frames]
    for step, row in reduce(DataFrame.unionAll, frames).collect():
        found[step][row] += 1
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_every_snapshot_in_both_modes(quick_lab: Lab, seed: int) -> None:
    rng = random.Random(seed)
    history = History(quick_lab, rng, mapped=rng.random() < 0.6)
    history.begin()
    for _ in range(STEPS):
        history.step()
    last = len(history.made) - 1
    digests: dict[str, list[str | None]] = {}
    for mode in ("snapshot_time", "current"):
        with quick_lab.engine.replay("h", at=0, to=last, schema_mode=mode) as replay:
            assert len(replay) == last + 1
            digests[mode] = [s.digest for s in replay]
            for version, found in enumerate(rows_of(replay)):
                wanted = history.then(version) if mode != "current" else history.now(version)
                facts = (seed, mode, version, history.log)
                assert found == wanted, facts
                step = replay[version]
                assert step.row_count == wanted.total(), facts
                if step.inserted is not None and step.deleted is not None:
                    grown = wanted.total() - replay[version - 1].row_count
                    assert step.inserted - step.deleted == grown, facts
            one = rng.randrange(last + 1)
            arrow = [tuple(r.values()) for r in replay.to_arrow(one).to_pylist()]
            assert len(arrow) == replay[one].row_count
    for mode, known in digests.items():
        version = rng.randrange(last + 1)
        with quick_lab.engine.replay("h", at=version, schema_mode=mode) as alone:
            assert alone[0].digest == known[version], (seed, mode, version, history.log)
