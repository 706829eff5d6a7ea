"""Of many tables that are due those of which nothing is new are moved in one transaction; the
others are left as they are, and their refreshes tell what is to be done."""

from __future__ import annotations

import random
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.java_gateway import JavaMember
from sqlalchemy import Connection, event

from dt_jupyter.engine.scheduling import EnginePort
from dt_jupyter.evaluation import evaluator
from dt_jupyter.model import Name, Reason
from dt_jupyter.schedule import Scheduler, Start
from dt_jupyter.sources import source_names
from dt_jupyter.spark import CatalogRelation
from tests.cases import some
from tests.spark.engine_lab import Lab

if TYPE_CHECKING:
    import pyarrow as pa
    from duckdb import DuckDBPyConnection
    from pyspark.sql import SparkSession


class Ended:
    """A worker whose work is done."""

    def __init__(self, work: Callable[[], None], name: str) -> None:
        work()

    def join(self, timeout: float | None = None) -> None:
        pass

    def is_alive(self) -> bool:
        return False


@contextmanager
def asked(lab: Lab) -> Iterator[Counter[str]]:
    """What the catalog's file is asked while the block runs: statements of all kinds, and
    transactions that read, that write, and that wait for the disk."""
    counts, engine = Counter[str](), lab.context.catalog._engine.engine

    def count(connection: Connection, _: object, text: str, *__: object) -> None:
        known = {"BEGIN": "reads", "BEGIN IMMEDIATE": "writes"}
        counts[known.get(text, "statements")] += not text.startswith("PRAGMA")
        if text == "BEGIN IMMEDIATE" and connection.info["dt_synchronous"] == "FULL":
            counts["durable"] += 1

    event.listen(engine, "before_cursor_execute", count)
    yield counts
    event.remove(engine, "before_cursor_execute", count)


def test_a_refresh_of_little_asks_the_catalog_little(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, v INT", "1, 10", "2, 20")
    lab.sql("CREATE VIEW seen AS SELECT id, v FROM item")
    queries = {
        "kept": "SELECT id, v FROM item",
        "over": "SELECT v, count(*) AS n FROM seen GROUP BY v",
    }
    for name, query in queries.items():
        lab.dynamic_table(name, query)
    for name in queries:
        lab.refresh(name)
        with asked(lab) as nothing:
            assert str(lab.engine.refresh(name).action) == "NO_DATA"
        assert (nothing["reads"], nothing["writes"], nothing["durable"]) == (2, 1, 1), nothing
        assert nothing["statements"] <= 20, nothing
    lab.insert("item", "3, 30")
    for name in queries:
        with asked(lab) as one:
            assert str(lab.engine.refresh(name).action) == "INCREMENTAL"
        assert (one["writes"], one["durable"]) == (2, 1), one
        assert one["statements"] <= 40, one
        assert one["reads"] <= 8, one
    lab.verified(*queries)


@pytest.mark.parametrize("most", some(1, [40, 300]))
def test_a_refresh_asks_as_little_of_a_wide_table(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    """The sums of 300 columns were once more conditions than Python has frames."""
    lab, calls, texts = quick_lab, Counter[str](), list[str]()
    call, run = JavaMember.__call__, evaluator._all_rows

    def count(member: JavaMember, *args: object) -> object:
        calls["of Java"] += 1
        return call(member, *args)

    def read(connection: DuckDBPyConnection, sql: str) -> pa.Table | None:
        texts.append(sql)
        return run(connection, sql)

    asked: dict[str, dict[int, tuple[int, list[str]]]] = {"star": {}, "sums": {}}
    for width in (2, most):
        listed = ", ".join(f"id + {i} AS c{i}" for i in range(width))
        sums = ", ".join(f"sum(c{i}) AS s{i}" for i in range(width))
        lab.sql(f"CREATE TABLE of_{width} AS SELECT id, {listed} FROM range(9)")
        lab.dynamic_table(f"star_{width}", f"SELECT * FROM of_{width}")
        lab.dynamic_table(f"sums_{width}", f"SELECT id % 2 AS g, {sums} FROM of_{width} GROUP BY 1")
        lab.sql(f"UPDATE of_{width} SET c1 = c1 + 1 WHERE id > 4")
        for name, known in asked.items():
            calls.clear(), texts.clear()
            with monkeypatch.context() as patch:
                patch.setattr(JavaMember, "__call__", count)
                patch.setattr(evaluator, "_all_rows", read)
                assert lab.refresh(f"{name}_{width}") == "INCREMENTAL"
            known[width] = (calls["of Java"], list(texts))
        lab.verified(f"star_{width}", f"sums_{width}")
    for known in asked.values():
        assert known[most][0] <= known[2][0] <= 32, known
        assert len(known[most][1]) == len(known[2][1]) == 1, "a statement was left to Spark"
    (narrow,), (wide,) = (asked["star"][width][1] for width in (2, most))
    assert re.sub(r"c\d+", "c", narrow) == re.sub(r"c\d+", "c", wide)


def test_what_plain_spark_commits_goes_down_a_chain_of_seconds_at_one_time(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT, v INT", "1, 10", "2, 20")
    lab.dynamic_table("low", "SELECT id, v FROM item")
    lab.sql("CREATE DYNAMIC TABLE high TARGET_LAG = '2 seconds' AS SELECT sum(v) AS s FROM low")
    lab.sql("CREATE DYNAMIC TABLE slow TARGET_LAG = '5 minutes' AS SELECT max(v) AS m FROM low")
    port = EnginePort(lab.context.graph)
    scheduler = Scheduler(port, lab.context.clock, spawn=Ended, newest=port.newest)
    scheduler._round()  # from here on it knows the log
    assert not scheduler._waves.look()
    lab.spark.sql("INSERT INTO item VALUES (3, 30)")
    assert scheduler._waves.look()
    slow = lab.engine.table("slow").data_timestamp
    for _ in range(2):
        scheduler._round()
    low, high = (lab.engine.records(name, 1)[0] for name in ("low", "high"))
    assert low.data_timestamp == high.data_timestamp == scheduler._waves._time
    assert (str(low.action), str(high.action)) == ("INCREMENTAL", "INCREMENTAL")
    assert lab.engine.table("slow").data_timestamp == slow
    assert lab.rows("high") == [(60,)]
    assert port.newest("s3a://elsewhere/item") is None
    assert port.problems == []


def due(lab: Lab, *names: str) -> tuple[EnginePort, list[str]]:
    """A port, and those of the tables that it moved."""
    port, t = EnginePort(lab.context.graph), lab.context.clock.now()
    ids = {lab.engine.table(name).id: name for name in names}
    done = port.move_unchanged([(dt_id, t) for dt_id in ids])
    for dt_id, name in ids.items():
        assert (lab.engine.table(name).data_timestamp == t) == (dt_id in done), name
    return port, sorted(ids[dt_id] for dt_id in done)


def test_only_what_has_nothing_new_is_moved(quick_lab: Lab) -> None:
    lab = quick_lab
    for name in ("calm", "busy", "gone"):
        lab.table(name, "id INT, v INT", "1, 10", "2, 20")
    lab.sql("CREATE VIEW seen AS SELECT id, v FROM calm")
    queries = {
        "of_calm": "SELECT id, v + 1 AS v FROM calm",
        "sums": "SELECT v % 2 AS g, sum(id) AS s FROM calm GROUP BY v % 2",
        "of_busy": "SELECT id FROM busy",
        "both": "SELECT c.id FROM calm c JOIN busy b ON c.id = b.id",
        "of_gone": "SELECT id FROM gone",
        "of_view": "SELECT id, v FROM seen",
        "over": "SELECT id FROM of_calm",
        "over_busy": "SELECT id FROM of_busy",
    }
    for name, query in queries.items():
        lab.dynamic_table(name, query)
    lab.dynamic_table("later", "SELECT id FROM calm", "INITIALIZE = ON_SCHEDULE")
    lab.insert("busy", "3, 30")
    lab.sql("CREATE OR REPLACE VIEW seen AS SELECT id, v * 2 AS v FROM calm")
    shutil.rmtree(lab.context.layout.tables / "gone")
    before = {name: lab.rows(name) for name in queries}
    _, moved = due(lab, "of_calm", "sums", "of_busy", "both", "of_gone", "of_view", "later")
    assert moved == ["of_calm", "sums"]
    assert {name: lab.rows(name) for name in queries if name != "of_gone"} == {
        name: rows for name, rows in before.items() if name != "of_gone"
    }
    record = lab.engine.records("sums", 1)[0]
    assert (str(record.action), str(record.trigger)) == ("NO_DATA", "SCHEDULED")
    assert lab.version("sums") == lab.engine.table("sums").version
    lab.verified("of_calm", "sums")


def test_who_reads_them_is_moved_at_the_same_data_timestamp(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT", "1")
    lab.dynamic_table("low", "SELECT id FROM item")
    lab.dynamic_table("high", "SELECT count(*) AS n FROM low")
    port, t = EnginePort(lab.context.graph), lab.context.clock.now()
    low, high = (lab.engine.table(name).id for name in ("low", "high"))
    assert port.move_unchanged([(high, t)]) == frozenset()  # `low` has no version for t yet
    assert port.move_unchanged([(low, t)]) == {low}
    assert port.move_unchanged([(high, t), (low, t)]) == {high}  # once
    lab.insert("item", "2")
    later = lab.context.clock.now()
    assert port.move_unchanged([(low, later)]) == frozenset()
    port.run(Start(low, later, Reason("TICK", "")))
    assert port.move_unchanged([(high, later)]) == frozenset()
    port.run(Start(high, later, Reason("TICK", "")))
    assert lab.rows("high") == [(2,)]
    lab.verified("low", "high")


def test_a_chain_is_moved_in_one_transaction_and_each_name_looked_up_once(
    quick_lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = quick_lab
    lab.table("item", "id INT, v INT", "1, 10")
    lab.table("other", "id INT, v INT", "1, 10")
    chain = [f"c{i}" for i in range(8)]
    for i, name in enumerate(chain):
        lab.dynamic_table(name, f"SELECT id, v + 1 AS v FROM {chain[i - 1] if i else 'item'}")
    lab.dynamic_table("wide", "SELECT i.id FROM item i JOIN other o USING (id) JOIN c3 USING (id)")
    asked: list[str] = []
    look_up = source_names.lookup
    sources = lab.context.refresher.sources

    def count(spark: SparkSession, name: Name, **how: bool) -> CatalogRelation | None:
        asked.append(str(name))
        return look_up(spark, name, **how)

    monkeypatch.setattr(lab.context.refresher, "sources", replace(sources, look_up=count))
    written: list[int] = []
    monkeypatch.setattr(lab.context.catalog, "written", lambda: written.append(1))
    _, moved = due(lab, *chain, "wide")
    assert moved == sorted([*chain, "wide"])
    assert sorted(asked) == ["item", "other"]
    assert len(written) == 2  # the versions of the sources, and all the rest
    lab.verified(*chain, "wide")


def test_one_that_another_process_refreshes_is_left(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("item", "id INT", "1")
    for name in ("a", "b"):
        lab.dynamic_table(name, "SELECT id FROM item")
    catalog, t = lab.context.catalog, lab.context.clock.now()
    a, b = (lab.engine.table(name).id for name in ("a", "b"))
    catalog.begin(a, lab.engine.records("a", 1)[0].trigger, t, "elsewhere", ttl=600)
    assert EnginePort(lab.context.graph).move_unchanged([(a, t), (b, t)]) == {b}


@pytest.mark.parametrize("seed", some(1, range(3)))
def test_a_graph_is_moved_at_once_as_far_as_table_by_table(quick_lab: Lab, seed: int) -> None:
    """Views, replaced and renamed sources among it; what is moved is what its query gives."""
    lab, rng = quick_lab, random.Random(seed)
    bases = [f"base_{i}" for i in range(4)]
    for name in bases:
        lab.table(name, "id INT, v INT", "1, 10", "2, 20")
    lab.sql("CREATE VIEW seen AS SELECT id, v FROM base_0")
    names: list[str] = []
    for i in range(12):
        one, other = (rng.choice([*bases, "seen", *names, *names]) for _ in range(2))
        query = rng.choice(
            (
                f"SELECT id, v + 1 AS v FROM {one}",
                f"SELECT v AS id, CAST(sum(id) AS INT) AS v FROM {one} GROUP BY v",
                f"SELECT l.id, r.v FROM {one} l JOIN {other} r USING (id)",
            )
        )
        lab.dynamic_table(f"n{i}", query)
        names.append(f"n{i}")
    for name in names:  # all at one data timestamp, or tables would read past ones
        lab.refresh(name)
    change = rng.choice(
        (
            lambda: lab.insert("base_1", "3, 30"),
            lambda: lab.sql("CREATE OR REPLACE VIEW seen AS SELECT id, v * 2 AS v FROM base_0"),
            lambda: lab.sql("ALTER TABLE base_2 RENAME TO moved"),
            lambda: lab.sql("CREATE OR REPLACE TABLE base_3 AS SELECT 5 AS id, 6 AS v"),
        )
    )
    change()
    before = {name: lab.rows(name) for name in names}
    ids = {lab.engine.table(name).id: name for name in names}
    port, clock = EnginePort(lab.context.graph), lab.context.clock
    t = clock.now()
    at_once = port.move_unchanged([(dt_id, t) for dt_id in ids])
    t = clock.now()
    one_by_one = {dt_id for dt_id in ids if port.move_unchanged([(dt_id, t)])}
    assert at_once == one_by_one
    assert {name: lab.rows(name) for name in names} == before
    actions = {str(lab.engine.records(ids[dt_id], 1)[0].action) for dt_id in at_once}
    assert actions <= {"NO_DATA"}
    lab.verified(*(ids[dt_id] for dt_id in at_once))


def test_files_that_have_come_are_left_to_a_refresh(quick_lab: Lab, tmp_path: Path) -> None:
    lab, folder = quick_lab, tmp_path / "inbox"
    lab.spark.range(3).write.parquet(str(folder))
    lab.sql(f"CREATE TABLE inbox USING parquet LOCATION '{folder}'")
    lab.table("item", "id LONG", "1")
    lab.dynamic_table("of_files", "SELECT id FROM inbox")
    lab.dynamic_table("of_path", f"SELECT id FROM parquet.`{folder}`")
    lab.dynamic_table("both", "SELECT id FROM of_files JOIN item USING (id)")
    assert due(lab, "of_files", "of_path", "both")[1] == ["both", "of_files", "of_path"]
    lab.spark.range(3, 5).write.mode("append").parquet(str(folder))
    assert due(lab, "of_files", "of_path", "both")[1] == []
    for name in ("of_path", "both"):
        lab.refresh(name)
    assert lab.rows("of_files") == [(i,) for i in range(5)]
    assert due(lab, "of_files", "of_path", "both")[1] == ["both", "of_files", "of_path"]
    lab.verified("of_files", "of_path", "both")
