"""The checker of histories, over what the engine itself did."""

from __future__ import annotations

import random
from threading import Event, Thread
from typing import Any
from unittest.mock import patch

import pytest

from dt_jupyter.engine import Engine
from dt_jupyter.histories import (
    DeriveEvent,
    Guarantee,
    HistoryEvent,
    PhenomenonKind,
    ReadEvent,
    WriteEvent,
    check_history,
)
from dt_jupyter.lake.write.failpoints import hooked
from dt_jupyter.model import Level
from dt_jupyter.reports import read_lake_history
from dt_jupyter.streams import ChangeRows, Streams
from tests.spark.engine_lab import Lab, refused

_ALL = tuple(Guarantee)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _events(lab: Lab) -> list[HistoryEvent]:
    return list(lab.context.travel.recorded().events)


def test_derivations_and_what_queries_read(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql("CREATE TABLE x (n INT); INSERT INTO x VALUES (1)")
    lab.dynamic_table("y", "SELECT n + 1 AS n FROM x")
    lab.dynamic_table("z", "SELECT n * 2 AS n FROM x")
    lab.sql("INSERT INTO x VALUES (2)")
    lab.refresh("y")
    lab.sql("SELECT * FROM y; SELECT * FROM z")
    assert lab.engine.check_history().guarantees == _ALL
    lab.sql("SELECT * FROM y JOIN z USING (n)")  # figure 2 of the paper
    report = lab.engine.check_history()
    assert PhenomenonKind.G_SINGLE in report.kinds
    assert report.guarantees == (Guarantee.READ_COMMITTED,)
    assert "query 3" in str(report)
    lab.dynamic_table("v", "SELECT n FROM y JOIN z USING (n)")  # brings both to one time
    lab.sql("OPTIMIZE x")
    lab.context.travel.queries.clear()
    lab.engine.sql("SELECT * FROM y, z, x", consistent=True).collect()
    report = lab.engine.check_history()
    assert report.guarantees == _ALL
    kinds = [type(e) for e in _events(lab)]
    assert (kinds.count(WriteEvent), kinds.count(DeriveEvent), kinds.count(ReadEvent)) == (2, 5, 3)


def test_a_transaction_reads_one_snapshot(quick_lab: Lab) -> None:
    """Its second stream is first read after another transaction has written to both tables."""
    lab = quick_lab
    lab.sql("CREATE TABLE a (n INT); CREATE TABLE b (n INT); CREATE TABLE both (t STRING, n INT)")
    lab.sql("CREATE STREAM sa ON TABLE a; CREATE STREAM sb ON TABLE b")
    lab.sql("INSERT INTO a VALUES (0); INSERT INTO b VALUES (0)")
    with Engine.connect(lab.folder, spark=lab.spark, scheduler=False) as other:
        lab.sql("BEGIN; INSERT INTO both SELECT 'a', n FROM sa")
        other.sql("BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); COMMIT")
        lab.sql("INSERT INTO both SELECT 'b', n FROM sb; COMMIT")
    report = lab.engine.check_history()
    reads = [e for e in _events(lab) if isinstance(e, ReadEvent)]
    assert len(reads) == 2
    assert lab.rows("both") == [("a", 0), ("b", 0)]
    assert report.guarantees == _ALL, str(report)


def test_several_streams_are_read_at_one_time(quick_lab: Lab) -> None:
    """Another transaction commits after the first of them was read, in one statement and in a
    transaction; one that it has moved meanwhile is not read at two."""
    lab = quick_lab
    lab.sql("CREATE TABLE a (n INT); CREATE TABLE b (n INT); CREATE TABLE both (n INT)")
    lab.sql("CREATE STREAM sa ON TABLE a; CREATE STREAM sb ON TABLE b; CREATE STREAM sc ON TABLE b")
    streams, read, written = lab.context.streams, Streams.rows, []
    with Engine.connect(lab.folder, spark=lab.spark, scheduler=False) as other:

        def reading(self: Streams, *args: Any) -> ChangeRows:
            rows = read(self, *args)
            if self is streams and not written:
                written.append(1)
                other.sql("BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (1); COMMIT")
            return rows

        with patch.object(Streams, "rows", reading):
            lab.sql("INSERT INTO both SELECT n FROM sa UNION ALL SELECT n FROM sb")
        assert lab.rows("both") == []
        lab.sql("INSERT INTO both SELECT n FROM sa UNION ALL SELECT n FROM sb")
        assert lab.rows("both") == [(1,), (1,)]
        lab.sql("BEGIN; INSERT INTO both SELECT n FROM sa")
        other.sql("INSERT INTO b VALUES (2); INSERT INTO both SELECT n FROM sc")
        with refused("DT-3203"):
            lab.sql("INSERT INTO both SELECT n FROM sc")
        lab.sql("ROLLBACK")
    report = lab.engine.check_history()
    assert report.guarantees == _ALL, str(report)


def test_a_refresh_reads_all_of_a_transaction_or_nothing(quick_lab: Lab) -> None:
    """It begins when the first of two tables is written; both commits are of one time, also where
    another process finishes them."""
    lab = quick_lab
    lab.table("a", "n INT")
    lab.table("b", "n INT")
    lab.dynamic_table("d", "SELECT n FROM a UNION ALL SELECT n FROM b")
    waits, refreshes = Event(), []

    def refresh() -> None:
        lab.engine.refresh("d")
        waits.set()

    def begin_refresh() -> None:
        if not refreshes:
            refreshes.append(Thread(target=refresh))
            refreshes[0].start()
            assert waits.wait(60)

    with hooked("tx_target_published", begin_refresh), hooked("awaits_publication", waits.set):
        lab.sql("BEGIN; INSERT INTO a VALUES (1); INSERT INTO b VALUES (2); COMMIT")
    refreshes[0].join()
    assert lab.rows("d") in ([], [(1,), (2,)])
    with pytest.raises(KeyboardInterrupt), hooked("tx_target_published", _interrupt):
        lab.sql("BEGIN; INSERT INTO a VALUES (3); INSERT INTO b VALUES (4); COMMIT")
    lab.insert("a", "5")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(1,), (2,), (3,), (4,), (5,)]
    logs = [lab.context.sources.logs[str(lab.context.layout.tables / t)] for t in "ab"]
    assert [len({log.commit_time(v) for log in logs}) for v in (1, 2)] == [1, 1]
    report = lab.engine.check_history()
    assert report.guarantees == _ALL, str(report)


@pytest.mark.nightly
def test_snapshots_by_label_are_snapshots_by_history(quick_lab: Lab) -> None:
    lab, chance = quick_lab, random.Random(7)
    lab.sql("CREATE TABLE a (n INT); CREATE TABLE b (n INT)")
    tables = {"y": "a", "z": "b", "v": "y JOIN z USING (n)"}
    for name, source in tables.items():
        lab.dynamic_table(name, f"SELECT n FROM {source}")
    for step in range(14):
        match chance.choice(["one", "both", "refresh", "refresh"]):
            case "one":
                lab.sql(f"INSERT INTO {chance.choice('ab')} VALUES ({step})")
            case "both":
                each = "; ".join(f"INSERT INTO {t} VALUES ({step})" for t in "ab")
                lab.sql(f"BEGIN; {each}; COMMIT")
            case _:
                lab.refresh(chance.choice([*tables]))
        read = ", ".join(chance.sample([*tables, "a", "b"], 3))
        lab.engine.sql(f"SELECT 1 FROM {read}", consistent=chance.random() < 0.3)
    travel, found = lab.context.travel, set()
    for query in travel.queries:
        level = query[1].level
        place = lab.context
        history = read_lake_history(place.catalog, place.sources.logs, place.layout, [query])
        kinds = check_history(history).kinds
        found.add((level, PhenomenonKind.G_SINGLE in kinds))
        assert level is Level.READ_COMMITTED or not kinds, str(query[1])
    assert {(Level.SNAPSHOT, False), (Level.READ_COMMITTED, True)} <= found
