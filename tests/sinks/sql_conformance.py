"""What every driver of an SQL store has to pass besides: what becomes of tables."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from dt_jupyter.sinks import (
    Task,
    messages as m,
)
from tests.sinks.conformance import Protocol
from tests.sinks.site import SqlSite, Talk, row
from tests.unit.sinks.lab import (
    LEFT,
    Change,
    D,
    I,
    Row,
    binding,
    refused,
    summed,
)

LONG, TEXT = pa.int64(), pa.string()


class Sql(Protocol):
    """For SQL stores: what becomes of tables."""

    def test_a_table_that_is_there_is_not_ours(self, site: SqlSite) -> None:
        site.run("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, name TEXT, more TEXT)")
        site.run("INSERT INTO t VALUES (7, 7, 'seven', 'x')")
        with refused("DT-6140"):
            site.deliver(summed(), [(I, row(1, 1))])
        assert len(site.rows(summed())) == 1
        site.deliver(summed(), [(I, row(1, 1)), (I, row(7, 1))], options={"adopt": "true"})
        assert site.rows(summed())[7,]["v"] == 8
        site.deliver(summed(), [(I, row(1, 1)), (I, row(7, 1)), (I, row(1, 1))], size=2)
        assert site.rows(summed())[1,]["v"] == 2

    def test_a_table_that_lacks_a_column_is_not_adopted(self, site: SqlSite) -> None:
        site.run("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT)")
        with refused("DT-6142"):
            site.deliver(summed(), [], options={"adopt": "true"})

    def test_a_table_whose_key_is_not_unique_is_told(self, site: SqlSite) -> None:
        site.run("CREATE TABLE t (k BIGINT, v BIGINT, name TEXT)")
        with refused("DT-6142"):
            site.deliver(summed(), [(I, row(1, 1))], options={"adopt": "true"})

    def test_a_table_that_wants_more_is_told(self, site: SqlSite) -> None:
        site.run("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, name TEXT, x TEXT NOT NULL)")
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1))], options={"adopt": "true"})

    def test_reset_empties_a_table_that_was_adopted_and_leaves_it(self, site: SqlSite) -> None:
        site.run("CREATE TABLE t (k BIGINT PRIMARY KEY, v BIGINT, name TEXT, more TEXT)")
        site.deliver(summed(), [(I, row(1, 1))], options={"adopt": "true"})
        self.forget(site, empty=True)
        assert site.run("SELECT count(more), count(*) FROM t") == [(0, 0)]

    def test_two_sinks_into_one_table_are_refused(self, site: SqlSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        with refused("DT-6141"):
            site.deliver(summed(), [(I, row(1, 1))], sink="other")
        assert site.rows(summed()) == {(1,): row(1, 1)}

    def test_a_dropped_table_is_told(self, site: SqlSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        site.run("DROP TABLE t")
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_a_table_dropped_while_it_is_delivered_to_is_told(self, site: SqlSite) -> None:
        talk = Talk(site, summed())
        talk.flush()
        site.run("DROP TABLE t")
        talk.store(row(1, 1))
        talk.send(m.StartCommit({"at": 1}))
        with refused("DT-6143"):
            talk.hear(m.StartedCommit)
        talk.close()

    def test_a_dropped_column_is_told(self, site: SqlSite) -> None:
        site.deliver(summed(), [(I, row(1, 1))])
        site.run("ALTER TABLE t DROP COLUMN name")
        with refused("DT-6143"):
            site.deliver(summed(), [(I, row(1, 1)), (I, row(1, 1))], size=1)

    def test_a_row_deleted_by_hand_is_what_the_store_says(self, site: SqlSite) -> None:
        site.deliver(summed(), [(I, row(1, 5))])
        site.run("DELETE FROM t")
        site.deliver(summed(), [(I, row(1, 5)), (I, row(1, 2))], size=1)
        assert site.rows(summed())[1,]["v"] == 2

    def test_a_column_that_is_added_comes(self, site: SqlSite) -> None:
        site.deliver(binding(("k", LONG), ("v", LONG)), [(I, {"k": 1, "v": 1})])
        wider = binding(("k", LONG), ("v", LONG), ("w", TEXT))
        changes: list[Change] = [(I, {"k": 1, "v": 1}), (I, {"k": 2, "v": 2, "w": "x"})]
        site.deliver(wider, changes, size=1)
        assert site.rows(wider) == {
            (1,): {"k": 1, "v": 1, "w": None},
            (2,): {"k": 2, "v": 2, "w": "x"},
        }

    def test_a_type_that_is_widened_follows(self, site: SqlSite) -> None:
        narrow = binding(("k", pa.int32()), ("v", pa.int32()), ("d", pa.decimal128(4, 1)))
        wide = binding(("k", LONG), ("v", LONG), ("d", pa.decimal128(9, 3)))
        site.deliver(narrow, [(I, {"k": 1, "v": 1, "d": Decimal("1.5")})])
        big: Row = {"k": 2, "v": 2**40, "d": Decimal("12345.678")}
        changes: list[Change] = [(I, {"k": 1, "v": 1, "d": None}), (I, big)]
        site.deliver(wide, changes, size=1)
        talk = Talk(site, wide)
        assert talk.load({"k": 2}) == [big]
        talk.close()

    @pytest.mark.parametrize(
        "columns",
        [
            [("k", LONG), ("v", TEXT), ("w", LONG)],
            [("k", LONG), ("v", pa.int32()), ("w", LONG)],
            [("k", LONG), ("v", LONG)],
        ],
    )
    def test_other_changes_of_the_source_make_the_sink_wait(
        self, site: SqlSite, columns: list[tuple[str, pa.DataType]]
    ) -> None:
        before = binding(("k", LONG), ("v", LONG), ("w", LONG))
        site.deliver(before, [(I, {"k": 1, "v": 1, "w": 1})])
        with refused("DT-6142"):
            site.deliver(binding(*columns), [])
        with refused("DT-6142"):
            site.deliver(binding(("k", LONG), ("v", LONG), ("w", LONG), key=("v",)), [])
        assert site.rows(before) == {(1,): {"k": 1, "v": 1, "w": 1}}

    def test_delta_updates_are_rows_with_tombstones(self, site: SqlSite) -> None:
        made = summed(delta=True)
        changes: list[Change] = [(I, row(1, v)) for v in (-1, 3, 2, 6, -7, -1)]
        site.deliver(made, [*changes, (D, {"k": 1})], size=3)
        found = site.run("SELECT k, v, dt_deleted FROM t ORDER BY dt_deleted, v")
        assert [(k, v, bool(gone)) for k, v, gone in found] == [
            (1, -2, False),
            (1, 4, False),
            (1, None, True),
        ]

    def test_the_zombie_of_a_split_commits_nothing(self, site: SqlSite) -> None:
        talk = Talk(site, summed())
        talk.flush()
        Talk(site, summed(), Task("s", LEFT)).close()
        talk.store(row(1, 5))
        talk.send(m.StartCommit({"at": 1}))
        with refused("DT-6122"):
            talk.hear(m.StartedCommit)
        talk.close()
        assert site.rows(summed()) == {}
