"""TPC-H's 22 queries as dynamic tables on one lake, through refresh streams: after every batch
each equals its query, and those that can be are moved by their changes alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

import pytest
from pyspark.sql import SparkSession

from bench import tiny
from bench.data import change
from bench.tpch import QUERIES, queries
from dt_jupyter.model import DTError
from tests.cases import some
from tests.spark.engine_lab import Lab, quick, without_check

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NOT_INCREMENTAL: Mapping[str, str] = {}
"""The queries that cannot be kept incrementally, with the codes of the reasons."""

BATCHES: Mapping[str, tuple[str, ...]] = {
    "other dimensions, 1994 goes, 1996 becomes it": (
        "UPDATE supplier SET s_nationkey = 20, s_comment = 'Customer slow Complaints' "
        "WHERE s_suppkey IN (4, 11)",
        "UPDATE supplier SET s_nationkey = 3, s_comment = 'content' WHERE s_suppkey = 9",
        "DELETE FROM partsupp WHERE ps_partkey % 7 = 3",
        "UPDATE part SET p_name = concat('forest ', p_name), p_brand = 'Brand#23', "
        "p_container = 'MED BOX' WHERE p_partkey IN (2, 10)",
        "UPDATE customer SET c_mktsegment = 'BUILDING', c_nationkey = 7, c_phone = '13-1' "
        "WHERE c_custkey % 11 = 0",
        "INSERT INTO customer VALUES (1001, 'new', 'road', 3, '13-9', 9999.99, 'BUILDING', '')",
        "UPDATE partsupp SET ps_supplycost = ps_supplycost * 3 WHERE ps_suppkey % 3 = 1",
        "UPDATE supplier SET s_nationkey = 7 WHERE s_suppkey = 5",
        "UPDATE supplier SET s_address = concat(s_address, ' b') WHERE s_nationkey = 3",
        "DELETE FROM lineitem WHERE year(l_shipdate) = 1994",
        "UPDATE orders SET o_orderdate = add_months(o_orderdate, -24) "
        "WHERE year(o_orderdate) = 1996",
        "UPDATE lineitem SET l_shipdate = add_months(l_shipdate, -24), l_commitdate = "
        "add_months(l_commitdate, -24), l_receiptdate = add_months(l_receiptdate, -24) "
        "WHERE year(l_shipdate) = 1996",
        "UPDATE nation SET n_name = 'SAUDI ARABIA' WHERE n_name = 'BRAZIL'",
        "UPDATE orders SET o_orderpriority = '1-URGENT' WHERE o_orderdate >= DATE'1993-07-01' "
        "AND o_orderdate < DATE'1993-10-01' AND o_orderkey % 3 = 0",
    ),
    "the refresh stream": (),
}
"""What changes besides a refresh stream over a tenth of the orders, batch by batch."""


@dataclass
class Story:
    """What became of one query: why it is not incremental (None: it is), its number of rows at
    first, and of each batch the action, the rows moved and what was wrong."""

    reason: str | None = None
    rows: int = 0
    actions: dict[str, str] = field(default_factory=dict)
    moved: int = 0
    wrong: list[str] = field(default_factory=list)


@pytest.fixture(scope="module", params=some(1, [1, len(BATCHES)]), ids="batches={}".format)
def stories(
    spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[dict[str, Story]]:
    """All queries on one lake, driven through so many batches."""
    folder = tmp_path_factory.mktemp("lake")
    with pytest.MonkeyPatch.context() as patched:
        without_check(patched)
        with quick(spark, patched):
            lab = Lab.open(spark, folder)
            tiny.load(lab.engine)
            told = {name: created(lab, name, q) for name, q in queries(tiny.SCALE).items()}
            for salt, (batch, more) in enumerate(islice(BATCHES.items(), request.param)):
                change(lab.engine, 0.1, "mixed", 10 * salt)
                for statement in more:
                    lab.sql(statement)
                for name, story in told.items():
                    refreshed(lab, name, batch, story)
        yield told
        lab.close()


def created(lab: Lab, name: str, query: str) -> Story:
    """Incremental where it can be: then no refresh is full because that costs less."""
    story = Story()
    try:
        lab.dynamic_table(name, query, "REFRESH_MODE = INCREMENTAL")
    except DTError as e:
        if e.code != "DT-1107":
            raise
        lab.dynamic_table(name, query)
        story.reason = lab.why(name)
    story.rows = len(lab.rows(name))
    return story


def refreshed(lab: Lab, name: str, batch: str, story: Story) -> None:
    record = lab.record(name)
    story.actions[batch] = str(record.action)
    story.moved += record.statistics.inserted_rows + record.statistics.deleted_rows
    if record.error is not None:
        story.wrong.append(f"after {batch}: {record.error}")
    elif wrong := lab.wrong(name):
        story.wrong.append(f"after {batch} ({record.action}): {wrong}")


def test_which_queries_are_incremental(stories: dict[str, Story]) -> None:
    found = {name: s.reason for name, s in stories.items() if s.reason is not None}
    gone = {n: c for n, c in NOT_INCREMENTAL.items() if n not in found}
    new = {n: c for n, c in found.items() if n not in NOT_INCREMENTAL}
    other = {n: c for n, c in found.items() if NOT_INCREMENTAL.get(n, c) != c}
    assert found == NOT_INCREMENTAL, (
        f"now incremental, take them out: {gone}; no longer incremental: {new}; "
        f"not incremental for another reason: {other}"
    )


@pytest.mark.parametrize("name", QUERIES)
def test_equals_its_query_after_every_batch(stories: dict[str, Story], name: str) -> None:
    story = stories[name]
    assert story.rows > 0, "the query found no rows at first: this would show nothing"
    assert story.moved > 0, "no batch changed the result: this would show nothing"
    assert not story.wrong, "\n".join(story.wrong)


@pytest.mark.parametrize("name", QUERIES)
def test_incremental_tables_are_moved_by_changes_alone(
    stories: dict[str, Story], name: str
) -> None:
    story = stories[name]
    allowed = {"INCREMENTAL", "NO_DATA"} if story.reason is None else {"FULL", "NO_DATA"}
    assert set(story.actions.values()) <= allowed, f"{story.reason}: {story.actions}"
