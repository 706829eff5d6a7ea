"""Tables whose texts other readers of SQL read otherwise than Spark: quotes in quotes, functions of
the same name. They hold what Spark gives, and are moved by their changes."""

from __future__ import annotations

import pytest

from dt_jupyter.spark import DROPS_QUOTES, confs
from tests.spark.engine_lab import Lab

AT_CREATION = [
    "SELECT k, s FROM t WHERE s = 'O''Brien'",
    'SELECT g, max_by(s, k) AS m, count(*) AS n FROM t WHERE s <> "O\'Brien" GROUP BY g',
    "SELECT g, any_value(string(parse_json(j))) AS m FROM t WHERE k % 100 = 7 GROUP BY g",
    "SELECT k, string(try_parse_json(j)) AS a, variant_get(parse_json(j), '$.b') IS NULL FROM t",
    "SELECT g, max(to_char(k, '9999')) AS m, min(date_trunc(u, ts)) AS d FROM t GROUP BY g, u",
    "SELECT k, trunc(ts, u) AS d, dateadd(DAY, g, ts) AS x, unix_date(date(ts)) AS n FROM t",
    "SELECT k, log10(k + 1) AS l, array(s, 'a''b', \"c\"\"d\")[g] AS x FROM t",
    "SELECT k, string(if(g = 1, TIME'10:00:01', TIME'23:59:59.5')) AS x FROM t",
    "SELECT g, listagg(s) WITHIN GROUP (ORDER BY k) AS x FROM t WHERE k < 20 GROUP BY g",
]


@pytest.fixture
def made(lab: Lab) -> Lab:
    lab.sql(
        """CREATE TABLE t AS SELECT CAST(id AS INT) AS k, CAST(id % 3 AS INT) AS g,
        concat('n', id) AS s, concat('{"b" :  ', id % 5, ', "a": 1}') AS j,
        elt(CAST(1 + id % 3 AS INT), 'year', 'month', 'day') AS u,
        timestamp_seconds(id * 100000) AS ts FROM range(200)"""
    )
    return lab


def change(lab: Lab) -> None:
    lab.sql(
        """INSERT INTO t VALUES
          (5007, 1, 'O''Brien', '{"b" : 7}', 'month', TIMESTAMP'2024-05-06 07:08:09'),
          (5107, 2, 'OBrien', '[1 ,  2]', 'year', NULL), (15, NULL, NULL, NULL, NULL, NULL);
        DELETE FROM t WHERE k IN (3, 7, 107)"""
    )


@pytest.mark.parametrize("query", AT_CREATION)
def test_a_text_gives_what_spark_gives(made: Lab, query: str) -> None:
    made.dynamic_table("d", query)
    assert (made.mode("d"), made.why("d")) == ("INCREMENTAL", "INCREMENTAL")
    change(made)
    assert made.refresh("d") == "INCREMENTAL"
    if "any_value" not in query:
        assert made.rows("d") == sorted(made.sql(query), key=repr)
    made.verified("d")


def test_a_picked_value_is_one_of_spark(made: Lab) -> None:
    made.dynamic_table("d", "SELECT g, any_value(string(parse_json(j))) AS m FROM t GROUP BY g")
    change(made)
    assert made.refresh("d") == "INCREMENTAL"
    known = {row[0] for row in made.sql("SELECT string(parse_json(j)) FROM t")}
    assert {m for _, m in made.rows("d")} <= known


@pytest.mark.parametrize(
    ("conf", "query"),
    [("spark.sql.parser.escapedStringLiterals", r"SELECT k, s FROM t WHERE s RLIKE '^n\d$'"),
     ("spark.sql.legacy.consecutiveStringLiterals.enabled", "SELECT k, s FROM t WHERE s = 'n''5'"),
     ("spark.sql.caseSensitive", "SELECT k, S FROM (SELECT k, s, j AS S FROM t) WHERE s = 'n5'")],
)  # fmt: skip
def test_a_session_that_reads_otherwise_has_what_it_asked_for(
    made: Lab, conf: str, query: str
) -> None:
    """Also once it does not any more: what a text meant is stored with the table."""
    with confs(made.spark, {conf: "true"}):
        made.dynamic_table("d", query)
        assert (made.mode("d"), made.why("d")) == ("FULL", "EXPRESSION")
        change(made)
        wanted = sorted(made.sql(query), key=repr)
    assert made.refresh("d") == "FULL"
    assert made.rows("d") == wanted
    assert wanted
    made.verified("d")


def test_a_session_that_drops_doubled_quotes_reads_other_texts_as_all_do(made: Lab) -> None:
    """As Spark 4.0, which cannot be set otherwise."""
    with confs(made.spark, {DROPS_QUOTES: "true"}):
        made.dynamic_table("d", r"SELECT k, s FROM t WHERE s <> 'n\'5' -- it''s")
        change(made)
        assert made.refresh("d") == "INCREMENTAL"
    made.verified("d")
