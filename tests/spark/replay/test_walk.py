"""A walk over snapshots: what each holds, what moved, who made it; the same every time."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import dt_jupyter.replay.snapshot_rows as rows_of_replay
from dt_jupyter.engine import Engine
from dt_jupyter.replay.replay import Replay, Step
from dt_jupyter.spark.jobs import count_jobs, run_cancellable
from tests.spark.engine_lab import Lab, refused


@pytest.fixture(scope="module")
def item(shared_lab: Lab) -> Lab:
    """Versions: 0 made, 1 two rows, 2 one more, 3 an update, 4 a delete, 5 the same again."""
    shared_lab.table("item", "id INT, name STRING", "1, 'rug'", "2, 'car'")
    shared_lab.insert("item", "3, 'pen'")
    shared_lab.sql("UPDATE item SET name = 'mat' WHERE id = 1")
    shared_lab.sql("DELETE FROM item WHERE id = 2")
    shared_lab.sql("UPDATE item SET name = name WHERE id = 3")
    return shared_lab


def moved(replay: Replay) -> list[tuple[int, int | None, int | None]]:
    return [(s.row_count, s.inserted, s.deleted) for s in replay]


def rows(step: Step) -> list[Any]:
    return sorted(tuple(r) for r in step.frame().collect())


def in_order(step: Step) -> list[Any]:
    return [tuple(r.values()) for b in step.batches() for r in b.to_pylist()]


def test_each_version_with_what_moved_and_who_made_it(item: Lab) -> None:
    with item.engine.replay("item", at=0, to=5) as replay:
        assert moved(replay) == [
            (0, None, None),
            (2, 2, 0),
            (3, 1, 0),
            (3, 1, 1),
            (2, 0, 1),
            (2, 0, 0),
        ]
        assert [s.version for s in replay] == [0, 1, 2, 3, 4, 5]
        assert [s.operation for s in replay][2:4] == ["WRITE", "UPDATE"]
        assert rows(replay[3]) == [(1, "mat"), (2, "car"), (3, "pen")]
        assert Counter(in_order(replay[3])) == Counter(rows(replay[3]))
        assert replay[4].digest == replay[5].digest != replay[3].digest
        changed = replay[3].changes()
        assert sorted(map(tuple, changed.collect())) == [
            (1, "mat", "INSERT", 1),
            (1, "rug", "DELETE", 1),
        ]
        assert replay[4].schema_change == ""
        assert len(replay) == 6
    with refused("DT-4108"):
        replay.frame()


def test_it_is_the_same_every_time(item: Lab) -> None:
    """Digests by the feed, many commits at once, are those of each snapshot read whole."""
    with item.engine.replay("item", at=1, to=5) as replay:
        told = [(s.digest, in_order(s)) for s in replay]
    for version in (1, 3, 5):
        with item.engine.replay("item", at=version) as one:
            assert (one[0].digest, in_order(one[0])) == told[version - 1]


def test_a_column_that_moved_has_its_place_from_there_on(shared_lab: Lab) -> None:
    """A feed over several commits has the columns of its end."""
    shared_lab.table("shelf", "a INT, b INT", "1, 2")
    shared_lab.insert("shelf", "3, 4")
    shared_lab.sql("ALTER TABLE shelf ALTER COLUMN b FIRST")
    shared_lab.insert("shelf", "6, 5")
    with shared_lab.engine.replay("shelf", at=1, to=4) as replay:
        assert [list(s.frame().columns) for s in replay] == [["a", "b"]] * 2 + [["b", "a"]] * 2
        told = [(s.digest, in_order(s)) for s in replay]
    for version in range(1, 5):
        with shared_lab.engine.replay("shelf", at=version) as one:
            assert (one[0].digest, in_order(one[0])) == told[version - 1]


@pytest.mark.nightly
def test_it_is_the_same_another_way_and_whatever_came_after(shared_lab: Lab) -> None:
    """Without a feed by files; and Delta reads the feed of a table without column mapping with
    the schema of now, when it has another one."""
    shared_lab.table("other", "id INT, name STRING", "1, 'mat'", "3, 'pen'")
    shared_lab.sql("UPDATE other SET name = 'rug' WHERE id = 1")
    with shared_lab.engine.replay("other", at=1, to=2) as replay:
        told = [(s.digest, s.inserted, s.deleted) for s in replay]
    shared_lab.sql("ALTER TABLE other SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'false')")
    shared_lab.sql("UPDATE other SET name = 'x'; INSERT INTO other VALUES (4, 'x'), (4, 'x')")
    folder = str(shared_lab.context.layout.tables / "other")
    made = shared_lab.spark.sql("SELECT 'x' AS id, 1 AS kind").write.format("delta")
    made = made.mode("overwrite").option("overwriteSchema", "true").partitionBy("kind")
    made.save(folder)
    with shared_lab.engine.replay("other", at=1, to=6) as replay:
        assert [(s.digest, s.inserted, s.deleted) for s in replay][:2] == told
        assert moved(replay)[2:5] == [(2, 0, 0), (2, 2, 2), (4, 2, 0)]
        assert replay[5].columns == (("id", "string"), ("kind", "int"))
        with shared_lab.engine.replay("other", at=5) as alone:
            assert alone[0].digest == replay[4].digest


def test_a_walk_costs_a_job_or_two_however_many_versions(item: Lab) -> None:
    def walked(first: int) -> int:
        group = f"walk {first}"
        with item.engine.replay("item", at=first, to=5) as replay:
            run_cancellable(item.spark, group, "", lambda: replay[-1])
        jobs = count_jobs(item.spark, group)
        assert jobs is not None
        return jobs

    assert walked(1) <= walked(4) + 1


@pytest.mark.nightly
def test_by_data_timestamp_and_by_fixed_steps(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("stock", "id INT, name STRING", "1, 'mat'", "3, 'pen'")
    made = lab.dynamic_table("named", "SELECT name, COUNT(*) AS n FROM stock GROUP BY name")
    lab.refresh("named")
    lab.insert("stock", "7, 'pen'")
    lab.refresh("named")
    with lab.engine.replay("named", to="now") as walk:
        assert moved(walk) == [(2, None, None), (2, 0, 0), (2, 1, 1)]
        assert walk[0].time == made.data_timestamp
        assert rows(walk[-1]) == [("mat", 1), ("pen", 2)]
        assert walk[-1].columns == (("name", "string"), ("n", "bigint"))
    log = lab.context.sources.logs[str(lab.context.layout.tables / "stock")]
    start, end = log.commit_time(0), log.commit_time(2)
    with lab.engine.replay("stock", at=start, to=end, every=end.since(start) / 4) as walk:
        assert len(walk) == 5
        assert [s.version for s in walk] == [
            log.version_at(start.plus(i * end.since(start) / 4)) for i in range(4)
        ] + [2]
        assert walk[-1].row_count == 3
        assert sum((s.inserted or 0) - (s.deleted or 0) for s in walk) == 3


@pytest.mark.nightly
def test_a_large_file_comes_in_order_through_files(
    item: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    item.sql("INSERT INTO item SELECT /*+ COALESCE(1) */ id + 10, 'n' FROM RANGE(50)")
    with item.engine.replay("item") as replay:
        wanted = in_order(replay[0])
        assert wanted[-50:] == [(i + 10, "n") for i in range(50)]
        monkeypatch.setattr(rows_of_replay, "PART_BYTES", 1)
        assert in_order(replay[0]) == wanted
        assert not list((item.context.layout.pins / replay.hold).glob("rows_*/*"))


@pytest.mark.nightly
def test_each_part_waits_for_its_turn_before_it_is_read(
    item: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the rows are only counted, and where a replay is closed while it waits."""
    turns: list[int] = []
    pace = item.context.travel.pace
    monkeypatch.setattr(pace, "await_turn", turns.append)
    monkeypatch.setattr(rows_of_replay, "PART_BYTES", 1)
    with item.engine.replay("item") as replay:
        files = item.context.travel.snapshots.live(item.context.layout.tables / "item")
        sizes = [int(f["size"]) for f in files.at(next(iter(replay.stops[0].versions.values())))]
        assert len(sizes) > 1
        assert replay[0].row_count == len(in_order(replay[0]))
        assert turns == sizes * 2
        turns.clear()
        first = next(replay.batches(0))
        assert (len(turns), first.num_rows < replay[0].row_count) == (1, True)

        def close(size: int) -> None:
            if turns:
                replay.close()
            turns.append(size)

        turns.clear()
        monkeypatch.setattr(pace, "await_turn", close)
        with refused("DT-4108"):
            list(replay.batches(0))
        assert len(turns) == 2


def test_a_view_moves_with_its_tables(shared_lab: Lab) -> None:
    lab = shared_lab
    lab.table("part", "id INT, name STRING", "1, 'mat'", "3, 'pen'")
    lab.table("price", "id INT, price INT", "1, 10", "3, 30")
    lab.sql("CREATE VIEW priced AS SELECT name, price FROM part JOIN price USING (id)")
    lab.sql("UPDATE price SET price = 31 WHERE id = 3; INSERT INTO part VALUES (1, 'twin')")
    with lab.engine.replay("priced", to="now") as walk:
        assert walk[-1].row_count == 3
        ordered = in_order(walk[-1])
        assert sorted(ordered) == rows(walk[-1]) == [("mat", 10), ("pen", 31), ("twin", 10)]
        assert [(s.inserted, s.deleted) for s in walk][-3:] == [(1, 1), (1, 0), (0, 0)]
    with lab.engine.replay("priced") as now:
        assert in_order(now[0]) == ordered


def test_an_interrupted_walk_goes_on_where_it_was(item: Lab) -> None:
    with item.engine.replay("item", at=0, to=5) as replay:
        first = [next(iter(replay)).digest, replay[2].digest]
        assert [s.digest for s in replay][0:3:2] == first
        batches = list(replay.batches(3))
        everything = [r for b in batches for r in b.to_pylist()]
        rest = [r for b in replay.batches(3, start=2) for r in b.to_pylist()]
        assert rest == everything[2:]


def test_bad_asks_are_named_and_hold_nothing(item: Lab) -> None:
    engine: Engine = item.engine
    for code, options in (
        ("DT-4102", {"at": 99}),
        ("DT-3101", {"at": 3, "to": 1}),
        ("DT-1003", {"schema_mode": "now"}),
        ("DT-1003", {"at": 0, "to": 5, "every": -1}),
        ("DT-4101", {"at": "2000-01-01"}),
        ("DT-1003", {"to": "soon"}),
    ):
        with refused(code):
            engine.replay("item", **options)  # type: ignore[arg-type]
    with refused("DT-1101"):
        engine.replay("nothing")
    assert len(engine.pins()) == 0
    assert str(engine.pins()) == "no pins"
