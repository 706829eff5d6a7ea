"""What happens in a lake is told: as rows of SQL, as lines of a log."""

from __future__ import annotations

import logging
import queue
import threading
from typing import Any

import pytest

from dt_jupyter.dispatch.feed import EventFeed
from dt_jupyter.engine import Engine
from dt_jupyter.model import Alert, DTError, RefreshState
from dt_jupyter.watching import alert_watch
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
    week = shop.engine.lag("ratio", days=7)
    assert (len(week.days), week.total.refreshes) == (7, 3)
    assert week.total.maximum is not None
    with pytest.raises(DTError, match="DT-1003"):
        shop.engine.lag("ratio", days=15)
    health_counts_what_the_history_has(shop)
    with pytest.raises(DTError, match="DT-1002"):
        shop.sql("SELECT * FROM TABLE(DT_EVENTS(KIND => 'x'))")
    role_sees_the_events_of_what_it_monitors(shop)


def health_counts_what_the_history_has(shop: Lab) -> None:
    """The worst first: beside it what SQL says of the same refreshes."""
    health = shop.engine.health(days=1)
    assert [t.name.table for t in health.tables] == ["ratio", "order"]
    ratio = health.tables[0]
    (row,) = shop.sql(
        "SELECT count_if(STATE = 'SUCCEEDED'), count_if(STATE = 'FAILED'), "
        "sum(CAST(get_json_object(STATISTICS, '$.numInsertedRows') AS INT) "
        "+ CAST(get_json_object(STATISTICS, '$.numDeletedRows') AS INT)) "
        "FROM TABLE(DYNAMIC_TABLE_REFRESH_HISTORY(NAME => 'ratio')) "
        "WHERE REFRESH_ACTION IS DISTINCT FROM 'NO_DATA'"
    )
    assert (ratio.refreshes, ratio.failed, ratio.rows) == row
    assert (ratio.recomputed, ratio.failed) == (1, 1)
    assert "DT-2105" in (ratio.cause or "")
    assert ratio.seconds > 0 < ratio.bytes
    assert "ratio: " in str(health).splitlines()[0]
    with pytest.raises(DTError, match="DT-1003"):
        shop.engine.health(days=0)


def role_sees_the_events_of_what_it_monitors(shop: Lab) -> None:
    shop.sql("CREATE ROLE watcher; GRANT MONITOR ON DYNAMIC TABLE ratio TO ROLE watcher")
    shop.sql("ALTER WAREHOUSE default SUSPEND; ALTER WAREHOUSE default RESUME")
    shop.sql("USE ROLE watcher")
    rows = shop.sql("SELECT NAME, STATE_MESSAGE FROM TABLE(DT_EVENTS()) WHERE KIND = 'REFRESH'")
    assert {name for name, _ in rows} == {"ratio"}
    (seen,) = shop.engine.health().tables
    assert (seen.name.table, "division" in (seen.cause or "").lower()) == ("ratio", False)
    late = shop.engine.why_late("ratio")
    assert late.cause is not None
    assert "division" not in late.cause.sentence.lower()
    assert [(r.kind, r.name) for r in late.cause.remedies] == [("explain", "ratio")]
    with pytest.raises(DTError, match="DT-5201"):
        shop.engine.why_late("`order`")
    for text in ("SELECT n FROM item", "CREATE DYNAMIC TABLE x AS SELECT n FROM item"):
        (problem,) = shop.engine.lint(text).problems
        assert problem.code.startswith("DT-52")
    hidden = "[DT-2105] Its message may show rows: it takes SELECT on ratio to read it."
    assert [m for _, m in rows if "DT-" in m] == [hidden]
    assert shop.sql(EVENTS.format("NAME => '`Order`'")) == []
    shop.sql("USE ROLE admin; DROP ROLE watcher")


def test_alerts(shop: Lab) -> None:
    heard: list[str] = []
    told = threading.Semaphore(0)

    def hear(alert: Alert) -> None:
        heard.append(f"{alert.kind} {alert.name} {alert.event}")
        told.release()

    def hear_of(*alerts: str) -> None:
        assert all(told.acquire(timeout=30) for _ in alerts), heard
        assert sorted(heard) == sorted(alerts)
        heard.clear()

    stop = shop.engine.on_alert(hear)
    page = Page(shop.engine)
    assert page.alerts() == []
    assert shop.engine.alerts() == ()
    shop.insert("item", "4, 0")
    shop.record("ratio")
    (failed,) = shop.engine.alerts()
    assert (failed.code, str(failed.name)) == ("DT-2105", "ratio")
    hear_of("FAILED ratio RAISED")
    assert page.alerts() == ["FAILED ratio"]
    shop.record("ratio")
    assert [str(a) for a in shop.engine.alerts()] == [str(failed)]
    role_is_told_of_what_it_monitors(shop, page)
    shop.sql("CREATE STREAM s ON TABLE item")
    shop.sql("DELETE FROM item WHERE n = 0")
    shop.refresh("ratio")
    shop.sql("DROP TABLE item")
    (stale,) = shop.engine.alerts()
    assert (stale.kind, stale.of) == ("STALE", "STREAM")
    hear_of("FAILED ratio CLEARED", "STALE s RAISED")
    shop.sql("DROP STREAM s")
    assert shop.engine.alerts() == ()
    hear_of("STALE s CLEARED")
    stop()
    page.close()
    assert not shop.engine.context.alerts.watched, "nobody looks for nobody"
    states = shop.sql(
        "SELECT STATE, count(*) FROM TABLE(DT_EVENTS()) WHERE KIND = 'ALERT' GROUP BY 1 ORDER BY 1"
    )
    assert states == [("CLEARED", 2), ("RAISED", 2)]


class Page:
    """A page that listens: each of its messages of alerts is looked at once."""

    def __init__(self, engine: Engine) -> None:
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self._feed = EventFeed(lambda: engine)
        self.close = self._feed.listen(self._heard.put)

    def alerts(self) -> list[str]:
        while (told := self._heard.get(timeout=30))["type"] != "alerts":
            pass
        return [f"{a['kind']} {a['name']}" for a in told["alerts"]]


def role_is_told_of_what_it_monitors(shop: Lab, page: Page) -> None:
    with pytest.raises(DTError, match="DT-5130"):
        shop.engine.on_alert("ftp://h/x")
    shop.sql("CREATE ROLE watcher; GRANT MONITOR ON DYNAMIC TABLE `order` TO ROLE watcher")
    shop.sql("USE ROLE watcher")
    assert shop.engine.alerts() == ()
    assert page.alerts() == [], "at once, of the role"
    with pytest.raises(DTError, match="DT-5207"):
        shop.engine.on_alert("https://host/path")
    shop.sql("USE ROLE admin; GRANT MONITOR ON DYNAMIC TABLE ratio TO ROLE watcher")
    shop.sql("USE ROLE watcher")
    (alert,) = shop.engine.alerts()
    assert "it takes SELECT on ratio" in str(alert)
    assert page.alerts() == ["FAILED ratio"]
    shop.sql("USE ROLE admin; DROP ROLE watcher")


def test_whoever_schedules_looks(quick_lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without anybody to tell; and nobody looks once it has stopped."""
    monkeypatch.setattr(alert_watch, "_LOOK_SECONDS", 0.05)
    names = lambda: [t.name for t in threading.enumerate() if t.name == "dt-alerts"]  # noqa: E731
    looked = threading.Event()
    monkeypatch.setattr(alert_watch.AlertWatch, "check", lambda self: looked.set())
    assert not names()
    quick_lab.engine.start_scheduler()
    assert names()
    assert looked.wait(30)
    watching = [t for t in threading.enumerate() if t.name == "dt-alerts"]
    quick_lab.engine.stop_scheduler()
    for thread in watching:
        thread.join(30)
    assert not names()
