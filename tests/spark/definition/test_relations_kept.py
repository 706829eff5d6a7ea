"""Relations that a query does not read from tables, or reads in part: LIMIT without an order,
samples, table functions, generators; and tables that have no source at all."""

from __future__ import annotations

import random

import pytest

from dt_jupyter.model import DTError
from tests.cases import some
from tests.spark.engine_lab import Lab, refused
from tests.spark.refresh.test_oracle_random import Tables

KEPT = {
    "limited_below": "SELECT k, count(*) AS n FROM (SELECT id, k FROM p LIMIT 6) GROUP BY k",
    "sampled_right": "SELECT a.id, s.v FROM q a LEFT JOIN p TABLESAMPLE (50 PERCENT) "
    "REPEATABLE (1) AS s ON s.k = a.k",
    "made": "SELECT r.id AS n, e.word, i.a, p.id FROM range(-2, 5) r JOIN p ON p.v = r.id "
    "LEFT JOIN explode(map(1, 'one', 2, 'two')) AS e(n, word) ON e.n = p.v "
    "CROSS JOIN inline(array(struct(1), struct(2))) AS i(a)",
    "lateral": "SELECT p.id, x.m, x.c, y.z FROM p, LATERAL (SELECT max(v) AS m, count(*) AS c "
    "FROM q WHERE q.k = p.k) x, LATERAL (SELECT x.c + p.v AS z) y",
    "lateral_rows": "SELECT p.id, x.* FROM p LEFT JOIN LATERAL (SELECT v, day FROM q "
    "WHERE q.k = p.k AND q.v > p.v) x ON x.v < 3",
    "generated": "SELECT id, key, value, j.x, j.y, explode(l) AS e FROM p "
    "LATERAL VIEW explode(map('v', v, 'id', id)) m AS key, value "
    "LATERAL VIEW json_tuple(concat('{\"a\":', v, '}'), 'a', 'b') j AS x, y",
    "limited": "SELECT id, k, v FROM p LIMIT 4 OFFSET 1",
    "limited_groups": "WITH c AS (SELECT k, sum(v) AS s FROM p GROUP BY k LIMIT 2) "
    "SELECT c.k, c.s, d.name FROM c LEFT JOIN dim d ON d.k = c.k",
    "limited_union": "(SELECT id FROM p LIMIT 2) UNION ALL (SELECT id FROM q LIMIT 1)",
    "first_rows": "SELECT x.id, x.ok FROM p TABLESAMPLE (3 ROWS) AS x",
    "sampled": "SELECT id, k, b FROM p TABLESAMPLE (60 PERCENT) REPEATABLE (3)",
    "sampled_groups": "SELECT k, count(*) AS n FROM p TABLESAMPLE (BUCKET 2 OUT OF 3) "
    "REPEATABLE (9) GROUP BY k",
    "ranged": "SELECT r.id AS n, count(p.id) AS c FROM range(-2, 5) r LEFT JOIN p ON p.v = r.id "
    "GROUP BY r.id",
    "tuples": "SELECT id, json_tuple(concat('{\"a\":', v, '}'), 'a', 'b') FROM p",
    "stacked": "SELECT id, stack(2, 'v', v, 'big', CAST(big AS INT)) AS (name, value) FROM p",
    "lateral_left": "SELECT p.id, x.e FROM p LEFT JOIN LATERAL explode(p.l) AS x(e) ON true",
}
OPEN = frozenset(n for n, q in KEPT.items() if "LIMIT" in q or "SAMPLE" in q)
"""Those whose text leaves open which rows are meant."""


@pytest.mark.parametrize(
    ("first", "count", "batches"), some(1, [(0, 4, 1), (0, 6, 6), (6, 5, 5), (11, 5, 5)])
)
def test_what_is_no_plain_table_is_kept_incrementally(
    quick_lab: Lab, first: int, count: int, batches: int
) -> None:
    lab, names = quick_lab, list(KEPT)[first : first + count]
    tables = Tables(lab, random.Random(batches))
    tables.start()
    for name in names:
        made = lab.dynamic_table(name, KEPT[name], "REFRESH_MODE = INCREMENTAL")
        assert ("decided by" in made.mode_reason.sentence) == (name in OPEN)
    for _ in range(batches):
        tables.batch()
        for name in names:
            assert lab.refresh(name) in ("INCREMENTAL", "NO_DATA"), (name, tables.done)
    for name in names:
        assert (wrong := lab.wrong(name)) is None, (name, wrong, tables.done)


def first_of(lab: Lab, count: int) -> list[tuple[object, ...]]:
    rows = [tuple(r) for r in lab.spark.table("t").collect()]
    return sorted(rows, key=lambda r: (r[0], r[1]))[:count]


def test_a_limit_without_an_order_takes_rows_by_their_contents(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("t", "a INT, b STRING", *(f"{i % 7}, '{i}'" for i in range(20)))
    lab.dynamic_table("few", "SELECT a, b FROM t LIMIT 5")
    lab.dynamic_table("ordered", "SELECT * FROM (SELECT a, b FROM t ORDER BY b DESC) LIMIT 3")
    assert lab.why("ordered") == "INCREMENTAL"
    assert "order of their contents" in str(lab.engine.explain("few"))

    assert lab.rows("few") == first_of(lab, 5)
    for change in (
        "INSERT INTO t VALUES (-1, 'new'), (-1, 'new'), (9, 'late')",
        "DELETE FROM t WHERE a = 0",
        "UPDATE t SET a = a + 1 WHERE a < 2",
        "OPTIMIZE t",
        "DELETE FROM t WHERE a > 1",
    ):
        lab.sql(change)
        assert lab.refresh("few") == ("NO_DATA" if change.startswith("OPT") else "INCREMENTAL")
        assert lab.rows("few") == first_of(lab, 5), change
        lab.refresh("ordered")
        last = lab.sql("SELECT a, b FROM t ORDER BY b DESC LIMIT 3")
        assert sorted(lab.rows("ordered")) == sorted(last), change
    lab.insert("t", "50, 'last'")
    assert lab.refresh("few") == "INCREMENTAL"


def test_a_row_is_in_a_sample_or_not_whatever_happens_around_it(quick_lab: Lab) -> None:
    """Spark's own sample is another one as soon as rows are in other partitions."""
    lab = quick_lab
    lab.table("t", "id BIGINT, word STRING")
    lab.sql("INSERT INTO t SELECT id, concat('w', id % 100) FROM range(20000)")
    lab.dynamic_table("some", "SELECT id FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (42)")
    lab.dynamic_table("others", "SELECT id FROM t TABLESAMPLE (10 PERCENT) REPEATABLE (43)")
    assert "sample by a hash" in str(lab.engine.explain("some"))
    before = {r[0] for r in lab.rows("some")}
    assert abs(len(before) - 2000) < 4 * (20000 * 0.1 * 0.9) ** 0.5
    both = before & {r[0] for r in lab.rows("others")}
    assert abs(len(both) - 200) < 4 * (20000 * 0.01 * 0.99) ** 0.5
    lab.sql(
        "DELETE FROM t WHERE id % 2 = 0; OPTIMIZE t; "
        "INSERT INTO t SELECT id, 'n' FROM range(20000, 20100)"
    )
    assert lab.refresh("some") == "INCREMENTAL"
    after = {r[0] for r in lab.rows("some")}
    assert {i for i in after if i < 20000} == {i for i in before if i % 2}
    lab.sql("INSERT INTO t SELECT id, concat('w', id % 100) FROM range(20000) WHERE id % 2 = 0")
    assert lab.refresh("some") == "INCREMENTAL"
    assert {r[0] for r in lab.rows("some") if r[0] < 20000} == before
    lab.sql("ALTER TABLE t ADD COLUMN more INT")
    assert lab.record("some").reason.code == "SCHEMA_EVOLVED"
    lab.verified("some")


@pytest.mark.nightly
def test_a_table_without_a_source_lives_as_any_other(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.sql(
        """
        CREATE DYNAMIC TABLE top_words TARGET_LAG = '1 hour' AS
          SELECT w.word, n.id FROM words w JOIN numbers n ON n.id < length(w.word);
        CREATE DYNAMIC TABLE words TARGET_LAG = '1 hour' AS
          SELECT * FROM VALUES ('a'), ('bb'), ('bb'), (NULL) AS v(word);
        CREATE DYNAMIC TABLE numbers TARGET_LAG = DOWNSTREAM AS SELECT * FROM range(5);
        CREATE DYNAMIC TABLE one TARGET_LAG = '1 hour' AS SELECT 1 AS a
        """
    )
    names = ("words", "numbers", "one", "top_words")
    for name in names:
        assert lab.mode(name) == "INCREMENTAL", lab.why(name)
        lab.verified(name)
        assert lab.engine.verify(name).equal
    assert lab.rows("top_words") == [("a", 0), ("bb", 0), ("bb", 0), ("bb", 1), ("bb", 1)]
    lab.sql("CREATE STREAM s ON DYNAMIC TABLE words SHOW_INITIAL_ROWS = TRUE")
    lab.sql("CREATE TABLE got (word STRING); INSERT INTO got SELECT word FROM s")
    assert len(lab.rows("got")) == 4
    versions = {n: lab.version(n) for n in names}
    for name in names:
        assert lab.refresh(name) == "NO_DATA"
    assert {n: lab.version(n) for n in names} == versions
    assert lab.sql("SELECT * FROM s") == []
    assert lab.sql("SELECT count(*) FROM words CHANGES") == [(4,)]
    assert lab.sql("SELECT count(*) FROM words CHANGES AT (OFFSET => 0)") == [(0,)]
    assert lab.engine.foretell("words", target_lag=300.0) is not None
    graph = str(lab.engine.graph())
    assert "top_words (dynamic_table" in graph
    plan = str(lab.engine.explain("numbers"))
    assert "reads: no table" in plan
    assert "NO_DATA (SOURCES_UNCHANGED: the query reads no table)" in plan
    assert "literal rows" in plan
    lab.reopen()
    for name in names:
        assert lab.refresh(name) == "NO_DATA"
        lab.verified(name)
    assert lab.engine.refresh("words", full=True).action == "FULL"
    assert lab.engine.verify("top_words", all=True).equal


@pytest.mark.nightly
def test_a_table_may_be_younger_than_the_dynamic_table_beside_it(quick_lab: Lab) -> None:
    """The data timestamp of the first is before the second was there."""
    lab = quick_lab
    lab.dynamic_table("words", "SELECT * FROM VALUES (1, 'one'), (2, 'two') AS w(id, word)")
    lab.table("t", "id INT", "1", "3")
    lab.dynamic_table("beside", "SELECT t.id, w.word FROM t LEFT JOIN words w ON w.id = t.id")
    assert lab.rows("beside") == [(1, "one"), (3, None)]
    lab.insert("t", "2")
    assert lab.refresh("beside") == "INCREMENTAL"
    lab.verified("beside")


def test_columns_that_only_a_type_names_are_for_spark_to_name(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("t", "id INT, m MAP<STRING, INT>", "1, map('a', 1, 'b', 2)")
    lab.dynamic_table("d", "SELECT id, explode(m) FROM t")
    assert lab.mode("d") == "INCREMENTAL"  # its columns are named by Spark's plan
    lab.insert("t", "2, map('c', 3)")
    assert lab.refresh("d") == "INCREMENTAL"
    assert lab.rows("d") == [(1, "a", 1), (1, "b", 2), (2, "c", 3)]


def place(error: DTError) -> str:
    assert error.query is not None
    assert error.span is not None
    return error.query[error.span.start : error.span.end]


def test_what_no_definition_reads_is_refused_by_its_name(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("t", "id INT", "1")
    lab.sql("CREATE STREAM s ON TABLE t")
    for query in ("SELECT id FROM s", "SELECT id FROM t WHERE id IN (SELECT id FROM default.`S`)"):
        with refused("DT-1123") as errors:
            lab.sql(f"SELECT 1; CREATE DYNAMIC TABLE d AS {query}")
        assert place(errors[0]) == ("s" if "`" not in query else "default.`S`")
        assert "Read t" in errors[0].hint
    with refused("DT-1101") as errors:
        lab.sql("CREATE DYNAMIC TABLE d AS SELECT * FROM t JOIN nowhere ON true")
    assert place(errors[0]) == "nowhere"
    recursion = "WITH RECURSIVE c AS (SELECT 1 AS a), up AS (SELECT id FROM t UNION ALL "
    recursion += "SELECT id + 1 FROM up WHERE id < 3) SELECT * FROM up"
    with refused("DT-1107") as errors:
        lab.sql(f"CREATE DYNAMIC TABLE d REFRESH_MODE = INCREMENTAL AS {recursion}")
    assert place(errors[0]) == "up"
    assert "Write out its steps" in errors[0].hint
    lab.dynamic_table("d", recursion)
    assert str(lab.engine.table("d").mode_reason).endswith(
        "the common table expression up is recursive"
    )
    lab.insert("t", "2")
    assert lab.refresh("d") == "FULL"
    lab.verified("d")
    assert [r[0] for r in lab.rows("d")] == [1, 2, 2, 3, 3]
    with refused("DT-1106") as errors:
        lab.sql(
            "CREATE DYNAMIC TABLE e AS SELECT * FROM f; CREATE DYNAMIC TABLE f AS SELECT * FROM e"
        )
    assert place(errors[0]) == "e"
