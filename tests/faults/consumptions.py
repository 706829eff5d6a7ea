"""Every way to consume a stream, into tables that add up: what is there twice is not what is there
once."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from dt_jupyter.engine import Engine
from dt_jupyter.lake import list_folders
from dt_jupyter.lake.write.failpoints import INTENT_POINTS, TRANSACTIONS
from dt_jupyter.model import DTError
from dt_jupyter.spark import text_of_path
from tests.spark.engine_lab import Lab

RACED = {"DT-3203", "DT-3208", "DT-5107"}
"""What the loser of a race is told; nothing of it happened."""
LADDER = 10_000
_LONG_AGO = 1_790_000_000
_TWICE = {"tx_statement_staged", "tx_target_published"}
_NAMED = tuple(f"{p}:{n}" for p in TRANSACTIONS for n in ((1, 2) if p in _TWICE else (1,)))
UNDECIDED = {
    "intent_recorded:1",
    "tx_intent_recorded:1",
    "tx_statement_staged:1",
    "tx_statement_staged:2",
}
"""Whoever is killed there has done nothing; at all other points, all of it."""


@dataclass(frozen=True)
class Consumption:
    """`consume` takes what the stream `s` on `events` holds into tables that `setup` made, and
    `counted` is the query of how many of the events are in them; it can be killed at `points`."""

    setup: str
    consume: Callable[[Engine], object]
    counted: str
    points: tuple[str, ...] = tuple(f"{p}:1" for p in INTENT_POINTS)

    def run(self, engine: Engine) -> str:
        """What it came to: `done`, or the code of a lost race."""
        try:
            self.consume(engine)
        except DTError as e:
            if e.code not in RACED:
                raise
            if engine.context.transactions.current is not None:
                engine.sql("ROLLBACK")
            return e.code
        return "done"


def _sql(script: str) -> Callable[[Engine], object]:
    return lambda engine: engine.sql(script)


def _tick(engine: Engine) -> None:
    """As the scheduler does at a tick; here the next one comes with the next millisecond, and a
    tick is one moment, however long its runs take: each second one is due."""
    workers = engine.context.scheduling.tasks
    moment = engine.context.clock.now().plus((time.time() - _LONG_AGO) * 10_000)
    workers.now = lambda: moment
    while True:
        workers.look()
        going = list(workers._workers.values())
        if not going:
            return
        for worker in going:
            worker.join()


def _in_a_block(engine: Engine) -> None:
    with engine.transaction() as tx:
        tx.sql("UPDATE total SET n = n + (SELECT count(*) FROM s)")
        tx.insert(tx.rows("other").selectExpr("0L AS n"), "listed")


def _in_a_loop(engine: Engine) -> None:
    def add(rows: object) -> object:
        engine.sql("UPDATE total SET n = n + (SELECT count(*) FROM s)")
        return rows.selectExpr("0L AS n")  # type: ignore[attr-defined]

    engine.consume("s", add, into="listed", batches=1)  # type: ignore[arg-type]


ADDED = "CREATE TABLE total AS SELECT 0L AS n"
BOTH = (
    f"{ADDED}; CREATE TABLE listed (n BIGINT); "
    "CREATE STREAM other ON TABLE events SHOW_INITIAL_ROWS = TRUE"
)
EQUAL = (
    "SELECT CASE WHEN (SELECT sum(n) FROM total) = (SELECT count(*) FROM listed) "
    "THEN (SELECT sum(n) FROM total) END"
)
"""Of two tables that are written together; NULL where only one of them was."""

CONSUMPTIONS = {
    "insert": Consumption(
        ADDED, _sql("INSERT INTO total SELECT 1L FROM s"), "SELECT sum(n) FROM total"
    ),
    "overwrite": Consumption(
        ADDED, _sql("INSERT OVERWRITE total SELECT n FROM total UNION ALL SELECT 1L FROM s"),
        "SELECT sum(n) FROM total",
    ),
    "merge": Consumption(
        ADDED,
        _sql("MERGE INTO total t USING (SELECT count(*) AS n FROM s) c ON t.n >= 0 "
             "WHEN MATCHED THEN UPDATE SET n = t.n + c.n"),
        "SELECT sum(n) FROM total",
    ),
    "update": Consumption(
        ADDED, _sql("UPDATE total SET n = n + (SELECT count(*) FROM s)"),
        "SELECT sum(n) FROM total",
    ),
    "delete": Consumption(
        f"CREATE TABLE ladder AS SELECT id AS n FROM range({LADDER})",
        _sql("DELETE FROM ladder WHERE n IN (SELECT n FROM (SELECT n, row_number() OVER "
             "(ORDER BY n DESC) AS k FROM ladder) r WHERE k <= (SELECT count(*) FROM s))"),
        f"SELECT {LADDER} - count(*) FROM ladder",
    ),
    "create table": Consumption(
        "", lambda engine: engine.sql(f"CREATE TABLE made_{uuid.uuid4().hex} AS SELECT n FROM s"),
        "",
    ),
    "execute task": Consumption(
        f"{ADDED}; CREATE TASK load AS INSERT INTO total SELECT 1L FROM s",
        _sql("EXECUTE TASK load"),
        "SELECT sum(n) FROM total",
    ),
    "task": Consumption(
        f"{ADDED}; CREATE TASK load SCHEDULE = '1 second' AS INSERT INTO total SELECT 1L FROM s; "
        "ALTER TASK load RESUME",
        _tick, "SELECT sum(n) FROM total",
    ),
    "task of a block": Consumption(
        f"{BOTH}; CREATE TASK load SCHEDULE = '1 second' AS BEGIN UPDATE total SET n = n + "
        "(SELECT count(*) FROM s); INSERT INTO listed SELECT 0L FROM other; END; "
        "ALTER TASK load RESUME",
        _tick, EQUAL, _NAMED,
    ),
    "transaction": Consumption(
        BOTH,
        _sql("BEGIN; UPDATE total SET n = n + (SELECT count(*) FROM s); "
             "INSERT INTO listed SELECT 0L FROM other; COMMIT"),
        EQUAL, _NAMED,
    ),
    "dt.transaction": Consumption(BOTH, _in_a_block, EQUAL, _NAMED),
    "dt.consume": Consumption(BOTH, _in_a_loop, EQUAL, _NAMED),
}  # fmt: skip


def counted(lab: Lab, way: str) -> int:
    """How many events the tables have taken in."""
    known = CONSUMPTIONS[way]
    if known.counted:
        ((count,),) = lab.spark.sql(known.counted).collect()
        return int(count)
    made = [f for f, _ in list_folders(lab.context.layout.tables) if f.name.startswith("made_")]
    return sum(lab.spark.read.format("delta").load(text_of_path(f)).count() for f in made)
