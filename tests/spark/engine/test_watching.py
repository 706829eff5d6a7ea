"""What happens in a lake is told: as rows of SQL, as lines of a log."""

from __future__ import annotations

import logging

import pytest

from dt_jupyter.model import DTError, RefreshState
from tests.spark.engine_lab import Lab

EVENTS = "SELECT KIND, NAME, STATE, SEVERITY FROM TABLE(DT_EVENTS({})) ORDER BY EVENT_TIME"


@pytest.fixture
def shop(quick_lab: Lab) -> Lab:
    lab = quick_lab
    lab.table("item", "id INT, n INT", "1, 10", "2, 20")
    lab.dynamic_table("ratio", "SELECT id, 100 DIV n AS r FROM item")
    lab.dynamic_table("`order`", "SELECT count(*) AS c FROM item")
    return lab


def test_events_by_sql(shop: Lab, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "dt_jupyter.event")
    shop.insert("item", "3, 30")
    assert shop.refresh("ratio") == "INCREMENTAL"
    assert shop.refresh("ratio") == "NO_DATA"
    shop.insert("item", "4, 0")
    assert shop.record("ratio").state is RefreshState.FAILED
    shop.sql("ALTER DYNAMIC TABLE ratio SUSPEND; ALTER DYNAMIC TABLE ratio RESUME")
    made = ("REFRESH", "ratio", "SUCCEEDED", "INFO")
    expected = [
        made,
        made,
        ("REFRESH", "ratio", "FAILED", "ERROR"),
        ("DYNAMIC_TABLE", "ratio", "SUSPENDED", "INFO"),
        ("DYNAMIC_TABLE", "ratio", "ACTIVE", "INFO"),
    ]
    assert shop.sql(EVENTS.format("NAME => 'ratio'")) == expected
    rows = shop.sql("SELECT STATE_CODE, QUERY_ID FROM TABLE(DT_EVENTS()) WHERE STATE = 'FAILED'")
    (record,) = [r for r in shop.engine.records("ratio") if r.state is RefreshState.FAILED]
    assert rows == [(record.error_code, record.query_id)]
    (attributes,) = shop.sql(
        "SELECT get_json_object(ATTRIBUTES, '$.inserted_rows') FROM TABLE(DT_EVENTS()) "
        "WHERE get_json_object(ATTRIBUTES, '$.action') = 'INCREMENTAL' AND SEVERITY = 'INFO'"
    )
    assert attributes == ("1",)
    assert len(shop.sql(EVENTS.format("name => '`Order`'"))) == 1
    logged = [r.dt_event["state"] for r in caplog.records if hasattr(r, "dt_event")]
    assert logged == ["SUCCEEDED", "FAILED", "SUSPENDED", "ACTIVE"]
    assert shop.engine.events("ratio", limit=2).count() == 2
    with pytest.raises(DTError, match="DT-1002"):
        shop.sql("SELECT * FROM TABLE(DT_EVENTS(KIND => 'x'))")


def test_a_role_sees_the_events_of_what_it_monitors(shop: Lab) -> None:
    shop.insert("item", "4, 0")
    shop.record("ratio")
    shop.sql("CREATE ROLE watcher; GRANT MONITOR ON DYNAMIC TABLE ratio TO ROLE watcher")
    shop.sql("ALTER WAREHOUSE default SUSPEND; ALTER WAREHOUSE default RESUME")
    shop.sql("USE ROLE watcher")
    rows = shop.sql("SELECT NAME, STATE_MESSAGE FROM TABLE(DT_EVENTS()) WHERE KIND = 'REFRESH'")
    assert {name for name, _ in rows} == {"ratio"}
    hidden = "[DT-2105] Its message may show rows: it takes SELECT on ratio to read it."
    assert [m for _, m in rows if "DT-" in m] == [hidden]
    assert shop.sql(EVENTS.format("NAME => '`Order`'")) == []
    shop.sql("USE ROLE admin; DROP ROLE watcher")
