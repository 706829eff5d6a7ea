"""Functions of Spark's own catalog that are replaced or dropped after a refresh has run them."""

from __future__ import annotations

from tests.spark.engine_lab import Lab


def test_a_refresh_runs_the_body_that_a_function_has_now(quick_lab: Lab) -> None:
    lab = quick_lab
    lab.table("t", "id INT", "1")
    lab.sql("CREATE FUNCTION listed() RETURNS TABLE (id INT) RETURN SELECT id FROM t")
    lab.dynamic_table("d", "SELECT * FROM listed()")
    assert lab.rows("d") == [(1,)]
    own = "CREATE OR REPLACE FUNCTION listed() RETURNS TABLE (id INT) RETURN SELECT id + {} FROM t"
    lab.sql(own.format(10))
    assert lab.refresh("d") == "FULL"
    assert lab.rows("d") == [(11,)]
    lab.spark.sql(own.format(20))  # past the engine
    assert lab.refresh("d") == "FULL"
    assert lab.rows("d") == [(21,)]
    lab.verified("d")
    lab.spark.sql("DROP FUNCTION listed")
    assert lab.record("d").error_code == "DT-2105"
    assert lab.rows("d") == [(21,)]
