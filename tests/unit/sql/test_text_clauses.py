"""Clauses found in the words of a text: samples, and common tables that read themselves."""

from __future__ import annotations

import pytest

from dt_jupyter.ivm import Filter, Rel, Top, settles, walk
from dt_jupyter.sources.pinned_text import pinned
from dt_jupyter.sql.text.common_tables import recursive_place, recursive_tables
from dt_jupyter.sql.text.sample_clause import after_sample
from tests.recorded_plans import RecordedPlans
from tests.unit.small_queries import TABLES

PLANS = RecordedPlans.of(__file__)


def bound(query: str) -> Rel:
    return PLANS.relation(query, TABLES)


@pytest.mark.parametrize(
    ("text", "pinned_as"),
    [
        ("SELECT * FROM t", "SELECT * FROM (old) AS t"),
        ("SELECT * FROM t x", "SELECT * FROM (old) x"),
        (
            "SELECT * FROM t TABLESAMPLE (10 PERCENT) WHERE v > 1",
            "SELECT * FROM (old) TABLESAMPLE (10 PERCENT) AS t WHERE v > 1",
        ),
        (
            "SELECT * FROM t /* a */ tablesample (BUCKET 1 OUT OF 2) repeatable (5) JOIN u y",
            "SELECT * FROM (old) /* a */ tablesample (BUCKET 1 OUT OF 2) repeatable (5) AS t "
            "JOIN (old) y",
        ),
        (
            "SELECT * FROM t TABLESAMPLE (3 ROWS) AS x, u",
            "SELECT * FROM (old) TABLESAMPLE (3 ROWS) AS x, (old) AS u",
        ),
    ],
)
def test_an_alias_stands_behind_a_sample(text: str, pinned_as: str) -> None:
    assert pinned(text, lambda parts: "(old)", lambda parts: None) == pinned_as


def test_a_sample_ends_where_its_brackets_do() -> None:
    text = "t TABLESAMPLE ((1 + (2)) ROWS) REPEATABLE (5) x"
    assert text[after_sample(text, 1) :] == " x"
    assert after_sample("t TABLESAMPLE (", 1) == 15
    assert after_sample("t x", 1) == 1


def test_common_tables_that_may_read_themselves_are_found() -> None:
    text = "WITH /* a */ RECURSIVE c AS (SELECT 1), `u p`(a) AS (SELECT 2) SELECT recursive FROM c"
    assert [n for n, _ in recursive_tables(text)] == ["c", "u p"]
    place = recursive_place(text, "U P")
    assert place is not None
    assert text[place.start : place.end] == "`u p`"
    assert recursive_place(text, "d") is None
    assert list(recursive_tables("WITH c AS (SELECT 1), d AS (SELECT 2) SELECT * FROM c, d")) == []


@pytest.mark.parametrize(
    ("query", "open_"),
    [
        ("SELECT id FROM t LIMIT 3", True),
        ("SELECT id FROM t TABLESAMPLE (5 ROWS)", True),
        ("SELECT id FROM t TABLESAMPLE (5 PERCENT) REPEATABLE (1)", True),
        ("SELECT u.id FROM u JOIN t TABLESAMPLE (5 PERCENT) REPEATABLE (1) x ON x.k = u.k", True),
        ("SELECT id FROM t LIMIT ALL", False),
        ("SELECT count(*) FROM t LIMIT 1", False),
        ("SELECT id FROM t WHERE xxhash64(id) % 10 < 1", False),
    ],
)
def test_what_a_query_leaves_open_is_known(query: str, open_: bool) -> None:
    assert settles(bound(query)) == open_


def test_the_share_and_the_seed_of_a_sample_are_in_its_condition() -> None:
    def condition(sample: str) -> str:
        found = [n for n in walk(bound(f"SELECT id FROM t {sample}")) if isinstance(n, Filter)]
        return found[0].on[0].sql(lambda c: c)

    assert condition("TABLESAMPLE (12.5 PERCENT) REPEATABLE (7)") == (
        "PMOD(XXHASH64('sample', 7L, id, k, v, f), 1000000000L) < 125000000"
    )
    assert condition("TABLESAMPLE (BUCKET 1 OUT OF 3) REPEATABLE (7)").endswith("< 333333333")
    assert condition("TABLESAMPLE (0 PERCENT) REPEATABLE (7)").endswith("< 0")
    assert condition("TABLESAMPLE (100 PERCENT) REPEATABLE (7)").endswith("< 1000000000")
    (top,) = [n for n in walk(bound("SELECT id FROM t TABLESAMPLE (5 ROWS)")) if isinstance(n, Top)]
    assert (top.count, top.order) == (5, ())
