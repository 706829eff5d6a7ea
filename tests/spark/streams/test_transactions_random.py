"""Random small transactions against a model in plain Python."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass, field, replace

import pytest

from tests.spark.engine_lab import Lab, refused
from tests.spark.streams.test_transactions import KEPT, clean

SEEDS = range(int(os.environ.get("DT_JUPYTER_SEEDS", "1")))
TRANSACTIONS = 3
VALUES = range(6)


@dataclass(frozen=True)
class Model:
    """What is there: numbers with repetition, by table, and what the stream has not given yet."""

    sums: tuple[int, ...] = ()
    seen: tuple[int, ...] = ()
    waiting: tuple[int, ...] = ()

    def keep(self, table: str, values: list[int]) -> Model:
        return replace(self, **{table: tuple(sorted(values))})  # type: ignore[arg-type]


@dataclass
class Story:
    """Statements at random, run and modelled; those of a failed seed are in `told`."""

    lab: Lab
    random: random.Random
    told: list[str] = field(default_factory=list)

    def run(self, sql: str) -> None:
        self.told.append(sql)
        self.lab.sql(sql)

    def step(self, now: Model, stream: list[int]) -> tuple[Model, bool]:
        """One statement of a transaction that reads `stream`; whether it consumed it."""
        table = self.random.choice(["sums", "seen"])
        held: list[int] = list(getattr(now, table))
        k = self.random.choice(VALUES)
        match self.random.choice(["insert", "update", "delete", "merge", "take", "take", "fail"]):
            case "insert":
                self.run(f"INSERT INTO {table} VALUES ({k}), ({k + 1})")
                return now.keep(table, [*held, k, k + 1]), False
            case "update":
                self.run(f"UPDATE {table} SET n = n + 1 WHERE n > {k}")
                return now.keep(table, [n + (n > k) for n in held]), False
            case "delete":
                self.run(f"DELETE FROM {table} WHERE n = {k}")
                return now.keep(table, [n for n in held if n != k]), False
            case "merge":
                self.run(
                    f"MERGE INTO {table} t USING (SELECT DISTINCT n FROM s) c ON t.n = c.n "
                    "WHEN MATCHED THEN UPDATE SET n = t.n + 100 "
                    "WHEN NOT MATCHED THEN INSERT (n) VALUES (c.n)"
                )
                known = set(stream)
                moved = [n + 100 if n in known else n for n in held]
                return now.keep(table, [*moved, *(known - set(held))]), True
            case "take":
                self.run(f"INSERT INTO {table} SELECT n FROM s")
                return now.keep(table, [*held, *stream]), True
        with refused("DT-1033"):
            self.run(f"INSERT INTO {table} SELECT n DIV 0 FROM source")
        return now, False

    def transaction(self, before: Model) -> Model:
        """From BEGIN to COMMIT or ROLLBACK, with a row for the stream that comes meanwhile."""
        stream, consumed, now = list(before.waiting), False, before
        self.run("BEGIN")
        self.run("SELECT n FROM s")  # from here on the stream is what it is
        late = self.random.choice(VALUES)
        self.lab.spark.sql(f"INSERT INTO source VALUES ({late})")
        for _ in range(self.random.randint(1, 4)):
            now, took = self.step(now, stream)
            consumed = consumed or took
            self.agree(now, "dt")
        waiting = (*stream, late)
        if self.random.random() < 0.3:
            self.run("ROLLBACK")
            return replace(before, waiting=waiting)
        self.run("COMMIT")
        return replace(now, waiting=(late,) if consumed else waiting)

    def agree(self, now: Model, reader: str) -> None:
        """Both tables as the model has them: by the engine's statements, or from outside."""
        run = self.lab.engine.sql if reader == "dt" else self.lab.spark.sql
        query = "SELECT 'sums' AS t, n FROM sums UNION ALL SELECT 'seen', n FROM seen"
        found = sorted(tuple(r) for r in run(query).collect())
        wanted = sorted([("sums", n) for n in now.sums] + [("seen", n) for n in now.seen])
        assert found == wanted, "\n".join(self.told)


@pytest.mark.parametrize("seed", SEEDS)
def test_transactions_do_what_a_model_does(quick_lab: Lab, seed: int) -> None:
    story = Story(quick_lab, random.Random(seed))
    quick_lab.sql(
        f"CREATE TABLE source {KEPT} AS SELECT 1 AS n; CREATE TABLE sums AS SELECT 0 AS n; "
        "CREATE TABLE seen (n INT) TBLPROPERTIES ('delta.enableDeletionVectors' = 'false'); "
        "CREATE STREAM s ON TABLE source SHOW_INITIAL_ROWS = TRUE"
    )
    now = Model(sums=(0,), waiting=(1,))
    for _ in range(TRANSACTIONS):
        now = story.transaction(now)
        story.agree(now, "outside")
        assert clean(quick_lab)
        held = sorted(n for (n,) in quick_lab.sql("SELECT n FROM s"))
        assert held == sorted(now.waiting), "\n".join(story.told)
