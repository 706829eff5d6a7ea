"""Which way a change is read, decided on the commits' facts alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dt_jupyter.lake import (
    Added,
    Feed,
    FileDiff,
    TableLog,
    Unchanged,
    Unreadable,
    feed_parts,
    may_change,
    plan_changes,
)
from dt_jupyter.lake.delta_log.metadata import Metadata, SchemaChange, schema_change
from tests.unit.delta_logs import Written, add, column, info, metadata, remove

CDC = {"cdc": {"path": "_change_data/c", "size": 7, "partitionValues": {}, "dataChange": False}}


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Written]:
    made = iter(range(99))

    def make(*columns: Any, **properties: str) -> Written:
        return Written(tmp_path / f"t{next(made)}", metadata(*columns, **properties))

    return make


FEED = {"enableChangeDataFeed": "true"}


def test_the_same_version(table) -> None:
    assert plan_changes(table().log, 0, 0) == Unchanged()


def test_back_in_time(table) -> None:
    t = table()
    t.commit(info(), add("a"))
    plan = plan_changes(t.log, 1, 0)
    assert isinstance(plan, Unreadable)
    assert plan.code == "VERSION_REGRESSED"


def test_optimize_and_metadata_are_no_change(table) -> None:
    t = table()
    t.commit(info("OPTIMIZE"), add("a", change=False), remove("b", change=False))
    t.commit(info("SET TBLPROPERTIES"), metadata(**FEED))
    assert plan_changes(t.log, 0, 2) == Unchanged()


def test_files_only_added(table) -> None:
    t = table(**FEED)
    t.commit(info(), add("a", rows=3, size=10), add("b", rows=2, size=20))
    t.commit(info("OPTIMIZE"), add("c", change=False), remove("a", change=False))
    t.commit(info(), add("d", rows=1, size=5))
    assert plan_changes(t.log, 0, 3) == Added(1, 3, 6, 35, 3, feed=True)
    t = table()
    t.commit(info(), add("a", rows=None))
    assert plan_changes(t.log, 0, 1) == Added(1, 1, None, 10, 1, feed=False)


def test_the_feed_where_it_is_on_for_the_whole_range(table) -> None:
    t = table(**FEED)
    metrics = {
        "numTargetRowsInserted": "1",
        "numTargetRowsUpdated": "2",
        "numTargetRowsDeleted": "3",
    }
    t.commit(info("MERGE", operationMetrics=metrics), add("a"), remove("b"), CDC)
    t.commit(info("WRITE"), add("c", rows=4), remove("a", rows=5))
    assert plan_changes(t.log, 0, 2) == Feed(1, 2, 1 + 2 * 2 + 3 + 9, 7 + 20, 3)
    t.commit(info("UPDATE"), add("c"), remove("c"), CDC)
    plan = plan_changes(t.log, 0, 3)
    assert isinstance(plan, Feed)
    assert plan.rows is None


@pytest.mark.parametrize(
    ("operation", "metrics", "records"),
    [
        ("UPDATE", {"numUpdatedRows": "3"}, 6),
        ("DELETE", {"numDeletedRows": "2"}, 2),
        ("MERGE", {"num_target_rows_inserted": "1", "num_target_rows_updated": "1"}, 3),
    ],
)
def test_records_of_the_feed_by_metrics(table, operation, metrics, records) -> None:
    t = table(**FEED)
    t.commit(
        info(operation, operationMetrics=metrics), add("a", rows=90), remove("b", rows=91), CDC
    )
    plan = plan_changes(t.log, 0, 1)
    assert isinstance(plan, Feed)
    assert plan.rows == records


def test_a_delete_by_vector_has_the_rows_that_its_metrics_say(table) -> None:
    t = table(**FEED)
    t.commit(
        info("DELETE", operationMetrics={"numDeletedRows": "2"}),
        add("a", rows=90, dv=2),
        remove("a", rows=90),
    )
    t.commit(info("WRITE"), add("b", rows=3), remove("a", rows=90, dv=2))
    assert plan_changes(t.log, 0, 1) == Feed(1, 1, 2, 0, 2, marked_bytes=10)
    assert plan_changes(t.log, 1, 2) == Feed(2, 2, 91, 20, 2)
    assert [f.loose_vectors for f in t.log.commits(0, 2)] == [False, True]


def test_the_feed_turned_on_within_the_range(table) -> None:
    t = table()
    t.commit(info("SET TBLPROPERTIES"), metadata(**FEED))
    t.commit(info("UPDATE"), add("a"), remove("b"), CDC)
    assert isinstance(plan_changes(t.log, 0, 2), Feed)
    t = table()
    t.commit(info("UPDATE"), add("a", rows=3), remove("b", rows=4))
    t.commit(info("SET TBLPROPERTIES"), metadata(**FEED))
    t.commit(info("UPDATE"), add("c", rows=1), remove("a", rows=3), CDC)
    assert plan_changes(t.log, 0, 3) == FileDiff(1, 3, 11, 40, 4)
    off = plan_changes(t.log, 0, 3, file_diff=False)
    assert isinstance(off, Unreadable)
    assert off.code == "FEED_OFF"


def test_a_replaced_table(table) -> None:
    for actions in (
        (info("CREATE OR REPLACE TABLE"), metadata(**FEED)),
        (info("WRITE"), metadata(id_="another", **FEED)),
    ):
        t = table(**FEED)
        t.commit(*actions, add("a"))
        plan = plan_changes(t.log, 0, 1)
        assert isinstance(plan, Unreadable)
        assert plan.code == "SOURCE_REPLACED"
        assert plan_changes(t.log, 1, 1) == Unchanged()


MAPPED = {"columnMapping.mode": "name", **FEED}
A, B = column("a", id_=1), column("b", id_=2)


@pytest.mark.parametrize(
    "after",
    [
        pytest.param([A], id="dropped"),
        pytest.param([A, column("c", id_=2)], id="renamed"),
        pytest.param([A, column("b", "string", id_=2)], id="retyped"),
        pytest.param([A, column("b", id_=3)], id="dropped and added again"),
    ],
)
def test_a_used_column_that_changes_and_an_unused_one(table, after) -> None:
    t = table(A, B, **MAPPED)
    t.commit(info("UPDATE"), add("x"), remove("y"), CDC)
    t.commit(info("CHANGE COLUMN"), metadata(*after, **MAPPED))
    t.commit(info("UPDATE"), add("z"), remove("x"), CDC)
    for used in (["a", "B"], None):
        plan = plan_changes(t.log, 0, 3, used)
        assert isinstance(plan, Unreadable)
        assert plan.code == "COLUMN_CHANGED"
    assert isinstance(plan_changes(t.log, 0, 3, ["a"]), FileDiff)
    assert isinstance(plan_changes(t.log, 0, 2, ["a"]), Feed)
    assert isinstance(plan_changes(t.log, 1, 3, ["a"]), Feed)


def test_an_added_column_stays_readable(table) -> None:
    t = table(column("a"), **FEED)
    t.commit(info("UPDATE"), add("x"), remove("y"), CDC)
    t.commit(info("ADD COLUMNS"), metadata(column("a"), column("b"), **FEED))
    assert plan_changes(t.log, 0, 2, ["a"]) == Feed(1, 1, None, 7, 1)
    assert plan_changes(t.log, 0, 2, ["a", "b"]) == Feed(1, 2, None, 7, 1)


STRUCT = {"type": "struct", "fields": [column("x")]}
WIDE_STRUCT = {"type": "struct", "fields": [column("x"), column("y")]}


@pytest.mark.parametrize(
    ("before", "after", "feed"),
    [
        pytest.param("integer", "long", False, id="widened"),
        pytest.param("decimal(5,2)", "decimal(7,3)", False, id="decimal widened"),
        pytest.param(STRUCT, WIDE_STRUCT, True, id="a field more"),
        pytest.param(
            {"type": "array", "elementType": STRUCT, "containsNull": True},
            {"type": "array", "elementType": WIDE_STRUCT, "containsNull": True},
            True,
            id="a field more in a list",
        ),
        pytest.param("long", "integer", None, id="narrowed"),
        pytest.param("decimal(5,2)", "decimal(6,4)", None, id="decimal with fewer digits"),
        pytest.param(WIDE_STRUCT, STRUCT, False, id="a field less"),
        pytest.param(
            {"type": "struct", "fields": [column("x", id_=1), column("y", id_=2)]},
            {"type": "struct", "fields": [column("z", id_=2), column("x", id_=1)]},
            False,
            id="a field moved and renamed",
        ),
        pytest.param(
            {"type": "struct", "fields": [column("x", id_=1), column("y", id_=2)]},
            {"type": "struct", "fields": [column("y", id_=1), column("x", id_=2)]},
            None,
            id="fields that swap names",
        ),
        pytest.param(
            {"type": "map", "keyType": WIDE_STRUCT, "valueType": WIDE_STRUCT},
            {"type": "map", "keyType": WIDE_STRUCT, "valueType": STRUCT},
            False,
            id="a field less in the values of a map",
        ),
        pytest.param(
            {"type": "map", "keyType": WIDE_STRUCT, "valueType": "long"},
            {"type": "map", "keyType": STRUCT, "valueType": "long"},
            None,
            id="a field less in the keys of a map",
        ),
        pytest.param(
            STRUCT, {"type": "struct", "fields": [column("y")]}, None, id="no field is left"
        ),
        pytest.param(STRUCT, "integer", None, id="another type"),
        pytest.param(
            {"type": "struct", "fields": [column("x", id_=1)]},
            {"type": "struct", "fields": [column("x", id_=2)]},
            None,
            id="another field of the name",
        ),
    ],
)
def test_an_interval_is_read_in_the_types_at_its_end(table, before, after, feed) -> None:
    """`feed`: whether Delta reads the feed across it; None where old values are none of the new."""
    t = table(column("a"), column("b", before), **FEED)
    t.commit(info("UPDATE"), add("x"), remove("y"), CDC)
    t.commit(info("CHANGE COLUMN"), metadata(column("a"), column("b", after), **FEED))
    t.commit(info("UPDATE"), add("z"), remove("x"), CDC)
    assert isinstance(plan_changes(t.log, 0, 3), Unreadable), "a refresh reads no other types"
    plan = plan_changes(t.log, 0, 3, evolving=True)
    assert type(plan) is {True: Feed, False: FileDiff, None: Unreadable}[feed]
    assert may_change(t.log, 1, 2, evolving=True) is (feed is None)
    ends = [(p.first, p.last) for p in feed_parts(t.log, 0, 3) or ()]
    assert ends == ([(1, 3)] if feed else [(1, 1), (3, 3)])
    if feed is not None:
        only_old = plan_changes(t.log, 0, 2, ["b"], evolving=True)
        assert only_old.last == 2, "the files of before are read in the type of the end"


def test_a_field_that_is_dropped_and_added_again_is_another(table) -> None:
    def column_b(*fields: dict[str, Any]) -> dict[str, Any]:
        return metadata(A, column("b", {"type": "struct", "fields": fields}, id_=2), **MAPPED)

    x, y, later = column("x", id_=3), column("y", id_=4), column("y", id_=5)
    t = Written(table().path.parent / "fields", column_b(x, y))
    for fields in ((x,), (x, later), (x,)):
        t.commit(info("CHANGE COLUMN"), column_b(*fields))
    assert isinstance(plan_changes(t.log, 0, 1, ["b"], evolving=True), Unchanged)
    found = plan_changes(t.log, 0, 2, ["b"], evolving=True)
    assert isinstance(found, Unreadable)
    assert found.sentence == "version 2 dropped, renamed or changed the type of b"
    assert isinstance(plan_changes(t.log, 0, 2, ["a"], evolving=True), Unchanged)
    assert isinstance(plan_changes(t.log, 1, 2, ["b"], evolving=True), Unchanged)
    assert isinstance(plan_changes(t.log, 0, 3, ["b"], evolving=True), Unchanged)


def test_the_feed_has_no_parts_where_it_was_off(table) -> None:
    t = table(**FEED)
    t.commit(info("UPDATE"), add("x"), remove("y"), CDC)
    t.commit(info("SET TBLPROPERTIES"), metadata())
    assert [(p.first, p.last) for p in feed_parts(t.log, 0, 2) or ()] == [(1, 1)]
    t.commit(info("UPDATE"), add("z"), remove("x"))
    assert feed_parts(t.log, 0, 3) is None


def test_another_partitioning(table) -> None:
    t = table(column("a"), column("b"), **FEED)
    columns = (column("a"), column("b"))
    t.commit(info("WRITE"), metadata(*columns, partitions=["b"], **FEED), add("x"), remove("y"))
    plan = plan_changes(t.log, 0, 1, ["a"])
    assert isinstance(plan, Unreadable)
    assert plan.code == "PARTITIONING_CHANGED"


def test_a_partition_column_with_another_name_is_the_same_partitioning() -> None:
    before, after = column("b", id_=2), column("c", id_=2)
    old = of(column("a", id_=1), before, partitions=["b"])
    renamed = schema_change(old, of(column("a", id_=1), after, partitions=["c"]))
    assert renamed == SchemaChange(renamed=(("b", "c"),))
    other = schema_change(old, of(column("a", id_=1), before, partitions=["a"]))
    assert other == SchemaChange(partitioning=True)
    swapped = of(column("b", id_=1), column("a", id_=2), partitions=["b"])
    change = schema_change(old, swapped)
    assert change is not None
    assert change.partitioning, "its name is that of another column now"


def test_a_log_that_was_cleaned(table) -> None:
    from deltalake import DeltaTable

    t = table()
    for n in range(3):
        t.commit(info(), add(str(n)))
    DeltaTable(str(t.path), version=2).create_checkpoint()
    t.file(0).unlink()
    t.file(1).unlink()
    plan = plan_changes(type(t.log)(t.path), 0, 3)
    assert isinstance(plan, Unreadable)
    assert plan.code == "LOG_GONE"
    assert plan_changes(type(t.log)(t.path), 2, 3) == Added(3, 3, 1, 10, 1, feed=False)


def of(*columns: Any, **more: Any) -> Metadata:
    return Metadata.of(metadata(*columns, **more)["metaData"])


def test_comments_and_nullability_change_no_value() -> None:
    nested = {"type": "struct", "fields": [column("x"), column("y", comment="new")]}
    plain = {"type": "struct", "fields": [column("x"), {**column("y"), "nullable": False}]}
    old = of(column("s", nested), column("a"))
    new = of(column("s", plain), column("A", comment="c"))
    found = schema_change(old, new)
    assert found is not None
    assert found.touched == frozenset({"a"})  # renamed: a is now written A
    assert schema_change(of(column("s", nested)), of(column("s", plain))) is None


def test_a_nested_change_is_a_change_of_type() -> None:
    def array_of(field: str) -> Metadata:
        element = {"type": "struct", "fields": [column(field)]}
        return of(column("m", {"type": "array", "elementType": element}))

    assert schema_change(array_of("x"), array_of("y")) == SchemaChange(retyped=("m",))


def test_a_collation_is_part_of_the_type() -> None:
    old, new = of(column("s", "string")), of(column("s", "string", __COLLATIONS={"s": "ICU"}))
    assert schema_change(old, new) == SchemaChange(retyped=("s",))


COMMITS = (
    lambda: (info("OPTIMIZE"), add("a", change=False), remove("b", change=False)),
    lambda: (info("SET TBLPROPERTIES"), metadata(column("a"), **FEED)),
    lambda: (info("ADD COLUMNS"), metadata(column("a"), column("b"))),
    lambda: (info("CHANGE COLUMN"), metadata(column("a", "string"))),
    lambda: (info("REPLACE TABLE"), metadata(column("a"))),
    lambda: (info(), add("a")),
    lambda: (info("UPDATE"), add("a"), remove("b"), CDC),
)


@pytest.mark.parametrize("first", range(len(COMMITS)))
@pytest.mark.parametrize("second", range(len(COMMITS)))
def test_may_change_says_what_the_plan_says(table, first: int, second: int) -> None:
    t = table(column("a"))
    for made in (first, second):
        t.commit(*COMMITS[made]())
    for after, upto in ((0, 2), (0, 1), (1, 2), (2, 2), (2, 0)):
        log = TableLog(t.path)
        log.version()
        told = may_change(log, after, upto)
        assert told == (not isinstance(plan_changes(log, after, upto), Unchanged)), (after, upto)
        assert may_change(log, after, upto) == told


def test_what_is_not_in_the_log_may_have_changed(table) -> None:
    t = table(column("a"))
    t.commit(*COMMITS[0]())
    assert may_change(t.log, 0, 2)
