"""The definitions of a lake as a script, run on another lake over the same tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.spark.engine_lab import Lab, without_check

SCRIPT = """
CREATE WAREHOUSE heavy MAX_CONCURRENCY_LEVEL = 3 WEIGHT = 2;
CREATE VIEW big AS SELECT id, day, v FROM item WHERE v > 0;
CREATE DYNAMIC TABLE top (day COMMENT 'the day''s name', `most sold`) TARGET_LAG = DOWNSTREAM
  WAREHOUSE = heavy REFRESH_MODE = FULL INITIALIZE = ON_SCHEDULE AS
  SELECT day, max(v) FROM item GROUP BY day;
CREATE DYNAMIC TABLE daily TARGET_LAG = '90 seconds' CLUSTER BY (day)
  DATA_RETENTION_TIME_IN_DAYS = 20 ALTER_SOURCES = FALSE COMMENT = 'it''s; daily' AS
  SELECT day, sum(v) AS total FROM big GROUP BY day;
CREATE OR ALTER DYNAMIC TABLE top (day COMMENT 'the day''s name', `most sold`)
  TARGET_LAG = DOWNSTREAM WAREHOUSE = heavy REFRESH_MODE = FULL INITIALIZE = ON_SCHEDULE AS
  SELECT day, max(total) FROM daily GROUP BY day -- the last word of a query may be a comment
;
SET spark.sql.session.timeZone = Asia/Tokyo;
CREATE DYNAMIC TABLE hours TARGET_LAG = '1 hour' SCHEDULER = DISABLE AS
  SELECT hour(TIMESTAMP '2026-01-31 12:00:00Z') + id AS h FROM item;
SET spark.sql.session.timeZone = UTC;
CREATE STREAM news ON VIEW big APPEND_ONLY = TRUE;
CREATE STREAM all_days ON DYNAMIC TABLE daily SHOW_INITIAL_ROWS = TRUE;
ALTER DYNAMIC TABLE daily SUSPEND
"""


ZONE = "spark.sql.session.timeZone"


@pytest.fixture
def lab(shared_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    without_check(monkeypatch)
    before = shared_lab.spark.conf.get(ZONE)
    shared_lab.spark.conf.set(ZONE, "UTC")
    yield shared_lab
    shared_lab.spark.conf.set(ZONE, before)


def told(lab: Lab) -> dict[str, Any]:
    """All that the script is to make again."""
    catalog = lab.context.catalog
    tables = {
        str(t.name): (
            t.definition.query, t.definition.listed, dict(t.definition.settings), t.target_lag,
            t.warehouse, t.mode, t.effective_mode, t.initialize, t.scheduling,
            t.scheduler_enabled, t.cluster_by, t.retention_days, t.alter_sources, t.comment,
        )
        for t in catalog.list()
    }  # fmt: skip
    edges = {(str(a), str(b)) for a, b in lab.engine.graph().edges}
    streams = {
        (str(s.name), str(s.source), s.kind, s.append_only, s.initial) for s in catalog.streams()
    }
    warehouses = {(w.name, w.max_concurrency, w.weight) for w in catalog.warehouses()}
    views = {(str(v.name), v.text) for v in catalog.views()}
    return {"tables": tables, "edges": edges, "streams": streams, "warehouses": warehouses,
            "views": views}  # fmt: skip


def test_a_script_makes_the_same_graph_over_the_same_tables(lab: Lab, tmp_path: Path) -> None:
    lab.table("item", "id INT, day STRING, v INT", "1, 'mon', 1", "2, 'tue', 2")
    lab.sql("ALTER TABLE item SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')")
    lab.sql(SCRIPT)
    script, before = lab.engine.export(), told(lab)
    rows = {name: lab.rows(name) for name in ("daily", "hours")}
    assert len(before["tables"]) == 3
    assert "-- Tables that must be there: item." in script
    assert script.index("VIEW IF NOT EXISTS big") < script.index("EXISTS daily")
    assert script.index("EXISTS daily") < script.index("EXISTS top")
    source = lab.context.layout.tables / "item"
    lab.engine.close()
    lab.forget()
    other = Lab.open(lab.spark, tmp_path / "other")
    try:
        other.spark.sql(f"CREATE TABLE item USING delta LOCATION '{source}'")
        other.sql(script)
        assert told(other) == before
        assert {name: other.rows(name) for name in rows} == rows
        assert other.engine.export() == script
        other.sql(script)  # what exists is left as it is
        assert told(other) == before
        assert other.spark.conf.get("spark.sql.session.timeZone") == "UTC"
    finally:
        other.close()
        lab.reopen()
