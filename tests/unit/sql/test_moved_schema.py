"""Queries whose tables are in another schema then."""

from __future__ import annotations

import pytest

from dt_jupyter.sql import columns_by_schema, move_schema, move_schema_in_statement


@pytest.mark.parametrize(
    ("query", "moved"),
    [
        ("SELECT x FROM a.t", "SELECT x FROM b.t"),
        ("SELECT x FROM t", "SELECT x FROM t"),
        ("SELECT a.x FROM c.t AS a JOIN `A`.`T` u", "SELECT a.x FROM c.t AS a JOIN b.T u"),
        ("SELECT 'a.t' FROM spark_catalog.a.t -- a.t", "SELECT 'a.t' FROM b.t -- a.t"),
        (
            "WITH t AS (SELECT * FROM a.t) SELECT * FROM t WHERE x IN (SELECT y FROM a.u)",
            "WITH t AS (SELECT * FROM b.t) SELECT * FROM t WHERE x IN (SELECT y FROM b.u)",
        ),
        ("SELECT x FROM a.t EXCEPT TABLE aa.t", "SELECT x FROM b.t EXCEPT TABLE aa.t"),
        ("SELECT é, '日本' FROM a.t", "SELECT é, '日本' FROM b.t"),
    ],
)  # fmt: skip
def test_names_in_the_schema_move(query: str, moved: str) -> None:
    assert move_schema(query, "a", "b") == moved


@pytest.mark.parametrize(
    ("query", "column"),
    [
        ("SELECT a.t.x FROM a.t", "a.t.x"),
        ("SELECT x FROM a.t WHERE `A`.t.x > 1", "`A`.t.x"),
        ("SELECT t.x, t.a.b FROM a.t", None),
        ("SELECT x FROM spark_catalog.a.t", None),
        ("SELECT 'a.t.x' FROM a.t /* a.t.x */", None),
    ],
)
def test_columns_that_are_named_by_schema(query: str, column: str | None) -> None:
    assert columns_by_schema(query, "a") == column


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("INSERT INTO a.x SELECT * FROM a.s", "INSERT INTO b.x SELECT * FROM b.s"),
        ("INSERT OVERWRITE TABLE `A`.x TABLE c.s", "INSERT OVERWRITE TABLE b.x TABLE c.s"),
        (
            "MERGE INTO a.x AS a USING a.s ON a.i = s.i WHEN MATCHED THEN DELETE",
            "MERGE INTO b.x AS a USING b.s ON a.i = s.i WHEN MATCHED THEN DELETE",
        ),
        ("UPDATE a.x SET v = (SELECT max(v) FROM y)", "UPDATE b.x SET v = (SELECT max(v) FROM y)"),
        ("DELETE FROM a.x WHERE i IN (SELECT i FROM a.y)",
         "DELETE FROM b.x WHERE i IN (SELECT i FROM b.y)"),
        ("BEGIN INSERT INTO a.x SELECT 'a.t' FROM a.s; DELETE FROM a.z; END",
         "BEGIN INSERT INTO b.x SELECT 'a.t' FROM b.s; DELETE FROM b.z; END"),
        ("SYSTEM$STREAM_HAS_DATA('a.s') AND system$stream_has_data('s')",
         "SYSTEM$STREAM_HAS_DATA('b.s') AND system$stream_has_data('s')"),
    ],
)  # fmt: skip
def test_what_a_task_reads_and_writes_in_the_schema_moves(text: str, moved: str) -> None:
    assert move_schema_in_statement(text, "a", "b") == moved
