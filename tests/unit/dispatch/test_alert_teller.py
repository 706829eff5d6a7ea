"""What a page hears of alerts: all that stand, once for each time that they are others."""

from __future__ import annotations

import queue
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from dt_jupyter.catalog import Catalog
from dt_jupyter.dispatch.alert_teller import alerts_message
from dt_jupyter.dispatch.feed import EventFeed
from dt_jupyter.engine import Engine
from dt_jupyter.engine.rights.access import Access
from dt_jupyter.model import Alert, AlertKind, Reason
from dt_jupyter.watching import AlertWatch
from tests.unit.catalog_lab import Lab, at

SOON = 20


class Page:
    """It hears a feed, and is asked for what it heard, without the hellos."""

    def __init__(self, feed: EventFeed) -> None:
        self._heard: queue.Queue[dict[str, Any]] = queue.Queue()
        self.leave = feed.listen(self._heard.put)

    def next(self) -> list[str]:
        while (told := self._heard.get(timeout=SOON))["type"] == "hello":
            pass
        return [f"{a['kind']} {a['name']}" for a in told["alerts"]]

    @property
    def rest(self) -> int:
        return self._heard.qsize()


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    made = Lab(tmp_path)
    made.make(*(f"t{i}" for i in range(20)))
    return made


def engine_of(catalog: Catalog) -> Engine:
    """As much of one as tells of alerts; to all, as `admin`."""
    context = SimpleNamespace(
        catalog=catalog,
        clock=catalog.clock,
        access=cast(
            Access,
            SimpleNamespace(bound=False, sees=lambda name: True, monitors=lambda name: True),
        ),
        scheduling=SimpleNamespace(waiting=dict, session_end=lambda: None),
        alerts=AlertWatch(catalog, lambda stream: None, lambda event: event),
        events=SimpleNamespace(listen=lambda heard, closed: lambda: None),
    )
    made = SimpleNamespace(context=context, lake="lake", status=lambda: {"scheduler": "stopped"})
    return cast(Engine, made)


def test_of_twenty_that_fail_at_once_there_is_one_message(lab: Lab) -> None:
    engine = engine_of(lab.catalog)
    first = Page(feed := EventFeed(lambda: engine))
    assert first.next() == []
    for i in range(20):
        lab.fail(1, dt=f"t{i}")
    engine.context.alerts.check()
    assert sorted(first.next()) == sorted(f"FAILED t{i}" for i in range(20))
    late = Page(feed)
    assert len(late.next()) == 20, "who comes later hears what stands"
    engine.context.alerts.check()
    lab.refresh(2, dt="t7")
    engine.context.alerts.check()
    assert len(first.next()) == len(late.next()) == 19
    assert (first.rest, late.rest) == (0, 0)
    late.leave()
    assert engine.context.alerts.watched
    first.leave()
    assert not engine.context.alerts.watched, "nobody looks for nobody"


def test_what_is_late_says_since_when_and_why_unless_something_graver_is_said(lab: Lab) -> None:
    engine = engine_of(lab.catalog)
    since = lab.refresh(1, dt="t3").data_timestamp
    table = lab.dt("t3")
    context: Any = engine.context
    made = Alert(AlertKind.LATE, "DYNAMIC_TABLE", table.name, table.id, at(50), target=10.0)
    failed = replace(made, kind=AlertKind.FAILED)
    standing = [made]
    context.alerts = SimpleNamespace(standing=lambda: tuple(standing))
    lab.wall.forward(200)
    (row,) = alerts_message(engine).alerts
    assert (row.behind_since, row.target) == (since.datetime, 10.0)
    assert (row.cause or "").startswith("No scheduler runs")
    assert [r.label for r in row.remedies] == ["Start scheduler", "Refresh now"]
    lab.catalog.record_scheduler("run")
    full = Reason("CONCURRENCY_LIMIT", "It is full.")
    context.scheduling.waiting = lambda: {table.id: full}
    assert alerts_message(engine).alerts[0].cause == "It is full."
    lab.begin(60, dt="t3")
    assert alerts_message(engine).alerts[0].cause == "Its refresh runs."
    standing.append(failed)
    assert [a.kind for a in alerts_message(engine).alerts] == [AlertKind.FAILED]
    standing.append(replace(made, object_id="other"))
    assert len(alerts_message(engine).alerts) == 2


def test_a_lake_that_is_opened_later_and_another_one(lab: Lab, tmp_path: Path) -> None:
    engine: Engine | None = None
    page = Page(feed := EventFeed(lambda: engine))
    lab.fail(1, dt="t1")
    engine = engine_of(lab.catalog)
    engine.context.alerts.check()
    feed.engine_changed()
    assert page.next() == ["FAILED t1"]
    other = Lab(tmp_path / "other")
    before, engine = engine, engine_of(other.catalog)
    feed.engine_changed()
    assert page.next() == []
    assert not before.context.alerts.watched
    feed.close()
    assert not engine.context.alerts.watched
